"""Files found by a few letters of their names: what is found, what is left out, and how a prompt mentions them."""

import asyncio
import os
from pathlib import Path

import pytest

from oi_tui.app.commands.file_index import FileIndex, FileTable, find_files, walk_folder
from oi_tui.app.commands.mentions import Mentions, find_mentions, write_mention
from oi_tui.app.engine.workspace.ignore_rules import IgnoreRules, is_ignored, read_ignores


def make(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


@pytest.mark.parametrize(
    ("rules", "out", "kept"),
    [
        ("*.pyc\nbuild/\n", ["a.pyc", "x/y.pyc", "build/", "x/build/"], ["a.py", "build", "rebuild/"]),
        ("/top\na/*.txt\n", ["top", "a/b.txt"], ["x/top", "a/b/c.txt", "x/a/b.txt"]),
        ("**/deep\nx/**/y\nall/**\n", ["deep", "a/b/deep", "x/y", "x/1/2/y", "all/1"], ["all/", "x/z"]),
        ("*.log\n!keep.log\n", ["a.log"], ["keep.log", "x/keep.log"]),
        (
            "# no\n\\#yes\nwith space\\ \n[ab]?.c\n[!x]1\n",
            ["#yes", "with space ", "a1.c", "y1"],
            ["# no", "c1.c", "x1"],
        ),
        ("[\n\\\n(\n[z-a]\n", ["("], ["a", "[z-a"]),
    ],
)
def test_gitignore_is_read_as_git_reads_it(rules: str, out: list[str], kept: list[str]) -> None:
    layers = [IgnoreRules("", "", tuple(read_ignores(rules)))]
    found = {path: is_ignored(path.rstrip("/"), path.endswith("/"), layers) for path in out + kept}
    assert found == {**dict.fromkeys(out, True), **dict.fromkeys(kept, False)}


def test_a_walk_follows_no_link_and_leaves_out_what_cannot_be_mentioned(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "repo" / "work"
    make(outside, "secret.txt")
    make(
        folder, "a.csv", "two words.txt", ".env", "x/b.py", "x/skip.me", "x/.gitignore", "node_modules/n.js", "top.out"
    )
    make(folder, "\x1b[31mred.csv", "a\nb", 'q" x', "left\u202eright")
    (folder / "x" / ".gitignore").write_text("skip.*\n")
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / ".gitignore").write_text("/work/*.out\n")
    (folder / "link").symlink_to(outside)
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(folder / "pipe")
    table = walk_folder(str(folder))
    assert table.paths == ("x/", ".env", "a.csv", "two words.txt", "x/b.py", "x/.gitignore")
    assert walk_folder(str(folder), most=2).cut
    assert [write_mention(path) for path in ("a.csv", "two words.txt")] == ["@a.csv", '@"two words.txt"']


def test_patterns_and_names_that_were_made_to_be_slow_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of these took hours, in a thread that lets no other one go on.
    names = ["a" * 200, "a/" * 200 + "a", "m" + "r" * 200 + "e" * 200 + "a" * 200 + "d" * 200]
    layers = [IgnoreRules("", "", tuple(read_ignores("\n".join(["*a" * 50 + "b", "**/a/" * 50 + "b", "*?[!b]" * 50]))))]
    assert [is_ignored(name, False, layers) for name in names] == [True, False, True]
    assert find_files(FileTable.of(names), "readme") == []
    make(tmp_path, "a/" * 3 + "b", "c")
    monkeypatch.setattr("oi_tui.app.commands.file_index.TEXT", 2)
    assert walk_folder(str(tmp_path)).cut


def test_the_best_match_comes_first() -> None:
    table = FileTable.of(["src/sales_old.py", "docs/", "data/sales.csv", "sales.csv", ".hidden", "a/resale.txt"])
    assert find_files(table, "SAL") == ["sales.csv", "data/sales.csv", "src/sales_old.py", "a/resale.txt"]
    assert find_files(table, "slcsv") == ["sales.csv", "data/sales.csv"]
    assert find_files(table, "data/s") == ["data/sales.csv"]
    assert find_files(table, ".h") == [".hidden"]
    assert ".hidden" not in find_files(table, "")
    assert find_files(table, "nothing") == find_files(FileTable(), "x") == []


async def test_the_folder_is_walked_again_after_a_while_and_tells_of_changes_only(tmp_path: Path) -> None:
    now, told = 0.0, asyncio.Queue[None]()
    index = FileIndex(str(tmp_path), lambda: now)
    for number in range(2):
        make(tmp_path, f"{number}.csv")
        index.refresh(lambda: told.put_nowait(None))
        index.refresh(lambda: told.put_nowait(None))  # one walk at a time
        async with asyncio.timeout(10):
            await told.get()
        index.refresh(lambda: told.put_nowait(None))  # too soon
        now += 1_000.0
    assert index.search("csv") == ["0.csv", "1.csv"]
    assert told.empty()


def test_a_mention_is_found_in_a_sentence_and_a_missing_one_is_named(tmp_path: Path) -> None:
    make(tmp_path, "data.csv", "two words.txt")
    text = '(no) @data.csv, then @"two words.txt" and @data.csv. What of @nosuch.csv? @property, a@b.c @app.route("/")'
    assert find_mentions(text, tmp_path) == Mentions(("data.csv", "two words.txt"), ("nosuch.csv",))
    assert find_mentions('@"a b" @x/y @remote:r.csv @http://x.y', tmp_path).missing == ("a b", "x/y")
