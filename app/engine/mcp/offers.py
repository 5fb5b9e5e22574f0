"""What a server offers, as plain values: made safe, bounded, and by names that a model can call."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.encoding import text_digest
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.text.safe import safe_text

MOST_TOOLS, MOST_RESOURCES, MOST_PROMPTS = 200, 500, 100

LONGEST_NAME = 64
"""Characters of a tool's name that all providers take."""

LONGEST_DESCRIPTION, LONGEST_NOTE, LONGEST_SCHEMA = 2_000, 400, 30_000
"""Characters of a tool's description, of a description within its schema, and of the whole schema as JSON."""

DEEPEST, MOST_EXPANDED = 16, 5_000
"""Levels of a schema, and parts of it with every reference followed once."""

MOST_ARGUMENTS, MOST_VALUES = 10, 100
"""Of a prompt; and completions of one argument, as the protocol has it."""

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:[^\s\"'<>]{1,500}")
"""Address of a resource, as written in a prompt."""

_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

_DROPPED = frozenset(
    {
        *("$schema", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary"),
        *("pattern", "patternProperties", "format", "contentMediaType", "contentEncoding", "examples", "$comment"),
    }
)
"""Of a schema: addresses to look at, and patterns that a search could take for ever. The server checks them itself."""


class UnusableOffer(Exception):
    """A tool that cannot be offered; its text says why."""


class ToolOffer(Value, frozen=True, kw_only=True):
    """A tool, as a server describes it."""

    name: str
    description: str = ""
    schema: dict[str, Any] = msgspec.field(default_factory=dict)
    reads_only: bool | None = None
    """Its own claims; None where it claims nothing."""
    destroys: bool | None = None
    repeatable: bool | None = None
    open_world: bool | None = None
    title: str = ""

    @property
    def terms(self) -> dict[str, Any]:
        """All of it that a person agrees to."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {key: value for key, value in plain.items() if value is not None and value != ""}


class ResourceOffer(Value, frozen=True, kw_only=True):
    """Something to read, by its address."""

    uri: str
    name: str = ""
    description: str = ""
    mime: str = ""


class PromptOffer(Value, frozen=True, kw_only=True):
    """A prompt that a server has ready."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()

    @property
    def slash(self) -> str:
        """The text to type after the server's name and a colon."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name).strip("-")


def safe_line(text: str, longest: int = LONGEST_NOTE) -> str:
    """One line that is safe to show, cut where it is longer."""
    line = " ".join(safe_text(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def safe_lines(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Lines that are safe to show, cut where they are longer."""
    shown = safe_text(text).strip()
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def hides_something(text: str) -> bool:
    """Whether the text holds what a person would not see."""
    return safe_text(text) != text


def clean_offer(offer: ToolOffer) -> ToolOffer:
    """The tool as it may be shown and offered; UnusableOffer if it cannot be."""
    if not offer.name or len(offer.name) > 200 or hides_something(offer.name) or not offer.name.isprintable():
        raise UnusableOffer(f"{safe_line(offer.name, 60) or 'a tool'}: its name cannot be shown")
    return msgspec.structs.replace(
        offer,
        title=safe_line(offer.title, 100),
        description=safe_lines(offer.description),
        schema=clean_schema(offer.schema, offer.name),
    )


def clean_schema(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """A JSON schema that is safe to show and to check by; UnusableOffer for one that is neither."""
    if schema.get("type", "object") != "object":
        raise UnusableOffer(f"{safe_line(name, 60)}: its arguments are no object")
    _measure(schema, schema, 0, (), [0], name)
    cleaned: dict[str, Any] = _clean(schema)
    cleaned["type"] = "object"
    if len(msgspec.json.encode(cleaned)) > LONGEST_SCHEMA:
        raise UnusableOffer(f"{safe_line(name, 60)}: its schema is longer than {LONGEST_SCHEMA:,} characters")
    return cleaned


def _clean(value: Any, key: str = "") -> Any:
    match value:
        case dict() if key in ("properties", "$defs", "definitions", "dependentSchemas"):
            return {safe_line(name, 100): _clean(one) for name, one in value.items()}
        case dict():
            return {safe_line(name, 100): _clean(one, name) for name, one in value.items() if name not in _DROPPED}
        case list():
            return [_clean(one) for one in value]
        case str() if key == "$ref":
            return value
        case str():
            return safe_lines(value, LONGEST_NOTE)
        case _:
            return value


def _measure(
    node: Any, whole: dict[str, Any], depth: int, open_refs: tuple[str, ...], seen: list[int], name: str
) -> None:
    """UnusableOffer for a schema that is too deep, leads elsewhere, or grows without end when it is followed."""
    seen[0] += 1
    if depth > DEEPEST or seen[0] > MOST_EXPANDED:
        raise UnusableOffer(f"{safe_line(name, 60)}: its schema is too large or too deep to be followed")
    if isinstance(node, list):
        for one in node:
            _measure(one, whole, depth + 1, open_refs, seen, name)
    if not isinstance(node, dict):
        return
    reference = node.get("$ref")
    if isinstance(reference, str) and reference in open_refs:
        raise UnusableOffer(f"{safe_line(name, 60)}: its schema refers to itself")
    if isinstance(reference, str):
        target = _target(reference, whole, name)
        _measure(target, whole, depth + 1, (*open_refs, reference), seen, name)
    for key, one in node.items():
        if key not in ("$defs", "definitions", "const", "enum", "default"):
            _measure(one, whole, depth + 1, open_refs, seen, name)


def _target(reference: str, whole: dict[str, Any], name: str) -> Any:
    found = re.fullmatch(r"#/(\$defs|definitions)/([^/~%]{1,100})", reference)
    table = whole.get(found[1]) if found else None
    if found is None or not isinstance(table, dict) or found[2] not in table:
        raise UnusableOffer(f"{safe_line(name, 60)}: its schema leads to {safe_line(reference, 60)}")
    return table[found[2]]


def tool_name(server: str, tool: str) -> str:
    """`NAME__tool`, as every provider takes it; what had to be changed ends with a digest of what it was."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    name = f"{server}__{plain}"
    if plain == tool and len(name) <= LONGEST_NAME:
        return name
    digest = text_digest(f"{server}\0{tool}")[:8]
    return f"{name[: LONGEST_NAME - 9]}_{digest}"


def clean_offers(offers: Sequence[ToolOffer]) -> tuple[dict[str, ToolOffer], list[str]]:
    """The tools by the name that a model uses, and a description of what was left out."""
    found: dict[str, ToolOffer] = {}
    left_out: list[str] = []
    names: set[str] = set()
    for offer in offers:
        try:
            cleaned = clean_offer(offer)
        except UnusableOffer as why:
            left_out.append(str(why))
            continue
        if offer.name in names:
            left_out.append(f"{safe_line(offer.name, 60)}: there are two of this name")
            continue
        names.add(offer.name)
        found[offer.name] = cleaned
        hidden = [text for text in _texts(msgspec.to_builtins(offer)) if hides_something(text)]
        if hidden:
            left_out.append(f"{safe_line(offer.name, 60)}: hidden characters were taken out of what it says")
    return found, left_out


def clean_resources(offers: Iterable[ResourceOffer]) -> tuple[ResourceOffer, ...]:
    """Resources whose address can be written in a prompt, cleaned."""
    return tuple(
        msgspec.structs.replace(offer, name=safe_line(offer.name, 100), description=safe_line(offer.description))
        for offer in offers
        if ADDRESS.fullmatch(offer.uri) and not hides_something(offer.uri)
    )


def clean_prompts(offers: Iterable[PromptOffer]) -> tuple[PromptOffer, ...]:
    """Prompts that can be typed, cleaned; of two that are typed the same way the first."""
    found: dict[str, PromptOffer] = {}
    for offer in offers:
        names = (offer.name, *offer.arguments)
        plain = all(name.isprintable() and not hides_something(name) and len(name) <= 100 for name in names)
        typed = all(_ARGUMENT.fullmatch(name) for name in offer.arguments)
        if plain and typed and offer.slash and len(set(offer.arguments)) == len(offer.arguments) <= MOST_ARGUMENTS:
            found.setdefault(offer.slash, msgspec.structs.replace(offer, description=safe_line(offer.description)))
    return tuple(found.values())


def clean_values(values: Iterable[str]) -> tuple[str, ...]:
    """Completions that can be written in a prompt."""
    return tuple(one for one in dict.fromkeys(values) if one and one == safe_line(one, 200) and '"' not in one)


def _texts(value: Any) -> Iterable[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, one in value.items():
                yield key
                yield from _texts(one)
        case list():
            for one in value:
                yield from _texts(one)
        case _:
            pass
