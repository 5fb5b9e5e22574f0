"""A real keyring, GNOME's, on a bus of its own: tokens are kept there, and a locked one is given up in time."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

MISSING = [name for name in ("dbus-run-session", "gnome-keyring-daemon") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"NOT TESTED: a real keyring; {' and '.join(MISSING)} not installed; make check-servers does"
)

SECRET = "sésame-öffne-dich-0123456789"

UNLOCKED = "printf secret-of-the-login | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1; exec {}"
LOCKED = "gnome-keyring-daemon --start --components=secrets >/dev/null 2>&1; exec {}"

ROUND_TRIP = f"""
import asyncio, os, pathlib
from oi_tui.app.engine.files.credentials import credential_store

async def main():
    store, learned = credential_store(), []
    assert await store.keep("jupyter:https://hub.test", {SECRET!r}) == "", "kept"
    assert store.places() == {{"jupyter:https://hub.test": "keyring"}}, "places"
    assert await store.find("jupyter:https://hub.test", learned.append, environ={{}}) == {SECRET!r}, "found"
    assert learned == [{SECRET!r}], "learned"
    assert {SECRET!r} not in store.path.read_text(), "file"
    assert await store.forget("jupyter:https://hub.test") == "", "forgotten"
    assert await store.find("jupyter:https://hub.test", learned.append, environ={{}}) == "", "gone"
    print("all of it")

asyncio.run(main())
"""

REFUSED = f"""
import asyncio, os, pathlib
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.files.keyring import Keyring

store = CredentialStore(pathlib.Path(os.environ["HOME"], "credentials.toml"), Keyring(patience=5), owner=os.getuid())
print(asyncio.run(store.keep("jupyter:https://hub.test", {SECRET!r})))
assert not store.path.exists()
"""


def run_on_a_bus(before: str, program: str, env: Mapping[str, str]) -> str:
    """What the program says, in a session with a bus that ends with it."""
    command = before.format(f'{sys.executable} -P -c "$PROGRAM"')
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", command],
        env={**env, "PROGRAM": program},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def own_env(clean_env: dict[str, str]) -> dict[str, str]:
    """The home of a person whose keyring is that of the bus."""
    return {name: value for name, value in clean_env.items() if name != "PYTHON_KEYRING_BACKEND"}


def test_tokens_are_kept_in_gnomes_keyring(own_env: dict[str, str], tmp_path: Path) -> None:
    assert run_on_a_bus(UNLOCKED, ROUND_TRIP, own_env) == "all of it"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.suffix == ".keyring" for file in files)
    assert all(SECRET.encode() not in file.read_bytes() for file in files)


def test_a_locked_keyring_is_told_and_nothing_is_kept_unasked(own_env: dict[str, str]) -> None:
    assert run_on_a_bus(LOCKED, REFUSED, own_env).startswith("The keyring cannot be used: ")
