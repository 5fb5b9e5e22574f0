"""A language model over LiteLLM: for the providers that we do not speak to ourselves. The only module that imports it.

LiteLLM takes seconds to import, reads `.env` files, fetches its price list from the network and prints to the terminal,
unless configured before: `load` does all of that. Its retries need a package that it does not require, so ours are in
served_model.py. What its errors mean is in failures.py.
"""

import gc
import logging
import os
import sys
import threading
import warnings
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any

from oi_tui.app.engine.core.chat_model import AnswerUsage, ChatRequest, Delta, TextDelta, ThoughtDelta
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelExtra
from oi_tui.app.engine.models import messages
from oi_tui.app.engine.models.answer_bounds import SentRequest, asking, hold_to_bounds
from oi_tui.app.engine.models.facts import Facts
from oi_tui.app.engine.models.failures import bad_reply, cut_off_error
from oi_tui.app.engine.models.litellm_facts import listed_price, look_up
from oi_tui.app.engine.models.prices import TokenCounts, told_dollars
from oi_tui.app.engine.models.providers import OPENAI, speaks_responses
from oi_tui.app.engine.models.sealed_thoughts import (
    add_thoughts,
    encrypted_items,
    may_think,
    owner_name,
    seal,
    signed_blocks,
    thoughts_by_call,
)
from oi_tui.app.engine.models.served_model import CONNECT_TIMEOUT, Attempt, ServedModel
from oi_tui.app.engine.models.wire import estimate_counts
from oi_tui.app.engine.structured.strict_form import response_format


class LiteLLMModel(ServedModel):
    """One model by its LiteLLM name, or any name on an OpenAI-compatible server."""

    def _look_up(self) -> Facts:
        return look_up(load(), self._section, api_key=self._api_key, environ=self._environ, free=self._free)

    def _begin(self, facts: Facts, request: ChatRequest) -> Attempt:
        return _LiteLLMAttempt(facts, self._call(facts, request), self._owner(facts))

    def _owner(self, facts: Facts) -> str:
        return owner_name(facts.provider, facts.model, self._section.api_base)

    def _call(self, facts: Facts, request: ChatRequest) -> dict[str, Any]:
        """Arguments of LiteLLM's completion."""
        section = self._section
        tools = facts.takes_tools and bool(request.tools)
        spoken = messages.request_messages(request.messages, tools=tools, images=facts.takes_images)
        if facts.provider == "anthropic":
            messages.mark_for_cache(spoken)
        arguments: dict[str, Any] = {
            "model": facts.model,
            "messages": spoken,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_retries": 0,
            "api_base": section.api_base or None,
            "api_key": facts.api_key,
            "temperature": section.temperature,
            "max_tokens": section.max_output_tokens,
            "tools": [messages.tool_schema(tool) for tool in request.tools] if tools else None,
            **_extra_arguments(facts, section.extra),
        }
        if request.schema is not None and facts.takes_schema:
            arguments["response_format"] = response_format(request.schema)
        thoughts = thoughts_by_call(request.messages, self._owner(facts))
        if facts.provider == OPENAI.name and speaks_responses(facts.model.removeprefix("openai/")):
            add_thoughts(spoken, "reasoning_items", thoughts)
            arguments |= {"store": False, "include": ["reasoning.encrypted_content"]}
        elif arguments.get("thinking") or arguments.get("reasoning_effort"):
            add_thoughts(spoken, "thinking_blocks", thoughts)
            if facts.provider == "anthropic" and not may_think(spoken):
                arguments |= {"thinking": None, "reasoning_effort": None}
        return {name: value for name, value in arguments.items() if value is not None}


def _extra_arguments(facts: Facts, extra: ModelExtra) -> dict[str, Any]:
    """What the settings add to each request, as LiteLLM takes it; ModelError for what LiteLLM would take for itself."""
    budget = extra.thinking_budget
    arguments: dict[str, Any] = {
        "reasoning_effort": extra.reasoning_effort or None,
        "thinking": None if budget is None else {"type": "enabled", "budget_tokens": budget},
        "top_p": extra.top_p,
        "seed": extra.seed,
        "extra_headers": dict(facts.headers) or None,
    }
    if facts.provider != "anthropic":
        return arguments | {"extra_body": extra.body or None}
    from litellm.types.utils import all_litellm_params  # heavy, as all of it

    # It has no other way into the body of a request to Anthropic than as an argument.
    if taken := sorted(set(extra.body) & {*all_litellm_params, *_OTHER_ARGUMENTS}):
        title = f"model.extra.body.{taken[0]} cannot be set for this provider."
        raise ModelError("bad_request", title, hint="Remove it from the settings.")
    return arguments | extra.body


_OTHER_ARGUMENTS = ("timeout", "functions", "function_call", "parallel_tool_calls", "response_format", "tool_choice")


class _LiteLLMAttempt(Attempt):
    def __init__(self, facts: Facts, call: dict[str, Any], owner: str) -> None:
        super().__init__(facts)
        self._call = call
        self._owner = owner
        self._sealed: list[messages.JsonObject] = []

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Ask once. Whatever LiteLLM raises comes out; ModelError where it fails to."""
        litellm = load()
        import httpx  # comes with LiteLLM, and costs 0.1 s without it

        silence = self._facts.asked.timeout
        limits = httpx.Timeout(silence, connect=min(CONNECT_TIMEOUT, silence))
        sent = SentRequest(timeouts=limits.as_dict())
        self._await_content()
        with _sending(sent):
            stream = await self._in_time(litellm.acompletion(**self._call, timeout=limits))
        reason, usage = "", None
        async with aclosing(stream):
            while True:
                with _sending(sent):  # Gemini's is sent with the first step only
                    chunk = await self._in_time(anext(stream, None))
                if chunk is None:
                    break
                usage = getattr(chunk, "usage", None) or usage
                if not chunk.choices:
                    continue
                reason = chunk.choices[0].finish_reason or reason
                if reason or _has_content(chunk.choices[0].delta):
                    self._await_content()
                for delta in self._read(chunk.choices[0].delta):
                    yield delta
            whole = _is_complete(stream) if sent.gemini_ended is None else sent.gemini_ended
            reported = [found for chunk in stream.chunks if (found := getattr(chunk, "usage", None))]
        if not whole:
            raise cut_off_error(self._facts.asked) if self.started else bad_reply(self._facts.asked)
        for sealed in seal(self._owner, self._sealed if self._calls.some else ()):
            yield sealed
        if usage is not None:
            listed = listed_price(litellm, self._facts, usage) or told_dollars(getattr(usage, "cost", None))
            counts = _counts(usage, getattr(reported[-1], "cost", None) if reported else None)
            if (told := self._usage(counts, listed=listed, estimated=not reported)) is not None:
                yield told
        yield self._end(reason)

    def estimate_usage(self, request: ChatRequest) -> AnswerUsage | None:
        """The usage with the price of LiteLLM's list."""
        if self._is_counted or not self.started:
            return None
        litellm, counts = load(), estimate_counts(request, self._written)
        usage = litellm.Usage(prompt_tokens=counts.input_tokens, completion_tokens=counts.output_tokens)
        return self._usage(counts, listed=listed_price(litellm, self._facts, usage), estimated=True)

    def _read(self, delta: Any) -> Iterator[Delta]:
        self.started = self.started or _has_content(delta)
        self._written += len((delta.content or "").encode())
        if thought := getattr(delta, "reasoning_content", None):
            self._written += len(thought.encode())
            yield ThoughtDelta(text=thought)
        self._sealed += signed_blocks(delta) or encrypted_items(delta)
        if delta.content:
            yield TextDelta(text=delta.content)
        for call in delta.tool_calls or ():
            function = call.function
            self._written += len((function.arguments or "").encode())
            yield self._calls.read(call.index, call.id or "", function.name or "", function.arguments or "")


@contextmanager
def _sending(sent: SentRequest) -> Iterator[None]:
    """Whatever is sent meanwhile is this request. Not across a `yield` to others, who have a context of their own."""
    token = asking.set(sent)
    try:
        yield
    finally:
        asking.reset(token)


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
    warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of OpenAI's responses, to the terminal
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
            warnings.simplefilter("ignore")  # deprecations inside LiteLLM and below it are not ours to fix
            with _defer_validators():
                import litellm  # if it cannot be, `load` says so
            for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
                logging.getLogger(name).handlers = [logging.NullHandler()]  # instead of standard error
                logging.getLogger(name).setLevel(logging.WARNING)
            _bound_transports()
            import openai.resources  # noqa: F401 - with the lines below, what the first request would stop the loop for

            question = [{"role": "user", "content": ""}]
            for _ in litellm.completion(model="openai/none", messages=question, mock_response="-", stream=True):
                pass
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


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
    stops, and code that was cut in two must not look whole; where it has no such information, it is trusted."""
    told = [getattr(stream, name, "unknown") for name in ("received_finish_reason", "intermittent_finish_reason")]
    return any(told)


def _has_content(delta: Any) -> bool:
    """Whether any part of an answer is in it, reasoning included."""
    return bool(delta.content or delta.tool_calls or getattr(delta, "reasoning_content", None))


def _counts(usage: Any, cost: object) -> TokenCounts:
    """`cost` is the provider's word; that of `usage` may be LiteLLM's own reckoning."""
    thought = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return TokenCounts(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached=cached if isinstance(cached, int) else 0,
        reasoning=thought if isinstance(thought, int) else 0,
        cost=told_dollars(cost),
    )
