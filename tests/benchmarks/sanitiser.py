"""How fast foreign text is made fit for a terminal: plain text of several alphabets, and what is built to be slow."""

import time
from collections.abc import Callable

from figures import ROUNDS, Budget, exponent, judge, table

from oi_tui.app.engine.text.safe import SafeStream, safe_text, visible_text

MEGABYTE = 1_000_000
PLAIN = {
    "plain text, ASCII, lines of 112": "The quick brown fox jumps over the lazy dog, 0123456789. " * 2 + "\n",
    "German": "Zwölf Boxkämpfer jagen Viktor quer über den großen Deich.\n",
    "Russian": "Съешь же ещё этих мягких французских булок, да выпей чаю.\n",
    "Chinese": "我能吞下玻璃而不伤身体。\n",
    "a table drawn with lines": "│ a │ b │ “quoted” → 3 €\n├───┼───┤\n",
}
OTHER = {
    "Thai, with marks": "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ\n",
    "emoji, joined": "👩\u200d💻 hello ❤\ufe0f\n",
    "coloured output": "\x1b[31mred\x1b[0m plain text follows here and more of it\n",
    "all sequences": "\x1b]52;c;aGk=\x07\u202e\x9b31m\x00\x1bPq\x1b\\",
    "beginnings of sequences": "\x1b[0;1\x1b]0;\x9b",
    "escape characters": "\x1b",
    "marks upon one letter": "\u0301",
}
LIMIT = 50
"""MB/s, on plain text."""


def in_pieces(text: str) -> None:
    """As it comes from a model that is told on stderr."""
    stream = SafeStream()
    for start in range(0, len(text), 4_096):
        stream.feed(text[start : start + 4_096])
    stream.finish()


def speed(clean: Callable[[str], object], unit: str, size: int) -> float:
    """MB/s of CPU time, the best of the rounds: a busy machine only makes it slower."""
    text = unit * (size // len(unit.encode()) + 1)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        clean(text)
        best = min(best, time.process_time() - began)
    return len(text.encode()) / MEGABYTE / best


def main() -> None:
    """Measure and print."""
    print("## Text made safe\n")
    print(f"MB/s (UTF-8, best of {ROUNDS}, CPU time of one core); 4 MB of plain text, 0.5 MB of the rest.\n")
    ways = (safe_text, in_pieces, visible_text)
    rows = [(name, [speed(way, unit, 4 * MEGABYTE) for way in ways]) for name, unit in PLAIN.items()]
    plain = [figures[0] for _, figures in rows]
    rows += [(name, [speed(way, unit, MEGABYTE // 2) for way in ways]) for name, unit in OTHER.items()]
    head = ("text", "`safe_text`", "`SafeStream`, pieces of 4,096", "`visible_text`")
    print(table(head, ((name, *(f"{figure:,.0f}" for figure in figures)) for name, figures in rows)))
    powers = [
        exponent({size: size / speed(safe_text, unit, size) for size in (MEGABYTE // 8, MEGABYTE // 2, 2 * MEGABYTE)})
        for unit in OTHER.values()
    ]
    print(f"Cost by length, the steepest of what is not plain: power {max(powers):.2f} (1 is linear).\n")
    judge(
        Budget(
            "plain text made safe, any alphabet", f">= {LIMIT} MB/s", f"{min(plain):,.0f} MB/s", min(plain) >= LIMIT
        ),
        Budget("hostile text, its CPU by its length", "linear", f"power {max(powers):.2f}", max(powers) <= 1.3),
    )


if __name__ == "__main__":
    main()
