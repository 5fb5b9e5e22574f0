"""`oi-tui models`: the embedded models on this machine."""

import asyncio
import sys
from pathlib import Path

import click

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.text.words import coarse_size
from oi_tui.app.flags import words
from oi_tui.app.terminal.echo import echo


@click.group()
def models() -> None:
    """The built-in models on this machine."""


@models.command("list")
def models_list() -> None:
    """List the built-in models: names, sizes, which are downloaded."""
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
