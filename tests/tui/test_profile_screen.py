"""Row C10: the list of profiles: what each changes, used in the session, made a default, begun anew."""

from pathlib import Path

import pytest
from textual.widgets import Input

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import SetApproval, SetBudget
from oi_tui.app.engine.files.settings_file import load_layers
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.line_ask import LineAskScreen
from oi_tui.app.screens.profile_desk import ProfileDesk
from oi_tui.app.screens.profile_screen import ProfileScreen
from oi_tui.widgets.lettering import Options
from support.stage import Play, Stage


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's settings, with two profiles of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    profiles = tmp_path / "oi-tui" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "bold.toml").write_text('# no questions\n[loop]\napprove = "auto"\n')
    (profiles / "broken.toml").write_text("# mine\n[loop]\nmax_step = 1\n")
    return profiles.parent


async def opened(stage: Stage) -> ProfileScreen:
    await stage.pilot.press(*"/profile", "enter")
    return await stage.screen(ProfileScreen)


async def highlight(stage: Stage, name: str) -> None:
    picker = await stage.screen(ProfileScreen)
    at = next(at for at, row in enumerate(picker.rows) if row.file.name == name)
    picker.query_one(Options).highlighted = at
    await stage.settle()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_C10_the_list_shows_what_each_changes_and_enter_uses_it(
    play: Play, config: Path, size: tuple[int, int]
) -> None:
    async with play(size) as stage:
        await opened(stage)
        await highlight(stage, "cautious")
        assert "sandbox.mode = read-only  (now workspace-write)  ▲ stricter" in stage.seen
        assert "cautious · shipped" in stage.seen
        assert ">back<" in stage.seen, "the row of keys is on the screen"
        await stage.pilot.press("enter")
        asked = await stage.engine.heard(2)
        assert asked == [SetApproval(mode="ask"), SetBudget(max_cost=0.5, max_tokens=0)]
        assert "from the next start with" in stage.seen
        await opened(stage)
        assert "✓ in use" in stage.seen
        await stage.pilot.press("escape")
        assert stage.app.screen is stage.app.chat


async def test_C10_a_profile_that_changes_much_can_be_read_to_its_end(play: Play, config: Path) -> None:
    many = "".join(f"{key} = 9.0\n" for key in ("temperature", "timeout", "content_timeout", "answer_timeout", "cache"))
    limits = "".join(f"{key} = 9\n" for key in ("turn", "day", "month", "requests_per_minute", "tokens_per_minute"))
    (config / "profiles" / "much.toml").write_text(f"# much\n[model]\n{many}[budget]\n{limits}")
    async with play() as stage:
        await opened(stage)
        await highlight(stage, "much")
        assert "budget.tokens_per_minute" not in stage.seen
        await stage.pilot.press("pagedown")
        await stage.until(lambda: "budget.tokens_per_minute = 9" in stage.seen)


async def test_C10_a_milder_profile_is_used_after_a_yes_only(play: Play, config: Path) -> None:
    async with play() as stage:
        for answer, verbs in (("n", []), ("y", [SetApproval(mode="auto")])):
            await opened(stage)
            await highlight(stage, "bold")
            assert "loop.approve = auto  (now ask)  ▼ less strict" in stage.seen
            await stage.pilot.press("enter")
            await stage.screen(ConfirmScreen)
            await stage.pilot.press("enter")
            await stage.settle()
            assert stage.engine.asked == [], "Enter answers no question"
            await (stage.agree() if answer == "y" else stage.pilot.press(answer))
            await stage.settle()
            assert stage.engine.asked == verbs
        stage.engine.asked.clear()
        await stage.pilot.press(*"/profile bold", "enter")
        await stage.screen(ConfirmScreen)


async def test_C9_keys_make_a_profile_the_default_of_this_folder_or_of_all(
    play: Play, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with play() as stage:
        await opened(stage)
        await highlight(stage, "offline")
        await stage.pilot.press("ctrl+f")
        await stage.until(lambda: "default here" in stage.seen)
        await highlight(stage, "local")
        await stage.pilot.press("ctrl+s")
        await stage.until(lambda: "in all folders begin with local" in stage.seen)
        await highlight(stage, "bold")
        await stage.pilot.press("ctrl+s")
        await stage.screen(ConfirmScreen)
        await stage.pilot.press("n")
        await stage.screen(ProfileScreen)
    loaded = load_layers(config, environ={}, cwd=tmp_path)
    assert (loaded.profile, loaded.settings.profile.default) == ("offline", "local")


async def test_C8_a_profile_with_a_mistake_is_named_and_cannot_be_used(play: Play, config: Path) -> None:
    async with play((120, 40)) as stage:
        await opened(stage)
        await highlight(stage, "broken")
        assert "Did you mean 'max_steps'?" in stage.seen
        await stage.pilot.press("enter", "ctrl+f")
        await stage.settle()
        assert isinstance(stage.app.screen, ProfileScreen)
        assert stage.engine.asked == []
        assert not (config / "config.toml").exists()


async def test_C8_a_new_one_begins_with_what_the_highlighted_one_says(play: Play, config: Path) -> None:
    async with play() as stage:
        await opened(stage)
        await highlight(stage, "cautious")
        await stage.pilot.press("ctrl+a")
        await stage.screen(LineAskScreen)
        await stage.pilot.press(*"careful", "enter")
        await stage.until(lambda: "careful · yours" in stage.seen)
        await stage.pilot.press("ctrl+a")
        asking = await stage.screen(LineAskScreen)
        asking.query_one(Input).value = "../careful"
        await stage.pilot.press("enter")
        await stage.until(lambda: "is no name of a profile" in stage.seen)
    assert "max_steps = 10" in (config / "profiles" / "careful.toml").read_text()


async def test_C9_default_takes_a_choice_back(play: Play, config: Path, tmp_path: Path) -> None:
    async with play() as stage:
        desk = ProfileDesk(stage.app, stage.app.chat, tmp_path, "")
        desk.keep("offline", here=True)
        desk.keep("default", here=True)
        assert load_layers(config, environ={}, cwd=tmp_path).settings.profile == Settings().profile
        desk.keep("offline", here=False)
        desk.keep("default", here=True)
        assert load_layers(config, environ={}, cwd=tmp_path).profile == ""
        assert load_layers(config, environ={}, cwd=Path("/")).profile == "offline"


async def test_C10_what_is_typed_narrows_the_list_and_changes_nothing(play: Play, config: Path) -> None:
    async with play() as stage:
        picker = await opened(stage)
        await stage.pilot.press(*"fanae")
        await stage.until(lambda: "No profile has these words." in stage.seen)
        await stage.pilot.press("enter", "ctrl+s", "ctrl+g", "ctrl+a")
        assert stage.app.screen is picker
        await stage.pilot.press("ctrl+u", *"off")
        await stage.until(lambda: [row.file.name for row in picker.rows] == ["offline"])
        assert not (config / "config.toml").exists()
        await stage.pilot.press("ctrl+f")
        await stage.until(lambda: "default here" in stage.seen)
        assert [row.file.name for row in picker.rows] == ["offline"]
