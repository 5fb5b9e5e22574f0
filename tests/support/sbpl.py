"""A small reader of Seatbelt's profile language: what would a profile say, by the last rule that fits?

It knows what our profiles use and refuses the rest. That a Mac reads them alike is an assumption, not a finding.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(r'\s+|;[^\n]*|(?P<regex>#"(?:[^"\\]|\\.)*")|(?P<text>"(?:[^"\\]|\\.)*")|(?P<other>[()]|[^\s()"#;]+)')

Form = Any
"""A word, a `Text`, a `Pattern`, or a list of forms."""


@dataclass(frozen=True)
class Text:
    """A string."""

    value: str


@dataclass(frozen=True)
class Pattern:
    """A regular expression."""

    value: str


def parsed_forms(source: str) -> list[Form]:
    """All forms of a profile; ValueError if it is none."""
    stack: list[list[Form]] = [[]]
    place = 0
    while place < len(source):
        found = TOKEN.match(source, place)
        if found is None:
            raise ValueError(f"what is this: {source[place : place + 40]!r}")
        place = found.end()
        if (pattern := found["regex"]) is not None:
            stack[-1].append(Pattern(pattern[2:-1]))
        elif (text := found["text"]) is not None:
            stack[-1].append(Text(re.sub(r"\\(.)", r"\1", text[1:-1])))
        elif (other := found["other"]) == "(":
            stack.append([])
        elif other == ")":
            form = stack.pop()
            stack[-1].append(form)
        elif other is not None:
            stack[-1].append(other)
    if len(stack) != 1:
        raise ValueError("a parenthesis is missing")
    return stack[0]


class Policy:
    """One profile with its parameters."""

    def __init__(self, text: str, parameters: Mapping[str, str]) -> None:
        self._parameters = parameters
        self._rules: list[tuple[bool, list[str], list[Form]]] = []
        version, *rules = parsed_forms(text)
        assert version == ["version", "1"]
        for verdict, *rest in rules:
            assert verdict in ("allow", "deny"), verdict
            operations = [form for form in rest if isinstance(form, str)]
            assert operations == rest[: len(operations)], rest
            self._rules.append((verdict == "allow", operations, rest[len(operations) :]))

    def allows(self, operation: str, **facts: str) -> bool:
        """Whether this may be done; facts are `path`, `socket`, `ip`, `target`, `name` and the like."""
        verdict = False
        for allowed, operations, filters in self._rules:
            if any(_covers(name, operation) for name in operations) and (
                not filters or any(self._fits(form, facts) for form in filters)
            ):
                verdict = allowed
        return verdict

    def operations(self) -> Iterator[str]:
        """All that rules speak of."""
        for _, operations, _ in self._rules:
            yield from operations

    def _fits(self, form: Form, facts: Mapping[str, str]) -> bool:  # a table
        match form:
            case ["require-all", *forms]:
                return all(self._fits(one, facts) for one in forms)
            case ["require-not", one]:
                return not self._fits(one, facts)
            case ["literal", value]:
                return facts.get("path") == self._text(value)
            case ["subpath", value]:
                return "path" in facts and _is_beneath(facts["path"], self._text(value))
            case ["regex", Pattern(value)]:
                return "path" in facts and _finds(value, facts["path"])
            case ["ipc-posix-name-regex", Pattern(value)]:
                return "ipc" in facts and _finds(value, facts["ipc"])
            case [("remote" | "local") as side, "unix-socket", [kind, value]]:
                known = facts.get(f"{side}_socket")
                same = {"subpath": _is_beneath, "path-literal": str.__eq__}[kind]
                return known is not None and bool(same(known, self._text(value)))
            case [("remote" | "local") as side, "ip" | "tcp", Text(value)]:
                host, _, port = value.rpartition(":")
                known_host, _, known_port = facts.get(f"{side}_ip", "").rpartition(":")
                return bool(known_host) and host in ("*", known_host) and port in ("*", known_port)
            case [("target" | "extension" | "global-name" | "sysctl-name") as name, value]:
                return facts.get(name) == (value if isinstance(value, str) else self._text(value))
            case ["sysctl-name-prefix", Text(value)]:
                return facts.get("sysctl-name", "").startswith(value)
        raise ValueError(f"no filter that is known here: {form}")

    def _text(self, form: Form) -> str:
        match form:
            case Text(value):
                return value
            case ["param", Text(name)]:
                return self._parameters[name]
        raise ValueError(f"no text: {form}")


def _covers(pattern: str, operation: str) -> bool:
    return pattern in ("default", operation) or (pattern.endswith("*") and operation.startswith(pattern[:-1]))


def _is_beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _finds(pattern: str, text: str) -> bool:
    return re.search(pattern.replace("$", r"\Z"), text) is not None  # the end is the end, also after a line end
