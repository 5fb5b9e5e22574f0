"""Branching at an earlier block: a fork, another wording of a prompt, another answer. The old branch is kept."""

from collections.abc import Sequence
from typing import Literal

from textual.widget import Widget

from oi_tui.app.engine.core.blocks import Block, UserBlock
from oi_tui.app.engine.core.verbs import FindModels, Fork, Submit
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.bottom import Bottom
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.leave_question import switch_question
from oi_tui.widgets.composer import PromptArea, as_prompt

BranchKind = Literal["fork", "rewind", "again"]
"""After a block; before a prompt, to write another one; before a prompt, to send it again."""

_OURS = "screen-"
"""Beginning of the ids of blocks that the engine does not know."""


async def may_leave(place: Widget, bridge: Bridge) -> bool:
    """Whether the open session may be left: asks the user if that interrupts something."""
    if (question := switch_question(bridge)) is None:
        return True
    yes: bool | None = await place.app.push_screen_wait(question)
    return bool(yes)


def last_place(blocks: Sequence[Block], block_id: str = "") -> str:
    """Id of the last block up to this one (or at all) that the engine knows; "" if there is none."""
    place = next((number for number, block in enumerate(blocks) if block.id == block_id), len(blocks) - 1)
    return next((block.id for block in reversed(blocks[: place + 1]) if not block.id.startswith(_OURS)), "")


def prompt_of(blocks: Sequence[Block], block_id: str) -> UserBlock | None:
    """The prompt that a block answers, or that it is."""
    place = next((number for number, block in enumerate(blocks) if block.id == block_id), -1)
    return next((block for block in reversed(blocks[: place + 1]) if isinstance(block, UserBlock)), None)


class Branching:
    """Does what is wanted of a block of the open session."""

    def __init__(self, place: Widget, bridge: Bridge) -> None:
        self._place = place
        self._bridge = bridge

    async def do(self, branch: BranchKind, block: Block) -> None:
        """Do it, or say why it cannot be done."""
        blocks = self._bridge.transcript.blocks
        if branch == "fork":
            await self._fork(last_place(blocks, block.id))
            return
        prompt = prompt_of(blocks, block.id)
        if prompt is None:
            self._tell("There is no prompt before this block.")
        elif branch == "rewind":
            await self._rewind(prompt)
        else:
            await self._again(prompt)

    async def _fork(self, block_id: str) -> None:
        if not block_id:
            self._tell("There is nothing to fork yet.")
        elif await may_leave(self._place, self._bridge):
            self._bridge.switch(Fork(block_id=block_id), self._at_prompt)

    async def _rewind(self, prompt: UserBlock) -> None:
        if await may_leave(self._place, self._bridge):
            self._bridge.switch(Fork(block_id=prompt.id, place="before"), lambda: self._write(prompt))

    async def _again(self, prompt: UserBlock) -> None:
        model = safe_text(self._bridge.transcript.model) or "the same model"
        choices = [f"Ask {model} again", "Choose another model first"]
        chosen = await self._place.app.push_screen_wait(ChooseScreen("Ask this prompt again, on a new branch", choices))
        if chosen is None or not await may_leave(self._place, self._bridge):
            return
        fork = Fork(block_id=prompt.id, place="before")
        self._bridge.switch(fork, (lambda: self._ask(prompt)) if chosen == 0 else (lambda: self._choose(prompt)))

    # -- when the branch is open -----------------------------------------------------------------------------

    def _at_prompt(self) -> None:
        self._place.screen.query_one(Bottom).focus_shown()

    def _ask(self, prompt: UserBlock) -> None:
        self._bridge.send(Submit(text=prompt.text, files=prompt.files))
        self._at_prompt()

    def _write(self, prompt: UserBlock) -> None:
        """The prompt to edit, below the current draft."""
        area = self._place.screen.query_one(PromptArea)
        pasted = [written for written in prompt.files if (file := attached_file(written)).picture and not file.name]
        area.tokens.bring_back(prompt.text, pasted)
        if area.text.strip():
            area.add(prompt.text)
        else:
            area.fill(as_prompt(prompt.text))
        self._at_prompt()

    def _choose(self, prompt: UserBlock) -> None:
        self._write(prompt)
        self._bridge.send(FindModels())

    def _tell(self, text: str) -> None:
        self._place.app.notify(text, timeout=4)
