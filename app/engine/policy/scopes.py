"""Which rules an "always" may make of a source: for the shell, prefixes of commands that are known to be harmless; for
calls that only read, the hosts that they ask.

A rule is offered only if it covers the source by itself. None is made of a program that takes another program or code
as an argument, and none of a Python import: nobody can know what such a rule would allow.
"""

from oi_tui.app.engine.policy.harmless import LONGEST_NAME, is_harmless, known_name
from oi_tui.app.engine.policy.reading import SourceFacts
from oi_tui.app.engine.policy.rules import Rule, WrongRule, covers, covers_hosts, short_form

MADE_BY = "always, this session"
"""The place of such a rule."""

_TAKE_CODE = frozenset({"jq"})
"""Harmless programs whose first word is a program of their own language."""


def command_rules(reading: SourceFacts) -> tuple[Rule, ...]:
    """The rules that would allow all of a shell source, `Shell(git status *)`; () if no rule may be made of it."""
    if not reading.plain or not reading.commands or reading.risks or reading.unread or reading.lasting:
        return ()
    rules: dict[str, Rule] = {}
    for command in reading.commands:
        name = known_name([word.text for word in command.words[:LONGEST_NAME]]) if command.program else None
        if name is None or name in _TAKE_CODE or command.variables or not is_harmless(command):
            return ()
        rule = short_form(f"Shell({name} *)", "allow")._replace(place=MADE_BY)
        if not covers(rule, command):
            return ()
        rules[rule.text] = rule
    return tuple(rules.values())


def host_rules(reading: SourceFacts) -> tuple[Rule, ...]:
    """The rules that would allow this call, `Net(example.org)`; () if no rule may be made of it. A name with a star
    would be a rule for others as well."""
    if any(risk.grave for risk in reading.risks) or any("*" in host for host in reading.hosts):
        return ()
    try:
        rules = tuple(short_form(f"Net({host})", "allow")._replace(place=MADE_BY) for host in sorted(reading.hosts))
    except WrongRule:
        return ()
    return rules if covers_hosts(rules, reading) else ()
