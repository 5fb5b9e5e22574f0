"""The questions of a linear session in words, and what a typed line answers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oi_tui.app.engine.core.events import DecisionRequested
from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.core.values import ScopeKind
from oi_tui.app.engine.core.verbs import Decide
from oi_tui.app.engine.text.call_words import call_remarks
from oi_tui.app.engine.text.words import one_line

EDIT, EXPLAIN, REASON = "edit", "explain", "reason"
"""What an answer wants first, before there is a decision."""

_SCOPES: dict[ScopeKind, str] = {
    "source": "this exact code",
    "commands": "commands like these",
    "hosts": "calls that only read from this host",
    "turn": "until this turn ends",
}


def decision_question(request: DecisionRequested, number: int) -> str:
    """What is asked about code, or a call: one line that makes sense by itself."""
    facts = "; ".join(map(one_line, request.labels))
    said = [f"It {facts}." if facts else ""]
    said.append(f"It was asked for by running code: {one_line(request.asked_by)}." if request.asked_by else "")
    said += [f"{remark}." for remark in call_remarks(request)]
    said.append(_sentence(request.why))
    what = f"Call tool {one_line(request.tool)}, code {number}?" if request.tool else f"Run code {number}?"
    install = ", i run with the access that it needs" if request.offer else ""
    keys = f"y run{install}, n refuse, e edit, a always, ? why, s stop:"
    return " ".join(part for part in (what, *said, keys) if part)


def explain_decision(request: DecisionRequested, number: int) -> Iterator[str]:
    """The same in full, a line for each thing."""
    yield _sentence(request.why) or "Approval is needed for all code, as the approval mode says. /approve changes it."
    yield from (f"It {one_line(label)}." for label in request.labels)
    if request.offer:
        yield f"i: run it once with this: {one_line(request.offer)}."
    yield "a: always run this exact code in this session, without a question."
    for place, scope in enumerate(request.scopes, 2):
        yield f"a {place}: always run {_SCOPES[scope.kind]}: {one_line('; '.join(scope.rules))}."
    yield f"n and a reason: refuse it, and the model reads why. s: stop the turn. /show {number} reads the code again."


def read_decision(request: DecisionRequested, line: str) -> Decide | str | None:
    """The decision that a typed line is, or what it wants first; None where it is neither. An empty line decides
    nothing."""
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    match word.lower():
        case "y" | "yes" if not rest:
            return Decide(request_id=request.request_id, verdict="run")
        case "i" if request.offer and not rest:
            return Decide(request_id=request.request_id, verdict="run", install=True)
        case "n" | "no" if rest:
            return Decide(request_id=request.request_id, verdict="skip", reason=rest)
        case "n" | "no":
            return REASON
        case "a" | "always":
            kinds: list[ScopeKind] = ["source", *(scope.kind for scope in request.scopes)]
            place = int(rest or "1") - 1 if (rest or "1").isdecimal() else -1
            if 0 <= place < len(kinds):
                return Decide(request_id=request.request_id, verdict="always", scope=kinds[place])
            return None
        case "s" | "stop" if not rest:
            return Decide(request_id=request.request_id, verdict="stop")
        case "e" | "edit" if not rest:
            return EDIT
        case "?" if not rest:
            return EXPLAIN
        case _:
            return None


def is_yes(line: str | None) -> bool:
    """Whether a question with two answers was answered with yes."""
    return line is not None and line.strip().lower() in ("y", "yes")


def _sentence(text: str) -> str:
    said = one_line(text)
    return said if not said or said.endswith((".", "!", "?")) else f"{said[0].upper()}{said[1:]}."


# -- models ---------------------------------------------------------------------------------------------------


def offer_lines(offers: Sequence[ModelOffer], why: str) -> Iterator[str]:
    """Ways to get a model, with numbers."""
    if not offers:
        yield "No key and no local server was found."
    for number, offer in enumerate(offers, 1):
        facts = [one_line(part) for part in offer.detail.split(" · ") if part.strip()]
        facts += ["recommended"] if offer.recommended else []
        yield f"{number}: {one_line(offer.title)}{', ' if facts else ''}{', '.join(facts)}."
    if why:
        yield one_line(why)


class ModelWish(NamedTuple):
    """What was chosen: one of the offers, or a name with what may follow it."""

    offer: ModelOffer | None = None
    name: str = ""
    api_base: str | None = None


def read_model(offers: Sequence[ModelOffer], line: str) -> ModelWish | None:
    """The model that a line names: a number, or `NAME` or `NAME URL`. None for neither."""
    words = line.split()
    if len(words) == 1 and words[0].isdecimal():
        number = int(words[0])
        return ModelWish(offers[number - 1]) if 1 <= number <= len(offers) else None
    if words and len(words) <= 2:
        return ModelWish(None, words[0], words[1] if len(words) == 2 else None)
    return None
