"""The keys in use: a set, and the person's own over it. Loaded where some are not as declared, and to change them.

What is bound goes to Textual's keymap; sequences and Vim's modes, which it does not know, to what makes one key of
several and to the prompt.
"""

from collections.abc import Mapping

from textual.binding import Binding
from textual.screen import Screen

from oi_tui.app.engine.files.given_file import UnusableFile, read_given_file
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_file import LARGEST_SETTINGS, settings_path
from oi_tui.app.engine.files.settings_lines import setting_lines
from oi_tui.app.screens.chat import ChatScreen
from oi_tui.app.screens.key_check import CheckedKeys
from oi_tui.app.screens.key_places import own_rows
from oi_tui.app.screens.key_sets import check_in_set, key_set
from oi_tui.app.terminal.key_sequences import SequenceKeys, sequences_of
from oi_tui.app.terminal.typing_order import TypingOrder
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.status import StatusBar
from oi_tui.widgets.text_box import UNBOUND
from oi_tui.widgets.vim_prompt import VimPrompt


class KeyControl:
    """Binds keys in an app whose main screen is `chat`."""

    def __init__(self, app: TypingOrder, chat: ChatScreen) -> None:
        self._app = app
        self._chat = chat
        self._mode = self._pending = ""
        self._waiting = ""

    def use(self, wished: Mapping[str, str], set_name: str) -> CheckedKeys:
        """From now on these keys, as far as nothing is wrong with them."""
        app, composer = self._app, self._chat.query_one(Composer)
        checked = check_in_set(wished, set_name)
        self._declare_own()
        app.keymap = checked.keymap
        app.set_keymap(checked.keymap)
        sequences = sequences_of(checked.keymap.values())
        app.sequences = SequenceKeys(app, sequences, self._show_waiting) if sequences else None
        if key_set(set_name).modal != (composer.area.modal is not None):
            self._mode = self._pending = ""
            composer.area.modal = VimPrompt(composer.area, self._show_mode) if composer.area.modal is None else None
        self._show()
        self._chat.show_keys()
        for screen in app.screen_stack:
            for row in screen.query(KeyRow):
                row.renew()
        return checked

    def _declare_own(self) -> None:
        """What the person wrote has a binding as a command has that comes without a key."""
        keys = self._chat._bindings.key_to_bindings
        known = {binding.id for bindings in keys.values() for binding in bindings}
        new = (row for row in own_rows() if row.id not in known)
        made = [Binding(UNBOUND, f"app.palette('{row.id}', True)", row.title, show=False, id=row.id) for row in new]
        keys[UNBOUND] = [*keys.get(UNBOUND, ()), *made]  # a list of its own: the others are the class's

    def _show_mode(self, mode: str, pending: str) -> None:
        if (mode, pending) != (self._mode, self._pending):
            self._mode, self._pending = mode, pending
            self._show()

    def _show_waiting(self, keys: str) -> None:
        if keys != self._waiting:
            self._waiting = keys
            self._show()

    def _show(self) -> None:
        composer = self._chat.query_one(Composer)
        composer.mode = self._mode if composer.area.modal is not None else ""
        waiting = f"{self._waiting} …" if self._waiting else ""
        self._chat.query_one(StatusBar).keys = " ".join(filter(None, (composer.mode, self._pending, waiting)))
        screen: Screen[object] = self._app.screen
        if screen is not self._chat:
            for row in screen.query(KeyRow):
                row.waiting = waiting


def place_of_fault(fault: str) -> str:
    """What is wrong with a key, and where it is set, if that is the person's own file."""
    name = fault.partition(":")[0]
    file = settings_path(config_dir())
    try:
        line = setting_lines(read_given_file(file, LARGEST_SETTINGS).decode()).get(("keys", name))
    except (UnusableFile, ValueError):
        line = None
    return f"{file.name}, line {line}: keys.{fault}" if line else f"[keys] in the settings: {fault}"
