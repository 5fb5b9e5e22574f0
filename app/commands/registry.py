"""Everything a person can tell the program to do, once: keys, palette, slash commands, completion, help derive from it.
A row has either an `action` of the screen or the app, or a verb that is sent to the engine: `argument_verbs.py` has
those, because the first frame shows keys and asks the engine nothing."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from oi_tui.app.commands.theme_folders import theme_folders
from oi_tui.themes.loader import AUTO, theme_names

if TYPE_CHECKING:  # not for the first frame
    from oi_tui.app.engine.core.session_records import ExportFormat
    from oi_tui.app.engine.core.tool_verbs import LookPurpose
    from oi_tui.app.engine.core.verbs import AnyVerb


class Argument(NamedTuple):
    """What may follow a slash command, in the order in which it is written."""

    label: str
    choices: Callable[[], Mapping[str, str]] = dict
    """The words that it can be, each with its meaning; empty where others may."""
    required: bool = True


class Situation(NamedTuple):
    """What a session is doing when a command is asked for."""

    turn_open: bool = False
    busy: bool = False
    empty: bool = False
    stopped: bool = False


When = Literal["always", "turn", "rest", "begun", "stopped"]

_APPLIES: dict[When, tuple[Callable[[Situation], bool], str]] = {
    "turn": (lambda now: now.turn_open, "no turn is running"),
    "rest": (lambda now: not now.busy and not now.empty, "there must be a turn, and nothing may run"),
    "begun": (lambda now: not now.empty, "nothing has happened in this session yet"),
    "stopped": (lambda now: now.stopped, "the engine is running"),
}
"""When a command applies, and the message where it does not."""


class Command(NamedTuple):
    """One thing that can be asked for."""

    id: str
    title: str
    help: str
    key: str = ""
    """Textual's names, with commas between them; "" where there is none."""
    slash: str = ""
    arguments: tuple[Argument, ...] = ()
    picker: str = ""
    """The Textual action that asks for the argument, where a list in the palette is not enough."""
    action: str = ""
    """A Textual action; ARGUMENT is replaced by the argument of the slash command."""
    verb: "Callable[[str], AnyVerb] | None" = None
    """What makes the verb of an argument; of our own, `command_set.py` puts it in."""
    when: When = "always"
    decides: Callable[[str], bool] = lambda argument: False
    """Whether, with this argument, it decides about code or about how that is decided: no macro holds it."""
    shell: str = ""
    """The subcommand of `oi-tui` that is about the same."""
    origin: str = ""
    """Whose it is: `yours`, `this folder`, a plugin's name; "" for ours."""

    @property
    def argument(self) -> str:
        """All arguments for the help, those in brackets that may be left out."""
        return " ".join(one.label if one.required else f"[{one.label}]" for one in self.arguments)

    def choices(self) -> Mapping[str, str]:
        """The words that may follow it, each with its meaning; empty where others may."""
        return self.arguments[0].choices() if self.arguments else {}

    def why_not(self, now: Situation) -> str:
        """Why it does not apply now, "" where it does."""
        if self.verb is not None and now.stopped:
            return "the engine is not running; /engine starts it"
        applies, why = _APPLIES.get(self.when, (None, ""))
        return "" if applies is None or applies(now) else why


UNBOUND = "none"
"""A key that no terminal sends: what is bound to it has none."""

APPROVAL_HELP: dict[str, str] = {
    "ask": "You approve all code before it runs",
    "auto": "Code runs without asking, except destructive code",
    "never": "No code runs",
    "plan": "Only tools that read run, until you accept a plan",
}
COMPLETE_HELP = {"on": "Until the model says that it is done, or needs input", "off": "An answer without code ends it"}
_RULES = {
    "allow": "Run it without asking: allow Shell(git log *)",
    "ask": "Ask each time: ask Shell(git push *)",
    "deny": "Never run it: deny Shell(rm *)",
}
EXPORT_FORMATS: "dict[ExportFormat, str]" = {
    "ipynb": "Notebook (.ipynb)",
    "md": "Markdown (.md)",
    "html": "One page for a browser (.html)",
    "lmc": "Whole session in LMC, to import again (.json)",
    "messages": "List of messages for Open Interpreter (.json)",
}


def _themes() -> Mapping[str, str]:
    return {AUTO: "dark or light as the terminal"} | dict.fromkeys(theme_names(theme_folders()), "")


_SCOPE = Argument("turn|block|session", required=False)
_ON_FILES: "tuple[tuple[LookPurpose, str, str], ...]" = (
    ("undo", "Undo changes of files", "Files as before the last turn that changed some"),
    ("redo", "Redo changes of files", "What was undone last, made again"),
    ("diff", "Changes of files", "What the last turn that changed files did to them"),
)


def _macros() -> Mapping[str, str]:
    from oi_tui.app.commands.macro_file import macro_words  # reads a file

    return macro_words()


def _profiles() -> Mapping[str, str]:
    from oi_tui.app.commands.profiles import profiles_in_words  # reads files

    return profiles_in_words()


COMMANDS: tuple[Command, ...] = (
    Command(
        "help", "Guide", "The guide: the keys of this place first", key="f1", slash="help", shell="help",
        action="app.help",
    ),
    Command(
        "palette", "Commands", "Find any command by words in it, with its keys and choices", key="ctrl+p",
        action="app.palette",
    ),
    Command(
        "model", "Choose a model", "Another model, or a list to choose from", slash="model", shell="models",
        arguments=(Argument("NAME", required=False),),
    ),
    Command(
        "approve", "Approval mode", "Approval mode: ask, auto (all but destructive code runs), plan, never",
        slash="approve", arguments=(Argument("ask|auto|plan|never", lambda: APPROVAL_HELP),),
        decides=lambda argument: True,
    ),
    Command(
        "plan", "Plan mode", "The model plans and runs nothing until you accept the plan; off: the mode before",
        slash="plan", arguments=(Argument("on|off", required=False),), decides="off".__eq__,
    ),
    Command(
        "steps", "Plan", "The plan's steps, beside the timeline: change them; press again to focus, again to close",
        key="alt+p", slash="steps", action="screen.part('steps')",
    ),
    Command(
        "budget", "Budget", "What this session may cost; alone, what it has cost", slash="budget",
        arguments=(Argument("USD|N tokens|off", required=False),), decides=bool,
    ),
    *(Command(name, title, said, slash=name, arguments=(_SCOPE,), when="begun")
      for name, title, said in _ON_FILES),
    Command(
        "usage", "Usage", "What was spent in this session, today and this month", slash="usage", shell="usage",
    ),
    Command(
        "complete", "Insist on completion", "The model continues until it says that the task is done", slash="complete",
        arguments=(Argument("on|off", lambda: COMPLETE_HELP),),
    ),
    Command(
        "pause", "Pause after this step", "The turn stops before the next step; enter continues", slash="pause",
        when="turn",
    ),
    Command(
        "rule", "A rule for this session", "Until the session is left: /rule allow Shell(git log *)", slash="rule",
        arguments=(Argument("allow|ask|deny", lambda: _RULES), Argument("RULE")),
        decides=lambda argument: argument.split(" ")[0] not in ("ask", "deny"),
    ),
    Command(
        "instructions", "Instructions", "What the model reads before your first prompt, and from where; edit yours",
        slash="instructions",
    ),
    Command(
        "keep", "Keep a function", "A function of this session, tested, for every session; alone, the last one",
        slash="keep", arguments=(Argument("NAME", required=False),), when="begun",
        decides=lambda argument: argument.endswith(" yes"),
    ),
    Command(
        "use", "Use a kept function", "Define a function that you kept in this session's kernel; alone, list them",
        slash="use", arguments=(Argument("NAME", required=False),),
    ),
    Command(
        "skills", "Skills and functions", "Skills and kept functions: find, look, use, edit, test, remove",
        slash="skills", shell="skills",
    ),
    Command("tools", "Tools", "What the model may call; switch one off", slash="tools"),
    Command(
        "profile", "Profile", "Use a profile of your settings in this session, as far as it can change now",
        slash="profile", shell="profile", arguments=(Argument("NAME", _profiles),),
        action="screen.part('profile', ARGUMENT)", picker="screen.part('profile')", decides=lambda argument: True,
    ),
    Command(
        "restart", "Restart the kernels", "New kernels: variables are lost, the conversation stays", slash="restart",
        arguments=(Argument("LANGUAGE", required=False),),
    ),
    Command(
        "kernel", "Choose a kernel", "Run Python in another environment or on a server; alone, list all",
        slash="kernel", shell="kernels", arguments=(Argument("NAME [yes]", required=False),),
        decides=lambda argument: argument.endswith(" yes"),
    ),
    Command(
        "rebuild", "Rebuild variables", "Run chosen cells of this session again, in new kernels", slash="rebuild",
        when="begun", action="screen.part('rebuild')",
    ),
    Command(
        "compact", "Summarise the context", "The model reads a summary of all but the last turn; the session keeps all",
        slash="compact", arguments=(Argument("WHAT MATTERS", required=False),),
    ),
    Command(
        "context", "Context", "What takes the room in the model's context; pin blocks or leave them out",
        slash="context",
    ),
    Command("clear", "Clear", "Forget the conversation and the kernels' state", slash="clear"),
    Command(
        "retry", "Retry the last turn", "Continue where the last turn ended", slash="retry", when="rest",
    ),
    Command(
        "sandbox", "Sandbox and trust", "What code can do in this folder, and whether it is trusted; change both",
        slash="sandbox", shell="trust", action="app.sandbox", decides=lambda argument: True,
    ),
    Command("paste", "Paste", "What is in the clipboard: a picture, files, text", slash="paste",
            action="screen.part('clipboard')"),
    Command("redraw", "Redraw the screen", "Draw the whole screen again", key="ctrl+l", action="app.redraw"),
    Command(
        "macro", "Macros", "Record what you send and play it again: /macro record NAME, /macro stop, /macro NAME",
        slash="macro", arguments=(Argument("record|stop|delete|NAME", _macros), Argument("NAME", required=False)),
        action="screen.part('macro', ARGUMENT)",
    ),
    Command(
        "theme", "Theme", "Change the colours", slash="theme", shell="theme", arguments=(Argument("NAME", _themes),),
        action="app.use_theme(ARGUMENT)", picker="app.use_theme",
    ),
    Command(
        "keys", "Keys", "What each key does, and other keys for it", slash="keys",
        arguments=(Argument("WORDS", required=False),), action="screen.part('keys', ARGUMENT)",
    ),
    Command(
        "settings", "Settings", "Find a setting, see what it means and where its value comes from, change it",
        slash="settings", shell="config", arguments=(Argument("WORDS", required=False),),
        action="screen.part('settings', ARGUMENT)", decides=lambda argument: True,
    ),
    Command(
        "export", "Export this session", "Write this session to a file: notebook, Markdown, HTML or messages",
        slash="export", shell="sessions export", when="begun",
        arguments=(Argument("FORMAT", lambda: {str(one): title for one, title in EXPORT_FORMATS.items()}),),
        action="screen.part('export', ARGUMENT)",
    ),
    Command("editor", "Open the editor", "Write the prompt in $EDITOR", key="ctrl+g", action="screen.part('editor')"),
    Command(
        "recall", "Earlier prompts", "Find a prompt of any session by words in it", key="ctrl+r", slash="history",
        action="screen.part('recall')",
    ),
    Command(
        "interrupt", "Interrupt", "Interrupt the cell; twice within a second, stop the turn; else one step back",
        key="escape", action="screen.step_back",
    ),
    Command(
        "focus", "Timeline and back", "Move between the prompt and the timeline; tab from an empty prompt",
        key="tab,ctrl+up", action="screen.switch_focus",
    ),
    Command(
        "mode", "Next approval mode", "Change the approval mode: ask, auto (only in a sandbox), plan, never",
        key="shift+tab", action="screen.part('approval')", decides=lambda argument: True,
    ),
    Command("find", "Search", "Search in the session", key="ctrl+f", slash="find", action="screen.part('find')"),
    Command(
        "engine", "Restart the engine", "After it was lost, on the same session", key="f5", slash="engine",
        action="screen.part('engine')", when="stopped",
    ),
    Command(
        "variables", "Variables", "Variables of the kernel, beside the timeline; press again to focus, again to close",
        key="f2", slash="variables", action="screen.part('variables')",
    ),
    Command(
        "sessions", "Sessions", "Past sessions: find, resume, fork, rename, export; press again to close",
        key="ctrl+b,f3", slash="sessions", shell="sessions", action="screen.part('sessions')",
    ),
    Command("plugins", "Plugins", "The plugins there are: who made them, where they lie; enable and disable them",
            slash="plugins", shell="plugins", action="screen.part('plugins')"),
    Command("extract", "Extract", "The same fields from many records: rows, lines or files; how far it is",
            slash="extract", shell="extract", arguments=(Argument("RECORDS", required=False),),
            action="screen.part('extract', ARGUMENT)"),
    Command("mcp", "MCP servers", "Servers of tools: agree to them, restart and disable them", slash="mcp",
            shell="mcp", action="screen.part('servers')"),
    Command(
        "mouse", "Mouse on or off", "Off: the terminal itself selects text", key="f4", slash="mouse",
        action="app.toggle_mouse",
    ),
    Command(
        "stop", "Copy, interrupt, clear", "Copy the selection, else interrupt, else clear the prompt; twice quits",
        key="ctrl+c", action="app.stop",
    ),
    Command(
        "detach", "Detach", "Leave: kernels and the turn keep running without a screen; oi-tui attach reconnects",
        slash="detach", shell="attach",
    ),
    Command("suspend", "Suspend", "Back to the shell; fg returns", key="ctrl+z", action="app.suspend_process"),
    Command("quit", "Quit", "Save and quit; asks when something runs", key="ctrl+q", slash="quit", action="app.quit"),
)  # fmt: skip

OF_THE_APP = frozenset({"help", "mouse", "stop", "suspend", "quit"})
"""Commands whose keys work on every screen; the others belong to the chat."""

_FIRST = frozenset({"quit", "stop", "suspend", "palette"})
"""Commands whose keys no widget may take for itself: Ctrl+Z would be the editor's undo, and a question takes all."""


def bindings(*, of_the_app: bool) -> list[Any]:
    """Textual's bindings of the rows; those without a key can get one."""
    from textual.binding import Binding  # front ends without a screen have these commands too

    rows = [row for row in COMMANDS if (row.id in OF_THE_APP) == of_the_app]
    acts = [row.action if row.key else f"app.palette('{row.id}', True)" for row in rows]
    made = zip(rows, acts, strict=True)
    return [Binding(row.key or UNBOUND, act, row.title, id=row.id, priority=row.id in _FIRST) for row, act in made]


def own_keys(row: Command, keymap: Mapping[str, str]) -> str:
    """The keys of a command: the person's own, else those that are declared; "" if it is unbound."""
    keys = keymap.get(row.id, row.key)
    return "" if keys == UNBOUND else keys
