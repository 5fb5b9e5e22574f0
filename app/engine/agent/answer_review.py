"""Messages to the model about its own answer: a call that cannot be parsed, a file that is missing."""

import asyncio
from collections.abc import Sequence

from oi_tui.app.engine.agent.claims import claimed_files, missing_files
from oi_tui.app.engine.agent.hook_calls import HookCalls
from oi_tui.app.engine.core.blocks import Action, Block, ProseBlock
from oi_tui.app.engine.core.events import Emit, NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.kernels.base import KernelSource
from oi_tui.app.engine.transcript.transcript import Transcript

MOST_OBJECTIONS = 2
"""Answers of a turn that plugins send back."""

MOST = 2
"""Calls of a model that cannot be read; then it writes code in fences."""

LOOKING = 1.0
"""Seconds that a look at the folder may take."""


class AnswerReview:
    """Reviews the answers of one session, each before the turn may end with it."""

    def __init__(self, transcript: Transcript, kernels: KernelSource, emit: Emit, plugins: HookCalls) -> None:
        self._transcript = transcript
        self._kernels = kernels
        self._emit = emit
        self._plugins = plugins
        self._spoilt: dict[str, int] = {}
        """By name of the model: calls that could not be read."""
        self._asked = False
        """Whether this turn was asked about a file."""
        self._objections = 0
        """Answers of this turn that plugins sent back."""

    def begin_turn(self) -> None:
        """Files may be asked about again, and plugins may object."""
        self._asked, self._objections = False, 0

    def allows_calls(self, model: str) -> bool:
        """Whether this model is offered native calls."""
        return self._spoilt.get(model, 0) < MOST

    def note_refused_calls(self, model: str) -> bool:
        """The server of this model takes no request with tools; whether there is any use in one without."""
        if not self.allows_calls(model):
            return False
        self._spoilt[model] = MOST
        self._say("info", f"{model} takes no tool calls: from now on it writes code in fenced blocks.", "")
        return True

    async def objects(self, answer: Sequence[Block], model: str) -> bool:
        """Whether the model has to answer again; it reads why. `answer` is the whole of one, and proposes nothing."""
        if self._objects_to_calls(answer, model) or await self._objects_to_claims(answer):
            return True
        return self._plugin_objects("\n\n".join(block.text for block in answer if isinstance(block, ProseBlock)))

    def _plugin_objects(self, text: str) -> bool:
        plugin, why = self._plugins.answer_objection(text)
        if not plugin:
            return False
        self._objections += 1
        if self._objections > MOST_OBJECTIONS:
            self._say("warning", f"The plugin {plugin} still objects to the answer, which stays as it is: {why}", "")
            return False
        told = f"Your answer cannot stand: {why}. Answer again."
        self._say("info", f"The plugin {plugin} sent the answer back: {why}", told)
        return True

    def _objects_to_calls(self, answer: Sequence[Block], model: str) -> bool:
        spoilt = [one for one in answer if isinstance(one, Action) and one.call_id is not None and one.state == "cut"]
        if not spoilt or not self.allows_calls(model):
            return False
        self._spoilt[model] = self._spoilt.get(model, 0) + 1
        if self.allows_calls(model):
            title = "A tool call of the model cannot be read: it is asked again."
            self._say("info", title, "The arguments of your call are not valid JSON. Nothing ran. Call it again.")
        else:
            title = "Tool calls of this model cannot be read: from now on it writes code in fenced blocks."
            self._say("warning", title, "Nothing ran. Do not call tools. Reply with one fenced code block.")
        return True

    async def _objects_to_claims(self, answer: Sequence[Block]) -> bool:
        names = claimed_files("\n".join(block.text for block in answer if isinstance(block, ProseBlock)))
        folder, kernels = self._transcript.cwd, self._kernels.started_kernels()
        if self._asked or not (names and folder and kernels) or any(kernel.elsewhere for kernel in kernels):
            return False
        blocks = tuple(self._transcript.blocks)
        try:
            async with asyncio.timeout(LOOKING):
                missing = await asyncio.to_thread(missing_files, names, folder, blocks)
        except TimeoutError:
            return False
        if missing:
            self._asked = True
            which = " and ".join(missing)
            told = f"There is no file {which} in the folder. Reply with code that saves it, or say what is true."
            self._say("info", f"The answer speaks of {which}, which is not in the folder: the model is asked.", told)
        return bool(missing)

    def _say(self, level: Level, title: str, to_model: str) -> None:
        self._emit(NoticeAdded(block_id=new_id(), level=level, title=title, to_model=to_model))
