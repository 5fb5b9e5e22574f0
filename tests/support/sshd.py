"""A real sshd on the loopback interface, as an ordinary process with keys and a home folder of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from support.ports import free_port

PATIENCE = 30.0
"""Seconds until it listens."""


class Sshd(NamedTuple):
    """One that runs."""

    folder: Path
    home: Path
    """What the other machine's home folder is."""
    port: int

    def config(self, name: str, *lines: str) -> str:
        """The command of an ssh with these settings before the usual ones."""
        file = self.folder / f"config-{name}"
        key = () if any(line.startswith("IdentityFile") for line in lines) else (f"IdentityFile {self.folder}/key",)
        usual = (f"Port {self.port}", "HostName 127.0.0.1", "IdentitiesOnly yes", *key)
        known = (f"UserKnownHostsFile {self.folder}/known", "GlobalKnownHostsFile /dev/null", "IdentityAgent none")
        file.write_text("\n".join((*lines, *usual, *known, "StrictHostKeyChecking yes", "")))
        return f"ssh -F {file}"


def servers_of(sshd: Sshd) -> list[psutil.Process]:
    """The Jupyter servers that were started through it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            runtime = process.environ().get("JUPYTER_RUNTIME_DIR", "")
            if runtime.startswith(str(sshd.home)) and "--no-browser" in process.cmdline():
                found.append(process)
    return found


def tunnels_of(sshd: Sshd) -> list[psutil.Process]:
    """The connections to it that lead somewhere."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = process.cmdline()
            if words[:1] == ["ssh"] and "-L" in words and str(sshd.folder) in " ".join(words):
                found.append(process)
    return found


def find_sshd() -> str:
    """The program; "" if there is none."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""


@contextmanager
def running_sshd(folder: Path, path: Path, *settings: str) -> Iterator[Sshd]:
    """One whose login shell has `path` on its PATH."""
    for name in ("key", "host", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    home = folder / "home"
    home.mkdir()
    for profile in (".profile", ".bash_profile", ".zprofile"):
        (home / profile).write_text(f"echo a profile says hello\nPATH={path}:$PATH; export PATH\n")
    shutil.copy(folder / "key.pub", folder / "authorized")
    port = free_port()
    host = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {host}")
    data = f'SetEnv HOME="{home}" XDG_DATA_HOME="{home}/.local/share"'
    lines = (
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {folder}/host", f"AuthorizedKeysFile {folder}/authorized",
        "PidFile none", "UsePAM no", "StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
        "PermitRootLogin yes", data, *settings, "",
    )  # fmt: skip
    (folder / "sshd_config").write_text("\n".join(lines))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd wants it of root
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [find_sshd(), "-D", "-e", "-f", folder / "sshd_config"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)  # nobody tells when sshd listens
        assert server.poll() is None, (folder / "log").read_text()
        yield (made := Sshd(folder, home, port))
        for left in servers_of(made):
            left.kill()
    finally:
        server.terminate()
        server.wait(10)
