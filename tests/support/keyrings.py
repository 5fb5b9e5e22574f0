"""Keyrings as `keyring` knows them, chosen by `PYTHON_KEYRING_BACKEND` and loaded in the process that asks."""

import json
import os
import sys
import time
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

HOME = Path(__file__).parents[1]
"""What `PYTHONPATH` needs for these."""


def environ_with(backend: str, file: Path | None = None) -> dict[str, str]:
    """Variables with which this keyring is the person's."""
    name = backend if "." in backend else f"support.keyrings.{backend}"
    return os.environ | {"PYTHONPATH": str(HOME), "PYTHON_KEYRING_BACKEND": name, "TEST_KEYRING": str(file)}


class KeyringOfFile(KeyringBackend):  # type: ignore[misc] # the package may be missing
    """Keeps what it is given in a file that the test can look at, and talks too much."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        print('{"secret": "what a backend prints is no answer"}', flush=True)
        return self._kept().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(self._kept() | {f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        kept = self._kept()
        if kept.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError(username)
        Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(kept))

    def _kept(self) -> dict[str, str]:
        file = Path(os.environ["TEST_KEYRING"])
        kept: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        return kept


class HangingKeyring(KeyringBackend):  # type: ignore[misc] # the package may be missing
    """Waits for a window that nobody sees, and leaves its number in a file."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        Path(os.environ["TEST_KEYRING"]).write_text(str(os.getpid()))
        time.sleep(3_600)
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        self.get_password(service, username)

    def delete_password(self, service: str, username: str) -> None:
        self.get_password(service, username)


class LockedKeyring(KeyringBackend):  # type: ignore[misc] # the package may be missing
    """Refuses, and repeats what it was given."""

    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked\x1b]0;x\x07")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"cannot keep {password}")

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringLocked("locked")


class CrashingKeyring(LockedKeyring):
    """Takes its process along."""

    def get_password(self, service: str, username: str) -> str | None:
        os._exit(9)

    def set_password(self, service: str, username: str, password: str) -> None:
        os._exit(9)


class ForgetfulKeyring(KeyringOfFile):
    """Says yes and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        sys.stdout.write("kept!\n")
