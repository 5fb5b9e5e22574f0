"""Asking for a secret in the terminal, and where it may be kept: the same for all that a person gives us to keep."""

import asyncio
import sys

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import CredentialStore
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.terminal.tty_prompt import confirm

LONGEST_SECRET = 100_000
"""Characters that are taken as a secret."""


def ask_secret(what: str, *, from_stdin: bool) -> str:
    """A secret that is typed unseen, or (`from_stdin`) the one line that is piped in; "" for none."""
    if from_stdin:
        piped = sys.stdin.readline(LONGEST_SECRET) if sys.stdin.isatty() else sys.stdin.read(LONGEST_SECRET)
        secret = piped.strip()
        if not secret:
            raise SettingsError("Nothing came on stdin.", hint=f"The line on stdin is the {what}.")
        if not secret.isprintable():
            raise SettingsError(f"The {what} on stdin has a line break or the like inside.", hint="It is one line.")
        return secret
    if not sys.stdin.isatty():
        return ""
    typed: str = click.prompt(
        safe_text(f"{what[:1].upper()}{what[1:]} (Enter for none)"),
        default="",
        hide_input=True,
        show_default=False,
        err=True,
    )
    return typed.strip()


def keep_secret(store: CredentialStore, name: str, secret: str, what: str, *, in_file: bool) -> str:
    """Keep it in the keyring, else in a file after a yes, which `in_file` says beforehand; where it is now, in words.

    SettingsError if it is not kept.
    """
    why = asyncio.run(store.keep(name, secret))
    if not why:
        return "in the keyring"
    if not in_file:
        question = f"{why}\nKeep the {what} in {store.path}, readable by you only?"
        if not sys.stdin.isatty():
            hint = "Put it into an environment variable, or keep it in a file only you can read: --keep-in-file."
            raise SettingsError(f"The {what} is not kept. {why}", hint=hint)
        if not confirm(question, err=True):
            raise SettingsError(f"The {what} is not kept.", hint="A variable works as well.")
    store.keep_in_file(name, secret)
    return f"in {store.path}, readable by you only"
