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
from oi_tui.app.engine.hooks import Hooks
from oi_tui.app.engine.transcript.transcript import Transcript


class HookCalls:
    """`follow` is an observer, to be notified last: `ExecutionStarted` is emitted between the seal and the kernel."""

    def __init__(self, hooks: Hooks, transcript: Transcript, emit: Emit) -> None:
        self._hooks = hooks
        self._transcript = transcript
        self._emit = emit
        self._tells_events = hooks.listens("event_happened")
        self._acting: set[str] = set()
        """Blocks between their `before_action` and `after_action`: one that runs may have called another."""
        self._reported: set[tuple[str, str]] = set()
        """Plugin and hook."""

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

    def _block_of(self, event: ExecutionStarted | ExecutionFinished | RerunStarted | RerunFinished) -> ActionBlock:
        """The block; for a repeated run without what came out the first time, which is no part of it."""
        block = self._transcript.block(event.block_id)
        assert isinstance(block, Action), block
        if isinstance(event, RerunStarted | RerunFinished) and isinstance(block, CodeBlock):
            return msgspec.structs.replace(block, outputs=(), whole=None, exit_code=None, duration=None)
        return block

    def _call(self, hook: str, /, **values: object) -> None:
        """Call the plugins; a failure is reported once, or a plugin that always fails would fill the session."""
        for plugin in self._hooks.call(hook, session_id=self._transcript.session_id, **values):
            if (plugin, hook) not in self._reported:
                self._reported.add((plugin, hook))
                title = f"The plugin {plugin} failed in its hook {hook}."
                hint = "The session continues without it. The log says why; this notice is shown once."
                self._emit(NoticeAdded(block_id=new_id(), level="warning", title=title, hint=hint))
