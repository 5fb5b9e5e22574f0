"""Skills and kept functions: found by words in their names, looked at, used here, edited, tested, removed.

Who comes here looks for what they kept some time ago, or read that a file has changed. They go down the list or type a
word after /, read the source below, press enter to have it in this session (after a question), d to remove it and u to
have it back.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from oi_tui.app.engine.core.tool_replies import SkillRecord, SkillsFound
from oi_tui.app.engine.core.tool_verbs import ChangeSkill, DraftFunction, FindSkills, TestFunction, UseFunction
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.text.safe import collapse_blanks, safe_text, visible_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.external_editor import EditorFailed, edit_in_place, edit_text
from oi_tui.app.screens.records_screen import RecordsScreen
from oi_tui.themes.palette import Palette
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, key_hint, key_labels
from oi_tui.widgets.lettering import Options, Words, lettering
from oi_tui.widgets.timeline.source_view import SourceView

NONE = "Nothing is kept yet. /keep NAME keeps a function of this session; `oi-tui skills add FOLDER` adds a skill."


class SkillsScreen(RecordsScreen[SkillRecord]):
    """A list that a word narrows, and below it the one that is highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "use", "Use the function in this session, after a question", id="skills.use", label="use here"),
        Hint("a", "agree", "Look at a changed file, test it and agree to it", id="skills.agree", label="agree"),
        Hint("e", "edit", "Edit it in $EDITOR", id="skills.edit", label="edit"),
        Hint("t", "test", "Run its example in a fresh kernel", id="skills.test", label="test"),
        Hint("d,delete", "remove", "Remove it", id="skills.remove", label="remove"),
        Hint("u", "restore", "Bring back what was removed last", id="skills.restore", label="undo"),
        Hint("slash", "narrow", "Find by words", id="skills.find", label="find"),
        Hint("escape,q", "leave", "Back", id="skills.back", label="back"),
    ]

    def __init__(self, found: SkillsFound, send: Callable[[AnyVerb], None], palette: Palette, editor: str) -> None:
        """`send` asks the engine."""
        super().__init__()
        self._found, self._send = found, send
        self._palette, self._editor = palette, editor
        self._removed: list[SkillRecord] = []

    def compose(self) -> ComposeResult:
        """The list, what is known of one, its source, and the keys."""
        yield Words(id="skills-title", classes="records-title")
        yield Field(placeholder="words", id="skills-words", compact=True)
        yield Options(id="skills-list", compact=True)
        yield Words(id="skills-about", classes="records-about")
        yield SourceView(id="skills-source")
        yield KeyRow(id="skills-keys")

    def on_mount(self) -> None:
        self.query_one(SourceView).set_palette(self._palette)
        self.query_one(Field).display = False
        self.take(self._found)
        self.query_one(Options).focus()

    def take(self, found: SkillsFound) -> None:
        """Show the present list; the highlight stays where it is."""
        self._found = found
        if found.problem:
            self.notify(safe_text(found.problem), severity="warning")
        words = self.query_one(Field).value.casefold().split()
        functions = sum(one.kind == "function" for one in found.skills)
        title = f"Kept functions · {functions}   Skills · {len(found.skills) - functions}"
        self.query_one("#skills-title", Words).update(title)
        listed = [one for one in found.skills if all(word in _search_text(one) for word in words)]
        self.list_records(listed, map(_line, listed))

    # -- finding

    def action_narrow(self) -> None:
        """Type words; the list follows."""
        line = self.query_one(Field)
        line.display = True
        line.focus()

    @on(Field.Changed)
    def narrow(self) -> None:
        """List what has all words."""
        self.take(SkillsFound(skills=self._found.skills))

    @on(Field.Submitted)
    def choose(self) -> None:
        """Back to the list, with the words."""
        self.query_one(Options).focus()

    def action_leave(self) -> None:
        """Out of the words, then out of the list."""
        line = self.query_one(Field)
        if not line.display:
            self.dismiss(None)
            return
        line.value = ""
        line.display = False
        self.query_one(Options).focus()

    def choose_record(self) -> None:
        """Enter, or a second click: asks."""
        self.action_use()

    # -- doing

    def action_use(self) -> None:
        """Define it in the kernel of this session, after a yes: Enter alone runs nothing."""
        one = self.record
        if one is None or one.kind != "function" or not self._is_usable(one):
            return

        def decide(yes: bool | None) -> None:
            if yes:
                self._send(UseFunction(name=one.name))
                self.dismiss(None)

        text = "Its code runs in the Python kernel of this session, as your own."
        self.app.push_screen(ConfirmScreen(f"Use {one.name} here?", text, yes="use", no="back"), decide)

    def action_agree(self) -> None:
        """Have it tested and shown; the yes is given there."""
        one = self.record
        if one is not None and one.kind == "function" and not one.agreed and not one.wrong:
            self._send(DraftFunction(name=one.name, text=one.text))
            self.dismiss(None)

    def action_edit(self) -> None:
        """Change it. A function is tested and shown before it is kept so; a skill is as the editor left it."""
        if (one := self.record) is None or not one.own:
            return
        try:
            if one.kind == "skill":
                edit_in_place(self.app, f"{one.place}/SKILL.md", self._editor)
                self._send(FindSkills())
                return
            text = edit_text(self.app, one.text, self._editor, ".py")
        except EditorFailed as failed:
            self.notify(safe_text(str(failed)), severity="warning")
            return
        if text.strip() == one.text.strip():
            self.notify("Nothing was changed.")
            return
        self._send(DraftFunction(name=one.name, text=f"{text}\n"))
        self.dismiss(None)

    def action_test(self) -> None:
        """In the timeline, where its output is seen."""
        one = self.record
        if one is not None and one.kind == "function" and self._is_usable(one):
            self._send(TestFunction(name=one.name))
            self.dismiss(None)

    def action_remove(self) -> None:
        """At once: it can be undone."""
        if (one := self.record) is not None and one.own:
            self._removed.append(one)
            self._send(ChangeSkill(kind=one.kind, name=one.name, change="remove"))

    def action_restore(self) -> None:
        """Bring back the last one."""
        if self._removed:
            one = self._removed.pop()
            self._send(ChangeSkill(kind=one.kind, name=one.name, change="restore"))

    def _is_usable(self, one: SkillRecord) -> bool:
        if one.wrong or not one.agreed:
            why = one.wrong or f"{CHANGED}{self._way_out}"
            self.notify(safe_text(f"{one.name} {why}."), severity="warning")
        return not one.wrong and one.agreed

    @property
    def _way_out(self) -> str:
        hint = key_hint(self, ("skills.agree", "looks at it"))
        return f" ({hint})" if hint else ""

    def show_record(self) -> None:
        one, view = self.record, self.query_one(SourceView)
        view.visible = one is not None
        about = self.query_one("#skills-about", Words)
        if one is None:
            about.update(NONE if not self._found.skills else "None has all of these words.")
            view.show("", "text")
        else:
            about.update(safe_text("\n".join(_about(one, self._way_out))))
            language = "python" if one.kind == "function" else "markdown"
            view.show(collapse_blanks(visible_text(one.text).text), language)
        view.scroll_home(animate=False)
        is_function = one is not None and one.kind == "function"
        off = set() if is_function else {"enter", "t"}
        off |= set() if is_function and one is not None and not one.agreed and not one.wrong else {"a"}
        off |= set() if one is not None and one.own else {"e", "d"}
        off |= set() if self._removed else {"u"}
        self.query_one(KeyRow).labels = key_labels(self, off=tuple(off))


CHANGED = "was changed since you agreed to it"


def _search_text(one: SkillRecord) -> str:
    return f"{one.kind} {one.name} {one.summary}".casefold()


def _line(one: SkillRecord) -> Content:
    mark = "✗ " if one.wrong else "  " if one.agreed else "! "
    return lettering(
        (mark, "$warning"), (f"{one_line(one.name):<24} ", ""), (one_line(one.wrong or one.summary), "$dim")
    )


def _about(one: SkillRecord, way_out: str) -> Iterator[str]:
    kind = "Kept function" if one.kind == "function" else "Skill" if one.own else "Skill of this folder"
    version = f", version {one.version}" if one.version > 1 else ""
    tested = f" · test {one.tested}" if one.tested else ""
    yield f"{kind}{version}{tested} · {one.place}"
    if one.wrong:
        yield f"It {one.wrong}: it is not used."
    elif not one.agreed:
        yield f"It {CHANGED}{way_out}."
