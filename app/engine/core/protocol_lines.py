"""The lines of the protocol: one JSON object each."""

from functools import cache

import msgspec

from oi_tui.app.engine.core.encoding import as_json
from oi_tui.app.engine.core.protocol import Reply, Request


@cache
def _requests() -> msgspec.json.Decoder[Request]:
    """Made when the first line comes: it takes some milliseconds, and a screen shows itself before."""
    return msgspec.json.Decoder(Request)


@cache
def _replies() -> msgspec.json.Decoder[Reply]:
    return msgspec.json.Decoder(Reply)


class ProtocolError(Exception):
    """A line that is not of this protocol."""


def encode_message(message: Request | Reply) -> bytes:
    """One line, newline included."""
    return as_json(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Decode a message of a front end; ProtocolError if it is not one of ours."""
    try:
        return _requests().decode(line)
    except msgspec.DecodeError as error:
        raise ProtocolError(str(error)) from error


def decode_reply(line: bytes) -> Reply:
    """Decode a reply of the engine; ProtocolError if it is not one of ours."""
    try:
        return _replies().decode(line)
    except msgspec.DecodeError as error:
        raise ProtocolError(str(error)) from error
