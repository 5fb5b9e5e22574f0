"""Which runs are repeated to have their variables again; the person chooses, nothing runs before that, and not by keys
that were typed before this was seen."""

import time
from collections.abc import Sequence, Set
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.themes.palette import Palette
from oi_tui.widgets.arming import LOOK_INTERVAL, Arming, Clock
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.timeline.source_view import SourceView

REBUILD = (
    "In new kernels, in this order, up to the first that fails. Outputs are compared with the saved ones; "
    "the session is not changed."
)

HERE = "In this kernel, in this order, up to the first that fails; each becomes a new block."

WIDE = 200
"""Characters of a line that are shown at most; the terminal cuts it."""

QUOTED, NAMED = 40, 3
"""Characters of a source, and changes, that are named above the list."""


def describe_chain(transcript: Transcript, blocks: Sequence[CodeBlock]) -> str:
    """What running these again does, and which changes made them stale: `df changed in “df = load()”`."""
    changes = dict.fromkeys(
        f"{safe_text(one.name)} changed in “{_first_line(maker.source)[:QUOTED]}”"
        for block in blocks
        for one in block.inputs
        if one.stale_by not in ("", one.block_id)
        and transcript.has(one.stale_by)
        and isinstance(maker := transcript.block(one.stale_by), CodeBlock)
    )
    more = f", and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
    told = f" Stale: {', '.join([*changes][:NAMED])}{more}." if changes else ""
    return f"{HERE}{told}"


def _first_line(source: str) -> str:
    """The first line that says something, safe to show."""
    lines = (line.strip() for line in visible_text(source).text.split("\n"))
    return next((line[:WIDE].replace("\t", " ") for line in lines if line), "")


class RebuildScreen(ModalScreen[tuple[str, ...] | None]):
    """Dismissed with the ids of the blocks to run again, or None."""

    CSS_PATH = "rebuild.tcss"
    DECIDES = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "run", "run", id="rebuild.run", priority=True),
        Hint("space", "choose", "choose", id="rebuild.choose", priority=True),
        Hint("a", "all", "all or none", id="rebuild.all", short="all"),
        Hint("pagedown", "scroll(1)", "read on", id="rebuild.page_down", priority=True),
        Binding("pageup", "scroll(-1)", "Source up", id="rebuild.page_up", priority=True),
        Hint("escape,q", "dismiss(None)", "back, nothing runs", id="rebuild.back", short="back"),
    ]

    def __init__(
        self,
        blocks: Sequence[CodeBlock],
        foreign: Set[str],
        palette: Palette,
        *,
        lead: str = REBUILD,
        moved: str = "",
        clock: Clock = time.monotonic,
    ) -> None:
        """Blocks that ran. Those that succeeded in a kernel are selected, `foreign` ones only one by one. `lead`
        explains the result, `moved` says that they ran somewhere else than they would now."""
        super().__init__()
        self._arming = Arming(clock)
        self._blocks = blocks
        self._palette = palette
        self._lead = lead
        self._moved = moved
        self._own = {number for number, block in enumerate(blocks) if block.id not in foreign}
        self._chosen = {number for number in self._own if blocks[number].state == "ok" and not blocks[number].apart}

    def compose(self) -> ComposeResult:
        """A list between what it means and its keys."""
        yield Words("Run these again?", id="rebuild-title")
        yield Words(self._lead, id="rebuild-lead")
        if self._moved:
            yield Words(self._moved, id="rebuild-moved")
        options = [self._line(number) for number in range(len(self._blocks))]
        yield Options(*options, id="rebuild-list", compact=True)
        yield SourceView(id="rebuild-source")
        yield KeyRow(id="rebuild-keys")

    def on_mount(self) -> None:
        """The keys say how many are chosen; the source of the first is shown."""
        self.query_one(SourceView).set_palette(self._palette)
        self._arming.show()
        self.call_after_refresh(self._arming.show)  # it is seen only then
        self.show_arming()
        self.set_interval(LOOK_INTERVAL, self.show_arming)

    def note_key(self, age: float) -> None:
        """Called with every key."""
        self._arming.touch(age)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Whatever is chosen has been seen, or can be."""
        event.stop()
        block = self._blocks[event.option_index]
        self.query_one(SourceView).show(visible_text(block.source).text, block.language)

    def action_scroll(self, step: int) -> None:
        """Scroll the source by `step` pages."""
        view = self.query_one(SourceView)
        view.scroll_relative(y=step * max(1, view.size.height - 1), animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click takes one in or out."""
        event.stop()
        self._toggle(event.option_index)

    def action_choose(self) -> None:
        """Take the highlighted one in or out."""
        if self._takes_keys() and (highlighted := self.query_one(Options).highlighted) is not None:
            self._toggle(highlighted)

    def action_run(self) -> None:
        """Run the selected ones; without any there is nothing to do."""
        if self._takes_keys() and self._chosen:
            self.dismiss(tuple(self._blocks[number].id for number in sorted(self._chosen)))

    def action_all(self) -> None:
        """All that ran here, or none of these if all are chosen; what came in a file is chosen one by one."""
        if not self._takes_keys():
            return
        before = self._chosen
        self._chosen = before - self._own if self._own <= before else before | self._own
        self._redraw(before ^ self._chosen)

    def _takes_keys(self) -> bool:
        """Whether a key that was just pressed counts."""
        self._arming.look()
        return self._arming.is_armed

    def _toggle(self, number: int) -> None:
        self._chosen ^= {number}
        self._redraw({number})

    def _redraw(self, numbers: set[int]) -> None:
        options = self.query_one(Options)
        for number in numbers:
            options.replace_option_prompt_at_index(number, self._line(number))
        self.show_arming()

    def show_arming(self) -> None:
        """How many are chosen, and whether keys count yet."""
        self._arming.look()
        count, armed = len(self._chosen), self._arming.is_armed
        words = {"enter": (f"run {count}" if count else "nothing chosen", f"run {count}")}
        off = {"enter", "space", "a"} if not armed else {"enter"} if not count else ()
        self.query_one(KeyRow).labels = key_labels(self, words=words, off=off)

    def _line(self, number: int) -> Content:
        """Chosen or not, language, the first line that says something, and how it ended then."""
        block = self._blocks[number]
        count = sum(1 for line in block.source.split("\n") if line.strip())
        more = f" … {count - 1} more" if count > 1 else ""
        if number not in self._own:
            more += " · from a file"
        failed = "" if block.state == "ok" else f" · ✗ {block.state}"
        return lettering(
            ("[✓] ", "$accent") if number in self._chosen else ("[ ] ", "$dim"),
            (f"{safe_text(block.language)[:10]:<7} ", "$dim"),
            (_first_line(block.source), "$text"),
            (more, "$dim"),
            (failed, "$error"),
        )
