"""Thoughts that a provider wants back, unchanged, with the native calls that they led to. Pure.

Anthropic signs them, OpenRouter passes on whatever the provider behind it has (`reasoning_details`), OpenAI's responses
encrypt them, DeepSeek wants its own words. An answer ends with them as one value, which the session keeps and returns.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from oi_tui.app.engine.core.chat_model import ChatMessage, SealDelta
from oi_tui.app.engine.core.values import SealedThoughts
from oi_tui.app.engine.models.messages import JsonObject

MOST_BYTES = 1_000_000
"""Of the thoughts of one answer; longer ones do not go back."""

MOST_SENT = 4_000_000
"""Bytes of all thoughts in one request; the oldest are left out."""

PIECE_BYTES = 50
"""That count for each piece, be it empty."""

_GROWING = ("text", "summary", "data")
"""Fields of a piece that continue those of the piece before it."""


def owner_name(provider: str, model: str, server: str) -> str:
    """Who may get thoughts back: the same model on the same server. The address may have a password in it."""
    return hashlib.sha256(msgspec.json.encode((provider, model, server))).hexdigest()[:32]


def seal(owner: str, thoughts: object) -> Iterator[SealDelta]:
    """The end of an answer with calls whose thoughts are these; nothing where there are none, or too many."""
    if thoughts and len(data := msgspec.json.encode(thoughts)) <= MOST_BYTES:
        yield SealDelta(thoughts=SealedThoughts(owner=owner, data=data.decode()))


def thoughts_by_call(conversation: Sequence[ChatMessage], owner: str) -> dict[str, Any]:
    """What this model thought before its calls, by the id of each call; the newest, as far as they may be sent."""
    found: dict[str, Any] = {}
    room = MOST_SENT
    for message in reversed(conversation):
        if (sealed := message.sealed) is None or sealed.owner != owner:
            continue
        room -= len(sealed.data)
        if room < 0:
            break
        thoughts = msgspec.json.decode(sealed.data)
        found |= {call.id: thoughts for call in message.calls}
    return found


def add_thoughts(spoken: Iterable[JsonObject], field: str, thoughts: Mapping[str, Any], default: object = None) -> None:
    """Put into this field of each message with calls what led to them, else the default if it is any."""
    for message in spoken:
        ids = (call["id"] for call in message.get("tool_calls") or ())
        known = next((thoughts[name] for name in ids if name in thoughts), default)
        if known is not None and message.get("tool_calls"):
            message[field] = known


def may_think(spoken: Sequence[JsonObject]) -> bool:
    """Whether Anthropic's model may think now: behind results of its calls, it must have the thoughts before these."""
    answers = [place for place, message in enumerate(spoken) if message["role"] == "assistant"]
    behind = spoken[answers[-1] + 1 :] if answers else ()
    if not any(message["role"] == "tool" for message in behind):
        return True
    return "thinking_blocks" in spoken[answers[-1]]


def signed_blocks(delta: Any) -> list[JsonObject]:
    """The whole thoughts in a delta of LiteLLM, signed or encrypted; pieces of one that is not whole are none."""
    blocks = [dict(block) for block in getattr(delta, "thinking_blocks", None) or ()]
    return [block for block in blocks if block.get("signature") or block.get("type") == "redacted_thinking"]


def encrypted_items(delta: Any) -> list[JsonObject]:
    """The reasoning of OpenAI's responses in a delta of LiteLLM, as far as it can be sent back: without its content,
    an item is only the name of one that the server does not keep."""
    items = [dict(item) for item in getattr(delta, "reasoning_items", None) or ()]
    return [item for item in items if item.get("encrypted_content")]


class ThoughtPieces:
    """Puts `reasoning_details` together that come in pieces: a signature is for the whole of the text before it."""

    def __init__(self) -> None:
        self._whole: list[JsonObject] = []
        self._texts: list[dict[str, list[str]]] = []
        """Of each, the pieces of its fields that grow."""
        self._latest: dict[tuple[object, object], int] = {}
        """By type and index: the place of the one that grows."""
        self._size = 0

    def add(self, pieces: Iterable[Mapping[str, Any]]) -> None:
        """More of them. Nothing is kept of those that grow beyond what may go back."""
        for piece in pieces:
            self._size += PIECE_BYTES + len(msgspec.json.encode(piece))
            if self._size > 2 * MOST_BYTES:
                self._whole, self._texts = [], []
                return
            place = self._place(piece)
            for name, value in piece.items():
                if name in _GROWING and isinstance(value, str):
                    self._texts[place].setdefault(name, []).append(value)
                elif value is not None:
                    self._whole[place][name] = value

    def _place(self, piece: Mapping[str, Any]) -> int:
        """The index of the part with the same type and number, unless that has another id."""
        key, new = (str(piece.get("type")), piece.get("index")), len(self._whole)
        place = self._latest.get(key, new) if isinstance(key[1], int) else new
        if place < new and piece.get("id") and self._whole[place].get("id") not in (None, piece["id"]):
            place = new
        if place == new:
            self._whole.append({})
            self._texts.append({})
            if isinstance(key[1], int):
                self._latest[key] = new
        return place

    def whole(self) -> list[JsonObject]:
        """All of them, in order, as they go back."""
        pairs = zip(self._whole, self._texts, strict=True)
        return [one | {name: "".join(texts) for name, texts in grown.items()} for one, grown in pairs]
