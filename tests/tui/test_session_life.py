"""Opening, interrupting, losing and leaving a session; running code that asks; the choice of a model."""

import asyncio
import time
from collections.abc import Sequence
from typing import Literal

import pytest
from msgspec.structs import replace
from textual.events import Paste
from textual.widgets import Input, OptionList, ProgressBar

from oi_tui.app.engine.core.blocks import Block, NoticeBlock, UserBlock
from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.events import (
    ActiveLineChanged,
    AnyEvent,
    CodeFinished,
    CodeStarted,
    ConversationCleared,
    DecisionRequested,
    ExecutionFinished,
    ExecutionStarted,
    InputAnswered,
    InputRequested,
    KernelChanged,
    NoticeAdded,
    ProseGrew,
    ProseStarted,
    SessionOpened,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from oi_tui.app.engine.core.protocol import (
    Batch,
    Failed,
    FetchEnded,
    FetchProgressed,
    LastBlocks,
    ModelOffer,
    ModelsFound,
    SandboxFailed,
)
from oi_tui.app.engine.core.values import TOUR
from oi_tui.app.engine.core.verbs import (
    Answer,
    CancelFetch,
    FetchModel,
    FindModels,
    ForgetKey,
    Interrupt,
    Open,
    Submit,
    UseModel,
)
from oi_tui.app.engine.hooks.calling import Trouble
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.frontend.client import EngineClient
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.setup import SetupScreen
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.question import QuestionPanel
from oi_tui.widgets.status import Status, StatusBar, fit_parts, status_parts
from oi_tui.widgets.stray_keys import NOT_ARMED
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.welcome import Welcome
from support.hostile import hostile, hostile_line, seen_line
from support.kinds import narrow
from support.stage import Play, ScriptedEngine, Stage

EMBEDDED = ModelOffer(
    id="local/qwen",
    kind="embedded",
    title="Built-in: Qwen",
    detail="1.1 GB download · Apache-2.0",
    download_bytes=1_100_000_000,
)
SERVER = ModelOffer(id="ollama/llama3", kind="server", title="Ollama", api_base="http://127.0.0.1:11434")


def notices(stage: Stage) -> list[NoticeBlock]:
    return [block for block in stage.app.chat.bridge.transcript.blocks if isinstance(block, NoticeBlock)]


async def test_a_session_is_opened_first_and_a_prompt_from_the_command_line_sent_then(play: Play) -> None:
    async with play(prompt="hello") as stage:
        await stage.engine.heard(1)
        assert stage.engine.verbs == [Open(), Submit(text="hello")]


async def test_what_is_sent_is_about_the_session_that_is_shown_and_what_belongs_to_another_is_passed_over(
    play: Play,
) -> None:
    async with play() as stage:
        bridge = stage.app.chat.bridge
        bridge.switch(Open())
        bridge.send(Submit(text="to what is shown"))
        await stage.engine.heard(1)
        assert stage.engine.meant == [(Submit, "s1")]
        stage.engine.reply(Batch(session_id="s2", events=(), replay=True))
        stage.engine.reply(Batch(session_id="s2", events=(stage.opened(session_id="s2"),)))
        late = NoticeAdded(block_id="n", level="info", title="late")
        stage.engine.reply(Batch(session_id="s1", events=(late,)))
        stage.engine.reply(Failed(session_id="s1", title="late, too"))
        await stage.settle()
        assert notices(stage) == []
        bridge.send(Submit(text="to the new one"))
        await stage.engine.heard(2)
        assert stage.engine.meant[1:] == [(Submit, "s2")]
        stage.engine.reply(Failed(title="of no session"))
        await stage.until(lambda: [notice.title for notice in notices(stage)] == ["of no session"])


async def test_before_an_engine_has_told_of_a_session_all_is_about_the_one_that_it_opens(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(NoticeAdded(block_id="n", level="info", title="nothing else happened"))
        await stage.settle()
        await stage.app.chat.bridge.renew()
        await stage.until(lambda: len(stage.engines) == 2)
        stage.app.chat.bridge.send(Submit(text="to whatever is opened"))
        await stage.engine.heard(1)
        assert stage.engine.meant == [(Submit, "")]


async def test_what_a_switch_is_for_is_done_though_a_verb_that_crossed_it_failed(play: Play) -> None:
    done = asyncio.Event()
    async with play() as stage:
        stage.app.chat.bridge.switch(Open(), done.set)
        stage.engine.reply(Batch(session_id="s2", events=(), replay=True))
        stage.engine.reply(Failed(title="Not done."))
        opened = replace(stage.opened(session_id="s2"), created=time.time() + 1)
        stage.engine.reply(Batch(session_id="s2", events=(opened,)))
        async with asyncio.timeout(10):
            await done.wait()


class NobodyLooks:
    """A view that shows nothing."""

    def reset(self, blocks: Sequence[Block]) -> None:
        pass

    def put(self, index: int, block: Block) -> None:
        pass

    def show_status(self, status: Status, queued: int) -> None:
        pass

    def ask(self, decision: DecisionRequested | None, question: InputRequested | None) -> None:
        pass

    def show(self, reply: object) -> None:
        pass


async def test_a_prompt_sent_before_the_engine_is_there_is_not_lost(scripted_engine: ScriptedEngine) -> None:
    async def connect() -> EngineClient:
        return scripted_engine

    bridge, complete = Bridge(connect, NobodyLooks()), asyncio.Event()
    bridge.send(Submit(text="early"))
    running = asyncio.create_task(bridge.run(complete))
    assert await scripted_engine.heard(1) == [Submit(text="early")]
    complete.set()
    async with asyncio.timeout(10):
        await bridge.close()
        await running


@pytest.mark.parametrize("starts", [True, False])
async def test_what_an_engine_says_or_that_there_is_none_waits_until_the_view_can_show_it(
    scripted_engine: ScriptedEngine, starts: bool
) -> None:
    asked, told = asyncio.Event(), asyncio.Event()
    shown: list[str] = []

    async def connect() -> EngineClient:
        asked.set()
        if not starts:
            raise OiTuiError("No engine.")
        scripted_engine.reply(Failed(title="Something to say"))
        return scripted_engine

    class Looks(NobodyLooks):
        def put(self, index: int, block: Block) -> None:
            shown.append(narrow(block, NoticeBlock).title)
            told.set()

    bridge, complete = Bridge(connect, Looks()), asyncio.Event()
    running = asyncio.create_task(bridge.run(complete))
    async with asyncio.timeout(10):
        await asked.wait()
        if starts:
            await scripted_engine.heard(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not shown
        complete.set()
        await told.wait()
        assert shown[0] == ("Something to say" if starts else "No engine.")
        await bridge.close()
        await running


async def test_escape_interrupts_the_cell_and_twice_the_turn(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        stage.engine.say(InputAnswered(request_id="i1", block_id="c1"))
        await stage.settle()
        await stage.pilot.press("escape")
        stage.clock.now += 0.5
        await stage.pilot.press("escape")
        stage.clock.now += 1.5
        await stage.pilot.press("escape")
        assert await stage.engine.heard(3) == [Interrupt(), Interrupt(turn=True), Interrupt()]


async def test_clearing_leaves_an_empty_screen(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        stage.engine.say(
            ExecutionFinished(block_id="c1", status="ok", duration=0.1),
            TurnEnded(reason="done"),
            ConversationCleared(),
        )
        await stage.settle()
        assert stage.app.chat.query_one(Welcome).display
        assert stage.app.chat.bridge.transcript.blocks == []


async def test_an_example_prompt_is_put_into_the_composer_and_not_sent(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("tab", "down", "enter")
        await stage.settle()
        assert stage.prompt.text
        assert stage.prompt.has_focus
        assert stage.engine.asked == []


async def test_what_is_typed_while_an_example_has_the_focus_is_a_prompt(play: Play) -> None:
    async with play() as stage:
        await stage.until(lambda: bool(stage.app.chat.query("Welcome OptionList")))
        await stage.pilot.press("tab", *"why", "space", *"is it", "question_mark")
        await stage.settle()
        assert stage.prompt.text == "why is it?"
        assert stage.prompt.has_focus
        await stage.pilot.press("ctrl+c", "tab")
        stage.app.post_message(Paste("two\r\nlines"))
        await stage.until(lambda: stage.prompt.text)
        assert stage.prompt.text == "two\nlines"


async def test_a_command_that_is_begun_while_an_example_has_the_focus_is_completed(play: Play) -> None:
    async with play() as stage:
        await stage.until(lambda: bool(stage.app.chat.query("Welcome OptionList")))
        await stage.pilot.press("tab", "slash")
        await stage.until(lambda: stage.prompt.completion.open_list)
        assert stage.prompt.text == "/"


async def test_the_chosen_example_has_a_mark_of_its_own(play: Play) -> None:
    async with play() as stage:
        await stage.until(lambda: bool(stage.app.chat.query("Welcome OptionList")))
        options = stage.app.chat.query_one("Welcome OptionList", OptionList)

        def marks() -> str:
            return "".join(str(one.prompt)[0] for one in options.options)

        assert marks() == "▹▹▹"
        await stage.pilot.press("tab")
        await stage.settle()
        assert marks() == "▸▹▹"
        await stage.pilot.press("down")
        await stage.settle()
        assert marks() == "▹▸▹"
        await stage.pilot.press("tab")
        await stage.settle()
        assert marks() == "▹▹▹"


async def test_an_example_that_is_longer_than_a_line_goes_on_below_its_first_word(play: Play) -> None:
    async with play(size=(50, 24)) as stage:
        await stage.until(lambda: bool(stage.app.chat.query("Welcome OptionList")))
        option = stage.app.chat.query_one("Welcome OptionList", OptionList).get_option_at_index(0)
        assert str(option.prompt).split("\n") == [
            "▹ What takes up the space in this folder?",
            "  Show the ten largest files as a table.",
        ]


async def test_escape_goes_back_to_the_composer_when_nothing_runs(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("tab")
        await stage.until(lambda: not stage.prompt.has_focus)
        await stage.pilot.press("escape")
        assert stage.prompt.has_focus
        assert stage.engine.asked == []


async def test_R4_T7_running_code_is_answered_and_nothing_else_hears_it(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        panel = stage.app.chat.query_one(QuestionPanel)
        assert panel.display
        assert "python · name = input" in str(panel.query_one("#question-title").render())
        stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
        await stage.pilot.press(*"Ada", "enter")
        assert await stage.engine.heard(1) == [Answer(request_id="i1", text="Ada")]
        assert stage.app.chat.query_one(Composer).display


async def test_T7_a_question_of_longer_code_names_the_line_that_asks(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(
            TurnStarted(block_id="u1", text="x"),
            CodeStarted(block_id="c1", language="python"),
            CodeFinished(block_id="c1", language="python", source="import time\nname = input('who? ')"),
            ExecutionStarted(block_id="c1", generation=1),
            ActiveLineChanged(block_id="c1", line=2),
            InputRequested(request_id="i1", block_id="c1", prompt="who? "),
        )
        await stage.settle()
        assert "python, line 2 · name = input" in str(stage.app.chat.query_one("#question-title").render())


async def test_R4_T7_a_password_is_masked(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask("Password: ", password=True)
        stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
        await stage.pilot.press(*"secret")
        answer = stage.app.chat.query_one("#question-answer", Input)
        assert answer.password
        assert "secret" not in stage.app.export_screenshot()


async def test_R4_keys_that_were_on_their_way_do_not_answer(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        await stage.pilot.press("x", "enter")
        await stage.settle()
        assert stage.engine.asked == []
        assert NOT_ARMED in stage.seen
        stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
        await stage.settle()
        assert NOT_ARMED not in stage.seen


async def test_R4_a_prompt_being_typed_does_not_go_to_the_code_that_asks(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press(*"hel")
        await stage.run_and_ask()
        for key in ("l", "o", "enter"):
            stage.wait(0.4, stage.app.chat.query_one(QuestionPanel).show_arming)
            await stage.pilot.press(key)
        await stage.settle()
        assert stage.engine.asked == []
        assert stage.app.chat.query_one("#question-answer", Input).value == ""


async def test_R4_a_question_of_code_under_another_screen_takes_no_key_before_it_is_seen(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("f1")
        await stage.run_and_ask()
        stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
        await stage.pilot.press("q", "x", "enter")
        await stage.settle()
        assert stage.engine.asked == []


async def test_R4_a_paste_that_was_meant_for_the_prompt_does_not_go_to_the_code(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        answer = stage.app.chat.query_one("#question-answer", Input)
        answer.post_message(Paste("private"))
        await stage.settle()
        assert answer.value == ""
        stage.wait(5.0, stage.app.chat.query_one(QuestionPanel).show_arming)
        answer.post_message(Paste("public"))
        await stage.settle()
        assert answer.value == "public"


async def test_R4_T7_escape_interrupts_the_code_that_asks(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        await stage.pilot.press("escape")
        assert await stage.engine.heard(1) == [Interrupt()]


async def test_a_lost_engine_is_told_and_started_again_on_the_same_session(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        stage.engine.die("killed by signal 9")
        await stage.settle()
        assert notices(stage)[-1].details == "killed by signal 9"
        assert stage.app.chat.query_one(StatusBar).status.activity.word == "engine stopped"
        assert isinstance(stage.app.chat.bridge.transcript.blocks[0], UserBlock), "the screen is kept"
        assert stage.app.chat.query_one(Composer).display
        await stage.pilot.press("f5")
        await stage.settle()
        assert stage.engine.verbs == [Open(session_id="s1")]
        stage.engine.say(
            stage.opened(), TurnStarted(block_id="u1", text="do it"), TurnEnded(reason="engine_lost"), replay=True
        )
        await stage.settle()
        assert len(stage.app.chat.bridge.transcript.blocks) == 1
        await stage.pilot.press("x", "enter")
        assert await stage.engine.heard(1) == [Submit(text="x")]


async def test_S20_the_status_line_says_that_the_sandbox_fails_until_a_kernel_starts_in_one(play: Play) -> None:
    async with play() as stage:
        bar = stage.app.chat.query_one(StatusBar)
        assert (bar.status.sandbox, bar.status.exposed) == ("sandbox, no network", False)
        stage.engine.reply(SandboxFailed())
        await stage.settle()
        assert (bar.status.sandbox, bar.status.exposed) == ("sandbox fails", True)
        stage.engine.say(KernelChanged(language="python", state="starting", generation=0))
        stage.engine.say(KernelChanged(language="python", state="dead", generation=0))
        await stage.settle()
        assert bar.status.sandbox == "sandbox fails"
        stage.engine.say(KernelChanged(language="python", state="idle", generation=1))
        await stage.settle()
        assert (bar.status.sandbox, bar.status.exposed) == ("sandbox, no network", False)


async def test_S20_another_engine_finds_out_by_itself_whether_the_sandbox_fails(play: Play) -> None:
    async with play() as stage:
        stage.engine.reply(SandboxFailed())
        await stage.settle()
        stage.engine.die()
        await stage.settle()
        await stage.pilot.press("f5")
        await stage.until(lambda: len(stage.engines) == 2)
        await stage.settle()
        assert stage.app.chat.query_one(StatusBar).status.sandbox == "sandbox, no network"


async def test_a_session_in_which_nothing_happened_may_be_begun_anew_by_the_next_engine(play: Play) -> None:
    async with play() as stage:
        stage.engine.die()
        await stage.settle()
        await stage.pilot.press("f5")
        await stage.settle()
        assert stage.engine.verbs == [Open(session_id="s1", anew=True)]


async def test_a_session_that_is_told_in_parts_is_shown_when_all_of_it_is_there(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        before = [block.id for block in stage.app.chat.bridge.transcript.blocks]
        first = (stage.opened(session_id="long"), TurnStarted(block_id="u", text="u"), TurnEnded(reason="done"))
        stage.engine.reply(Batch(events=first, replay=True, more=True))
        stage.engine.reply(Failed(title="Said in between"))
        await stage.settle()
        shown = [block.id for block in stage.app.chat.bridge.transcript.blocks]
        assert shown[:-1] == before
        assert notices(stage)[-1].title == "Said in between"
        stage.engine.reply(Batch(events=(TurnStarted(block_id="v", text="v"),), replay=True, further=True))
        await stage.settle()
        assert [block.id for block in stage.app.chat.bridge.transcript.blocks] == ["u", "v"]


async def test_V15_the_end_of_a_long_session_stands_there_until_all_of_it_does_and_the_place_stays(play: Play) -> None:
    events: list[AnyEvent] = []
    for number in range(30):
        events += [TurnStarted(block_id=f"u{number}", text=f"Question {number}"), TurnEnded(reason="done")]
    ending = LastBlocks(blocks=tuple(UserBlock(id=f"u{number}", text=f"Question {number}") for number in range(10, 30)))
    engine = ScriptedEngine()

    async def connect() -> EngineClient:
        return engine

    async with play(session_id="s1", connect=connect) as stage:
        assert engine.verbs == [Open(session_id="s1", end_first=True)]
        engine.reply(ending)
        await stage.settle()
        timeline = stage.app.chat.query_one(Timeline)
        assert "Question 29" in stage.seen
        timeline.focus()
        timeline.action_go("page", -1)
        await stage.settle()
        assert timeline.cursor is not None
        assert not timeline.follow
        place, rows = timeline.cursor, timeline.render_lines(timeline.size.region)
        engine.reply(Batch(events=(stage.opened(), *events), replay=True))
        await stage.settle()
        assert (timeline.cursor, timeline.has_focus, timeline.follow) == (place + 10, True, False)
        now = timeline.render_lines(timeline.size.region)
        assert [row.text[:-1] for row in now] == [row.text[:-1] for row in rows], "beside the scroll bar"


async def test_what_is_said_while_only_the_end_of_a_session_stands_there_is_shown(play: Play) -> None:
    engine = ScriptedEngine()

    async def connect() -> EngineClient:
        return engine

    async with play(session_id="s1", connect=connect) as stage:
        engine.reply(LastBlocks(blocks=(UserBlock(id="u", text="Question"), UserBlock(id="v", text="Question"))))
        engine.reply(Failed(title="The file is damaged."))
        await stage.settle()
        assert "The file is damaged." in stage.seen
        assert "Question" not in stage.seen


async def test_a_prompt_without_an_engine_is_not_lost_silently(play: Play) -> None:
    async with play() as stage:
        stage.engine.die()
        await stage.settle()
        await stage.pilot.press("x", "enter")
        await stage.settle()
        assert notices(stage)[-1].hint == "/engine starts it again."


async def test_an_engine_that_cannot_be_started_is_told_with_what_to_do(play: Play) -> None:
    async def connect() -> EngineClient:
        raise OiTuiError("There is no Python.", hint="Install one.")

    async with play(connect=connect) as stage:
        assert notices(stage)[-1].title == "There is no Python."


async def test_a_failure_of_the_engine_becomes_a_notice(play: Play) -> None:
    async with play() as stage:
        stage.engine.reply(Failed(title="No such session.", hint="Look at the list."))
        await stage.settle()
        assert (notices(stage)[-1].title, notices(stage)[-1].hint) == ("No such session.", "Look at the list.")


async def test_quitting_at_rest_closes_the_engine_and_leaves(play: Play) -> None:
    async with play() as stage:
        await stage.pilot.press("ctrl+q")
        await stage.settle()
        assert stage.engine.closed
        assert not stage.app.is_running or stage.app._exit


@pytest.mark.parametrize("way", ["ctrl+q", "/quit"])
async def test_quitting_asks_when_something_runs_and_enter_does_not_answer(play: Play, way: str) -> None:
    async with play() as stage:
        stage.engine.say(TurnStarted(block_id="u1", text="x"))
        await stage.settle()
        if way == "/quit":
            stage.prompt.fill(way)
        await stage.pilot.press("enter" if way == "/quit" else way)
        await stage.settle()
        assert isinstance(stage.app.screen, ConfirmScreen)
        await stage.pilot.press("enter", "ctrl+q")
        assert isinstance(stage.app.screen, ConfirmScreen)
        await stage.pilot.press("n")
        assert not stage.engine.closed
        await stage.pilot.press("ctrl+q", "y")
        async with asyncio.timeout(10):
            while not stage.engine.closed:
                await stage.pilot.pause()


async def test_a_notice_shows_neither_what_a_terminal_obeys_nor_markup(play: Play) -> None:
    async with play() as stage:
        stage.app.chat.notify(hostile("notice"))
        assert stage.app.chat.query_one(Composer).note == safe_text(hostile("notice"))
        await stage.pilot.press("ctrl+p")
        stage.app.screen.notify(hostile("notice"), title=hostile_line("title"))
        await stage.settle()
        (note,) = stage.app._notifications
        assert (note.title, note.message) == (seen_line("title"), safe_text(hostile("notice")))
        assert not note.markup


async def test_a_session_without_a_model_begins_with_the_choice_of_one(play: Play) -> None:
    async with play(model="", prompt="first") as stage:
        assert await stage.engine.heard(1) == [FindModels()]
        stage.engine.reply(ModelsFound(offers=(SERVER, EMBEDDED)))
        await stage.settle()
        assert isinstance(stage.app.screen, SetupScreen)
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(2))[-1] == UseModel(name=SERVER.id, api_base=SERVER.api_base)
        stage.engine.say(SettingsChanged(model=SERVER.id, approval="ask"))
        assert (await stage.engine.heard(3))[-1] == Submit(text="first")


async def test_the_choice_of_a_model_does_not_take_the_rest_of_a_prompt(play: Play) -> None:
    async with play(model="") as stage:
        await stage.pilot.press("s", "u")
        stage.engine.reply(ModelsFound(offers=(SERVER,)))
        stage.engine.reply(ModelsFound(offers=(EMBEDDED,)))
        await stage.settle()
        await stage.pilot.press("m")
        assert stage.prompt.text == "sum"
        assert not isinstance(stage.app.screen, SetupScreen)

        stage.clock.now += 1.5
        await stage.until(lambda: isinstance(stage.app.screen, SetupScreen))
        await stage.until(lambda: EMBEDDED.title in stage.seen)
        assert len(stage.app.screen_stack) == 2


async def test_V22_who_has_no_model_is_offered_the_tour_and_begins_it_with_enter(play: Play) -> None:
    tour = ModelOffer(id=TOUR, kind="tour", title="No model: a tour", api_base="")
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(tour, EMBEDDED)))
        await stage.settle()
        await stage.pilot.press("escape")
        await stage.settle()
        assert "No model yet? /model chooses one. /profile demo is a tour" in stage.seen
        await stage.pilot.press(*"/profile demo", "enter")
        assert UseModel(name=TOUR) in await stage.engine.heard(3)
        stage.engine.say(SettingsChanged(model=TOUR, approval="ask"))
        await stage.until(lambda: "Press enter to begin" in stage.seen)
        await stage.pilot.press("/")
        assert stage.app.chat.desk.area.text == "/", "what is typed takes the place of the prompt that waits"
        stage.app.chat.desk.area.fill("Show me around.")
        before = len(stage.engine.asked)
        await stage.pilot.press("enter")
        assert (await stage.engine.heard(before + 1))[-1] == Submit(text="Show me around.")


async def test_plugins_that_are_loaded_while_the_screen_is_taken_down_end_quietly(play: Play) -> None:
    async with play() as stage:
        plugins = stage.app.chat.parts.plugins
        await stage.app.chat.query_one(Composer).remove()
        await plugins.load()
        stage.app.exit()


async def test_V22_news_about_plugins_waits_until_the_tour_has_begun(play: Play) -> None:
    async with play(model="") as stage:
        stage.engine.say(SettingsChanged(model=TOUR, approval="ask"))
        await stage.until(lambda: "Press enter to begin" in stage.seen)
        stage.app.chat.parts.plugins._tell(Trouble("tale.py", "", "is new", "a file"))
        await stage.settle()
        assert "Press enter to begin" in stage.seen
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.told("The plugin tale.py is new"))


async def test_V22_the_question_for_a_model_does_not_take_the_tour_unless_it_is_chosen(play: Play) -> None:
    tour = ModelOffer(id=TOUR, kind="tour", title="No model: a tour", api_base="")
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(tour, replace(EMBEDDED, recommended=True))))
        await stage.settle()
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.engine.asked == [FindModels()], "it is the download that is asked about"
        await stage.pilot.press("escape", "up", "enter")
        assert (await stage.engine.heard(2))[-1] == UseModel(name=TOUR, api_base="")


async def test_a_past_without_a_model_asks_for_none_where_the_session_then_opens_with_one(play: Play) -> None:
    imported = SessionOpened(session_id="s1", created=0.0, cwd="/", model="", approval="ask")
    async with play(prompt="first", past=Batch(events=(imported,), replay=True)) as stage:
        assert await stage.engine.heard(1) == [Submit(text="first")]


async def test_a_download_is_asked_about_shown_and_can_be_cancelled(play: Play) -> None:
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(EMBEDDED,)))
        await stage.settle()
        await stage.pilot.press("enter", "enter")
        await stage.settle()
        assert stage.engine.asked == [FindModels()], "Enter does not consent to a download"
        assert "1.1 GB" in str(stage.app.screen.query_one("#setup-text").render())
        await stage.pilot.press("y")
        assert (await stage.engine.heard(2))[-1] == FetchModel(model_id="local/qwen")
        stage.engine.reply(FetchProgressed(model_id="local/qwen", done_bytes=550_000_000, total_bytes=1_100_000_000))
        await stage.settle()
        assert "550 MB of 1.1 GB" in str(stage.app.screen.query_one("#setup-text").render())
        await stage.pilot.press("escape")
        assert (await stage.engine.heard(3))[-1] == CancelFetch()
        await stage.settle()
        assert stage.app.screen.query_one(OptionList).display, "whether or not the engine says that it ended"
        stage.engine.reply(FetchProgressed(model_id="local/qwen", done_bytes=1, total_bytes=1, stage="starting"))
        await stage.settle()
        assert not stage.app.screen.query_one(ProgressBar).display
        stage.engine.reply(FetchEnded(model_id="local/qwen", ready=False))
        await stage.settle()
        assert stage.app.screen.query_one(OptionList).display
        stage.engine.reply(FetchEnded(model_id="local/qwen", ready=True))
        await stage.settle()
        assert stage.app.screen is stage.app.chat


async def test_the_marked_offer_is_the_one_that_enter_takes_and_its_size_is_said_once(play: Play) -> None:
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(SERVER, EMBEDDED)))
        await stage.settle()

        def lines() -> list[str]:
            offers = stage.app.screen.query_one(OptionList)
            return [str(option.prompt) for option in offers.options]

        assert [line[:2] for line in lines()] == ["▸ ", "  ", "  "]
        assert lines()[1].count("1.1 GB") == 1
        await stage.pilot.press("down")
        await stage.settle()
        assert [line[:2] for line in lines()] == ["  ", "▸ ", "  "]


async def test_a_model_can_be_named_and_its_key_is_masked(play: Play) -> None:
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(), key_file="~/credentials.toml"))
        await stage.settle()
        await stage.pilot.press("enter", *"gpt-5", "enter", "enter", *"topsecret")
        assert "topsecret" not in stage.app.export_screenshot()
        await stage.pilot.press("enter")
        await stage.settle()
        said = str(stage.app.screen.query_one("#setup-text").render())
        assert "in your keyring" in said
        assert "in ~/credentials.toml, readable by you only" in said
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.engine.asked == [FindModels()], "Enter does not keep a key"
        await stage.pilot.press("n")
        assert (await stage.engine.heard(2))[-1] == UseModel(name="gpt-5", api_base="", api_key="topsecret")


async def test_m1_a_provider_without_a_key_asks_for_it_and_keeps_it_after_a_yes(play: Play) -> None:
    wants = ModelOffer(id="anthropic/claude", kind="key", title="Anthropic claude", api_base="", wants_key=True)
    async with play(model="") as stage:
        stage.engine.reply(ModelsFound(offers=(EMBEDDED, wants)))
        await stage.settle()
        await stage.pilot.press(*"anthr", "enter", *"topsecret", "enter")
        await stage.settle()
        assert "topsecret" not in stage.app.export_screenshot()
        await stage.pilot.press("y")
        used = UseModel(name="anthropic/claude", api_base="", api_key="topsecret", keep_key=True)
        assert (await stage.engine.heard(2))[-1] == used


async def test_m1_a_kept_key_is_deleted_from_the_list_of_models_after_a_yes(play: Play) -> None:
    wide, marked = (100, 30), "anthropic/claude"
    used = ModelOffer(id=marked, kind="key", title="Claude", api_base="", current=True)
    theirs = ModelOffer(id="openai/m", kind="server", title="m", api_base="https://host.test/v1/")
    kept: tuple[tuple[str, Literal["keyring", "file"]], ...]
    kept = ("anthropic", "file"), ("https://host.test/v1", "keyring")
    async with play(wide, model=marked) as stage:
        stage.engine.reply(ModelsFound(offers=(used, theirs, SERVER), kept=kept, key_file="~/keys.toml"))
        await stage.screen(SetupScreen)
        await stage.settle()
        assert "ctrl+d" in stage.seen
        await stage.pilot.press("ctrl+d")
        for said in ("Delete the API key of anthropic?", "kept in ~/keys.toml", "has it in memory until you choose"):
            assert said in stage.seen, said
        await stage.pilot.press("enter", "escape", "down", "ctrl+d")
        assert "Delete the API key of https://host.test/v1?" in stage.seen
        assert "in your keyring" in stage.seen
        assert "has it in memory" not in stage.seen
        await stage.pilot.press("escape", "down", "ctrl+d", "y")
        assert (stage.engine.asked, "ctrl+d" in stage.seen) == ([], False)
        await stage.pilot.press("backspace", "home", "ctrl+d", "y")
        assert await stage.engine.heard(1) == [ForgetKey(whose="anthropic")]
        stage.engine.reply(ModelsFound(offers=(used, theirs), kept=kept[1:]))
        await stage.settle()
        assert "ctrl+d" not in stage.seen


async def test_the_status_line_drops_its_least_important_parts_first(play: Play) -> None:
    async with play((10, 10)) as stage:
        stage.engine.say(
            UsageReported(input_tokens=3100, output_tokens=420, cost=0.0012),
            KernelChanged(language="python", state="idle"),
        )
        await stage.settle()
        for width in (10, 20, 30, 40, 60, 80, 120):
            await stage.pilot.resize_terminal(width, 10)
            await stage.settle()
            line = fit_parts(status_parts(stage.app.chat.query_one(StatusBar).status), width - 2)
            assert line.cell_length <= width - 2
            assert line.plain.startswith("qwen")
            assert ("↑3.1k ↓420" in line.plain) == (width >= 60)


async def test_a_finished_run_leaves_nothing_busy(play: Play) -> None:
    async with play() as stage:
        await stage.run_and_ask()
        assert stage.app.chat.bridge.busy
        stage.engine.say(ExecutionFinished(block_id="c1", status="ok", duration=0.1), TurnEnded(reason="done"))
        await stage.settle()
        assert not stage.app.chat.bridge.busy


async def test_what_ran_when_the_session_was_left_does_not_run_after_it_was_resumed(play: Play) -> None:
    async with play(session_id="s1") as stage:
        stage.engine.say(
            stage.opened(),
            CodeStarted(block_id="c1", language="python", author="user"),
            CodeFinished(block_id="c1", language="python", source="1"),
            ExecutionStarted(block_id="c1", generation=1),
            KernelChanged(language="python", state="busy"),
            replay=True,
        )
        stage.engine.say(stage.opened(resumed=True))
        await stage.settle()
        assert not stage.app.chat.bridge.busy
        assert stage.app.chat.query_one(StatusBar).status.kernels == ()
        assert stage.app.chat.query_one(StatusBar).status.activity.word == ""


@pytest.mark.parametrize("width", [30, 40, 60])
def test_that_code_runs_unasked_is_said_on_any_width(width: int) -> None:
    status = Status(model="a-long-name/of-a-model", approval="auto", kernels=(("python", "idle"), ("shell", "idle")))
    assert "auto" in fit_parts(status_parts(status), width).plain


async def test_pages_of_the_timeline_are_turned_from_the_prompt(play: Play) -> None:
    async with play() as stage:
        stage.engine.say(*(NoticeAdded(block_id=str(n), level="info", title=f"Notice {n}") for n in range(60)))
        await stage.settle()
        timeline = stage.app.chat.query_one(Timeline)
        assert timeline.follow
        await stage.pilot.press("pageup")
        await stage.until(lambda: not timeline.follow)
        assert stage.prompt.has_focus
        await stage.pilot.press("pagedown", "pagedown")
        await stage.settle()
        assert timeline.follow


async def test_a_past_that_makes_no_sense_is_told_and_the_screen_stays(play: Play) -> None:
    async with play() as stage:
        senseless = ProseGrew(block_id="p", text=None)  # type: ignore[arg-type]  # what makes no sense
        stage.engine.say(stage.opened(resumed=True), ProseStarted(block_id="p"), senseless, replay=True)
        await stage.until(lambda: stage.app.chat.bridge.stopped)
        (notice,) = notices(stage)
        assert notice.title == "What is written of this session makes no sense."
        assert "/engine" in notice.hint
