"""What servers say of a request that is too long: that it is, and how much they take."""

import re

TOO_LONG = re.compile(
    r"context[ _](length|window|size)|prompt is too long|too many (input )?tokens|token count .{0,40}exceeds", re.I
)

_NUMBER = r"\D{0,12}?(\d[\d,]{2,11})"
_ALLOWED = (
    r"maximum (?:context|input|prompt|model) (?:length|size|window)(?: is| of|:)?" + _NUMBER,  # OpenAI, vLLM, Mistral
    r"tokens? > (\d[\d,]{2,11}) maximum",  # Anthropic
    r"maximum number of (?:input )?tokens allowed" + _NUMBER,  # Gemini
    r"n_ctx\W{1,6}(\d{3,9})",  # llama.cpp
    r"(?:context|window) (?:length|size|window|limit)(?: is| of|:)?" + _NUMBER,
    r"(?:limit|maximum)(?: is| of|:)" + _NUMBER,
)


def tokens_allowed(said: str) -> int:
    """The tokens that the server takes, 0 where it does not say."""
    for pattern in _ALLOWED:
        if found := re.search(pattern, said, re.IGNORECASE):
            return int(found[1].replace(",", ""))
    return 0
