"""Every place that has keys of its own, in the order of the help: F1, the guide, the screen of keys and what checks a
person's own keys go by this list. The keys themselves are defined in their widgets, each with its id and a line of
help.
"""

from collections.abc import Iterator
from typing import NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode

from oi_tui.app.commands.macros import macro_rows
from oi_tui.app.commands.own_commands import personal_rows
from oi_tui.app.commands.registry import COMMANDS, OF_THE_APP, Command
from oi_tui.app.screens.bound_keys import BoundKeys, keys_in
from oi_tui.app.screens.context_screen import ContextScreen
from oi_tui.app.screens.extract_form import ExtractForm
from oi_tui.app.screens.extract_screen import ExtractScreen
from oi_tui.app.screens.folder import Choices, FolderScreen
from oi_tui.app.screens.guide import GuideScreen
from oi_tui.app.screens.history import HistoryScreen
from oi_tui.app.screens.instructions_screen import InstructionsEditor, InstructionsScreen
from oi_tui.app.screens.keep_screen import KeepScreen
from oi_tui.app.screens.kernel_screen import KernelScreen
from oi_tui.app.screens.keys_screen import KeysScreen
from oi_tui.app.screens.palette_screen import PaletteScreen
from oi_tui.app.screens.pick import PickScreen
from oi_tui.app.screens.picture_screen import PictureScreen
from oi_tui.app.screens.plugins_screen import PluginsScreen
from oi_tui.app.screens.profile_screen import ProfileScreen
from oi_tui.app.screens.rebuild import RebuildScreen
from oi_tui.app.screens.run_again import RunAgainScreen
from oi_tui.app.screens.servers_screen import ServersScreen
from oi_tui.app.screens.settings_screen import SettingsScreen
from oi_tui.app.screens.setup import SetupScreen
from oi_tui.app.screens.skills_screen import SkillsScreen
from oi_tui.app.screens.theme_screen import ThemeScreen
from oi_tui.app.screens.tools_screen import ToolsScreen
from oi_tui.app.screens.viewer import ViewerScreen
from oi_tui.app.screens.widgets_screen import WidgetsScreen
from oi_tui.widgets.approval import ApprovalPanel
from oi_tui.widgets.composer import PromptArea
from oi_tui.widgets.editor import SourceEditor
from oi_tui.widgets.inspector import Inspector
from oi_tui.widgets.search_bar import SearchBar
from oi_tui.widgets.sessions.panel import Panel
from oi_tui.widgets.sessions.session_rows import SessionRows
from oi_tui.widgets.text_box import UNBOUND
from oi_tui.widgets.timeline.view import Timeline
from oi_tui.widgets.trouble import TroubleRow
from oi_tui.widgets.viewer.json_tree import JsonTree
from oi_tui.widgets.viewer.pane import TextPane
from oi_tui.widgets.viewer.picture_view import PictureView
from oi_tui.widgets.viewer.table_pane import TablePane


class HelpRow(NamedTuple):
    """One line of the help."""

    keys: str
    slash: str
    help: str
    shell: str = ""
    """The subcommand of `oi-tui` that is about the same."""


class KeyPlace(NamedTuple):
    """Where keys work, and the widgets and screens that have them there."""

    title: str
    owners: tuple[type[DOMNode], ...]
    takes_letters: bool = True
    """Whether letters do something there; else they are typed into a text."""
    in_chat: bool = True
    """Whether it is a part of the main screen, where all commands have their keys too."""
    around: tuple[type[DOMNode], ...] = ()
    """The place around it, if any: its keys work, too."""
    more: tuple[HelpRow, ...] = ()
    """What has no binding."""


KEY_PLACES: tuple[KeyPlace, ...] = (
    KeyPlace(
        "The prompt",
        (PromptArea,),
        takes_letters=False,
        more=(
            HelpRow("", "!COMMAND", "Run a shell command yourself"),
            HelpRow("", "%CODE", "Run Python yourself; %python works too"),
            HelpRow("", "@PATH", "Give a file with the prompt"),
        ),
    ),
    KeyPlace("When code wants to run", (ApprovalPanel,)),
    KeyPlace("Editing that code", (SourceEditor,), takes_letters=False),
    KeyPlace("After an error", (TroubleRow,), takes_letters=False),
    KeyPlace("The timeline", (Timeline,), more=(HelpRow("ctrl+c", "", "Copy what was selected with the mouse"),)),
    KeyPlace("The search line", (SearchBar,), takes_letters=False),
    KeyPlace("The variables", (Inspector,), takes_letters=False),
    KeyPlace("The sessions", (SessionRows,)),
    KeyPlace("The filter of the sessions", (Panel,), takes_letters=False),
    KeyPlace("A block on the whole screen", (ViewerScreen, TextPane), in_chat=False),
    KeyPlace("A table on the whole screen", (TablePane,), in_chat=False, around=(ViewerScreen,)),
    KeyPlace("JSON on the whole screen", (JsonTree,), in_chat=False, around=(ViewerScreen,)),
    KeyPlace("A picture on the whole screen", (PictureScreen, PictureView), in_chat=False),
    KeyPlace("Code to run again", (RunAgainScreen,), in_chat=False),
    KeyPlace("Widgets", (WidgetsScreen,), in_chat=False),
    KeyPlace("Variables to rebuild", (RebuildScreen,), in_chat=False),
    KeyPlace(
        "Lists to choose from", (PickScreen, KernelScreen, HistoryScreen, PaletteScreen, ThemeScreen), False, False
    ),
    KeyPlace("The settings", (SettingsScreen,), takes_letters=False, in_chat=False),
    KeyPlace("The keys", (KeysScreen,), takes_letters=False, in_chat=False),
    KeyPlace("The plugins", (PluginsScreen,), in_chat=False),
    KeyPlace("An extraction", (ExtractScreen,), in_chat=False),
    KeyPlace("What is extracted", (ExtractForm,), takes_letters=False, in_chat=False),
    KeyPlace("The MCP servers", (ServersScreen,), in_chat=False),
    KeyPlace("The tools", (ToolsScreen,), in_chat=False),
    KeyPlace("Skills and kept functions", (SkillsScreen,), in_chat=False),
    KeyPlace("A function to keep", (KeepScreen,), in_chat=False),
    KeyPlace("The profiles", (ProfileScreen,), in_chat=False),
    KeyPlace("The list of models", (SetupScreen,), takes_letters=False, in_chat=False),
    KeyPlace("Context of the model", (ContextScreen,), in_chat=False),
    KeyPlace("Instructions for the model", (InstructionsScreen,), in_chat=False),
    KeyPlace("Your instructions", (InstructionsEditor,), takes_letters=False, in_chat=False),
    KeyPlace("Trust in a folder", (FolderScreen, Choices), in_chat=False),
    KeyPlace("The guide", (GuideScreen,), takes_letters=False, in_chat=False),
)

EVERYWHERE, CHAT = "everywhere", "the main screen"
"""The places of commands: of those whose keys work on every screen, and of the others."""


def own_rows() -> tuple[Command, ...]:
    """What the person wrote, which a key can run as well: commands and macros, by their files."""
    return (*personal_rows(), *macro_rows())


def declared_keys() -> Iterator[BoundKeys]:
    """The keys of commands and of every place, with those a place has from Textual, once for each id and place."""
    for row in COMMANDS:
        yield BoundKeys(row.id, keys_in(row.key), EVERYWHERE if row.id in OF_THE_APP else CHAT, row.title)
    for row in own_rows():
        yield BoundKeys(row.id, keys_in(row.key), CHAT, row.title)
    for place in KEY_PLACES:
        known: set[str] = set()
        for owner in (*place.owners, *place.around):
            for one in _of_owner(place, owner):
                if one.id not in known:
                    known |= {one.id} - {""}
                    yield one


def _of_owner(place: KeyPlace, owner: type[DOMNode]) -> Iterator[BoundKeys]:
    seen: set[str] = set()
    for base in owner.__mro__:
        for item in vars(base).get("BINDINGS", ()):
            binding = item if isinstance(item, Binding) else Binding(*item)
            left = keys_in(binding.key) - seen
            seen |= left
            if left or binding.key == UNBOUND:
                what = binding.description or binding.action
                yield BoundKeys(binding.id or "", left, place.title.lower(), what, place.takes_letters, place.in_chat)
        if not vars(base).get("_inherit_bindings", True):
            return
