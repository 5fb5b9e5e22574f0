"""The kind that a value of several kinds has here."""

from collections.abc import Iterable
from typing import TypeVar

Kind = TypeVar("Kind")


def narrow(value: object, kind: type[Kind]) -> Kind:
    """The value, which is of this kind: `narrow(events[-1], TurnEnded).reason`."""
    assert isinstance(value, kind), value
    return value


def of(kind: type[Kind], values: Iterable[object]) -> list[Kind]:
    """Those of the values that are of this kind, in their order."""
    return [value for value in values if isinstance(value, kind)]
