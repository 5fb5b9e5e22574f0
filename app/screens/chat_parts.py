"""The parts of the chat screen that the first frame does not need: importing them takes as long as all the rest."""

from dataclasses import dataclass
from pathlib import Path

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
from oi_tui.app.screens.engine_choices import EngineChoices
from oi_tui.app.screens.extract_desk import ExtractDesk
from oi_tui.app.screens.kernel_names import KernelNames
from oi_tui.app.screens.kernel_screen import KernelPicks
from oi_tui.app.screens.key_desk import KeyDesk
from oi_tui.app.screens.pasting import Pasting
from oi_tui.app.screens.plan_panel import PlanPanel
from oi_tui.app.screens.plugin_desk import PluginDesk
from oi_tui.app.screens.prompt_completion import PromptCompletion
from oi_tui.app.screens.prompt_desk import PromptDesk
from oi_tui.app.screens.recall import Recall
from oi_tui.app.screens.server_screens import ServerScreens
from oi_tui.app.screens.session_export import all_formats
from oi_tui.app.screens.sessions_pane import SessionsPanel
from oi_tui.app.screens.skill_screens import SkillScreens
from oi_tui.app.screens.timeline_pane import TimelinePane
from oi_tui.app.screens.variables_panel import VariablesPanel
from oi_tui.themes.palette import Palette
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.arming import Arming, Clock
from oi_tui.widgets.enter_line import EnterLine
from oi_tui.widgets.question import QuestionPanel
from oi_tui.widgets.sessions.preview import Preview
from oi_tui.widgets.timeline.graphics import Graphics
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.trouble import TroubleRow

STYLES = Path(__file__).with_suffix(".tcss")
"""Their places on the screen."""


@dataclass(frozen=True)
class Parts:
    """Widgets, mounted when the composer can already be typed into. The panels beside the
    timeline are mounted when they are wanted first: most sessions end without."""

    pane: TimelinePane
    approval: ApprovalPanel
    question: QuestionPanel
    trouble: TroubleRow
    enter: EnterLine
    variables: VariablesPanel
    steps: PlanPanel
    sessions: SessionsPanel
    preview: Preview
    recall: Recall
    kernels: KernelPicks
    names: KernelNames
    choices: EngineChoices
    plugins: PluginDesk
    servers: ServerScreens
    skills: SkillScreens
    extractions: ExtractDesk
    keys: KeyDesk

    @classmethod
    def make(
        cls,
        bridge: Bridge,
        settings: Settings,
        graphics: Graphics,
        palette: Palette,
        arming: Arming,
        clock: Clock,
        desk: PromptDesk,
    ) -> "Parts":
        """All of them; `desk` reads what the person writes."""
        prompt, names = desk.area, KernelNames(bridge, desk)
        choices = EngineChoices(bridge)
        servers = ServerScreens(bridge, desk)
        completion = PromptCompletion(
            lambda: desk.folder, names, choices.values, lambda: desk.commander, servers.offers
        )
        prompt.completion.use(completion)
        prompt.paster = Pasting(desk)
        timeline = Timeline(palette=palette, graphics=graphics, clock=clock, id="timeline")
        pane = TimelinePane(timeline, bridge, editor=settings.screen.editor, clock=clock, id="pane")
        preview = Preview(Timeline(palette=palette, id="preview-blocks"), home=str(Path.home()), id="preview")
        plugins = PluginDesk(bridge, desk, palette)
        plugins.begin()
        return cls(
            pane,
            ApprovalPanel(arming=arming, id="approval"),
            QuestionPanel(arming=arming, id="question"),
            TroubleRow(clock, id="trouble"),
            EnterLine(id="enter-line"),
            VariablesPanel(bridge, pane, id="variables"),
            PlanPanel(bridge, pane, id="steps"),
            SessionsPanel(bridge, preview, pane, id="sessions"),
            preview,
            Recall(prompt, bridge),
            KernelPicks(prompt, bridge, desk.keep),
            names,
            choices,
            plugins,
            servers,
            SkillScreens(bridge, desk, palette, settings.screen.editor),
            ExtractDesk(bridge, desk),
            KeyDesk(settings),
        )

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
            case SkillsFound() | FunctionDrafted():
                self.skills.take(found)
            case FormatsFound():
                self.sessions.formats = all_formats(found.formats)
                self.plugins.offer("export", {one.name: one.title for one in self.sessions.formats})

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
        if not self.sessions.is_attached:
            await upper.mount(self.preview)
            await upper.mount(self.sessions, before=0)

    def set_graphics(self, graphics: Graphics) -> None:
        """Another way to show pictures."""
        self.pane.set_graphics(graphics)
        self.preview.timeline.set_look(graphics=graphics)

    def set_palette(self, palette: Palette) -> None:
        """Other colours from now on."""
        self.pane.set_palette(palette)
        self.preview.timeline.set_look(palette=palette)
        self.approval.set_palette(palette)
        self.plugins.palette = self.skills.palette = palette
