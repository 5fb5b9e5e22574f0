"""What the approval panel says at a moment, as a pure function of what it knows then."""

import difflib
from collections.abc import Iterable
from itertools import takewhile
from typing import Literal

import msgspec
from textual.content import Content

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.widgets.editor import hidden_note
from oi_tui.widgets.lettering import lettering

_MANY_LINES = 500
"""Comparing takes time with the square of the lines; above this, lines that are all over the source do not count."""

ApprovalStage = Literal["question", "editing", "reason"]

_HEADINGS: dict[ApprovalStage, str] = {"question": "Run this?", "editing": "Edit", "reason": "Refuse, because…"}
_ANSWERS = (
    "y runs it once · a runs it, and this exact source without a question until its kernel is restarted · "
    "e lets you change it first · n refuses and ends the turn · r refuses, tells the model why, and the turn "
    "goes on · s stops the turn."
)


class ApprovalView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the words of the panel depend on."""

    request: DecisionRequested
    source: str
    stage: ApprovalStage
    armed: bool
    end_seen: bool
    below: int
    """Rows of the source under the lower edge."""
    full: bool
    why: bool

    def title(self, width: int) -> Content:
        """The upper edge: what is asked, about how much of what."""
        heading = _HEADINGS[self.stage]
        lines = self.source.count("\n") + (not self.source.endswith("\n"))
        facts = f" {safe_text(self.request.runs_in)} · {quantity(lines, 'line')}"
        left = f"━━ {heading} "
        right = f"{facts} · sha {text_digest(self.source)[:4]}…"
        if len(left) + len(right) + 2 > width:
            right = facts
        return lettering((left, "bold"), "━" * max(2, width - len(left) - len(right) - 1), right)

    def note(self) -> Content:
        """What makes this question special; empty for an ordinary one."""
        parts: list[Content] = []
        edited = self.source != self.request.source
        hidden = visible_text(self.source).hidden
        if self.stage == "editing" and (written := visible_text(self.source, emoji=True).hidden):
            parts.append(lettering((hidden_note(written), "$error")))
        elif hidden:
            parts.append(lettering((f" {quantity(hidden, 'hidden character')} ", "bold $background on $error")))
        if edited:
            parts.append(lettering(("✎ edited by you", "bold $accent")))
        parts += self._labels()
        if self.request.why:
            parts.append(lettering(f"{'before: ' if edited else ''}{safe_text(self.request.why)}"))
        if self.request.offer and self.source == self.request.source:
            parts.append(lettering((f"i: {safe_text(self.request.offer)}, once", "$accent")))
        if self.why:
            parts.append(lettering(self._explanation()))
        return Content(" · ").join(parts)

    def _labels(self) -> list[Content]:
        """What the code does, as far as it can be read; after an edit, said to be of the source before."""
        if self.source == self.request.source:
            return [lettering((label, "$warning")) for label in self.request.labels]
        said = " · ".join(map(safe_text, self.request.labels))
        return [lettering(f"before: {said}")] if said else []

    def _explanation(self) -> str:
        """Which mode or rule asks, what the labels are worth, and what the keys do."""
        cause = "" if self.request.why else "You are asked because the approval mode is “ask”. "
        labels = "What the code does is read off it: it may do more. " if self.request.labels else ""
        return f"{cause}{labels}{_ANSWERS}"

    def more(self) -> Content:
        """What lies below the edge."""
        unseen = "" if self.end_seen else " · look at the end before you run it"
        return lettering(f"↓ {quantity(self.below, 'more line')}{unseen}")

    def off(self) -> frozenset[str]:
        """Answers that do not count now."""
        return (
            frozenset() if self.armed and self.end_seen else frozenset("yai") if self.armed else frozenset("yeainrsv")
        )


def changed_lines(old: str, new: str) -> frozenset[int]:
    """Lines of `new` (from 0) that are not as in `old`."""
    if old == new:
        return frozenset()
    before, after = old.split("\n"), new.split("\n")
    head = _alike(before, after)
    before, after = before[head:], after[head:]
    tail = _alike(reversed(before), reversed(after))
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(after) > _MANY_LINES)
    changes = (step for step in matcher.get_opcodes() if step[0] != "equal")
    return frozenset(head + line for _, _, _, start, end in changes for line in range(start, end))


def _alike(first: Iterable[str], second: Iterable[str]) -> int:
    """How many lines both have in common from the beginning on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
