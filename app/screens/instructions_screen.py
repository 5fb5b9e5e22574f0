"""What the model reads before the first prompt, where each part comes from, and an editor for the person's own.

Who comes here wants to know why the model behaves as it does ("did it read my AGENTS.md?"), or to tell it something for
this session. They scroll and search, press e to write, and ctrl+s when they are done; escape leads back.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from oi_tui.app.engine.core.instructions import MOST_OF_ONE, InstructionPart, TemplateValue, instructions_message
from oi_tui.app.engine.core.protocol import InstructionsFound
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import AnyVerb, FindInstructions, UseInstructions
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.template import TemplateFailed, check_template
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.external_editor import EditorFailed, edit_text
from oi_tui.app.screens.viewer import TextContent, ViewerScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.editor import SourceEditor, hidden_note
from oi_tui.widgets.keyrow import Hint, KeyLabel, KeyRow, key_labels
from oi_tui.widgets.lettering import Words
from oi_tui.widgets.viewer.pane import TextPane

_ORIGINS = {
    "program": "the program's own",
    "folder": "of this trusted folder",
    "own": "yours",
    "plugin": "of a plugin",
    "facts": "today",
}

CHARACTERS_PER_TOKEN = 4
"""About as many as English text has."""


class InstructionsScreen(ViewerScreen):
    """Shows the system message of the next request."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *ViewerScreen.BINDINGS,
        Hint(
            "r",
            "reset",
            "Use your instructions from the settings again",
            id="instructions.reset",
            show=False,
            label="as in settings",
        ),
    ]

    def __init__(
        self,
        found: InstructionsFound,
        send: Callable[[AnyVerb], None],
        palette: Palette,
        folder: Path,
        *,
        variables: Mapping[str, TemplateValue],
        editor: str = "",
    ) -> None:
        """`send` asks the engine; `variables` are those of the settings."""
        exact = instructions_message(found.parts)
        size = tokens_in_words(len(exact))
        content = TextContent(f"Instructions · {size}", _page(found), ".md", exact)
        super().__init__(content, palette, folder, editor=editor)
        self._found, self._send = found, send
        self._variables, self._palette, self._command = variables, palette, editor

    def on_mount(self) -> None:
        """Prose is read in whole lines."""
        if isinstance(self._body, TextPane):
            self._body.action_wrap()

    def row_of_keys(self) -> tuple[KeyLabel, ...]:
        """The viewer's, of which `e` changes the person's own."""
        first, *others = super().row_of_keys()
        edit = others[-2]._replace(label="edit yours", short="edit")
        return (first, *others[:-2], edit, *(key_labels(self, "r") if self._found.edited else ()), others[-1])

    def action_edit(self) -> None:
        """The person's own, for this session."""

        def use(text: str | None) -> None:
            if text is not None and text != self._found.own:
                self._use(text)

        self.app.push_screen(InstructionsEditor(self._found.own, self._palette, self._variables, self._command), use)

    def action_reset(self) -> None:
        """Use the instructions of the settings again."""
        if self._found.edited:
            self._use(None)

    def _use(self, text: str | None) -> None:
        self._send(UseInstructions(text=text))
        self._send(FindInstructions())  # the answer replaces this screen


def show_instructions(
    app: App[object], found: InstructionsFound, bridge: Bridge, settings: Settings, palette: Palette
) -> None:
    """Open the screen, or replace what it showed before a change."""
    shown = InstructionsScreen(
        found,
        bridge.send,
        palette,
        Path(bridge.transcript.cwd or "."),
        variables=settings.instructions.variables,
        editor=settings.screen.editor,
    )
    if isinstance(app.screen, InstructionsScreen):
        app.switch_screen(shown)
    else:
        app.push_screen(shown)


def tokens_in_words(characters: int) -> str:
    """How much that is for a model, as far as it can be known beforehand: `~120 tokens`."""
    return f"~{-(-characters // CHARACTERS_PER_TOKEN):,} tokens"


def _page(found: InstructionsFound) -> str:
    lines = [f"! {remark}" for remark in found.remarks]
    if not any(part.origin == "own" for part in found.parts):
        lines.append("· You have no instructions of your own. e writes some for this session; [instructions] in")
        lines.append("  config.toml or in a profile is for all sessions.")
    for part in found.parts:
        lines += ["", _heading(part), "", part.text.strip()]
    return safe_text("\n".join(lines).lstrip("\n") + "\n")


def _heading(part: InstructionPart) -> str:
    cut = f", cut at {len(part.text):,} of {part.cut:,} characters" if part.cut else ""
    return f"── {part.name} · {_ORIGINS[part.origin]} · {tokens_in_words(len(part.text))}{cut} ──"


class InstructionsEditor(ModalScreen[str | None]):
    """Dismissed with the person's own instructions for this session, or None where they stay."""

    CSS_PATH = "instructions_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("ctrl+g", "external", "Write them in $EDITOR", id="instructions.external", priority=True, label="$EDITOR"),
    ]

    def __init__(self, text: str, palette: Palette, variables: Mapping[str, TemplateValue], command: str) -> None:
        super().__init__()
        self._text = text
        self._palette, self._variables, self._command = palette, variables, command

    def compose(self) -> ComposeResult:
        """A title, what is wrong with the text, the text, the keys."""
        yield Words("Your instructions for this session · used from the next step on", id="instructions-title")
        yield Words(id="instructions-note")
        yield SourceEditor(id="instructions-text")
        yield KeyRow(id="instructions-keys")

    def on_mount(self) -> None:
        editor = self.query_one(SourceEditor)
        editor.set_palette(self._palette)
        editor.soft_wrap = True
        self._begin(self._text)

    def action_external(self) -> None:
        """What is written so far, in the person's own editor."""
        try:
            text = edit_text(self.app, self.query_one(SourceEditor).text, self._command)
        except EditorFailed as failed:
            self._say(str(failed))
        else:
            self.query_one(SourceEditor).load_text(text)

    def on_source_editor_finished(self, event: SourceEditor.Finished) -> None:
        """Use it, unless it is no template or too long."""
        event.stop()
        if event.source is None:
            self.dismiss(None)
            return
        try:
            check_template(event.source, self._variables)
        except TemplateFailed as failed:
            self._say(str(failed))
            return
        if len(event.source) > MOST_OF_ONE:
            self._say(f"Instructions have at most {MOST_OF_ONE:,} characters, these have {len(event.source):,}.")
            return
        self.dismiss(event.source)

    def on_source_editor_hesitated(self, event: SourceEditor.Hesitated) -> None:
        event.stop()
        self._show_keys()

    def _begin(self, text: str) -> None:
        editor = self.query_one(SourceEditor)
        editor.begin(text, "markdown")
        self._say(hidden_note(editor.hidden_count) if editor.hidden_count else "")
        self._show_keys()

    def _say(self, words: str) -> None:
        note = self.query_one("#instructions-note", Words)
        note.display = bool(words)
        note.update(words)

    def _show_keys(self) -> None:
        self.query_one(KeyRow).labels = (*self.query_one(SourceEditor).labels(), *key_labels(self))
