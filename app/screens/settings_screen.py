"""All settings: what each means, how it is now, where that comes from, and how to change it.

People come here to change one thing whose name they half know. They type a part of it, read, press Enter, and look at
what happens; or they wonder why something is as it is. So letters narrow the list, and what is known of the highlighted
one is below it, with the file and line.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from msgspec import UNSET
from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList

from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.commands.theme_folders import theme_folders
from oi_tui.app.engine.core.errors import OiTuiError, SettingsError
from oi_tui.app.engine.files.paths import config_dir
from oi_tui.app.engine.files.settings_edit import value_text
from oi_tui.app.engine.files.settings_file import check_settings, read_toml, settings_path
from oi_tui.app.engine.files.settings_lines import setting_line, setting_lines
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.screens.choose import ChooseScreen
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.external_editor import EditorFailed, edit_text
from oi_tui.app.screens.pick import PickScreen
from oi_tui.app.screens.setting_change import SettingChanger
from oi_tui.app.screens.setting_line import SettingLineScreen, typed_readings
from oi_tui.app.settings.catalog import SettingEntry, applies_when
from oi_tui.app.settings.control import SettingsControl
from oi_tui.app.settings.effective import SettingState, setting_states
from oi_tui.app.settings.own_file import overriding_variable, own_file, write_own_file
from oi_tui.themes.loader import AUTO, theme_names
from oi_tui.widgets.keyrow import Hint, KeyRow, joint_label, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering

_KEYS = 28
"""Cells of the column of keys."""
_ORIGINS = 14
"""Cells of the column that says whose value it is."""
_LONG = 200
"""Characters of a value from which on the editor is better than a line."""
_HIDDEN = "(hidden: it may hold a secret)"


class SettingsScreen(PickScreen[None]):
    """Stays until it is left."""

    CSS_PATH: ClassVar[list[str]] = ["pick.tcss", "settings_screen.tcss"]  # type: ignore[assignment] # the base has one
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "take", "Change it", id="pick.take", label="change", priority=True),
        Hint("delete,ctrl+r", "reset", "Remove it from your file", id="settings.reset", label="reset", priority=True),
        Hint("tab", "only_changed", "No defaults, or all", id="settings.changed", label="changed only", priority=True),
        Hint("ctrl+g", "edit_file", "Your file in $EDITOR", id="settings.edit", label="edit the file", priority=True),
        Hint("escape", "step_back", "Back", id="pick.back", label="back"),
    ]
    TITLE = "Settings"

    def __init__(self, control: SettingsControl, begun: str = "") -> None:
        super().__init__(begun)
        self._control = control
        self._changer: SettingChanger
        self._states: list[SettingState] = []
        self._rows: list[SettingState] = []
        self._only_changed = False
        self._marked: int | None = None
        self._said = ("", False)
        """What came of the last change, until another row is highlighted."""

    def on_mount(self) -> None:
        self._changer = SettingChanger(self.app, self._control)
        self._read()
        super().on_mount()
        self.query_one(Input).placeholder = "type a part of its name or meaning"
        self.query_one("#pick-title", Words).update(f"Settings · {settings_path(config_dir())}")

    def on_resize(self) -> None:
        """The columns are as wide as the screen lets them."""
        self.look_for(self.query_one(Input).value)

    def look_for(self, words: str) -> None:
        """Show those that have all of these words, in their key first."""
        before = self._current()
        wanted = words.lstrip("/").casefold().split()
        ranks = [(_rank(state, wanted), state) for state in self._states]
        self._rows = [
            state
            for rank in (0, 1)
            for found, state in ranks
            if found == rank and not (self._only_changed and not state.origin)
        ]
        options = self.query_one(Options)
        options.clear_options()
        options.add_options(self._line(index, marked=False) for index in range(len(self._rows)))
        same = (n for n, state in enumerate(self._rows) if before and not wanted and state.entry == before.entry)
        options.highlighted = next(same, 0) if self._rows else None
        self._mark(options.highlighted)

    def take(self, number: int) -> None:
        """Change it in the way that fits its kind."""
        state = self._rows[number]
        entry = state.entry
        if state.is_secret:
            self._say("It may hold a secret, and is changed in the file only.", failed=True)
        elif entry.key == "keys":
            self._change_keys()
        elif entry.kind == "switch":
            self._changer.set(entry.path, [not state.value], self._tell)
        elif choices := self._choices(entry):
            self._choose(state, choices)
        elif isinstance(state.value, str) and ("\n" in state.value or len(state.value) > _LONG):
            self._edit_value(state)
        else:
            self._type(state)

    def action_reset(self) -> None:
        """The default, or what a layer below says."""
        if (state := self._current()) is not None:
            self._changer.reset(state.entry.path, state.entry.default, self._tell)

    def action_only_changed(self) -> None:
        """Only those that something sets, or all."""
        self._only_changed = not self._only_changed
        self.look_for(self.query_one(Input).value)

    def action_step_back(self) -> None:
        """Out of a search, or away."""
        field = self.query_one(Input)
        if field.value or self._only_changed:
            self._only_changed = False
            field.value = ""
            self.look_for("")
        else:
            self.dismiss(None)

    def action_edit_file(self) -> None:
        """What is saved is used if it is valid; else it is offered again."""
        state = self._current()
        try:
            with own_file(broken=True) as (_, text):
                pass
        except OiTuiError as error:
            self._tell(error.title, True)
            return
        self._edit(text, text, state)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The mark and the description go along."""
        event.stop()
        if event.option_index != self._marked:
            self._said = ("", False)
        self._mark(event.option_index)

    # -- ways to change ---------------------------------------------------------------------------------------

    def _choices(self, entry: SettingEntry) -> tuple[str, ...]:
        return (AUTO, *theme_names(theme_folders())) if entry.key == "screen.theme" else entry.choices

    def _choose(self, state: SettingState, choices: tuple[str, ...]) -> None:
        now = next((n for n, choice in enumerate(choices) if _of_choice(choice) == [state.value]), -1)
        names = [
            f"{choice or '(not set)'}{'  ✓ now' if number == now else ''}" for number, choice in enumerate(choices)
        ]

        def finish(number: int | None) -> None:
            if number is not None:
                self._changer.set(state.entry.path, _of_choice(choices[number]), self._tell)

        self.app.push_screen(ChooseScreen(state.entry.key, names, max(0, now)), finish)

    def _type(self, state: SettingState) -> None:
        entry = state.entry
        known = state.value if state.value not in (None, {}) else ""
        shown = known if isinstance(known, str) else value_text(known)

        def finish(text: str | None) -> None:
            if text == "":
                self.action_reset()
            elif text is not None:
                self._changer.set(entry.path, typed_readings(entry, text), self._tell)

        hint = f"{entry.values[:1].upper()}{entry.values[1:]}; empty resets it."
        self.app.push_screen(SettingLineScreen(entry, shown, hint), finish)

    def _change_keys(self) -> None:
        """On the screen of keys, where there is one."""
        row = next((row for row in COMMANDS if row.id == "keys"), None)
        if row is None:
            self._say("Keys are changed in the file. The guide has their ids: /help.")
        else:
            self.dismiss(None)
            self.app.call_later(self.app.screen_stack[0].run_action, row.action)

    def _edit_value(self, state: SettingState) -> None:
        try:
            text = edit_text(self.app, state.value, self._control.settings.screen.editor)
        except EditorFailed as error:
            self._tell(str(error), True)
            return
        if text != state.value:
            self._changer.set(state.entry.path, [text], self._tell)

    def _edit(self, before: str, begun: str, state: SettingState | None) -> None:
        """The file in the editor: as it is, or as it was left with a mistake."""
        file = settings_path(config_dir())
        try:
            line = setting_line(setting_lines(begun), state.entry.path) if state is not None else None
            new = edit_text(self.app, begun, self._control.settings.screen.editor, ".toml", line or 1)
        except EditorFailed as error:
            self._tell(str(error), True)
            return
        new = f"{new}\n" if new else ""
        if new == before:
            self._tell("Nothing was changed.", False)
            return
        try:
            check_settings(read_toml(new, file), str(file), new)
        except SettingsError as error:
            self._offer_again(before, new, state, f"{error.title} {error.hint}".strip())
            return
        try:
            with own_file(broken=True) as (file, now):
                if now != before:
                    raise SettingsError(f"{file.name} has changed since: nothing was written.")
                write_own_file(file, new)
            change = self._control.refresh()
        except OiTuiError as error:
            self._tell(f"{error.title} {error.hint}".strip(), True)
            return
        self._tell(f"Saved in {file.name}. {f'It applies: {change.words}.' if change.words else ''}".strip(), False)

    def _offer_again(self, before: str, new: str, state: SettingState | None, why: str) -> None:
        def finish(yes: bool | None) -> None:
            if yes:
                self._edit(before, new, state)
            else:
                self._tell("The settings are as they were.", False)

        self.app.push_screen(ConfirmScreen("Edit it again?", why, yes="edit it", no="discard it"), finish)

    # -- what is shown -------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            self._states = setting_states(self._control.flags)
        except SettingsError as error:
            self._said = (f"{error.title} {error.hint} Edit the file.", True)

    def _tell(self, words: str, failed: bool) -> None:
        """After a change: everything as it is now, and what came of it."""
        self._read()
        self.look_for(self.query_one(Input).value)
        self._say(words, failed=failed)

    def _say(self, words: str, *, failed: bool = False) -> None:
        self._said = (words, failed)
        self._describe()

    def _current(self) -> SettingState | None:
        number = self.query_one(Options).highlighted
        return self._rows[number] if number is not None and number < len(self._rows) else None

    def _mark(self, highlighted: int | None) -> None:
        """Mark the row that Enter takes, also where colours are hard to tell apart; only two rows are drawn again."""
        options = self.query_one(Options)
        for index in {self._marked, highlighted} - {None}:
            if index is not None and index < options.option_count:
                options.replace_option_prompt_at_index(index, self._line(index, marked=index == highlighted))
        self._marked = highlighted
        self._describe()

    def _line(self, index: int, *, marked: bool) -> Content:
        state = self._rows[index]
        width = max(20, self.size.width - 4)
        origin = _origin_in_short(state)
        room = max(6, width - _KEYS - _ORIGINS - 4)
        key = set_cell_size(_cut(state.entry.key, _KEYS), _KEYS)
        value = set_cell_size(_cut(_value_in_words(state), room), room)
        style = "$text" if state.origin else "$dim"
        return lettering(
            ("▸ " if marked else "  ", "bold $accent"),
            (key, "$text"),
            (f"  {value}", style),
            (f"  {_cut(origin, _ORIGINS)}", "$accent" if state.origin else "$dim"),
        )

    def _describe(self) -> None:
        told = self.query_one("#pick-text", Words)
        state = self._current()
        said, failed = self._said
        parts = [lettering(("✗ " if failed else "✓ ", "$error" if failed else "$success"), said)] if said else []
        if state is not None:
            parts += _details(state)
        elif not said:
            parts.append(lettering("Nothing has all of these words."))
        told.update(Content("\n").join(parts))
        off = () if state is not None and state.own is not UNSET else ("delete",)
        words = {"tab": ("all", "all")} if self._only_changed else {}
        labels = key_labels(self, words=words, off=off)
        self.query_one(KeyRow).labels = (joint_label(self, "select", "pick.up", "pick.down"), *labels)


def _of_choice(choice: str) -> list[Any]:
    return [{"true": True, "false": False}.get(choice, choice)]


def _rank(state: SettingState, words: list[str]) -> int | None:
    """0 if the key has all of these words, 1 if the rest has, None if something is in neither."""
    key = state.entry.key.casefold()
    if all(word in key for word in words):
        return 0
    more = f"{key} {state.entry.help} {'' if state.is_secret else _value_in_words(state)} {state.origin}".casefold()
    return 1 if all(word in more for word in words) else None


def _value_in_words(state: SettingState) -> str:
    if state.is_secret:
        return _HIDDEN
    if isinstance(state.value, str):
        return one_line(state.value)
    return one_line(value_text(state.value)) if state.value not in (None, (), [], {}) else ""


def _origin_in_short(state: SettingState) -> str:
    """The origin of its value, in a word."""
    if not state.origin:
        return "default"
    first = state.origin.split(",")[0]
    if first.startswith(("administrator", "profile", "this folder")):
        return first.split(":")[0]
    return "yours" if first.startswith(str(config_dir())) else first


def _details(state: SettingState) -> Iterator[Content]:
    """What is known of a setting, most useful first."""
    entry = state.entry
    yield lettering((entry.help or " ", "$text"))
    default = "not set" if entry.default in (None, "", (), {}) else value_text(entry.default)
    yield lettering(("Takes ", "$dim"), (entry.values, "$dim"), (f" · default: {default}", "$dim"))
    if state.origin:
        yield lettering(("Set by ", "$dim"), (state.origin, "$accent"))
    if state.own is not UNSET and not state.is_secret and state.own != _plain(state.value):
        variable = overriding_variable(entry.path)
        why = f"{variable} is set" if variable else "what is set there is stricter, or comes later"
        yield lettering((f"Your file says {value_text(state.own)}, which does not apply now: {why}.", "$warning"))
    yield lettering((applies_when(entry.key), "$dim"))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1) + "…"
