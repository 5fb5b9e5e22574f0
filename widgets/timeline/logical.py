"""Blocks as text for the clipboard: no gutters, no wrapping, no colours.

The copy has what is visible: hidden characters and control sequences must not travel from a model into someone's shell.
Prose and output omit them; code writes them out, as on the screen, since code without them is other code.
"""

from pathlib import Path

from oi_tui.app.engine.core.blocks import Action, Block, NoticeBlock, ProseBlock, SummaryBlock, ThoughtBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, Tail
from oi_tui.app.engine.core.widget_controls import WIDGET_VIEW
from oi_tui.app.engine.text.rich_text import best_text
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.widgets.timeline.terminal import TerminalText


def logical_text(block: Block) -> str:
    """Source of code, Markdown of prose, the words of anything else."""
    match block:
        case UserBlock() | ProseBlock() | ThoughtBlock() | SummaryBlock():
            return safe_text(block.text)
        case Action():
            return visible_text(block.source, emoji=True).text
        case NoticeBlock():
            return safe_text("\n".join(part for part in (block.title, block.hint, block.details) if part))


def count_hidden(block: Block) -> int:
    """How many characters of code are written out in its text."""
    return visible_text(block.source, emoji=True).hidden if isinstance(block, Action) else 0


def has_picture(block: Block) -> bool:
    """Whether there is a picture among the outputs."""
    return isinstance(block, Action) and any(
        isinstance(output, RichOutput) and any(mime.startswith("image/") for mime in output.data)
        for output in block.outputs
    )


def output_text(block: Block) -> str:
    """What running a code block printed, as plain text; nothing for other blocks."""
    if not isinstance(block, Action):
        return ""
    return "\n".join(text for text in map(_output, block.outputs) if text)


def whole_output(block: Block) -> Path | None:
    """The file with all that a run wrote, where that is long and there is one; it may be gone by now."""
    if isinstance(block, Action) and block.whole is not None and block.whole.path:
        return Path(block.whole.path)
    return None


def _output(output: Output) -> str:
    match output:
        case StreamOutput(text=text, tail=Tail(left_out_characters=characters) as tail) if characters:
            return f"{_plain(text)}\n[… {characters:,} characters left out …]\n{_plain(tail.text)}"
        case StreamOutput(text=text, tail=tail):
            return _plain(text if tail is None else text + tail.text)
        case ErrorOutput():
            return _plain("\n".join(output.traceback) or f"{output.name}: {output.value}")
        case RichOutput():
            return _plain(best_text(output.data))


def _plain(text: str) -> str:
    terminal = TerminalText()
    terminal.update(text)
    return terminal.plain()


def shown_widgets(block: Block) -> tuple[str, ...]:
    """Names of the widgets of ipywidgets that a block shows, in their order."""
    names: dict[str, None] = {}
    for output in block.outputs if isinstance(block, Action) else ():
        match output:
            case RichOutput(data=data) if isinstance(view := data.get(WIDGET_VIEW), dict):
                if isinstance(name := view.get("model_id"), str):
                    names[name] = None
    return tuple(names)
