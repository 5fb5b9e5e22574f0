"""A person's own text as a template: `{{cwd}}`, `{% if os == "Linux" %}`, in Jinja2's language without what could run
long or grow.

A template may come with somebody else's profile. So it has neither calls, assignments, arithmetic nor joined texts,
loops only over the lists that its variables name, and only filters that keep the length of a text; what all of it would
do is counted before it begins. Jinja2's own sandbox is beneath.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from oi_tui.app.engine.core.instructions import TemplateValue

if TYPE_CHECKING:
    from jinja2 import nodes

MOST_RENDERED = 64_000
"""Characters that a template may come to."""

MOST_LOOPED = 100
"""Items of a list in a loop."""

ALWAYS_THERE = ("current_date", "cwd", "os")
"""Variables that every template has."""

MOST_WORK = 50_000_000
"""Characters that all steps of a template may go through: some tenths of a second."""

_STEP = 500
"""Characters whose time a step takes that reads none."""

_MARKS = ("{{", "{%", "{#")

_PLAIN = frozenset(
    {"Template", "Output", "TemplateData", "Name", "Const", "If", "CondExpr", "Compare", "Operand", "And", "Or", "Not"}
    | {"For", "Filter", "Test", "Getattr", "Getitem"}
)
"""Nodes of a template, by the names of their classes."""

_FILTERS = frozenset({"upper", "lower", "capitalize", "title", "trim", "default", "d", "length", "count"})
_TESTS = frozenset({"defined", "undefined", "none", "true", "false", "in", "eq", "ne", "string", "number"})

_MOST_LOOPS = 2
"""Loops within each other."""


class TemplateFailed(Exception):
    """Why a template has no text, as a sentence."""


def is_template(text: str) -> bool:
    """Whether there is anything in the text that a template could put another text for."""
    return any(mark in text for mark in _MARKS)


def check_template(text: str, variables: Mapping[str, TemplateValue]) -> None:
    """TemplateFailed where the text is no template of these variables and those that are always there."""
    render_template(text, {**dict.fromkeys(ALWAYS_THERE, ""), **variables})


def render_template(text: str, variables: Mapping[str, TemplateValue]) -> str:
    """The text with the values of these variables; TemplateFailed if that fails. A text without marks is returned as it
    is, without loading anything."""
    if not is_template(text):
        return text
    import jinja2  # only for templates
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        finalize=lambda value: ", ".join(value) if isinstance(value, tuple) else value,
    )
    environment.globals.clear()
    try:
        tree = environment.parse(text)
        lists = frozenset(
            name for name, value in variables.items() if isinstance(value, tuple) and len(value) <= MOST_LOOPED
        )
        _check(tree, lists, 0)
        constants = (str(node.value) for node in tree.find_all(jinja2.nodes.Const))
        longest = max(map(_length, (*variables.values(), *constants)), default=0)
        if _steps(tree, variables) * (_STEP + longest) > MOST_WORK:
            raise TemplateFailed("It is too much work: shorter loops, fewer filters or shorter variables.")
        pieces = environment.from_string(tree).generate(**variables)
        return "".join(_limit_pieces(pieces))
    except jinja2.TemplateSyntaxError as error:
        raise TemplateFailed(f"Line {error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        known = ", ".join(sorted(variables))
        raise TemplateFailed(f"{str(error.message).capitalize()}. There are: {known}.") from error
    except (jinja2.TemplateError, ArithmeticError, ValueError, TypeError, SyntaxError) as error:
        raise TemplateFailed(f"{error}.") from error
    except (RecursionError, MemoryError) as error:
        raise TemplateFailed("It is nested too deeply.") from error


def _limit_pieces(pieces: Iterator[str]) -> Iterator[str]:
    room = MOST_RENDERED
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise TemplateFailed(f"It comes to more than {MOST_RENDERED:,} characters.")
        yield piece


def _check(node: "nodes.Node", lists: frozenset[str], loops: int) -> None:
    """TemplateFailed at the first thing that such a template cannot have. `lists` are names that it may loop over."""
    from jinja2 import nodes  # as above

    kind = type(node).__name__
    line = f"Line {node.lineno}:"
    if kind not in _PLAIN:
        raise TemplateFailed(f"{line} a template can have no {_WORDS.get(kind, kind)}.")
    match node:
        case nodes.Name(name="self"):
            raise TemplateFailed(f"{line} there is no variable self.")
        case nodes.For():
            loops += 1
            target, over = node.target, node.iter
            if not (isinstance(over, nodes.Name) and over.name in lists) or node.recursive:
                raise TemplateFailed(
                    f"{line} a loop is over a list among its variables, of at most {MOST_LOOPED} items."
                )
            if not isinstance(target, nodes.Name) or target.name in lists or loops > _MOST_LOOPS:
                raise TemplateFailed(f"{line} at most {_MOST_LOOPS} loops, each with a new name.")
        case nodes.Filter() if node.name not in _FILTERS:
            raise TemplateFailed(f"{line} no filter {node.name!r}. There are: {', '.join(sorted(_FILTERS))}.")
        case nodes.Test() if node.name not in _TESTS:
            raise TemplateFailed(f"{line} no test {node.name!r}. There are: {', '.join(sorted(_TESTS))}.")
        case nodes.Getattr() | nodes.Getitem() if not (isinstance(node.node, nodes.Name) and node.node.name == "loop"):
            raise TemplateFailed(f"{line} variables have no attributes and no items.")
    for child in node.iter_child_nodes():
        _check(child, lists, loops)


def _length(value: TemplateValue) -> int:
    return sum(map(len, value)) if isinstance(value, tuple) else len(str(value))


def _steps(node: "nodes.Node", variables: Mapping[str, TemplateValue]) -> int:
    """Expressions that are worked out, where every condition holds and every loop goes through its list."""
    from jinja2 import nodes  # as above

    below = sum(_steps(child, variables) for child in node.iter_child_nodes())
    match node:
        case nodes.For(iter=nodes.Name(name=name)):
            looped = variables[name]
            return 1 + below * (len(looped) if isinstance(looped, tuple) else 1)
        case nodes.TemplateData():
            return 0  # the text itself, whose length is limited
        case _:
            return 1 + below


_WORDS = {
    "Concat": "joined texts",
    "Call": "call",
    "Assign": "assignment",
    "AssignBlock": "assignment",
    "Macro": "macro",
    "CallBlock": "macro",
    **dict.fromkeys(("Include", "Import", "FromImport", "Extends", "Block"), "other templates"),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow", "Neg", "Pos"), "arithmetic"),
    **dict.fromkeys(("List", "Dict", "Tuple"), "lists of their own"),
}
