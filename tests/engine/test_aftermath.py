"""What a run left behind that others run later: found after the run, whatever it is called and however it came."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oi_tui.app.engine.core.events import (
    ExecutionFinished,
    ExecutionStarted,
    KernelChanged,
    RerunFinished,
    RerunStarted,
)
from oi_tui.app.engine.trust.autorun_files import is_place, runs_later
from oi_tui.app.engine.trust.change_scan import ChangeScan, FolderScanner, ScanResult, describe_scan

LATER = (
    *("conftest.py", "pkg/conftest.py", "sitecustomize.py", "usercustomize.py", "evil.pth", "Makefile", "setup.py"),
    *("noxfile.py", "tox.ini", ".pre-commit-config.yaml", ".envrc", ".bashrc", ".zshrc", "x.service", "x.desktop"),
    *(".git/hooks/pre-commit", ".git/config", ".github/workflows/ci.yml", ".vscode/tasks.json", "sub/.git/config"),
    *(".husky/pre-push", ".gitlab-ci.yml", "Dockerfile", ".mcp.json", ".ipython/profile_default/startup/0.py"),
    *(".devcontainer/devcontainer.json", ".oi/permissions.toml", "justfile", "a/b/c/d/e/f/Makefile", "odd\nname.pth"),
)
HARMLESS = (
    *("data.csv", "notes.md", "module.py", "Makefile.txt", "conftest.txt", ".git/index", ".git/objects/aa/bb"),
    *(".git/hooks/pre-commit.sample", "node_modules/x/setup.py", "__pycache__/conftest.py", "package-lock.json"),
)


def put(folder: Path, name: str, text: str = "x", mode: int = 0o644) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def after(folder: Path, run: Callable[[], object], watch: FolderScanner | None = None) -> ScanResult:
    """What is found after `run`, which begins when everything there is older than it."""
    watch = watch or FolderScanner([folder])
    settled()
    watch.look(time.time())
    since = time.time()
    run()
    return watch.look(since)


def settled() -> None:
    """Return when the clocks of files are past those of the files there are, as they are when a person has approved."""
    time.sleep(0.03)  # nothing tells that a clock has moved on


@pytest.mark.parametrize("name", LATER)
def test_a_file_that_runs_later_is_found_new_and_changed(tmp_path: Path, name: str) -> None:
    assert after(tmp_path, lambda: put(tmp_path, name)) == ScanResult(1, (name,), entries(tmp_path))
    assert after(tmp_path, lambda: (tmp_path / name).write_text("changed")).later == (name,)
    assert after(tmp_path, lambda: None).later == ()


def entries(folder: Path) -> int:
    return sum(1 for path in folder.rglob("*"))


@pytest.mark.parametrize("name", HARMLESS)
def test_other_files_are_only_counted(tmp_path: Path, name: str) -> None:
    assert after(tmp_path, lambda: put(tmp_path, name)).later == ()


def test_what_can_be_executed_is_found_also_if_only_its_mode_was_changed(tmp_path: Path) -> None:
    script = put(tmp_path, "bin/deploy")
    assert after(tmp_path, lambda: script.write_text("echo")).later == ()
    assert after(tmp_path, lambda: script.chmod(0o755)).later == ("bin/deploy",)
    assert after(tmp_path, lambda: script.write_text("rm")).later == ("bin/deploy",)


def test_a_time_that_was_set_back_hides_nothing(tmp_path: Path) -> None:
    def run() -> None:
        put(tmp_path, "Makefile")
        os.utime(tmp_path / "Makefile", (0, 0))

    assert after(tmp_path, run).later == ("Makefile",)


def test_files_that_are_renamed_and_links_are_found(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt")
    assert after(tmp_path, lambda: (tmp_path / "notes.txt").rename(tmp_path / "Makefile")).later == ("Makefile",)
    assert after(tmp_path, lambda: (tmp_path / "conftest.py").symlink_to("/nowhere")).later == ("conftest.py",)
    assert after(tmp_path, lambda: (tmp_path / ".git").symlink_to("/nowhere")).later == (".git",)


def test_a_folder_that_gets_a_name_of_weight_is_found(tmp_path: Path) -> None:
    put(tmp_path, "innocent/hooks/pre-commit")
    put(tmp_path, "innocent/config")
    found = after(tmp_path, lambda: (tmp_path / "innocent").rename(tmp_path / ".git"))
    assert found.later == (".git/config", ".git/hooks/pre-commit")


def put_repository(folder: Path, where: str, *parts: str) -> None:
    for name in parts:
        if name in ("objects", "refs"):
            (folder / where / name).mkdir(parents=True, exist_ok=True)
        else:
            put(folder, f"{where}{name}", "ref: refs/heads/main")


@pytest.mark.parametrize("where", ["", "sub/", "a/b/c.git/"])
@pytest.mark.parametrize(
    "parts", [("HEAD", "config", "objects", "refs"), ("config", "refs", "HEAD"), ("commondir", "HEAD")]
)
def test_U20_a_folder_that_git_takes_for_a_repository_is_told(
    tmp_path: Path, where: str, parts: tuple[str, ...]
) -> None:
    found = after(tmp_path, lambda: put_repository(tmp_path, where, *parts))
    assert found.later == tuple(sorted(f"{where}{name}" for name in parts if name not in ("objects", "refs")))
    title, _ = describe_scan(found, sandboxed=True)
    assert f"{where}HEAD (git takes its folder for a repository)" in title


@pytest.mark.parametrize("last", ["HEAD", "config", "objects"])
def test_U20_the_part_that_makes_it_a_repository_is_enough(tmp_path: Path, last: str) -> None:
    before = [name for name in ("HEAD", "config", "objects") if name != last]
    put_repository(tmp_path, "", *before)
    assert after(tmp_path, lambda: put_repository(tmp_path, "", last)).later == ("HEAD", "config")


def test_U20_a_bare_repository_of_the_persons_own_is_told_only_if_its_configuration_changes(tmp_path: Path) -> None:
    put_repository(tmp_path, "mine.git/", "HEAD", "config", "objects", "refs")
    found = after(tmp_path, lambda: put(tmp_path, "mine.git/objects/aa/bb"))
    assert (found.changed, found.later) == (1, ())
    put(tmp_path, "plain/config")
    put(tmp_path, "plain/HEAD")
    assert after(tmp_path, lambda: put(tmp_path, "plain/config", "x")).later == ()
    assert after(tmp_path, lambda: put(tmp_path, "mine.git/config", "x")).later == ("mine.git/config",)


def test_what_the_person_made_between_two_runs_is_not_the_runs_doing(tmp_path: Path) -> None:
    watch = FolderScanner([tmp_path])
    watch.look(time.time())
    put(tmp_path, "sub/Makefile")
    settled()
    since = time.time()
    put(tmp_path, "sub/data.csv")
    assert watch.look(since).later == ()


def test_what_was_told_of_a_file_is_told_again_only_if_it_changed_since(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    watch = FolderScanner([work], home)
    since = time.time()  # of all runs here: as if all of them were within one tick of a coarse clock
    put(work, "Makefile")
    put(work, "data.csv")
    put(home, ".bashrc")
    first = watch.look(since)
    assert (first.changed, first.later) == (3, ("Makefile", "~/.bashrc"))
    second = watch.look(since)
    assert (second.changed, second.later) == (0, ())
    (work / "data.csv").write_text("more than before")
    assert watch.look(since).changed == 1
    put(home, ".bashrc", "more than before")
    put(work, "Makefile", mode=0o755)
    third = watch.look(since)
    assert (third.changed, third.later) == (2, ("Makefile", "~/.bashrc"))
    (work / "data.csv").rename(work / "conftest.py")
    assert watch.look(since).later == ("conftest.py",)


def test_what_was_seen_and_told_to_nobody_is_told_the_next_time(tmp_path: Path) -> None:
    watch = FolderScanner([tmp_path])
    since = time.time()
    put(tmp_path, "Makefile")
    assert watch.look(since, told=False).later == ("Makefile",)
    assert watch.look(since).later == ("Makefile",)
    assert watch.look(since).later == ()


async def test_runs_within_one_tick_are_each_told_of_what_they_left_alone(tmp_path: Path) -> None:
    told: list[ScanResult] = []
    begun = time.time()
    watched = ChangeScan(FolderScanner([tmp_path]), lambda block_id, left: told.append(left), clock=lambda: begun)
    for name in ("Makefile", "data.csv", "conftest.py"):
        watched.follow(ExecutionStarted(block_id=name, generation=1))
        put(tmp_path, name)
        watched.follow(ExecutionFinished(block_id=name, status="ok", duration=0.0))
        await watched.rest()
    assert [(left.changed, left.later) for left in told] == [(1, ("Makefile",)), (1, ()), (1, ("conftest.py",))]


def test_a_package_counts_if_it_names_scripts(tmp_path: Path) -> None:
    assert after(tmp_path, lambda: put(tmp_path, "package.json", '{"name": "x"}')).later == ()
    found = after(tmp_path, lambda: put(tmp_path, "package.json", '{"scripts": {"postinstall": "sh"}}'))
    assert found.later == ("package.json",)
    found = after(tmp_path, lambda: put(tmp_path, "package.json", '{"\\u0073cripts": {"postinstall": "sh"}}'))
    assert found.later == ("package.json",)


def test_of_an_environment_of_python_only_what_python_reads_at_its_start_is_looked_at(tmp_path: Path) -> None:
    packages = "env/lib/python3.11/site-packages"
    put(tmp_path, "env/pyvenv.cfg")
    put(tmp_path, f"{packages}/pytest/setup.py")

    def run() -> None:
        put(tmp_path, f"{packages}/evil.pth")
        put(tmp_path, f"{packages}/sitecustomize.py")
        put(tmp_path, f"{packages}/numpy/setup.py")
        put(tmp_path, "env/bin/tool", mode=0o755)

    assert after(tmp_path, run).later == (f"{packages}/evil.pth", f"{packages}/sitecustomize.py")


def test_of_a_home_that_can_be_written_only_the_places_that_matter_are_looked_at(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    put(home, ".profile")
    put(home, ".config/autostart/old.desktop")

    def run() -> None:
        put(home, ".bashrc")
        put(home, "Downloads/Makefile")
        put(home, ".config/autostart/new.desktop")
        put(work, "Makefile")

    found = after(work, run, FolderScanner([work], home))
    assert found.later == ("Makefile", "~/.bashrc", "~/.config/autostart/new.desktop")


def test_more_folders_that_can_be_written_are_named_in_full(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    found = after(work, lambda: put(other, "Makefile"), FolderScanner([work, other]))
    assert found.later == (f"{other}/Makefile",)


def test_a_walk_has_bounds_and_says_so_and_the_nearest_is_seen_first(tmp_path: Path) -> None:
    for number in range(40):
        put(tmp_path, f"a{number}/b/c.txt")
    found = after(tmp_path, lambda: put(tmp_path, "Makefile"), FolderScanner([tmp_path], entries=60))
    assert (found.later, found.entries) == (("Makefile",), 60)
    assert found.cut == "only 60 files were looked at"


def test_U20_what_matters_is_seen_first_in_a_folder_that_is_too_full(tmp_path: Path) -> None:
    for number in range(200):
        put(tmp_path, f"{number}.txt")

    def run() -> None:
        put_repository(tmp_path, "", "HEAD", "config", "objects")
        put(tmp_path, "conftest.py")

    found = after(tmp_path, run, FolderScanner([tmp_path], entries=20))
    assert found.later == ("HEAD", "config", "conftest.py")


def test_too_deep_a_tree_is_said(tmp_path: Path) -> None:
    deep = "/".join("d" * 30)
    found = after(tmp_path, lambda: put(tmp_path, f"{deep}/Makefile"))
    assert found.later == ()
    assert "levels" in found.cut


def test_a_folder_that_is_gone_or_a_pipe_disturbs_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    assert after(tmp_path, lambda: None, FolderScanner([tmp_path, tmp_path / "gone"])).entries == 1


def test_every_place_is_one_wherever_it_is() -> None:
    assert is_place(".git/hooks/")
    assert is_place("a/b/.github/workflows/")
    assert is_place("sub/.git/")
    assert not is_place("git/hooks/")
    assert not is_place("")
    assert runs_later("MAKEFILE", 0)
    assert not runs_later("link", 0o120777)


def test_what_is_told_is_one_line_in_which_nothing_hides() -> None:
    title, details = describe_scan(ScanResult(1, ("Makefile",)), sandboxed=True)
    assert (title, details) == ("This run left a file that runs later, outside the sandbox: Makefile.", "")
    names = tuple(f"n{number}.pth" for number in range(9))
    title, details = describe_scan(ScanResult(9, names), sandboxed=False)
    assert title == "This run left 9 files that run later: n0.pth, n1.pth, n2.pth, n3.pth, n4.pth, n5.pth and 3 more."
    assert details.splitlines() == list(names)
    title, _ = describe_scan(ScanResult(1, ("a\nb\u202e\x1b[2J\udcff.pth",)), sandboxed=True)
    assert "a<U+000A>b<U+202E><U+001B>[2J\\udcff.pth" in title
    assert len(describe_scan(ScanResult(1, ("x" * 4000 + ".pth",)), sandboxed=True)[0]) < 250


async def test_it_looks_once_before_the_first_run_and_after_every_run(tmp_path: Path) -> None:
    told: list[tuple[str, ScanResult]] = []
    watched = ChangeScan(FolderScanner([tmp_path]), lambda block_id, left: told.append((block_id, left)))
    put(tmp_path, "innocent/hooks/pre-commit")
    settled()
    watched.follow(KernelChanged(language="python", state="starting"))
    await watched.rest()
    watched.follow(ExecutionStarted(block_id="a", generation=1))
    put(tmp_path, "Makefile")
    (tmp_path / "innocent").rename(tmp_path / ".git")
    watched.follow(ExecutionFinished(block_id="a", status="ok", duration=0.1))
    await asyncio.to_thread(settled)
    watched.follow(RerunStarted(block_id="b", generation=1))
    watched.follow(RerunFinished(block_id="b", outcome="same"))
    watched.follow(ExecutionFinished(block_id="never began", status="died", duration=0.0))
    await watched.rest()
    assert [(block_id, left.later) for block_id, left in told] == [
        ("a", (".git/hooks/pre-commit", "Makefile")),
        ("b", ()),
    ]


def test_folders_of_our_own_are_not_looked_at(tmp_path: Path) -> None:
    watch = FolderScanner([tmp_path], own=[tmp_path / "state"])
    found = after(tmp_path, lambda: put(tmp_path, "state/oi-tui/Makefile"), watch)
    assert (found.changed, found.later) == (0, ())
