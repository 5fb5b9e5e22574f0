"""The MCP servers: the state, tools and log of each; keys agree to one, restart, disable and enable it.

Who comes here was sent by a notice ("has changed since you agreed"), or wonders where a tool is. They go down the list,
read what one offers, press y to agree after a question that shows all of it, r to restart it.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll

from oi_tui.app.engine.core.tool_replies import ServerRecord, ServersFound
from oi_tui.app.engine.core.tool_verbs import ChangeServer, FindServers, ServerChange
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.records_screen import RecordsScreen
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Options, Words

NONE = "No MCP servers yet. Add one with `oi-tui mcp add NAME -- COMMAND`; the guide's page mcp has more."

MOST_CHANGES = 6_000
"""Characters of a difference that a question shows."""


class ServersScreen(RecordsScreen[ServerRecord]):
    """A list, and below it all about the one that is highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("y", "agree", "Agree to it, after a question", id="servers.agree", label="agree"),
        Hint("r", "change('restart')", "Restart it", id="servers.restart", label="restart"),
        Hint("d", "change('disable')", "Disable it", id="servers.disable", label="disable"),
        Hint("e", "change('enable')", "Enable it", id="servers.enable", label="enable"),
        Hint("l", "change('look')", "Read the files again", id="servers.look", label="read files"),
        Hint("escape,q", "dismiss(None)", "Back", id="servers.back", label="back"),
    ]

    def __init__(self, send: Callable[[AnyVerb], None]) -> None:
        """`send` asks the engine."""
        super().__init__()
        self._send = send

    def compose(self) -> ComposeResult:
        """The list, what is known of one, and the keys."""
        yield Words("MCP servers", id="servers-title", classes="records-title")
        yield Options(id="servers-list", compact=True)
        with VerticalScroll(id="servers-scroll", can_focus=False):
            yield Words("Looking …", id="servers-about", classes="records-about")
        yield KeyRow(id="servers-keys")

    def on_mount(self) -> None:
        """Ask for them, now and whenever one changes."""
        self._send(FindServers())

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        self._send(FindServers(on=False))

    def take(self, found: ServersFound) -> None:
        """What the engine says of them."""
        self.list_records(found.servers, map(_line, found.servers))
        self.query_one(Options).focus()
        if found.problem:
            self.notify(safe_text(found.problem), severity="warning")

    def action_agree(self) -> None:
        """Ask first, showing everything that the person agrees to."""
        one = self.record
        if one is None or one.state not in ("not agreed", "changed"):
            return

        def decide(yes: bool | None) -> None:
            if yes:
                self._send(ChangeServer(name=one.name, change="agree", digest=one.digest))

        what = "start" if one.state == "not agreed" else "use its tools as they are now"
        text = "\n".join(_consent(one))
        self.app.push_screen(
            ConfirmScreen(f"{one.name}: {what}?", text, yes="agree", no="not now", careful=True), decide
        )

    def action_change(self, change: ServerChange) -> None:
        """At once: each of these can be undone."""
        if (one := self.record) is not None or change == "look":
            self._send(ChangeServer(name=one.name if one is not None else "", change=change))

    def show_record(self) -> None:
        one = self.record
        self.query_one("#servers-about", Words).update(NONE if one is None else safe_text("\n".join(_about(one))))
        off = set() if one is not None and one.state in ("not agreed", "changed") else {"y"}
        if one is None or one.state in ("disabled", "not agreed"):
            off |= {"r"}
        off |= {"d", "e"} if one is None else {"d"} if one.state == "disabled" else {"e"}
        self.query_one(KeyRow).labels = key_labels(self, off=tuple(off))


def _line(one: ServerRecord) -> str:
    tools = quantity(len(one.tools), "tool") if one.state in ("ready", "changed") else ""
    return safe_text(f"{one.state:<11} {one.name:<20} {tools}")


def _about(one: ServerRecord) -> Iterator[str]:
    if one.trouble:
        yield one.trouble
    yield f"{'Named by ' + one.folder if one.folder else 'Yours'}: {one.about}"
    if one.wishes:
        yield f"It asks for: {'; '.join(one.wishes)}"
    if one.variables:
        yield f"It is given: {', '.join(one.variables)}"
    if one.changes:
        yield from ("", one.changes)
    if one.tools:
        yield from ("", *one.tools)
    if one.resources:
        yield from ("", "To read, in a prompt:", *(f"@{one.name}:{uri}" for uri in one.resources[:20]))
    if one.prompts:
        yield from ("", "Prompts that are ready:", *(f"/{prompt}" for prompt in one.prompts[:20]))
    if one.log:
        yield from ("", "Its log:", *one.log.splitlines()[-20:])


def _consent(one: ServerRecord) -> Iterator[str]:
    """All that a yes is about."""
    yield one.about
    if one.folder:
        yield f"Named by the folder {one.folder}, not by you."
    yield from (f"It asks for: {wish}" for wish in one.wishes)
    if one.variables:
        yield f"It is given these variables: {', '.join(one.variables)}"
    if one.changes:
        cut = one.changes[:MOST_CHANGES]
        yield from ("", cut, *(["[cut: `oi-tui mcp tools` prints all of it]"] if len(cut) < len(one.changes) else []))
