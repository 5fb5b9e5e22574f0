"""What a person reads about a folder's commands before they trust it."""

from collections.abc import Iterable, Iterator

from oi_tui.app.engine.files.command_folder import CommandSource
from oi_tui.app.engine.files.paths import COMMANDS_FOLDER, PROJECT
from oi_tui.app.engine.text.words import quantity


def commands_in_words(sources: Iterable[CommandSource]) -> Iterator[str]:
    """Each command with its size, or why it is not used."""
    for source in sources:
        what = f"/{source.name}" if source.name else f"{PROJECT}/{COMMANDS_FOLDER}"
        size = f"a prompt of {quantity(len(source.text), 'character')}"
        yield f"{what}, {f'not used: {source.wrong}' if source.wrong else size}"
