"""Markdown in which HTML is text: what a model wrote must not become part of the page that somebody makes of it.

Only what is code stays as it is, for there HTML is text already.
"""

import re

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""How every kind of HTML begins: tags, comments, declarations, instructions."""

_PIECE = re.compile(
    r"""(?P<escape>\\[!-/:-@\[-`{-~])
      | (?P<ticks>`+)
      | (?P<link><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>`$|]*>)
      | (?P<math>\$\$[^`]+?\$\$|\$[^$`\n]+\$)
      | (?P<tag><(?=[A-Za-z/!?]))""",
    re.VERBOSE,
)
_TABLE = re.compile(r"^[ >]*\|?[ ]*:?-+:?[ ]*(\|[ ]*:?-+:?[ ]*)+\|?[ ]*$|^[ >]*\|[ ]*:?-+:?[ ]*\|?[ ]*$", re.MULTILINE)
"""The line below the head of a table."""


def escape_html(text: str) -> str:
    """The Markdown with no HTML in it, by the rules of CommonMark; in code nothing is changed. Applied twice, it
    changes nothing more."""
    if not _TAG.search(text):
        return text
    lines = text.split("\n")
    parts: list[str] = []
    done = 0
    for start, end, is_code in _regions(text, len(lines)):
        if start < done:
            continue  # a part of a line that is done already
        parts += [_escape("\n".join(lines[done:start]))] if start > done else []
        region = "\n".join(lines[start:end])
        parts.append(region if is_code else _escape(region))
        done = end
    parts += [_escape("\n".join(lines[done:]))] if done < len(lines) else []
    return "\n".join(parts)


def _regions(text: str, count: int) -> list[tuple[int, int, bool]]:
    """Lines that belong together, from and before which, and whether they are code."""
    from markdown_it import MarkdownIt  # only for an export or a copy: not worth its time at the start

    # Without HTML, as the text will be: in it, a fence could be text, and the text behind it code.
    tokens = MarkdownIt("commonmark", {"html": False}).parse(text)
    kinds = {"fence": True, "code_block": True, "inline": False}
    found = [(token.map[0], token.map[1], kinds[token.type]) for token in tokens if token.map and token.type in kinds]
    return sorted((start, min(end, count), is_code) for start, end, is_code in found if end > start)


def _escape(text: str) -> str:
    """A piece of Markdown without code but in a line."""
    escaped: list[str] = []
    position = 0
    in_table = _TABLE.search(text) is not None
    while (match := _PIECE.search(text, position)) is not None:
        escaped.append(text[position : match.start()])
        position = match.end()
        match match.lastgroup:
            case "ticks":
                closing = re.compile(f"(?<!`){match[0]}(?!`)").search(text, position)
                position = closing.end() if closing is not None else position
                span = text[match.start() : position]
                # Lines and the cells of a table are read before code in them is: HTML at the beginning of a line, or
                # behind what divides two cells, is none of it.
                is_cut = "\n" in span or (in_table and "|" in span)
                escaped.append(_TAG.sub("< ", span) if is_cut else span)
            case "math":
                escaped.append(_TAG.sub("< ", match[0]))
            case "tag":
                escaped.append("&lt;")
            case _:
                escaped.append(match[0])
    return "".join((*escaped, text[position:]))
