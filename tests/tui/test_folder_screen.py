"""The first start in a folder: nothing runs before a choice, Enter is on a safe one, and it holds from then on."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.widgets import OptionList

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.settings import SandboxSection, Settings
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.sandbox.availability import Availability
from oi_tui.app.engine.sandbox.gaps import OPEN_SOCKETS
from oi_tui.app.engine.trust.folder_check import FolderCheck, read_folder
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.engine.trust.folder_digests import folder_digests
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.screens.folder import FolderScreen
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.status import StatusBar
from support.snapshot import Snap
from support.stage import Play, Stage

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["narrow", "wide"])

WORKS = Availability(True)
MISSING = Availability(False, "There is no sandbox here: bubblewrap is not installed.", "sudo apt install bubblewrap")
FORBIDDEN = Availability(
    False,
    "The sandbox could not be set up. bwrap: setting up uid map: Permission denied",
    "AppArmor forbids it, as on Ubuntu from 24.04 on. For all programs, until the next boot, this allows it:\n"
    "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
)

RULES = """\
deny = ["Shell(rm *)", "Edit(.git/**)"]
ask = ["Shell(git push *)"]
allow = ["Shell(git log *)", "Shell(make test)"]
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "data"
    folder.mkdir(parents=True)
    return folder


Place = Callable[..., Workplace]


@pytest.fixture
def place(data: Path, tmp_path: Path) -> Place:
    def started(mode: str = "", *, folder: Path = data) -> Workplace:
        sandbox = SandboxSection(mode=mode) if mode else SandboxSection()  # type: ignore[arg-type]  # a literal
        folders = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid())
        setup = Configure(settings=Settings(sandbox=sandbox), cwd=str(folder))
        return Workplace(setup, said={"sandbox.mode"} if mode else set(), folders=folders)

    return started


def bring(folder: Path, rules: str = RULES, config: str = "") -> None:
    """Put a project's own rules into the folder."""
    (folder / ".oi").mkdir()
    for name, text in (("permissions.toml", rules), ("config.toml", config)):
        (folder / ".oi" / name).write_text(text)
        (folder / ".oi" / name).chmod(0o644)


async def shown(
    stage: Stage, place: Workplace, writing: Availability = WORKS, reading: Availability = WORKS, **options: Any
) -> FolderScreen:
    """The screen over the chat, with what a trial would find; what was chosen is in `stage.chosen`."""
    stage.chosen.clear()
    screen = FolderScreen(
        place, look=lambda folder, _: FolderCheck(read_folder(folder), writing, reading), clock=stage.clock, **options
    )
    await stage.app.push_screen(screen, stage.chosen.append)
    while screen.query_one(OptionList).highlighted is None:
        await stage.pilot.pause()
    await stage.settle()
    return screen


async def asked(stage: Stage) -> FolderScreen:
    """The screen that the program shows by itself, once a choice is marked."""
    screen = await stage.screen(FolderScreen)
    await stage.until(lambda: screen.query_one(OptionList).highlighted is not None)
    return screen


async def arm(stage: Stage, screen: FolderScreen) -> None:
    await stage.settle()
    stage.wait(5.0, screen.show_arming)
    await stage.settle()


def marked(screen: FolderScreen) -> str:
    """The choice that Enter would take."""
    choices = screen.query_one(OptionList)
    return str(choices.get_option_at_index(choices.highlighted or 0).prompt).strip()


# -- as a part of the start ---------------------------------------------------------------------------


async def test_S20_nothing_is_started_before_a_choice_and_it_is_not_asked_for_again(play: Play, place: Place) -> None:
    first = place()
    async with play((100, 30), workplace=first) as stage:
        screen = await asked(stage)
        assert stage.engines == []
        await arm(stage, screen)
        await stage.pilot.press("w", "enter")
        await stage.until(lambda: bool(stage.engines))
        assert stage.app.screen is stage.app.chat
        assert stage.app.chat.query_one(StatusBar).status.sandbox == "no sandbox"
        assert first.setup.settings.sandbox.mode == "danger-full-access"
    again = place()
    assert not again.is_undecided
    async with play((100, 30), workplace=again) as stage:
        assert stage.engines
        assert not isinstance(stage.app.screen, FolderScreen)


async def test_U9_a_trusted_folder_is_asked_about_again_when_its_rules_changed(
    play: Play, place: Place, data: Path
) -> None:
    bring(data)
    place().choose("trust")
    assert not place().is_undecided
    (data / ".oi" / "permissions.toml").write_text('allow = ["Shell(cat *)"]\n')
    now = place()
    async with play((100, 30), workplace=now) as stage:
        screen = await asked(stage)
        await stage.settle()
        assert stage.engines == []
        assert "The rules of this folder changed since you trusted it." in stage.seen
        assert "Shell(cat *)" in stage.seen
        await arm(stage, screen)
        await stage.pilot.press("w", "enter")  # which trusts it as well
        await stage.until(lambda: bool(stage.engines))
    assert now.setup.trusted
    assert now.setup.rules == folder_digests(data).rules
    assert not place().is_undecided


async def test_who_leaves_has_decided_nothing_and_the_program_ends(play: Play, place: Place) -> None:
    undecided = place()
    async with play(workplace=undecided) as stage:
        await stage.screen(FolderScreen)
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.is_running or stage.app._exit)
        assert stage.engines == []
    assert place().is_undecided


# -- by itself ----------------------------------------------------------------------------------------


async def test_enter_trusts_where_the_sandbox_works(play: Play, place: Place) -> None:
    async with play() as stage:
        now = place()
        screen = await shown(stage, now)
        assert marked(screen).startswith("▸ Trust this folder")
        await arm(stage, screen)
        await stage.pilot.press("enter")
        assert stage.chosen == ["trust"]
        assert (now.setup.trusted, now.settings.sandbox.mode) == (True, "workspace-write")


async def test_U4_what_would_count_is_read_to_its_end_before_the_folder_can_be_trusted(
    play: Play, place: Place, data: Path
) -> None:
    allow = ", ".join(f'"Shell(tool{number} x)"' for number in range(40))
    bring(data, f"allow = [{allow}]\n")
    async with play(size=(80, 24)) as stage:
        now = place()
        screen = await shown(stage, now)
        await arm(stage, screen)
        await stage.pilot.press("t", "enter")
        await stage.settle()
        assert stage.chosen == []
        assert "Read the list to its end first" in stage.seen
        for _ in range(12):
            await stage.pilot.press("pagedown")
            await stage.settle()
        assert "tool39" in stage.seen
        await arm(stage, screen)
        await stage.pilot.press("t", "enter")
        await stage.settle()
        assert stage.chosen == ["trust"]


async def test_V2_a_click_marks_and_decides_nothing(play: Play, place: Place) -> None:
    async with play(size=(100, 30)) as stage:
        screen = await shown(stage, place())
        await arm(stage, screen)
        choices = screen.query_one(OptionList)
        last = choices.option_count - 1
        await stage.pilot.click(OptionList, offset=(6, choices.size.height - 1))
        await stage.settle()
        assert stage.chosen == []
        assert choices.highlighted == last


async def test_U2_keys_that_were_typed_before_it_was_seen_choose_nothing(play: Play, place: Place) -> None:
    async with play() as stage:
        screen = await shown(stage, place())
        await stage.pilot.press(*"wow", "enter")
        assert stage.chosen == []
        stage.wait(0.9, screen.show_arming)  # the keyboard was not quiet for long enough
        await stage.pilot.press("enter")
        assert stage.chosen == []
        assert not screen.query_one(KeyRow).labels[0].enabled
        await arm(stage, screen)
        assert screen.query_one(KeyRow).labels[0].enabled
        await stage.pilot.press("enter")
        assert stage.chosen == ["open"]


@pytest.mark.parametrize("typed", ["sum it", "two sums", "build it", "quit smoking", "ok", " t", "you"])
async def test_U2_a_sentence_typed_at_the_question_goes_to_the_prompt_and_decides_nothing(
    play: Play, place: Place, typed: str
) -> None:
    now = place()
    async with play((100, 30), workplace=now) as stage:
        screen = await asked(stage)
        await arm(stage, screen)
        safe = marked(screen)
        await stage.pilot.press(*(key_of(letter) for letter in f"{typed}x"), "backspace", "enter")
        await stage.settle()
        assert now.decision is None
        assert marked(screen) == safe
        assert "What you type goes to the prompt. Pause to answer." in stage.seen
        await arm(stage, screen)
        assert "What you type goes to the prompt" not in stage.seen
        await stage.pilot.press("enter")
        await stage.until(lambda: bool(stage.engines))
        assert stage.prompt.text == typed
        await stage.pilot.press("enter")
        assert Submit(text=typed) in await stage.engine.heard(1)


def key_of(letter: str) -> str:
    return "space" if letter == " " else letter


async def test_U2_what_is_pasted_at_the_question_goes_to_the_prompt(play: Play, place: Place) -> None:
    now = place()
    async with play((100, 30), workplace=now) as stage:
        screen = await asked(stage)
        await arm(stage, screen)
        stage.app.post_message(Paste("sum it\n"))
        await stage.pilot.press("enter")
        await stage.settle()
        assert now.decision is None
        assert stage.prompt.text == "sum it\n"


@pytest.mark.parametrize("why", [MISSING, FORBIDDEN], ids=["missing", "forbidden"])
async def test_S20_where_there_is_no_sandbox_enter_is_never_on_doing_without(
    play: Play, place: Place, why: Availability
) -> None:
    async with play() as stage:
        now = place()
        screen = await shown(stage, now, why, why)
        assert why.fix.split()[0] in stage.seen
        assert marked(screen).startswith("▸ No code")
        await stage.pilot.press("t")
        assert marked(screen).startswith("▸ No code")  # it cannot be trusted without a sandbox
        await stage.pilot.press("up", "up", "up")
        assert not marked(screen).startswith("▸ Trust")
        await stage.pilot.press("o")
        await arm(stage, screen)
        await stage.pilot.press("enter")
        assert stage.chosen == ["look"]
        assert now.settings.sandbox.mode == "read-only"


async def test_where_only_a_stricter_sandbox_works_that_is_said_and_offered(play: Play, place: Place) -> None:
    async with play() as stage:
        screen = await shown(stage, place(), MISSING, WORKS)
        assert marked(screen).startswith("▸ Read-only")


@SIZES
async def test_S15_what_the_sandbox_leaves_open_is_said_where_the_folder_is_decided_about(
    play: Play, place: Place, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await shown(stage, place(), Availability(True, gaps=(OPEN_SOCKETS,)))
        assert "the sandbox works" in stage.seen
        assert "gap: this Linux is older than 6.12" in stage.seen
        assert "D-Bus)" in stage.seen  # to its end, also where the line is short


async def test_U11_what_cannot_be_relied_on_cannot_be_trusted(play: Play, place: Place, data: Path) -> None:
    bring(data, "deny = ['Shel(rm)']")
    async with play((120, 30)) as stage:
        screen = await shown(stage, place())
        assert "'Shel' is no tool" in stage.seen
        for key in ("t", "w"):
            await stage.pilot.press(key)
            assert marked(screen).startswith("▸ Read-only")


async def test_U9_every_rule_that_allows_is_shown_as_it_is(play: Play, place: Place, data: Path) -> None:
    bring(data, 'allow = ["Shell(git [bold]x[/b] \\u202elog x)"]', "[loop]\nmax_steps = 3\n")
    (data / "CLAUDE.md").write_text("")
    (data / "AGENTS.md").write_text("Use polars.\u202e")
    async with play((120, 30)) as stage:
        await shown(stage, place())
        text = stage.seen
        assert "Shell(git [bold]x[/b] <U+202E>log x)" in text
        assert "loop.max_steps = 3" in text
        assert "not read by oi-tui: CLAUDE.md" in text
        assert "AGENTS.md, 12 characters" in text


async def test_what_is_longer_than_its_room_can_be_read_and_the_choices_stay(
    play: Play, place: Place, data: Path
) -> None:
    bring(data, "\n".join(f'[[rule]]\nrule = "Shell(make {n})"\ndecision = "allow"' for n in range(60)))
    async with play((80, 24)) as stage:
        screen = await shown(stage, place())
        screen.show_arming()
        await stage.settle()
        assert "Shell(make 59)" not in stage.seen
        assert "pgdn" in [label.key for label in screen.query_one(KeyRow).labels]
        for _ in range(30):
            await stage.pilot.press("pagedown")
        assert "Shell(make 59)" in stage.seen
        assert "No sandbox" in stage.seen


async def test_with_a_sandbox_said_elsewhere_only_trust_is_asked_about(play: Play, place: Place, data: Path) -> None:
    bring(data)
    async with play((100, 30)) as stage:
        screen = await shown(stage, place("danger-full-access"), MISSING, MISSING)
        assert "Your settings say so" in stage.seen
        assert "No sandbox" not in stage.seen
        assert marked(screen).startswith("▸ No code")
        await stage.pilot.press("t")
        assert marked(screen).startswith("▸ Trust this folder")


async def test_S3_working_in_the_home_folder_is_warned_about(play: Play, place: Place, data: Path) -> None:
    async with play((100, 30)) as stage:
        await shown(stage, place(folder=data.parent))
        assert "This is your home folder" in stage.seen


async def test_what_holds_all_folders_is_not_remembered_and_says_so(play: Play, place: Place, data: Path) -> None:
    async with play((100, 30)) as stage:
        await shown(stage, place(folder=data.parent.parent))
        assert "contains your home folder" in stage.seen
        assert "is not remembered" in stage.seen


async def test_a_decision_that_cannot_be_written_down_is_none(play: Play, place: Place, tmp_path: Path) -> None:
    async with play((100, 30)) as stage:
        now = place()
        screen = await shown(stage, now)
        (tmp_path / "folders.toml").write_text("[folder")
        await arm(stage, screen)
        await stage.pilot.press("enter")
        assert stage.chosen == []
        assert "record of folders" in stage.seen
        assert now.is_undecided


async def test_U2_an_enter_is_judged_by_when_it_came_and_counts_for_nothing_where_the_program_stood_still(
    play: Play, place: Place
) -> None:
    async with play() as stage:
        screen = await shown(stage, place())
        await arm(stage, screen)
        early = Key("enter", "\r")
        early.time -= 60.0
        stage.app.post_message(early)
        await stage.settle()
        assert stage.chosen == []
        await arm(stage, screen)
        stage.clock.now += 60.0
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.chosen == []
        await arm(stage, screen)
        await stage.pilot.press("enter")
        assert len(stage.chosen) == 1


async def test_keys_are_not_kept_waiting_while_it_is_looked(play: Play, place: Place) -> None:
    go_on = threading.Event()

    def slow(folder: Path, _: SandboxSection) -> FolderCheck:
        go_on.wait(10)
        return FolderCheck(read_folder(folder), WORKS, WORKS)

    async with play() as stage:
        chosen: list[object] = []
        await stage.app.push_screen(FolderScreen(place(), look=slow, clock=stage.clock), chosen.append)
        await stage.settle()
        assert "testing the sandbox" in stage.seen
        stage.clock.now += 5
        await stage.pilot.press("enter")
        assert chosen == []
        await stage.pilot.press("escape")
        assert chosen == [None]
        go_on.set()


# -- /sandbox -----------------------------------------------------------------------------------------


async def test_the_marks_do_not_go_around_to_the_gravest_choice(play: Play, place: Place) -> None:
    async with play((100, 30)) as stage:
        screen = await shown(stage, place())
        first = marked(screen)
        await stage.pilot.press("up", "up")
        assert marked(screen) == first
        await stage.pilot.press(*["down"] * 9)
        last = marked(screen)
        await stage.pilot.press("down")
        assert marked(screen) == last != first


@pytest.mark.parametrize("size", [(40, 10), (60, 12)])
async def test_on_a_small_screen_all_choices_are_seen_and_the_rest_is_paged_through(
    play: Play, place: Place, data: Path, size: tuple[int, int]
) -> None:
    bring(data)
    async with play(size) as stage:
        screen = await shown(stage, place())
        choices = screen.query_one(OptionList)
        assert choices.region.height == choices.option_count
        assert screen.region.contains_region(choices.region)
        await arm(stage, screen)
        await stage.pilot.press("o")
        await stage.pilot.resize_terminal(70, 13)
        await stage.settle()
        assert marked(screen).startswith("▸ Read-only")
        await stage.pilot.press("t", "enter")
        assert not stage.chosen
        for _ in range(20):
            await stage.pilot.press("pagedown")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.chosen == ["trust"])


async def test_slash_sandbox_tells_what_holds_and_another_choice_begins_a_new_engine(
    play: Play, place: Place, snap: Snap
) -> None:
    now = place()
    now.choose("open")
    async with play((100, 30), workplace=now, settings=now.settings) as stage:
        await stage.pilot.press(*"/sandbox", "enter")
        screen = await asked(stage)
        assert "You trust this folder." in stage.seen
        assert "no sandbox: it has your full permissions" in " ".join(stage.seen.split())
        await arm(stage, screen)
        await stage.pilot.press("o", "enter")
        await stage.until(lambda: len(stage.engines) == 2)
        assert stage.engines[0].closed
        stage.engine.say(stage.opened())
        await stage.settle()
        assert not stage.app.chat.bridge.stopped
        assert stage.app.chat.query_one(StatusBar).status.sandbox == "sandbox read-only, no network"
        assert now.settings.sandbox.mode == "read-only"


async def test_slash_sandbox_left_or_chosen_as_it_is_changes_nothing(play: Play, place: Place) -> None:
    now = place()
    now.choose("look")
    async with play((100, 30), workplace=now, settings=now.settings) as stage:
        for keys in (("escape",), ("o", "enter")):
            await stage.pilot.press(*"/sandbox", "enter")
            screen = await asked(stage)
            await arm(stage, screen)
            await stage.pilot.press(*keys)
            await stage.until(lambda: stage.app.screen is stage.app.chat)
        await stage.settle()
        assert len(stage.engines) == 1


async def test_slash_sandbox_breaks_nothing_off(play: Play, place: Place) -> None:
    now = place()
    now.choose("look")
    async with play((100, 30), workplace=now, settings=now.settings) as stage:
        await stage.run_and_ask()
        await stage.pilot.press("escape")
        await stage.app.run_action("app.sandbox")
        await stage.settle()
        assert stage.app.screen is stage.app.chat


async def test_what_is_found_out_when_the_question_was_left_already_goes_nowhere(play: Play, place: Place) -> None:
    async with play() as stage:
        screen = await shown(stage, place())
        await stage.pilot.press("escape")
        await stage.until(lambda: not screen.query(OptionList))
        await screen._find_out()  # its worker is ended a moment after the widgets are
        assert stage.chosen == [None]


# -- pictures -----------------------------------------------------------------------------------------


@SIZES
@pytest.mark.parametrize("state", ["works", "missing", "rules", "changed"])
async def test_the_first_start_in_a_folder_looks_like_its_picture(
    play: Play, place: Place, snap: Snap, data: Path, size: tuple[int, int], state: str
) -> None:
    if state == "rules":
        bring(data, config="[loop]\nmax_steps = 5\n")
        (data / "AGENTS.md").write_text("Use polars.\n" * 9_000)
        (data / ".env").write_text("")
    if state == "changed":
        bring(data, "allow = []")
        place().choose("trust")
        (data / ".oi" / "permissions.toml").write_text(RULES)
    async with play(size) as stage:
        found = FORBIDDEN if state == "missing" else WORKS
        screen = await shown(stage, place(), found, found)
        await arm(stage, screen)
        await snap(stage.pilot)


async def test_U9_the_environment_that_trust_would_switch_on_is_named(play: Play, place: Place, data: Path) -> None:
    prefix = data / ".venv"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text("version = {}.{}.1\n".format(*sys.version_info))
    async with play((100, 30)) as stage:
        await shown(stage, place())
        version = "{}.{}.1".format(*sys.version_info)
        assert f"code runs in its .venv (Python {version})" in stage.seen
