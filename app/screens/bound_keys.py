"""Keys as they are bound somewhere, and what is in the way of others."""

from typing import NamedTuple

from oi_tui.widgets.text_box import UNBOUND


class BoundKeys(NamedTuple):
    """A binding where it works."""

    id: str
    """"" for what only Textual binds."""
    keys: frozenset[str]
    """In Textual's names; those of a sequence with a space between them."""
    place: str
    help: str
    takes_letters: bool = False
    in_chat: bool = True


class KeyConflict(NamedTuple):
    """A key that something else has, or where one is the beginning of the other."""

    id: str
    """Of what should get it."""
    new: str
    key: str
    """Of the other."""
    other: BoundKeys

    def __str__(self) -> str:
        what = f"{self.other.id} ({self.other.help})" if self.other.id else f"“{self.other.help}”"
        is_key = f"{self.new} is" if self.new == self.key else f"{self.new} clashes with {self.key},"
        return f"{is_key} the key of {what}, {self.other.place}"


def keys_in(keys: str) -> frozenset[str]:
    """The keys of a binding, one by one."""
    return frozenset() if keys in (UNBOUND, "") else frozenset(key.strip() for key in keys.split(","))
