"""What runs `computer.ask`: the session's model is asked once, beside the conversation and without tools."""

from collections.abc import Awaitable, Callable

from oi_tui.app.engine.agent.budget import Budget
from oi_tui.app.engine.agent.compaction import read_aside
from oi_tui.app.engine.agent.hook_calls import HookCalls
from oi_tui.app.engine.agent.session_choices import SessionChoices
from oi_tui.app.engine.core.chat_model import ChatMessage, ChatRequest
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import Emit
from oi_tui.app.engine.core.kernel_call import ASK_MODEL
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolFailed, ToolOutput, session_tool
from oi_tui.app.engine.transcript.transcript import Transcript

ANSWER = "A program asks you. Answer with what it asks for and nothing else: no introduction, no code fences."

LONGEST = 50_000
"""Characters of an answer."""


class AskedModel:
    """Asks the model of one session what running code wants to know."""

    def __init__(
        self,
        transcript: Transcript,
        choices: SessionChoices,
        budget: Budget,
        plugins: HookCalls,
        redactor: Redactor,
        emit: Emit,
        ready: Callable[[], Awaitable[object]] | None,
    ) -> None:
        """`ready` is awaited first: the model may still be opening."""
        self._transcript, self._choices, self._budget = transcript, choices, budget
        self._plugins, self._redactor, self._emit, self._ready = plugins, redactor, emit, ready

    @property
    def tool(self) -> Tool:
        """As a tool, so that rules, modes and the audit log treat it as one. It reaches nothing but the model, which
        reads the conversation anyway; secrets are withheld as there."""
        return session_tool(
            name=ASK_MODEL,
            description="Ask the model of this session.",
            schema={"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
            run=self._run,
            capabilities=Capabilities(writes=False, destroys=False, network=False),
        )

    async def _run(self, arguments: Arguments, _output: ToolOutput) -> str:
        if self._ready is not None:
            await self._ready()
        if (model := self._choices.model) is None:
            raise ToolFailed("No model is chosen.")
        obstacle = self._budget.check_limits(self._transcript.usage)
        if obstacle := obstacle or self._budget.check_price(model.name, known=model.tells_price):
            raise ToolFailed(obstacle.title)
        prompt = self._redactor.redact(safe_text(arguments["prompt"])).text
        request = ChatRequest(messages=(ChatMessage(role="system", text=ANSWER), ChatMessage(role="user", text=prompt)))
        try:
            with self._plugins.around(request):
                answer = await read_aside(model, request, self._emit, LONGEST)
        except OiTuiError as error:
            raise ToolFailed(error.title) from error
        if not (text := safe_text(answer.rpartition("</think>")[2]).strip()):
            raise ToolFailed(f"{model.name} gave an empty answer.")
        return text
