"""Why a run failed, where it was not the code: a hint instead of a riddle.

A name that went with its kernel looks like a slip of the pen, and what a sandbox stops like a broken disk or network.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeGuard

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, StreamOutput
from oi_tui.app.engine.core.values import Confinement
from oi_tui.app.engine.policy.installs import failed_install
from oi_tui.app.engine.policy.reading import SourceFacts

_READ_ONLY = re.compile(r"Read-only file system")
_NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|Network is unreachable|Could not resolve host|Name or service not known"
)
LOOKED_AT = 20_000
"""Characters of the end of each output that are looked at."""

_MISSING = re.compile(r"name '(\w{1,100})' is not defined")


class RunHint(NamedTuple):
    """Something to say under a run."""

    title: str
    hint: str


def run_hints(block: CodeBlock, earlier: Sequence[Block], confinement: Confinement) -> Iterator[RunHint]:
    """What a person should know about how this run ended; `earlier` as for `lost_name`.

    `confinement` is that of the kernel that it ran in.
    """
    if name := lost_name(block, earlier):
        title = f"“{name}” was set by code that ran before this session was resumed; that kernel is gone."
        yield RunHint(title, "/rebuild runs the earlier code again.")
    if not confinement.sandboxed:
        return
    text = "\n".join(_ends(block))
    if _READ_ONLY.search(text):
        yield RunHint(
            "The sandbox kept the code from writing.",
            "/sandbox shows where code can write; the setting sandbox.writable adds folders.",
        )
    if confinement.offline and _NO_NETWORK.search(text):
        yield RunHint(
            "The sandbox kept the code from the network.",
            "The settings sandbox.network and sandbox.hosts allow it.",
        )


def install_note(block: CodeBlock, confinement: Confinement, read: Callable[[], SourceFacts]) -> str:
    """Our line below the output of an installation that could not work, for user and model; else "". The source is read
    only if it may be an installation."""
    note = failed_install(read(), confinement, "\n".join(_ends(block))) if "install" in block.source else ""
    return f"[oi-tui] {note}\n" if note else ""


def _ends(block: CodeBlock) -> Iterator[str]:
    for output in block.outputs:
        match output:
            case StreamOutput():
                yield (output.tail.text if output.tail is not None else output.text)[-LOOKED_AT:]
            case ErrorOutput():
                yield output.value[-LOOKED_AT:]
            case _:
                pass


def lost_name(block: CodeBlock, earlier: Sequence[Block]) -> str:
    """The name that this run missed and that code of the earlier blocks mentions, "" if there is none.

    `earlier` holds the blocks from before the session was opened; only code that ran and was not repeated matters.
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
