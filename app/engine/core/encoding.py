"""Text and values as bytes. Half of a surrogate pair cannot be encoded in UTF-8, but must not raise here.

Such text comes from servers, kernels, file names and exceptions. Most of it is cleaned where it comes in; the rest is
replaced here, so that a session can always be saved and shown.
"""

import re
from typing import Any

import msgspec

_HALF = "[\ud800-\udfff]"  # compiled on first use, as are the patterns below
_encoder = msgspec.json.Encoder()

_TOML_NESTED = 100
"""Brackets within brackets of a file in TOML; its reader goes down as deep as they do."""
_TOML_DOTTED = rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{_TOML_NESTED}}}"
"""A key with this many parts: its reader needs quadratic time for them."""
_TOML_TOKEN = r"(?s)\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[\[\]{}]"


def expressible(text: str) -> str:
    """The text with every lone surrogate replaced; a surrogate pair becomes its character."""
    if text.isascii() or re.search(_HALF, text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode_toml(text: str) -> dict[str, Any]:
    """The values of a text in TOML; ValueError if it is none, or nested too deeply to be one."""
    if not text:
        return {}  # as of an administrator's file that is not there: nothing to read, at every start
    import tomllib  # with the patterns above: the first frame does without

    depth = 0
    for token in re.findall(_TOML_TOKEN, text):
        depth += (token in "[{") - (token in "]}") if len(token) == 1 else 0
        if depth > _TOML_NESTED:
            raise tomllib.TOMLDecodeError(f"more than {_TOML_NESTED} brackets within brackets")
    if re.search(_TOML_DOTTED, re.sub(_TOML_TOKEN, _without_content, text)):
        raise tomllib.TOMLDecodeError(f"more than {_TOML_NESTED} parts of one key")
    return tomllib.loads(text)


def _without_content(token: re.Match[str]) -> str:
    return "k" if token[0][0] in "\"'" else " "


def text_digest(text: str) -> str:
    """Its SHA-256 in hexadecimal: texts that differ in anything have different ones."""
    import hashlib  # importing the library here would cost the first frame milliseconds

    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def as_json(value: Any) -> bytes:
    """One line of JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_repair(msgspec.to_builtins(value)))


def _repair(value: Any) -> Any:
    match value:
        case str():
            return expressible(value)
        case dict():
            return {_repair(key): _repair(content) for key, content in value.items()}
        case list() | tuple():
            return [_repair(content) for content in value]
        case _:
            return value


def decode_arguments(source: str) -> dict[str, Any]:
    """The arguments of a call; ValueError if the source is no JSON object."""
    try:
        return msgspec.json.decode(source, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not a JSON object: {error}") from error
