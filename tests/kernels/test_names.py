"""Names of a kernel that complete what is typed: found by looking, never by running."""

from typing import Any

from oi_tui.app.engine.kernels.preparation import for_inspection

SHOP = """\
ran = []
class Meta(type):
    def __getattribute__(cls, name): ran.append(name); raise RuntimeError(name)
class Shop(metaclass=Meta):
    limit = 3
    def __init__(self): self.orders, self._till = {"monday": [1], "may 1": 2, 3: 4}, 0
    def open_doors(self): ...
    @property
    def total(self): ran.append("property"); return self
    def __getattr__(self, name): ran.append(name); return self
    def __dir__(self): ran.append("dir"); return []
class Noisy(str):
    def __eq__(self, other): ran.append("eq"); return True
    __hash__ = str.__hash__
shop, shore, shut = object.__new__(Shop), 1, len
vars(object)["__setattr__"](shop, "orders", {"monday": [1], "may 1": 2, 3: 4})
vars(object)["__setattr__"](shop, "_till", 0)
ran.clear()
"""


def finder(source: str) -> tuple[Any, dict[str, Any]]:
    """Our part as the kernel has it, on a namespace in this process."""
    part: dict[str, Any] = {"__name__": "not in a kernel"}
    exec(compile(for_inspection(), "<oi-tui>", "exec"), part)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(source, space)
    return part["CodeNameFinder"](space), space


def test_names_are_found_by_looking_and_nothing_runs() -> None:
    look, space = finder(SHOP)

    def names(text: str) -> list[str]:
        found = look.answer(text)
        return [one["name"] for one in found["names"]]

    assert names("x = 1\nprint(sh") == ["shop", "shore", "shut"]
    assert names("shop.o") == ["open_doors", "orders"]
    assert names("shop.") == ["limit", "open_doors", "orders", "total"]
    assert names("shop._t") == ["_till"]
    assert names('shop.orders["m') == ["may 1", "monday"]
    assert names("shop.orders.ite") == ["items"]
    assert names("Shop.l") == ["limit"]
    # What only running could tell is not told: behind a property, a call, or nothing.
    assert [names(text) for text in ("shop.total.", "shop.nothing.", "len(shop).", "shop.orders[0].", "")] == [[]] * 5
    assert names("wh") == ["while"]
    assert "json" in names("import js")
    assert "sqrt" in names("import math") or "sqrt" in names("from math import sq")
    assert {one["name"]: one["kind"] for one in look.answer("sh")["names"]} == {
        "shop": "Shop",
        "shore": "int",
        "shut": "function",
    }
    assert space["ran"] == []


def test_a_huge_namespace_is_looked_at_for_a_moment_only() -> None:
    look, _ = finder("globals().update({f'name_{number}': 0 for number in range(30_000)})")
    look._clock = lambda: 0.0
    assert len(look.answer("name_")["names"]) == 200
    ticks = iter(range(1_000_000))
    look._clock = lambda: next(ticks)
    assert look.answer("name_")["names"] == []
