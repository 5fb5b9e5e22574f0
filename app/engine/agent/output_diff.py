"""What came out of a run now beside what is on record: the same, or the lines that differ."""

import difflib
import re
from collections.abc import Iterator, Sequence

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.text.mime import apply_carriage_returns, plain_text, without_escapes

DIFF_LINES = 2_000
"""Lines of each side that are compared one by one; longer outputs are only equal or not."""

SHOWN_DIFF_LINES = 60
"""Most lines of a diff."""

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
"""The address of an object in memory, which differs in each process."""


def output_diff(recorded: Sequence[Output], now: Sequence[Output]) -> str:
    """Lines of a unified diff, "" if the outputs are the same.

    Each stream is one text, regardless of its pieces; for pictures and other binary forms it says only that they
    differ.
    """
    before, after = _lines(recorded), _lines(now)
    if before == after:
        return ""
    if max(len(before), len(after)) > DIFF_LINES:
        return f"{len(before):,} lines then, {len(after):,} lines now; they differ."
    lines = list(difflib.unified_diff(before, after, "then", "now", lineterm="", n=1))
    left_out = len(lines) - SHOWN_DIFF_LINES
    return "\n".join([*lines[:SHOWN_DIFF_LINES], *([f"… {left_out:,} more lines"] if left_out > 0 else [])])


def _lines(outputs: Sequence[Output]) -> list[str]:
    texts = {"stdout": "", "stderr": ""}
    others: list[str] = []
    for output in outputs:
        match output:
            case StreamOutput(name=name, text=text, tail=tail):
                texts[name] += text
                if tail is not None:
                    texts[name] += f"\n… {tail.left_out_characters:,} characters …\n{tail.text}"
            case _:
                others += _forms(output)
    streams = [line for text in texts.values() for line in _plain(text).splitlines()]
    return [*streams, *others]


def _forms(output: RichOutput | ErrorOutput) -> Iterator[str]:
    """A result or an error as lines; an error without its traceback, which names places and not what happened."""
    if isinstance(output, ErrorOutput):
        yield f"{output.name}: {_plain(output.value)}"
        return
    yield from _plain(plain_text(output)).splitlines()
    for mime, content in sorted(output.data.items()):
        if mime.startswith(("image/", "application/pdf")):
            yield f"{mime} {text_digest(str(content))[:8]}"


def _plain(text: str) -> str:
    return _ADDRESS.sub("0x…", apply_carriage_returns(without_escapes(text)))
