"""The plugins there are: what each is, who made it, where it lies; enabled and disabled by key."""

import asyncio
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import OptionList

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.hooks.calling import Trouble
from oi_tui.app.engine.trust.folder_decisions import trusts_folder
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.plugins.decisions_file import PluginDecision, decisions_about, plugin_decisions, tool_file_decisions
from oi_tui.plugins.description import consent_lines, describe_plugin, plugin_line, rights_of, when_it_counts
from oi_tui.plugins.finding import FoundPlugin, find_plugin, find_plugins, plugin_folder
from oi_tui.plugins.tool_files import find_tool_file, find_tool_files
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

    def __init__(self, folder: Path, troubles: tuple[Trouble, ...] = ()) -> None:
        """Files of tools of the folder are among them, if it is trusted. `troubles`: what went wrong in the screen's
        process."""
        super().__init__()
        self._folder = folder
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
            self._found = await asyncio.to_thread(self._find)
            self._decisions = await asyncio.to_thread(lambda: plugin_decisions().all() | tool_file_decisions().all())
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

    def _find(self) -> list[FoundPlugin]:
        return [*find_tool_files(self._trusted_folder), *find_plugins()]

    @property
    def _trusted_folder(self) -> Path | None:
        return self._folder if trusts_folder(self._folder) else None

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

        text = "\n".join([rights_of(found), "", *consent_lines(found)])
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
            if enabled and await asyncio.to_thread(self._find_again, found) != found:
                self.notify(f"{found.name} changed while you looked at it.", severity="warning")
            else:
                state: Literal["enabled", "disabled"] = "enabled" if enabled else "disabled"
                await asyncio.to_thread(decisions_about(found.kind).decide, found.name, state, found.digest)
                self.notify(f"{found.name} is {state}. {when_it_counts(found)}")
        except OiTuiError as error:
            self.notify(error.title, severity="error")
        await self._look()

    def _find_again(self, found: FoundPlugin) -> FoundPlugin | None:
        return find_tool_file(found.name, self._trusted_folder) if found.kind == "tools" else find_plugin(found.name)

    def _show(self) -> None:
        found = self._one
        about = self.query_one("#plugins-about", Words)
        if found is None:
            about.update(f"There is none. Single files go into {plugin_folder()}; the guide has more: plugins, tools.")
        else:
            wrong = [one.title for one in self._troubles if one.plugin.partition(":")[0] == found.name]
            lines = describe_plugin(found, self._decisions.get(found.name))
            about.update(lettering("\n".join(lines), *((f"\n! {line}", "$warning") for line in wrong)))
        state = "" if found is None else found.state(self._decisions.get(found.name))
        off = {"e"} if found is None or found.fault or state == "enabled" else set()
        off |= {"d"} if found is None or state == "disabled" else set()
        self.query_one(KeyRow).labels = key_labels(self, off=tuple(off))
