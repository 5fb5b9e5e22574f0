"""Limited functions: lists of what the model may call, and may not. What cannot be read is on no list."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import FunctionsSection
from oi_tui.app.engine.policy.function_patterns import (
    LONGEST_NAME,
    WrongPattern,
    check_pattern,
    matches_name,
    may_match_within,
)
from oi_tui.app.engine.text.safe import safe_text

MOST_USES = 1_000
"""Uses of one source that are looked at; one with more is not read."""

_SHOWN = 60
"""Characters of a name in a message."""


class FunctionUse(NamedTuple):
    """Something that is called, or could be: its names, any of which says what it is."""

    names: tuple[str, ...]
    """The one for people first."""
    line: int
    imports: bool = False
    """It is only imported: a module is there for what is in it."""


class UnknownUse(NamedTuple):
    """A part that does not say what it calls."""

    why: str
    line: int


class FunctionRuling(NamedTuple):
    """The ruling of the lists about a source."""

    verdict: Literal["deny", "ask"]
    by: str
    """In words that follow “because of”."""


def check_lists(section: FunctionsSection) -> None:
    """SettingsError for an expression that is not taken."""
    for key in ("allow", "deny"):
        for text in getattr(section, key):
            try:
                check_pattern(text)
            except WrongPattern as error:
                raise SettingsError(
                    f"functions.{key}: {text!r} {error}.", hint=r"Such as pandas\..*, os\.system or tool:fetch_url."
                ) from error


def judge_uses(uses: Iterable[FunctionUse | UnknownUse], lists: FunctionsSection) -> FunctionRuling | None:
    """The objection to a source with these uses; None if there is none."""
    doubt: FunctionRuling | None = None
    judged: set[FunctionUse] = set()
    for use in uses:
        if isinstance(use, UnknownUse):
            if lists.allow:
                return FunctionRuling("deny", f"the list of functions that may be called: {use.why}, line {use.line}")
            doubt = doubt or FunctionRuling("ask", f"the list of functions that may not be called: {use.why}")
            continue
        plain = use._replace(line=0)
        if plain in judged:
            continue
        judged.add(plain)
        if len(judged) > MOST_USES:
            return FunctionRuling("deny", "the lists of functions: it uses too many to look at")
        if entry := _denying(use, lists.deny):
            return FunctionRuling(
                "deny", f"the list of functions that may not be called: {_use_words(use)} (“{entry}”)"
            )
        if lists.allow and not _is_allowed(use, lists.allow):
            return FunctionRuling("deny", f"the list of functions that may be called, which has no {_use_words(use)}")
    return doubt


def _use_words(use: FunctionUse) -> str:
    name = safe_text(use.names[0])
    short = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return f"{short}, line {use.line}" if use.line else short


def _denying(use: FunctionUse, deny: tuple[str, ...]) -> str:
    """The entry that denies it, "" if none does."""
    if not deny:
        return ""
    if any(len(name) > LONGEST_NAME for name in use.names):
        return "a name that is too long"
    for entry in deny:
        for name in use.names:
            if any(matches_name(entry, part) for part in _heads(name)):
                return entry
            if use.imports and name.endswith(".*") and may_match_within(entry, name[:-2]):
                return entry
    return ""


def _heads(name: str) -> list[str]:
    """The name, and what it is a part of: `os.remove.__call__` uses `os.remove`."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0] or count > 1]


def _is_allowed(use: FunctionUse, allow: tuple[str, ...]) -> bool:
    if use.imports and any(may_match_within(entry, name) for entry in allow for name in use.names):
        return True
    return any(matches_name(entry, name) for entry in allow for name in use.names)


def describe_lists(lists: FunctionsSection, most: int = 1_500) -> str:
    """The lists in words for a model, within so many characters; "" if there are none."""
    said: list[str] = []
    for words, entries in (("may call only", lists.allow), ("may not call", lists.deny)):
        if entries:
            shown = _fit(entries, most // 2)
            said.append(
                f"Your code {words} functions whose full names match one of these regular expressions: {shown}."
            )
    if lists.allow:
        said.append(
            "Python's harmless builtins and methods of its plain values are allowed. A method of another value is "
            "named with a dot before it (.head), a program shell:NAME, a tool tool:NAME. Import what you use in each "
            "block, and define there what you call."
        )
    return " ".join(said)


def _fit(entries: tuple[str, ...], most: int) -> str:
    """As many names as fit."""
    shown: list[str] = []
    for entry in entries:
        if sum(map(len, shown)) + len(entry) > most:
            return f"{', '.join(shown)}, and {len(entries) - len(shown)} more"
        shown.append(entry)
    return ", ".join(shown)
