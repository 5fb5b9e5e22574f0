"""Where a session is cut for a fork: found by block, before it or when it was finished."""

from oi_tui.app.engine.agent.loop import Session
from oi_tui.app.engine.core.blocks import CodeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.core.events import AnyEvent, OutputAdded
from oi_tui.app.engine.core.outputs import StreamOutput
from oi_tui.app.engine.core.settings import LoopSection
from oi_tui.app.engine.testing import FakeKernels, FakeModel
from oi_tui.app.engine.transcript.event_log import fold_events
from oi_tui.app.engine.transcript.fork_point import events_until
from support.turns import play

TWO = "First.\n\n```python\na = 1\n```\n\nThen.\n\n```python\nb = 2\n```\n\nThat is it."


async def a_session() -> list[AnyEvent]:
    """Two turns; the first answer has two code blocks with prose around them."""
    session = Session(
        kernels=FakeKernels(), settings=LoopSection(approve="auto"), model=FakeModel(TWO, "Done.", "Once more.")
    )
    events: list[AnyEvent] = []
    for prompt in ("begin", "again"):
        events += await play(session, session.run(prompt))
    return events


async def test_before_a_prompt_there_is_what_stood_above_it_and_no_open_turn() -> None:
    events = await a_session()
    whole = fold_events(events)
    (first, second) = [block for block in whole.blocks if isinstance(block, UserBlock)]
    count = events_until(events, second.id, "before")
    assert count is not None
    part = fold_events(events[:count])
    assert part.blocks == whole.blocks[: whole.position(second.id)]
    assert not part.turn_open
    assert events_until(events, first.id, "before") == 0


async def test_after_code_it_has_run_and_what_ran_later_has_not() -> None:
    events = await a_session()
    whole = fold_events(events)
    first, second = [block for block in whole.blocks if isinstance(block, CodeBlock)]
    count = events_until(events, first.id, "after")
    assert count is not None
    part = fold_events(events[:count])
    assert part.block(first.id) == first
    later = part.block(second.id)
    assert isinstance(later, CodeBlock)
    assert later.duration is None


async def test_output_that_came_after_its_run_is_left_behind() -> None:
    events = await a_session()
    code = next(block for block in fold_events(events).blocks if isinstance(block, CodeBlock))
    late = OutputAdded(block_id=code.id, output=StreamOutput(name="stdout", text="late"))
    assert events_until([*events, late], code.id, "after") == events_until(events, code.id, "after")


async def test_after_prose_it_is_complete() -> None:
    events = await a_session()
    last = fold_events(events).blocks[-1]
    assert isinstance(last, ProseBlock)
    count = events_until(events, last.id, "after")
    assert count is not None
    assert fold_events(events[:count]).block(last.id) == last


async def test_there_is_no_cut_at_a_block_that_does_not_exist() -> None:
    assert events_until(await a_session(), "nowhere", "after") is None
