"""`oi-tui auth`: the API keys of providers and servers, kept in the keyring or in a file of the person's."""

import asyncio
import os
from collections.abc import Iterator

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.files.credentials import SEARCH_VARIABLES
from oi_tui.app.engine.models.hosted import HOSTED, read_provider, similar_providers
from oi_tui.app.engine.models.keys import ModelKeys, credential_of, masked_key, model_keys, tell_key_owner
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.flags import words
from oi_tui.app.subcommands.secret_prompt import ask_secret, keep_secret
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.table import print_table


@click.group()
def auth() -> None:
    """API keys of providers: kept in your keyring, or in a file only you can read."""


@auth.command("set")
@click.argument("provider", type=words)
@click.option("--key-stdin", is_flag=True, help="Read the key from stdin.")
@click.option("--keep-in-file", is_flag=True, help="Without a keyring, keep the key in a file only you can read.")
def auth_set(provider: str, key_stdin: bool, keep_in_file: bool) -> None:
    """Keep the API key of PROVIDER (anthropic, openai, gemini, ...), of a search engine (brave, kagi), or of a server
    by its URL. Asks for the key; a key kept before is replaced."""
    name = _credential(provider)
    key = ask_secret("API key", from_stdin=key_stdin)
    if not key:
        raise SettingsError("No key was given.", hint="Type it, or pipe it in with --key-stdin.")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise SettingsError("The key has characters in it that no key has.", hint="Copy it again, without blanks.")
    keys = model_keys(os.environ)
    place = keep_secret(keys.store, name, key, "API key", in_file=keep_in_file)
    echo(safe_text(f"The API key of {tell_key_owner(name)} is {place}."))
    if variable := _variable(keys, name):
        echo(f"{variable} is set in the environment, and is used instead.", err=True)


@auth.command("list")
def auth_list() -> None:
    """List whose keys there are and where they are kept; of a key its last four characters."""
    keys = model_keys(os.environ)
    rows = asyncio.run(_rows(keys))
    if not rows:
        echo("There are no API keys. To keep one: oi-tui auth set PROVIDER", err=True)
        return
    print_table(("provider", "key", "where", ""), rows, wide=2)


@auth.command("rm")
@click.argument("provider", type=words)
def auth_rm(provider: str) -> None:
    """Forget the API key of PROVIDER, or of a server."""
    name, keys = _credential(provider), model_keys(os.environ)
    if name not in keys.store.places():
        raise SettingsError(
            f"No API key of {tell_key_owner(name)} is kept.", hint="`oi-tui auth list` shows which keys there are."
        )
    done, left = asyncio.run(keys.forget(name.partition(":")[2]))
    echo(safe_text(done))
    if left:
        echo(left, err=True)


def _credential(whose: str) -> str:
    """The name that the key is kept under; SettingsError if nobody of that name is known."""
    if "://" in whose or whose in SEARCH_VARIABLES:
        return credential_of(whose)
    if name := read_provider(whose):
        return credential_of(name)
    close = similar_providers(whose)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Such as {', '.join(one.name for one in HOSTED)}."
    raise SettingsError(f"There is no provider “{whose}”.", hint=f"{hint} A server of your own: its URL.")


def _variable(keys: ModelKeys, credential: str) -> str:
    """The variable that counts instead of what is kept."""
    kind, _, name = credential.partition(":")
    return keys.variable(name) if kind in ("provider", "search") else ""


async def _rows(keys: ModelKeys) -> list[tuple[str, str, str, str]]:
    """One for each key that is kept, and one for each variable that has one."""
    kept = keys.places()
    credentials = [credential_of(whose) for whose in kept]
    shown = await asyncio.gather(*(_key_end(keys, name) for name in credentials))
    rows = []
    for (whose, place), name, key in zip(kept.items(), credentials, shown, strict=True):
        variable = _variable(keys, name)
        where = "keyring" if place == "keyring" else str(keys.store.path)
        rows.append((whose, key, where, f"not used: {variable} is set" if variable else ""))
    return [*rows, *_of_variables()]


def _of_variables() -> Iterator[tuple[str, str, str, str]]:
    for provider in HOSTED:
        set_here = [name for name in provider.variables if os.environ.get(name, "").strip()]
        for variable in set_here[:1]:
            yield provider.name, masked_key(os.environ[variable].strip()), f"${variable}", ""


async def _key_end(keys: ModelKeys, credential: str) -> str:
    try:
        return masked_key(await keys.store.find(credential, lambda key: None, environ={}))
    except SettingsError:
        return "?"
