"""Records what a person sends as a macro, and plays one: each step waits until the one before it has ended.

A person records what they do anyway (`/macro record tidy`, some prompts and commands, `/macro stop`), binds it to a
key, and watches it play: the line above the prompt names the step, Escape ends it. While a question is open it waits:
what is decided is decided by hand.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from textual.screen import Screen
from textual.worker import Worker

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.macro_file import delete_macro, save_macro
from oi_tui.app.commands.macros import MOST_STEPS, is_macro_name, read_macros, why_not_a_step
from oi_tui.app.engine.core.blocks import Action, NoticeBlock, UserBlock
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.verbs import Settle
from oi_tui.app.engine.text.safe import visible_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.widgets.keyrow import stop_key

TICK = 0.1
"""Seconds between looks at whether the next step can begin."""


class Tell(Protocol):
    """Says something where the person writes."""

    def __call__(self, words: str, *, failed: bool = False, seconds: float = ...) -> None:
        """0 seconds is until the text changes."""
        ...


class MacroStopped(Exception):
    """Why a macro ends before its end."""


class MacroPlayer:
    """The macros of one screen: records one at a time, or plays one."""

    def __init__(
        self, screen: Screen[None], bridge: Bridge, tell: Tell, play: Callable[[str], Awaitable[None]]
    ) -> None:
        """`play` does what a step says; it raises WrongArgument where that cannot be."""
        self._screen, self._bridge, self._tell, self._play_step = screen, bridge, tell, play
        self._name = ""
        """Of the macro that is being recorded."""
        self._steps: list[str] = []
        self._worker: Worker[None] | None = None
        self._told = ""
        """What the line above the prompt says while it plays."""
        self._waits_for = ""
        self._settled = asyncio.Event()

    def obey(self, argument: str) -> None:
        """`record NAME`, `stop`, `delete NAME`, or the name of a macro to play."""
        word, _, name = argument.partition(" ")
        name = name.strip()
        try:
            match word:
                case "record":
                    self._record(name)
                case "stop":
                    if not self.stop():
                        self._save()
                case "delete":
                    self._delete(name)
                case _:
                    self._begin(word)
        except (WrongArgument, OiTuiError) as wrong:
            self._tell(str(wrong), failed=True, seconds=0)

    # -- recording -------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """The person sent this, and it was done."""
        if not self._name:
            return
        if why := why_not_a_step(text):
            self.refuse(why)
        elif len(self._steps) >= MOST_STEPS:
            self.refuse(f"a macro has at most {MOST_STEPS} steps")
        else:
            self._steps.append(text)
            self._tell(f"● recording {self._name}: {quantity(len(self._steps), 'step')} · /macro stop", seconds=0)

    def refuse(self, why: str = "you decide and answer each time yourself") -> None:
        """Say that what was done is no step."""
        if self._name:
            self._tell(f"● recording {self._name}, but not this: {why}.", failed=True, seconds=0)

    def _record(self, name: str) -> None:
        if self.is_playing:
            raise WrongArgument("A macro is playing. /macro stop ends it.")
        if not is_macro_name(name):
            raise WrongArgument("Say /macro record NAME, with small letters, digits and hyphens in the name.")
        self._name, self._steps = name, []
        self._screen.query_one(Bottom).on_decided = self.refuse
        there = " It replaces the one there is." if name in read_macros().steps else ""
        self._tell(f"● recording {name}: what you send now is a step. /macro stop keeps it.{there}", seconds=0)

    def _save(self) -> None:
        name, steps = self._name, self._steps
        if not name:
            raise WrongArgument("Nothing is being recorded, and no macro plays.")
        self._name, self._steps = "", []
        if not steps:
            raise WrongArgument(f"Nothing was recorded, so {name} is not kept.")
        save_macro(name, steps)
        key = f"Bind a key: oi-tui config set 'keys.\"macro.{name}\"' f8"
        self._tell(f"Macro {name} has {quantity(len(steps), 'step')}: /macro {name}. {key}", seconds=0)

    def _delete(self, name: str) -> None:
        if not delete_macro(name):
            raise WrongArgument(f"There is no macro {visible_text(name).text}.")
        self._tell(f"Macro {name} is deleted.")

    # -- playing ---------------------------------------------------------------------------------------------

    @property
    def is_playing(self) -> bool:
        """Whether a macro has steps to come."""
        return self._worker is not None and self._worker.is_running

    def stop(self) -> bool:
        """Stop the macro that plays, if any; what its step began continues."""
        if self._worker is None or not self._worker.is_running:
            return False
        self._worker.cancel()
        self._worker = None
        self._tell(f"Stopped: {self._told}.", seconds=0)
        return True

    def settle(self, request_id: str) -> None:
        """What was asked for before the `Settle` with this id has come to its end."""
        if request_id == self._waits_for:
            self._settled.set()

    def _begin(self, name: str) -> None:
        if self.is_playing or self._name:
            what = "A macro is playing" if self.is_playing else f"{self._name} is being recorded"
            raise WrongArgument(f"{what}: /macro stop ends that first.")
        known = read_macros()
        if fault := known.faults.get(name) or (name not in known.steps and known.faults.get("")):
            raise WrongArgument(f"Macro {name} is not played. {fault}")
        if name not in known.steps:
            raise WrongArgument(f"There is no macro {visible_text(name).text}.")
        self._worker = self._screen.run_worker(self._play(name, known.steps[name]), group="macro")

    async def _play(self, name: str, steps: tuple[str, ...]) -> None:
        for number, step in enumerate(steps, 1):
            self._told = f"macro {name}, step {number} of {len(steps)}"
            try:
                await self._wait_until_free()
                await self._do(step)
            except MacroStopped as stopped:
                self._tell(f"Stopped: {self._told}. {stopped}", failed=True, seconds=0)
                return
        self._tell(f"Macro {name}: {quantity(len(steps), 'step')} done.")

    async def _wait_until_free(self) -> None:
        """Wait until nothing runs or is asked, and no other screen is over this one."""
        shown = ""
        while True:
            transcript = self._bridge.transcript
            asked = transcript.pending_decision is not None or transcript.pending_input is not None
            if self._bridge.stopped:
                raise MacroStopped("The engine is not running.")
            if not (self._bridge.busy or asked) and self._screen.is_current:
                self._tell(f"{self._told} · {stop_key(self._screen)} stops", seconds=0)
                return
            waits = "waits for you" if asked or not self._screen.is_current else "waits"
            if shown != waits and not asked:
                self._tell(f"{self._told} {waits} · {stop_key(self._screen)} stops", seconds=0)
            shown = waits
            await asyncio.sleep(TICK)

    async def _do(self, step: str) -> None:
        """One step, until what it began has ended; MacroStopped if that was an error."""
        before = self._bridge.transcript
        seen, steps = len(before.blocks), before.step
        try:
            await self._play_step(step)
        except WrongArgument as wrong:
            raise MacroStopped(str(wrong)) from wrong
        self._waits_for = new_id()
        self._settled.clear()
        self._bridge.send(Settle(request_id=self._waits_for))
        while not self._settled.is_set():
            if self._bridge.stopped:
                raise MacroStopped("The engine is not running.")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), TICK)
        after = self._bridge.transcript
        if after is not before:
            raise MacroStopped("Another session was opened.")
        new = after.blocks[seen:]
        for block in new:
            if isinstance(block, NoticeBlock) and block.level == "error":
                raise MacroStopped(visible_text(block.title).text)
            if isinstance(block, Action) and block.author == "user" and block.state not in ("ok", "running"):
                raise MacroStopped("Its code failed.")
        turned = after.step != steps or any(isinstance(block, UserBlock) for block in new)
        if turned and after.ended not in (None, "done"):
            raise MacroStopped(f"The turn ended: {after.ended.replace('_', ' ')}.")
