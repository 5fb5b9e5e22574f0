"""Static LMC messages to events: conversations of Open Interpreter and exported sessions are opened this way.

The messages come from a file, so all of them are checked; an error names the number of the message and the key.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallFinished,
    CallGrew,
    CallStarted,
    CodeFinished,
    CodeGrew,
    CodeStarted,
    DecisionMade,
    ExecutionFinished,
    ExecutionStarted,
    NoticeAdded,
    OutputAdded,
    ProseFinished,
    ProseGrew,
    ProseStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outcomes import ExecutionStatus
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.formats.lmc.mime_map import IMAGES, MARKUP, PATH_MIME, Message
from oi_tui.app.engine.text.attached import attach_picture

_MIMES = {
    "image": {form: mime for mime, form in IMAGES.items()} | {"path": PATH_MIME},
    "code": {form: mime for mime, form in MARKUP.items()},
}
"""Type and format of a message to the mime type of its content."""
_JPEG = "/9j/"
"""How a JPEG begins in base64."""


def events_from_messages(
    messages: Any,
    *,
    edits: frozenset[int] = frozenset(),
    starts: frozenset[int] = frozenset(),
    numbers: Sequence[int] | None = None,
) -> list[AnyEvent]:
    """The events of a conversation, without `SessionOpened`; StoreError if it is not one.

    `edits` are the numbers of the messages that are code which the person changed before it ran, `starts` those of
    messages that are known to begin a block (the first message is 1); `numbers` says what the messages are called in
    an error, where they are not simply counted.
    """
    if not isinstance(messages, list):
        raise StoreError("This is no conversation", hint="Expected a list of messages.")
    return list(_Conversation(messages, edits, starts, numbers).events())


class _Conversation:
    def __init__(
        self, messages: list[Any], edits: frozenset[int], starts: frozenset[int], numbers: Sequence[int] | None
    ) -> None:
        self._messages = messages
        self._edits = edits
        self._starts = starts
        self._numbers = numbers
        self._number = 0
        """Of the message at hand; the first is 1."""
        self._turn_open = False
        self._steps = 0
        self._answering = False
        self._code = ""
        """The latest code block."""
        self._source = ""
        self._proposed = False
        self._running = False
        self._failed = False

    def events(self) -> Iterator[AnyEvent]:
        while self._number < len(self._messages):
            message = self._next()
            yield from self._one(message)
        yield from self._end_run()
        yield from self._end_turn()

    # -- checked reading -----------------------------------------------------------------------------

    def _next(self) -> Message:
        message = self._messages[self._number]
        self._number += 1
        if not isinstance(message, dict):
            raise StoreError(f"{self._name()} is no object", hint="Messages are described in LMC.")
        return message

    def _text(self, message: Message, key: str, default: str | None = None) -> str:
        text = message.get(key, default)
        if not isinstance(text, str):
            raise self._error(key, "missing" if key not in message else f"{type(text).__name__} instead of text")
        return text

    def _error(self, key: str, what: str) -> StoreError:
        return StoreError(f'{self._name()}, key "{key}": {what}', hint="Messages are described in LMC.")

    def _name(self) -> str:
        return f"Message {self._number if self._numbers is None else self._numbers[self._number - 1]}"

    def _id(self) -> str:
        return f"message-{self._number}"

    # -- one message ---------------------------------------------------------------------------------

    def _one(self, message: Message) -> Iterator[AnyEvent]:
        role, kind = self._text(message, "role"), self._text(message, "type")
        if kind in ("confirmation", "status"):
            return
        if role != "computer":
            yield from self._end_run()
        match role, kind:
            case "user", "message" | "image" | "file":
                yield from self._prompt(message, kind)
            case "assistant", "message":
                yield from self._begin_step()
                yield from self._prose(self._text(message, "content"))
            case "assistant" | "user", "code":
                yield from self._code_message(message, role)
            case "computer", "console" | "image" | "code":
                yield from self._output(message, kind)
            case "user" | "assistant" | "computer", _:
                raise self._error("type", f"a message of the role {role} cannot be {kind!r}")
            case _:
                raise self._error("role", f"{role!r} is not user, assistant or computer")

    def _prompt(self, message: Message, kind: str) -> Iterator[AnyEvent]:
        yield from self._end_turn()
        self._turn_open, self._steps, self._answering, self._code = True, 0, False, ""
        block_id = self._id()
        text = self._text(message, "content") if kind == "message" else ""
        files = [] if kind == "message" else [self._file(message)]
        while self._file_follows():
            files.append(self._file(self._next()))
        yield TurnStarted(block_id=block_id, text=text, files=tuple(files))

    def _file_follows(self) -> bool:
        if self._number == len(self._messages) or self._number + 1 in self._starts:
            return False
        return _is_file(self._messages[self._number])

    def _file(self, message: Message) -> str:
        content = self._text(message, "content")
        form = self._text(message, "format", "path")
        if message["type"] == "file" or form == "path":
            return content
        return attach_picture(self._text(message, "name", ""), self._mime(message, form, content), content)

    def _prose(self, text: str) -> Iterator[AnyEvent]:
        yield ProseStarted(block_id=self._id())
        yield ProseGrew(block_id=self._id(), text=text)
        yield ProseFinished(block_id=self._id())

    def _code_message(self, message: Message, role: str) -> Iterator[AnyEvent]:
        language, source = self._text(message, "format"), self._text(message, "content")
        if role == "user" and self._number in self._edits and self._code == f"message-{self._number - 1}":
            self._source, self._proposed = source, False
            yield DecisionMade(block_id=self._code, verdict="edit", decider="person", source=source)
            return
        self._code = self._id()
        author: Literal["assistant", "user"] = "assistant" if role == "assistant" else "user"
        if author == "assistant":
            yield from self._begin_step()
        if "tool" in message:
            tool = self._text(message, "tool")
            yield CallStarted(block_id=self._code, tool=tool, author=author)
            yield CallGrew(block_id=self._code, text=source)
            yield CallFinished(block_id=self._code, tool=tool, source=source)
            self._source, self._proposed = source, True
            return
        yield CodeStarted(block_id=self._code, language=language, author=author)
        yield CodeGrew(block_id=self._code, text=source)
        yield CodeFinished(block_id=self._code, language=language, source=source)
        self._source, self._proposed = source, role == "assistant"

    def _output(self, message: Message, kind: str) -> Iterator[AnyEvent]:
        if message.get("format") == "active_line":
            return
        if message.get("refused") is True and self._proposed and not self._running:
            self._proposed = False
            reason = self._text(message, "content")
            yield DecisionMade(
                block_id=self._code, verdict="skip", decider="person", source=self._source, reason=reason
            )
            return
        output = self._console(message) if kind == "console" else self._rich(message)
        if not self._code:
            text = self._text(message, "content") if kind == "console" else ""
            yield NoticeAdded(block_id=self._id(), level="info", title="Output without code", details=text)
            return
        yield from self._begin_run()
        self._failed = self._failed or isinstance(output, ErrorOutput)
        if output is not None:
            yield OutputAdded(block_id=self._code, output=output)

    def _console(self, message: Message) -> Output | None:
        content, form = self._text(message, "content"), self._text(message, "format", "output")
        if form != "output":
            raise self._error("format", f"{form!r} is not output or active_line")
        match message:
            case {"error": {"name": str(name), "value": str(value)}}:
                return ErrorOutput(name=name, value=value, traceback=tuple(content.split("\n")))
            case {"recipient": _} | {"display_id": _}:
                return self._rich_output(message, {"text/plain": content})
            case {"stream": "stderr"}:
                return StreamOutput(name="stderr", text=content)
            case _:
                return StreamOutput(name="stdout", text=content) if content else None

    def _rich(self, message: Message) -> Output:
        content = self._text(message, "content")
        mime = self._mime(message, self._text(message, "format"), content)
        return self._rich_output(message, {mime: content})

    def _rich_output(self, message: Message, data: dict[str, Any]) -> Output:
        recipient = message.get("recipient", "both" if message["type"] == "code" else None)
        if recipient not in ("user", "assistant", "both", None):
            raise self._error("recipient", f"{recipient!r} is not user or assistant")
        display_id = self._text(message, "display_id") if "display_id" in message else None
        metadata = {} if recipient is None else {"recipient": recipient}
        return RichOutput(data=data, metadata=metadata, display_id=display_id)

    def _mime(self, message: Message, form: str, content: str) -> str:
        kind = message["type"]
        if kind == "image" and form == "base64":
            return "image/jpeg" if content.startswith(_JPEG) else "image/png"
        if form not in _MIMES[kind]:
            raise self._error("format", f"{form!r} is none of {', '.join(_MIMES[kind])}")
        return _MIMES[kind][form]

    # -- turns, steps, runs --------------------------------------------------------------------------

    def _begin_step(self) -> Iterator[AnyEvent]:
        if not self._answering:
            self._steps += 1
            yield StepStarted(number=self._steps)
        self._answering = True

    def _begin_run(self) -> Iterator[AnyEvent]:
        self._answering = False
        if self._running:
            return
        self._running, self._failed = True, False
        if self._proposed:
            yield DecisionMade(block_id=self._code, verdict="run", decider="mode", source=self._source)
        yield ExecutionStarted(block_id=self._code, generation=0)

    def _end_run(self) -> Iterator[AnyEvent]:
        if self._running:
            status: ExecutionStatus = "error" if self._failed else "ok"
            yield ExecutionFinished(block_id=self._code, status=status, duration=0.0)
        self._running = False

    def _end_turn(self) -> Iterator[AnyEvent]:
        if self._turn_open:
            yield TurnEnded(reason="done")
        self._turn_open = False


def _is_file(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user" and message.get("type") in ("image", "file")
