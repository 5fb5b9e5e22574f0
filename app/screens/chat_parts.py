"""The parts of the chat screen that the first frame does not need: importing them takes as long as all the rest."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widget import Widget

from oi_tui.app.engine.core.extractions import ExtractionFound
from oi_tui.app.engine.core.library_replies import FormatsFound
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.tool_replies import (
    AboutTools,
    FunctionDrafted,
    OfferCompleted,
    OffersFound,
    ServersFound,
    SkillsFound,
    ToolsFound,
)
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.defects import spare
from oi_tui.app.screens.engine_choices import EngineChoices
from oi_tui.app.screens.kernel_names import KernelNames
from oi_tui.app.screens.key_desk import KeyDesk
from oi_tui.app.screens.pasting import Pasting
from oi_tui.app.screens.plan_panel import PlanPanel
from oi_tui.app.screens.prompt_completion import PromptCompletion, complete_again
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.recall import Recall
from oi_tui.app.screens.server_screens import ServerScreens
from oi_tui.app.screens.session_export import all_formats
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.app.screens.typing_pause import TypingPause, preload
from oi_tui.themes.palette import Palette
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.arming import Arming, Clock
from oi_tui.widgets.enter_line import EnterLine
from oi_tui.widgets.question import QuestionPanel
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.trouble import TroubleRow

if TYPE_CHECKING:
    from oi_tui.app.screens.extract_desk import ExtractDesk
    from oi_tui.app.screens.kernel_screen import KernelPicks
    from oi_tui.app.screens.plugin_desk import PluginDesk
    from oi_tui.app.screens.sessions_pane import SessionsPanel
    from oi_tui.app.screens.skill_screens import SkillScreens
    from oi_tui.app.screens.variables_panel import VariablesPanel
    from oi_tui.widgets.sessions.preview import Preview

STYLES = Path(__file__).with_suffix(".tcss")
"""Their places on the screen."""


LATER_PARTS = ("block_actions", "sessions_pane", "variables_panel")
"""Modules that are imported when there are blocks: with those, panels are opened and titles come."""

ACTIONS_LATER = 1.0
"""Seconds after the first block until they are mounted: the answer to the first prompt comes first."""

PLUGINS_LATER = 1.0
"""Seconds after all parts of the screen are there until plugins are imported: the person has begun to read."""


class Parts:
    """Widgets, mounted when the composer can already be typed into. The panels beside the
    timeline are mounted when they are wanted first: most sessions end without."""

    def __init__(
        self,
        bridge: Bridge,
        settings: Settings,
        graphics: Graphics,
        palette: Palette,
        arming: Arming,
        clock: Clock,
        desk: PromptDesk,
    ) -> None:
        """All of them; `desk` reads what the person writes."""
        self._bridge, self._desk, self.palette, self._graphics = bridge, desk, palette, graphics
        self._editor = settings.screen.editor
        prompt = desk.area
        self.names = KernelNames(bridge, desk)
        self.choices = EngineChoices(bridge, lambda: complete_again(prompt))
        self.servers = ServerScreens(bridge, desk)
        completion = PromptCompletion(
            lambda: desk.folder, self.names, self.choices, lambda: desk.commander, self.servers.offers
        )
        prompt.completion.use(completion)
        prompt.paster = Pasting(desk)
        timeline = Timeline(palette=palette, graphics=graphics, clock=clock, id="timeline")
        self.pane = TimelinePane(timeline, bridge, editor=settings.screen.editor, clock=clock, id="pane")
        self.approval = ApprovalPanel(arming=arming, id="approval")
        self.question = QuestionPanel(arming=arming, id="question")
        self.trouble = TroubleRow(clock, id="trouble")
        self.enter = EnterLine(id="enter-line")
        self.steps = PlanPanel(bridge, self.pane, id="steps")
        self.recall = Recall(prompt, bridge)
        self.keys = KeyDesk(settings)
        self._expects_actions = False
        self._formats = all_formats(())

    # Most sessions end without what follows.

    @cached_property
    def plugins(self) -> "PluginDesk":
        """What plugins add to the screen."""
        from oi_tui.app.screens.plugin_desk import PluginDesk  # with all that calls plugins

        return PluginDesk(self._bridge, self._desk, self.palette)

    @cached_property
    def sessions(self) -> "SessionsPanel":
        """The list of sessions."""
        from oi_tui.app.screens.sessions_pane import SessionsPanel  # as above

        panel = SessionsPanel(self._bridge, self.preview, self.pane, id="sessions")
        panel.formats = self._formats
        return panel

    @cached_property
    def preview(self) -> "Preview":
        """The place to look at one of them."""
        from oi_tui.widgets.sessions.preview import Preview  # as above

        blocks = Timeline(palette=self.palette, graphics=self._graphics, id="preview-blocks")
        return Preview(blocks, home=str(Path.home()), id="preview")

    @cached_property
    def variables(self) -> "VariablesPanel":
        """The variables of the kernels."""
        from oi_tui.app.screens.variables_panel import VariablesPanel  # as above

        return VariablesPanel(self._bridge, self.pane, id="variables")

    @cached_property
    def kernels(self) -> "KernelPicks":
        """The choice of what code runs in."""
        from oi_tui.app.screens.kernel_screen import KernelPicks  # as above

        return KernelPicks(self._desk.area, self._bridge, self._desk.keep)

    @cached_property
    def skills(self) -> "SkillScreens":
        """Skills and kept functions."""
        from oi_tui.app.screens.skill_screens import SkillScreens  # as above

        return SkillScreens(self._bridge, self._desk, self.palette, self._editor)

    @cached_property
    def extractions(self) -> "ExtractDesk":
        """Extractions, from the form to the results."""
        from oi_tui.app.screens.extract_desk import ExtractDesk  # as above

        return ExtractDesk(self._bridge, self._desk, self._desk.tell)

    @property
    def sessions_have_focus(self) -> bool:
        """Whether the keys act on the list of sessions."""
        return "sessions" in vars(self) and self.sessions.has_focus_within

    def expect_plugins(self, pause: TypingPause) -> None:
        """Import them soon, between keys."""

        async def load() -> None:
            await pause.import_aside("oi_tui.app.screens.plugin_desk")
            await self.plugins.load()

        def begin() -> None:
            self.pane.run_worker(spare(self.pane.app, load(), "Loading plugins"), name="plugins")

        self.pane.set_timer(PLUGINS_LATER, begin)

    def expect_actions(self, pause: TypingPause) -> None:
        """Import what is needed as soon as there are blocks: colours of code, and all that is done with a block."""

        async def load() -> None:
            for name in ("pygments.lexers", *(f"oi_tui.app.screens.{part}" for part in LATER_PARTS)):
                await pause.import_aside(name)

        if not self._expects_actions:
            self._expects_actions = True
            self.pane.set_timer(ACTIONS_LATER, lambda: self.pane.run_worker(load(), name="actions"))

    @property
    def timeline(self) -> Timeline:
        """What the session consists of."""
        return self.pane.timeline

    def act(self, name: str, argument: str) -> None:
        """What is done by key or command with one of them."""
        match name.split():
            case ["steps"]:
                self.pane.run_worker(self._toggle_steps(), group="part")
            case ["rebuild"]:
                self.pane.rebuild()
            case ["recall"]:
                self.recall.search()
            case ["find"]:
                self.pane.on_timeline_search_wanted()
            case ["match", step]:
                self.pane.timeline.action_find(int(step))
            case ["keys"]:
                self.keys.open(argument)
            case ["plugins"]:
                self.plugins.show_all()
            case ["servers"]:
                self.servers.show_all()
            case ["extract"]:
                self.extractions.open(argument)
            case ["panel"]:
                self.plugins.show_panel(argument)
            case ["plugin", command]:
                self.plugins.run_command(command, argument)
            case _:
                raise ValueError(f"nothing is called {name}")

    def take(self, found: AboutTools | FormatsFound | ExtractionFound) -> None:
        """What the engine says of servers, tools, kept functions and extractions; in what sessions can be written, for
        the list and what completes `/export`."""
        match found:
            case ServersFound() | OffersFound() | OfferCompleted():
                self.servers.take(found)
            case ExtractionFound():
                self.extractions.take(found)
            case ToolsFound():
                self.plugins.show_tools(found)
            case SkillsFound(names=True):
                self.choices.note(found)
            case SkillsFound() | FunctionDrafted():
                self.skills.take(found)
            case FormatsFound():
                self._formats = all_formats(found.formats)
                if "sessions" in vars(self):
                    self.sessions.formats = self._formats
                self.plugins.offer("export", {one.name: one.title for one in self._formats})

    async def _toggle_steps(self) -> None:
        """The panel of the plan beside the timeline."""
        upper = self.pane.parent
        assert isinstance(upper, Widget)
        if not self.steps.is_attached:
            await upper.mount(self.steps)
        self.steps.toggle()

    async def mount_variables(self, upper: Widget) -> None:
        """Have the panel of variables beside the timeline."""
        if not self.variables.is_attached:
            await upper.mount(self.variables)

    async def mount_sessions(self, upper: Widget) -> None:
        """Have the panel of sessions, and the place to look at one."""
        await preload("oi_tui.app.screens.sessions_pane")  # keys do not wait for it
        if not self.sessions.is_attached:
            await upper.mount(self.preview)
            await upper.mount(self.sessions, before=0)

    def set_graphics(self, graphics: Graphics) -> None:
        """Another way to show pictures."""
        self.pane.set_graphics(graphics)
        self._graphics = graphics
        if "preview" in vars(self):
            self.preview.timeline.set_look(graphics=graphics)

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self.pane.set_palette(palette)
        if "preview" in vars(self):
            self.preview.timeline.set_look(palette=palette)
        self.approval.set_palette(palette)
        self.palette = palette
        if "plugins" in vars(self):
            self.plugins.palette = palette
        if "skills" in vars(self):
            self.skills.palette = palette
