"""Calls the hooks of the engine's plugins for one session, and tells the person which one failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from oi_tui.app.engine.core.blocks import Action, ActionBlock, CodeBlock
from oi_tui.app.engine.core.chat_model import ChatRequest
from oi_tui.app.engine.core.events import (
    AnyEvent,
    Emit,
    ExecutionFinished,
    ExecutionStarted,
    NoticeAdded,
    RerunFinished,
    RerunStarted,
)
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.instructions import InstructionPart
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.values import Judgement
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.transcript.transcript import Transcript

MOST_INSTRUCTIONS = 4_000
"""Characters of what one plugin adds to the system message."""

LONGEST_REASON = 500


class HookCalls:
    """`follow` is an observer, to be notified last: `ExecutionStarted` is emitted between the seal and the kernel."""

    def __init__(self, hooks: Hooks, transcript: Transcript, emit: Emit) -> None:
        self._hooks = hooks
        self._transcript = transcript
        self._emit = emit
        self._tells_events = hooks.listens("event_happened")
        self._acting: set[str] = set()
        """Blocks between their `before_action` and `after_action`: one that runs may have called another."""
        self._told = 0
        """How many plugin errors this session has reported."""
        self._judged: tuple[str, str, Judgement | None] | None = None
        """The last action by its id and source, and the verdict of the plugins: they are asked several times."""
        self._instructions: tuple[InstructionPart, ...] | None = None

    @property
    def follows(self) -> bool:
        """Whether any plugin wants to know what `follow` sees."""
        hooks = self._hooks
        return self._tells_events or hooks.listens("before_action") or hooks.listens("after_action")

    def follow(self, event: AnyEvent) -> None:
        """An event happened; it may be the beginning or the end of an action."""
        if self._tells_events:
            self._call("event_happened", event=event)
        match event:
            case ExecutionStarted() | RerunStarted():
                self._acting.add(event.block_id)
                self._call("before_action", block=self._block_of(event))
            case ExecutionFinished() | RerunFinished() if event.block_id in self._acting:  # else it never began
                self._acting.discard(event.block_id)
                self._call("after_action", block=self._block_of(event))
            case _:
                pass

    @contextmanager
    def around(self, request: ChatRequest) -> Iterator[None]:
        """Inside, the model is asked."""
        self._call("before_request", request=request)
        failed = False
        try:
            yield
        except Exception:
            failed = True
            raise
        finally:
            self._call("after_request", request=request, failed=failed)

    # -- what decides: a plugin that fails objects

    def judge(self, block: ActionBlock) -> Judgement | None:
        """The strictest of what plugins have against an action, None if nothing."""
        if not self._hooks.listens("judge_action"):
            return None
        if self._judged is None or self._judged[:2] != (block.id, block.source):
            self._judged = (block.id, block.source, self._strictest(block))
        return self._judged[2]

    def _strictest(self, block: ActionBlock) -> Judgement | None:
        strictest: Judgement | None = None
        failures: list[str] = []
        for plugin, judged in self._hooks.results("judge_action", failures, **self._values(block=block)):
            match judged:
                case None:
                    continue
                case Judgement(verdict="ask" | "deny", reason=str(reason)):
                    judged = Judgement(verdict=judged.verdict, reason=f"the plugin {plugin}: {_brief(reason)}")
                case _:
                    self._hooks.reject(plugin, "judge_action", f"a {type(judged).__name__} is no Judgement")
                    failures.append(plugin)
                    continue
            if strictest is None or (judged.verdict == "deny" and strictest.verdict == "ask"):
                strictest = judged
        self.tell_troubles()
        if failures and strictest is None:
            return Judgement(verdict="ask", reason=f"the plugin {failures[0]}, which failed to judge it")
        return strictest

    def prompt_objection(self, text: str) -> str:
        """The objection of plugins to a prompt, as a sentence for the person; "" if none."""
        return self._objection("check_prompt", text, "objects to the prompt")

    def answer_objection(self, text: str) -> tuple[str, str]:
        """The plugin that objects to an answer, and its reason. A plugin that fails objects to nothing: the model could
        not fix that."""
        for plugin, said in self._hooks.results("check_answer", **self._values(text=text)):
            if isinstance(said, str) and said.strip():
                return plugin, _brief(said)
        self.tell_troubles()
        return "", ""

    def _objection(self, hook: str, text: str, what: str) -> str:
        failures: list[str] = []
        for plugin, said in self._hooks.results(hook, failures, **self._values(text=text)):
            if said is not None:
                return f"The plugin {plugin} {what}: {_brief(str(said))}"
        self.tell_troubles()
        return f"The plugin {failures[0]} failed while it looked at the prompt." if failures else ""

    def instructions(self) -> tuple[InstructionPart, ...]:
        """What plugins add to the system message; the same for the whole session, so that a provider's cache holds."""
        if self._instructions is None:
            values, parts = self._values(folder=self._transcript.cwd), []
            for plugin, said in self._hooks.results("add_instructions", **values):
                if isinstance(said, str) and said.strip():
                    text, cut = said[:MOST_INSTRUCTIONS], len(said) if len(said) > MOST_INSTRUCTIONS else 0
                    parts.append(InstructionPart(origin="plugin", name=plugin, text=safe_text(text), cut=cut))
            self._instructions = tuple(parts)
            self.tell_troubles()
        return self._instructions

    def tell_troubles(self) -> None:
        """Report new errors of plugins, each once in this session."""
        while self._told < len(self._hooks.troubles):
            trouble = self._hooks.troubles[self._told]
            self._told += 1  # first, for a plugin may see the notice, and fail again
            notice = NoticeAdded(
                block_id=new_id(), level="warning", title=_brief(trouble.title), hint=_brief(trouble.hint)
            )
            self._emit(notice)

    def _block_of(self, event: ExecutionStarted | ExecutionFinished | RerunStarted | RerunFinished) -> ActionBlock:
        """The block; for a repeated run without what came out the first time, which is no part of it."""
        block = self._transcript.block(event.block_id)
        assert isinstance(block, Action), block
        if isinstance(event, RerunStarted | RerunFinished) and isinstance(block, CodeBlock):
            return msgspec.structs.replace(block, outputs=(), whole=None, exit_code=None, duration=None)
        return block

    def _values(self, **values: object) -> dict[str, object]:
        return {"session_id": self._transcript.session_id, **values}

    def _call(self, hook: str, /, **values: object) -> None:
        self._hooks.call(hook, **self._values(**values))
        self.tell_troubles()


def _brief(said: str) -> str:
    """The words of a plugin, as one line that can be shown."""
    return one_line(safe_text(said[: 4 * LONGEST_REASON]))[:LONGEST_REASON]
