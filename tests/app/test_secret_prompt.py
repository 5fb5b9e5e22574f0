"""What is asked in a terminal when a token is given: typed unseen, and where it may be kept."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.terminal import Terminal

SECRET = "sesame-open-0123456789"


@pytest.mark.parametrize("yes", [True, False])
def test_a_token_is_typed_unseen_and_a_file_is_offered_where_there_is_no_keyring(
    yes: bool, terminal: Callable[..., Terminal], clean_env: dict[str, str], tmp_path: Path
) -> None:
    kept = Path(clean_env["XDG_DATA_HOME"], "oi-tui", "credentials.toml")
    shown = terminal(
        [str(Path(sys.executable).with_name("oi-tui")), "kernels", "add", "cluster", "https://hub.test/"],
        env=clean_env,
        cwd=tmp_path,
        columns=100,
    )
    shown.wait_for("Token (Enter for none)")
    shown.send(f"{SECRET}\r")
    shown.wait_for("[y/N]")
    assert "readable by you only?" in shown.screen
    assert not kept.exists()
    shown.send("y\r" if yes else "\r")
    shown.wait_for("The token is in" if yes else "The token is not kept")
    assert SECRET not in shown.screen
    shown.wait_until(lambda: kept.with_name("servers.toml").exists() == yes, "the list of servers")
    assert kept.exists() == yes
