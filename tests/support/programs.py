"""The command line as a program of its own, with nobody to ask."""

import subprocess
import sys
from pathlib import Path

from support.openai_server import OpenAIServer


def oi_tui(
    env: dict[str, str], *args: str, data: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """What came of `oi-tui ARGS`, without a controlling terminal."""
    return subprocess.run(
        [sys.executable, "-m", "oi_tui.app.cli", *args],
        env=env,
        input=data,
        capture_output=True,
        timeout=100,
        check=False,
        cwd=cwd,
        start_new_session=True,
    )


def on(server: OpenAIServer) -> list[str]:
    """Options that name the model of a scripted server."""
    return ["-m", "openai/scripted", "--api-base", server.url, "--api-key", "x"]
