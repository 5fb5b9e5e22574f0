"""The settings screen: one is found by a part of its name, understood, changed and reset; and files that are edited."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from textual.widgets import Input

from oi_tui.app.engine.core.encoding import decode_toml
from oi_tui.app.engine.core.events import SettingsChanged
from oi_tui.app.engine.core.kernel_choice import KernelChoice
from oi_tui.app.engine.core.protocol import KernelsFound, ModelOffer, ModelsFound
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import SetApproval, SetBudget, UseKernel, UseModel
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.flags import Flags
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.kernel_screen import KernelScreen
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.app.screens.setting_change import find_danger
from oi_tui.app.screens.setting_line import SettingLineScreen, setting_fault
from oi_tui.app.screens.settings_desk import SettingsDesk
from oi_tui.app.screens.settings_screen import SettingsScreen
from oi_tui.app.screens.setup import SetupScreen
from oi_tui.app.screens.theme_screen import ThemeScreen
from oi_tui.app.settings.catalog import applies_when, setting_catalog
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.lettering import Words
from support.snapshot import Snap
from support.stage import Play, Stage

MINE = """\
# mine
[screen]
theme = "nord" # for the evening
[loop]
max_cost = 2.0
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.chdir(tmp_path)
    path = config_dir() / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    return path


async def opened(stage: Stage, words: str = "") -> SettingsScreen:
    await desk(stage)
    stage.prompt.fill(f"/settings {words}".strip())
    await stage.pilot.press("enter")
    screen = await stage.screen(SettingsScreen)
    await stage.settle()
    return screen


async def desk(stage: Stage) -> SettingsDesk:
    await stage.until(lambda: stage.app.chat.desk.settings)
    found = stage.app.chat.desk.settings
    assert isinstance(found, SettingsDesk)
    return found


async def search(stage: Stage, words: str) -> None:
    screen = await stage.screen(SettingsScreen)
    screen.query_one(Input).value = words
    await stage.until(lambda: screen._rows and words in screen._rows[0].entry.key)


def said(screen: SettingsScreen) -> str:
    return " ".join(str(screen.query_one("#pick-text", Words).visual).split())


async def test_C13_each_kind_of_value_is_found_by_a_few_letters_changed_and_reset(play: Play, file: Path) -> None:
    async with play() as stage:
        screen = await opened(stage, "/bell")
        assert "Ring when approval or input is needed" in said(screen)
        assert "Applies at once." in said(screen)
        await stage.pilot.press("enter")  # a switch
        await stage.settle()
        assert "✓ Saved in config.toml: screen.bell = false. It applies now." in said(screen)

        await search(stage, "screen.theme")
        await stage.pilot.press("enter")  # a choice, the present one highlighted
        await stage.screen(ChooseScreen)
        await stage.pilot.press("down", "enter")
        await stage.until(lambda: stage.app.theme == "rose-pine")

        for key, typed in (
            ("loop.max_steps", "7"),
            ("model.name", "5"),
            ("model.aside", "x/small, y/tiny"),
            ("instructions.variables", '{ team = "data" }'),
        ):
            await search(stage, key)
            await stage.pilot.press("enter")
            line = await stage.screen(SettingLineScreen)
            line.query_one(Input).value = typed
            await stage.pilot.press("enter")
            await stage.screen(SettingsScreen)
            await stage.settle()
            assert f"Saved in config.toml: {key} = " in said(screen)
        assert decode_toml(file.read_text()) == {
            "screen": {"theme": "rose-pine", "bell": False},
            "loop": {"max_cost": 2.0, "max_steps": 7},
            "model": {"name": "5", "aside": ["x/small", "y/tiny"]},
            "instructions": {"variables": {"team": "data"}},
        }
        assert 'theme = "rose-pine" # for the evening' in file.read_text()

        await search(stage, "")
        await stage.pilot.press(*"/sc.th")
        assert not screen._rows
        await stage.pilot.press(*["backspace"] * 3, *"reen.th")
        assert [state.entry.key for state in screen._rows] == ["screen.theme"]
        await stage.pilot.press("delete")
        await stage.until(lambda: stage.app.theme == "harbour")
        assert "✓ Removed from config.toml: screen.theme. It applies now." in said(screen)
        assert "theme" not in file.read_text()
        await stage.pilot.press("escape")
        await stage.settle()
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.screen is stage.app.chat


async def test_C13_a_wrong_value_is_told_while_it_is_typed_and_enter_does_not_take_it(play: Play, file: Path) -> None:
    async with play() as stage:
        await opened(stage, "max_steps")
        await stage.pilot.press("enter")
        line = await stage.screen(SettingLineScreen)
        await stage.pilot.press("ctrl+u", *"0", "enter")
        await stage.settle()
        assert stage.app.screen is line
        assert "It takes a whole number, at least 1." in stage.seen
        await stage.pilot.press("escape")
        await stage.settle()
        assert file.read_text() == MINE


async def test_C14_what_lets_code_do_more_is_said_and_asked_about(play: Play, file: Path) -> None:
    async with play() as stage:
        screen = await opened(stage, "sandbox.mode")
        await stage.pilot.press("enter", "3")
        await stage.screen(ConfirmScreen)
        assert "No sandbox: code has your full permissions." in " ".join(stage.seen.split())
        await stage.pilot.press("n")
        await stage.screen(SettingsScreen)
        assert file.read_text() == MINE
        await stage.pilot.press("enter", "1")  # stricter: nothing is asked
        await stage.settle()
        assert 'Saved in config.toml: sandbox.mode = "read-only"' in said(screen)
        await stage.pilot.press("delete")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("y")  # too early: it was meant for something else
        await stage.settle()
        assert "read-only" in file.read_text()
        await stage.agree()
        await stage.until(lambda: "read-only" not in file.read_text())
        await search(stage, "loop.approve")
        await stage.pilot.press("enter", "2")
        await stage.agree()
        await stage.until(lambda: 'approve = "auto"' in file.read_text())
        assert not any(isinstance(verb, SetApproval) for verb in stage.engine.asked)
        await stage.settle()
        assert "It applies from the next start." in said(screen)


async def test_C13_where_a_value_comes_from_is_shown_and_what_does_not_apply_and_no_secret(
    play: Play, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OI_TUI_THEME", "dracula")
    file.write_text(f'{MINE}[model]\nname = "x"\napi_base = "http://me:q3q3@127.0.0.1/v1"\n')
    async with play() as stage:
        screen = await opened(stage, "screen.theme")
        assert "Set by OI_TUI_THEME" in said(screen)
        assert 'Your file says "nord", which does not apply now: OI_TUI_THEME is set.' in said(screen)
        await search(stage, "api_base")
        await stage.settle()
        assert f"Set by {file}:8" in said(screen)
        assert "q3q3" not in stage.seen
        await stage.pilot.press("enter")
        await stage.settle()
        assert "It may hold a secret" in said(screen)
        await stage.pilot.press("ctrl+u", "tab")
        await stage.settle()
        assert [state.entry.key for state in screen._rows] == [
            "model.name",
            "model.api_base",
            "loop.max_cost",
            "screen.theme",
        ]


async def test_C13_a_file_with_a_mistake_is_named_and_mended_in_the_editor(
    play: Play, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        "new = text.replace('stepz', 'step') if 'stepz' in text else text.replace('step ', 'steps ')\n"
        "file.write_text(new)\n"
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    async with play() as stage:
        await desk(stage)
        file.write_text("[loop]\nmax_stepz = 3\n")
        screen = await opened(stage)
        assert "config.toml:2: loop: unknown key `max_stepz`. Did you mean 'max_steps'?" in said(screen)
        await stage.pilot.press("ctrl+g")  # another mistake
        await stage.screen(ConfirmScreen)
        assert "max_stepz" in file.read_text()
        await stage.pilot.press("y")
        await stage.until(lambda: "max_steps = 3" in file.read_text())
        await stage.settle()
        assert "✓ Saved in config.toml" in said(screen)
        assert len(screen._rows) > 80


async def test_C13_the_screen_looks_like_its_picture(play: Play, file: Path, snap: Snap) -> None:
    async with play(size=(80, 24)) as stage:
        screen = await opened(stage, "max")
        screen.query_one("#pick-title", Words).update("Settings · ~/.config/oi-tui/config.toml")
        await stage.pilot.press("down")
        await stage.settle()
        await snap(stage.pilot)


async def test_C15_an_edited_file_applies_as_far_as_it_can_and_nothing_milder_does(play: Play, file: Path) -> None:
    async with play(settings=Settings()) as stage:
        control = (await desk(stage)).control
        assert control.look() == ("", False)

        def edit(text: str) -> tuple[str, bool]:
            file.write_text(text)
            os.utime(file, (0, hash(text) % 1_000_000))
            assert control.look() == ("", False)  # it may still be written
            return control.look()

        assert edit(MINE.replace("nord", "dracula").replace("2.0", "3.0")) == (
            "Settings changed: loop.max_cost, screen.theme now.",
            False,
        )
        await stage.settle()
        assert stage.app.theme == "dracula"
        assert stage.engine.asked == [SetBudget(max_cost=3.0)]  # a limit of tokens of this session stays

        words, failed = edit("[screen]\ntheme = 'nord'\n[loop]\nmax_cots = 3.0\n")
        assert failed
        assert words.startswith(f"{file}:4: loop: unknown key `max_cots`. Did you mean 'max_cost'?")
        assert control.look() == ("", False)  # told once
        assert stage.app.theme == "dracula"
        same = MINE.replace("nord", "dracula").replace("2.0", "3.0")
        assert edit(same) == ("The settings file has no mistake any more.", False)

        words, _ = edit(f'{same}approve = "never"\n[sandbox]\nmode = "danger-full-access"\n')
        assert words == "Settings changed: loop.approve now, sandbox.mode from the next start."
        words, _ = edit(f'{same}approve = "auto"\n')
        assert words == "Settings changed: loop.approve, sandbox.mode from the next start."
        await stage.settle()
        assert stage.engine.asked[1:] == [SetApproval(mode="never")]


async def test_C15_the_files_are_looked_at_while_the_program_runs(play: Play, file: Path) -> None:
    profile = file.parent / "profiles" / "work.toml"
    profile.parent.mkdir()
    profile.write_text("[loop]\nmax_tokens = 9\n")
    async with play(flags=Flags(profile="work")) as stage:
        control = (await desk(stage)).control
        await stage.until(lambda: control._applied is not None)
        profile.write_text("[screen]\ntheme = 'gruvbox'\n")
        await stage.until(lambda: stage.app.theme == "gruvbox")
        assert stage.told("Settings changed: loop.max_tokens, screen.theme now.")
        file.write_text("[screen\n")
        await stage.until(lambda: stage.told("config.toml is not valid TOML"))
        assert stage.told("To mend it: oi-tui config edit. The settings stay as they were.")
        assert stage.app.theme == "gruvbox"


async def test_C21_keys_that_change_in_the_files_are_bound_at_once(play: Play, file: Path) -> None:
    async with play() as stage:
        settings = await desk(stage)
        hint = stage.app.chat.query_one(Composer)

        def shows(keys: str) -> Callable[[], bool]:
            return lambda: hint.hint == keys

        for text, keys in (
            ("[screen]\nkeys = 'emacs'\n", "alt+x commands · F1 help"),
            ("[keys]\npalette = 'f9'\nhelp = 'none'\n", "f9 commands"),
            ("", "ctrl+p commands · F1 help"),
        ):
            file.write_text(text)
            change = settings.control.refresh()
            assert not change.later
            await stage.until(shows(keys))
        assert not stage.app.keymap


async def test_C7_C6_what_became_of_the_settings_files_is_said_on_the_screen(play: Play, file: Path) -> None:
    file.rename(file.with_name("settings.toml"))
    flags = Flags()
    place = flags.workplace()
    assert file.read_text() == MINE
    async with play(settings=place.settings, workplace=place, flags=flags) as stage:
        await stage.until(lambda: stage.told("Your settings are in config.toml now"))


def test_C13_every_setting_says_what_it_means_and_what_it_takes() -> None:
    entries = setting_catalog()
    assert [entry.key for entry in entries if not entry.help or not entry.values] == []
    for entry in entries:
        assert applies_when(entry.key).startswith(("Applies", "A stricter"))


@pytest.mark.parametrize(
    ("key", "typed", "fault"),
    [
        ("model.retries", "11", "It takes a whole number, at least 0 and at most 10."),
        ("model.temperature", "hot", "It takes a number."),
        ("model.temperature", "", ""),
        ("model.name", "true", ""),
        ("sandbox.hosts", "a.org b.org", ""),
        ("model.prices", '{ "a/b" = [1, 2] }', ""),
        ("model.prices", '{ "a/b" = 1 }', "model.prices[...]: Expected `array`, got `int`."),
        ("model.extra.headers", '{ Host = "x" }', "model.extra: headers.Host cannot be set: oi-tui sets it."),
    ],
)
def test_C13_what_is_typed_is_judged(key: str, typed: str, fault: str) -> None:
    entry = next(entry for entry in setting_catalog() if entry.key == key)
    assert setting_fault(entry, typed) == fault


@pytest.mark.parametrize(
    ("before", "after", "key", "words"),
    [
        ({}, {"sandbox": {"network": "full"}}, "sandbox.network", "the whole network"),
        ({"sandbox": {"network": "full"}}, {}, "sandbox.network", ""),
        ({}, {"sandbox": {"readable": ["/srv"]}}, "sandbox.readable", "less strict"),
        ({}, {"loop": {"max_cost": 5.0}}, "loop.max_cost", ""),
        ({}, {"sandbox": {"hosts": ["a.org"]}}, "sandbox.hosts", "less strict"),
        ({}, {"policy": {"mode": "bypassPermissions"}}, "policy.mode", "without your approval"),
        ({"policy": {"mode": "plan"}}, {}, "policy.mode", "less strict"),
        ({"policy": {"auto_run": False}}, {}, "policy.auto_run", "less strict"),
        ({}, {"policy": {"allow": ["Shell(a *)"]}}, "policy.allow", "less strict"),
        ({"policy": {"deny": ["Shell(a *)"]}}, {}, "policy.deny", "less strict"),
        ({}, {"policy": {"deny": ["Shell(a *)"]}}, "policy.deny", ""),
        ({}, {"policy": {"allow_destructive": True}}, "policy.allow_destructive", "Deletes"),
        ({}, {"loop": {"max_steps": 50}}, "loop.max_steps", ""),
        ({}, {"screen": {"theme": "nord"}}, "screen.theme", ""),
    ],
)
def test_C14_what_protects_less_is_known(
    before: dict[str, object], after: dict[str, object], key: str, words: str
) -> None:
    danger = find_danger(msgspec.convert(before, Settings), msgspec.convert(after, Settings), tuple(key.split(".")))
    assert (words in danger) if words else danger == ""


async def test_C18_what_a_list_chose_is_written_only_by_the_key_for_that(play: Play, file: Path) -> None:
    async with play() as stage:
        await desk(stage)
        stage.prompt.fill("/theme")
        await stage.pilot.press("enter")
        await stage.screen(ThemeScreen)
        await stage.pilot.press(*"gruv", "enter")
        await stage.until(lambda: stage.app.theme == "gruvbox")
        assert file.read_text() == MINE
        stage.prompt.fill("/theme")
        await stage.pilot.press("enter")
        await stage.screen(ThemeScreen)
        await stage.pilot.press(*"drac", "ctrl+s")
        await stage.until(lambda: stage.told('Saved in config.toml: screen.theme = "dracula".'))
        assert 'theme = "dracula" # for the evening' in file.read_text()

        stage.prompt.fill("/approve")
        await stage.pilot.press("enter")
        await stage.screen(PaletteScreen)
        await stage.pilot.press(*"nev", "ctrl+s")  # stricter
        await stage.until(lambda: stage.told('Saved in config.toml: loop.approve = "never".'))
        assert SetApproval(mode="never") in stage.engine.asked
        stage.prompt.fill("/approve")
        await stage.pilot.press("enter")
        await stage.screen(PaletteScreen)
        await stage.pilot.press(*"aut", "ctrl+s")
        await stage.screen(ConfirmScreen)  # the session has it; new ones only if that is meant
        await stage.pilot.press("n")
        await stage.settle()
        assert stage.engine.asked[-1] == SetApproval(mode="auto")
        assert 'approve = "never"' in file.read_text()

        stage.prompt.fill("/kernel")
        await stage.pilot.press("enter")
        found = KernelChoice(name=".venv", kind="environment", title="Python 3.11.7 in .venv")
        stage.engine.reply(KernelsFound(choices=(found,)))
        await stage.screen(KernelScreen)
        await stage.settle()
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: stage.told('Saved in config.toml: kernel.python = ".venv".'))
        assert UseKernel(name=".venv") in stage.engine.asked


async def test_C18_a_model_is_written_when_it_is_in_use(play: Play, file: Path) -> None:
    file.write_text(f'{MINE}[model]\nname = "old"\napi_base = "http://127.0.0.1:1/v1"\n')
    offers = (
        ModelOffer(id="openai/gpt-5", kind="key", title="GPT-5"),
        ModelOffer(id="ollama/x", kind="key", title="x"),
    )
    (file.parent / "profiles").mkdir()
    (file.parent / "profiles" / "work.toml").write_text('[model]\nname = "ollama/work"\n')
    async with play(flags=Flags(profile="work")) as stage:
        await desk(stage)
        stage.prompt.fill("/model")
        await stage.pilot.press("enter")
        stage.engine.reply(ModelsFound(offers=offers))
        await stage.screen(SetupScreen)
        await stage.settle()
        await stage.pilot.press(*"gpt", "ctrl+s")
        await stage.settle()
        assert stage.engine.asked[-1] == UseModel(name="openai/gpt-5", keep=True)
        assert 'name = "old"' in file.read_text()
        stage.engine.say(SettingsChanged(model="openai/gpt-5", approval="ask"))
        await stage.until(lambda: 'name = "openai/gpt-5"' in file.read_text())
        assert "api_base" not in file.read_text()
        saved = 'Saved in config.toml: model.name = "openai/gpt-5". But the profile work sets it, and is used instead.'
        await stage.until(lambda: stage.told(saved))
