"""A command of a person's own: Markdown with front matter, whose body is the template of a prompt.

---
description: Review a file
arguments:
  - name: file
    help: What to review
  - name: level
    choices: [quick, thorough]
    default: quick
---
Review @{{file}} ({{level}}).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from oi_tui.app.engine.core.instructions import TemplateValue
from oi_tui.app.engine.text.plain_yaml import NotPlainYaml, read_plain_yaml
from oi_tui.app.engine.text.template import TemplateFailed, render_template

MOST_ARGUMENTS, MOST_CHOICES, LONGEST = 10, 50, 200
"""Arguments of a command, choices of an argument, characters of a text about them."""

LONGEST_FRONT = 8_000
"""Characters of the front matter."""

FACTS = ("args", "current_date", "cwd", "os", "selection")
"""Variables that each body has besides its arguments."""

_FENCE = "---"
_ARGUMENT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_WORD = re.compile(r'"([^"]*)"(?:\s+|$)|(\S+)\s*')
_NAMED = re.compile(r'([a-z][a-z0-9_]*)=(?:"([^"]*)"(?:\s+|$)|(\S*)\s*)')


class WrongCommandFile(Exception):
    """What is wrong with a file, beginning with its line: "line 3: ..."."""


class WrongUse(Exception):
    """Why the arguments of a command give no prompt, as a sentence."""


class CommandArgument(NamedTuple):
    """One word that may follow the command; the last one takes the rest of the line."""

    name: str
    help: str = ""
    choices: tuple[str, ...] = ()
    default: str = ""
    required: bool = True


class OwnCommand(NamedTuple):
    """A command that such a file defines."""

    description: str
    arguments: tuple[CommandArgument, ...]
    template: str
    """With an empty line for each line of the front matter, so that lines have their numbers."""


class _Argument(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    help: str = ""
    choices: list[str | int | float] = []
    default: str | int | float | None = None
    required: bool | None = None


class _Front(msgspec.Struct, forbid_unknown_fields=True):
    description: str = ""
    arguments: list[str | _Argument] = []


def parse_command(text: str) -> OwnCommand:
    """Parse the file; WrongCommandFile if it is not valid. The template is checked when it is used."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    front, end = _Front(), 0
    if lines[0].rstrip() == _FENCE:
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), 0)
        if not end:
            raise WrongCommandFile("line 1: the front matter has no end, a line ---")
        front = _parse_front(lines[1:end])
        end += 1
    body = "\n".join(lines[end:])
    if not body.strip():
        raise WrongCommandFile(f"line {end + 1}: there is no prompt")
    where = _line_of("arguments", lines[:end])
    arguments = tuple(_check_arguments(front, where))
    first = next(line.strip(" #") for line in body.split("\n") if line.strip())
    description = front.description or "".join(one for one in first if one.isprintable())[:LONGEST]
    _check_text("description", description, _line_of("description", lines[:end]))
    return OwnCommand(description, arguments, "\n" * end + body)


def _parse_front(lines: list[str]) -> _Front:
    text = "\n".join(["", *lines])  # below the line ---
    if len(text) > LONGEST_FRONT:
        raise WrongCommandFile(f"line 1: the front matter has more than {LONGEST_FRONT:,} characters")
    try:
        value = read_plain_yaml(text)
    except NotPlainYaml as error:
        found = re.search(r"(line \d+): (.*)", str(error))
        raise WrongCommandFile(f"{found[1]}: {found[2]}" if found else f"line 1: the front matter {error}") from error
    try:
        return msgspec.convert({} if value is None else value, _Front)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`")
        said = f"{name}: {what[:1].lower()}{what[1:]}"
        if unknown := re.search(r"unknown field `([^`]*)`", what):
            known = (_Argument if name else _Front).__struct_fields__
            name = unknown[1]
            said = f"there is no key {name}; there are {', '.join(known)}"
        raise WrongCommandFile(f"line {_line_of(name, ['', *lines])}: {said}") from error


def _line_of(name: str, lines: list[str]) -> int:
    """Where a key of the front matter is, from 1 on."""
    for key in reversed(re.findall(r"[\w-]+", name)):
        for number, line in enumerate(lines, 1):
            if re.match(rf"[\s-]*{re.escape(key)}\s*:", line):
                return number
    return 1


def _check_text(what: str, text: str, line: int) -> None:
    if not text.isprintable() or len(text) > LONGEST:
        raise WrongCommandFile(f"line {line}: {what} is one line of at most {LONGEST} characters that can be printed")


def _check_arguments(front: _Front, line: int) -> Iterator[CommandArgument]:
    names: set[str] = set()
    may_end = False
    if len(front.arguments) > MOST_ARGUMENTS:
        raise WrongCommandFile(f"line {line}: more than {MOST_ARGUMENTS} arguments")
    for given in front.arguments:
        one = _Argument(given) if isinstance(given, str) else given
        if not _ARGUMENT_NAME.fullmatch(one.name) or one.name in (*FACTS, "loop"):
            raise WrongCommandFile(f"line {line}: {one.name!r} cannot be the name of an argument")
        if one.name in names:
            raise WrongCommandFile(f"line {line}: two arguments have the name {one.name}")
        choices = tuple(map(str, one.choices))
        default = "" if one.default is None else str(one.default)
        for text in (one.help, default, *choices):
            _check_text(f"each text of {one.name}", text, line)
        if len(choices) > MOST_CHOICES or any(not choice or " " in choice for choice in choices):
            raise WrongCommandFile(f"line {line}: {one.name} has at most {MOST_CHOICES} choices, one word each")
        if choices and default and default not in choices:
            raise WrongCommandFile(f"line {line}: the default of {one.name} is none of its choices")
        required = one.default is None if one.required is None else one.required
        if required and may_end:
            raise WrongCommandFile(f"line {line}: {one.name} is required, and the argument before it is not")
        may_end = not required
        names.add(one.name)
        yield CommandArgument(one.name, one.help, choices, default, required)


def fill_command(command: OwnCommand, typed: str, facts: Mapping[str, TemplateValue]) -> str:
    """The prompt for the arguments `typed` after the name; WrongUse if they do not fit. `facts` are those of `FACTS`
    but `args`."""
    values: dict[str, Any] = {**facts, "args": typed.strip(), **bind_arguments(command.arguments, typed)}
    try:
        text = render_template(command.template, values).strip()
    except TemplateFailed as error:
        raise WrongUse(f"Its template is wrong. {error}") from error
    if not text:
        raise WrongUse("Its prompt is empty.")
    return text


def bind_arguments(arguments: Sequence[CommandArgument], typed: str) -> dict[str, str]:
    """Each argument with what was typed for it, in order or as `name=value`, or its default; WrongUse if that makes no
    sense."""
    open_ones = {one.name: one for one in arguments}
    given: dict[str, str] = {}
    rest = typed.strip()
    while rest and open_ones:
        if (named := _NAMED.match(rest)) and named[1] in open_ones:
            name, word, rest = named[1], named[2] if named[2] is not None else named[3], rest[named.end() :]
        elif len(open_ones) == 1:
            name, word, rest = next(iter(open_ones)), rest.removeprefix('"').removesuffix('"'), ""
        else:
            found = _WORD.match(rest)
            assert found is not None  # there is something that is no blank
            name, rest = next(iter(open_ones)), rest[found.end() :]
            word = found[1] if found[1] is not None else found[2]
        _check_choice(open_ones.pop(name), word)
        given[name] = word
    if rest and arguments:
        raise WrongUse(f"“{rest[:40]}” is too much.")
    if missing := [one for one in open_ones.values() if one.required]:
        help = f" ({missing[0].help})" if missing[0].help else ""
        raise WrongUse(f"It needs {missing[0].name}{help}.")
    return given | {name: one.default for name, one in open_ones.items()}


def _check_choice(argument: CommandArgument, word: str) -> None:
    if argument.choices and word not in argument.choices:
        raise WrongUse(f"No {argument.name} “{word[:40]}”. Choose one of: {', '.join(argument.choices)}.")
