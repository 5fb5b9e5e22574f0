"""A model behind the filters of plugins: its requests and answers pass them in their order. All requests of a session
do: for answers, summaries, titles, and those of running code. What a plugin returns is looked at again: secrets are
taken out, and there is no tool and no picture that was not there before. A plugin that fails stops the request: text
that it would have filtered must not go out."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import msgspec

from oi_tui.app.engine.core.chat_model import (
    AnswerEnded,
    AnswerUsage,
    ChatMessage,
    ChatRequest,
    Delta,
    Model,
    ModelWrapper,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolCall,
)
from oi_tui.app.engine.core.errors import ModelError
from oi_tui.app.engine.hooks.calling import Hooks
from oi_tui.app.engine.hooks.values import Refuse
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line

LONGEST_ANSWER = 4_000_000
"""Characters of an answer that is held back for filters."""


class FilteredModel(ModelWrapper):
    """Asks the plugins before each request and after each answer."""

    def __init__(self, model: Model, hooks: Hooks, redactor: Redactor, session_id: Callable[[], str]) -> None:
        """`session_id` is asked at each request: after a fork another session has the model."""
        super().__init__(model)
        self._hooks = hooks
        self._redactor = redactor
        self._session_id = session_id
        self._holds = hooks.listens("change_answer")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        changed = self._change_request(request)
        async with aclosing(self._model.stream(changed)) as deltas:
            async for delta in self._hold(deltas) if self._holds else deltas:
                yield delta

    def _change_request(self, request: ChatRequest) -> ChatRequest:
        failures: list[str] = []
        values: dict[str, object] = {"session_id": self._session_id(), "request": request}
        for plugin, said in self._hooks.pass_on("change_request", values, failures):
            match said:
                case None:
                    pass
                case Refuse():
                    raise _refusal(plugin, "did not let this request go out", said)
                case ChatRequest():
                    try:
                        values["request"] = request = self._clean_request(said, request)
                    except (msgspec.ValidationError, TypeError) as error:
                        self._hooks.reject(plugin, "change_request", str(error))
                        raise _failure(plugin) from error
                case _:
                    self._hooks.reject(plugin, "change_request", f"{type(said).__name__} is no ChatRequest")
                    raise _failure(plugin)
            if failures:
                break
        if failures:
            raise _failure(failures[0])
        return request

    def _clean_request(self, made: ChatRequest, before: ChatRequest) -> ChatRequest:
        """The request of a plugin as it may leave; ValidationError for what is none."""
        made = msgspec.convert(msgspec.to_builtins(made), ChatRequest)
        shown = {url for message in before.messages for url in message.images}
        return ChatRequest(
            messages=tuple(self._clean_message(message, shown) for message in made.messages),
            tools=tuple(tool for tool in made.tools if tool in before.tools),
            schema=before.schema,
        )

    def _clean_message(self, message: ChatMessage, shown: set[str]) -> ChatMessage:
        return msgspec.structs.replace(
            message,
            text=self._clean(message.text),
            images=tuple(url for url in message.images if url in shown),
            calls=tuple(
                ToolCall(id=call.id, name=call.name, arguments=self._clean(call.arguments)) for call in message.calls
            ),
        )

    def _clean(self, text: str) -> str:
        return self._redactor.redact(safe_text(self._redactor.redact(text).text)).text

    async def _hold(self, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
        """The same, with the text behind everything else that is shown, as one piece; the model's thoughts are left
        out, for they may say what the answer must not."""
        text, rest = "", list[Delta]()
        async for delta in deltas:
            match delta:
                case TextDelta():
                    text += delta.text
                    if len(text) > LONGEST_ANSWER:
                        raise ModelError("bad_reply", "The answer is too long for the plugins that look at it.")
                case ThoughtDelta():
                    pass
                case Retrying():
                    yield delta
                case AnswerUsage() | AnswerEnded():
                    rest.append(delta)
                case _:
                    rest.insert(_place_before_end(rest), delta)
        text = self._change_answer(text)
        if text:
            yield TextDelta(text=text)
        for delta in rest:
            yield delta

    def _change_answer(self, text: str) -> str:
        failures: list[str] = []
        values: dict[str, object] = {"session_id": self._session_id(), "text": text}
        for plugin, said in self._hooks.pass_on("change_answer", values, failures):
            match said:
                case None:
                    pass
                case Refuse():
                    raise _refusal(plugin, "refused the answer", said)
                case str():
                    values["text"] = text = said
                case _:
                    self._hooks.reject(plugin, "change_answer", f"{type(said).__name__} is no text")
                    raise _failure(plugin)
            if failures:
                break
        if failures:
            raise _failure(failures[0])
        return text


def _place_before_end(rest: list[Delta]) -> int:
    return next((at for at, delta in enumerate(rest) if isinstance(delta, AnswerUsage | AnswerEnded)), len(rest))


def _refusal(plugin: str, what: str, said: Refuse) -> ModelError:
    reason = one_line(safe_text(str(said.reason)[:2_000]))[:500]
    return ModelError("refused", f"The plugin {plugin} {what}: {reason}", hint=_HINT)


def _failure(plugin: str) -> ModelError:
    title = f"The plugin {plugin} failed, and what it would have looked at was not used."
    return ModelError("refused", title, hint=f"The log says why. {_HINT}")


_HINT = "To disable the plugin: /plugins, or oi-tui plugins disable."
