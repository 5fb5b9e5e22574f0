"""Streamed LMC chunks to static messages. See `lmc.py` for the language."""

from collections.abc import Iterable

from oi_tui.app.engine.formats.lmc.mime_map import TEXT_OUTPUT, Chunk, Message

_CHUNK_KEYS = ("start", "end", "content", "block", "replace", "update")


def fold_chunks(chunks: Iterable[Chunk]) -> list[Message]:
    """The static messages of a session from all its chunks."""
    fold = _Fold()
    for chunk in chunks:
        fold.add(chunk)
    return [draft.message() for draft in fold.drafts]


class _Draft:
    """A message that may still grow."""

    def __init__(self, block: str, keys: Message) -> None:
        self.block = block
        self.keys = keys
        self.parts: list[str] = []

    @property
    def of_computer(self) -> bool:
        return bool(self.keys["role"] == "computer")

    @property
    def blank(self) -> bool:
        return self.keys == TEXT_OUTPUT and not any(self.parts)

    def message(self) -> Message:
        return {**self.keys, "content": "".join(self.parts)}


class _Fold:
    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self._current: _Draft | None = None

    def add(self, chunk: Chunk) -> None:
        keys = {key: value for key, value in chunk.items() if key not in _CHUNK_KEYS}
        block = chunk.get("block", "")
        match chunk:
            case {"type": "confirmation" | "status"} | {"format": "active_line"}:
                return
            case {"type": "console", "format": "cleared"}:
                self._clear(block)
            case {"update": True}:
                self._update(keys, chunk["content"])
            case {"start": True}:
                self._current = self._console(block) if chunk["type"] == "console" else self._insert(block, keys)
            case {"content": str(content)}:
                self._grow(block, keys, content, replace=chunk.get("replace", False))
            case {"end": True}:
                if chunk["type"] == "console" and not self._outputs(block):
                    self._insert(block, TEXT_OUTPUT)
                self._current = None

    def _insert(self, block: str, keys: Message) -> _Draft:
        """A new message behind the others of its block; it takes the place of an empty console."""
        draft = _Draft(block, keys)
        places = range(len(self.drafts) - 1, -1, -1) if block else ()
        place = next((index + 1 for index in places if self.drafts[index].block == block), len(self.drafts))
        if draft.of_computer and place and self.drafts[place - 1].block == block and self.drafts[place - 1].blank:
            place -= 1
            del self.drafts[place]
        self.drafts.insert(place, draft)
        return draft

    def _grow(self, block: str, keys: Message, content: str, *, replace: bool) -> None:
        draft = self._current
        if draft is None or (draft.keys != keys and not replace) or (draft.parts and "display_id" in keys):
            draft = self._current = self._insert(block, keys)
        if replace:
            draft.keys = keys
            draft.parts.clear()
        draft.parts.append(content)

    def _console(self, block: str) -> _Draft | None:
        """The text that more output of this block joins."""
        drafts = self._outputs(block)
        return drafts[-1] if drafts and drafts[-1].keys["type"] == "console" else None

    def _outputs(self, block: str) -> list[_Draft]:
        return [draft for draft in self.drafts if draft.block == block and draft.of_computer]

    def _clear(self, block: str) -> None:
        outputs = self._outputs(block)
        self.drafts = [draft for draft in self.drafts if draft not in outputs]
        self._insert(block, TEXT_OUTPUT)
        self._current = None

    def _update(self, keys: Message, content: str) -> None:
        for draft in self.drafts:
            if draft.keys == keys:
                draft.parts = [content]
