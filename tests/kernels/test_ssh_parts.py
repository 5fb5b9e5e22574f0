"""Kernels over ssh, without it: programs that pose as ssh say what nobody expects. tests/servers has a real sshd."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from oi_tui.app.engine.core.errors import KernelError, SettingsError
from oi_tui.app.engine.core.settings import KernelSection
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.remote import ssh_server
from oi_tui.app.engine.kernels.remote.address import KernelAddress, parse_address
from oi_tui.app.engine.kernels.remote.servers import KnownServer, KnownServers
from oi_tui.app.engine.kernels.remote.site import open_site
from oi_tui.app.engine.kernels.remote.ssh_process import STDERR_KEPT, explain_failure, ssh_arguments
from oi_tui.app.engine.kernels.remote.ssh_script import BOOTSTRAP, begin_script, hold_script
from oi_tui.app.engine.kernels.remote.terminal import remote_shell
from oi_tui.app.frontend.client import CLOSE_TIMEOUT
from support import posing_ssh


async def open_with(folder: Path, script: str) -> KernelError:
    """The error of a connection by this program."""
    program = folder / "pose as ssh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    launch = Launch(cwd=folder, settings=KernelSection(ssh_command=shlex.quote(str(program))))
    with pytest.raises(KernelError) as told:
        async with open_site(KnownServer(url="ssh://lab"), launch):
            raise AssertionError("it was believed")
    return told.value


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("echo 'lab: Permission denied (publickey).' >&2; exit 255", "does not let ssh in"),
        ("printf 'Host key verification failed.\\n' >&2; exit 255", "does not know the host key"),
        ("exit 255", "connection to lab ended"),
        ("yes hello", "make no sense"),
        ("head -c 1000000 /dev/zero", "make no sense"),
        ("echo oi-tui state 1 99999 relative/path token", "not as our script does"),
        ("echo oi-tui state 1 22 '/tmp/a:b' tok", "but not the Jupyter server"),
        ("echo oi-tui failed ended zz", "ended at once"),
        ("echo oi-tui failed jupyter", "lab has no Jupyter server"),
    ],
)
async def test_what_poses_as_ssh_is_an_error_in_plain_words(tmp_path: Path, script: str, title: str) -> None:
    error = await open_with(tmp_path, script)
    assert title in error.title


async def test_S30_what_ssh_says_is_bounded_and_cannot_write_on_the_screen(tmp_path: Path) -> None:
    error = await open_with(
        tmp_path, "yes \"$(printf 'x\\033[2J\\033]0;t\\007\\342\\200\\256y')\" | head -c 900000 >&2; exit 255"
    )
    assert len(error.details) <= STDERR_KEPT
    assert all(sign.isprintable() or sign == "\n" for sign in error.details)
    error = await open_with(tmp_path, f"echo oi-tui failed ended {'1b5b324a41' * 20}")
    assert error.details == "[2JA" * 20


@pytest.mark.parametrize("url", ["ssh://-oProxyCommand=touch", "ssh://-l@lab", "ssh://lab -oX", "ssh://"])
def test_S30_an_address_is_never_an_option_of_ssh(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError):
        parse_address(url)
    with pytest.raises(SettingsError):
        KnownServers(tmp_path / "servers.toml", owner=os.getuid()).find(url)
    words = ssh_arguments("ssh", KernelAddress(host="lab", user="me", port=22))
    assert words[-2:] == ["--", "lab"]


def test_a_machine_over_ssh_is_known_without_being_added(tmp_path: Path) -> None:
    found = KnownServers(tmp_path / "servers.toml", owner=os.getuid()).find("ssh://me@lab:22/opt/env")
    assert (found.url, found.host, found.place) == ("ssh://me@lab:22/opt/env", "lab", "python3 on lab")


@pytest.mark.parametrize("command", ["", "  ", "ssh 'open"])
def test_a_command_that_is_none_is_said(command: str) -> None:
    with pytest.raises(KernelError, match="is no command"):
        ssh_arguments(command, KernelAddress(host="lab"))


async def test_a_missing_ssh_is_said(tmp_path: Path) -> None:
    launch = Launch(cwd=tmp_path, settings=KernelSection(ssh_command=str(tmp_path / "nosuch")))
    with pytest.raises(KernelError, match="could not be started") as told:
        async with open_site(KnownServer(url="ssh://lab"), launch):
            pass
    assert "OpenSSH" in told.value.hint


def test_the_command_to_run_once_is_one_that_can_be_run() -> None:
    error = explain_failure(KernelAddress(host="lab", user="me", port=2222), "Permission denied (publickey).")
    assert "`ssh -p 2222 -l me lab`" in error.hint


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "fish", "tcsh"])
def test_the_script_arrives_in_every_shell_as_it_is_meant(tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"NOT TESTED: there is no {shell} on this machine")
    command = [program, "-c", BOOTSTRAP]
    environ = os.environ | {"HOME": str(tmp_path), "SHELL": program}
    script = "read -r said\nprintf '%s|%s\\n' \"$said\" 'a \"b\" $c \\n d%s'\n#end\nafter it\n"
    ran = subprocess.run(command, env=environ, input=script, capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == 'after it|a "b" $c \\n d%s\n'


def test_what_the_person_says_of_a_python_there_is_a_word_and_no_code(tmp_path: Path) -> None:
    python = "'; touch hacked; echo '$(touch hacked)`touch hacked`"
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    for script in (begin_script(python, "socket"), hold_script(python, "socket", "me")):
        ran = subprocess.run(
            ["/bin/sh", "-c", BOOTSTRAP], env=environ, input=script, cwd=tmp_path, capture_output=True, text=True,
            timeout=30, check=False,
        )  # fmt: skip
        assert "oi-tui failed python" in ran.stdout or "oi-tui gone" in ran.stdout
    assert not list(tmp_path.rglob("hacked"))


def run_there(home: Path, script: str) -> subprocess.Popen[str]:
    """The script as it runs on the other machine, with this home."""
    environ = {"PATH": os.defpath, "HOME": str(home), "SHELL": "/bin/sh"}
    there = subprocess.Popen(
        ["/bin/sh", "-c", BOOTSTRAP], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert there.stdin is not None
    there.stdin.write(script)
    there.stdin.flush()
    return there


def test_K41_looking_for_a_server_starts_none(tmp_path: Path) -> None:
    there = run_there(tmp_path, begin_script("", "socket", starts=False))
    said, _ = there.communicate(timeout=30)
    assert said.startswith("oi-tui failed asleep")


def test_a_lock_that_was_left_behind_lets_one_in_at_a_time(tmp_path: Path) -> None:
    beginning = begin_script("", "socket").partition("\nlock\n")[0]
    run_there(tmp_path, f"{beginning}\n#end\n").communicate(timeout=30)  # makes the folder
    (folder,) = (tmp_path / ".local" / "share" / "oi-tui" / "ssh").iterdir()
    ended = subprocess.Popen(["true"])
    ended.wait()
    count = 'n=$(cat "$dir/n"); sleep 0.05; echo $((n + 1)) >"$dir/n"'
    (folder / "n").write_text("0")
    for _ in range(3):
        (folder / "lock").mkdir()
        (folder / "lock" / "pid").write_text(str(ended.pid))
        many = [run_there(tmp_path, f"{beginning}\nlock\n{count}\nexit\n#end\n") for _ in range(6)]
        for one in many:
            one.communicate(timeout=60)
    assert (folder / "n").read_text() == "18\n"
    assert not (folder / "lock").exists()


def test_a_lost_connection_that_is_noticed_late_does_not_sign_off_the_one_that_took_its_place(tmp_path: Path) -> None:
    run_there(tmp_path, hold_script("", "socket", "me")).communicate(timeout=30)  # makes the folder
    (folder,) = (tmp_path / ".local" / "share" / "oi-tui" / "ssh").iterdir()
    server = subprocess.Popen([sys.executable, "-c", "input()", "--ServerApp"], stdin=subprocess.PIPE)
    (folder / "state").write_text(f"{server.pid} 1 -\n")
    held = []
    try:
        for _ in range(2):
            held.append(there := run_there(tmp_path, hold_script("", "socket", "me")))
            assert there.stdout is not None
            assert there.stdout.readline() == "oi-tui ready\n"
        lost, anew = held
        signed = (folder / "clients" / "me").read_text()
        lost.communicate(timeout=30)
        assert (folder / "clients" / "me").read_text() == signed
        anew.communicate(timeout=30)
        assert not (folder / "clients" / "me").exists()
    finally:
        server.kill()
        server.communicate()
        for one in held:
            one.kill()
            one.communicate()


# -- a server behind what poses as ssh -------------------------------------------------------------------


@pytest.fixture
def posing(tmp_path: Path) -> Launch:
    """Its ssh leads to a server without kernels and terminals, as the folder that it works in says."""
    (tmp_path / "terminals").write_text("[]")
    command = shlex.join((sys.executable, posing_ssh.__file__))
    return Launch(
        cwd=tmp_path, settings=KernelSection(ssh_command=command), environ=os.environ | {"POSE": str(tmp_path)}
    )


@pytest.mark.parametrize(
    ("terminals", "starts", "ends"),
    [("[]", True, True), ('[{"name": "1"}]', True, False), ("[]", False, False)],
)
async def test_K41_a_server_is_stopped_only_where_nothing_is_left_on_it_and_it_was_more_than_looked_at(
    posing: Launch, terminals: str, starts: bool, ends: bool
) -> None:
    (posing.cwd / "terminals").write_text(terminals)
    async with open_site(KnownServer(url="ssh://lab"), posing, starts=starts):
        pass
    told = (posing.cwd / "told").read_text() if (posing.cwd / "told").exists() else ""
    assert ("stop" in told.split()) is ends


async def test_K41_a_machine_that_says_nothing_any_more_does_not_hold_up_the_end(posing: Launch) -> None:
    async with asyncio.timeout(60):
        async with open_site(KnownServer(url="ssh://lab"), posing) as site:
            assert await site.is_empty()
            (posing.cwd / "mood").write_text("silent")
            began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < CLOSE_TIMEOUT


async def test_S30_a_machine_that_only_says_other_things_is_not_listened_to_for_ever(
    posing: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_server, "CHECKING", 0.3)
    async with asyncio.timeout(15):
        async with open_site(KnownServer(url="ssh://lab"), posing) as site:
            (posing.cwd / "mood").write_text("chatty")
            assert await site.is_empty()


async def test_a_shell_waits_for_a_machine_that_takes_long_to_start(posing: Launch) -> None:
    (posing.cwd / "slow").write_text("1.5")
    launch = replace(posing, settings=msgspec.structs.replace(posing.settings, start_timeout=0.5))
    shell = remote_shell(launch, KnownServer(url="ssh://lab"))
    with pytest.raises(KernelError, match="not as a Jupyter server does"):  # it came as far as the terminals
        await shell.start()
    await shell.close()
