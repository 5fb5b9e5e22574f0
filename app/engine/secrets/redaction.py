"""Takes secrets out of text that leaves: for a model, or for a file that others may read.

Finds known secrets verbatim and in the forms in which they are often printed, and unknown ones by their shape
(secret_shapes.py). A label replaces each: `[secret withheld: OPENAI_API_KEY]`. The user's own view of an output is not
redacted.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from oi_tui.app.engine.secrets.environment import is_credential
from oi_tui.app.engine.secrets.patterns import SHAPES, Shape

SHORTEST = 8
"""Minimum length of a value to search for: shorter ones occur in other text by chance."""

LONGEST_VALUE = 20_000
"""Characters of a value; what is longer is no key."""

_FEW = 4
"""A value of fewer different characters is a placeholder (`xxxxxxxx`, `00000000`)."""

_COMMON = frozenset({
    *("password", "passw0rd", "password1", "changeme", "changeit", "secretsecret", "letmein1", "12345678"),
    *("123456789", "1234567890", "localhost", "postgres", "postgresql", "anonymous", "administrator", "development"),
    *("production", "undefined", "disabled", "required", "optional", "placeholder", "username", "testtest", "standard"),
    *("redacted", "your-api-key", "your_api_key", "sk-placeholder", "not-needed", "notneeded", "no-key-required"),
    *("internal", "external", "basic_auth", "keychain", "osxkeychain", "libsecret"),
})  # fmt: skip
"""Values that hide nothing, and words that occur in any text."""

_FOLDER = re.compile(
    r"(?:~|\.{1,2})/|/(?:home|Users|root|etc|usr|var|opt|run|tmp|mnt|srv|data|private|Library|nix|snap|dev|proc)/"
    r"|[A-Za-z]:\\"
)
"""What begins so is a path: it shows where a secret is."""

_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}
"""Every letter keeps its place, which `lower` does not promise."""

_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s@]+)@|\b(?:password|accountkey)=([^;\s]+)", re.IGNORECASE)
"""The password within an address or a connection string."""


class Redacted(NamedTuple):
    """A text without its secrets."""

    text: str
    names: tuple[str, ...] = ()
    """What is withheld, one name for each place, in the order of the text."""


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables whose values are withheld, by name: those that code here does not get to see either."""
    return {name: value for name, value in environ.items() if is_credential(name, value)}


class SecretMatch(NamedTuple):
    """A secret in a text."""

    start: int
    rank: int
    """Which of two counts that begin at the same place: the lower."""
    end: int
    name: str


class Redactor:
    """Knows secret values and shapes of secrets. Time grows linearly with the text, whatever is in it."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """`secrets` maps names to secret values; the name is shown instead."""
        self._forms: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            self.learn(name, value)

    def learn(self, name: str, value: str) -> None:
        """One more value that is secret; nothing happens if it is too short or too common to be looked for."""
        inner = [part for found in _IN_ADDRESS.findall(value) for part in found if part]
        for secret in (value.strip(), *inner):
            if _is_telling(secret):
                for form in _forms(secret):
                    self._forms.setdefault(form, name)

    def redact(self, text: str) -> Redacted:
        """The text with `[secret withheld: NAME]` instead of each secret. A second call changes nothing."""
        places = self.places(text)
        if not places:
            return Redacted(text)
        pieces: list[str] = []
        end = 0
        for one in places:
            pieces += (text[end : one.start], mark(one.name))
            end = one.end
        return Redacted("".join((*pieces, text[end:])), tuple(one.name for one in places))

    def places(self, text: str) -> list[SecretMatch]:
        """Where the secrets are, one behind the other."""
        found = sorted([*self._find_values(text), *_find_shapes(text)], key=lambda one: one[:2])
        places: list[SecretMatch] = []
        for one in found:
            if places and one.start < places[-1].end:  # of two that overlap, nothing is left
                places[-1] = places[-1]._replace(end=max(places[-1].end, one.end))
            else:
                places.append(one)
        return places

    def _find_values(self, text: str) -> Iterator[SecretMatch]:
        for form, name in tuple(self._forms.items()):  # another may be learned meanwhile, in another thread
            if form in text:
                for start in _places(form, text):
                    yield SecretMatch(start, 0, start + len(form), name)


def mark(name: str) -> str:
    """The label that replaces a secret."""
    return f"[secret withheld: {name}]"


def _is_telling(secret: str) -> bool:
    return (
        SHORTEST <= len(secret) <= LONGEST_VALUE
        and len(set(secret)) >= _FEW
        and secret.lower() not in _COMMON
        and _FOLDER.match(secret) is None
    )


def _forms(secret: str) -> Iterator[str]:
    """The value as it is, as an address and as Python or JSON write it, in hexadecimal digits and in base64."""
    yield secret
    raw = secret.encode(errors="surrogatepass")
    yield quote(raw, safe="")
    yield quote(raw)
    yield quote_plus(raw)
    yield secret.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    yield secret.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()
    for before in range(3):  # it may begin at any of the three places of a group
        usable = (before + len(raw)) // 3 * 4  # what follows may change the characters behind
        first = -(-before * 8 // 6)
        for encode in (b64encode, urlsafe_b64encode):
            form = encode(bytes(before) + raw)[first:usable].decode()
            if len(form) >= SHORTEST:
                yield form


def _find_shapes(text: str) -> Iterator[SecretMatch]:
    folded = text.lower() if text.isascii() else text.translate(_SMALL)
    for hint, marked in _BY_HINT.items():
        if hint not in folded:
            continue
        for rank, shape, mark in marked:
            for start in _places(mark, folded if shape.folded else text):
                if start and text[start - 1] in shape.apart:
                    continue
                match = shape.rest.match(text, start + len(mark))
                if match is None:
                    continue
                has_group = "secret" in shape.rest.groupindex
                first, end = match.span("secret") if has_group else (start, match.end())
                yield SecretMatch(first, rank, end, shape.name)


def _by_hint() -> dict[str, list[tuple[int, Shape, str]]]:
    """Marks of shapes by three characters of each in small letters, those that most marks share: a text without the
    three has none of these marks, and most texts have few of the three."""
    marked = [(rank, shape, mark) for rank, shape in enumerate(SHAPES, 1) for mark in shape.marks]
    threes = {mark: _threes(mark.translate(_SMALL)) for *_, mark in marked}
    shared = Counter(three for found in threes.values() for three in set(found))
    hints: dict[str, list[tuple[int, Shape, str]]] = {}
    for rank, shape, mark in marked:
        hints.setdefault(max(threes[mark], key=shared.__getitem__), []).append((rank, shape, mark))
    return hints


def _threes(mark: str) -> list[str]:
    return [mark[start : start + 3] for start in range(len(mark) - 2)]


_BY_HINT = _by_hint()


def _places(part: str, text: str) -> Iterator[int]:
    """The places of a value, in order."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))
