"""What the answer of a turn must fit, where somebody asked for that: a schema, and how often the model is asked again.

The model works as in any turn, with code. An answer without code has to be the one that was asked for: where it is not,
the model is asked for it alone, in the best form that it takes, and reads what does not fit.
"""

from collections.abc import AsyncGenerator, Callable, Sequence

from oi_tui.app.engine.agent.halt import TurnStopped
from oi_tui.app.engine.core.blocks import Block, ProseBlock
from oi_tui.app.engine.core.chat_model import AnswerForm, ChatMessage, ChatRequest, Delta, Model, answer_forms
from oi_tui.app.engine.core.events import Emit, NoticeAdded
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.core.values import Level
from oi_tui.app.engine.structured.answer_schema import AnswerSchema
from oi_tui.app.engine.structured.demand import as_prose, asked_form, demanded_form, in_form, objection

UNFIT = "The answer does not fit the schema."


class RequiredAnswer:
    """The form of one session's answers: what its next turns must end with."""

    def __init__(self, emit: Emit, tries: Callable[[], int]) -> None:
        """`tries` says how often the model is asked again."""
        self._emit = emit
        self._tries = tries
        self._schema: AnswerSchema | None = None
        self._objections = 0
        self._demanded = False
        """Whether nothing remains to be done but to answer."""
        self._passed_over: set[tuple[str, AnswerForm]] = set()
        """By name of the model: forms that gave no JSON at all."""
        self._form: AnswerForm = "prompt"
        """Of the last request."""

    @property
    def is_wanted(self) -> bool:
        """Whether turns must end with such an answer."""
        return self._schema is not None

    @property
    def is_demanded(self) -> bool:
        """Whether the request is for that answer and nothing else."""
        return self._schema is not None and self._demanded

    def demand(self, schema: str) -> None:
        """Require this schema of answers from the next turn on, "" for none. SettingsError if it is not valid."""
        self._schema = AnswerSchema.from_text(schema) if schema else None

    def require(self, schema: AnswerSchema | None) -> None:
        """The same, of a schema that was read."""
        self._schema = schema

    def begin_turn(self) -> None:
        """A new turn has all its attempts again."""
        self._objections, self._demanded = 0, False

    def shape(self, request: ChatRequest, model: Model) -> ChatRequest:
        """The request, which says what is wanted."""
        if self._schema is None:
            return request
        if not self._demanded:
            first, *others = request.messages
            told = ChatMessage(role="system", text=f"{first.text}\n\n{asked_form(self._schema)}")
            return ChatRequest(messages=(told, *others), tools=request.tools)
        forms = answer_forms(model)
        self._form = next((form for form in forms if (model.name, form) not in self._passed_over), forms[-1])
        return in_form(request, self._schema, self._form)

    def read(self, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
        """The answer to a request that was shaped."""
        return as_prose(deltas) if self.is_demanded else deltas

    def objects(self, answer: Sequence[Block], model: str, *, whole: bool) -> bool:
        """Whether the model is asked again; it reads why. TurnStopped `unfit` where it was asked often enough, and
        `done` where the answer fits. False where nobody asked for a schema."""
        if self._schema is None:
            return False
        text = "\n".join(block.text for block in answer if isinstance(block, ProseBlock))
        found = self._schema.read(text)
        if not found.problems:
            raise TurnStopped("done", "")
        problems = found.problems if whole else ("The answer was cut at its limit of length.",)
        if self._demanded and not found.has_json:
            self._passed_over.add((model, self._form))
        if self._objections >= self._tries():
            title = f"{UNFIT} {problems[0]}"
            self._say("error", title, "")
            raise TurnStopped("unfit", title)
        if self._demanded or found.has_json:
            title, told = f"{UNFIT} The model is asked again: {problems[0]}", objection(problems)
            told += f"\n{demanded_form(self._schema)}"
        else:
            title, told = "The model is asked for its answer as JSON.", demanded_form(self._schema)
        self._objections += self._demanded or found.has_json
        self._demanded = True
        self._say("info", title, told)
        return True

    def _say(self, level: Level, title: str, to_model: str) -> None:
        self._emit(NoticeAdded(block_id=new_id(), level=level, title=title, to_model=to_model))
