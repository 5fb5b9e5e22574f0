"""The decision about one source: the rules, the modes, and a reading of the source, in a fixed order.

The first step that decides wins; later steps can only be stricter.

    1. the mode `plan`: nothing runs but calls that only read; with the approval `never` these do not either
    2. lists of functions that may, or may not, be called; rules that deny, then rules that ask, from any file and
       however specific
    3. hidden characters, and our own settings: asked about in every mode
    4. possible exfiltration, in a session that has read a secret and foreign text: asked about in every mode
    5. rules that allow, if they cover all of the source and all of it can be read; tools of ours that need no approval
    6. the mode
    7. grave risks: asked about even if the mode `auto` would let them run
    8. destructive code: asked about in every mode but `bypassPermissions`
"""

from itertools import chain
from typing import NamedTuple

from oi_tui.app.engine.core.chat_model import RECALL
from oi_tui.app.engine.core.modes import OF_APPROVAL, strictest
from oi_tui.app.engine.core.values import ApprovalMode, Confinement, PermissionMode, Reach
from oi_tui.app.engine.policy.decision import Ground, Policy, PolicyDecision, PolicyRequest
from oi_tui.app.engine.policy.destruction import find_harm, tell_losses
from oi_tui.app.engine.policy.function_uses import find_uses
from oi_tui.app.engine.policy.functions import FunctionRuling, UnknownUse, judge_uses
from oi_tui.app.engine.policy.installs import install_labels, offered_install
from oi_tui.app.engine.policy.losses import targets_of
from oi_tui.app.engine.policy.programs import ONLY_NETWORK, RIGHTS, SHELLS, is_python
from oi_tui.app.engine.policy.python import add_inline_python, read_python
from oi_tui.app.engine.policy.reading import SourceFacts, Unread
from oi_tui.app.engine.policy.risks import NETWORK, REREADS, labels, of_name
from oi_tui.app.engine.policy.rules import Effect, Rule, RuleKind, covers, covers_hosts, hit, is_out_of_reach, mentions
from oi_tui.app.engine.policy.shell import read_shell
from oi_tui.app.engine.policy.taint import Taint, may_reach_network, taint_of
from oi_tui.app.engine.text.safe import safe_text, visible_text


class _Case(NamedTuple):
    """A request with what could be read off its source, and the rules and mode that judge it."""

    request: PolicyRequest
    tool: RuleKind
    reading: SourceFacts
    policy: Policy
    mode: PermissionMode
    may_read: bool
    """Whether what only reads may run where nothing else does, and this is such a call."""


def judge(request: PolicyRequest, policy: Policy, approval: ApprovalMode) -> PolicyDecision:
    """Whether it runs, is asked about, or does not run. Never raises."""
    tool = _kind(request)
    mode = strictest(policy.mode, OF_APPROVAL[approval])
    reading = read(request)
    case = _Case(request, tool, reading, policy, mode, request.reads_only and approval != "never")
    verdict, by, ground = _judge(case)
    if verdict == "allow" and ground == "mode" and (harm := _unwanted_harm(case)):
        verdict, by, ground = "ask", harm, "harm"
    if verdict == "ask" and mode == "dontAsk":
        verdict, by = "deny", f"{by}, and in the mode “dontAsk” nobody is asked"
    lasting = tool == "Shell" and reading.lasting
    rereads = any(risk.what == REREADS for risk in reading.risks)
    taint = taint_of(reading, policy.base)
    targets = targets_of(reading, policy.base, request.folders, _scratch_beyond(request.confinement))
    lost = tuple(filter(None, [tell_losses(request.losses, policy.base)])) if ground != "harm" else ()
    offer = offered_install(request.source, request.confinement) if not request.tool else ()
    told = (*lost, *install_labels(reading, request.confinement, labels(reading), offered=bool(offer)))
    return PolicyDecision(verdict, by, ground, told, lasting, rereads, taint, reading, targets, offer)


def _kind(request: PolicyRequest) -> RuleKind:
    if request.tool:
        return "Tool"
    match request.language:
        case "python":
            return "Python"
        case "shell":
            return "Shell"
        case _:
            return "Kernel"


def read(request: PolicyRequest) -> SourceFacts:
    """The reading of the source; an existing one is reused. Never raises."""
    if request.reading is not None:
        return request.reading
    match _kind(request):
        case "Shell":
            return add_inline_python(read_shell(request.source))
        case "Python":
            return add_inline_python(read_python(request.source))
        case _:
            return SourceFacts(unread=(Unread(f"{safe_text(request.name)} is not looked into", 1),))


def _judge(case: _Case) -> tuple[Effect, str, Ground]:
    if case.mode == "plan" and not case.may_read:
        return "deny", "the mode “plan”", "mode"
    limited = _judge_functions(case)
    if limited is not None and limited.verdict == "deny":
        return "deny", limited.by, "rule"
    if (found := _against(case)) is not None:
        return found
    if limited is not None:
        return "ask", limited.by, "rule"
    if guard := _guard(case):
        return "ask", guard, "guard"
    if _may_leak_secrets(case):
        return "ask", "a secret and content from others, which this session has read, and a way to the network", "guard"
    if (rule := _allowing(case)) is not None:
        return "allow", rule, "rule"
    if case.request.unasked:
        return "allow", case.request.unasked, "rule"
    return _by_mode(case)


def _judge_functions(case: _Case) -> FunctionRuling | None:
    """What the lists of functions have against it; reading this conversation again is always allowed."""
    lists, request = case.policy.functions, case.request
    if not (lists.allow or lists.deny) or request.tool == RECALL:
        return None
    uses = find_uses(request.language, request.source, case.reading, request.tool)
    handed = () if lists.allow else tuple(one for one in case.reading.handovers if one.key)
    doubts = (UnknownUse(f"{one.what} may run anything", one.line) for one in handed if one.key not in request.handed)
    return judge_uses(chain(uses, doubts), lists)


def _against(case: _Case) -> tuple[Effect, str, Ground] | None:
    """The rules that deny, then those that ask; a part that cannot be read and could be denied is asked about."""
    doubt: tuple[Effect, str, Ground] | None = None
    for verdict in ("deny", "ask"):
        for rule in case.policy.rules:
            if rule.verdict != verdict or (rule.sandboxed and not case.request.confinement.sandboxed):
                continue
            match hit(rule, case.reading, case.tool, case.request.name, case.policy.base):
                case "yes":
                    return rule.verdict, _rule_text(rule), "rule"
                case "maybe" if rule.verdict == "deny" and case.reading.has_unseen:
                    return "deny", f"{_rule_text(rule)}; this source is {case.reading.unread[0].why}", "rule"
                case "maybe" if doubt is None and not _keeps_itself(rule, case):
                    doubt = "ask", f"{_rule_text(rule)}, which may speak of a part that cannot be read", "rule"
                case _ if doubt is None and rule.verdict == "deny" and (way := _way_around(rule, case)):
                    doubt = "ask", f"{_rule_text(rule)}, and {way} may do the same unseen", "rule"
                case _:
                    pass
    return doubt


def _way_around(rule: Rule, case: _Case) -> str:
    """The part of the source that may do unseen what the rule denies, "" if none: a program that runs others, or text
    that is run as code, unless a person approved it before or another rule allows it."""
    handovers = case.reading.handovers
    if rule.tool == "Python" and case.tool == "Shell":
        handovers = tuple(one for one in handovers if is_python(one.what) or one.what in SHELLS)
    if not handovers or rule.tool in ("Kernel", "Tool", "Net") or _keeps_itself(rule, case):
        return ""
    if mentions(rule, case.request.source):
        return handovers[0].what
    open_ones = [one for one in handovers if one.key and one.key not in case.request.handed]
    return open_ones[0].what if open_ones and _allowing(case) is None else ""


def _scratch_beyond(confinement: Confinement) -> Reach | None:
    """What is kept of what is written in there, where the rest is memory; None where nothing is known of it."""
    return confinement.reach if confinement.sandboxed else None


def _keeps_itself(rule: Rule, case: _Case) -> bool:
    """Whether what encloses the code keeps the rule by itself: the files are out of reach, or the programs are of no
    use in there."""
    confinement = case.request.confinement
    match rule.tool:
        case "Edit" | "Read":
            return confinement.reach is not None and is_out_of_reach(rule, confinement.reach)
        case "Shell" if rule.words:
            programs = set(rule.words[0])
            return (confinement.offline and programs <= ONLY_NETWORK) or (confinement.sandboxed and programs <= RIGHTS)
        case "Net":
            return confinement.offline
        case "Python" if confinement.offline:
            return of_name(rule.pattern.removesuffix(".*")) == NETWORK
        case _:
            return False


def _rule_text(rule: Rule) -> str:
    return f"the rule {rule.name}" + (f": {rule.why}" if rule.why else "")


def _guard(case: _Case) -> str:
    """Why this source is never run unasked, "" if nothing speaks against it."""
    if visible_text(case.request.source, emoji=True).hidden:
        return "its hidden or deceiving characters"
    base = case.policy.base
    for place in case.reading.places:
        path = base.absolute(place.path)
        if any(path == own or path.startswith(f"{own}/") for own in case.policy.own):
            return _OWN
    if case.tool == "Tool" and any(own in case.request.source for own in case.policy.own):
        return _OWN
    return ""


_OWN = "a path that leads to the settings of this program"


def _may_leak_secrets(case: _Case) -> bool:
    if case.request.confinement.offline or not may_reach_network(case.reading):
        return False
    return case.request.taint.and_of(taint_of(case.reading, case.policy.base)) == Taint(private=True, foreign=True)


def _allowing(case: _Case) -> str | None:
    """The rules that together cover every part, as shown to the user."""
    reading, sandboxed = case.reading, case.request.confinement.sandboxed
    rules = [
        rule
        for rule in case.policy.rules
        if rule.verdict == "allow"
        and (rule.tool == case.tool or (rule.tool, case.tool) == ("Net", "Tool"))
        and (sandboxed or not rule.sandboxed)
    ]
    if not rules or reading.has_unseen:
        return None
    if case.tool == "Tool":
        named = (
            rule
            for rule in rules
            if rule.tool == "Tool" and hit(rule, reading, "Tool", case.request.name, case.policy.base) == "yes"
        )
        found = next(((rule,) for rule in named), covers_hosts(rules, reading))
        return " and ".join(map(_rule_text, found)) or None
    whole = next((rule for rule in rules if _covers_whole(rule, case)), None)
    if whole is not None:
        return _rule_text(whole)
    if case.tool != "Shell" or not reading.plain or not reading.commands or case.request.changed:
        return None
    used: list[Rule] = []
    for command in reading.commands:
        rule = next((rule for rule in rules if covers(rule, command)), None)
        if rule is None:
            return None
        used.append(rule)
    return " and ".join(_rule_text(rule) for rule in dict.fromkeys(used))


def _covers_whole(rule: Rule, case: _Case) -> bool:
    """A rule that holds in a sandbox only, and speaks of everything there."""
    if not rule.sandboxed:
        return False
    if case.tool == "Kernel":
        return hit(rule, case.reading, "Kernel", case.request.name, case.policy.base) == "yes"
    return rule.everything and case.reading.complete


def _unwanted_harm(case: _Case) -> str:
    """What it destroys, and what would permit that; "" if it destroys nothing, or that is wanted."""
    if case.mode == "bypassPermissions" or case.policy.allow_destructive:
        return ""
    request = case.request
    harm = find_harm(case.reading, request.source, case.policy.base, request.made, request.losses)
    if harm is None:
        return ""
    match case.tool:
        case "Shell":
            example = "Shell(…)"
        case "Tool":
            example = f"Tool({safe_text(request.tool)})"
        case _:
            example = f'{case.tool} with sandbox = "verified"'
    return f"what it does: it {harm.words} (permitted by --allow-destructive or a rule for {example})"


def _is_held(case: _Case) -> bool:
    """Whether the mode lets this call of ours run unasked: it reads the folder, or changes one file of it."""
    if not case.request.confinement.own_rules or case.reading.unread or any(risk.grave for risk in case.reading.risks):
        return False
    writes = any(place.writes for place in case.reading.places)
    return case.mode in (("acceptEdits", "auto") if writes else ("default", "acceptEdits", "auto"))


def _by_mode(case: _Case) -> tuple[Effect, str, Ground]:
    reading, confinement = case.reading, case.request.confinement
    told = f"the mode “{case.mode}”"
    match case.mode:
        case _ if _is_held(case):
            return "allow", told, "mode"
        case "bypassPermissions" | "unlessDestructive":
            return "allow", told, "mode"
        case "auto" if not (confinement.sandboxed and confinement.offline):
            missing = "a sandbox" if not confinement.sandboxed else "a sandbox without network"
            return "ask", f"{told}, which needs {missing} to run anything without asking", "mode"
        case "auto" if reading.unread and case.tool != "Kernel":
            return "ask", f"{told} and a part that cannot be read: {reading.unread[0].why}", "guard"
        case "auto":
            grave = next((risk for risk in reading.risks if risk.grave), None)
            if grave is not None:
                return "ask", f"{told} and what it does: {grave.what}, line {grave.line}", "guard"
            return "allow", told, "mode"
        case "dontAsk":
            return "deny", f"{told}: no rule allows it", "mode"
        case _:
            return "ask", told, "mode"
