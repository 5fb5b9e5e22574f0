"""Files written and edited by tools: what is shown is what is written, and the rest of the file stays as it was."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.values import PermissionMode
from oi_tui.app.engine.policy.decide import decide
from oi_tui.app.engine.policy.decision import Policy, PolicyRequest
from oi_tui.app.engine.policy.rules import short_form
from oi_tui.app.engine.workspace.diffs import unified_diff
from support.file_tools import Answers, FileBench


@pytest.fixture
def bench(tmp_path: Path) -> FileBench:
    folder = tmp_path / "work"
    folder.mkdir()
    return FileBench(folder)


def source(**arguments: object) -> str:
    return json.dumps(arguments)


# -- what is written -----------------------------------------------------------------------------------------------


async def test_f5_a_file_is_made_with_its_folders_and_replaced_whole(bench: FileBench) -> None:
    assert await bench.text("write_file", path="a/b/new.txt", content="hi\n") == "Made a/b/new.txt: 1 line added."
    assert (bench.folder / "a/b/new.txt").read_text() == "hi\n"
    assert "1 line added, 1 removed" in await bench.text("write_file", path="a/b/new.txt", content="ho\n")
    assert "is like that already" in await bench.failure("write_file", path="a/b/new.txt", content="ho\n")
    assert list((bench.folder / "a" / "b").iterdir()) == [bench.folder / "a/b/new.txt"], "nothing is left beside it"


async def test_f5_an_edit_replaces_one_place_exactly(bench: FileBench) -> None:
    file = bench.folder / "a.py"
    file.write_text("x = 1\ny = 1\n")
    assert "(lines 1, 2)" in await bench.failure("edit_file", path="a.py", old="= 1", new="= 2")
    await bench.call("edit_file", path="a.py", old="x = 1", new="x = 2")
    assert file.read_text() == "x = 2\ny = 1\n"
    file.write_text("x = 1\ny = 1\n")
    await bench.call("edit_file", path="a.py", old="= 1", new="= 3", all=True)
    assert file.read_text() == "x = 3\ny = 3\n"
    assert "`old` is not in the file" in await bench.failure("edit_file", path="a.py", old="z", new="q")
    assert "write_file makes one" in await bench.failure("edit_file", path="none.py", old="z", new="q")


async def test_f5_a_patch_is_applied_where_it_fits_exactly(bench: FileBench) -> None:
    file = bench.folder / "a.txt"
    file.write_text("".join(f"{number}\n" for number in range(1, 21)))
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -17,3 +17,4 @@\n 18\n 19\n+19½\n 20\n"
    await bench.call("edit_file", path="a.txt", patch=patch)
    lines = file.read_text().split("\n")
    assert lines[2] == "three"
    assert lines[17:20] == ["18", "19", "19½"]
    assert lines[-1] == ""
    wrong = patch.replace("-3", "-three hundred")
    assert "fits nowhere" in await bench.failure("edit_file", path="a.txt", patch=wrong)
    assert "has no hunk" in await bench.failure("edit_file", path="a.txt", patch="3 -> three")


@pytest.mark.parametrize("end", ["", "\n"])
async def test_f5_diffs_of_ours_are_patches_that_lead_to_the_same_text(bench: FileBench, end: str) -> None:
    before = "\n".join(["a", "b", "", "c", *map(str, range(30)), "last"]) + end
    after = before.replace("b\n", "B\n1\n").replace("29\n", "").replace("last", "end")
    (bench.folder / "f").write_text(before)
    await bench.call("edit_file", path="f", patch=unified_diff(before, after, "f").text)
    assert (bench.folder / "f").read_text() == after


async def test_f6_line_ends_encoding_permissions_and_links_stay(bench: FileBench) -> None:
    crlf, latin, marked = (bench.folder / name for name in ("crlf.txt", "latin.txt", "marked.txt"))
    crlf.write_bytes(b"one\r\ntwo\r\n")
    latin.write_bytes("Straße\nzwei\n".encode("latin-1"))
    marked.write_bytes("drei\n".encode("utf-16"))
    crlf.chmod(0o640)
    (bench.folder / "alias.txt").symlink_to("crlf.txt")
    await bench.call("edit_file", path="alias.txt", old="one\ntwo", new="one\nand a half\ntwo")
    assert crlf.read_bytes() == b"one\r\nand a half\r\ntwo\r\n"
    assert crlf.stat().st_mode & 0o777 == 0o640
    assert (bench.folder / "alias.txt").is_symlink()
    await bench.call("edit_file", path="latin.txt", old="zwei", new="süß")
    assert latin.read_bytes() == "Straße\nsüß\n".encode("latin-1")
    assert "cannot be written in latin-1" in await bench.failure("edit_file", path="latin.txt", old="süß", new="日本")
    await bench.call("write_file", path="marked.txt", content="vier\n")
    assert marked.read_bytes().decode("utf-16") == "vier\n"
    assert marked.read_bytes()[:2] == b"\xff\xfe"
    await bench.call("write_file", path="crlf.txt", content="a\nb\n")
    assert crlf.read_bytes() == b"a\r\nb\r\n"


async def test_f6_what_cannot_be_written_says_why_and_stays_as_it_was(bench: FileBench) -> None:
    file = bench.folder / "kept.txt"
    file.write_text("as it was\n")
    file.chmod(0o444)
    assert "marked as read-only" in await bench.failure("write_file", path="kept.txt", content="new\n")
    (bench.folder / "bin").write_bytes(b"\0\1\2")
    assert "is no text" in await bench.failure("write_file", path="bin", content="new\n")
    assert "cannot be" in await bench.failure("write_file", path="kept.txt/below", content="new\n")
    assert file.read_text() == "as it was\n"
    read_only = FileBench(bench.folder, mode="read-only")
    assert "the sandbox is read-only" in await read_only.failure("write_file", path="x", content="x")


async def test_f6_a_full_disk_leaves_the_file_as_it_was(bench: FileBench) -> None:
    import resource
    import signal

    (bench.folder / "a.txt").write_text("old\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        why = await bench.failure("write_file", path="a.txt", content="x" * 5_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot be written: File too large" in why
    assert [file.name for file in bench.folder.iterdir()] == ["a.txt"]
    assert (bench.folder / "a.txt").read_text() == "old\n"


# -- what was shown is what is written -------------------------------------------------------------------------------


async def test_f7_a_file_that_changed_since_its_diff_was_shown_is_not_written(bench: FileBench) -> None:
    file = bench.folder / "a.txt"
    file.write_text("one\ntwo\n")
    change: dict[str, Any] = {"path": "a.txt", "old": "two", "new": "2"}
    assert await bench.shown("edit_file", **change) == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    file.write_text("one!\ntwo\n")
    assert "is not as it was" in await bench.failure("edit_file", **change)
    assert file.read_text() == "one!\ntwo\n"
    await bench.shown("edit_file", **change)
    await bench.call("edit_file", **change)
    assert file.read_text() == "one!\n2\n"


async def test_f7_a_file_that_came_or_went_since_is_not_written_either(bench: FileBench) -> None:
    new: dict[str, Any] = {"path": "new.txt", "content": "mine\n"}
    await bench.shown("write_file", **new)
    (bench.folder / "new.txt").write_text("theirs\n")
    assert "is not as it was" in await bench.failure("write_file", **new)
    assert (bench.folder / "new.txt").read_text() == "theirs\n"
    await bench.shown("write_file", **new)
    (bench.folder / "new.txt").unlink()
    assert "is not as it was" in await bench.failure("write_file", **new)
    assert not (bench.folder / "new.txt").exists()


async def test_f7_text_that_the_person_edited_is_written_to_the_file_that_was_shown(bench: FileBench) -> None:
    file = bench.folder / "a.txt"
    file.write_text("old\n")
    proposed: dict[str, Any] = {"path": "a.txt", "content": "new\n"}
    edited: dict[str, Any] = {"path": "a.txt", "content": "newer\n"}
    bench.edited(source(**edited), source(**proposed))
    await bench.shown("write_file", **proposed)
    bench.facts("write_file", **edited)  # as the policy looks at it once more
    file.write_text("somebody else's\n")
    assert "is not as it was" in await bench.failure("write_file", **edited)
    await bench.shown("write_file", **proposed)
    await bench.call("write_file", **edited)
    assert file.read_text() == "newer\n"


async def test_f8_a_place_that_differs_in_white_space_is_changed_only_after_a_question(bench: FileBench) -> None:
    file = bench.folder / "a.py"
    file.write_text("def f():\n        return 1\n\n\nx = 2\n")
    loose: dict[str, Any] = {"path": "a.py", "old": "def f():\n    return 1", "new": "def f():\n    return 2"}
    no, nobody, yes = Answers("no"), Answers(None), Answers("yes")
    assert "the person said no" in await bench.failure("edit_file", no, **loose)
    assert "nobody could be asked" in await bench.failure("edit_file", nobody, **loose)
    assert file.read_text() == "def f():\n        return 1\n\n\nx = 2\n"
    await bench.call("edit_file", yes, **loose)
    assert yes.asked == [
        "a.py: the text to replace is not there as given; lines 1 to 2 differ in white space only. Change it as shown?"
    ]
    assert "+    return 2" in yes.shown[0].data["text/x-diff"]
    file.write_text("def f():\n        return 1\n")
    shown = await bench.shown("edit_file", **loose)
    assert shown.startswith("the text to replace is not there as given")
    asked = Answers()
    await bench.call("edit_file", asked, **loose)
    assert not asked.asked, "the question that showed it said so"


# -- never out of the folder -----------------------------------------------------------------------------------------


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {}),
    ("write_file", {"content": "x"}),
    ("edit_file", {"old": "o", "new": "x"}),
)
OUTSIDE = ["../out.txt", "/etc/hostname", "way/out.txt", "file-way", "~/x", "a/../../out.txt"]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_f9_no_path_and_no_link_leads_out_of_the_folder(bench: FileBench, path: str, tmp_path: Path) -> None:
    outside = tmp_path / "out.txt"
    outside.write_text("outside\n")
    (bench.folder / "way").symlink_to(tmp_path)
    (bench.folder / "file-way").symlink_to(outside)
    for name, arguments in CALLS:
        assert "out of the folder" in (await bench.failure(name, path=path, **arguments)).replace(
            "outside of", "out of"
        )
    assert outside.read_text() == "outside\n"


async def test_f9_a_folder_that_became_a_link_after_the_path_was_looked_at_is_not_followed(
    bench: FileBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = bench.folder / "sub", tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a.txt").write_text("secret\n")
    real = os.path.realpath

    def swap(path: str) -> str:
        """The moment between the look at a path and its opening."""
        found = real(path)
        if found == str(inside / "a.txt") and not inside.is_symlink():
            (inside / "a.txt").unlink()
            inside.rmdir()
            inside.symlink_to(outside)
        return found

    for name, arguments in CALLS:
        inside.unlink(missing_ok=True)
        inside.mkdir()
        (inside / "a.txt").write_text("mine\n")
        with monkeypatch.context() as patched:
            patched.setattr("oi_tui.app.engine.workspace.path_rules.os.path.realpath", swap)
            why = await bench.failure(name, path="sub/a.txt", **arguments)
        assert "a link came in its way" in why
    assert (outside / "a.txt").read_text() == "secret\n"


async def test_f9_guarded_places_are_not_written_where_the_sandbox_keeps_them(bench: FileBench) -> None:
    (bench.folder / ".git" / "hooks").mkdir(parents=True)
    (bench.folder / "sub" / ".git").mkdir(parents=True)
    for path in (".git/hooks/pre-commit", ".git/config", ".oi/rules.toml", ".vscode/tasks.json", "sub/.git/config"):
        why = await bench.failure("write_file", path=path, content="x")
        assert "the sandbox keeps it as it is" in why
    free = FileBench(bench.folder, mode="danger-full-access")
    assert "Made" in await free.text("write_file", path=".git/hooks/pre-commit", content="x")


# -- what is decided ---------------------------------------------------------------------------------------------------


def verdict(bench: FileBench, name: str, mode: PermissionMode, **arguments: object) -> tuple[str, str]:
    tool = bench.tools[name]
    text = source(**arguments)
    request = PolicyRequest("", text, tool=name, confinement=tool.confinement, reading=tool.facts(text))
    ruling = decide(request, Policy(mode=mode, base=bench.policy.base, rules=bench.policy.rules))
    return ruling.verdict, ", ".join(ruling.labels)


@pytest.mark.parametrize(
    ("mode", "reads", "writes", "later"),
    [
        ("dontAsk", "deny", "deny", "deny"),
        ("default", "allow", "ask", "ask"),
        ("acceptEdits", "allow", "allow", "ask"),
        ("auto", "allow", "allow", "ask"),
        ("unlessDestructive", "allow", "allow", "ask"),
        ("bypassPermissions", "allow", "allow", "allow"),
    ],
)
def test_f10_each_mode_has_its_word_on_reading_writing_and_what_runs_later(
    bench: FileBench, mode: PermissionMode, reads: str, writes: str, later: str
) -> None:
    assert verdict(bench, "read_file", mode, path="a.txt")[0] == reads
    assert verdict(bench, "write_file", mode, path="a.txt", content="x")[0] == writes
    said, labels = verdict(bench, "write_file", mode, path="conftest.py", content="x")
    assert said == later
    assert "changes a file that other programs run or obey later" in labels
    assert "without a sandbox" not in labels


def test_f10_rules_for_files_decide_about_tools_too(bench: FileBench) -> None:
    bench.policy = Policy(
        base=bench.policy.base, rules=(short_form("Edit(docs/**)", "deny"), short_form("Read(private/**)", "ask"))
    )
    assert verdict(bench, "write_file", "acceptEdits", path="docs/a.md", content="x")[0] == "deny"
    assert verdict(bench, "read_file", "acceptEdits", path="docs/a.md")[0] == "allow"
    assert verdict(bench, "read_file", "bypassPermissions", path="private/a.md")[0] == "ask"


def test_f10_characters_that_nobody_sees_are_asked_about(bench: FileBench) -> None:
    said, labels = verdict(bench, "write_file", "acceptEdits", path="a.txt", content="pay \u202e 1")
    assert said == "ask"
    assert "writes hidden or deceiving characters" in labels
