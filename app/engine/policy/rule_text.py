"""Reads the text of a rules file. What cannot be kept is an error that names file and line: nothing is left out."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import PolicySection
from oi_tui.app.engine.policy.reading import NameUse, PathUse, SourceFacts
from oi_tui.app.engine.policy.rules import (
    Base,
    Effect,
    Origin,
    Rule,
    RuleKind,
    WrongRule,
    command_rule,
    covers,
    hit,
    other_rule,
    short_form,
)

VERDICTS: tuple[Effect, ...] = get_args(Effect)
_KEYS = frozenset({"tool", "prefix", "pattern", "rule", "decision", "why", "sandbox", "unchecked", "match"}) | {
    "not_match"
}
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", re.MULTILINE)
_EXAMPLE_BASE = Base(cwd="/work", home="/home")


def parse_rules(text: str, file: str, origin: Origin) -> tuple[Rule, ...]:
    """All rules of a file in TOML; SettingsError for the first that is wrong."""
    try:
        table = decode_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from error
    rules: list[Rule] = []
    for verdict in VERDICTS:
        for short in _texts(table.pop(verdict, []), f"{file}: {verdict}"):
            line = _line_of(text, short)
            with _locate_errors(file, line):
                rules.append(_with_place(short_form(short, verdict), file, line, origin))
    entries = table.pop("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SettingsError(f"{file}: rules are tables, each begins with [[rule]].")
    lines = _lines_of_headers(text, len(entries))
    for entry, line in zip(entries, lines, strict=True):
        with _locate_errors(file, line):
            rule = _of_table(entry)
            _verify(rule, entry, file, line)
            rules.append(_with_place(rule, file, line, origin))
    if table:
        known = ", ".join((*VERDICTS, "[[rule]]"))
        raise SettingsError(f"{file}: unknown key {next(iter(table))!r}.", hint=f"Known are: {known}.")
    return tuple(rules)


def parse_short(texts: tuple[str, ...], verdict: Effect, place: str) -> tuple[Rule, ...]:
    """Rules of a list in the settings."""
    rules: list[Rule] = []
    with _locate_errors(place, 0):
        rules += [_with_place(short_form(text, verdict), place, 0, "settings") for text in texts]
    return tuple(rules)


def section_rules(section: PolicySection, origin: str = "") -> tuple[Rule, ...]:
    """Rules of `[policy]`; `origin` precedes its name in errors and in the audit log."""
    return (
        *parse_short(section.deny, "deny", f"{origin}policy.deny"),
        *parse_short(section.ask, "ask", f"{origin}policy.ask"),
        *parse_short(section.allow, "allow", f"{origin}policy.allow"),
    )


@contextmanager
def _locate_errors(file: str, line: int) -> Iterator[None]:
    try:
        yield
    except WrongRule as error:
        where = f"{file}, line {line}" if line else file
        raise SettingsError(f"{where}: {error}.", hint=f"Nothing is run until {file} is right.") from error


def _with_place(rule: Rule, file: str, line: int, origin: Origin) -> Rule:
    name = "/".join(file.split("/")[-2 if origin == "project" else -1 :])
    return rule._replace(origin=origin, place=f"{name}, line {line}" if line else name)


def _of_table(entry: Mapping[str, Any]) -> Rule:
    unknown = entry.keys() - _KEYS
    if unknown:
        raise WrongRule(f"unknown key {min(unknown)!r}; known are {', '.join(sorted(_KEYS))}")
    verdict = entry.get("decision")
    if verdict not in VERDICTS:
        raise WrongRule(f"decision is {', '.join(VERDICTS)}; not {verdict!r}")
    if entry.get("sandbox", "verified") != "verified":
        raise WrongRule('sandbox can only be "verified"')
    if not isinstance(unchecked := entry.get("unchecked", False), bool):
        raise WrongRule("unchecked is true or false")
    why, sandboxed = _text(entry, "why"), "sandbox" in entry
    given = [key for key in ("rule", "prefix", "pattern") if key in entry]
    if len(given) > 1:
        raise WrongRule(f"{given[0]} and {given[1]} say the same: leave one of them out")
    if "rule" in entry:
        if "tool" in entry:
            raise WrongRule("rule names the tool already")
        return short_form(_text(entry, "rule"), verdict, why=why, sandboxed=sandboxed, unchecked=unchecked)
    tool = _text(entry, "tool")
    if "prefix" in entry:
        if tool != "Shell":
            raise WrongRule(f"{tool} has no prefix: only words of shell commands have one")
        words = _prefix(entry["prefix"])
        shown = " ".join("|".join(choices) for choices in words)
        return command_rule(
            words, verdict, text=f"Shell({shown} *)", prefix=True, why=why, sandboxed=sandboxed, unchecked=unchecked
        )
    pattern = _text(entry, "pattern")
    text = f"{tool}({pattern})" if pattern else tool
    if tool == "Shell" or unchecked:
        return short_form(text, verdict, why=why, sandboxed=sandboxed, unchecked=unchecked)
    return other_rule(tool, pattern, verdict, text=text, why=why, sandboxed=sandboxed)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise WrongRule(f"{key} is a text in quotes, not {value!r}")
    return value


def _prefix(value: object) -> list[list[str]]:
    if not isinstance(value, list) or not value:
        raise WrongRule('prefix is a list of words, for instance ["git", ["status", "log"]]')
    words = [word if isinstance(word, list) else [word] for word in value]
    if not all(choices and all(isinstance(word, str) and word for word in choices) for choices in words):
        raise WrongRule("prefix has words in quotes, or lists of such words")
    return words


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"{where} is a list of texts in quotes.")
    return value


# -- examples -------------------------------------------------------------------------------------------


def _verify(rule: Rule, entry: Mapping[str, Any], file: str, line: int) -> None:
    for key, wanted in (("match", True), ("not_match", False)):
        for example in _texts(entry.get(key, []), f"{file}, line {line}: {key}"):
            if rule_matches(rule, example) != wanted:
                does = "does not match" if wanted else "matches"
                raise WrongRule(f"the rule {rule.text} {does} its example {example!r}")


def rule_matches(rule: Rule, example: str) -> bool:
    """Whether the rule speaks of the example: allowing, of all of it; asking or denying, of any part."""
    tool: RuleKind = "Shell" if rule.tool in ("Edit", "Read") else rule.tool
    reading = _example(rule, example)
    if rule.verdict != "allow" or tool == "Tool":
        return hit(rule, reading, tool, example, _EXAMPLE_BASE) == "yes"
    if rule.tool != "Shell":
        return True
    return reading.plain and bool(reading.commands) and all(covers(rule, one) for one in reading.commands)


def _example(rule: Rule, example: str) -> SourceFacts:
    match rule.tool:
        case "Shell":
            from oi_tui.app.engine.policy.shell import read_shell  # few rules have examples

            return read_shell(example)
        case "Python":
            from oi_tui.app.engine.policy.python import read_python  # as above

            reading = read_python(example)
            named = re.fullmatch(r"[\w.]+", example) is not None
            return SourceFacts(names=(NameUse(example, 1),)) if named and "." in example else reading
        case "Edit" | "Read":
            return SourceFacts(places=(PathUse(example, 1, writes=True),))
        case "Net":
            return SourceFacts(hosts=(example,))
        case "Kernel" | "Tool":
            return SourceFacts()


# -- lines ----------------------------------------------------------------------------------------------


def _lines_of_headers(text: str, count: int) -> list[int]:
    """The line of each `[[rule]]`; zeros if unknown (one may be inside a string)."""
    lines = [text.count("\n", 0, found.start()) + 1 for found in _HEADER.finditer(text)]
    return lines if len(lines) == count else [0] * count


def _line_of(text: str, short: str) -> int:
    at = text.find(short)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0
