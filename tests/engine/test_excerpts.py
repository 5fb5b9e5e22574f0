"""What a model is told of the files that a prompt names."""

import os
from pathlib import Path

import pytest

from oi_tui.app.engine.text.excerpts import excerpts, named_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text("date,score\n" + "2026-01-01,1\n" * 40)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.txt").write_text("x" * 1000)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\xff")
    (tmp_path / "empty.txt").touch()
    os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("read data.csv and plot it", ("data.csv",)),
        ("compare `data.csv` with sub/notes.txt, then data.csv.", ("data.csv", "sub/notes.txt")),
        ("pipe.csv missing.csv e.g. 3.14 https://example.org/data.csv", ()),
        ("", ()),
    ],
)
def test_names_of_regular_files_are_found_in_running_text(folder: Path, text: str, names: tuple[str, ...]) -> None:
    assert named_files(text, folder) == names


def test_the_beginning_of_a_text_is_told_with_its_length(folder: Path) -> None:
    told = excerpts(["data.csv"], folder)
    assert told == "data.csv (41 lines) begins:\ndate,score\n" + "\n".join(["2026-01-01,1"] * 3)


def test_long_lines_binary_empty_missing_files_and_pipes_are_bounded_and_never_block(folder: Path) -> None:
    told = excerpts(["sub/notes.txt", "picture.png", "empty.txt", "gone.csv", "pipe.csv"], folder).split("\n\n")
    assert told == [
        "sub/notes.txt (1 lines) begins:\n" + "x" * 160,
        "picture.png (11 bytes, not text)",
        "empty.txt (empty)",
        "gone.csv",
        "pipe.csv",
    ]


def test_a_large_file_is_read_only_at_its_beginning_even_in_the_middle_of_a_character(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("ä\n" + "é" * 200_000)
    told = excerpts(["large.txt"], tmp_path)
    assert told.startswith("large.txt (400,003 bytes) begins:\nä\né")
    assert len(told) < 400


def test_the_home_of_nobody_is_a_name_without_a_file(folder: Path) -> None:
    name = "~nosuchperson/a.csv"
    assert named_files(f"read {name}", folder) == ()
    assert excerpts([name], folder) == name
