"""Output that comes after the end of a cell is shown in that cell, wherever the person is by then."""

from oi_tui.app.engine.core.events import (
    CodeFinished,
    CodeStarted,
    ExecutionFinished,
    ExecutionStarted,
    OutputAdded,
    TurnEnded,
    TurnStarted,
)
from oi_tui.app.engine.core.outputs import StreamOutput
from support.stage import Play


async def test_k18_a_finished_cell_shows_what_its_threads_print_later(play: Play) -> None:
    async with play() as stage:
        for block_id in ("c1", "c2"):
            stage.engine.say(
                TurnStarted(block_id=f"u-{block_id}", text="do it"),
                CodeStarted(block_id=block_id, language="python"),
                CodeFinished(block_id=block_id, language="python", source=f"start('{block_id}')"),
                ExecutionStarted(block_id=block_id, generation=1),
                OutputAdded(block_id=block_id, output=StreamOutput(name="stdout", text=f"output of {block_id}\n")),
                ExecutionFinished(block_id=block_id, status="ok", duration=0.1),
                TurnEnded(reason="done"),
            )
        await stage.settle()
        stage.engine.say(OutputAdded(block_id="c1", output=StreamOutput(name="stdout", text="afterthought\x1b[2J\n")))
        await stage.settle()
        shown = stage.seen
        places = [shown.find(words) for words in ("output of c1", "afterthought", "output of c2")]
        assert -1 not in places
        assert places == sorted(places)
        assert "\x1b" not in shown
