"""What went wrong with a request to a model, in plain words.

LiteLLM's own classes cannot be trusted: a refused connection and a missing key both come as
`InternalServerError`, status 500. So the whole chain of causes is read, by class names and status codes, which
also keeps LiteLLM and aiohttp out of the imports here. The errors of our own client have classes here.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.models.hosted import provider_title
from oi_tui.app.engine.models.refused_lengths import TOO_LONG, tokens_allowed
from oi_tui.app.engine.models.retry_after import retry_after

DETAILS_LIMIT = 2000
"""Characters of the server's own message that are kept."""

_TIMEOUTS = {"Timeout", "APITimeoutError", "ReadTimeout", "WriteTimeout", "SocketTimeoutError", "TimeoutError"}
_NO_CONNECTION = {
    *("ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"),
    "ConnectionTimeoutError",
}
_BAD_ADDRESS = {"InvalidURL", "UnsupportedProtocol", "gaierror"}
_BROKEN = {
    *("ReadError", "RemoteProtocolError", "ClientPayloadError", "ServerDisconnectedError", "ConnectionResetError"),
    "ClientOSError",
}
_UNREADABLE = {
    *("JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"),
    *("BadStatusLine", "InvalidHeader", "LineTooLong", "UnreadableAnswer"),
}
_HTTP_ERRORS = {"HTTPStatusError", "APIStatusError", "RefusedStatus"}

_PREFIXES = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout): |\w+Exception - )+")
_NO_KEY = re.compile(r"missing credentials|api_key client option must be set|no api[ _]key", re.I)
_WRONG_KEY = re.compile(r"api key not valid|(incorrect|invalid) api[ _-]key", re.I)
_NO_MODEL = re.compile(r"model\b.{0,80}(not found|not exist|unknown)|(invalid|unknown|no such) model", re.I)
_NO_MONEY = re.compile(r"insufficient_quota|insufficient (balance|credits)|credit balance is too low", re.I)
_QUOTA = re.compile(r"exceeded your current quota", re.I)
"""OpenAI's words for an account without money, and Gemini's for too many requests, which says how long to wait."""
_NO_TOOLS = re.compile(
    r"support(ing|s)? (tool|function)|(tool|function).{0,40}not.{0,10}support|tool choice requires", re.I
)
"""Words of servers whose model takes no native calls, though it should by what is known of it."""
_NO_SCHEMA = re.compile(r"response_format|json_schema|schema|structured output|guided|grammar", re.I)
"""Words of servers that take no schema, or not this one; looked at only where one was sent."""
_REFUSALS = (400, 404, 405, 422, 500, 501)
_OTHER_WIRES = ("anthropic", "gemini", "ollama")

MESSAGE_LIMIT = 20_000
"""Characters of a server's message that are searched."""


class BoundBroken(Exception):
    """A server sent what it must not; the words continue "the server ..."."""

    def __init__(self, what: str, *, hint: str = "", timed_out: bool = False) -> None:
        super().__init__(what)
        self.hint = hint
        self.timed_out = timed_out


class ReportedError(Exception):
    """A server that reports an error within its answer; `body` is what it says, `message` and `code` in it if there."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("message") or ""))
        self.body = body
        self.status_code = 500
        """What is meant by an error without a status of its own."""


class RefusedStatus(ReportedError):
    """A server that answered with an error status."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: str) -> None:
        super().__init__(body)
        self.status_code = status
        self.headers = {"retry-after": retry_after}


class UnreadableAnswer(Exception):
    """An answer that is none; the words say what came instead."""


def shown_address(url: str) -> str:
    """An address without what may be secret in it: name, password and query."""
    scheme, separator, rest = url.partition("?")[0].partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


class ModelEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Who was asked, for the words of an error."""

    model: str
    url: str = ""
    """Of the server; empty when it is the provider's own."""
    provider: str = ""
    keyless: bool = False
    """No key was sent, because the server is on this machine and none was given for it."""
    timeout: float = 0.0
    """Seconds without a byte."""
    content_timeout: float = math.inf
    """Seconds without any part of an answer."""
    answer_timeout: float = 0.0
    """Seconds for a whole answer, 0 without limit."""
    key_names: tuple[str, ...] = ()
    """Variables of the environment that a key is looked for in."""
    secrets: tuple[str, ...] = ()
    """What must not be in any message."""

    def __repr__(self) -> str:
        return f"Asked({self.model!r})"

    @property
    def server(self) -> str:
        """The server in words."""
        return shown_address(self.url) or f"the provider {self.provider}"

    @property
    def host(self) -> str:
        """The server by its name alone."""
        if self.url:
            return urlsplit(self.url).netloc.rpartition("@")[2] or self.url
        return provider_title(self.provider) or self.model


class RequestFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed request: the error, and whether and when it may be sent again."""

    error: ModelError
    passing: bool = False
    """Worth another try, provided that nothing arrived."""
    why: str = ""
    """In two or three words, for a line with little room."""
    wait: float | None = None
    """Seconds that the server asks to wait."""


def failure(error: Exception, asked: ModelEndpoint, *, started: bool) -> RequestFailure:
    """What an exception out of a client means; `started` when a part of the answer had arrived."""
    chain = list(_chain(error))
    broken = next((link for link in chain if isinstance(link, BoundBroken)), None)
    if broken is not None:
        return RequestFailure(error=broken_bound_error(broken, asked))
    names = {base.__name__ for link in chain for base in type(link).__mro__}
    said = _server_message(chain)
    details = redact_keys(said, asked.secrets)
    if (status := _http_status(chain)) is not None:
        failed = _from_status(status, chain, said, details, asked)
        failed.error.refuses_tools = status in _REFUSALS and _NO_TOOLS.search(said) is not None
        failed.error.refuses_schema = status in _REFUSALS and _NO_SCHEMA.search(said) is not None
        return failed
    if "ContextWindowExceededError" in names or TOO_LONG.search(said):
        return RequestFailure(error=_too_long(asked, details))
    if _NO_KEY.search(said):
        return RequestFailure(error=no_key(asked, details))
    if names & _NO_CONNECTION or names & _BAD_ADDRESS:
        return _unreachable(names, asked, details)
    if names & _TIMEOUTS:
        title = f"{_capital(asked.server)} sent nothing for {asked.timeout:g} s."
        hint = "Send the message again, or set a longer model.timeout."
        return RequestFailure(error=ModelError("timeout", title, hint=hint, details=details))
    if names & _UNREADABLE:
        return RequestFailure(error=bad_reply(asked, details, started=started))
    if names & _BROKEN:
        return RequestFailure(error=cut_off_error(asked, details), passing=not started, why="connection lost")
    return _from_words(chain, said, details, asked, started)


def broken_bound_error(broken: BoundBroken, asked: ModelEndpoint) -> ModelError:
    """The server was not listened to any longer."""
    hint = broken.hint or "What had arrived is kept. Send the message again, or choose another model."
    title = f"{_capital(asked.server)} {redact_keys(str(broken), asked.secrets)}."
    return ModelError("timeout" if broken.timed_out else "bad_reply", title, hint=hint)


def no_key(asked: ModelEndpoint, details: str = "") -> ModelError:
    """No key was given for a provider that wants one."""
    names = " or ".join(asked.key_names)
    hint = "Give one with /model or --api-key."
    if names:
        hint = f"Set {names} in the environment, or give a key with /model or --api-key."
    return ModelError("no_key", f"No API key for {asked.host}.", hint=hint, details=details)


def cut_off_error(asked: ModelEndpoint, details: str = "") -> ModelError:
    """The connection was lost in the middle of an answer."""
    title = f"Connection to {asked.host} lost; what had arrived is kept."
    return ModelError("cut", title, hint="Try again, or ask it to continue.", details=details)


def bad_reply(asked: ModelEndpoint, details: str = "", *, started: bool = False) -> ModelError:
    """The server speaks something else; `started` when a part of the answer could be read."""
    title = f"{_capital(asked.server)} answered with something that cannot be read."
    hint = "Send the message again."
    if started:
        hint = "What had arrived is kept. Send the message again, or choose another model."
    elif asked.url and asked.provider in _OTHER_WIRES:
        hint = f"Check that the address is that of {provider_title(asked.provider)}'s API."
    elif asked.url:
        hint = "Check that the address is that of an OpenAI-compatible API; it usually ends in /v1."
    return ModelError("bad_reply", title, hint=hint, details=details)


def _refusal(asked: ModelEndpoint, details: str = "") -> ModelError:
    """The server found something wrong with the request."""
    hint = "The details, where there are any, say what it did not like. Another model may take it."
    return ModelError("bad_request", f"{_capital(asked.server)} refused the request.", hint=hint, details=details)


def unknown_provider(name: str) -> ModelError:
    """The provider of this name is unknown."""
    hint = "Write PROVIDER/NAME, for example openai/gpt-5, or give the server's address with /model or --api-base."
    return ModelError("unknown_model", f"No provider is known for the model “{name}”.", hint=hint)


def needs_litellm(name: str) -> ModelError:
    """Only LiteLLM can ask this model, and it was left out."""
    ways = "`pip install litellm`, `pipx inject oi-tui litellm` or `uv tool install --with litellm oi-tui`"
    hint = f"Install it where oi-tui is: {ways}."
    if "/" not in name:
        hint += f" If the model is OpenAI's, write openai/{name}."
    return ModelError("unknown_model", f"“{name}” needs LiteLLM, which is not installed.", hint=hint)


def redact_keys(text: str, secrets: Sequence[str]) -> str:
    """The text without keys, and not longer than a screen can use."""
    for secret in secrets:
        text = text.replace(secret, "•••")
    return text if len(text) <= DETAILS_LIMIT else text[:DETAILS_LIMIT] + "…"


def _from_status(
    status: int, chain: Sequence[BaseException], said: str, details: str, asked: ModelEndpoint
) -> RequestFailure:
    """A server that answered with an error status."""
    server, model = _capital(asked.server), asked.model
    match status:
        case 402:
            return RequestFailure(error=_no_money(asked, details))
        case 400 | 429 if _NO_MONEY.search(said):
            return RequestFailure(error=_no_money(asked, details))
        case 429:
            wait = retry_after(chain)
            if wait is None and _QUOTA.search(said):
                return RequestFailure(error=_no_money(asked, details))
            hint = "Retry in a moment." if wait is None else f"Retry in {max(1, wait):.0f} s."
            error = ModelError("rate_limited", f"Rate limit reached at {asked.host}.", hint=hint, details=details)
            error.wait = wait or 0.0
            return RequestFailure(error=error, passing=True, why="rate limit", wait=wait)
        case 413:
            return RequestFailure(error=_too_long(asked, details))
        case 400 | 422 | 500 if TOO_LONG.search(said):
            return RequestFailure(error=_too_long(asked, details))
        case _ if status >= 500:
            title = f"{server} failed with status {status}."
            error = ModelError("server", title, hint="Try again later.", details=details)
            error.wait = retry_after(chain) or 0.0
            return RequestFailure(error=error, passing=True, why=f"server error {status}", wait=retry_after(chain))
        case 401 | 403:
            return RequestFailure(error=_wrong_key(asked, details))
        case 408:
            error = ModelError("timeout", f"{server} gave up waiting.", hint="Send it again.", details=details)
            return RequestFailure(error=error)
        case 400 if _WRONG_KEY.search(said):
            return RequestFailure(error=_wrong_key(asked, details))
        case 404:
            return RequestFailure(error=_unknown_model(asked, details))
        case 400 if _NO_MODEL.search(said):
            return RequestFailure(error=_unknown_model(asked, details))
        case 400 | 422:
            return RequestFailure(error=_refusal(asked, details))
        case _:
            title = f"{server} answered with status {status} to a request for {model}."
            return RequestFailure(error=ModelError("other", title, hint="The details may say more.", details=details))


def _from_words(
    chain: Sequence[BaseException], said: str, details: str, asked: ModelEndpoint, started: bool
) -> RequestFailure:
    """An error inside the stream, or one that LiteLLM raised by itself."""
    if _NO_MONEY.search(said) or _QUOTA.search(said):
        return RequestFailure(error=_no_money(asked, details))
    codes = [getattr(link, "status_code", None) for link in chain]
    status = next((code for code in codes if isinstance(code, int)), 0)
    if status in (400, 401, 403, 404, 422):
        return _from_status(status, chain, said, details, asked)
    title = f"{_capital(asked.server)} ended the answer with an error." if started else "The model could not answer."
    hint = "Send the message again; the details say what the server reported."
    if status < 500:
        return RequestFailure(error=ModelError("other", title, hint=hint, details=details))
    error = ModelError("server", title, hint=hint, details=details)
    return RequestFailure(error=error, passing=not started, why="server error")


def _unreachable(names: set[str], asked: ModelEndpoint, details: str) -> RequestFailure:
    wrong = bool(names & _BAD_ADDRESS)
    title = f"{_capital(asked.server)} cannot be reached."
    if wrong:
        hint = "Check the address." if asked.url else "Check the network connection."
    else:
        hint = "Start the server, or check the address." if asked.url else "Check the network connection."
    error = ModelError("unreachable", title, hint=hint, details=details)
    return RequestFailure(error=error, passing=not wrong, why="server unreachable")


def _wrong_key(asked: ModelEndpoint, details: str) -> ModelError:
    hint = "Check the key, or give another one with /model or --api-key."
    if asked.keyless:
        hint = "Give one with /model or --api-key: keys of the environment are not sent to servers on this machine."
    return ModelError("wrong_key", f"Invalid API key for {asked.host}.", hint=hint, details=details)


def _unknown_model(asked: ModelEndpoint, details: str) -> ModelError:
    title = f"{_capital(asked.server)} does not know the model {asked.model}."
    if asked.provider == "ollama":
        hint = f"`ollama pull {asked.model.partition('/')[2]}` gets it; /model lists what is there."
        return ModelError("unknown_model", title, hint=hint, details=details)
    hint = "Check the name with /model"
    address = ", and the address." if asked.provider in _OTHER_WIRES else ", and the address: it usually ends in /v1."
    hint += address if asked.url else "; not every key may use every model."
    return ModelError("unknown_model", title, hint=hint, details=details)


def _too_long(asked: ModelEndpoint, details: str) -> ModelError:
    title = f"The conversation is longer than {asked.model} can read."
    hint = "/compact summarises it, /context shows what takes the room; or choose a larger model."
    error = ModelError("context_too_long", title, hint=hint, details=details)
    error.tokens_allowed = tokens_allowed(details)
    return error


def _no_money(asked: ModelEndpoint, details: str) -> ModelError:
    title = f"The account at {asked.server} has no credit left."
    return ModelError("rate_limited", title, hint="Add credit there, or choose another model.", details=details)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, outermost first."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop(0)
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [getattr(link, "original_exception", None), link.__cause__, link.__context__]


def _http_status(chain: Sequence[BaseException]) -> int | None:
    """Status of a true HTTP answer, or the one that an error inside a stream tells; LiteLLM invents all others."""
    for link in chain:
        body = getattr(link, "body", None)
        code = body.get("code") if isinstance(body, Mapping) else None
        if isinstance(code, int) and 400 <= code < 600:
            return code
        if {base.__name__ for base in type(link).__mro__[:3]} & _HTTP_ERRORS and "litellm" not in type(link).__module__:
            status = getattr(link, "status_code", None) or getattr(getattr(link, "response", None), "status_code", None)
            if isinstance(status, int) and status >= 400:
                return status
    return None


def _server_message(chain: Sequence[BaseException]) -> str:
    """The server's message, as far as it can be found and within the limit, without class names in front."""
    for link in chain:
        body: Any = getattr(link, "body", None)
        message = body.get("message") if isinstance(body, Mapping) else None
        if isinstance(message, str) and message:
            code = body.get("code") or body.get("type") or ""
            message = message[:MESSAGE_LIMIT]
            return f"{message} ({str(code)[:100]})" if code else message
    text = _PREFIXES.sub("", str(chain[0])[:MESSAGE_LIMIT]).partition(" Original exception: ")[0].strip()
    if text in ("", "Connection error."):
        return str(chain[-1])[:MESSAGE_LIMIT] or type(chain[-1]).__name__
    return text


def _capital(text: str) -> str:
    return f"T{text[1:]}" if text.startswith("the ") else text
