"""The list of plugins: what each is, its author and its place; keys enable and disable them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.core.tool_verbs import ReadToolFiles
from oi_tui.app.engine.hooks.calling import Trouble
from oi_tui.app.engine.trust.folder_decisions import trusts_folder
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.records_screen import RecordsScreen
from oi_tui.plugins.decisions_file import PluginDecision, decisions_about, plugin_decisions, tool_file_decisions
from oi_tui.plugins.description import LABEL, consent_lines, describe_plugin, plugin_line, rights_of, when_it_counts
from oi_tui.plugins.finding import FoundPlugin, find_plugin, find_plugins, plugin_folder
from oi_tui.plugins.tool_files import find_tool_file, find_tool_files
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering


class PluginsScreen(RecordsScreen[FoundPlugin]):
    """A list, and below it all about the one that is highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("e", "enable", "Enable it, after a question", id="plugins.enable", label="enable"),
        Hint("d", "disable", "Disable it", id="plugins.disable", label="disable"),
        Hint("escape,q", "dismiss(None)", "Back", id="plugins.back", label="back"),
    ]

    def __init__(self, folder: Path, troubles: tuple[Trouble, ...], send: Callable[[ReadToolFiles], None]) -> None:
        """Files of tools of the folder are among them, if it is trusted. `troubles`: what went wrong in the screen's
        process."""
        super().__init__()
        self._folder = folder
        self._troubles, self._send = troubles, send
        self._decisions: dict[str, PluginDecision] = {}

    def compose(self) -> ComposeResult:
        """The list, what is known of one, and the keys."""
        yield Words("Plugins", id="plugins-title", classes="records-title")
        yield Options(id="plugins-list", compact=True)
        yield Words("Looking …", id="plugins-about", classes="records-about")
        yield KeyRow(id="plugins-keys")

    async def on_mount(self) -> None:
        """Looks in a thread: there may be many packages."""
        await self._look()

    async def _look(self) -> None:
        try:
            found = await asyncio.to_thread(self._find)
            self._decisions = await asyncio.to_thread(lambda: plugin_decisions().all() | tool_file_decisions().all())
        except OiTuiError as error:
            self.query_one("#plugins-about", Words).update(f"{error.title} {error.hint}")
            return
        width = min(28, max((len(f"{one.name} {one.version}".strip()) for one in found), default=0))
        self.list_records(found, [plugin_line(one, self._decisions.get(one.name), width) for one in found])
        self.query_one(Options).focus()

    def _find(self) -> list[FoundPlugin]:
        return [*find_tool_files(self._trusted_folder), *find_plugins()]

    @property
    def _trusted_folder(self) -> Path | None:
        return self._folder if trusts_folder(self._folder) else None

    def action_enable(self) -> None:
        """Ask first, with all that is known of it."""
        found = self.record
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
        if (found := self.record) is not None:
            self.run_worker(self._decide(found, enabled=False), group="decide")

    async def _decide(self, found: FoundPlugin, *, enabled: bool) -> None:
        try:
            if enabled and await asyncio.to_thread(self._find_again, found) != found:
                self.notify(f"{found.name} changed while you looked at it.", severity="warning")
            else:
                state: Literal["enabled", "disabled"] = "enabled" if enabled else "disabled"
                await asyncio.to_thread(decisions_about(found.kind).decide, found.name, state, found.digest)
                if found.kind == "tools":
                    self._send(ReadToolFiles())
                self.notify(f"{found.name} is {state}. {when_it_counts(found)}")
        except OiTuiError as error:
            self.notify(error.title, severity="error")
        await self._look()

    def _find_again(self, found: FoundPlugin) -> FoundPlugin | None:
        return find_tool_file(found.name, self._trusted_folder) if found.kind == "tools" else find_plugin(found.name)

    def show_record(self) -> None:
        found = self.record
        about = self.query_one("#plugins-about", Words)
        if found is None:
            about.update(
                f"No plugins yet. A single file goes into {plugin_folder()}; the guide's page plugins has more."
            )
        else:
            wrong = [one.title for one in self._troubles if one.plugin.partition(":")[0] == found.name]
            width = max(20, self.size.width - 4)
            told = describe_plugin(found, self._decisions.get(found.name))
            lines = [
                part
                for line in told
                for part in wrap(line, width, subsequent_indent=" " * LABEL, break_on_hyphens=False)
            ]
            about.update(lettering("\n".join(lines), *((f"\n! {line}", "$warning") for line in wrong)))
        state = "" if found is None else found.state(self._decisions.get(found.name))
        off = {"e"} if found is None or found.fault or state == "enabled" else set()
        off |= {"d"} if found is None or state == "disabled" else set()
        self.query_one(KeyRow).labels = key_labels(self, off=tuple(off))
