"""What running code asks of the session that runs it: code for another kernel, or an answer of the model.

It comes from a process that is not trusted, as `InputRequested` does, and is decided about as what a model proposes.
"""

import msgspec

from oi_tui.app.engine.core.values import KernelCall, Value

ASK_MODEL = "ask_model"
"""The tool that an `ask` is a call of; only running code can call it."""

CALL_MARK = "\0oi-tui call\0"
"""The question of an input request that is a call begins with this; JSON follows."""


class CallAnswer(Value, frozen=True, kw_only=True):
    """What the waiting code gets."""

    number: int
    text: str = ""
    """What the run put out, or the model's answer."""
    refusal: str = ""
    """Why there is none, "" if there is one: raised as an error in the code."""


def read_call(question: str) -> KernelCall | None:
    """The call that an input request is, None if it asks the person."""
    if not question.startswith(CALL_MARK):
        return None
    try:
        return msgspec.json.decode(question.removeprefix(CALL_MARK), type=KernelCall)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
