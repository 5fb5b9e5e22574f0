"""A language model over LiteLLM; the only module that imports it.

LiteLLM takes seconds to import, reads `.env` files, fetches its price list from the network and prints to the
terminal, unless it is told otherwise beforehand: all of that is in `load`. Its retries need a package that it
does not require, so ours are here. What its errors mean is in failures.py.
"""

import asyncio
import gc
import logging
import math
import os
import sys
import threading
import warnings
from collections.abc import AsyncGenerator, Awaitable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any
from uuid import uuid4

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatRequest,
    Delta,
    Retrying,
    TextDelta,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models import messages
from oi_tui.app.engine.models.answer_bounds import asking, hold_to_bounds
from oi_tui.app.engine.models.facts import Facts, look_up, named_provider, price
from oi_tui.app.engine.models.failures import (
    BoundBroken,
    RequestFailure,
    bad_reply,
    cut_off_error,
    failure,
    refusal_error,
)

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for more is not waited for."""
CONNECT_TIMEOUT = 10.0
"""Seconds."""
MOST_TOKENS = 10**9
"""Of one request or answer; more is not possible."""

_log = logging.getLogger(__name__)


class LiteLLMModel:
    """One model by its LiteLLM name, or any name on an OpenAI-compatible server."""

    def __init__(
        self,
        section: ModelSection,
        *,
        api_key: str | None = None,
        environ: Mapping[str, str],
        title: str = "",
        free: bool = False,
        backoff: float = 0.5,
    ) -> None:
        """`title` is the name for the screen, `free` says that it costs nothing, `backoff` is the first wait in s."""
        self._section = section
        self._api_key = api_key
        self._environ = environ
        self._title = title
        self._free = free
        self._backoff = backoff
        self._facts: Facts | None = None

    @property
    def name(self) -> str:
        """Name for the screen."""
        return self._title or self._section.name

    @property
    def context_window(self) -> int | None:
        """Tokens that fit; None if unknown, which it is before `preload`."""
        return self._facts.context_window if self._facts else self._section.context_window

    @property
    def takes_images(self) -> bool:
        """Whether pictures may be sent; what LiteLLM says is known after `preload`."""
        return self._facts.takes_images if self._facts else self._section.images == "on"

    async def preload(self) -> None:
        """Import LiteLLM in a thread and look the model up. Never raises: what is wrong is said when it is asked."""
        try:
            await self._ready()
        except ModelError:
            return

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Ask, again while that may help and nothing has arrived. ModelError when it cannot answer."""
        facts = await self._ready()
        for attempt in range(self._section.retries + 1):
            answer = _Answer(facts)
            try:
                async with aclosing(answer.deltas(self._call(facts, request))) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ModelError:
                raise
            except Exception as error:  # the boundary: LiteLLM raises whatever its providers' clients do
                failed = failure(error, facts.asked, started=answer.started)
                delay = self._delay(failed, attempt, started=answer.started)
                if delay is None:
                    raise failed.error from error
            yield Retrying(delay=delay, why=failed.why)
            await asyncio.sleep(delay)

    async def _ready(self) -> Facts:
        if self._facts is None:
            self._facts = await asyncio.to_thread(self._look_up)
        return self._facts

    def _look_up(self) -> Facts:
        return look_up(load(), self._section, api_key=self._api_key, environ=self._environ, free=self._free)

    def _delay(self, failed: RequestFailure, attempt: int, *, started: bool) -> float | None:
        """Seconds until the next attempt, None if there is none."""
        if started or not failed.passing or attempt == self._section.retries:
            return None
        delay = failed.wait if failed.wait is not None else self._backoff * 2**attempt
        return delay if delay <= LONGEST_WAIT else None

    def _call(self, facts: Facts, request: ChatRequest) -> dict[str, Any]:
        """Arguments of LiteLLM's completion."""
        section = self._section
        tools = facts.takes_tools and bool(request.tools)
        arguments: dict[str, Any] = {
            "model": facts.model,
            "messages": messages.request_messages(request.messages, tools=tools, images=facts.takes_images),
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_retries": 0,
            "api_base": section.api_base or None,
            "api_key": facts.api_key,
            "temperature": section.temperature,
            "max_tokens": section.max_output_tokens,
            "tools": [messages.tool_schema(tool) for tool in request.tools] if tools else None,
        }
        return {name: value for name, value in arguments.items() if value is not None}


class _Answer:
    """One attempt at an answer."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._calls = _Calls()
        self.started = False
        """Whether any part of it arrived, reasoning that is not shown included."""
        whole = facts.asked.answer_timeout
        self._end_of_time = asyncio.get_running_loop().time() + whole if whole else math.inf
        self._deadline = math.inf

    async def deltas(self, call: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """Ask once. Whatever LiteLLM raises comes out; ModelError where it fails to."""
        litellm = load()
        import httpx  # comes with LiteLLM, and costs 0.1 s without it

        timeout = self._facts.asked.timeout
        limits = httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout))
        self._await_content()
        token = asking.set(True)
        try:
            stream = await self._in_time(litellm.acompletion(**call, timeout=limits))
        finally:
            asking.reset(token)
        if stream is None:  # LiteLLM's way to say that the server answered 422 twice
            raise refusal_error(self._facts.asked)
        reason, usage = "", None
        async with aclosing(stream):
            while (chunk := await self._in_time(anext(stream, None))) is not None:
                usage = getattr(chunk, "usage", None) or usage
                if not chunk.choices:
                    continue
                reason = chunk.choices[0].finish_reason or reason
                if reason or _has_content(chunk.choices[0].delta):
                    self._await_content()
                for delta in self._read(chunk.choices[0].delta):
                    yield delta
            whole = _is_complete(stream)
            estimated = not any(getattr(chunk, "usage", None) for chunk in stream.chunks)
        if not whole:
            raise cut_off_error(self._facts.asked) if self.started else bad_reply(self._facts.asked)
        if usage is not None and (usage := _require_possible(usage)) is not None:
            yield _usage(litellm, self._facts, usage, estimated=estimated)
        yield self._end(reason)

    def _read(self, delta: Any) -> Iterator[Delta]:
        self.started = self.started or _has_content(delta)
        if delta.content:
            yield TextDelta(text=delta.content)
        for fragment in delta.tool_calls or ():
            yield self._calls.read(fragment)

    def _await_content(self) -> None:
        """Some of the answer has to come within this time from now on."""
        self._deadline = min(asyncio.get_running_loop().time() + self._facts.asked.content_timeout, self._end_of_time)

    async def _in_time(self, step: Awaitable[Any]) -> Any:
        """What comes of the next step; BoundBroken if none of the answer came in time."""
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                return await step
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_late() from error

    def _too_late(self) -> BoundBroken:
        asked = self._facts.asked
        if self._deadline == self._end_of_time:
            what, name = f"did not come to an end within {asked.answer_timeout:g} s", "answer_timeout"
        else:
            what, name = f"sent nothing of an answer for {asked.content_timeout:g} s", "content_timeout"
        hint = f"Send the message again, or set a longer model.{name}."
        return BoundBroken(what, hint=hint, timed_out=True)

    def _end(self, reason: str) -> AnswerEnded:
        match reason:
            case "length":
                return AnswerEnded(reason="length")
            case "tool_calls" | "function_call":
                return AnswerEnded(reason="tool_calls")
            case "content_filter":
                hint = "Say it in another way, or choose another model."
                raise ModelError("other", "The provider's content filter stopped the answer.", hint=hint)
            case _:
                return AnswerEnded(reason="stop")


class _Calls:
    """Numbers native calls by their order: some providers give each call the index 0, and some give none an id."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[int, int] = {}

    def read(self, fragment: Any) -> ToolDelta:
        """A fragment as a delta; the first of a call carries its id."""
        function, arrived = fragment.function, fragment.id or ""
        number = self._numbers.get(fragment.index)
        first = number is None or bool(arrived and arrived != self._ids[number])
        if number is None or first:
            number = self._numbers[fragment.index] = len(self._ids)
            self._ids.append(arrived or f"call_{uuid4().hex[:12]}")
        return ToolDelta(
            index=number,
            id=self._ids[number] if first else "",
            name=function.name or "" if first else "",
            arguments=function.arguments or "",
        )


async def provider_of(name: str) -> str:
    """The provider that stands in front of the slash; "openai" where none does: any server may have such a name."""
    if "/" not in name:
        return "openai"
    return named_provider(await asyncio.to_thread(load), name) or "openai"


_LOADING = threading.Lock()


def load() -> Any:
    """LiteLLM, imported now if it was not."""
    with _LOADING:  # two sessions may ask at the same moment
        if "litellm" not in sys.modules:
            _prepare()
    try:
        import litellm  # heavy: 2 to 4 s, 190 MB; waits here while another thread imports it
    except ImportError as error:
        hint = "Install oi-tui again."
        raise ModelError("other", "The library LiteLLM cannot be loaded.", hint=hint, details=str(error)) from error
    litellm.suppress_debug_info = True  # it prints to the terminal on errors
    litellm.drop_params = True  # a model without a temperature ignores ours
    return litellm


def _prepare() -> None:
    """Import LiteLLM offline, silently, and without a collection of garbage in the middle."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it is fetched at import
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")  # else fetched with the first request
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else the .env of the working directory is loaded
    collecting = gc.isenabled()
    gc.disable()  # a third of the import is the collector walking over what has just been made
    try:
        with suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations inside LiteLLM and below it are not ours to mend
            with _defer_validators():
                import litellm  # if it cannot be, `load` says so
            _bound_transports()
            import openai.resources  # noqa: F401 - with the lines below, what the first request would stop the loop for

            question = [{"role": "user", "content": ""}]
            for _ in litellm.completion(model="openai/none", messages=question, mock_response="-", stream=True):
                pass
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).handlers = [logging.NullHandler()]  # in place of standard error


def _bound_transports() -> None:
    """Hold all answers to bounds that LiteLLM has none of. Every client that it makes sends by one of these."""
    import httpx  # comes with LiteLLM, which is heavy
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport  # heavy, as all of it

    for transport in (LiteLLMAiohttpTransport, httpx.AsyncHTTPTransport):
        send = hold_to_bounds(transport.handle_async_request, httpx)
        setattr(transport, "handle_async_request", send)  # noqa: B010 - what mypy does not let be assigned


@contextmanager
def _defer_validators() -> Iterator[None]:
    """Let pydantic build the validators of classes that are made meanwhile when they are first needed.

    LiteLLM defines nine hundred, most of them for its proxy: a fifth of its import, and 20 MB, for what is never used.
    """
    from pydantic import BaseModel  # comes with LiteLLM

    BaseModel.model_config["defer_build"] = True  # inherited; another thread's class would only be built later
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]


async def close_connections() -> None:
    """Close what LiteLLM keeps open for further requests; before the event loop ends."""
    # Another thread may be in the middle of its import: nothing was asked then, and nothing is open.
    close = getattr(sys.modules.get("litellm"), "close_litellm_async_clients", None)
    if close is not None:
        await close()


def _is_complete(stream: Any) -> bool:
    """Whether the server said that the answer is whole. LiteLLM itself makes up a good end for a stream that just
    stops, and code that was cut in two must not look whole; where it no longer tells, it is believed."""
    told = [getattr(stream, name, "unknown") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return any(told)


def _has_content(delta: Any) -> bool:
    """Whether any part of an answer is in it, reasoning included."""
    return bool(delta.content or delta.tool_calls or getattr(delta, "reasoning_content", None))


def _require_possible(usage: Any) -> Any:
    """The usage, None if no answer can have used so much, or less than nothing."""
    counts = (usage.prompt_tokens or 0, usage.completion_tokens or 0)
    if all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in counts):
        return usage
    _log.warning("impossible usage was ignored: %.60s and %.60s tokens", *counts)
    return None


def _usage(litellm: Any, facts: Facts, usage: Any, *, estimated: bool) -> AnswerUsage:
    return AnswerUsage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cost=price(litellm, facts, usage),
        estimated=estimated,
    )
