"""The plugins there are: what each is, who made it, where it lies; enabled and disabled by key."""

import asyncio
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.hooks.calling import Trouble
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.plugins.decisions_file import PluginDecision, plugin_decisions
from oi_tui.plugins.description import FULL_RIGHTS, NEXT_START, consent_lines, describe_plugin, plugin_line
from oi_tui.plugins.finding import FoundPlugin, find_plugin, find_plugins, plugin_folder
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering


class PluginsScreen(ModalScreen[None]):
    """A list, and below it all about the one that is highlighted."""

    CSS_PATH = "plugins_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("e", "enable", "Enable it, after a question", id="plugins.enable", label="enable"),
        Hint("d", "disable", "Disable it", id="plugins.disable", label="disable"),
        Hint("escape,q", "dismiss(None)", "Back", id="plugins.back", label="back"),
    ]

    def __init__(self, troubles: tuple[Trouble, ...] = ()) -> None:
        """`troubles`: what went wrong in the screen's process."""
        super().__init__()
        self._troubles = troubles
        self._found: list[FoundPlugin] = []
        self._decisions: dict[str, PluginDecision] = {}

    def compose(self) -> ComposeResult:
        """The list, what is known of one, and the keys."""
        yield Words("Plugins", id="plugins-title")
        yield Options(id="plugins-list", compact=True)
        yield Words("Looking …", id="plugins-about")
        yield KeyRow(id="plugins-keys")

    async def on_mount(self) -> None:
        """Looks in a thread: there may be many packages."""
        await self._look()

    async def _look(self) -> None:
        try:
            self._found = await asyncio.to_thread(find_plugins)
            self._decisions = await asyncio.to_thread(lambda: plugin_decisions().all())
        except OiTuiError as error:
            self.query_one("#plugins-about", Words).update(f"{error.title} {error.hint}")
            return
        options = self.query_one(Options)
        place = options.highlighted or 0
        options.clear_options()
        options.add_options([plugin_line(one, self._decisions.get(one.name)) for one in self._found])
        options.highlighted = min(place, len(self._found) - 1) if self._found else None
        options.focus()
        self._show()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Neither Enter nor a click decides anything."""
        event.stop()

    def action_enable(self) -> None:
        """Ask first, with all that is known of it."""
        found = self._one
        if found is None or found.fault or found.state(self._decisions.get(found.name)) == "enabled":
            return
        if found.kind == "built-in":
            self.run_worker(self._decide(found, enabled=True), group="decide")
            return

        def decide(yes: bool | None) -> None:
            if yes:
                self.run_worker(self._decide(found, enabled=True), group="decide")

        text = "\n".join([FULL_RIGHTS, "", *consent_lines(found)])
        self.app.push_screen(
            ConfirmScreen(f"Enable {found.name}?", text, yes="enable", no="not now", careful=True), decide
        )

    def action_disable(self) -> None:
        """At once: it can be enabled again."""
        if (found := self._one) is not None:
            self.run_worker(self._decide(found, enabled=False), group="decide")

    @property
    def _one(self) -> FoundPlugin | None:
        index = self.query_one(Options).highlighted
        return self._found[index] if index is not None and index < len(self._found) else None

    async def _decide(self, found: FoundPlugin, *, enabled: bool) -> None:
        try:
            if enabled and await asyncio.to_thread(find_plugin, found.name) != found:
                self.notify(f"{found.name} changed while you looked at it.", severity="warning")
            else:
                state: Literal["enabled", "disabled"] = "enabled" if enabled else "disabled"
                await asyncio.to_thread(plugin_decisions().decide, found.name, state, found.digest)
                self.notify(f"{found.name} is {state}. {NEXT_START}")
        except OiTuiError as error:
            self.notify(error.title, severity="error")
        await self._look()

    def _show(self) -> None:
        found = self._one
        about = self.query_one("#plugins-about", Words)
        if found is None:
            about.update(f"There is none. Single files go into {plugin_folder()}; the guide has more: plugins.")
        else:
            wrong = [one.title for one in self._troubles if one.plugin.partition(":")[0] == found.name]
            lines = describe_plugin(found, self._decisions.get(found.name))
            about.update(lettering("\n".join(lines), *((f"\n! {line}", "$warning") for line in wrong)))
        state = "" if found is None else found.state(self._decisions.get(found.name))
        off = {"e"} if found is None or found.fault or state == "enabled" else set()
        off |= {"d"} if found is None or state == "disabled" else set()
        self.query_one(KeyRow).labels = key_labels(self, off=tuple(off))
