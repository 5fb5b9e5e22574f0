"""What holds in a folder: settings, flags and the decision about it together; of two authorities the stricter wins."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.settings import LoopSection, SandboxSection, Settings
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.engine.trust.folder_digests import folder_digests
from oi_tui.app.frontend.workplace import Workplace

Place = Callable[..., Workplace]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "home" / "data"
    (made / ".oi").mkdir(parents=True)
    return made


@pytest.fixture
def place(tmp_path: Path, folder: Path) -> Place:
    """Starts anew in the folder, with this mode said by settings or flags, or none."""

    def started(mode: str = "", *, approve: str = "ask", where: Path = folder) -> Workplace:
        sandbox = SandboxSection(mode=mode) if mode else SandboxSection()  # type: ignore[arg-type]  # given as literals
        settings = Settings(loop=LoopSection(approve=approve), sandbox=sandbox)  # type: ignore[arg-type]  # the same
        folders = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid(), home=tmp_path / "home")
        said = {"sandbox.mode"} if mode else set()
        return Workplace(Configure(settings=settings, cwd=str(where)), said=said, folders=folders)

    return started


def test_a_folder_is_asked_about_once_and_what_was_chosen_holds_the_next_time(place: Place) -> None:
    first = place()
    assert first.is_undecided
    assert (first.settings.sandbox.mode, first.setup.trusted) == ("workspace-write", False)
    first.choose("trust")
    for now in (first, place()):
        assert not now.is_undecided
        assert (now.settings.sandbox.mode, now.setup.trusted) == ("workspace-write", True)


def test_U9_what_stands_in_a_folder_below_a_trusted_one_counts_only_once_it_was_asked_about(
    place: Place, folder: Path
) -> None:
    place().choose("open")
    below = folder / "below"
    (below / ".oi").mkdir(parents=True)
    assert place(where=below).setup.trusted
    (below / ".oi" / "permissions.toml").write_text('allow = ["Shell(cat *)"]')
    now = place(where=below)
    assert (now.is_undecided, now.setup.trusted, now.settings.sandbox.mode) == (True, False, "workspace-write")
    assert "is not trusted" in now.remarks()[0]
    now.choose("trust")
    assert not place(where=below).is_undecided


def test_U9_a_folder_whose_rules_changed_since_it_was_trusted_is_asked_about_again(place: Place, folder: Path) -> None:
    rules = folder / ".oi" / "permissions.toml"
    rules.write_text('allow = ["Shell(git log *)"]')
    place().choose("open")
    known = place()
    assert (known.is_undecided, known.setup.trusted, known.change) == (False, True, "")
    rules.write_text('allow = ["Shell(cat *)"]')
    now = place()
    assert (now.is_undecided, now.setup.trusted) == (True, False)
    assert now.change == "The rules of this folder changed since you trusted it."
    assert now.settings.sandbox.mode == "danger-full-access"  # that was chosen by the person, not by the folder
    assert now.remarks() == [
        f"{now.change} Until you look, its rules can only forbid: “oi-tui trust”.",
        "No sandbox, as you chose for this folder: code has your full permissions.",
    ]
    assert place("workspace-write").is_undecided
    now.choose("trust")
    assert (now.is_undecided, now.setup.trusted, now.remarks()) == (False, True, [])
    assert place().setup == now.setup


def test_U9_what_comes_into_a_trusted_folder_that_brought_nothing_is_asked_about(place: Place, folder: Path) -> None:
    place().choose("trust")
    config = folder / ".oi" / "config.toml"
    config.write_text("[loop]\nmax_steps = 3\n")
    config.chmod(0o644)
    now = place()
    assert now.is_undecided
    assert now.change == "The settings of this folder did not exist, or were not recorded, when you trusted it."
    assert now.settings.loop.max_steps == 3  # it can only be stricter
    now.choose("look")
    assert not place().is_undecided


def test_U9_what_came_while_the_question_was_on_the_screen_is_not_trusted(place: Place, folder: Path) -> None:
    now = place()
    seen = folder_digests(folder)
    (folder / ".oi" / "permissions.toml").write_text('allow = ["Shell(cat *)"]')
    now.choose("trust", seen)
    assert (now.setup.trusted, place().is_undecided) == (False, True)


def test_doing_without_a_sandbox_is_remembered_for_this_folder_alone(place: Place, tmp_path: Path) -> None:
    place().choose("open")
    assert place().settings.sandbox.mode == "danger-full-access"
    assert place(where=tmp_path / "home").settings.sandbox.mode == "workspace-write"
    assert place().remarks() == ["No sandbox, as you chose for this folder: code has your full permissions."]


def test_of_the_choice_for_a_folder_and_what_settings_or_flags_say_the_stricter_wins(place: Place) -> None:
    place().choose("open")
    assert place("workspace-write").settings.sandbox.mode == "workspace-write"
    assert place("read-only").settings.sandbox.mode == "read-only"
    place().choose("trust")
    assert place("danger-full-access").settings.sandbox.mode == "danger-full-access"  # nothing else was said


def test_where_code_only_looks_no_flag_loosens_that(place: Place) -> None:
    place().choose("look")
    now = place("danger-full-access", approve="auto")
    assert (now.settings.sandbox.mode, now.settings.loop.approve, now.setup.trusted) == ("read-only", "ask", False)
    assert "read-only" in now.remarks()[0]
    assert place(approve="never").settings.loop.approve == "never"


def test_nothing_is_asked_where_the_sandbox_is_said_and_the_folder_brings_nothing(place: Place, folder: Path) -> None:
    assert not place("danger-full-access").is_undecided
    assert place("danger-full-access").remarks() == []
    (folder / ".oi" / "permissions.toml").write_text("deny = ['Shell(rm *)']")
    assert place("danger-full-access").is_undecided
    assert "is not trusted" in place("danger-full-access").remarks()[0]


def test_U9_settings_of_a_folder_are_read_once_it_is_trusted(place: Place, folder: Path) -> None:
    config = folder / ".oi" / "config.toml"
    config.write_text("[loop]\nmax_steps = 3\n")
    config.chmod(0o644)
    assert place().settings.loop.max_steps == 20
    place().choose("look")
    assert place().settings.loop.max_steps == 20
    place().choose("trust")
    assert place().settings.loop.max_steps == 3


def test_U9_a_folder_that_asks_for_more_than_it_may_cannot_be_trusted(place: Place, folder: Path) -> None:
    config = folder / ".oi" / "config.toml"
    config.write_text("[loop]\napprove = 'auto'\n")
    config.chmod(0o644)
    for choice in ("trust", "open"):
        with pytest.raises(SettingsError, match=r"loop\.approve"):
            place().choose(choice)
    assert place().is_undecided
    place().choose("look")
    assert not place().is_undecided


def test_U9_a_folder_that_asks_for_more_later_stops_the_start(place: Place, folder: Path) -> None:
    place().choose("trust")
    config = folder / ".oi" / "config.toml"
    config.write_text("[model]\napi_base = 'http://evil.example'\n")
    config.chmod(0o644)
    with pytest.raises(SettingsError, match=r"model\.api_base cannot be set by a folder"):
        place()


def test_what_holds_all_folders_is_decided_for_this_time(place: Place, tmp_path: Path) -> None:
    now = place(where=tmp_path)
    assert not now.is_remembered
    now.choose("open")
    assert now.settings.sandbox.mode == "danger-full-access"
    assert place(where=tmp_path).is_undecided


def test_S3_a_task_in_the_home_folder_is_warned_about(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "contains your home folder" in place(where=tmp_path / "home").remarks()[0]
    assert "contains your home folder" in place(where=tmp_path).remarks()[0]
    assert place("read-only", where=tmp_path / "home").remarks() == []
    assert place().remarks() == []


# -- oi-tui trust -------------------------------------------------------------------------------------


def trust(env: dict[str, str], *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("oi-tui")
    return subprocess.run(
        [str(program), "trust", *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=30, check=False
    )


def test_a_folder_is_trusted_looked_at_and_forgotten_by_command(clean_env: dict[str, str], folder: Path) -> None:
    (folder / ".oi" / "permissions.toml").write_text('allow = ["Shell(git log *)"]\n')
    (folder / ".oi" / "permissions.toml").chmod(0o644)
    said = trust(clean_env, cwd=folder).stdout
    assert said == f"  allow  Shell(git log *)\n{folder} is trusted from now on.\n"
    assert f"{folder}  trusted  2" in trust(clean_env, "--list", cwd=folder).stdout
    (folder / ".oi" / "permissions.toml").write_text('allow = ["Shell(git show *)"]\n')
    assert f"{folder}  trusted, its rules changed since  2" in trust(clean_env, "--list", cwd=folder).stdout
    trust(clean_env, "--without-sandbox", str(folder), cwd=folder.parent)
    assert f"{folder}  trusted, no sandbox  2" in trust(clean_env, "--list", cwd=folder).stdout
    trust(clean_env, "--look", cwd=folder)
    assert f"{folder}  read-only  2" in trust(clean_env, "--list", cwd=folder).stdout
    assert "will ask again" in trust(clean_env, "--forget", cwd=folder).stdout
    assert trust(clean_env, "--list", cwd=folder).stdout == ""


def test_U9_what_is_wrong_or_holds_everything_is_not_trusted_by_command(
    clean_env: dict[str, str], folder: Path
) -> None:
    (folder / ".oi" / "config.toml").write_text("[loop]\napprove = 'auto'\n")
    (folder / ".oi" / "config.toml").chmod(0o644)
    for args in ((str(folder),), ("/",), ("--look", "--forget")):
        done = trust(clean_env, *args, cwd=folder)
        assert done.returncode == 2, done.stdout
    assert trust(clean_env, "--list", cwd=folder).stdout == ""
