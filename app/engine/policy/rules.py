"""Rules of a user or an administrator for commands, code and files.

    deny = ["Shell(rm *)", "Python(shutil.rmtree)", "Edit(.git/**)"]      # in permissions.toml

    [[rule]]
    tool = "Shell"
    prefix = ["git", ["status", "diff", "log"]]
    decision = "allow"
    why = "only looks"
    match = ["git status -s"]                                           # verified when the file is read
    not_match = ["git -c core.pager=sh log"]

`Shell(git log *)` is the short form: words one by one; `*` as the last word matches any further words, elsewhere one
word, within a word any characters. This module says what a rule means; `decide.py`, which rule wins.
"""

import re
import shlex
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice, product
from posixpath import dirname, join, normpath
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.values import Reach
from oi_tui.app.engine.policy.harmless import doubt_about, is_harmless
from oi_tui.app.engine.policy.host_names import HOST_PATTERN, find_hosts, has_unnamed_hosts, matches_host
from oi_tui.app.engine.policy.programs import inner_commands
from oi_tui.app.engine.policy.reading import ShellCommand, SourceFacts
from oi_tui.app.engine.policy.risks import CHANGES

RuleKind = Literal["Shell", "Python", "Kernel", "Tool", "Edit", "Read", "Net"]
"""Shell commands (also within Python), Python by what it imports and calls, other kernels and tools by name, files by
path, hosts by name."""

Effect = Literal["allow", "ask", "deny"]
Origin = Literal["admin", "user", "settings", "project"]
RuleMatch = Literal["yes", "maybe", "no"]
"""`maybe`: a part cannot be read, and could be what the rule means."""

KINDS: tuple[RuleKind, ...] = ("Shell", "Python", "Kernel", "Tool", "Edit", "Read", "Net")
_WILD = re.compile(r"[*?]")


class WrongRule(ValueError):
    """A rule that cannot be kept; the text says why."""


class Rule(NamedTuple):
    """One rule, parsed into the parts that are compared with code."""

    tool: RuleKind
    verdict: Effect
    text: str
    """The short form, for display."""
    words: tuple[tuple[str, ...], ...] = ()
    """Shell: for each word the texts that match, with `*` and `?` for any characters."""
    open: bool = False
    """Shell: more words may follow."""
    pattern: str = ""
    """Other tools: a name or a path, with `*`; "" for everything."""
    sandboxed: bool = False
    """Counts only where a sandbox that was tried is around what runs."""
    unchecked: bool = False
    """Shell: its author takes responsibility for its `*`, whatever the program does with such words."""
    origin: Origin = "user"
    place: str = ""
    """File and line."""
    real: str = ""
    """Of files: where the path up to its first `*` leads, without links, as of when the session began; "" if that was
    not looked at."""
    why: str = ""

    @property
    def everything(self) -> bool:
        """Whether it speaks of whatever its tool runs."""
        return not self.pattern and all(set(word) == {"*"} for word in self.words) and (self.open or not self.words)

    @property
    def has_wildcard(self) -> bool:
        """Shell: whether a `*` or `?` matches words, or a part of one."""
        return self.open or any(_WILD.search(choice) for choices in self.words for choice in choices)

    @property
    def name(self) -> str:
        """For display: the short form and its file."""
        return f"{self.text} ({self.place})" if self.place else self.text


class Base(NamedTuple):
    """Where relative paths begin."""

    cwd: str = "/"
    home: str = "/"

    def absolute(self, path: str) -> str:
        """The path without `~`, `.` and `..`; links are not followed, for nothing is looked at."""
        if path.startswith("~"):
            name, _, rest = path[1:].partition("/")
            path = join(join(dirname(self.home), name) if name else self.home, rest)
        return normpath(join(self.cwd, path))


# -- making ---------------------------------------------------------------------------------------------


def short_form(text: str, verdict: Effect, why: str = "", sandboxed: bool = False, unchecked: bool = False) -> Rule:
    """`Shell(git log *)`; WrongRule if it is none."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\)\s*)?", text, re.DOTALL)
    if found is None:
        raise WrongRule(f"{text!r} is no rule: write Tool or Tool(pattern), for instance Shell(git log *)")
    tool, pattern = found[1], (found[2] or "").strip()
    if tool == "Shell":
        return command_rule(
            _pattern_words(pattern), verdict, text=text.strip(), why=why, sandboxed=sandboxed, unchecked=unchecked
        )
    if unchecked:
        raise WrongRule(f"{text}: unchecked is for Shell rules only")
    return other_rule(tool, pattern, verdict, text=text.strip(), why=why, sandboxed=sandboxed)


def _pattern_words(pattern: str) -> list[str]:
    try:
        return shlex.split(pattern)
    except ValueError as error:
        raise WrongRule(f"the quotes in {pattern!r} do not match") from error


def command_rule(
    words: list[str] | list[list[str]],
    verdict: Effect,
    *,
    text: str,
    prefix: bool = False,
    why: str = "",
    sandboxed: bool = False,
    unchecked: bool = False,
) -> Rule:
    """A rule for shell commands, from its words or, for each word, its alternatives."""
    choices = [(word,) if isinstance(word, str) else tuple(word) for word in words]
    is_open = prefix or not choices or choices[-1] == ("*",)
    if choices and not prefix and is_open:
        choices = choices[:-1]
    text = f"{text} unchecked" if unchecked else text
    made = Rule("Shell", verdict, text, tuple(choices), is_open, sandboxed=sandboxed, unchecked=unchecked, why=why)
    return _check_reach(made)


def other_rule(tool: str, pattern: str, verdict: Effect, *, text: str, why: str = "", sandboxed: bool = False) -> Rule:
    """A rule for anything but shell commands."""
    match tool:
        case "Python" | "Kernel" | "Tool" | "Edit" | "Read":
            pattern = "" if pattern == "*" else pattern
            return _check_reach(Rule(tool, verdict, text, pattern=pattern, why=why, sandboxed=sandboxed))
        case "Mcp":
            raise WrongRule(f"{text}: there are no MCP servers here yet, so nothing would keep this rule")
        case "Net":
            host = pattern.lower().rstrip(".")
            if not HOST_PATTERN.fullmatch(host):
                raise WrongRule(f"{text}: a host is named, as in Net(example.org) or Net(*.example.org)")
            return _check_reach(Rule("Net", verdict, text, pattern=host, why=why, sandboxed=sandboxed))
        case _:
            raise WrongRule(f"{tool!r} is no tool: there are {', '.join(KINDS)}")


def _check_reach(rule: Rule) -> Rule:
    """WrongRule for an allowance that would reach further than anybody can see."""
    if rule.verdict != "allow" or rule.sandboxed:
        if rule.verdict == "allow" and rule.tool in ("Edit", "Read"):
            raise WrongRule(f"{rule.text}: {_NO_PATHS}")
        return rule
    match rule.tool:
        case "Python" | "Kernel":
            raise WrongRule(
                f'{rule.text}: what code does is not known beforehand; it can be allowed only with sandbox = "verified"'
            )
        case "Tool" if not rule.pattern:
            raise WrongRule(f"{rule.text}: an allowed tool is named, as in Tool(clock)")
        case "Edit" | "Read":
            raise WrongRule(f"{rule.text}: {_NO_PATHS}")
        case "Shell":
            first = rule.words[0] if rule.words else ("*",)
            if any(_WILD.search(word) for word in first):
                raise WrongRule(f'{rule.text}: an allowed command is named, or sandbox = "verified" is needed')
            if rule.has_wildcard and not rule.unchecked and (doubt := _doubt(rule)):
                raise WrongRule(f"{rule.text}: {doubt}; {_SAY_SO}")
    return rule


def _doubt(rule: Rule) -> str:
    """The first word of an open rule that is not known to be harmless, "" if all are."""
    spellings = [list(words) for words in islice(product(*rule.words), MANY_SPELLINGS + 1)]
    if len(spellings) > MANY_SPELLINGS:
        return "these are too many commands at once"
    return next(filter(None, map(doubt_about, spellings)), "")


MANY_SPELLINGS = 1_000
"""Commands that one rule with lists of words may match."""

_SAY_SO = (
    "spell the command out without a “*”, or write it as a [[rule]] with rule = "
    '"Shell(…)", decision = "allow" and either sandbox = "verified" or unchecked = true'
)


_NO_PATHS = "where a path leads is not known before the run; such a rule can ask or deny"


# -- meaning --------------------------------------------------------------------------------------------


def hit(rule: Rule, reading: SourceFacts, tool: RuleKind, name: str, base: Base) -> RuleMatch:
    """Whether an asking or denying rule speaks of this source, which `tool` runs; `name` is the kernel's or tool's."""
    match rule.tool:
        case "Kernel" | "Tool":
            return "yes" if tool == rule.tool and fnmatchcase(name, rule.pattern or "*") else "no"
        case "Python" if tool != "Python":
            within = tool == "Shell" and any(_name_matches(rule.pattern, name.name) for name in reading.names)
            return "yes" if within and rule.pattern else "no"
        case "Python" if not rule.pattern:
            return "yes"
        case "Python":
            found = any(_name_matches(rule.pattern, name) for name in {name.name for name in reading.names})
        case "Shell" if rule.everything and tool == "Shell":
            return "yes"
        case "Shell":
            answers = {_says(rule, one) for command in reading.commands for one in (command, *inner_commands(command))}
            if "maybe" in answers and "yes" not in answers:
                return "maybe"
            found = "yes" in answers
        case "Edit" | "Read":
            return _hit_path(rule, reading, base)
        case "Net":
            if any(matches_host(rule.pattern, host) for host in find_hosts(reading)):
                return "yes"
            return "maybe" if has_unnamed_hosts(reading) or tool == "Kernel" else "no"
    return "yes" if found else "maybe" if _may_hide(reading, tool) else "no"


def _may_hide(reading: SourceFacts, tool: RuleKind) -> bool:
    return not reading.complete or tool == "Kernel"


def _name_matches(pattern: str, name: str) -> bool:
    """`requests.*` matches `requests` too, `shutil.rmtree` matches `from shutil import *`, and `os.remove` matches
    `pathlib.os.remove`, for a module has the modules it imports, and `os.remove.__call__`."""
    if name.endswith(".*") and pattern.startswith(name[:-1]):
        return True
    tail = pattern.removesuffix(".*")
    if not _WILD.search(tail):
        return f".{tail}." in f".{name}."
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}") or fnmatchcase(name, tail)


def _like(text: str, choice: str) -> bool:
    """`*` and `?` only: a bracket means itself."""
    return fnmatchcase(text, choice.replace("[", "[[]"))


def _says(rule: Rule, command: ShellCommand) -> RuleMatch:
    """A rule of words about one command; the program may be named with its folder."""
    words = command.words
    unsure = False
    for place, choices in enumerate(rule.words):
        if place >= len(words):
            return "maybe" if any(not word.sure for word in words) else "no"
        word = words[place]
        texts = {word.text, command.program} if place == 0 else {word.text}
        if not word.sure:
            unsure = True
        elif not any(_like(text, choice) for text in texts for choice in choices):
            return "maybe" if unsure else "no"  # what only the run tells may be several words
    if not rule.open and len(words) > len(rule.words):
        return "maybe" if unsure or any(not word.sure for word in words[len(rule.words) :]) else "no"
    return "maybe" if unsure else "yes"


_MENTION = re.compile(r"[\w.+-]+")


def mentions(rule: Rule, source: str) -> bool:
    """Whether what the rule denies is named in the source: all of its fixed words, or the last part of a name or path.

    That says nothing by itself; beside something that runs text it may be what that text says.
    """
    if rule.tool == "Shell":
        fixed = [choices for choices in rule.words if not all(_WILD.search(choice) for choice in choices)]
        said = set(_MENTION.findall(source)) if fixed else set()
        return bool(fixed) and all(any(_like(word, one) for word in said for one in choices) for choices in fixed)
    part = _WILD.split(rule.pattern)[0].rstrip("./")
    part = part.rpartition(".")[2] if rule.tool == "Python" else part.removeprefix("./")
    return bool(part) and part in source


def fixed_path(rule: Rule, base: Base) -> str:
    """The folder or file of a rule for files, up to its first wildcard; absolute."""
    return base.absolute(_WILD.split(rule.pattern or "/**")[0] or ".")


def is_out_of_reach(rule: Rule, reach: Reach) -> bool:
    """Whether nothing that a rule for files speaks of can be reached, so that the sandbox keeps the rule by itself."""
    if not rule.real:
        return False
    if rule.tool == "Edit" and any(f"{rule.real}/".startswith(f"{kept}/") for kept in reach.kept):
        return True
    places = reach.writes if rule.tool == "Edit" else reach.reads
    beyond = not any(
        f"{rule.real}/".startswith(f"{place.rstrip('/')}/") or place.startswith(rule.real) for place in places
    )
    return rule.tool in ("Edit", "Read") and beyond


def _hit_path(rule: Rule, reading: SourceFacts, base: Base) -> RuleMatch:
    answer: RuleMatch = "no" if reading.complete else "maybe"
    pattern = re.compile(_path_pattern(base.absolute(rule.pattern or "/**")), re.DOTALL)
    fixed = fixed_path(rule, base)
    for place in reading.places:
        if rule.tool == "Edit" and not place.writes:
            continue
        path = base.absolute(place.path)
        if pattern.fullmatch(path):
            return "yes"
        relative = not place.path.startswith(("/", "~"))
        if (reading.moves and relative) or (place.writes and fixed.startswith(f"{path.rstrip('/')}/")):
            answer = "maybe"
    return answer


def _path_pattern(path: str) -> str:
    """`**` matches any folders, `*` and `?` anything within one name."""
    made = re.escape(path).replace(r"/\*\*", "(?:/.*)?").replace(r"\*\*", ".*")
    return made.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def covers_hosts(rules: Iterable[Rule], reading: SourceFacts) -> tuple[Rule, ...]:
    """The rules that together cover all hosts of a call that only reads; () if they do not."""
    if reading.unread or not reading.hosts or any(risk.what in CHANGES for risk in reading.risks):
        return ()
    named = [rule for rule in rules if rule.tool == "Net"]
    used = [next((rule for rule in named if matches_host(rule.pattern, host)), None) for host in reading.hosts]
    return tuple(dict.fromkeys(rule for rule in used if rule is not None)) if None not in used else ()


def covers(rule: Rule, command: ShellCommand) -> bool:
    """Whether an allowing rule covers this command completely; the source around it is plain."""
    if rule.everything:
        return True
    words = command.words
    if len(words) < len(rule.words) or (len(words) > len(rule.words) and not rule.open):
        return False
    if rule.has_wildcard and not (rule.sandboxed or rule.unchecked) and not is_harmless(command):
        return False
    return all(
        word.sure and any(_like(word.text, choice) for choice in choices)
        for word, choices in zip(words, rule.words, strict=False)
    )
