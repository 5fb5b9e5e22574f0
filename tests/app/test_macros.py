"""Rows C19 and U35: what a macro can hold, and how its file is read and written."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from oi_tui.app.commands.macro_file import delete_macro, macro_words, macros_path, save_macro
from oi_tui.app.commands.macros import MOST_STEPS, macro_rows, read_macros, why_not_a_step
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.protocol import PromptsQueued
from oi_tui.app.engine.core.verbs import Run, Settle
from oi_tui.app.engine.session.job_queue import JobQueue
from oi_tui.app.screens.key_check import check_keys


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's macros."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "oi-tui").mkdir()
    return macros_path()


def test_C19_macros_are_written_and_read_and_the_rest_of_the_file_stays(file: Path) -> None:
    file.write_text('# mine\nother = ["/usage"]\n')
    save_macro("tidy", ["/theme nord", "!git status", "Explain\nwhat changed"])
    assert file.read_text().startswith("# mine\nother")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_macros().steps == {
        "other": ("/usage",),
        "tidy": ("/theme nord", "!git status", "Explain\nwhat changed"),
    }
    assert [(row.id, row.help) for row in macro_rows()][1] == (
        "macro.tidy", "3 steps: /theme nord · !git status · Explain what changed"
    )  # fmt: skip
    assert list(macro_words()) == ["other", "tidy", "record", "stop", "delete"]
    save_macro("tidy", ["/clear"])
    assert read_macros().steps["tidy"] == ("/clear",)
    assert delete_macro("tidy")
    assert not delete_macro("tidy")
    assert dict(read_macros().steps) == {"other": ("/usage",)}


def test_C19_a_key_plays_a_macro(file: Path) -> None:
    save_macro("tidy", ["/usage"])
    assert check_keys({"macro.tidy": "f8"}) == ({"macro.tidy": "f8"}, ())
    assert check_keys({"macro.none": "f8"}).faults[0].startswith("macro.none: there is no macro none yet: /macro")


@pytest.mark.parametrize(
    "step",
    ["/approve auto", "/approve never", "/app auto", "/rule allow Shell(rm *)", "/ru allow X(y)", "/profile fast",
     "/sandbox", "/budget off", "/budget 100", "/kernel server yes", "/macro tidy", "/macro record x", "", "%%bash",
     "/rule", "x" * 20_000],
)  # fmt: skip
def test_U35_no_macro_holds_a_decision_or_a_milder_mode(step: str, file: Path) -> None:
    assert why_not_a_step(step)
    lines = ["# mine", 'fine = ["/usage"]', "bad = [", '  "/usage",', f'  "{step}",', "]"]
    file.write_text("\n".join(lines))
    known = read_macros()
    assert dict(known.steps) == {"fine": ("/usage",)}
    line = 5 if step else 3
    assert known.faults["bad"].startswith(f"macros.toml, line {line}: bad: ")


@pytest.mark.parametrize(
    "step",
    ["/theme nord", "/rule deny Shell(rm *)", "/budget", "/kernel python", "!ls", "%x = 1", "y", "a", "Do it.",
     "/mine approve auto"],
)  # fmt: skip
def test_C19_what_one_types_else_is_a_step(step: str) -> None:
    assert why_not_a_step(step) == ""


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("tidy = 3", "tidy", "macros.toml, line 1: tidy is no list of 1 to"),
        ("tidy = []", "tidy", "macros.toml, line 1: tidy is no list of 1 to"),
        ('\n"a b" = ["/usage"]', "a b", "macros.toml, line 2: 'a b' cannot be the name of a macro"),
        ('stop = ["/usage"]', "stop", "macros.toml, line 1: 'stop' cannot be the name of a macro"),
        ("tidy = [", "", "macros.toml is not valid TOML: "),
        ("tidy = [" + '"x",' * (MOST_STEPS + 1) + "]", "tidy", "macros.toml, line 1: tidy is no list of 1 to"),
    ],
)
def test_C19_a_wrong_file_is_named_with_its_line_and_not_overwritten(
    text: str, name: str, said: str, file: Path
) -> None:
    file.write_text(text)
    assert read_macros().faults[name].startswith(said)
    if not name:
        with pytest.raises(SettingsError, match="is not valid TOML"):
            save_macro("other", ["/usage"])
        assert file.read_text() == text


def test_U35_a_file_that_others_could_write_is_not_used(file: Path) -> None:
    file.write_text('tidy = ["!rm -rf ."]')
    file.chmod(0o666)
    assert not read_macros().steps
    assert "can be written by others" in read_macros().faults[""]
    file.unlink()
    (file.parent / "elsewhere.toml").write_text('tidy = ["!rm -rf ."]')
    os.symlink(file.parent / "elsewhere.toml", file)
    assert "is a link" in read_macros().faults[""]


async def test_C19_the_engine_says_when_all_before_has_ended() -> None:
    told: list[PromptsQueued] = []
    jobs = JobQueue(told.append)
    run = Run(language="shell", source="ls")
    jobs.add(run)
    jobs.add(Settle(request_id="1"))
    assert await jobs.next_job() == run
    assert told == []
    waiting = asyncio.create_task(jobs.next_job())
    jobs.add(run)
    async with asyncio.timeout(5):
        assert await waiting == run
    assert [one.settled for one in told] == ["1"]
