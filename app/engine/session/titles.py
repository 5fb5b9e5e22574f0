"""The title of a session, asked of its model once, when the first turn is over and nobody is doing anything."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import Block, ProseBlock, UserBlock
from oi_tui.app.engine.core.chat_model import AnswerUsage, ChatMessage, ChatRequest, Model, TextDelta
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import (
    AnyEvent,
    CallStarted,
    CodeStarted,
    ConversationCleared,
    RerunStarted,
    StepStarted,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.library_replies import SessionEdited
from oi_tui.app.engine.core.protocol import Reply
from oi_tui.app.engine.log.store import Store
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.safe import safe_text

IDLE = 2.0
"""Seconds of rest after which the model is asked."""

ASK = "Give this conversation a title of two to six words, in the language of the user. Answer with the title alone."

PROMPT, ANSWER, LONGEST = 1_000, 600, 80
"""Characters of the prompt and the answer that the title is made from, and of the title."""

_MARKS = re.compile(r"^[\s\"'“”«»*_#`]+|[\s\"'“”«»*_`.]+$")

_log = logging.getLogger(__name__)


def entitle(session: Session, store: Store | None, text: str) -> None:
    """Use the first line with words as the title, until there is a better one."""
    if store is None:
        return
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    try:
        store.entitle(session.transcript.session_id, first[:LONGEST])
    except OiTuiError as error:
        session.report(error, "warning")


class Titles:
    """Asks once for a session; whatever the person does next comes first."""

    def __init__(
        self,
        session: Session,
        store: Store,
        redactor: Redactor,
        rests: Callable[[], bool],
        tell: Callable[[Reply], None],
    ) -> None:
        """The model is asked only where it `rests`."""
        self._session = session
        self._store = store
        self._redactor = redactor
        self._rests = rests
        self._tell = tell
        self._asking: asyncio.Task[None] | None = None
        self._closed = False

    def follow(self, event: AnyEvent) -> None:
        """Ask a while after the first turn has come to its end, unless something is done before."""
        match event:
            case TurnEnded(reason="done") if self._asking is None and not self._closed:
                prompts = sum(isinstance(block, UserBlock) for block in self._session.transcript.blocks)
                if prompts == 1:
                    self._asking = asyncio.create_task(self._ask_later())
            case TurnStarted() | StepStarted() | CodeStarted() | CallStarted() | RerunStarted() | ConversationCleared():
                if self._asking is not None and not self._asking.done():
                    self._asking.cancel()
                    self._asking = None
            case _:
                pass

    def close(self) -> list[asyncio.Task[None]]:
        """Stop asking; returns the running tasks, to be awaited when the session closes."""
        self._closed = True
        return [self._asking] if self._asking is not None else []

    async def _ask_later(self) -> None:
        await asyncio.sleep(IDLE)
        model = self._session.choices.model
        if (
            not self._rests()
            or model is None
            or self._session.budget.check_limits(self._session.transcript.usage) is not None
        ):
            return
        session_id = self._session.transcript.session_id
        try:
            if self._session.choices.aside is not None:
                model = await self._session.choices.aside()
            if self._session.budget.check_price(model.name, known=model.tells_price) is not None:
                return
            title = clean_title(await self._answer(model))
            if title:
                self._store.entitle(session_id, title, by="model")
                self._tell(SessionEdited(session=self._store.record(session_id)))
        except OiTuiError as error:
            _log.info("the session keeps the title of its prompt: %s", error)

    async def _answer(self, model: Model) -> str:
        text = ""
        async with aclosing(model.stream(self._request())) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta():
                        text += delta.text
                    case AnswerUsage():
                        self._session.emit(delta.event(aside=True))
                    case _:
                        pass
                if len(text) > ANSWER:
                    break
        return text

    def _request(self) -> ChatRequest:
        blocks = self._session.transcript.blocks
        parts = (self._beginning(blocks, UserBlock, PROMPT), self._beginning(blocks, ProseBlock, ANSWER))
        text = "\n\n".join(filter(None, parts))
        return ChatRequest(messages=(ChatMessage(role="system", text=ASK), ChatMessage(role="user", text=text)))

    def _beginning(self, blocks: Sequence[Block], kind: type[UserBlock] | type[ProseBlock], length: int) -> str:
        """The start of the first block of this kind; cut after secrets are removed, so that no half of one remains."""
        whole = next((block.text for block in blocks if isinstance(block, kind)), "")
        return self._redactor.redact(safe_text(whole)).text[:length]


def clean_title(answer: str) -> str:
    """The title in an answer: its first line without quotes and marks; "" where it is no title but a text."""
    lines = [line for line in safe_text(answer).splitlines() if line.strip()]
    title = _MARKS.sub("", lines[0]).removeprefix("Title:").strip() if lines else ""
    return title if len(title) <= LONGEST and not answer.lstrip().startswith("```") else ""
