"""`oi-tui tools`: files begun, tried, enabled and called as a person does it, in processes of their own."""

from pathlib import Path

import pytest

from oi_tui.app.engine.skills.kept_functions import PASSED, FunctionHead, function_file, keep_function
from support.enclosure import why_no_rung
from support.programs import oi_tui

BROKEN = '''"""Broken."""

open("mark", "w").write("it ran")


def half(number: int) -> int:
    """Half of it.

    >>> half(4)
    2
    """
    return number
'''


class Program:
    """The program in a folder of its own."""

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        folder.mkdir()
        self.folder, self._environ = folder, environ
        self.enclosed = not why_no_rung("space")

    def __call__(self, *words: str, code: int = 0) -> str:
        """What it says on stdout, then on stderr."""
        runs, mode = (
            words[0] in ("list", "show", "test", "run"),
            ("danger-full-access", "workspace-write")[self.enclosed],
        )
        more = ["--sandbox", mode] if runs else []
        ran = oi_tui(self._environ, "tools", *words, *more, cwd=self.folder)
        said = (ran.stdout + ran.stderr).decode()
        assert ran.returncode == code, said
        return said


def test_G18_a_file_is_begun_tried_enabled_and_called(clean_env: dict[str, str], tmp_path: Path) -> None:
    tools = Program(clean_env, tmp_path / "work")
    written = Path(tools("new", "count_words").splitlines()[0].removeprefix("Written: "))
    assert "1 example, 0 failed" in tools("test", str(written))
    refused = tools("enable", "count_words", code=2)
    assert "in the sandbox of your code" in refused
    assert "count_words(path: Path, language: Literal['en', 'de']='en')" in refused
    assert "only reads: the sandbox lets it write no file; no network" in refused
    assert "Nothing has changed." in refused
    assert "tools/count_words.py is enabled." in tools("enable", "count_words", "--yes")
    (tools.folder / "notes.md").write_text("two words")
    assert tools("run", "count_words", '{"path": "notes.md"}', "--yes").splitlines()[0] == "2"
    audit = "".join(path.read_text() for path in tmp_path.glob("**/audit/*.jsonl"))
    assert '"tool":"count_words"' in audit
    assert '"origin":"tools/count_words.py"' in audit
    assert ('"sandbox":"read-only","network":"none"' in audit) is tools.enclosed


def test_G18_an_enabled_file_is_listed_says_what_was_wrong_how_far_it_is_and_is_disabled(
    clean_env: dict[str, str], tmp_path: Path
) -> None:
    tools = Program(clean_env, tmp_path / "work")
    written = Path(tools("new", "count_words").splitlines()[0].removeprefix("Written: "))
    assert "is a name of Python's own" in tools("new", "len", code=2)
    assert "exists already" in tools("new", "count_words", code=2)
    assert "is not enabled, so nothing of it runs" in tools("test", "count_words", code=2)
    tools("enable", "count_words", "--yes")
    listed = [line.split(maxsplit=1) for line in tools("list").splitlines()]
    what = dict(line for line in listed if len(line) == 2)
    assert what["count_words"].startswith("tools/count_words.py")
    assert ("reads only" in what["count_words"]) is tools.enclosed
    assert what["fetch_url"].split("  ")[0] == "part of oi-tui"
    assert "uses the network" in what["fetch_url"]
    assert what["enabled"].startswith("tools/count_words.py")
    call = ("run", "count_words", '{"path": "notes.md"}')
    missing = tools(*call, "--yes", code=1)
    assert "FileNotFoundError: [Errno 2] No such file or directory: 'notes.md'" in missing
    assert "File /" not in missing
    (tools.folder / "notes.md").write_text("two words")
    assert "Not called: nobody is there" in tools(*call, code=7)
    assert "do not fit at language" in tools("run", "count_words", '{"path": "x", "language": "x"}', "--yes", code=1)
    assert "is no JSON object" in tools("run", "count_words", "[1]", code=2)
    assert "There is no tool named absent." in tools("run", "absent", "--yes", code=1)
    told = written.read_text().replace("def count_words(", "def count_words(output, ", 1)
    written.write_text(told.replace("    return ", '    output.report(1, 2, "half")\n    return ', 1))
    tools("enable", "count_words", "--yes")
    result, *said = tools(*call, "--yes").splitlines()
    assert (result, "1 of 2 · half" in said) == ("2", True), "the result on stdout, progress on stderr"
    tools("disable", "count_words")
    assert "There is no tool named count_words." in tools(*call, "--yes", code=1)


def test_G18_what_is_broken_or_of_a_folder_that_is_not_trusted_says_so(
    clean_env: dict[str, str], tmp_path: Path
) -> None:
    tools = Program(clean_env, tmp_path / "work")
    path = tools.folder / ".oi" / "tools" / "broken.py"
    path.parent.mkdir(parents=True)
    path.write_text(BROKEN)
    assert "counts once you trust the folder" in tools("enable", "broken", code=2)
    assert "Did you mean fetch_url?" in tools("show", "fetch_ur", code=2)
    assert not (tools.folder / "mark").exists()
    assert "Expected:\n    2\nGot:\n    4" in tools("test", str(path), code=1)
    path.write_text("def half(number):\n    'Half.'\n")
    assert "whose argument number has no type hint" in tools("test", str(path), code=2)


@pytest.mark.parametrize(("example", "code"), [("half(4)", 0), ("half('x')", 1)])
def test_H14_a_kept_function_is_tested_in_a_fresh_kernel_from_the_command_line(
    clean_env: dict[str, str], tmp_path: Path, example: str, code: int
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    source = (
        'def half(number: int) -> float:\n    """Half of it."""\n    open("mark", "w").write("it ran")\n'
        "    return number / 2\n"
    )
    head = FunctionHead(kept="2026-11-24", example=example, tested=PASSED)
    kept = Path(clean_env["XDG_DATA_HOME"]) / "oi-tui"
    kept.mkdir(parents=True)
    keep_function("half", function_file(head, source), kept / "functions")
    mode = "danger-full-access" if why_no_rung("space") else "workspace-write"
    ran = oi_tui(clean_env, "skills", "test", "half", "--sandbox", mode, cwd=folder)
    said = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == code, said
    assert (folder / "mark").exists(), "it ran in the folder"
    assert ("passed: its example ran" if code == 0 else "The test in a fresh kernel failed: TypeError") in said
    assert said.count("The test in a fresh kernel") == 1
