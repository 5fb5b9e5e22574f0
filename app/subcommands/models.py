"""`oi-tui models`: what providers and servers have, and the built-in models on this machine."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import age_in_words, coarse_size
from oi_tui.app.flags import words
from oi_tui.app.subcommands.offline_option import offline_option, respect_offline
from oi_tui.app.subcommands.stored import as_json_option, print_json
from oi_tui.app.terminal.echo import echo
from oi_tui.app.terminal.table import print_table

if TYPE_CHECKING:
    from oi_tui.app.engine.models.model_list import ModelList

BUILT_IN = "local"
"""The provider that the built-in models are named with."""


@click.group()
@offline_option
def models(offline: bool) -> None:
    """Models of your providers and servers, and the built-in ones."""
    respect_offline(offline)


@models.command("list")
@click.option("--provider", default="", type=words, metavar="NAME", help="Of this provider, or server, only.")
@as_json_option
def models_list(provider: str, as_json: bool) -> None:
    """List the models you can use: of providers with a key, of servers that answer, and the built-in ones.

    Prices are US dollars for a million tokens.
    """
    if provider == BUILT_IN:
        _print_built_in()
        return
    lists = asyncio.run(_fetch(provider))
    if as_json:
        print_json([row for found in lists for row in _objects(found)])
    else:
        _print_lists(lists)
    for found in lists:
        if found.trouble:
            kept = f" Its list of {age_in_words(time.time() - found.fetched)} is shown." if found.fetched else ""
            title = f"The server {found.title}" if found.title.startswith("on port") else found.title
            echo(safe_text(f"✗ {title} {found.trouble}.{kept}"), err=True)
    if provider and not any(found.models for found in lists):
        raise click.exceptions.Exit(1)
    if not (lists or as_json):
        echo("No provider has a key, and no server answers.", err=True)
    if not (provider or as_json):
        echo("Built-in models: oi-tui models list --provider local. Keys: oi-tui auth set PROVIDER", err=True)


async def _fetch(provider: str) -> "list[ModelList]":
    """The lists of all servers, or of those that are meant."""
    from oi_tui.app.engine.files.paths import cache_dir, config_dir
    from oi_tui.app.engine.files.settings_file import load_layers
    from oi_tui.app.engine.models.hosted import read_provider, similar_providers
    from oi_tui.app.engine.models.keys import model_keys
    from oi_tui.app.engine.models.model_list import LISTS, ListCache, configured_places, fetch_lists, price_models

    section = load_layers(config_dir(), environ=os.environ).settings.model
    keys = model_keys(os.environ)
    places = configured_places(section, keys, os.environ)
    if provider:
        meant = read_provider(provider) or provider
        places = [one for one in places if one.provider == meant or provider.casefold() in one.title.casefold()]
        if not places:
            close = [] if read_provider(provider) else similar_providers(provider)
            hint = f"Did you mean {' or '.join(close)}?" if close else f"To give one: oi-tui auth set {meant}"
            raise SettingsError(f"There is no key of “{provider}”, and no server of that name.", hint=hint)
    lists = await fetch_lists(places, keys, os.environ, cache=ListCache(cache_dir() / LISTS))
    return [price_models(found, section.prices) for found in lists]


def _print_lists(lists: "list[ModelList]") -> None:
    from oi_tui.app.engine.models.listed_models import short_count, short_price

    rows = [
        (
            found.title,
            one.name if found.api_base else found.full_name(one),
            short_count(one.context),
            short_price(one.input_price),
            short_price(one.output_price),
            "yes" if one.images else "",
            "yes" if one.tools else "",
            age_in_words(time.time() - found.fetched),
        )
        for found in lists
        for one in found.models
    ]
    head = ("provider", "model", "context", "in", "out", "vision", "tools", "list")
    print_table(head, rows, wide=len(head))


def _objects(found: "ModelList") -> list[dict[str, Any]]:
    return [
        {
            "provider": found.provider,
            "server": found.title,
            "model": found.full_name(one),
            "api_base": found.api_base,
            "context": one.context,
            "input_price": one.input_price,
            "output_price": one.output_price,
            "vision": one.images,
            "tools": one.tools,
            "fetched": found.fetched,
            "trouble": found.trouble,
        }
        for one in found.models
    ]


@models.command("prices")
@click.option("--update", is_flag=True, help="Fetch the newest list from LiteLLM's repository.")
@click.option("--from", "source", default="", type=words, metavar="URL", help="Fetch it from here instead.")
def models_prices(update: bool, source: str) -> None:
    """Say which price list is used and how old it is; --update fetches a newer one."""
    from oi_tui.app.engine.models.price_update import SOURCE, fetch_prices, price_list

    if update or source:
        count = asyncio.run(fetch_prices(source or SOURCE))
        echo(f"{count:,} models have a price.", err=True)
    used = price_list()
    if not used.origin:
        echo("There is no price list. --update fetches one; model.prices in the settings are your own.")
        return
    age = "" if used.age is None else f", {age_in_words(used.age)}"
    echo(safe_text(f"Prices: {used.origin}{age}. Your own in the settings (model.prices) are used before it."))


def _print_built_in() -> None:
    """Names, sizes, which are downloaded."""
    from oi_tui.app.engine.local import inventory, model_choice
    from oi_tui.app.engine.local.model_server import obstacle
    from oi_tui.app.engine.local.weights import Weights

    machine = model_choice.measure_machine()
    for entry in inventory.model_entries(Weights(), machine):
        mark = "▸" if entry.recommended else " "
        size = coarse_size(entry.model.size)
        echo(f"{mark} {entry.model.id:22} {entry.state:10} {size:>8}  {entry.model.licence}")
    echo(inventory.explain_choice(machine, obstacle=asyncio.run(obstacle())), err=True)


@models.command("fetch")
@click.argument("model_id", required=False, type=words)
def models_fetch(model_id: str | None) -> None:
    """Download a model (default: the one chosen for this machine)."""
    from oi_tui.app.engine.core.protocol import FetchProgressed
    from oi_tui.app.engine.local import catalogue, model_choice
    from oi_tui.app.engine.local.fetch import fetch
    from oi_tui.app.engine.local.model_server import try_runtime
    from oi_tui.app.engine.local.weights import Weights

    best = model_choice.choose_model(model_choice.measure_machine()).model
    model = catalogue.find(model_id) if model_id else best
    if model is None:
        raise SettingsError("No built-in model fits this machine.", hint="Name one: see `oi-tui models list`.")

    def progress(value: FetchProgressed) -> None:
        if sys.stderr.isatty():
            share = value.done_bytes / max(1, value.total_bytes)
            click.echo("\r\x1b[K", nl=False, err=True)
            echo(f"{value.stage} {share:4.0%}", nl=False, err=True)

    async def bring() -> Path:
        await try_runtime()  # before a gigabyte
        return await fetch(model, Weights(), progress=progress)

    path = asyncio.run(bring())
    echo(f"\n{model.title}: {path}", err=True)


@models.command("remove")
@click.argument("model_id", type=words)
def models_remove(model_id: str) -> None:
    """Delete a model's file and unfinished downloads of it."""
    from oi_tui.app.engine.local import catalogue
    from oi_tui.app.engine.local.weights import Weights

    freed = Weights().remove(catalogue.find(model_id))
    echo(f"{coarse_size(freed)} freed." if freed else f"{model_id} was not here.")


@models.command("add")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def models_add(path: Path) -> None:
    """Use a model file you have; it must be one of the list (by sha256)."""
    from oi_tui.app.engine.local.weights import Weights

    model = Weights().add(path)
    echo(f"{model.title} is ready: oi-tui -m {model.name}")
