"""The object that a program hands to its tools."""

from contextvars import ContextVar
from typing import TypeVar

DependencyT = TypeVar("DependencyT")

given_dependencies: ContextVar[object] = ContextVar("given_dependencies", default=None)
"""Of the session whose run this is; tools run within it, also those in threads."""


def dependencies(kind: type[DependencyT]) -> DependencyT:
    """The object passed to `open_session(dependencies=...)`, for a tool that needs it. TypeError if it is of another
    kind, or outside the call of a tool."""
    found = given_dependencies.get()
    if not isinstance(found, kind):
        raise TypeError(f"the dependencies of this session are of the type {type(found).__name__}, not {kind.__name__}")
    return found
