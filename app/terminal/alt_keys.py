"""Alt and a character as keys of their own.

Textual takes some of what terminals send for them (Escape and the character) for other keys: alt+b for ctrl+left, alt+$
for $, alt+0 for what a Mac types with it. Where such keys are bound, they are kept apart from Escape followed quickly
by a letter. Characters that begin longer sequences of terminals (`[`, `O`, `]`) cannot be.
"""

from typing import Any, NamedTuple, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import KEY_NAME_REPLACEMENTS, _character_to_key

_CHARACTERS = "bf0123456789!\"#$%&'()-/*,.+:;<=>?@^`{|}~"


class _AltKey(NamedTuple):
    value: str


_ALT = {
    f"\x1b{one}": (_AltKey(f"alt+{KEY_NAME_REPLACEMENTS.get(name, name)}"),)
    for one in _CHARACTERS
    if (name := _character_to_key(one))
}
_known = cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)
_before = {sequence: _known.get(sequence) for sequence in _ALT}


def tell_alt_keys(told: bool) -> None:
    """Make them keys of their own, or what Textual takes them for."""
    for sequence, keys in _before.items():
        if told:
            _known[sequence] = _ALT[sequence]
        elif keys is None:
            _known.pop(sequence, None)
        else:
            _known[sequence] = keys
