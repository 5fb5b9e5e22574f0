"""What plugins add to the screen: slash commands, windows with text, words for the status line, and news of troubles.

They are imported in a thread, a while after the first frame, so that neither it nor a key waits for them.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Any

from textual.screen import Screen

from oi_tui.app.commands.command_set import TakenName
from oi_tui.app.commands.registry import Argument, Command
from oi_tui.app.engine.core.library_verbs import FindFormats
from oi_tui.app.engine.core.tool_replies import ToolsFound
from oi_tui.app.engine.hooks.calling import Hooks, PluginFailed, Trouble
from oi_tui.app.engine.hooks.registered import collect_registered
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.plugins.host import LoadedPlugins, screen_hooks
from oi_tui.plugins.screen_values import Insert, SessionView, SidePanel, SlashCommand, StatusItem
from oi_tui.themes.palette import Palette
from oi_tui.widgets.status import StatusBar

LOADING = 15.0
"""Seconds that the import of all of them may take."""

LATER = 1.0
"""Seconds until the next attempt to report plugin errors."""

STATUS_CELLS = 24
"""Of one plugin's words in the status line."""

MOST_LINES, MOST_TEXT = 5_000, 1_000_000
"""Of a window's text."""


class PluginDesk:
    """Asks the screen's plugins, each call guarded and timed."""

    def __init__(self, bridge: Bridge, desk: PromptDesk, palette: Palette) -> None:
        self._bridge = bridge
        self._desk = desk
        self.palette = palette
        self._hooks: Hooks | None = None
        self._commands: dict[str, tuple[str, SlashCommand]] = {}
        self._panels: dict[str, tuple[str, SidePanel]] = {}
        self._items: list[tuple[str, StatusItem]] = []
        self._shown_of: object = None
        """What the words of the status line were asked for."""

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What went wrong in this process."""
        return tuple(self._hooks.troubles) if self._hooks is not None else ()

    def show_all(self) -> None:
        """All plugins there are, to enable and disable."""
        from oi_tui.app.screens.plugins_screen import PluginsScreen  # seldom seen

        self._screen.app.push_screen(PluginsScreen(self._desk.folder, self.troubles, self._bridge.send))

    def show_tools(self, found: ToolsFound) -> None:
        """All tools that the model may call, of plugins and of others."""
        from oi_tui.app.screens.tools_screen import show_tools  # seldom seen

        show_tools(self._screen.app, found, self._bridge, self.palette, self._desk.folder)

    async def load(self) -> None:
        """Import them, and take up what they add."""
        if not self._bridge.stopped:
            self._bridge.send(FindFormats())  # of the engine's plugins
        try:
            async with asyncio.timeout(LOADING):
                hooks = self._hooks = await _load_aside()
        except TimeoutError:
            self._tell(
                Trouble(LoadedPlugins.at, "", "cannot be loaded", f"its import takes longer than {LOADING:.0f} s")
            )
            return
        for trouble in hooks.troubles:
            self._tell(trouble)
        hooks.on_trouble = self._tell
        for plugin, command in collect_registered(hooks, "register_slash_commands", SlashCommand):
            self._add_command(plugin, command)
        for plugin, panel in collect_registered(hooks, "register_panels", SidePanel):
            self._panels.setdefault(panel.name, (plugin, panel))
        if self._panels:
            self._desk.commander.commands.add(self._panel_row())
        self._items = collect_registered(hooks, "register_status_items", StatusItem)
        for status in self._screen.query(StatusBar) if self._items else ():  # none where the person left meanwhile
            self._screen.watch(status, "status", self._show_items)

    def _tell(self, trouble: Trouble) -> None:
        if self._desk.welcomes:  # its words would be gone; this can wait
            self._screen.set_timer(LATER, lambda: self._tell(trouble))
            return
        self._screen.app.notify(f"{one_line(trouble.title)} {one_line(trouble.hint)}", severity="warning", timeout=15)

    @property
    def _screen(self) -> Screen[Any]:
        return self._desk.screen

    @property
    def _view(self) -> SessionView:
        transcript = self._bridge.transcript
        usage = transcript.usage
        return SessionView(
            session_id=transcript.session_id,
            folder=transcript.cwd,
            model=transcript.model,
            blocks=transcript.blocks,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
        )

    # -- slash commands and windows

    def _add_command(self, plugin: str, command: SlashCommand) -> None:
        row = Command(
            f"plugin:{command.name}",
            one_line(command.title)[:40],
            one_line(command.help)[:120],
            slash=command.name,
            arguments=(Argument(one_line(command.argument)[:40], required=False),) if command.argument else (),
            action=f"screen.part('plugin {command.name}', ARGUMENT)",
            origin=plugin,
        )
        try:
            self._desk.commander.commands.add(row)
        except TakenName as taken:
            self._refuse(plugin, "register_slash_commands", str(taken))
        else:
            self._commands[command.name] = (plugin, command)

    def offer(self, command_id: str, choices: Mapping[str, str]) -> None:
        """More words for a command of ours."""
        self._desk.commander.commands.add_choices(command_id, choices)

    def _refuse(self, plugin: str, hook: str, why: str) -> None:
        assert self._hooks is not None
        self._hooks.reject(plugin, hook, why)

    def _panel_row(self) -> Command:
        def names() -> dict[str, str]:
            return {name: one_line(panel.title) for name, (_, panel) in self._panels.items()}

        return Command(
            "plugin-panel",
            "Window of a plugin",
            "A window with text that a plugin makes",
            slash="panel",
            arguments=(Argument("NAME", choices=names),),
            action="screen.part('panel', ARGUMENT)",
        )

    def run_command(self, name: str, argument: str) -> None:
        """Do what a plugin's slash command does: text is shown, or put into the prompt."""
        if self._hooks is None or name not in self._commands:
            return
        plugin, command = self._commands[name]
        try:
            said = self._hooks.run(plugin, f"/{name}", command.run, argument, self._view)
        except PluginFailed:
            return
        match said:
            case None:
                pass
            case Insert():
                self._desk.area.insert(str(said.text)[:MOST_TEXT])
            case str():
                self._show(command.title, said)
            case _:
                self._refuse(plugin, f"/{name}", f"it returned a {type(said).__name__}, no text")

    def show_panel(self, name: str) -> None:
        """Open a window of this name."""
        if self._hooks is None or name not in self._panels:
            return
        plugin, panel = self._panels[name]
        view, width = self._view, self._screen.size.width - 2

        def lines() -> str:
            return "\n".join(islice(panel.lines(view, width), MOST_LINES))

        try:
            self._show(panel.title, self._hooks.run(plugin, f"/panel {name}", lines))
        except PluginFailed:
            return

    def _show(self, title: str, text: str) -> None:
        from oi_tui.app.screens.viewer import TextContent, ViewerScreen  # as above

        content = TextContent(one_line(title), text[:MOST_TEXT])
        self._screen.app.push_screen(ViewerScreen(content, self.palette, self._desk.folder))

    # -- the status line

    def _show_items(self) -> None:
        """Ask again when the session, its model, or the number of its blocks has changed: not with each streamed
        piece."""
        transcript = self._bridge.transcript
        now = (transcript.session_id, transcript.cwd, transcript.model, len(transcript.blocks), transcript.usage)
        if self._hooks is None or now == self._shown_of:
            return
        self._shown_of, view, told = now, self._view, []
        for plugin, item in self._items:
            try:
                said = self._hooks.run(plugin, "status_item", item.text, view)
            except PluginFailed:
                continue
            if isinstance(said, str) and said.strip():
                told.append(one_line(said[: 10 * STATUS_CELLS])[:STATUS_CELLS])
        self._screen.query_one(StatusBar).items = tuple(told)


def _load_aside() -> "asyncio.Future[Hooks]":
    """The screen's plugins, imported in a thread that the end of the program does not wait for."""
    loop = asyncio.get_running_loop()
    loaded: asyncio.Future[Hooks] = loop.create_future()

    def load() -> None:
        hooks = screen_hooks()
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(lambda: None if loaded.done() else loaded.set_result(hooks))

    Thread(target=load, name="plugins", daemon=True).start()
    return loaded
