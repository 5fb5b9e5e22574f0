"""The README's two commands on a machine that has nothing: Debian's smallest root with make, python3 and python3-venv.

    python tests/bare/bare.py [--suite bookworm] [--user ann] [--tests] [--root DIR] [COMMAND ...]

For root, and where debootstrap is installed. Makes such a root (once; it is kept in the cache folder of whoever asks),
copies it, puts the last commit into it in a folder with a difficult name, and runs there `make run` without a terminal
and in one, with a scripted model and the real sandbox; with `--tests` also `make test`. With a COMMAND it runs that
instead. With `--alone` apt has no source of packages there, so that root cannot install what is missing either.

Nothing of this machine is seen there, but how apt and pip are set up to find packages.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from support.question import wait_armed
from support.terminal import Terminal

ROOT = Path(__file__).parents[2]
ENTER = Path(__file__).with_name("enter.sh")
SUITES = ("bookworm", "trixie")
"""The oldest Python that the program runs on, and a newer one."""
PACKAGES = "make,python3,python3-venv"
ABSENT = ("git", "gcc", "cc", "bwrap", "less", "vi", "sudo", "ps")
"""Programs that a bare root must not have: else nothing would be proven."""
FOLDER = 'das „größte“ Haus, it\'s "new"'
"""The checkout's name."""
SETTING_UP = 900
"""Seconds for a set-up and a first answer."""
TESTING = 5400
"""Seconds for a set-up and all tests."""

ANSWERS = """["```python\\nprint('it', 6 * 7)\\nopen('made', 'w')\\nopen('../outside', 'w')\\n```\\n", "All done."]"""
"""The scripted model's."""


class Bare(NamedTuple):
    """A root that was made ready for somebody."""

    root: Path
    user: str

    @property
    def home(self) -> str:
        """As it is seen inside."""
        return "/root" if self.user == "root" else f"/home/{self.user}"

    @property
    def folder(self) -> str:
        """The checkout, as it is seen inside."""
        return f"{self.home}/{FOLDER}"

    def inside(self, path: str) -> Path:
        """A path of the root as it is seen from outside."""
        return self.root / path.removeprefix("/")

    def command(self, *argv: str) -> list[str]:
        """What runs this in there."""
        enclosed = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child"]
        return [*enclosed, "sh", str(ENTER), str(self.root), self.user, self.folder, *argv]


def make_root(suite: str) -> Path:
    """Debian's smallest root, from where this machine gets its packages."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oi-tui-bare" / suite
    if not cache.exists():
        print(f"Making {cache} (a minute, once) ...", file=sys.stderr, flush=True)
        beside = cache.with_name(f"{suite}.new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(beside), _mirror()],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        beside.rename(cache)
    return cache


def _mirror() -> str:
    asked = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    listed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^Debian [a-z]+ (\S+)$", listed, re.MULTILINE)
    if not found:
        sys.exit("This machine's apt knows no mirror of Debian; try after `apt-get update`.")
    return str(found[0])


@contextmanager
def prepared(suite: str, user: str, kept: Path | None, alone: bool) -> Iterator[Bare]:
    """A copy of the root with the checkout in it; gone afterwards, if it is not to be kept."""
    fresh = kept is None or not kept.exists()
    root = kept or Path(mkdtemp(prefix=f"bare-{suite}-", dir="/var/tmp"))
    bare = Bare(root, user)
    try:
        if fresh:
            subprocess.run(["cp", "-a", f"{make_root(suite)}/.", str(root)], check=True)
            root.chmod(0o755)
            make_ready(bare)
            if alone:
                for source in bare.inside("/etc/apt").glob("sources.list*"):
                    shutil.rmtree(source) if source.is_dir() else source.unlink()
        yield bare
    finally:
        if kept is None:
            shutil.rmtree(root)


def make_ready(bare: Bare) -> None:
    """The user, the last commit, how pip is set up."""
    present = [name for name in ABSENT if any((bare.root / "usr" / part / name).exists() for part in ("bin", "sbin"))]
    if present:
        sys.exit(f"{bare.root} is not bare: it has {', '.join(present)}.")
    if bare.user != "root":
        subprocess.run(["chroot", str(bare.root), "useradd", "--create-home", bare.user], check=True)
    shutil.copy("/etc/resolv.conf", bare.inside("/etc/resolv.conf"))
    settings = "".join(f"{name} = {' '.join(value.split())}\n" for name, value in pip_settings().items())
    bare.inside("/etc/pip.conf").write_text(f"[global]\n{settings}")
    folder = bare.inside(bare.folder)
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    bare.inside(f"{bare.home}/script").write_text(ANSWERS)
    subprocess.run(["chroot", str(bare.root), "chown", "-R", f"{bare.user}:", bare.home], check=True)


def pip_settings() -> dict[str, str]:
    """This machine's, from files and environment."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split("=", 1) for line in listed.splitlines() if "=" in line]
    rows.sort(key=lambda row: row[0].startswith(":env:"))  # the environment counts more
    return {name.split(".")[-1]: str(ast.literal_eval(value)) for name, value in rows}


def environment(bare: Bare, model: bool = True) -> dict[str, str]:
    """For `enter.sh`: what pip's settings name of this machine is shown there, and what an index lies beside."""
    words = " ".join(pip_settings().values()).split()
    shown = [word for word in words if word.startswith("/")]
    shown += [str(Path(word.removeprefix("file://")).parent) for word in words if word.startswith("file:///")]
    chosen = {"MODEL": "fake/~/script"} if model else {}
    return {"PATH": os.environ["PATH"], "SHOWN": "\n".join(shown), "TERM": "xterm-256color", **chosen}


# -- what is tried


def run_without_terminal(bare: Bare) -> str:
    """`make run` as in a pipe; what it took, or AssertionError."""
    begun = time.monotonic()
    done = subprocess.run(
        bare.command("make", "run"), env=environment(bare), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=SETTING_UP, start_new_session=True,
    )  # fmt: skip
    took = time.monotonic() - begun
    print(done.stdout)
    assert done.returncode == 0, done.returncode
    assert "it 42" in done.stdout
    assert "All done." in done.stdout
    assert bare.inside(f"{bare.folder}/made").exists(), "code could not write in its folder"
    assert not bare.inside(f"{bare.home}/outside").exists(), "that was no sandbox"
    bare.inside(f"{bare.folder}/made").unlink()
    return f"{took:.0f} s from `make run` to its end"


def run_in_terminal(bare: Bare) -> str:
    """`make run` as a newcomer types it: the folder is trusted, code approved; what it took, or AssertionError."""
    with Terminal(bare.command("make", "run"), env=environment(bare), cwd="/", columns=100, rows=30) as shown:
        appeared = shown.wait_for(re.compile("Trust .*[?]"), SETTING_UP) - shown.started
        shown.wait_for("the sandbox works", 60)
        wait_armed(shown, "enter choose")
        shown.send("\r")
        shown.wait_for("approval: ask · sandbox, no network", 60)
        sent = shown.send("count\r")
        shown.wait_for("Run this?", 60)
        wait_armed(shown)
        shown.send("y")
        shown.wait_for("it 42", 60)
        answered = shown.wait_for("All done.", 60) - sent
        shown.send("\x11")
        assert shown.wait_exit(60) == 0
        assert shown.faults == []
    assert not bare.inside(f"{bare.home}/outside").exists(), "that was no sandbox"
    bare.inside(f"{bare.folder}/made").unlink()
    return f"{appeared:.1f} s to the window, {answered:.1f} s to the answer"


def run_tests(bare: Bare) -> str:
    """`make test` as in a pipe; its last lines, or AssertionError."""
    begun = time.monotonic()
    process = subprocess.Popen(
        ["timeout", str(TESTING), *bare.command("make", "test")], env=environment(bare, model=False),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    told = []
    assert process.stdout
    for line in process.stdout:
        print(line, end="", flush=True)
        told += re.findall(r"^=+ (.*\d+ passed.*) =+$", line)
    assert process.wait() == 0, told
    return f"{'; '.join(told)}; {time.monotonic() - begun:.0f} s with the set-up"


def main() -> None:
    """Run one root's checks, or a command in it; the exit code says whether all held."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", choices=SUITES, default=SUITES[0])
    parser.add_argument("--user", default="root", help="root, or a user who is made for it")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--root", type=Path, help="kept, and taken as it is if it is there")
    parser.add_argument("argv", nargs=argparse.REMAINDER, metavar="COMMAND")
    told = parser.parse_args()
    if os.getuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("NOT TESTED: this needs root's rights and the program debootstrap.")
    with prepared(told.suite, told.user, told.root, told.alone) as bare:
        if told.argv:
            sys.exit(subprocess.run(bare.command(*told.argv), env=environment(bare), check=False).returncode)
        failed = False
        for attempt in (run_without_terminal, run_in_terminal, *([run_tests] if told.tests else [])):
            try:
                said = attempt(bare)
            except AssertionError as error:
                said, failed = f"FAILED: {error}", True
            print(f"{told.suite}, {told.user}, {attempt.__name__}: {said}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
