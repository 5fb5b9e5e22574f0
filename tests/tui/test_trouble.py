"""After an error that ended the turn: what helps, by one key, and no key is taken from who is writing."""

from oi_tui.app.engine.core.events import NoticeAdded, TurnEnded, TurnStarted
from oi_tui.app.engine.core.values import Remedy
from oi_tui.app.engine.core.verbs import FindModels, Retry
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.trouble import SETTLING, TroubleRow
from support.stage import Play, Stage


def fail(
    stage: Stage,
    number: int,
    *,
    wait: float = 0.0,
    replay: bool = False,
    remedies: tuple[Remedy, ...] = ("retry", "model"),
) -> None:
    said = (
        TurnStarted(block_id=f"u{number}", text="do it"),
        NoticeAdded(
            block_id=f"n{number}",
            level="error",
            title="Rate limit reached at api.example.org.",
            details="slow down",
            remedies=remedies,
            wait=wait,
        ),
    )
    opened = (stage.opened(),) if replay else ()
    stage.engine.say(*opened, *said, TurnEnded(reason="model_error"), replay=replay)


async def settled(stage: Stage) -> TroubleRow:
    await stage.settle()
    stage.clock.now += SETTLING
    return stage.app.chat.query_one(TroubleRow)


async def test_an_error_offers_what_helps_and_counts_down_what_the_server_asked_to_wait(play: Play) -> None:
    async with play() as stage:
        fail(stage, 1, wait=20.0)
        await stage.settle()
        row = stage.app.chat.query_one(TroubleRow)
        assert row.has_focus
        await stage.pilot.press("enter")
        assert stage.engine.asked == [], "it was pressed for what was there before"
        assert "Retry in 20 s." in str(row.query_one("#trouble-title").render())
        stage.clock.now += 5
        await stage.pilot.press("alt+d")
        assert "slow down" in str(row.query_one("#trouble-details").render())
        row._show()
        assert "Retry in 15 s." in str(row.query_one("#trouble-title").render())
        assert row.query_one(KeyRow).labels[0].label == "try again now"
        await stage.pilot.press("enter")
        assert await stage.engine.heard(1) == [Retry()]
        assert not row.display
        assert stage.prompt.has_focus

        fail(stage, 2)
        await settled(stage)
        await stage.pilot.press("alt+m")
        assert (await stage.engine.heard(2))[1:] == [FindModels()]

        fail(stage, 3)
        await settled(stage)
        await stage.pilot.press("escape")
        assert stage.prompt.has_focus
        assert len(stage.engine.asked) == 2

        fail(stage, 4)
        await settled(stage)
        assert stage.seen.count("Rate limit reached") == 4, (
            "once for each error: the timeline says it, the row the keys"
        )
        await stage.pilot.press(*"md")  # a prompt may begin with any letter
        assert stage.prompt.text == "md"
        stage.prompt.fill("")

        fail(stage, 5, remedies=("model",))
        row = await settled(stage)
        row.focus()
        await stage.settle()
        assert [label.label for label in row.query_one(KeyRow).labels] == ["choose a model", "details", "close"]
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(3))[2:] == [FindModels()]


async def test_an_error_takes_no_key_from_who_writes_and_none_at_the_start(play: Play) -> None:
    async with play() as stage:
        fail(stage, 1)
        await stage.settle()
        await stage.pilot.press("m", "y")  # too early to mean the row
        assert stage.prompt.text == "my"
        assert stage.prompt.has_focus
        row = stage.app.chat.query_one(TroubleRow)
        assert "/retry tries again" in str(row.query_one("#trouble-title").render())
        stage.engine.say(TurnStarted(block_id="u2", text="again"))
        await stage.settle()
        assert row.styles.display == "none"
        fail(stage, 3)
        await settled(stage)
        assert stage.prompt.has_focus
        stage.prompt.fill("")
        fail(stage, 4, wait=20.0, replay=True)
        await settled(stage)
        assert row.display
        assert stage.prompt.has_focus
        assert "20 s" not in str(row.query_one("#trouble-title").render()), "that was then"
