"""What programs ask a terminal, and what a modern one answers; programs that get no answer sit in time-outs."""

import re
from typing import Protocol

QUERY = re.compile(
    rb"\x1b\[(?P<attributes>c|0c)|\x1b\[>0?(?P<version>c|q)|\x1b\[(?P<report>[56])n"
    rb"|\x1b\[\?(?P<mode>\d+)\$p|\x1b\](?P<colour>1[01]);\?(?:\x07|\x1b\\)|\x1b\[\?(?P<keyboard>u)|\x1b\[(?P<size>1[468])t"
)
LONGEST_QUERY = 16
"""Bytes to keep, at least, when the output is split within a query."""

SYNCHRONISED_OUTPUT = b"2026"
CELL_WIDTH, CELL_HEIGHT = 8, 16
"""Pixels."""


class Asked(Protocol):
    """What an answer depends on."""

    columns: int
    rows: int
    modes: frozenset[bytes]
    """Private modes that it has, of those that programs ask about."""

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 1."""
        ...


def answer(query: re.Match[bytes], terminal: Asked) -> bytes:
    """The answer to a match of `QUERY`."""
    match query.lastgroup, query[query.lastgroup or 0]:
        case "attributes", _:
            return b"\x1b[?62;22c"
        case "version", b"c":
            return b"\x1b[>1;10;0c"
        case "version", _:
            return b"\x1bP>|terminal 1\x1b\\"
        case "report", b"5":
            return b"\x1b[0n"
        case "report", _:
            return b"\x1b[%d;%dR" % terminal.cursor
        case "mode", mode:
            return b"\x1b[?%b;%d$y" % (mode, 2 if mode in terminal.modes else 0)
        case "colour", which:
            value = b"d0d0/d0d0/d0d0" if which == b"10" else b"1010/1010/1414"
            return b"\x1b]%b;rgb:%b\x1b\\" % (which, value)
        case "keyboard", _:
            return b"\x1b[?0u"
        case "size", b"14":
            return b"\x1b[4;%d;%dt" % (terminal.rows * CELL_HEIGHT, terminal.columns * CELL_WIDTH)
        case "size", b"16":
            return b"\x1b[6;%d;%dt" % (CELL_HEIGHT, CELL_WIDTH)
        case _:
            return b"\x1b[8;%d;%dt" % (terminal.rows, terminal.columns)
