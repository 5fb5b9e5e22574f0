"""Removes secrets from text in pieces: a secret may begin in one piece and end in another.

Consecutive pieces are read as one text, and each gets back the rest of its own part. Pieces belong together if their
strand is the same: the answer of a model, a block of the session, one of its streams.
"""

from collections.abc import Iterable, Sequence

import msgspec

from oi_tui.app.engine.core.chat_model import TextDelta, ToolDelta
from oi_tui.app.engine.core.events import OutputTailMoved
from oi_tui.app.engine.log.recording.form import Happening, ModelBegan, ModelSaid, Told
from oi_tui.app.engine.secrets.redaction import LONGEST_VALUE, Redactor, mark
from oi_tui.app.engine.transcript.coalesce import delta_key, delta_text, with_text

Strand = tuple[str | int, ...]


class Strands:
    """Remembers how each strand ended, for what follows later."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._ends: dict[Strand, str] = {}
        self._answers = 0

    def clean(self, pieces: Sequence[Happening]) -> list[Happening]:
        """The same in the same order, without secrets, also those that several of them make up; one event in each."""
        places: dict[Strand, list[int]] = {}
        for place, piece in enumerate(pieces):
            self._answers += isinstance(piece, ModelBegan)
            if (strand := _strand(piece, self._answers)) is not None:
                places.setdefault(strand, []).append(place)
        cleaned, ends = list(pieces), self._ends
        self._ends = {}
        for strand, of_strand in places.items():
            texts = [_text(pieces[place]) for place in of_strand]
            before = ends.get(strand, "")
            for place, text, left in zip(of_strand, texts, self._parts(before, texts), strict=True):
                if left != text:
                    cleaned[place] = _with_text(pieces[place], left)
            self._ends[strand] = (before + "".join(texts))[-LONGEST_VALUE:]
        return cleaned

    def _parts(self, before: str, texts: Iterable[str]) -> list[str]:
        """What is left of each text; a secret that began `before` is named in the first of them."""
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


def _strand(piece: Happening, answer: int) -> Strand | None:
    """The strand of a piece; None if the piece is complete. An end after a gap has none."""
    match piece:
        case ModelSaid(delta=TextDelta()):
            return ("model", answer)
        case ModelSaid(delta=ToolDelta(index=index)):
            return ("call", answer, index)
        case Told(events=(OutputTailMoved() as event,)):
            return None if event.tail.left_out_characters else ("stream", event.block_id, event.name)
        case Told(events=(event,)):
            return delta_key(event)
        case _:
            return None


def _text(piece: Happening) -> str:
    match piece:
        case ModelSaid(delta=TextDelta(text=text)) | ModelSaid(delta=ToolDelta(arguments=text)):
            return text
        case Told(events=(OutputTailMoved(tail=tail),)):
            return tail.text
        case Told(events=(event,)):
            return delta_text(event)
        case _:
            return ""


def _with_text(piece: Happening, text: str) -> Happening:
    replace = msgspec.structs.replace
    match piece:
        case ModelSaid(delta=TextDelta() as delta):
            return replace(piece, delta=replace(delta, text=text))
        case ModelSaid(delta=ToolDelta() as delta):
            return replace(piece, delta=replace(delta, arguments=text))
        case Told(events=(OutputTailMoved() as event,)):
            return replace(piece, events=(replace(event, tail=replace(event.tail, text=text)),))
        case Told(events=(event,)):
            return replace(piece, events=(with_text(event, text),))
        case _:
            return piece
