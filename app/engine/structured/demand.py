"""How a model is asked for an answer that fits a schema, in the best form that it takes, and what its answer comes to.

Three forms: the schema goes with the request, and the server holds the model to it; a tool whose arguments are the
answer; words alone. Whatever the form, the answer arrives as text, and is checked here.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from oi_tui.app.engine.core.chat_model import AnswerForm, ChatRequest, Delta, TextDelta, ToolDelta, ToolSpec
from oi_tui.app.engine.structured.answer_schema import AnswerSchema

ANSWER_TOOL = "answer"

ASKED = """\
When you are done, your last message has to be one JSON value that fits this JSON schema, and nothing else: no prose, \
no code fence. Only that message is read. Never invent a value: take it from what you were given or found out.
{schema}"""

DEMANDED = """\
Now give the answer as one JSON value that fits this JSON schema, and nothing else.
{schema}"""

BY_TOOL = "Call the tool `answer` with it."

OBJECTION = """\
Your answer does not fit the JSON schema:
{problems}
Give the whole answer again as one JSON value that fits, and nothing else."""


def asked_form(schema: AnswerSchema) -> str:
    """The instructions that the model reads with the task."""
    return ASKED.format(schema=schema.text)


def demanded_form(schema: AnswerSchema) -> str:
    """The request for an answer when the task is done."""
    return DEMANDED.format(schema=schema.text)


def objection(problems: Sequence[str]) -> str:
    """The message about an answer that does not fit."""
    return OBJECTION.format(problems="\n".join(f"- {problem}" for problem in problems))


def in_form(request: ChatRequest, schema: AnswerSchema, form: AnswerForm) -> ChatRequest:
    """The request, for an answer in this form."""
    match form:
        case "schema":
            return replace(request, tools=(), schema=schema.wire)
        case "tool":
            tool = ToolSpec(name=ANSWER_TOOL, description="Gives the answer. Call it once.", schema=schema.wire)
            *before, last = request.messages
            told = replace(last, text=f"{last.text}\n\n{BY_TOOL}") if last.role == "user" else last
            return replace(request, messages=(*before, told), tools=(tool,))
        case "prompt":
            return replace(request, tools=())


async def as_prose(deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
    """The same answer; the arguments of the first call are its text, and prose beside them is left out."""
    prose: list[Delta] = []
    called = False
    async with aclosing(deltas):
        async for delta in deltas:
            match delta:
                case TextDelta():
                    prose.append(delta)
                case ToolDelta(index=0, arguments=arguments):
                    called = True
                    if arguments:
                        yield TextDelta(text=arguments)
                case ToolDelta():
                    pass
                case _:
                    if not called:
                        for earlier in prose:
                            yield earlier
                        prose.clear()
                    yield delta
    if not called:
        for earlier in prose:
            yield earlier
