"""Blocks as Markdown: what is copied "as Markdown" and what an exported notebook consists of.

Everything in it was written by a model, a program or a file, so three rules hold for each part: it goes through
`safe_text` (code through `visible_text`), HTML in it is text, and it cannot end early or run on. A fence is longer than
any run of backticks inside, and prose that leaves a fence open is closed, so that the next block stays a block.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput, Tail
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.compact_table import TABLE_TYPE
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text, without_escapes
from oi_tui.app.engine.text.raw_html import escape_html
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.text.summaries import summary_title
from oi_tui.app.engine.text.thoughts import thought_title
from oi_tui.app.engine.text.whereabouts import tell_places
from oi_tui.app.engine.text.words import one_line, quantity

PlacePicture = Callable[[str, bytes], str]
"""Takes the mime type and the content of a picture, keeps it somewhere, gives the path to write into the Markdown."""

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
"""Pictures that readers of Markdown show, best first."""

TABLE_HEAD, TABLE_TAIL = 20, 5
"""Rows of a data frame that are written out: a notebook is read, not computed with."""

_INFO_WORDS = {"shell": "bash", "ir": "r"}
"""Where the word that highlighters know is not the name of our language."""

_INFO_WORD = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
_BACKTICKS = re.compile(r"`+")
_PUNCTUATION = re.compile(r"([\\`*_\[\]<>#|~&])")
_SENTINEL = "sentinel"


def as_markdown(block: Block, place: PlacePicture | None = None) -> str:
    """One block; "" where there is nothing to say. Without `place`, pictures are written out as data: URLs."""
    match block:
        case UserBlock():
            return _prompt(block)
        case ProseBlock():
            return _close_markup(safe_text(block.text).strip("\n"))
        case ThoughtBlock():
            return _thought_text(block)
        case SummaryBlock():
            return _summary_text(block)
        case Action():
            return _code(block, place or data_url)
        case NoticeBlock():
            return _notice(block)


def transcript_markdown(
    blocks: Iterable[Block], place: PlacePicture | None = None, anchors: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Blocks one under the other, as a file: an empty line between them, a newline at the end. A block whose id is in
    `anchors` gets an anchor for links."""
    parts: list[str] = []
    for block, ran_in in tell_places(blocks):
        parts += [f"*{escape_markdown(ran_in)}:*"] if ran_in else []
        parts += [f'<a id="{anchors[block.id]}"></a>'] if block.id in anchors else []
        parts += [part] if (part := as_markdown(block, place)) else []
    return "\n\n".join(parts) + "\n" if parts else ""


def fenced_block(text: str, info: str = "") -> str:
    """Text that is safe already as a fenced block that nothing inside can end."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text.removesuffix(chr(10))}\n{fence}"


def info_word(language: str) -> str:
    """The word after the opening fence for a language; "" for a name that is no word."""
    word = _INFO_WORDS.get(language, language)
    return word if _INFO_WORD.fullmatch(word) else ""


def _prompt(block: UserBlock) -> str:
    lines = escape_html(safe_text(block.text)).strip("\n").split("\n")
    files = [attached_file(written) for written in block.files]
    for file in files:
        if file.picture:
            lines += ["", f"![{escape_markdown(file.name) or 'picture'}]({_target(file.picture)})"]
    if names := ", ".join(escape_markdown(file.name) for file in files if not file.picture):
        lines += ["", f"Files: {names}"]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _thought_text(block: ThoughtBlock) -> str:
    return f"*{thought_title(block).capitalize()}*\n\n{fenced_block(safe_text(block.text).strip(), 'text')}"


def _summary_text(block: SummaryBlock) -> str:
    title = f"*{summary_title(block).capitalize()}*"
    return f"{title}\n\n{fenced_block(safe_text(block.text).strip(), 'text')}" if block.text.strip() else title


def _notice(block: NoticeBlock) -> str:
    words = " ".join(escape_markdown(part) for part in (block.title, block.hint) if part.strip())
    parts = [f"**{block.level.capitalize()}:** {words}"] if words else []
    if block.details.strip():
        parts.append(fenced_block(safe_text(block.details), "text"))
    return "\n\n".join(parts)


def _code(block: ActionBlock, place: PlacePicture) -> str:
    source = visible_text(block.source, emoji=True).text
    parts = [f"*Call of {escape_markdown(block.tool)}:*"] if isinstance(block, CallBlock) else []
    parts += [fenced_block(source, info_word(block.written_in))] if source.strip() else []
    parts += [part for output in block.outputs if (part := _output(output, place))]
    if block.dropped:
        parts.append(f"*{block.dropped:,} more characters of output were not kept.*")
    if end := run_end(block):
        parts.append(f"*{escape_markdown(end)}*")
    return "\n\n".join(parts)


def run_end(block: ActionBlock) -> str:
    """How a run ended, in plain words, where that is not seen from what it gave; "" where it is."""
    match block.state:
        case "refused" | "interrupted" | "died" if block.ending is not None:
            return f"{block.ending.describe().capitalize()}."
        case "refused":
            return f"Not run: {block.refusal}" if block.refusal.strip() else "Not run."
        case "cut":
            return "Interrupted, not run."
        case "interrupted":
            return "Interrupted."
        case "died":
            return "The kernel ended while this ran."
        case _:
            return f"Exit code {block.exit_code}." if block.exit_code else ""


def _output(output: Output, place: PlacePicture) -> str:
    match output:
        case StreamOutput(tail=tail):
            return "\n\n".join([_text(plain_text(output)), *(_tail(tail) if tail is not None else ())])
        case ErrorOutput():
            return _text(without_escapes("\n".join(output.traceback) or f"{output.name}: {output.value}"))
        case RichOutput():
            return _rich(output, place)


def _tail(tail: Tail) -> tuple[str, str]:
    """The note between head and tail of a long output, and the tail."""
    return f"*… {tail.left_out_characters:,} characters …*", _text(apply_carriage_returns(without_escapes(tail.text)))


def _text(text: str, info: str = "text") -> str:
    text = safe_text(text).strip("\n")
    return fenced_block(text, info) if text.strip() else ""


def _rich(output: RichOutput, place: PlacePicture) -> str:
    """The form that says most in Markdown: itself, a picture, then text."""
    data = output.data
    if table := _table(data.get(TABLE_TYPE)):
        return table
    match data:
        case {"text/markdown": str(text)}:
            return _close_markup(safe_text(text).strip("\n"))
        case {"text/latex": str(text)}:
            return _formula(safe_text(text).strip())
    for mime in PICTURE_TYPES:
        if (content := picture_bytes(mime, data.get(mime))) is not None:
            return f"![figure]({_target(place(mime, content))})"
    match data:
        case {"application/json": value}:
            return _text(_json(value), "json")
        case {"text/html": str(text)} if "text/plain" not in data:
            return _text(text, "html")
        case _:
            return _text(without_escapes(plain_text(output)))


class FrameExcerpt(NamedTuple):
    """The part of a data frame that is written out."""

    names: tuple[str, ...]
    """Of its columns; those of the index come first."""
    labels: int
    """How many columns the index has."""
    numeric: tuple[bool, ...]
    """Which columns are set to the right."""
    rows: tuple[tuple[str, ...], ...]
    """All of one length, with a row of nothing but `…` where some are left out."""
    size: str
    """In words."""


def frame_of(content: object) -> FrameExcerpt | None:
    """What our part in the kernel sent of a data frame; None for what has another shape than it should have."""
    match content:
        case {
            "index": list(index),
            "columns": list(columns),
            "head": list(head),
            "tail": list(tail),
            "rows": int(count),
            "width": int(width),
        }:
            described = [*index, *columns]
        case _:
            return None
    if not described or not all(isinstance(part, list) and part for part in (*described, *head, *tail)):
        return None
    shown = [*head, *tail]
    if len(shown) > TABLE_HEAD + TABLE_TAIL or count > len(shown):
        shown = [*head[:TABLE_HEAD], ["…"] * len(described), *(tail or head[TABLE_HEAD:])[-TABLE_TAIL:]]
    return FrameExcerpt(
        names=_cells([column[0] for column in described], len(described)),
        labels=len(index),
        numeric=tuple(column[-1] is True for column in described),
        rows=tuple(_cells(row, len(described)) for row in shown),
        size=f"{quantity(count, 'row')} × {quantity(width, 'column')}",
    )


def _cells(cells: list[object], width: int) -> tuple[str, ...]:
    words = ["" if cell is None else str(cell) for cell in cells[:width]]
    return (*words, *[""] * (width - len(words)))


def _table(content: object) -> str:
    frame = frame_of(content)
    if frame is None:
        return ""
    lines = [
        _table_row(map(escape_markdown, frame.names)),
        _table_row("---:" if right else "---" for right in frame.numeric),
        *(_table_row(map(escape_markdown, row)) for row in frame.rows),
        "",
        f"*{frame.size}*",
    ]
    return "\n".join(lines)


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _formula(text: str) -> str:
    """LaTeX between the signs that mark it; kernels send it with and without them."""
    if not text:
        return ""
    marked = text.startswith(("$", "\\begin", "\\[", "\\("))
    # An empty line would end the paragraph that the formula is.
    return _close_markup(re.sub(r"\n\s*\n", "\n", text if marked else f"$$\n{text}\n$$"))


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)


def picture_bytes(mime: str, content: object) -> bytes | None:
    """The picture's bytes, from a kernel's output; None if that is no string of base64 (or of SVG)."""
    if not isinstance(content, str) or not content:
        return None
    if mime == "image/svg+xml":
        return content.encode("utf-8", errors="replace")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def data_url(mime: str, content: bytes) -> str:
    """An address that is the picture itself."""
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _target(path: str) -> str:
    """A path or URL as the target of a link: no space, bracket or newline ends it."""
    return quote(path, safe="/:;,.+=~_-%", errors="replace")


def escape_markdown(text: str) -> str:
    """Plain words on one line that Markdown takes as they are."""
    return _PUNCTUATION.sub(r"\\\1", one_line(text))


def _close_markup(text: str) -> str:
    """Markdown without HTML, with a fence that it leaves open closed: it says nothing about what comes after it."""
    if not text.strip():
        return ""
    escaped = escape_html(text)
    last, markup = _after(escaped)
    if last == "paragraph_close":
        return escaped
    if last == "fence":
        return f"{escaped}\n{markup}"
    return fenced_block(text)  # nothing closes it: shown verbatim, at least


def _after(text: str) -> tuple[str, str]:
    """The last element, and the fence it is in, when one more paragraph follows."""
    from markdown_it import MarkdownIt  # only for an export or a copy: not worth its time at the start

    tokens = MarkdownIt("commonmark").parse(f"{text}\n\n{_SENTINEL}\n")
    last = tokens[-1]
    if last.type == "paragraph_close" and tokens[-2].content != _SENTINEL:
        return "", ""
    return last.type, last.markup
