"""YAML of others, without what could grow or take long: no aliases, nothing deep."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # few read YAML: it comes with the first text of it
    import yaml

_DEEPEST = 20
"""Levels: PyYAML's time grows with the square of the depth."""


class NotPlainYaml(Exception):
    """Why a text is not read; the words continue "the file ..."."""


def read_plain_yaml(text: str) -> object:
    """What the text says; NotPlainYaml with the line where it says nothing."""
    import yaml  # few need it, and all wait for what is imported

    try:
        _require_plain(yaml.parse(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        # PyYAML makes what a tag or a form promises (`!!bool maybe`) without a look at it first.
        raise NotPlainYaml(f"is not valid YAML: {_problem(error)}") from error


def _problem(error: Exception) -> str:
    """What is wrong and where, in one line."""
    mark = getattr(error, "problem_mark", None)
    words = str(getattr(error, "problem", None) or error)
    return " ".join((f"line {mark.line + 1}: {words}" if mark else words).split())


def _require_plain(events: "Iterator[yaml.Event]") -> None:
    """NotPlainYaml at the first alias, or where it gets deep."""
    import yaml  # as above

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise NotPlainYaml("has YAML aliases, which are not read")
        if depth > _DEEPEST:
            raise NotPlainYaml("is nested too deeply")
