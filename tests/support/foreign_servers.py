"""Foreign servers as they are: installed by `make check-servers`, on the loopback, ended by their id."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.ports import free_port

SERVERS = Path(os.environ.get("OI_TUI_SERVERS", ""), "bin")
"""The commands of the environment that requirements.txt is installed into; the target says where that is."""

PATIENCE = 90.0
"""Seconds until a server answers."""
GRACE = 10.0
"""Seconds in which a server ends when it is asked to."""

Serve = Callable[..., str]


@contextmanager
def process(command: Sequence[str | Path], log: Path, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block, asked first; what it says is in the log."""
    ours = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    with log.open("wb") as said:
        begun = subprocess.Popen(
            command, env=ours | environ, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        yield begun
    finally:
        begun.terminate()
        try:
            begun.wait(GRACE)
        except subprocess.TimeoutExpired:
            begun.kill()
            begun.wait()


def wait_answers(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Until this address answers with success; else an error with the end of what the server said."""
    import httpx  # late: every test process reads this module, and few start a server

    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(url, timeout=5, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)  # nobody tells when a foreign server listens
    pytest.fail(f"{url} does not answer (exit code {server.poll()}):\n{log.read_text(errors='replace')[-4000:]}")


@contextmanager
def serving(make_folder: Callable[[str], Path]) -> Iterator[Serve]:
    """Starts servers that end with the block, and waits for their `health`: `serve("litellm", "--port", "{port}",
    health="/health")` is `http://127.0.0.1:PORT`. A server that is not installed is a skipped test."""
    with ExitStack() as running:

        def begin(name: str, *arguments: str, health: str, place: str = "servers", **environ: str) -> str:
            program = SERVERS.parent.parent / place / "bin" / name
            if not program.exists():
                pytest.skip(f"NOT TESTED: {name} is not installed; make check-servers does that")
            port = free_port()
            log = make_folder(name) / "log"
            command: list[str | Path] = [program, *(argument.format(port=port) for argument in arguments)]
            server = running.enter_context(process(command, log, **environ))
            wait_answers(f"http://127.0.0.1:{port}{health}", server, log)
            return f"http://127.0.0.1:{port}"

        yield begin
