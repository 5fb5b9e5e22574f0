"""What a typed line answers to a question of a tool, and the question as lines; the same on each front end."""

import re
from collections.abc import Iterator

from oi_tui.app.engine.core.events import InputRequested
from oi_tui.app.engine.core.verbs import Answer
from oi_tui.app.engine.text.words import one_line

LONGEST = 200
"""Characters of a choice that are shown."""

_NUMBERS = re.compile(r"\s*\d{1,2}(?:[\s,]+\d{1,2})*[\s,]*")


def picked_choices(request: InputRequested, line: str) -> tuple[int, ...]:
    """Indices of the choices that a line means by their numbers or their words, none where it is a line of its own."""
    said = line.strip()
    if said in request.choices:
        return (request.choices.index(said),)
    if not _NUMBERS.fullmatch(line):
        return ()
    numbers = [int(number) - 1 for number in re.findall(r"\d+", line)]
    fits = all(0 <= number < len(request.choices) for number in numbers) and (request.several or len(numbers) == 1)
    return tuple(dict.fromkeys(numbers)) if fits else ()


def input_answer(request: InputRequested, line: str) -> Answer:
    """The answer to the session. A tool gets none by an empty line; running code gets each line as it was typed."""
    if not request.asked_by:
        return Answer(request_id=request.request_id, text=line)
    if picked := picked_choices(request, line):
        return Answer(request_id=request.request_id, text="\n".join(request.choices[number] for number in picked))
    return Answer(request_id=request.request_id, text=line, declined=not line.strip())


def asker_words(request: InputRequested) -> str:
    """Who asks, as the beginning of a sentence: `Tool deploy of MCP server x asks you`."""
    said = one_line(request.asked_by)[:LONGEST] or "The code"
    return f"{said[0].upper()}{said[1:]} {'asks you' if request.asked_by else 'is waiting for input'}"


def choice_lines(request: InputRequested) -> Iterator[str]:
    """The choices with their numbers, each on one line."""
    for number, choice in enumerate(request.choices, 1):
        shown = one_line(choice)
        yield f"{number}. {shown if len(shown) <= LONGEST else f'{shown[: LONGEST - 1]}…'}"


def choice_hint(request: InputRequested) -> str:
    """How to answer by typing."""
    if not request.choices:
        return "An empty line gives no answer."
    what = "Numbers with spaces between them" if request.several else "A number"
    return f"{what}, or an answer of your own; an empty line gives none."
