"""Text that came in pieces, without its secrets: one may begin in a piece and end in another.

Pieces that follow each other are looked at as one text, and each gets back what is left of its own part. Which pieces
those are is told by their strand: the answer of a model, one stream of a kernel, a block that a front end was told of.
"""

from collections.abc import Iterable, Sequence

import msgspec

from oi_tui.app.engine.core.chat_model import Delta, TextDelta, ToolDelta
from oi_tui.app.engine.core.events import AnyEvent, CodeGrew, OutputAdded, OutputTailMoved, ProseGrew
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.secrets.redaction import LONGEST_VALUE, Redactor, mark

StreamItem = Delta | AnyEvent | RunResult
StreamKey = tuple[str | int, ...]


class Strands:
    """Remembers how each strand ended, for what follows later."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._ends: dict[StreamKey, str] = {}
        self._era = 0

    def cleaned(self, pieces: Sequence[StreamItem | None]) -> list[StreamItem | None]:
        """The same pieces in the same order, without secrets, also those that several of them make up.

        None stands where another answer or another run begins.
        """
        places: dict[StreamKey, list[int]] = {}
        for place, piece in enumerate(pieces):
            self._era += piece is None
            if (key := _key(piece, self._era)) is not None:
                places.setdefault(key, []).append(place)
        cleaned = list(pieces)
        for key, of_strand in places.items():
            texts = self._parts(self._ends.get(key, ""), [_text(pieces[place]) for place in of_strand])
            for place, text in zip(of_strand, texts, strict=True):
                if text != _text(pieces[place]):
                    cleaned[place] = _with_text(pieces[place], text)
        self._ends = {
            key: (self._ends.get(key, "") + "".join(_text(pieces[place]) for place in of_strand))[-LONGEST_VALUE:]
            for key, of_strand in places.items()
        }
        return cleaned

    def _parts(self, before: str, texts: Iterable[str]) -> list[str]:
        """What is left of each text; a secret that began `before` is named in the first of them."""
        texts = list(texts)
        whole = before + "".join(texts)
        secrets = self._redactor.places(whole)
        parts: list[str] = []
        number, start = 0, len(before)
        for text in texts:
            end, at, left = start + len(text), start, ""
            while number < len(secrets) and secrets[number].start < end:
                secret = secrets[number]
                if secret.end > start:
                    left += whole[at : max(at, secret.start)]
                    left += mark(secret.name) if secret.start >= start or start == len(before) else ""
                    at = min(end, secret.end)
                if secret.end > end:
                    break
                number += 1
            parts.append(left + whole[at:end])
            start = end
        return parts


def _key(piece: StreamItem | None, era: int) -> StreamKey | None:
    """What the piece goes on with; None for what is whole. An end with a gap before it goes on with nothing."""
    match piece:
        case TextDelta():
            return ("model", era)
        case ToolDelta():
            return ("call", era, piece.index)
        case ProseGrew() | CodeGrew():
            return ("block", piece.block_id)
        case OutputAdded(output=StreamOutput(name=name)):
            return ("output", piece.block_id, name) if piece.block_id else ("kernel", era, name)
        case OutputTailMoved(name=name) if not piece.tail.left_out_characters:
            return ("output", piece.block_id, name) if piece.block_id else ("kernel", era, name)
        case _:
            return None


def _text(piece: StreamItem | None) -> str:
    match piece:
        case TextDelta() | ProseGrew() | CodeGrew():
            return piece.text
        case ToolDelta():
            return piece.arguments
        case OutputAdded(output=StreamOutput(text=text)):
            return text
        case OutputTailMoved():
            return piece.tail.text
        case _:
            return ""


def _with_text(piece: StreamItem | None, text: str) -> StreamItem | None:
    replace = msgspec.structs.replace
    match piece:
        case ToolDelta():
            return replace(piece, arguments=text)
        case OutputAdded(output=StreamOutput() as output):
            return replace(piece, output=replace(output, text=text))
        case OutputTailMoved():
            return replace(piece, tail=replace(piece.tail, text=text))
        case TextDelta() | ProseGrew() | CodeGrew():
            return replace(piece, text=text)
        case _:
            return piece
