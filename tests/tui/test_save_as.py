"""Saving: a path is asked for and judged in plain words; a file is written whole or not at all."""

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.save_as import SaveAsScreen, SaveFailed, complete_path, resolve_path, save
from oi_tui.themes.loader import load_palette, textual_theme
from support.unprivileged import Nobody


class Bare(App[None]):
    """Nothing but the question."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__()
        self.register_theme(textual_theme(load_palette()))
        self.theme = "harbour"
        self.answers: list[Path | None] = []
        self._question = SaveAsScreen(name, folder)

    def on_mount(self) -> None:
        self.push_screen(self._question, self.answers.append)


@asynccontextmanager
async def asked(folder: Path, name: str = "plot.png") -> AsyncIterator[tuple[Bare, Pilot[None]]]:
    app = Bare(name, folder)
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.pause()
        yield app, pilot


def words(app: App[None]) -> str:
    return str(app.screen.query_one("#save-text", Static).render())


async def test_enter_takes_the_name_that_is_proposed(tmp_path: Path) -> None:
    async with asked(tmp_path) as (app, pilot):
        await pilot.press("x", "enter")
        await pilot.pause()
    assert app.answers == [tmp_path / "plotx.png"]


async def test_a_remote_path_is_refused_where_nothing_can_be_sent(tmp_path: Path) -> None:
    async with asked(tmp_path, "remote:plot.png") as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert words(app) == "This can be saved on this machine only."
    assert app.answers == []


async def test_escape_saves_nothing(tmp_path: Path) -> None:
    async with asked(tmp_path) as (app, pilot):
        await pilot.press("escape")
        await pilot.pause()
    assert app.answers == [None]


@pytest.mark.parametrize(("answer", "expected"), [("y", 1), ("n", 0)])
async def test_a_file_that_exists_is_asked_about(tmp_path: Path, answer: str, expected: int) -> None:
    (tmp_path / "plot.png").write_bytes(b"old")
    async with asked(tmp_path) as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmScreen)
        assert app.answers == []
        await pilot.press("enter", answer)
        await pilot.pause()
        assert len(app.answers) == expected
        assert isinstance(app.screen, SaveAsScreen) != bool(expected)


async def test_what_is_wrong_with_a_path_is_said_and_forgotten_when_it_changes(tmp_path: Path) -> None:
    async with asked(tmp_path, "none/plot.png") as (app, pilot):
        await pilot.press("enter")
        await pilot.pause()
        assert words(app) == f"There is no folder {tmp_path}/none."
        await pilot.press("backspace")
        await pilot.pause()
        assert words(app) == f"in {tmp_path}"
        assert not (tmp_path / "none").exists()


async def test_tab_completes_and_lists(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "one.png").touch()
    (tmp_path / "figures" / "once.png").touch()
    async with asked(tmp_path, "f") as (app, pilot):
        await pilot.press("tab")
        assert app.screen.query_one(Input).value == "figures/"
        await pilot.press("tab")
        await pilot.pause()
        assert app.screen.query_one(Input).value == "figures/on"
        assert words(app) == "once.png  one.png"
        await pilot.press("x", "tab")
        await pilot.pause()
        assert words(app) == "Nothing begins like this."


def test_paths_are_relative_to_the_folder_and_know_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_path(" a.txt ", tmp_path) == tmp_path / "a.txt"
    assert resolve_path("~/a.txt", Path("/")) == tmp_path / "a.txt"
    assert resolve_path(f"{tmp_path}/b", Path("/")) == tmp_path / "b"


def test_paths_that_nothing_can_be_written_to_are_refused_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for typed, why in (
        ("", "Type a file name"),
        (".", "is a folder"),
        ("new/", "There is no folder"),
        ("new/a", "There is no folder"),
        ("pipe", "not a regular file"),
        ("~nobody-of-this-name/a", "no such home"),
        ("a\0b", "No file can have this name"),
        ("x" * 300, "No file can have this name"),
    ):
        with pytest.raises(SaveFailed, match=why):
            resolve_path(typed, tmp_path)


UNWRITABLE = """
import sys
from pathlib import Path
from oi_tui.app.screens.save_as import SaveFailed, resolve_path
folder = Path(sys.argv[1])
print(resolve_path("a", folder).name)
folder.chmod(0o500)
try:
    resolve_path("a", folder)
except SaveFailed as failed:
    print(failed)
"""


def test_a_folder_that_cannot_be_written_is_told(nobody: Nobody) -> None:
    allowed, why = nobody(UNWRITABLE).splitlines()
    assert allowed == "a"
    assert "cannot be written" in why


def test_names_that_hide_something_or_are_hidden_are_not_offered(tmp_path: Path) -> None:
    for name in ("a\u202eb", "ab\n", "abc", ".abc"):
        (tmp_path / name).touch()
    assert complete_path("", tmp_path) == ("abc", ["abc"])
    assert complete_path(".", tmp_path) == (".abc", [".abc"])
    assert complete_path("nowhere/x", tmp_path) == ("nowhere/x", [])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(tmp_path / "a", b"new")
    finally:
        os.umask(before)
    assert ((tmp_path / "a").read_bytes(), mode(tmp_path / "a")) == (b"new", 0o640)


def test_a_file_that_is_replaced_keeps_its_permissions_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    save(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "a").read_bytes(), mode(tmp_path / "a")) == (b"new", 0o600)


def test_another_file_is_copied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    save(tmp_path / "b", tmp_path / "a")
    assert (tmp_path / "b").stat().st_size == 3_000_000
    with pytest.raises(SaveFailed, match="No such file"):
        save(tmp_path / "c", tmp_path / "nothing")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_nothing_is_left_of_a_save_that_fails(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for target, why in (("folder", "not a regular file"), ("pipe", "not a regular file"), ("none/a", "No such file")):
        with pytest.raises(SaveFailed, match=why):
            save(tmp_path / target, b"data")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
