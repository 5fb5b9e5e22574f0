"""What the user says while a turn runs: prompts that the model reads at the next step, and a pause after this one."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from oi_tui.app.engine.agent.decisions import Decisions
from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.core.events import ContextMarked, Emit, NoticeAdded, TurnStarted
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.transcript.transcript import Transcript

Steers = Callable[[], Coroutine[Any, Any, Sequence[TurnStarted]]]
"""Takes the prompts that wait for the next step."""


async def no_steers() -> Sequence[TurnStarted]:
    """Steering messages where there are none."""
    return ()


class Steering:
    """Shared by the loop, which asks it between steps, and whatever takes the user's keys."""

    def __init__(
        self,
        take: Steers,
        transcript: Transcript,
        decisions: Decisions,
        emit: Emit,
        objection: Callable[[str], str] = lambda text: "",
    ) -> None:
        """`objection` says what plugins have against a prompt, "" if nothing."""
        self.pausing = False
        """Whether the turn ends after the step that runs."""
        self._take = take
        self._transcript = transcript
        self._decisions = decisions
        self._emit = emit
        self._objection = objection

    def begin_turn(self) -> None:
        """Forget a request to pause an earlier turn."""
        self.pausing = False

    def pause(self) -> None:
        """End the turn after the step that runs, if one does."""
        if self._transcript.turn_open and not self.pausing:
            self.pausing = True
            notice = NoticeAdded(block_id=new_id(), level="info", title="The turn pauses after this step.")
            self._emit(notice)

    async def end_step(self) -> None:
        """Emit what the model reads at the next step. TurnStopped if there is none for now."""
        if self.pausing:
            raise TurnStopped("paused", "Paused after this step: enter continues.")
        await self.emit_prompts()

    async def emit_prompts(self) -> bool:
        """Emit what the model reads at the next step; whether there is anything."""
        read = [self.emit_prompt(prompt) for prompt in await self._take()]
        return any(read)

    def emit_prompt(self, prompt: TurnStarted) -> bool:
        """One prompt, and whether the model reads it; from now on, its files may have been read."""
        self._decisions.note_prompt(prompt.files, prompt.origins)
        self._emit(prompt)
        if why := self._objection("\n\n".join(filter(None, (prompt.text, prompt.context)))):
            self._emit(ContextMarked(block_id=prompt.block_id, mark="left out"))
            hint = "The model does not read it. Change it and send it again; /plugins shows and disables plugins."
            self._emit(NoticeAdded(block_id=new_id(), level="warning", title=why, hint=hint))
        return not why
