"""What an "always" of the person reaches: it answers the approval mode, and nothing else.

Rules that deny or ask, hidden characters, the repeat guard and what a source itself gives reason to ask about still
count, however far a grant reaches. Nothing of it outlives the session, and a fork or a resumed session has none.
"""

import contextlib
import json
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.core.blocks import ActionBlock, CallBlock, CodeBlock
from oi_tui.app.engine.core.encoding import decode_arguments, text_digest
from oi_tui.app.engine.core.values import ApprovalMode, GrantScope, ScopeKind
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.rules import Rule
from oi_tui.app.engine.policy.scopes import command_rules, host_rules

TURN_RULE = 'Python(*) with sandbox = "verified"'
"""The rule of the scope `turn`, as written in settings."""


class GrantCase(NamedTuple):
    """An action, what would run it, and what the policy says without any grant."""

    block: ActionBlock
    request: PolicyRequest
    ruling: PolicyDecision
    generation: int
    """Of the kernel or tool; a restarted kernel has another one."""
    elsewhere: bool
    """Whether it would run on another machine."""
    rereads: bool
    """Whether code in this kernel may be read as something else by now."""


class Grants:
    """The grants of one session."""

    def __init__(self) -> None:
        self._sources: set[tuple[str, str, str, int]] = set()
        """Kind of block, what runs it, digest of the source, generation."""
        self._rules: dict[tuple[bool, bool], tuple[Rule, ...]] = {}
        """Of commands and hosts, by where these were shown to run: in a sandbox or not, on another machine or here."""
        self._turn = False

    def forget(self) -> None:
        self._sources.clear()
        self._rules.clear()
        self._turn = False

    def end_turn(self) -> None:
        """Grants for one turn end."""
        self._turn = False

    def scopes(self, case: GrantCase) -> tuple[GrantScope, ...]:
        """What "always" may reach here beside this exact source, each as the rules that it makes."""
        wider: list[GrantScope] = []
        if (rules := _wider_rules(case)) and not set(rules) <= set(self._rules.get(_place(case), ())):
            kind: ScopeKind = "hosts" if case.request.tool else "commands"
            wider.append(GrantScope(kind=kind, rules=tuple(rule.text for rule in rules)))
        if _may_grant_turn(case) and not self._turn:
            wider.append(GrantScope(kind="turn", rules=(TURN_RULE,)))
        return tuple(wider)

    def add(self, case: GrantCase, kind: ScopeKind) -> str:
        """Grant this; returns the text of the rules it made, "" for this exact source.

        ValueError if "always" may not reach so far here: then nothing is granted.
        """
        if kind == "source":
            self._sources.add(_source_key(case))
            return ""
        scope = next((scope for scope in self.scopes(case) if scope.kind == kind), None)
        if scope is None:
            raise ValueError(kind)
        if kind != "turn":
            known = self._rules.get(_place(case), ())
            self._rules[_place(case)] = tuple(dict.fromkeys((*known, *_wider_rules(case))))
            return f"always: {' and '.join(scope.rules)}, this session"
        self._turn = True
        return f"always: {TURN_RULE}, this turn"

    def apply(self, case: GrantCase, policy: Policy, mode: ApprovalMode) -> PolicyDecision:
        """The ruling, or one that allows where only the mode asks, and an earlier "always" answers it."""
        ruling = case.ruling
        if ruling.verdict != "ask" or ruling.ground not in ("mode", "harm") or case.rereads:
            return ruling
        if _source_key(case) in self._sources:
            return ruling._replace(verdict="allow", by="", ground="grant")
        rules = self._rules.get(_place(case))
        if rules and (case.request.language == "shell" or case.request.tool):
            widened = msgspec.structs.replace(policy, rules=(*policy.rules, *rules))
            found = decide(_read(case), widened, mode)
            if found.verdict == "allow" and found.ground == "rule" and not _is_doubtful(case, found):
                return found._replace(ground="grant")
        if self._turn and _may_grant_turn(case):
            # What the mode `auto` asks about, in a sandbox without network, is still asked about.
            strict = msgspec.structs.replace(policy, mode="auto", allow_destructive=False)
            found = decide(_read(case), strict, "auto")
            if found.verdict == "allow":
                return found._replace(by=f"{TURN_RULE} (always, this turn)", ground="grant")
        return ruling


def _wider_rules(case: GrantCase) -> tuple[Rule, ...]:
    """Rules for an "always" beyond this exact source: for the commands of code, or the hosts of a call."""
    if isinstance(case.block, CallBlock):
        return host_rules(case.ruling.reading) if case.ruling.reading is not None else ()
    return _command_rules(case)


def _command_rules(case: GrantCase) -> tuple[Rule, ...]:
    block, reading = case.block, case.ruling.reading
    if not isinstance(block, CodeBlock) or block.language != "shell" or case.rereads or case.request.changed:
        return ()
    if reading is None or case.ruling.labels:
        return ()
    if not case.request.confinement.sandboxed and any(command.program == "git" for command in reading.commands):
        return ()  # its configuration in the folder names programs, which nothing would hold there
    return command_rules(reading)


def _may_grant_turn(case: GrantCase) -> bool:
    """Whether Python runs here, in a sandbox that was tried, without network."""
    held = case.request.confinement
    is_python = isinstance(case.block, CodeBlock) and case.block.language == "python"
    return is_python and held.sandboxed and held.offline and not case.elsewhere and not case.rereads


def _place(case: GrantCase) -> tuple[bool, bool]:
    """The folder where it would run: a relative path means something else in another one."""
    return case.request.confinement.sandboxed, case.elsewhere


def _read(case: GrantCase) -> PolicyRequest:
    """The same request; the source is not read once more."""
    return case.request._replace(reading=case.ruling.reading)


def _is_doubtful(case: GrantCase, found: PolicyDecision) -> bool:
    """Whether it does more than its rules speak of."""
    if case.request.tool:
        return not _wider_rules(case)
    return bool(case.ruling.labels) or found.reading is None or bool(found.reading.risks or found.reading.unread)


def _source_key(case: GrantCase) -> tuple[str, str, str, int]:
    source = case.block.source
    if isinstance(case.block, CallBlock):
        with contextlib.suppress(ValueError):  # else it is the text that counts
            source = json.dumps(decode_arguments(source), sort_keys=True)  # however a model or a person spells them
    return type(case.block).__name__, case.block.runs_in, text_digest(source), case.generation
