"""What completes a word in the prompt: commands and their values, files, names of the kernel."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oi_tui.app.commands.folder_listing import MOST, FolderListing, is_outside
from oi_tui.app.commands.mentions import write_mention
from oi_tui.app.commands.registry import Argument, Command, own_keys
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.screens.engine_choices import EngineChoices
from oi_tui.app.screens.kernel_names import KernelNames
from oi_tui.widgets.completion import CompletionChoice, CompletionOffer
from oi_tui.widgets.keyrow import keymap_of
from oi_tui.widgets.text_box import TextBox

if TYPE_CHECKING:  # loaded with the first `@`, and with the first `/`
    from oi_tui.app.commands.file_index import FileIndex
    from oi_tui.app.screens.command_desk import CommandDesk
    from oi_tui.app.screens.server_offers import PromptOfferings

_COMMAND = re.compile(r"/[A-Za-z0-9_.:-]*")
_ARGUMENT = re.compile(r"/([A-Za-z0-9_.:-]+) +(.*)")
_FILE = re.compile(r'(?:^|\s)(@(?:"[^"\n]*|[^\s"]*))\Z')
_CODE = ("!", "%")
_SIGNS = ("%python ", "%python\n")


class PromptCompletion:
    """The completer of the prompt: `/` and `@` offer at once, Tab asks the kernel for names in Python code."""

    def __init__(
        self,
        folder: Callable[[], Path],
        names: KernelNames,
        choices: EngineChoices,
        commander: Callable[[], "CommandDesk"],
        servers: "PromptOfferings",
    ) -> None:
        """`choices` are names known now that can follow a command, where others may as well."""
        self._commander = commander
        self._servers = servers
        self._folder = folder
        self._names = names
        self._choices = choices
        self._index: FileIndex | None = None
        self._listing = FolderListing()

    def follow(self, box: TextBox) -> None:
        """Offer what fits the word before the cursor, or nothing."""
        if box.text.startswith("%"):
            self._names.follow(box)
            return
        offer = self._find_offer(box)
        if offer is None:
            box.completion.allow()
            box.completion.close()
        else:
            box.completion.offer(offer)

    def complete(self, box: TextBox) -> bool:
        """Tab: the list for this word, though it was dismissed, or names of the kernel."""
        box.completion.allow()
        if (offer := self._find_offer(box)) is not None:
            box.completion.offer(offer)
            return True
        if box.text.startswith("%"):
            self._names.ask(box, len(next((sign for sign in _SIGNS if box.text.startswith(sign)), "%")))
            return True
        return bool(box.text)

    def _find_offer(self, box: TextBox) -> CompletionOffer | None:
        row, column = box.cursor_location
        before = box.document.get_line(row)[:column]
        if box.text.startswith("/") and box.document.line_count == 1:
            offer = self._name_offer(before, keymap_of(box)) or self._value_offer(before)
            if offer is not None or not _FILE.search(before):
                return offer
        if not box.text.startswith(_CODE) and (match := _FILE.search(before)):
            return self._file_offer(box, row, match)
        return None

    def _file_offer(self, box: TextBox, row: int, match: re.Match[str]) -> CompletionOffer | None:
        query = match[1].removeprefix("@").removeprefix('"')
        if query.startswith("remote:"):
            return None
        if not query:
            self._servers.look()
        if (offer := self._servers.mention_offer((row, match.start(1)), query)) is not None:
            return offer
        if is_outside(query):
            return self._outside_offer(box, (row, match.start(1)), query)
        from oi_tui.app.commands.file_index import FileIndex  # it needs more than the first frame

        folder = str(self._folder())
        index = self._index
        if index is None or index.folder != folder:
            index = self._index = FileIndex(folder)
        index.refresh(lambda: self._look_again(box, index))
        choices = tuple(choice for path in index.search(query) if (choice := _file_choice(path)) is not None)
        choices = (*self._servers.names(query), *choices)
        if not index.is_ready:
            note = "looking for files"
        elif not choices:
            return None
        else:
            note = f"first {quantity(len(index.table.paths), 'file')} of this folder" if index.table.cut else ""
        return CompletionOffer((row, match.start(1)), choices, note)

    def _outside_offer(self, box: TextBox, start: tuple[int, int], query: str) -> CompletionOffer | None:
        """Paths that lead out of the working folder, one folder at a time."""

        def look_again() -> None:
            if box.completion.open_list is not None:
                self.follow(box)

        paths = self._listing.search(self._folder(), query, look_again)
        if paths is None:
            return CompletionOffer(start, (), f"reading {query[: query.rindex('/') + 1]}")
        choices = tuple(choice for path in paths if (choice := _file_choice(path)) is not None)
        note = f"first {quantity(MOST, 'name')} of this folder" if self._listing.is_cut else ""
        return CompletionOffer(start, choices, note) if choices else None

    def _value_offer(self, before: str) -> CompletionOffer | None:
        """What can follow a command: the words that must, or names that may."""
        match = _ARGUMENT.fullmatch(before)
        row = self._commander().commands.by_name(match[1]) if match else None
        if match is None or row is None or not row.arguments:
            return None
        argument, start = _argument_at(row, match[2])
        words, typed = argument.choices(), match[2][start:].lower()
        is_free = not words
        if not match[2]:
            self._choices.look(row.id)
        words = words or self._choices.values(row.id)
        if not words and row.origin and argument is not None:
            words = self._servers.argument_values(row.slash, argument.label, match[2][:start], match[2][start:])
        if not words and row.origin:
            return None
        fitting = [word for word in words if word.lower().startswith(typed)]
        fitting += [word for word in words if typed in word.lower() and word not in fitting]
        if " " in typed and not fitting:
            return None
        needs_more = not is_free and argument is not row.arguments[-1]
        choices = tuple(
            CompletionChoice(f"{word} " if needs_more else word, word, words[word], sends=not needs_more)
            for word in fitting
        )
        return CompletionOffer((0, match.start(2) + start), choices, f"/{row.slash} {row.argument}", is_free=is_free)

    def _name_offer(self, before: str, keymap: Mapping[str, str]) -> CompletionOffer | None:
        if not _COMMAND.fullmatch(before):
            return None
        if before == "/":
            self._servers.look()
        name, now = before.removeprefix("/"), self._commander().situation
        rows = [row for row in self._commander().commands.rows() if row.slash]
        begun = [row for row in rows if row.slash.startswith(name)]
        inside = [row for row in rows if row not in begun and name and (name in row.slash or name in row.title.lower())]
        choices = (_command_choice(row, row.why_not(now), keymap) for row in begun + inside)
        return CompletionOffer((0, 0), tuple(choices))

    def _look_again(self, box: TextBox, index: "FileIndex") -> None:
        """The folder was walked meanwhile."""
        if index is self._index and box.completion.open_list is not None:
            self.follow(box)


def complete_again(box: TextBox) -> None:
    """More completions have arrived for the typed word."""
    if box.has_focus and (box.text.startswith("/") or "@" in box.text):
        box.completion.follow()


def _command_choice(row: Command, why_not: str, keymap: Mapping[str, str]) -> CompletionChoice:
    needs_word = any(one.required for one in row.arguments)
    text = f"/{row.slash} " if row.arguments else f"/{row.slash}"
    key = own_keys(row, keymap).split(",")[0]
    told = f"not now: {why_not}" if why_not else f"{row.origin}: {row.help}" if row.origin else row.help
    return CompletionChoice(text, f"/{row.slash} {row.argument}".strip(), told, key, sends=not needs_word)


def _argument_at(row: Command, typed: str) -> tuple[Argument, int]:
    """Which argument is being typed, and where it begins; the last one takes all the rest."""
    start = 0
    for argument in row.arguments[:-1]:
        word = re.match(r'(?:"[^"]*"|\S+)\s+', typed[start:])
        if word is None:
            return argument, start
        start += word.end()
    return row.arguments[-1], start


def _file_choice(path: str) -> CompletionChoice | None:
    """A folder stays open for its content; after a file the sentence continues."""
    if path.endswith("/"):
        written = f'@"{path}' if " " in path else f"@{path}"
        return CompletionChoice(written, path)
    written = write_mention(path) or ""
    return CompletionChoice(f"{written} ", path) if written else None
