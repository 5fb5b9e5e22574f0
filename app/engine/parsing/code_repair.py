"""Habits of models that would spoil their code, undone before it is shown and run.

- the call written around the code, inside the block: `{"language": "python", "code": "10+12"}`
- the name of the tool stuttered behind the code: `10+12executeexecute`

What can be run as it stands is never touched, byte for byte, unless the whole of it is such a call.
"""

import ast
import re
import warnings

from oi_tui.app.engine.core.values import Language
from oi_tui.app.engine.parsing.calls import CALL_LIMIT, Canonical, whole_call

_STUTTER = re.compile(r"(?:execute)+\s*\Z")


def repair_code(language: Language, source: str, canonical: Canonical) -> tuple[Language, str]:
    """Language and source as the model meant them."""
    call = whole_call(source, canonical)
    if call is not None:
        return call.language, call.source
    stutter = _STUTTER.search(source) if language == "python" and len(source) <= CALL_LIMIT else None
    if stutter is None or _compiles(source):
        return language, source
    meant = source[: stutter.start()]
    return (language, meant) if meant.strip() and _compiles(meant) else (language, source)


def _compiles(source: str) -> bool:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the source, which is not ours
        try:
            compile(source, "<answer>", "exec", flags)
        except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
            return False
    return True
