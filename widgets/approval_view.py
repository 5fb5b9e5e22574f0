"""What the approval panel says at a moment, as a pure function of what it knows then."""

import difflib
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Literal

import msgspec
from textual.content import Content

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.core.values import ScopeKind
from oi_tui.app.engine.text.safe import safe_text, visible_text
from oi_tui.app.engine.text.words import call_size, quantity
from oi_tui.widgets.editor import hidden_note
from oi_tui.widgets.lettering import lettering

_MANY_LINES = 500
"""Comparing takes time with the square of the lines; above this, lines that are all over the source do not count."""

ApprovalStage = Literal["question", "editing", "reason", "scope"]

_HEADINGS: dict[ApprovalStage, str] = {
    "question": "Run this?",
    "editing": "Edit",
    "reason": "Refuse",
    "scope": "Run this, and always…",
}
_ANSWERS = {
    "approval.run": "runs it once",
    "approval.edit": "edits it first",
    "approval.always": "chooses what runs without asking from now on",
    "approval.refuse": "refuses it: with a reason the model continues, without one the turn ends",
    "approval.stop": "stops the turn",
    "approval.limit": "gives this run a time limit: 1 minute, 10 minutes, none",
}
"""What a key does, by the id of its binding."""

_LIMITS = {60.0: "time limit 1 minute", 600.0: "time limit 10 minutes", 0.0: "no time limit"}
TIME_LIMITS: tuple[float | None, ...] = (None, *_LIMITS)
"""That a run can be given by one key, in turn; None is what the settings say."""

_LASTS: dict[ScopeKind, str] = {
    "source": "until its kernel restarts",
    "commands": "in this session",
    "hosts": "in this session: calls that only read from there",
    "turn": "until this turn ends; dangerous code still asks",
}


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
    keys: Mapping[str, str]
    """That of each answer as it is shown, by the id of its binding."""
    away: bool = False
    """Whether the keys are elsewhere, in the timeline for instance."""
    time_limit: float | None = None
    """Seconds that the person gave this run, as in `Decide`."""
    said: str = ""
    """The message about the last key."""

    @property
    def scopes(self) -> tuple[ScopeKind, ...]:
        """What "always" may reach; of commands and hosts that were edited, nothing is known here."""
        same = self.source == self.request.source
        return ("source", *(scope.kind for scope in self.request.scopes if same or scope.kind == "turn"))

    @property
    def is_offered(self) -> bool:
        """Whether an installation can be let through once."""
        return bool(self.request.offer) and self.source == self.request.source

    def title(self, width: int) -> Content:
        """The upper edge: what is asked, about how much of what."""
        heading = _HEADINGS[self.stage]
        lines = self.source.count("\n") + (not self.source.endswith("\n"))
        size = call_size(self.source) if self.request.tool else quantity(lines, "line")
        facts = f" {safe_text(self.request.runs_in)} · {size}"
        left = f"━━ {heading} "
        return lettering((left, "bold"), "━" * max(2, width - len(left) - len(facts) - 1), facts)

    def note(self) -> Content:
        """What makes this question special; empty for an ordinary one."""
        parts: list[Content] = []
        edited = self.source != self.request.source or self.request.edited
        hidden = visible_text(self.source).hidden
        if self.stage == "editing" and (written := visible_text(self.source, emoji=True).hidden):
            parts.append(lettering((hidden_note(written), "$error")))
        elif hidden:
            parts.append(lettering((f" {quantity(hidden, 'hidden character')} ", "bold $background on $error")))
        if edited:
            parts.append(lettering(("✎ edited by you", "bold $accent")))
        if self.request.asked_by:
            code = safe_text(self.request.asked_by)
            parts.append(lettering(("asked for by running code", "bold $warning"), f": {code}"))
        if self.request.origin:
            parts.append(lettering(f"brought by {safe_text(self.request.origin)}"))
        parts += self._labels()
        if self.request.may_call:
            parts.append(lettering((f"may call {safe_text(', '.join(self.request.may_call))}", "$warning")))
        if self.request.preview_remark:
            parts.append(lettering((f"no whole preview: {safe_text(self.request.preview_remark)}", "$warning")))
        elif self.source != self.request.source and self.request.preview is not None:
            parts.append(lettering("looking at what it would do now …"))
        if self.request.why:
            before = "before: " if self.source != self.request.source else ""
            parts.append(lettering(f"{before}{safe_text(self.request.why)}"))
        if self.is_offered:
            parts.append(
                lettering((f"{self.keys['approval.install']}: {safe_text(self.request.offer)}, once", "$accent"))
            )
        if self.time_limit is not None:
            parts.append(lettering((f"{self.keys['approval.limit']}: {_LIMITS[self.time_limit]}", "$accent")))
        said = Content(" · ").join(parts)
        if self.why:
            said = Content("\n").join([said] * bool(said.plain) + [lettering(self._explanation())])
        return said

    def _labels(self) -> list[Content]:
        """What the code does, as far as it can be read; after an edit, marked as that of the source before."""
        if self.source == self.request.source:
            return [lettering((label, "$warning")) for label in self.request.labels]
        said = " · ".join(map(safe_text, self.request.labels))
        return [lettering(f"before: {said}")] if said else []

    def _explanation(self) -> str:
        """Which mode or rule asks, what the labels are worth, and what the keys do."""
        cause = "" if self.request.why else "You are asked because the approval mode is “ask”. "
        labels = "What the code does is read off it: it may do more. " if self.request.labels else ""
        answers = (f"{key}  {does}" for name, does in _ANSWERS.items() if (key := self.keys[name]))
        return "\n".join(filter(None, (f"{cause}{labels}".strip(), *answers)))

    def more(self) -> Content:
        """A note about the rows below the edge; none if the source has other rows now."""
        if self.stage != "question" or self.below <= 0:
            return Content("")
        key = self.keys["approval.end"]
        look = f"{key} shows them; look before you run it" if key else "look at the end before you run it"
        unseen = "" if self.end_seen else f" · {look}"
        return lettering(f"↓ {quantity(self.below, 'more line')}{unseen}")

    def choices(self) -> Content:
        """How far "always" may reach, a line for each scope, as the rules that it makes."""
        if self.stage != "scope":
            return Content("")
        rules = {scope.kind: " · ".join(scope.rules) for scope in self.request.scopes}
        exact = "this exact call" if self.request.tool else "this exact code"
        lines = [
            lettering((f"{number} ", "bold $accent"), rules.get(kind, exact), (f"  {_LASTS[kind]}", "$dim"))
            for number, kind in enumerate(self.scopes, 1)
        ]
        return Content("\n").join(lines)

    def remark(self) -> Content:
        """About the last key, or where the keys are."""
        return lettering(self.said) if self.said and not self.away else Content("")

    def off(self) -> frozenset[str]:
        """Answers that do not count now."""
        return frozenset() if self.armed and self.end_seen else frozenset("yai") if self.armed else frozenset("yeainsv")


def changed_lines(old: str, new: str) -> frozenset[int]:
    """Lines of `new` (from 0) that are not as in `old`."""
    if old == new:
        return frozenset()
    before, after = old.split("\n"), new.split("\n")
    head = _common_start(before, after)
    before, after = before[head:], after[head:]
    tail = _common_start(reversed(before), reversed(after))
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(after) > _MANY_LINES)
    changes = (step for step in matcher.get_opcodes() if step[0] != "equal")
    return frozenset(head + line for _, _, _, start, end in changes for line in range(start, end))


def _common_start(first: Iterable[str], second: Iterable[str]) -> int:
    """How many lines both have in common at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
