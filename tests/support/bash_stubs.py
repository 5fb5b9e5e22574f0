"""Shell source in pieces that make something new together, and what bash itself makes of it: programs are stubs.

The standard library alone, so that it can also be run by a program in a sandbox.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PIECES = (
    *("git log", " ", " ", "-3", ";", "\n", "&&", "||", "|", "&", "rm x", "$(rm x)", "`rm x`", "<(rm x)", "'"),
    *('"', "\\", "#", "{", "}", "$", "x=1", "*", "?", "(", ")", "!", "<<E\n", "\nE\n", "-", "2>&1", ">/dev/null", "\r"),
    *("=", "LC_ALL=C ", "TZ=a ", "~", "git", "log", "%", ":", "é", "[", "]", "^", "2", ">", "<", "&>", "\x00"),
)  # fmt: skip
"""Around `git log`, which alone is allowed."""

EVADING = (
    *("rm x", "rm", " x", "r", "m x", "\\\n", "'", '"', " ", " ", ";", "\n", "|", "&", "env ", "env -S "),
    *("xargs ", "sh", "eval ", "exec ", "command ", "builtin ", "time ", "trap ", " EXIT", "alias q=", "q"),
    *("shopt -s expand_aliases\n", "bash -c ", "sh -c ", "nice ", "timeout 5 ", "awk ", "BEGIN{system("),
    *(")}", "sed -n 1e", "cat ", "echo ", "x=rm ", "$x", "${x}", "$(", ")", "`", "<(", "<<<", "<<E\n"),
    *("\nE\n", "source ", ". ", "/dev/stdin", "f() { ", "; }; f", "if true; then ", "; fi"),
    *("for i in a; do ", "; done", "case a in a) ", ";; esac", "{ ", "}", "!", "((", "))", "[ -v 'a["),
    *("]' ]", "${y:=", "}", "\\", "/bin/../", "b", "cp ", "./", "PATH=.", "GIT_PAGER=", "git log", ">f", "*"),
    *("read c ", "$c", "printf -v c ", "set -- ", '"$@"', "mapfile -C ", " -c 1 a", "hash -p ", "let "),
    *("[[ ", " ]]"),
)  # fmt: skip
"""Around `rm`, which is denied where everything else runs unasked."""

EVADING_PROGRAMS = ("env", "xargs", "sh", "bash", "nice", "timeout", "awk", "sed", "cat", "cp")
"""Which those pieces name and which are real."""


def beyond_git_log(ran: Sequence[str]) -> list[str]:
    """The commands that are not the one that is allowed."""
    return [command for command in ran if command.removeprefix("LC_ALL=C ").removeprefix("TZ=a ")[:7] != "git log"]


class Bash:
    """What bash itself makes of a source: the commands that it runs, and the files that appear."""

    def __init__(self, *links: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="policy-"))
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("git", "rm"):
            (programs / name).write_text(f"#!/bin/sh\n: > ran-{name}\n" if links else "#!/bin/sh\nexit 0\n")
            (programs / name).chmod(0o755)
        for name in links:
            (programs / name).symlink_to(shutil.which(name) or "/bin/false")
        self.path = str(programs)

    def run(self, source: str, *before: str) -> tuple[list[str], list[str]]:
        """Commands as bash read them, and the names of files afterwards; of those named `before` only these are there,
        unchanged."""
        cwd = Path(tempfile.mkdtemp(dir=self.folder))
        for name in before:
            (cwd / name).parent.mkdir(exist_ok=True)
            (cwd / name).write_text("as it was")
        reads, writes = os.pipe()
        script = f'trap \'builtin printf "%s\\0" "$BASH_COMMAND" >&{writes}\' DEBUG\n{source}'
        with os.fdopen(reads, "rb") as log:
            subprocess.run(
                ["/bin/bash", "--norc", "--noprofile", "-T", "-c", script],
                cwd=cwd,
                env={"PATH": self.path},
                pass_fds=(writes,),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20,
                check=False,
            )
            os.close(writes)
            ran = log.read().decode(errors="replace").split("\0")[:-1]
        changed = {name for name in before if not (cwd / name).is_file() or (cwd / name).read_text() != "as it was"}
        found = [str(path.relative_to(cwd)) for path in cwd.rglob("*")]
        return ran, [name for name in found if name not in changed]
