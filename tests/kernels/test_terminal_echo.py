"""What a person typed is theirs: the terminal's echo of it is no output, however it comes."""

import asyncio

import pytest

from oi_tui.app.engine.core.events import AnyEvent, InputRequested, OutputAdded, OutputTailMoved
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.terminal_questions import TerminalQuestions
from support.kinds import of
from support.runs import events_of, make_run, told


class Talk:
    """A conversation and what came of it."""

    def __init__(self, *, echoes: bool = True) -> None:
        self.run = make_run()
        self.echoes = echoes
        self.conversation = TerminalQuestions(self.run, lambda: self.echoes)

    async def end(self) -> list[AnyEvent | RunResult]:
        self.conversation.end()
        self.run.finish(RunResult(status="ok"))
        return await events_of(self.run)

    async def shown(self) -> str:
        outputs = [event.output for event in await self.end() if isinstance(event, OutputAdded)]
        return "".join(output.text for output in outputs if isinstance(output, StreamOutput))


def pieces_of(text: str) -> list[tuple[str, ...]]:
    """The text in two pieces, in all ways, and in single characters."""
    return [*((text[:cut], text[cut:]) for cut in range(len(text))), tuple(text)]


@pytest.mark.parametrize("pieces", pieces_of("Ada Lovelace\r\nHello\r\n"))
async def test_an_echo_in_pieces_is_no_output(pieces: tuple[str, ...]) -> None:
    talk = Talk()
    talk.conversation.terminal("Name? ")
    talk.conversation.note_answer("Ada Lovelace")
    for piece in pieces:
        talk.conversation.terminal(piece)
    assert await talk.shown() == "Name? \nHello\n"


@pytest.mark.parametrize("pieces", pieces_of("50% Ada\r\n60%\r\n"))
async def test_an_echo_behind_other_output_is_no_output(pieces: tuple[str, ...]) -> None:
    talk = Talk()
    talk.conversation.note_answer("Ada")
    for piece in pieces:
        talk.conversation.terminal(piece)
    assert await talk.shown() == "50% \n60%\n"


@pytest.mark.parametrize("pieces", pieces_of("hunter2\r\nWelcome\r\n"))
async def test_a_password_that_the_program_itself_shows_is_no_output(pieces: tuple[str, ...]) -> None:
    talk = Talk(echoes=False)
    talk.conversation.terminal("Key: ")
    talk.conversation.note_answer("hunter2")
    for piece in pieces:
        talk.conversation.terminal(piece)
    assert await talk.shown() == "Key: \nWelcome\n"


async def test_an_answer_after_a_password_is_no_output_either() -> None:
    talk = Talk(echoes=False)
    talk.conversation.note_answer("hunter2")
    talk.conversation.terminal("\r\nName? ")
    talk.echoes = True
    talk.conversation.note_answer("Ada")
    talk.conversation.note_answer("Bob")
    talk.conversation.terminal("Ada\r\nBo")
    talk.conversation.terminal("b\r\n")
    assert await talk.shown() == "\nName? \n\n"


async def test_a_hidden_answer_takes_nothing_away_from_output() -> None:
    talk = Talk(echoes=False)
    talk.conversation.note_answer("y")
    talk.conversation.terminal("\r\nyes, happy\r\nany")
    talk.conversation.terminal("how\r\n")
    assert await talk.shown() == "\nyes, happy\nanyhow\n"


async def test_a_question_that_looks_like_the_beginning_of_an_answer_is_asked_nevertheless() -> None:
    talk = Talk(echoes=False)
    talk.conversation.note_answer("> x")
    talk.echoes = True
    talk.conversation.terminal("> ")
    async with asyncio.timeout(10):
        while not told(talk.run):  # noqa: ASYNC110 - a list sets no event
            await asyncio.sleep(0.01)
    assert isinstance(told(talk.run)[0], InputRequested)
    talk.conversation.end()


async def test_K39_a_terminal_line_without_end_is_passed_on_and_not_gathered() -> None:
    talk, piece, count = Talk(), "x" * 4_000, 200
    for _ in range(count):
        talk.conversation.terminal(piece)
    await asyncio.sleep(0)
    passed = sum(
        len(event.output.text) for event in of(OutputAdded, told(talk.run)) if isinstance(event.output, StreamOutput)
    )
    assert min(passed, 100_000) == 100_000  # the cap of the run
    talk.conversation.end()
    talk.run.finish(RunResult(status="ok"))
    (tail,) = of(OutputTailMoved, await events_of(talk.run))
    assert 100_000 + tail.tail.left_out_characters + len(tail.tail.text) == count * len(piece)
    assert len(of(InputRequested, told(talk.run))) == 0
