"""The keys in use: a set, and the person's own over it. Loaded where some are not as declared, and to change them.

What is bound goes to Textual's keymap; sequences and Vim's modes, which it does not know, to what makes one key of
several and to the prompt.
"""

from collections.abc import Callable, Mapping

from textual.binding import Binding
from textual.events import Key
from textual.screen import Screen

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.screens.bound_keys import BoundKeys, KeyConflict
from oi_tui.app.screens.key_check import find_conflicts, judge_keys
from oi_tui.app.screens.key_places import declared_keys, own_rows
from oi_tui.app.screens.key_sets import DEFAULT_SET, KEY_SETS, check_in_set, key_faults, key_set
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.app.settings.own_file import KeyFaults
from oi_tui.app.terminal.alt_keys import tell_alt_keys
from oi_tui.app.terminal.key_mapping import KeyMapping
from oi_tui.app.terminal.key_sequences import SequenceKeys, sequences_of
from oi_tui.app.terminal.typing_order import TypingOrder
from oi_tui.widgets.composer import Composer
from oi_tui.widgets.keyrow import KeyRow
from oi_tui.widgets.status import StatusBar
from oi_tui.widgets.text_box import UNBOUND
from oi_tui.widgets.vim_prompt import VimPrompt


class KeyControl:
    """Binds keys in an app whose main screen is `chat`; `show` has that show the keys that are bound now."""

    def __init__(self, app: TypingOrder, chat: Screen[None], settings: Settings, show: Callable[[], object]) -> None:
        self._app = app
        self._mapping = KeyMapping()
        self._chat = chat
        self._show_keys = show
        self.wished: Mapping[str, str] = settings.keys
        self.set_name: str = settings.screen.keys
        """The person's own keys, also those with a fault, and the set under them."""
        self.key_faults: KeyFaults = key_faults
        """What is wrong with the keys of settings."""
        self.sets: Mapping[str, str] = {name: key_set(name).help for name in KEY_SETS}
        """The sets of keys, one line each."""
        self._mode = self._pending = ""
        self._waiting = ""

    def use(self, wished: Mapping[str, str], set_name: str) -> tuple[str, ...]:
        """Use these keys from now on, except those with a fault."""
        app, composer = self._app, self._chat.query_one(Composer)
        checked = check_in_set(wished, set_name)
        self._declare_own()
        self.wished, self.set_name = wished, set_name
        app.keymap = checked.keymap
        self._mapping.use(checked.keymap)
        app.mapping = self._mapping
        sequences = sequences_of(checked.keymap.values())
        app.sequences = SequenceKeys(app, self._mapping, sequences, self._show_waiting) if sequences else None
        tell_alt_keys(set_name != DEFAULT_SET or any("alt+" in keys for keys in checked.keymap.values()))
        if key_set(set_name).modal != (composer.area.modal is not None):
            self._mode = self._pending = ""
            composer.area.modal = VimPrompt(composer.area, self._show_mode) if composer.area.modal is None else None
        self._show()
        self._show_keys()
        for screen in app.screen_stack:
            for row in screen.query(KeyRow):
                row.renew()
        for pane in self._chat.query(TimelinePane):
            pane.renew()
        return checked.faults

    def _declare_own(self) -> None:
        """What the person wrote has a binding as a command has that comes without a key."""
        for row in own_rows():
            action = f"app.palette('{row.id}', True)"
            self._mapping.declare(self._chat, Binding(UNBOUND, action, row.title, show=False, id=row.id))

    def all_keys(self) -> list[BoundKeys]:
        """All that can be bound, as it is declared."""
        return [one for one in declared_keys() if one.id]

    def keymap_in(self, set_name: str) -> Mapping[str, str]:
        """The keys that there would be with another set."""
        return check_in_set(self.wished, set_name).keymap

    def judge(self, name: str, keys: str) -> tuple[str, str]:
        """The keys as Textual spells them, and what is wrong with them."""
        return judge_keys(name, keys, list(declared_keys()))

    def conflicts(self, name: str, keys: str) -> tuple[KeyConflict, ...]:
        """What has one of these keys already."""
        return find_conflicts(name, keys, self.keymap_in(self.set_name))

    def catch_keys(self, catch: Callable[[Key], None] | None) -> None:
        """Every key goes there, and does nothing else; None ends that."""
        self._app.catch_key = catch

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
