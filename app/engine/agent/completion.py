"""Forced completion: the loop insists until the model says explicitly that it is done. Pure."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from oi_tui.app.engine.core.blocks import Block, NoticeBlock, ProseBlock

INSIST = (
    "Go on with the next code block. "
    "If the whole task is done, write: The task is done. "
    "If it cannot be done, write: The task is impossible. "
    "If you need something from me, write: I need input."
)
"""Said after an answer without code. Sentences to copy, because small models copy better than they choose: if they read
them any earlier, they answer that the task is done and leave out the result."""

Outcome = Literal["done", "impossible", "input"]

_ENDS: dict[Outcome, re.Pattern[str]] = {
    "done": re.compile(r"\btask (?:is|has been|was) (?:now |already |fully )?(?:done|complete|completed|finished)\b"),
    "impossible": re.compile(r"\b(?:task|this|it|that) is (?:not possible|impossible)\b"),
    "input": re.compile(r"\b(?:i|we) (?:still )?need (?:your |more |some |further )*(?:input|information)\b"),
}
_DOUBT = re.compile(r"\b(?:if|when|whenever|until|till|once|unless|whether|before|after|not|n't|never|say|write)\b")
"""Words before a phrase that show that the task is not done yet: “once the task is done”."""

IN_WORDS: dict[Outcome, str] = {
    "done": "",
    "impossible": "The model says that the task is impossible.",
    "input": "The model needs something from you.",
}
"""For the user."""


def end_of(blocks: Sequence[Block], step: int, *, insist: bool) -> str | None:
    """Why the turn ends after the last answer, which had no code, for the user; None if it continues."""
    found: Outcome | None = "done"
    said = [block.text for block in _last(blocks) if isinstance(block, ProseBlock) and block.step == step]
    if insist and said:
        found = outcome("\n".join(said))
    return IN_WORDS[found] if found is not None else None


def _last(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks behind the last code or prompt."""
    behind = takewhile(lambda block: isinstance(block, ProseBlock | NoticeBlock), reversed(blocks))
    return list(behind)[::-1]


def outcome(text: str) -> Outcome | None:
    """Which end the answer speaks of, None if it speaks of none."""
    for sentence in re.split(r"[.!?:;\n]+", text.lower().replace("’", "'")):
        for found, pattern in _ENDS.items():
            match = pattern.search(sentence)
            if match is not None and _DOUBT.search(sentence[: match.start()]) is None:
                return found
    return None
