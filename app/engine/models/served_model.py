"""What all models behind a server have in common: patience, deadlines, the numbers of calls, and how an answer ends."""

import asyncio
import logging
import math
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing, suppress
from typing import TypeVar
from uuid import uuid4

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerForm,
    AnswerUsage,
    ChatRequest,
    Delta,
    Retrying,
    ToolDelta,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.core.settings import ModelSection
from oi_tui.app.engine.models.facts import Facts
from oi_tui.app.engine.models.failures import BoundBroken, RequestFailure, failure
from oi_tui.app.engine.models.prices import TokenCounts
from oi_tui.app.engine.models.wire import estimate_counts

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for more is not waited for."""
CONNECT_TIMEOUT = 10.0
"""Seconds."""
MOST_TOKENS = 10**9
"""Of one request or answer; more is not possible."""

_SIGNS = re.compile(r'\\.?|["{}]', re.DOTALL)
"""What tells where a JSON object ends; a backslash goes with its letter."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ServedModel(ABC):
    """One model behind a server; what is sent and read is up to its client."""

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
        self._unreported: AnswerUsage | None = None
        self._refuses_schema = False
        """Whether its server answered a request with a schema by a refusal of that."""
        self._hurry = asyncio.Event()
        """Set to make the next attempt at once."""
        self.obstacle: ModelError | None = None
        """Why it cannot be asked, as far as `preload` could tell."""

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
        """Whether pictures may be sent; what lists say of it is known after `preload`."""
        return self._facts.takes_images if self._facts else self._section.images == "on"

    @property
    def tells_price(self) -> bool:
        """Whether what an answer costs will be known; True before `preload`, and if that failed: asking fails too."""
        return self._facts.tells_price if self._facts else True

    @property
    def answer_forms(self) -> tuple[AnswerForm, ...]:
        """How it can be held to a schema, as far as lists and its server say; known after `preload`."""
        schema = self._facts is None or self._facts.takes_schema
        forms: list[AnswerForm] = ["schema"] if schema and not self._refuses_schema else []
        if self._facts is not None and self._facts.takes_tools:
            forms.append("tool")
        return (*forms, "prompt")

    def retry_now(self) -> None:
        """Do not wait any longer for the next attempt."""
        self._hurry.set()

    async def preload(self) -> None:
        """Import the libraries and look the model up, in a thread. Never raises: the first request reports errors."""
        try:
            await self._ready()
        except ModelError as error:
            self.obstacle = error

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Ask, again while that may help and nothing has arrived. ModelError when it cannot answer."""
        facts = await self._ready()
        self._unreported = None
        for attempt in range(self._section.retries + 1):
            answer = self._begin(facts, request)
            try:
                async with aclosing(answer.deltas()) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except (asyncio.CancelledError, GeneratorExit):
                self._unreported = answer.estimate_usage(request)
                raise
            except ModelError:
                if (spent := answer.estimate_usage(request)) is not None:
                    yield spent
                raise
            except Exception as error:  # the boundary: clients raise whatever the libraries below them do
                if (spent := answer.estimate_usage(request)) is not None:
                    yield spent
                failed = failure(error, facts.asked, started=answer.started)
                self._refuses_schema |= failed.error.refuses_schema and request.schema is not None
                delay = self._delay(failed, attempt, started=answer.started)
                if delay is None or (failed.error.refuses_schema and request.schema is not None):
                    raise failed.error from error
            self._hurry.clear()
            yield Retrying(delay=delay, why=failed.why, attempt=attempt + 1, attempts=self._section.retries)
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._hurry.wait()

    def take_unreported(self) -> AnswerUsage | None:
        """Estimated usage of an answer that was interrupted; returned once."""
        usage, self._unreported = self._unreported, None
        return usage

    @abstractmethod
    def _look_up(self) -> Facts:
        """In a thread: import what is needed and find the facts. ModelError if there are none."""

    @abstractmethod
    def _begin(self, facts: Facts, request: ChatRequest) -> "Attempt":
        """One attempt at an answer."""

    async def _ready(self) -> Facts:
        if self._facts is None:
            self._facts = await asyncio.to_thread(self._look_up)
        return self._facts

    def _delay(self, failed: RequestFailure, attempt: int, *, started: bool) -> float | None:
        """Seconds until the next attempt, None if there is none."""
        if started or not failed.passing or attempt == self._section.retries:
            return None
        delay = failed.wait if failed.wait is not None else self._backoff * 2**attempt
        return delay if delay <= LONGEST_WAIT else None


class Attempt(ABC):
    """One attempt at an answer: what is shared of reading it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._calls = CallNumbers()
        self._written = 0
        """Bytes of the answer, thoughts and calls included."""
        self._is_counted = False
        self.started = False
        """Whether any part of it arrived, reasoning that is not shown included."""
        whole = facts.asked.answer_timeout
        self._end_of_time = asyncio.get_running_loop().time() + whole if whole else math.inf
        self._deadline = math.inf

    def estimate_usage(self, request: ChatRequest) -> AnswerUsage | None:
        """Estimated usage of an answer that broke; None if nothing arrived or the server reported it."""
        if self._is_counted or not self.started:
            return None
        return self._usage(estimate_counts(request, self._written), estimated=True)

    @abstractmethod
    def deltas(self) -> AsyncGenerator[Delta, None]:
        """Ask once. Whatever the client raises comes out; ModelError where it fails to."""

    def _await_content(self) -> None:
        """Require some of the answer within this time from now on."""
        self._deadline = min(asyncio.get_running_loop().time() + self._facts.asked.content_timeout, self._end_of_time)

    async def _in_time(self, step: Awaitable[T]) -> T:
        """The result of the next step; BoundBroken if none of the answer came in time."""
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

    def _usage(
        self, counts: TokenCounts, *, listed: float | None = None, estimated: bool = False
    ) -> AnswerUsage | None:
        """Counts and price for the session; None if no answer can have used so much, or less than nothing."""
        read, written = counts.input_tokens, counts.output_tokens
        if not all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in (read, written)):
            _log.warning("impossible usage was ignored: %.60s and %.60s tokens", read, written)
            return None
        self._is_counted = True
        cost = self._facts.price(counts, listed)
        thought, cached = (count if isinstance(count, int) else 0 for count in (counts.reasoning, counts.cached))
        return AnswerUsage(
            input_tokens=read,
            output_tokens=written,
            cost=cost,
            estimated=estimated,
            thought_tokens=max(0, min(thought, written)),
            cached_tokens=max(0, min(cached, read)),
        )

    def _end(self, reason: str) -> AnswerEnded:
        match reason:
            case "length" | "max_tokens" | "model_length":
                return AnswerEnded(reason="length")
            case "tool_calls" | "function_call":
                return AnswerEnded(reason="tool_calls")
            case "content_filter":
                hint = "Say it in another way, or choose another model."
                raise ModelError("other", "The provider's content filter stopped the answer.", hint=hint)
            case _:
                return AnswerEnded(reason="tool_calls" if self._calls.some else "stop")


class CallNumbers:
    """Numbers native calls by their order: some providers give each call the index 0, some give none an id, and some
    do both; then a name behind a whole call begins the next one."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._numbers: dict[int | None, int] = {}
        self._nameless: dict[int, _OpenObject] = {}
        """By number: the arguments of calls that came without an id."""

    @property
    def some(self) -> bool:
        """Whether there was any."""
        return bool(self._ids)

    def read(self, index: int | None, call_id: str, name: str, arguments: str) -> ToolDelta:
        """A fragment as a delta; the first of a call carries its id."""
        number = self._numbers.get(index)
        another = call_id and number is not None and call_id != self._ids[number]
        first = number is None or bool(another) or (bool(name) and not call_id and self._is_over(number))
        if number is None or first:
            number = self._numbers[index] = len(self._ids)
            self._ids.append(call_id or f"call_{uuid4().hex[:12]}")
            if not call_id:
                self._nameless[number] = _OpenObject()
        if number in self._nameless:
            self._nameless[number].feed(arguments)
        return ToolDelta(
            index=number,
            id=self._ids[number] if first else "",
            name=name if first else "",
            arguments=arguments,
        )

    def _is_over(self, number: int) -> bool:
        """Whether all arguments of this call, which has no id, have come."""
        return number in self._nameless and self._nameless[number].is_over


class _OpenObject:
    """A JSON object that comes in pieces: whether its last brace has come."""

    def __init__(self) -> None:
        self.is_over = False
        self._depth = 0
        self._is_quoted = False
        self._cut = ""
        """A backslash whose letter is in the next piece."""

    def feed(self, piece: str) -> None:
        """Note a further piece, wherever it was cut."""
        signs = _SIGNS.findall(self._cut + piece)
        self._cut = ""
        for sign in signs:
            match sign:
                case '"':
                    self._is_quoted = not self._is_quoted
                case "\\":
                    self._cut = sign
                case "{" | "}" if not self._is_quoted:
                    self._depth += 1 if sign == "{" else -1
                    self.is_over = self._depth == 0
