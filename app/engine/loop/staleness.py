"""A name that is missing because its kernel is gone: a hint instead of a riddle."""

import re
from collections.abc import Sequence
from typing import TypeGuard

from oi_tui.app.engine.blocks import Block, CodeBlock
from oi_tui.app.engine.outputs import ErrorOutput

_MISSING = re.compile(r"name '(\w{1,100})' is not defined")


def lost_name(block: CodeBlock, earlier: Sequence[Block]) -> str:
    """The name that this run missed and that code of the earlier blocks speaks of, "" if it is not about that.

    `earlier` is what was there when the session was opened; of that, code counts that ran and was not repeated.
    """
    for output in block.outputs:
        if not (isinstance(output, ErrorOutput) and output.name == "NameError"):
            continue
        found = _MISSING.search(output.value)
        if found is None:
            continue
        word = re.compile(rf"\b{found[1]}\b")
        if any(_is_lost(other, block) and word.search(other.source) for other in earlier):
            return found[1]
    return ""


def _is_lost(other: Block, block: CodeBlock) -> TypeGuard[CodeBlock]:
    if not isinstance(other, CodeBlock) or other.language != block.language:
        return False
    return other.duration is not None and other.rerun not in ("same", "differs")
