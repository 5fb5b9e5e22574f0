"""The person's own editor and pager: which command, on what file, and what is said when it does not work (L21)."""

import stat
from pathlib import Path

import pytest
from textual.app import App

from oi_tui.app.screens.external_editor import (
    EditorFailed,
    edit_text,
    editor_command,
    pager_command,
    suffix_of,
    view_in_editor,
    view_in_pager,
)


class Headless(App[object]):
    """An app without a terminal to give up."""

    @property
    def is_headless(self) -> bool:
        return True


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that keeps what it was given: its words, the text, and who may read the file."""
    script = tmp_path / "a program.sh"
    script.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'printf "%s\\n" "$@" > "{tmp_path}/words"\ncp "$last" "{tmp_path}/text"\n'
        f'stat -c %a "$last" > "{tmp_path}/mode"\n'
    )
    script.chmod(0o700)
    return script


def given(program: Path, name: str) -> str:
    return (program.parent / name).read_text()


def test_commands_may_have_arguments_and_spaces_in_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "'/opt/my pager' -x --y")
    monkeypatch.setenv("EDITOR", "code --wait")
    monkeypatch.delenv("VISUAL", raising=False)
    assert pager_command() == ["/opt/my pager", "-x", "--y"]
    assert editor_command("") == ["code", "--wait"]
    assert editor_command("nano -w") == ["nano", "-w"]


def test_without_a_setting_there_is_less_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAGER", raising=False)
    assert pager_command() == ["less", "-R"]


@pytest.mark.parametrize(("command", "why"), [("'", "cannot be read"), ("  ", "is empty")])
def test_L21_a_command_that_makes_no_sense_is_told(monkeypatch: pytest.MonkeyPatch, command: str, why: str) -> None:
    monkeypatch.setenv("PAGER", command)
    with pytest.raises(EditorFailed, match=f"The pager command .*{why}"):
        view_in_pager(Headless(), "text")
    with pytest.raises(EditorFailed, match=f"The editor command .*{why}"):
        edit_text(Headless(), "text", command)


def test_the_pager_gets_colours_and_nothing_else_that_a_terminal_obeys(
    monkeypatch: pytest.MonkeyPatch, program: Path
) -> None:
    monkeypatch.setenv("PAGER", f"'{program}' -R")
    view_in_pager(Headless(), "\x1b[31mred\x1b[0m\x1b]52;c;aGk=\x07 a\x1b[2Jb\u202ec\n")
    assert given(program, "text") == "\x1b[31mred\x1b[0m abc\n"
    option, path = given(program, "words").split("\n")[:2]
    assert option == "-R"
    assert not Path(path).exists()
    assert not Path(path).parent.exists()


def test_the_editor_gets_a_private_copy_that_ends_as_its_language_does(
    monkeypatch: pytest.MonkeyPatch, program: Path
) -> None:
    view_in_editor(Headless(), "x = 1\u200b\n", suffix_of("python"), f"'{program}'")
    path = Path(given(program, "words").strip())
    assert (path.suffix, path.exists(), given(program, "text")) == (".py", False, "x = 1\n")
    assert int(given(program, "mode"), 8) & (stat.S_IRWXG | stat.S_IRWXO) == 0


def test_what_the_editor_left_comes_back(tmp_path: Path) -> None:
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\nprintf "changed\\n" > "$1"\n')
    script.chmod(0o700)
    assert edit_text(Headless(), "text", str(script)) == "changed"


def test_L21_a_program_that_is_not_there_or_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "/nonexistent/pager")
    with pytest.raises(EditorFailed, match="The pager /nonexistent/pager cannot be started: No such file"):
        view_in_pager(Headless(), "text")
    with pytest.raises(EditorFailed, match="The editor false ended with exit code 1; nothing was changed"):
        edit_text(Headless(), "text", "false")


def test_L21_a_folder_for_the_file_that_cannot_be_made_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(EditorFailed, match="no room for a temporary file: No such file"):
        view_in_pager(Headless(), "text")


def test_languages_have_their_endings() -> None:
    assert [suffix_of(name) for name in ("python", "shell", "brainfuck")] == [".py", ".sh", ".txt"]
