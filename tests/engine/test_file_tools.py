"""Files read, listed and searched by tools: what is told of them, and what is left out."""

import os
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.engine.policy.rules import short_form
from oi_tui.app.engine.workspace import looking
from support.file_tools import FileBench


@pytest.fixture
def bench(tmp_path: Path) -> FileBench:
    folder = tmp_path / "work"
    folder.mkdir()
    return FileBench(folder)


async def test_f1_a_file_is_read_whole_or_from_one_line_to_another(bench: FileBench) -> None:
    (bench.folder / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    assert await bench.text("read_file", path="a.txt") == "[a.txt: 4 lines]\none\ntwo\nthree\nfour"
    part = await bench.text("read_file", path="a.txt", from_line=2, to_line=3)
    assert part == "[a.txt: lines 2 to 3 of 4]\ntwo\nthree\n[more: from_line=4]"
    assert "has 4 lines only" in await bench.failure("read_file", path="a.txt", from_line=9)
    assert "There is no file b.txt" in await bench.failure("read_file", path="b.txt")
    assert "is a folder" in await bench.failure("read_file", path=".")


async def test_f1_long_files_are_bounded_and_say_where_to_go_on(bench: FileBench) -> None:
    (bench.folder / "long.txt").write_text("".join(f"line {number}\n" for number in range(5_000)))
    text = await bench.text("read_file", path="long.txt")
    assert len(text) < looking.MOST_CHARACTERS + 200
    assert text.endswith(f"[more: from_line={looking.MOST_LINES + 1}]")
    (bench.folder / "wide.txt").write_text("x" * 100_000 + "\nsecond\n")
    assert len(await bench.text("read_file", path="wide.txt")) < looking.MOST_CHARACTERS + 200
    with (bench.folder / "huge").open("wb") as file:
        file.truncate(10**12)
    assert "larger than" in await bench.failure("read_file", path="huge")


async def test_f1_encodings_and_binary_files_are_told(bench: FileBench) -> None:
    (bench.folder / "u16.txt").write_bytes("Grüße\n".encode("utf-16"))
    (bench.folder / "latin.txt").write_bytes("Grüße\r\n".encode("latin-1"))
    (bench.folder / "bin").write_bytes(b"\x00\x01\x02" * 50)
    assert await bench.text("read_file", path="u16.txt") == "[u16.txt: 1 line, UTF-16-LE, byte order mark]\nGrüße"
    assert await bench.text("read_file", path="latin.txt") == "[latin.txt: 1 line, LATIN-1, CRLF line ends]\nGrüße"
    assert "is binary, 150 bytes, and begins with the bytes 00 01 02" in await bench.failure("read_file", path="bin")


async def test_f1_a_picture_is_read_as_a_picture_and_no_device_is_opened(bench: FileBench) -> None:
    Image.new("RGB", (8, 6), "red").save(bench.folder / "dot.png")
    found = await bench.call("read_file", path="dot.png")
    assert found.data["text/plain"] == "dot.png: PNG, 8×6 pixels"
    assert found.data["image/png"]
    os.mkfifo(bench.folder / "pipe")
    assert "no plain file" in await bench.failure("read_file", path="pipe")


async def test_f2_a_folder_is_listed_as_a_tree_without_what_git_ignores(bench: FileBench) -> None:
    for name in ("src/app.py", "src/deep/er/x.py", "build/out.o", "notes.md", ".git/HEAD", "node_modules/m/i.js"):
        file = bench.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("12345\n")
    (bench.folder / ".gitignore").write_text("build/\n")
    (bench.folder / "link").symlink_to("/etc")
    assert (await bench.text("list_files")).split("\n") == [
        "[.: 5 entries; 3 ignored by git]",
        ".gitignore  7 bytes",
        "notes.md  6 bytes",
        "src/",
        "  app.py  6 bytes",
        "  deep/",
    ]
    lines = (await bench.text("list_files", path="src", depth=5)).split("\n")
    assert lines == ["[src: 4 entries]", "app.py  6 bytes", "deep/", "  er/", "    x.py  6 bytes"]


async def test_f2_a_large_folder_is_cut_and_that_is_said(bench: FileBench) -> None:
    for number in range(looking.LISTED + 20):
        (bench.folder / f"f{number:04}").touch()
    text = await bench.text("list_files")
    assert f"more than {looking.LISTED} entries" in text
    assert len(text.split("\n")) == looking.LISTED + 1


async def test_f3_lines_are_found_by_a_regular_expression(bench: FileBench) -> None:
    (bench.folder / "a.py").write_text("import os\n\ndef Find_me():\n    pass\n")
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "b.txt").write_text("find_me too\n")
    assert "sub/b.txt:1: find_me too" in await bench.text("search_files", pattern=r"find_\w+")
    both = await bench.text("search_files", pattern=r"find_\w+", ignore_case=True)
    assert "a.py:3: def Find_me():" in both
    assert "sub/b.txt:1" in both
    assert "b.txt" not in await bench.text("search_files", pattern="find", ignore_case=True, glob="*.py")
    assert "sub/b.txt:1: find_me too" in await bench.text("search_files", pattern="too", path="sub/b.txt")
    assert "is no regular expression" in await bench.failure("search_files", pattern="(")


async def test_f3_an_expression_that_takes_forever_is_given_up(
    bench: FileBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LINE_SECONDS", 0.1)
    (bench.folder / "slow.txt").write_text("a" * 60 + "!\n")
    (bench.folder / "quick.txt").write_text("b\n")
    found = await bench.text("search_files", pattern=r"(a|aa)+\Z|b")
    assert "1 file given up: slow.txt" in found
    assert "quick.txt:1: b" in found


async def test_f3_ripgrep_says_only_which_files_are_looked_at(
    bench: FileBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    (bench.folder / "one.txt").write_text("word\n")
    (bench.folder / "two.txt").write_text("word\n")
    secret = tmp_path / "secret.txt"
    secret.write_text("word\n")
    program.write_text(f'#!/bin/sh\nprintf "%s\\0" {bench.folder}/one.txt {secret}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert await bench.text("search_files", pattern="word") == "[1 line in 1 file looked at]\none.txt:1: word"
    program.write_text("#!/bin/sh\nexit 2\n")
    assert "two.txt:1: word" in await bench.text("search_files", pattern="word")


async def test_f4_what_the_sandbox_hides_and_rules_deny_is_in_no_list_and_no_search(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "closed").mkdir(parents=True)
    (folder / "ours").mkdir()
    for name in (".env", "closed/x.txt", "ours/y.txt", "open.txt"):
        (folder / name).write_text("TOKEN=1\n")
    (folder / "way").symlink_to("closed")
    rule = short_form("Read(way/**)", "deny")._replace(real=str(folder / "closed"))
    bench = FileBench(folder, rules=(rule,), hidden=(folder / "ours",))
    found = await bench.text("search_files", pattern="TOKEN")
    assert found.split("\n")[1:] == ["open.txt:1: TOKEN=1"]
    assert "3 kept back" in found
    assert "is hidden" in await bench.failure("read_file", path=".env")
    assert "is hidden" in await bench.failure("read_file", path="ours/y.txt")
    places = {use.path for use in bench.facts("read_file", path="closed/x.txt").places}
    assert str(folder / "way" / "x.txt") in places, "a rule that names it by a link speaks of it"
    open_to_all = FileBench(folder, mode="danger-full-access", hidden=(folder / "ours",))
    assert "TOKEN" in await open_to_all.text("read_file", path=".env"), "as code without a sandbox"
    assert any(risk.grave for risk in open_to_all.facts("read_file", path=".env").risks)
    assert "is hidden" in await open_to_all.failure("read_file", path="ours/y.txt"), "our own folders in no mode"
