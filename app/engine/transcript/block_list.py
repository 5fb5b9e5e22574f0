"""The blocks of a long session in a quarter of the memory: older ones are compressed, and read when somebody looks."""

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import overload

import msgspec

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.transcript.open_blocks import settle_block

CHUNK = 256
"""Blocks that are compressed together."""

LOOSE = 1_024
"""Newest blocks, which are never compressed: most events and most looks are about these."""

LARGEST = 1_000_000
"""Bytes of a chunk; a larger one (pictures) stays as it is, because reading it would delay a key."""

KEPT = 4
"""Chunks that were read last and are kept readable."""

Chunk = list[Block] | bytes
"""Blocks, or the same compressed."""


class BlockList(Sequence[Block]):
    """A list that can compress its first blocks. Blocks read from a chunk are equal each time, not always identical."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        if isinstance(blocks, BlockList):  # what is compressed is shared
            self._chunks: list[Chunk] = [
                chunk if isinstance(chunk, bytes) else chunk.copy() for chunk in blocks._chunks
            ]
        else:
            self._chunks = [list(blocks[start : start + CHUNK]) for start in range(0, len(blocks), CHUNK)]
        self._count = len(blocks)
        self._read: dict[int, list[Block]] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._count))]
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(index)
        return self._chunk(number // CHUNK)[number % CHUNK]

    def __setitem__(self, index: int, block: Block) -> None:
        number = index + self._count if index < 0 else index
        chunk = self._chunk(number // CHUNK)
        chunk[number % CHUNK] = block
        self._chunks[number // CHUNK] = chunk  # no longer compressed
        self._read.pop(number // CHUNK, None)

    def __iter__(self) -> Iterator[Block]:
        return chain.from_iterable(map(_blocks_of, self._chunks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockList | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by content

    def append(self, block: Block) -> None:
        """One more block at the end."""
        last = self._chunks[-1] if self._chunks else b""
        if isinstance(last, bytes) or len(last) == CHUNK:
            self._chunks.append([block])
        else:
            last.append(block)
        self._count += 1

    def pack(self) -> int:
        """Compress the first blocks, up to one that is not at rest; returns how many are at rest."""
        for number in range(max(0, self._count - LOOSE) // CHUNK):
            chunk = self._chunks[number]
            if isinstance(chunk, bytes):
                continue
            if not all(map(_is_at_rest, chunk)):
                return number * CHUNK
            self._chunks[number] = _compress(chunk)
        return max(0, self._count - LOOSE) // CHUNK * CHUNK

    def _chunk(self, number: int) -> list[Block]:
        chunk = self._chunks[number]
        if not isinstance(chunk, bytes):
            return chunk
        blocks = self._read.pop(number, None) or _blocks_of(chunk)
        self._read[number] = blocks  # the last one read is the last one to go
        if len(self._read) > KEPT:
            del self._read[next(iter(self._read))]
        return blocks


def _is_at_rest(block: Block) -> bool:
    return settle_block(block, "program", ()) is block and not (isinstance(block, CodeBlock) and block.rerun)


def _compress(chunk: list[Block]) -> Chunk:
    try:
        encoded = msgspec.msgpack.encode(chunk)
    except UnicodeEncodeError:  # a lone surrogate
        return chunk
    return chunk if len(encoded) > LARGEST else zlib.compress(encoded, 1)


def _blocks_of(chunk: Chunk) -> list[Block]:
    return _decoder().decode(zlib.decompress(chunk)) if isinstance(chunk, bytes) else chunk


@cache
def _decoder() -> msgspec.msgpack.Decoder[list[Block]]:
    return msgspec.msgpack.Decoder(list[Block])
