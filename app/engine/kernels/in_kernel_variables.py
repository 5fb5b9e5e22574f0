"""Runs inside a Python kernel once somebody looks at its variables: never imported by us, only sent as text.

It is executed with the parts that it imports before it, as one text. It answers requests on the shell channel, so only
while nothing runs: the variables, and the value of one of them.

No first-party imports. Leave nothing in the user namespace.
"""

import itertools
import time
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # in the kernel they are there, from the text before
    from oi_tui.app.engine.kernels.in_kernel_frames import SeenFrames
    from oi_tui.app.engine.kernels.in_kernel_look import detail_of, listing_row
    from oi_tui.app.engine.kernels.in_kernel_queries import install_queries, make_table

TIME = 0.020
"""Seconds that a listing may take; looked at between two names."""

NAMES = 200
"""Names in a listing at most."""

REMEMBERED = 50_000
"""Names in the namespace up to which we know at the next listing which are new."""

TABLE_TYPE = "application/vnd.oi-tui.table+json"
"""What knows the frames that were shown (`in_kernel_tables.py`); nobody does in a kernel that somebody else started."""

NAME = 100
"""Characters of a name; longer ones are left out."""

MISSING = object()


class Variables:
    """Looks at one namespace again and again."""

    def __init__(
        self, namespace: dict[str, Any], hidden: dict[str, Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`hidden` are names with the values under which they are not the person's."""
        self._namespace = namespace
        self._hidden = hidden
        self._clock = clock
        self._names: set[str] | None = None
        """Of the namespace at the last listing."""
        self._before: set[str] | None = None
        """And at the one before the last run."""

    def listing(self, first: list[str], known: list[str], again: bool) -> dict[str, Any]:
        """The variables: `first` those of these names, then the `known` ones, then the newest.

        `gone` are the known ones that were deleted, `new` those listed that were not there at the listing before the
        last run (None: unknown). `again`: nothing has run since the last listing.
        """
        deadline = self._clock() + TIME
        names = list(self._namespace)
        if not again:
            self._before = self._names
        self._names = {name for name in names if type(name) is str} if len(names) <= REMEMBERED else None
        rows: list[dict[str, Any]] = []
        cut = False
        for name, value in self._visible(itertools.chain(first, known, reversed(names))):
            cut = self._clock() > deadline or (value is not MISSING and len(rows) == NAMES)
            if cut:
                break
            if value is not MISSING:
                rows.append({"name": name, **listing_row(value)})
        listed = [row["name"] for row in rows]
        return {
            "variables": rows,
            "cut": cut,
            "gone": [name for name in known if not self._is_variable(name, self._value(name))],
            "new": None if self._before is None else [name for name in listed if name not in self._before],
        }

    def detail(self, name: str) -> str | None:
        """A longer look at one variable, None if there is no such."""
        value = self._value(name)
        if not self._is_variable(name, value):
            return None
        return detail_of(value)

    def frame(self, name: str) -> Any:
        """The frame of this name; None where there is none."""
        value = self._value(name)
        return value if self._is_variable(name, value) else None

    def _visible(self, names: Iterable[Any]) -> Iterator[tuple[str, Any]]:
        """Each variable once; what is none is passed as MISSING, so that time is looked at there as well."""
        seen: set[str] = set()
        for name in names:
            if type(name) is not str or name in seen:
                continue
            seen.add(name)
            value = self._value(name)
            yield name, value if self._is_variable(name, value) else MISSING

    def _value(self, name: str) -> Any:
        try:
            return dict.get(self._namespace, name, MISSING)
        except Exception:  # boundary: a key of a type of its own, which is asked whether it is this name
            return MISSING

    def _is_variable(self, name: str, value: Any) -> bool:
        """Whether the person made it: no module, nothing imported by name, nothing of IPython's."""
        if value is MISSING or name.startswith("_") or name in ("In", "Out") or len(name) > NAME:
            return False
        if not name.isidentifier() or self._hidden.get(name, MISSING) is value:
            return False
        kind = type(value)
        if kind is types.FunctionType:
            return value.__globals__ is self._namespace
        if issubclass(kind, type):
            module = vars(type)["__module__"].__get__(value)
            return type(module) is str and module == "__main__"
        return not issubclass(kind, types.ModuleType | types.BuiltinFunctionType)


def install_inspection() -> None:
    """Answer from now on."""
    from IPython import get_ipython  # there is one only in a kernel

    shell = get_ipython()
    kernel = shell.kernel
    variables = Variables(shell.user_ns, shell.user_ns_hidden)
    seen = getattr(shell.display_formatter.formatters.get(TABLE_TYPE), "seen_frames", None) or SeenFrames()
    install_queries(seen, shell)

    def listing(stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        asked = parent["content"]
        content = variables.listing(asked["first"], asked["known"], asked["again"])
        kernel.session.send(stream, "oi_tui_variables_reply", content, parent, ident)

    def peek(stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        name = parent["content"]["name"]
        content = {"text": variables.detail(name), "table": make_table(variables.frame(name), seen)}
        kernel.session.send(stream, "oi_tui_peek_reply", content, parent, ident)

    kernel.shell_handlers |= {"oi_tui_variables": listing, "oi_tui_peek": peek}


if __name__ == "oi_tui_in_kernel":
    install_inspection()
