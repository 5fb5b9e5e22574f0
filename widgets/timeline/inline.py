"""The inside of a paragraph as runs: emphasis, code, links with their target, formulas, emoji."""

import re
from typing import TYPE_CHECKING

from rich.style import Style

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.widgets.timeline.definitions import ReferenceLookup
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.math import readable_math
from oi_tui.widgets.timeline.math_symbols import to_superscript
from oi_tui.widgets.timeline.wrap import TextRun

if TYPE_CHECKING:
    from markdown_it.token import Token

HREF = "href"
"""Key of a style's meta data that holds the target of a link."""

LONGEST_TARGET = 80
"""Cells of a link's target that are shown."""

LONGEST_LABEL = 20
"""Characters of a footnote's label that are shown."""

TAB = 4

_OPENED = ("http://", "https://", "mailto:")
"""How a target starts that a browser or mail program may be given."""

_BOLD, _ITALIC, _STRUCK = Style(bold=True), Style(italic=True), Style(strike=True)
_FOUND = re.compile(
    r"(?P<url>(?<![\w/])https?://[^\s<>\"`、。，；！？）」』】]{1,2000})|(?<![\w:]):(?P<emoji>[a-z][a-z0-9_+-]{0,60}|\+1|-1|100):(?![\w:])",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def clean_text(text: str) -> str:
    """Text that is safe and has no tabs. Needed again after parsing, since `&#x202e;` is plain text before."""
    return safe_text(text).expandtabs(TAB)


def spaced_line(text: str) -> str:
    """Safe text for a place that has only one line."""
    return clean_text(text).replace("\n", " ")


def inline(token: "Token", base: Style, ink: Ink, asked: ReferenceLookup | None = None) -> list[TextRun]:
    """Inline tokens as runs in `base` and what is added to it; `asked` knows the footnotes."""
    return _Runs(base, ink, asked).all(token)


def with_task_box(runs: list[TextRun]) -> list[TextRun]:
    """Runs of an item of a list, with the box of a task instead of its brackets."""
    if not runs or runs[0][0][:4].lower() not in ("[ ] ", "[x] "):
        return runs
    text, style = runs[0]
    return [("☐ " if text[1] == " " else "☑ ", style), (text[4:], style), *runs[1:]]


class _Runs:
    """Collects the runs of one inline token; used once."""

    def __init__(self, base: Style, ink: Ink, asked: ReferenceLookup | None) -> None:
        self._ink = ink
        self._asked = asked
        self._styles = [base]
        self._runs: list[TextRun] = []
        self._links: list[tuple[str, int]] = []

    def all(self, token: "Token") -> list[TextRun]:
        """The runs of all children."""
        for child in token.children or ():
            self._add(child)
        return self._runs

    def _add(self, child: "Token") -> None:
        style = self._styles[-1]
        match child.type:
            case "text":
                self._text(child.content)
            case "html_inline":
                self._runs.append(("\n" if _BREAK.fullmatch(child.content) else clean_text(child.content), style))
            case "code_inline":
                self._runs.append((clean_text(child.content), self._ink.inline_code))
            case "math_inline":
                self._math(child)
            case "footnote_ref":
                self._note(str(child.meta["label"]))
            case "softbreak":
                self._runs.append((" ", style))
            case "hardbreak":
                self._runs.append(("\n", style))
            case "em_open":
                self._styles.append(style + _ITALIC)
            case "strong_open":
                self._styles.append(style + _BOLD)
            case "s_open":
                self._styles.append(style + _STRUCK)
            case "link_open":
                target = str(child.attrs.get("href", ""))
                self._links.append((target, len(self._runs)))
                self._styles.append(style + link_style(target, self._ink))
            case "link_close":
                self._styles.pop()
                self._target(*self._links.pop())
            case "image":
                self._runs.append((f"[picture: {clean_text(child.content)}]", style))
                self._runs += _target_note(str(child.attrs.get("src", "")), self._ink)
            case "em_close" | "strong_close" | "s_close":
                self._styles.pop()
            case _:
                pass

    def _text(self, text: str) -> None:
        """Plain text, in which emoji and addresses are found."""
        style, position = self._styles[-1], 0
        text = clean_text(text)
        for found in _FOUND.finditer(text) if ":" in text else ():
            shown = _emoji(found["emoji"]) if found["emoji"] else _address(found["url"])
            if not shown or (found["url"] and self._links):
                continue
            if found.start() > position:
                self._runs.append((text[position : found.start()], style))
            position = found.end()
            if found["url"]:
                self._runs.append((shown, style + link_style(shown, self._ink)))
                position = found.start() + len(shown)
            else:
                self._runs.append((shown, style))
        if position < len(text):
            self._runs.append((text[position:], style))

    def _math(self, child: "Token") -> None:
        style = self._styles[-1]
        if child.markup in ("$", "\\("):
            self._runs.append((clean_text(readable_math(child.content, rows=False)), style))
            return
        rows = clean_text(readable_math(child.content)).split("\n")
        self._runs.append(("".join(f"\n  {row}" for row in rows) + "\n", style))

    def _note(self, label: str) -> None:
        if self._asked is None or not self._asked.has_note(label):
            self._runs.append((clean_text(f"[^{label}]"), self._styles[-1]))
        else:
            self._runs.append((note_mark(label), self._ink.dim))

    def _target(self, target: str, start: int) -> None:
        text = "".join(text for text, _ in self._runs[start:])
        if text not in (target, target.removeprefix("mailto:")):
            self._runs += _target_note(target, self._ink)


def note_mark(label: str) -> str:
    """How the label of a footnote is shown: ¹ or [label]."""
    return (to_superscript(label) if label.isdecimal() else None) or f"[{spaced_line(label)[:LONGEST_LABEL]}]"


def link_style(target: str, ink: Ink) -> Style:
    """The addition to the style of a link; nothing for a target that is never opened."""
    if not target.lower().startswith(_OPENED):
        return Style()
    return ink.link + Style(meta={HREF: target})


def _target_note(target: str, ink: Ink) -> list[TextRun]:
    return [(f" ({shorten_target(target)})", ink.dim)] if target else []


def shorten_target(target: str) -> str:
    """The visible part of a link's target."""
    target = clean_text(target)
    return target if len(target) <= LONGEST_TARGET else target[: LONGEST_TARGET - 1] + "…"


def _emoji(name: str) -> str:
    from rich.emoji import Emoji  # its table is large; few texts need it

    shown = Emoji.replace(f":{name}:")
    return "" if shown.startswith(":") else clean_text(shown)


def _address(text: str) -> str:
    """The address at the start of `text`, without what only ends the sentence around it."""
    while text and (text[-1] in "?!.,:;*_~'|\\" or (text[-1] in ")]}" and _is_unpaired(text))):
        text = text[:-1]
    return text if len(text) > len("https://") else ""


def _is_unpaired(text: str) -> bool:
    closing = text[-1]
    return text.count(closing) > text.count({")": "(", "]": "[", "}": "{"}[closing])
