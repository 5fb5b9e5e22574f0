"""Row U29: of the rules that deny, those that are said to be kept by a sandbox are; tried from within, on each rung."""

import json
import os
import shutil
import tempfile
import uuid
from pathlib import Path

import pytest

from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.shell_kernel import ShellKernel
from oi_tui.app.engine.policy.rules import is_out_of_reach, short_form
from oi_tui.app.engine.sandbox.rungs import LADDER
from support.enclosure import make_home, make_project, profile, why_no_rung
from support.runs import collect

pytestmark = pytest.mark.kernel

PLACES = (
    *(
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hostname",
        "/etc/fstab",
        "/usr/bin/env",
        "/bin/sh",
        "/var/log/dpkg.log",
        "/proc/1/environ",
    ),
    *(
        "/var/lib/dpkg/status",
        "/root/.bashrc",
        "/root/.profile",
        "/etc/hosts",
        "/opt",
        "/home",
        "/root",
        "/var/log",
        "/srv",
        "/mnt",
    ),
)
MARK = f"/oi-tui-made-{uuid.uuid4().hex[:8]}"
PROGRAM = """
import json, os
def tries(work):
    try:
        work()
        return True
    except OSError:
        return False
def write(path):
    if os.path.isdir(path):
        os.mkdir(path + MARK)
    else:
        os.close(os.open(path, os.O_WRONLY))
def read(path):
    if os.path.isdir(path):
        if not set(os.listdir(path)) - {MARK[1:]}: raise OSError("empty")
    else:
        open(path, "rb").read(1)
done = {path: [tries(lambda: write(path)), tries(lambda: read(path))] for path in PLACES}
print("DONE" + json.dumps(done))
"""


@pytest.mark.parametrize("name", [rung.name for rung in LADDER])
@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
async def test_U29_what_is_said_to_be_out_of_reach_can_be_neither_read_nor_written(
    name: str, mode: str, tmp_path: Path
) -> None:
    if reason := why_no_rung(name):
        pytest.skip(reason)
    home, work = make_home(tmp_path / "home"), make_project(tmp_path / "work")
    (tmp_path / "outside").write_text("x")
    launch = Launch(cwd=work, sandbox=profile(work, home, rung=name, mode=mode))
    reach = launch.confine("shell").reach
    assert reach is not None
    own = (
        work,
        work / ".git",
        work / ".git" / "config",
        work / ".vscode",
        work / "sub",
        home,
        home / ".ssh" / "id_rsa",
    )
    paths = [*PLACES, *map(str, own), str(tmp_path / "outside"), tempfile.gettempdir(), str(Path(os.__file__))]
    kernel = ShellKernel(launch)
    program = PROGRAM.replace("PLACES", json.dumps(paths)).replace("MARK", repr(MARK))
    try:
        run = await collect(kernel, f"python3 - <<'END'\n{program}\nEND")
    finally:
        await kernel.close()
    done: dict[str, list[bool]] = json.loads(run.text().partition("DONE")[2])
    for path, could in done.items():
        if os.path.isdir(path) and could[0]:  # it may have been a folder of that name in memory
            could[0] = os.path.isdir(path + MARK)
            shutil.rmtree(path + MARK, ignore_errors=True)
    claimed: dict[str, list[str]] = {}
    for path, (wrote, read) in done.items():
        for tool, did in (("Edit", wrote), ("Read", read)):
            rule = short_form(f"{tool}({path})", "deny")._replace(real=os.path.realpath(path))
            if is_out_of_reach(rule, reach):
                claimed.setdefault(tool, []).append(path)
                assert not did, f"{rule.text} is said to be kept"
    assert "/etc/passwd" in claimed["Edit"]
    assert {"/srv", str(home), str(home / ".ssh" / "id_rsa"), str(tmp_path / "outside")} <= set(claimed["Read"])
    assert str(home / ".ssh" / "id_rsa") in claimed["Edit"]
    assert (str(work / ".git" / "config") in claimed["Edit"]) == (name != "lock" or mode == "read-only")
    assert (str(work / "sub") in claimed["Edit"]) == (mode == "read-only")
