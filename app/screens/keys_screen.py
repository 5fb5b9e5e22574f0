"""All keys, by what they do: search them by words or by pressing one, and bind them here.

Who comes here asks "what does ctrl+f do here?" or wants another key for something. They type a word, or press tab and
the key; enter, and then the new keys, bind what is highlighted. A conflict is shown before anything is written; what is
written goes to the person's own settings, and works at once.
"""

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType
from textual.content import Content
from textual.events import Key
from textual.timer import Timer
from textual.widgets import Input, OptionList

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.bound_keys import BoundKeys, KeyConflict
from oi_tui.app.screens.pick import PickScreen
from oi_tui.app.settings.own_file import KeyFaults, set_setting, unset_setting
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, joint_label, key_hint, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.text_box import UNBOUND

PAUSE_AFTER_KEYS = 1.0
"""Seconds after which the new keys are complete."""

_KEYS = 24
"""Cells of the column of keys, where there is room."""


class _Binding(NamedTuple):
    """One row of the list."""

    bound: BoundKeys
    keys: str
    """As they are now, with commas between them."""
    is_own: bool


class ChangesKeys(Protocol):
    """Binds keys, and knows what is bound."""

    wished: Mapping[str, str]
    """The person's own keys."""
    set_name: str
    sets: Mapping[str, str]
    """The sets of keys, one line each."""
    key_faults: KeyFaults

    def use(self, wished: Mapping[str, str], set_name: str) -> tuple[str, ...]:
        """Use these keys from now on; returns their faults."""
        ...

    def all_keys(self) -> list[BoundKeys]:
        """All that can be bound, as it is declared."""
        ...

    def keymap_in(self, set_name: str) -> Mapping[str, str]:
        """The keys that there would be with another set."""
        ...

    def judge(self, name: str, keys: str) -> tuple[str, str]:
        """The keys as Textual spells them, and what is wrong with them."""
        ...

    def conflicts(self, name: str, keys: str) -> tuple[KeyConflict, ...]:
        """What has one of these keys already."""
        ...

    def catch_keys(self, catch: Callable[[Key], None] | None) -> None:
        """Every key goes there, and does nothing else; None ends that."""
        ...


class KeysScreen(PickScreen[None]):
    """Changes the person's keys; there is nothing to dismiss it with."""

    CSS_PATH: ClassVar[list[str]] = ["pick.tcss", "keys_screen.tcss"]  # type: ignore[assignment] # the base has one
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "Bind it to other keys", id="pick.take", label="rebind", priority=True),
        Hint("ctrl+a", "add", "Bind it to more keys", id="keys.add", label="add", priority=True),
        Hint("delete", "unbind", "Take its keys away", id="keys.unbind", label="unbind", priority=True),
        Hint("ctrl+r", "reset", "Its keys of the set again", id="keys.reset", label="reset", priority=True),
        Hint("tab", "press", "Press a key: what it does", id="keys.press", label="press a key", priority=True),
        Hint("ctrl+t", "other_set", "Look at another set of keys", id="keys.set", label="other set", priority=True),
        Hint("escape", "step_back", "Back", id="pick.back", label="back"),
    ]
    TITLE = "Keys"

    def __init__(self, control: ChangesKeys, words: str = "") -> None:
        """`words` are looked for at first."""
        super().__init__(words)
        self._control = control
        self._set = control.set_name
        """The set that is shown, which may differ from the one in use."""
        self._declared = control.all_keys()
        self._rows: list[_Binding] = []
        self._mode: Literal["find", "press", "bind", "add", "conflict"] = "find"
        self._pressed: list[str] = []
        self._conflicts: tuple[KeyConflict, ...] = ()
        self._target: _Binding | None = None
        """The command whose keys are being changed."""
        self._pause: Timer | None = None
        self._result: tuple[str, str | None] = ("", None)
        """The result of the last change, and the id of the row that shows it."""

    def on_mount(self) -> None:
        super().on_mount()
        self._show_keys()

    def on_unmount(self) -> None:
        self._control.catch_keys(None)

    def on_resize(self) -> None:
        """Keys are at the right edge."""
        self._mark()

    # -- the list --------------------------------------------------------------------------------------------------

    def look_for(self, words: str) -> None:
        """What has these words in its help, id, place or keys."""
        wanted = words.casefold().split()
        keymap = self._control.keymap_in(self._set)
        rows = []
        for one in self._declared:
            keys = _keys_now(one, keymap)
            told = f"{one.help} {one.id} {one.place} {keys.replace(',', ' ')}".casefold()
            if all(word in told for word in wanted):
                rows.append(_Binding(one, keys, one.id in self._control.wished))
        self._list(rows)
        hints = key_hint(self, ("pick.take", "uses it"), ("pick.back", "keeps yours"))
        about = "" if self._set == self._control.set_name or not hints else f" · {hints}"
        self.query_one("#pick-title", Words).update(f"Keys · set: {self._set}{about}")

    def _list(self, rows: list[_Binding]) -> None:
        at = self._here
        kept = at.bound if at is not None else None
        self._rows = rows
        options = self.query_one(Options)
        options.clear_options()
        options.add_options(Content() for _ in rows)
        place = next((number for number, row in enumerate(rows) if row.bound == kept), 0)
        options.highlighted = place if rows else None
        self._mark()

    @property
    def _here(self) -> _Binding | None:
        at = self.query_one(Options).highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._mark()

    def _mark(self) -> None:
        options, width = self.query_one(Options), max(20, self.size.width - 6)
        places = max((cell_len(row.bound.place) for row in self._rows), default=0)
        for index, row in enumerate(self._rows):
            mark = ("▸ ", "bold $accent") if index == options.highlighted else ("  ", "")
            options.replace_option_prompt_at_index(index, lettering(mark, _line(row, width, places)))
        if self._mode == "find":
            here = self._here
            result, of = self._result
            if result and of == (here and here.bound.id):
                self._say(result)
                return
            self._result = ("", None)
            told = f"{here.bound.id} · {here.bound.help}" if here is not None else "Nothing has all of these words."
            own = " · your own" if here is not None and here.is_own else ""
            self._say(f"{told}{own}" if self._set == self._control.set_name else self._control.sets[self._set])

    def _say(self, words: str, *, stays: bool = False) -> None:
        """`stays`: as long as the same row is highlighted."""
        if stays:
            here = self._here
            self._result = (words, here and here.bound.id)
        self.query_one("#pick-text", Words).update(safe_text(words) or " ")

    # -- what one does ---------------------------------------------------------------------------------------------

    def take(self, number: int) -> None:
        """Press new keys for it, or use the set that is looked at."""
        if self._set != self._control.set_name:
            self._write(("screen", "keys"), self._set, f"The keys are those of the set {self._set} now.")
        else:
            self._begin("bind", self._rows[number])

    def action_add(self) -> None:
        """Further keys for what is highlighted."""
        if (row := self._here) is not None and self._set == self._control.set_name:
            self._begin("add", row)

    def action_unbind(self) -> None:
        """No keys for what is highlighted."""
        if (row := self._here) is not None:
            self._write(("keys", row.bound.id), UNBOUND)

    def action_reset(self) -> None:
        """What is highlighted has the keys of the set again."""
        if (here := self._here) is not None:
            self._write(("keys", here.bound.id), None, f"{here.bound.id} has the keys of the set again.")

    def action_other_set(self) -> None:
        """Look at the next set."""
        names = list(self._control.sets)
        self._set = names[(names.index(self._set) + 1) % len(names)]
        self.look_for(self.query_one(Input).value)

    def action_press(self) -> None:
        """Show what each pressed key does, until Escape is pressed twice."""
        self._mode, self._pressed = "press", []
        self._control.catch_keys(lambda event: self._look_up(event.key))
        self._say("Press a key: the list shows what it does in each place. Escape twice leads back to the list.")
        self._show_keys()

    def action_step_back(self) -> None:
        """Return from another set to the one in use, or leave."""
        if self._set != self._control.set_name:
            self._set = self._control.set_name
            self.look_for(self.query_one(Input).value)
        else:
            self.dismiss(None)

    # -- keys that are caught --------------------------------------------------------------------------------------

    def _begin(self, mode: Literal["bind", "add"], row: _Binding) -> None:
        self._mode, self._target, self._pressed = mode, row, []
        self._control.catch_keys(lambda event: self._collect(event.key))
        more = " beside those it has" if mode == "add" else ""
        self._say(f"“{row.bound.help}”: press its new keys{more}, and wait. Escape leaves it as it is.")
        self._show_keys()

    def _end(self) -> None:
        self._mode = "find"
        self._control.catch_keys(None)
        self._show_keys()
        self.look_for(self.query_one(Input).value)

    def _look_up(self, key: str) -> None:
        if key == "escape" and self._pressed[-1:] == ["escape"]:
            self._end()
            return
        self._pressed = [*self._pressed[-3:], key]
        keymap = self._control.keymap_in(self._set)
        found = []
        for one in self._declared:
            now = _keys_now(one, keymap)
            if any(keys == key or keys.startswith(f"{key} ") for keys in now.split(",")):
                found.append(_Binding(one, now, one.id in self._control.wished))
        self._list(found)
        self._say(f"{key} does this. Press another key; escape twice leads back." if found else f"{key} does nothing.")

    def _collect(self, key: str) -> None:
        if self._pause is not None:
            self._pause.stop()
        if key == "escape" and not self._pressed:
            self._end()
        elif key == "enter" and self._pressed:
            self._finish()
        else:
            self._pressed.append(key)
            self._say(f"{' '.join(self._pressed)} … wait, or press enter, to bind it")
            self._pause = self.set_timer(PAUSE_AFTER_KEYS, self._finish)

    def _finish(self) -> None:
        """The new keys are complete."""
        if self._mode not in ("bind", "add") or self._target is None:
            return
        keys, row = " ".join(self._pressed), self._target
        spelled, fault = self._control.judge(row.bound.id, keys)
        if fault:
            self._end()
            self._say(f"✗ {fault}.", stays=True)
            return
        if self._mode == "add" and row.keys:
            spelled = f"{row.keys},{spelled}"
        self._conflicts = self._control.conflicts(row.bound.id, spelled)
        self._pressed = [spelled]
        if not self._conflicts:
            self._end()
            self._write(("keys", row.bound.id), spelled)
            return
        self._mode = "conflict"
        self._control.catch_keys(lambda event: self._settle(event.key))
        names = ", ".join(f"{one.key}: “{one.other.help}”, {one.other.place}" for one in self._conflicts)
        free = all(one.other.id for one in self._conflicts)
        self._say(f"Taken. {names}. " + ("enter takes it over; escape leaves it." if free else "It cannot be taken."))
        self._show_keys()

    def _settle(self, key: str) -> None:
        """Whether keys that something else has are taken over."""
        target, conflicts = self._target, self._conflicts
        if key not in ("enter", "escape") or target is None:
            return
        self._end()
        if key == "escape" or not all(one.other.id for one in conflicts):
            self._say("Nothing was changed.", stays=True)
            return
        for one in conflicts:
            left = one.other.keys - {conflict.key for conflict in conflicts if conflict.other.id == one.other.id}
            if not self._write(("keys", one.other.id), ",".join(sorted(left)) or UNBOUND, check=False):
                return
        self._write(("keys", target.bound.id), self._pressed[0])

    def _write(self, path: tuple[str, str], value: str | None, said: str = "", *, check: bool = True) -> bool:
        """Write it to the person's settings, and use it."""
        try:
            written = unset_setting(path) if value is None else set_setting(path, [value], self._control.key_faults)
        except (OiTuiError, OSError) as error:
            self._say(f"✗ {error}", stays=True)
            return False
        wished = dict(self._control.wished)
        if path[0] == "keys":
            wished.pop(path[1], None)
            if value is not None:
                wished[path[1]] = value
        else:
            self._set = value or "default"
        faults = self._control.use(wished, self._set)
        self.look_for(self.query_one(Input).value)
        self._show_keys()
        if not said and value is not None:
            said = f"✓ {path[1]}: {'no keys' if value == UNBOUND else value.replace(',', ', ')}"
        remarks = [*(written.remarks if written is not None else ()), *(faults if check else ())]
        self._say(" ".join((said, *remarks)), stays=True)
        return True

    def _show_keys(self) -> None:
        match self._mode:
            case "find":
                labels: tuple[KeyLabel, ...] = (joint_label(self, "select", "pick.up", "pick.down"), *key_labels(self))
            case "press":
                labels = (KeyLabel("any key", "what it does", "what it does"), KeyLabel("esc esc", "back", "back"))
            case "conflict":
                labels = (KeyLabel("enter", "take it over", "take over"), KeyLabel("esc", "leave it", "leave"))
            case _:
                labels = (KeyLabel("enter", "that is all", "done"), KeyLabel("esc", "leave it", "leave"))
        self.query_one(KeyRow).labels = labels


def _keys_now(one: BoundKeys, keymap: Mapping[str, str]) -> str:
    """The keys with commas between them; "" for none."""
    keys = keymap.get(one.id, ",".join(sorted(one.keys)))
    return "" if keys == UNBOUND else keys


def _line(row: _Binding, width: int, places: int) -> Content:
    """What it does, where (in `places` cells, if there is room), and its keys at the right edge."""
    keys = ", ".join(row.keys.split(","))
    keys = " " * (min(_KEYS, width // 4) - cell_len(keys)) + keys
    room = max(10, width - cell_len(keys) - 3)
    place = min(places, room // 2)
    style = "bold $accent" if row.is_own else "$accent"
    return lettering(
        (_fit(row.bound.help, room - place), "$text"),
        " ",
        (_fit(row.bound.place, place), "$dim"),
        "  ",
        (keys, style),
    )


def _fit(text: str, width: int) -> str:
    """The text in so many cells, cut with a mark."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
