"""What is asked of which records: typed field by field, and begun by a key.

Who comes here has a table, a text or a folder, and wants the same things out of each row, line or file. They type the
name of the file (tab completes it), the fields that they want, and press Enter down to the end; the output has a name
already. Escape leaves it, and what was typed is there the next time.
"""

from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.screen import ModalScreen
from textual.widgets import Input

from oi_tui.app.engine.core.extractions import PART, BeginExtraction
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.screens.confirm import ConfirmScreen
from oi_tui.app.screens.save_as import complete_path
from oi_tui.widgets.field import Field
from oi_tui.widgets.keyrow import Hint, KeyRow, key_labels
from oi_tui.widgets.lettering import Words


class ExtractField(NamedTuple):
    """One line of the form."""

    name: str
    label: str
    placeholder: str
    hint: str
    is_path: bool = False


FIELDS = (
    ExtractField(
        "source", "Records", "for example products.csv",
        "A .csv, .tsv, .jsonl or .txt file, a folder, or a pattern: docs/*.txt", is_path=True,
    ),
    ExtractField(
        "schema", "Fields", "for example name, price: number, kind: new|used",
        "NAME or NAME: TYPE with commas between (text, number, integer, date, time, yes/no, list), a JSON schema file, "
        "or MODULE:NAME", is_path=True,
    ),
    ExtractField("output", "Output", "", "A new file: .jsonl or .csv", is_path=True),
    ExtractField("task", "Task", "", "What to look for, in addition to the fields; optional"),
    ExtractField("model", "Model", "", "Another model for this; empty is the model of the session"),
    ExtractField("workers", "At a time", "4", "Records to work on in parallel, 1 to 64"),
    ExtractField("max_cost", "Budget $", "no limit", "US dollars for the whole output; empty is no limit"),
)  # fmt: skip


class ExtractForm(ModalScreen[BeginExtraction | None]):
    """Dismissed with what to do, None to do nothing. `kept` is the text of each field, here and after it."""

    CSS_PATH = "extract_form.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Hint("enter", "next", "next", id="extract.next", priority=True),
        Hint("tab", "complete", "complete", id="extract.complete", priority=True),
        Hint("ctrl+s", "begin", "start", id="extract.begin", priority=True),
        Hint("escape", "dismiss(None)", "back", id="extract.leave"),
        Binding("up,shift+tab", "move(-1)", "One up", id="extract.up", priority=True),
        Binding("down", "move(1)", "One down", id="extract.down", priority=True),
    ]

    def __init__(self, kept: dict[str, str], folder: Path, *, model: str, wrong: str = "") -> None:
        """Paths are relative to `folder`; `model` is that of the session; `wrong` names a field to correct."""
        super().__init__()
        self._wrong = wrong
        self._kept, self._folder, self._model = kept, folder, model

    def compose(self) -> ComposeResult:
        """A line for each field, what the focused one means, and the keys."""
        with Vertical(id="extract-form"):
            yield Words("Extract the same fields from many records", id="extract-title")
            for field in FIELDS:
                shown = self._model if field.name == "model" else field.placeholder
                with Horizontal(classes="extract-line"):
                    yield Words(field.label, classes="label")
                    text = self._kept.get(field.name, "")
                    yield Field(text, placeholder=safe_text(shown), id=f"extract-{field.name}", select_on_focus=False)
            yield Words(id="extract-hint")
            yield Words(id="extract-error")
            yield KeyRow(id="extract-keys")

    def on_mount(self) -> None:
        """Focus the field to correct, else the first empty one."""
        first = next((field for field in FIELDS[:3] if not self._kept.get(field.name)), FIELDS[0])
        self._input(self._wrong or first.name).focus()
        if not self._wrong and self._kept.get(first.name):
            self._input(first.name).select_all()  # who wants other records types them

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Say what the field means."""
        source, output = self._input("source"), self._input("output")
        proposed = proposed_output(source.value) if source.value.strip() else ""
        if self._current_field.name == "output" and proposed and output.value in ("", proposed):
            output.value = proposed
            output.select_all()  # who wants another name types it
        self.query_one("#extract-hint", Words).update(self._hint)
        self._show_keys()

    @property
    def _hint(self) -> str:
        """What the focused field means."""
        output = self._input("output").value.strip()
        if self._current_field.name == "output" and output and (self._folder / f"{output}{PART}").is_file():
            return "This output is not complete yet: the same fields, task and model continue it."
        return self._current_field.hint

    def _show_keys(self) -> None:
        is_last = self._current_field == FIELDS[-1]
        keys = ("enter", *(("tab",) if self._completes else ()), *(() if is_last else ("ctrl+s",)), "esc")
        does = "start" if is_last else "next"
        self.query_one(KeyRow).labels = key_labels(self, *keys, words={"enter": (does, does)})

    @property
    def _completes(self) -> bool:
        """Whether what is typed can be the beginning of a path, or of a type."""
        field, text = self._current_field, self._input(self._current_field.name).value
        is_list = field.name == "schema" and ("," in text or ":" in text)
        return bool(type_ending(text)) if is_list else field.is_path and bool(text.strip())

    def on_input_changed(self, event: Input.Changed) -> None:
        """What is typed stays, and what was wrong may be right now."""
        event.stop()
        name = (event.input.id or "").removeprefix("extract-")
        if name == "source":
            name_records(self._kept, event.value)
            self._input("output").value = self._kept.get("output", "")
        self._kept[name] = event.value
        self._complain("")
        self._show_keys()

    def action_move(self, step: int) -> None:
        """Move to the field below or above, around at the ends."""
        place = FIELDS.index(self._current_field) + step
        self._input(FIELDS[place % len(FIELDS)].name).focus()

    def action_next(self) -> None:
        """The next field; behind the last one it begins."""
        if self._current_field == FIELDS[-1]:
            self.action_begin()
        else:
            self.action_move(1)

    def action_complete(self) -> None:
        """Complete a path or a type as far as possible; elsewhere, and if nothing can be added, go to the next
        field."""
        area = self._input(self._current_field.name)
        if not self._completes:
            self.action_move(1)
            return
        if self._current_field.name == "schema" and (ending := type_ending(area.value)):
            area.value += ending
            area.cursor_position = len(area.value)
            return
        typed, names = complete_path(area.value, self._folder)
        if typed == area.value and len(names) < 2:
            self.action_move(1)
            return
        area.value = typed
        area.cursor_position = len(typed)
        if len(names) > 1:
            self.query_one("#extract-hint", Words).update("  ".join(names[:8]) + ("  …" if len(names) > 8 else ""))

    def action_begin(self) -> None:
        """Begin with the typed values if they are valid; a module of the person's own is asked about first."""
        try:
            asked = read_form({field.name: self._input(field.name).value for field in FIELDS})
        except WrongField as wrong:
            self._complain(str(wrong))
            self._input(wrong.field).focus()
            return
        if not imports_module(asked.schema, self._folder):
            self.dismiss(asked)
            return

        def decide(yes: bool | None) -> None:
            if yes:
                self.dismiss(asked)

        text = f"Importing it runs its code with your permissions, outside the sandbox, in {self._folder}."
        question = ConfirmScreen(f"Import {asked.schema}?", text, yes="import it", no="back", careful=True)
        self.app.push_screen(question, decide)

    @property
    def _current_field(self) -> ExtractField:
        name = (self.focused.id or "").removeprefix("extract-") if self.focused is not None else ""
        return next((field for field in FIELDS if field.name == name), FIELDS[0])

    def _input(self, name: str) -> Input:
        return self.query_one(f"#extract-{name}", Input)

    def _complain(self, text: str) -> None:
        self.query_one("#extract-error", Words).update(text)


class WrongField(Exception):
    """What is typed makes no sense; the text says why."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(why)
        self.field = field


def read_form(typed: dict[str, str]) -> BeginExtraction:
    """What the fields say together. WrongField where one makes no sense; whether files are there shows later."""
    text = {name: value.strip() for name, value in typed.items()}
    for name, missing in (("source", "Which records? Name a file or a folder."), ("schema", "Which fields?")):
        if not text[name]:
            raise WrongField(name, missing)
    output = text["output"] or proposed_output(text["source"])
    if not output.lower().endswith((".jsonl", ".csv")):
        raise WrongField("output", "The output ends in .jsonl or .csv.")
    return BeginExtraction(
        source=text["source"],
        schema=text["schema"],
        output=output,
        task=text["task"],
        model=text["model"],
        workers=int(_number("workers", text["workers"] or "4", whole=True, least=1, most=64)),
        max_cost=_number("max_cost", text["max_cost"].lstrip("$") or "0", whole=False, least=0, most=1e6),
    )


def proposed_output(source: str) -> str:
    """A name beside the records: `docs/*.txt` is `docs.extracted.jsonl`."""
    parts = [part for part in source.strip().rstrip("/").split("/") if not set("*?[") & set(part)]
    whole = "/".join(parts)
    stem = whole.removesuffix(Path(whole).suffix) if parts else ""
    return f"{stem or 'records'}.extracted.jsonl"


def name_records(typed: dict[str, str], source: str) -> None:
    """Other records have another output, unless the person named it."""
    if typed.get("output") and typed["output"] == proposed_output(typed.get("source", "")):
        typed["output"] = proposed_output(source) if source.strip() else ""
    typed["source"] = source


TYPES = ("text", "number", "integer", "date", "time", "yes/no", "list")
"""What a field can be."""


def type_ending(text: str) -> str:
    """What is missing of the type that is being typed behind the last colon; "" where nothing is, or more than one
    begins so."""
    _, colon, typed = text.rpartition(":")
    typed = typed.lstrip()
    begun = [one for one in TYPES if colon and typed and one.startswith(typed) and one != typed]
    return begun[0].removeprefix(typed) if len(begun) == 1 else ""


def imports_module(schema: str, folder: Path) -> bool:
    """Whether a module is imported for this schema: it is MODULE:NAME and no file."""
    module, colon, name = schema.partition(":")
    named = colon and name.isidentifier() and all(part.isidentifier() for part in module.split("."))
    return bool(named) and not (folder / schema).exists()


def _number(field: str, text: str, *, whole: bool, least: float, most: float) -> float:
    try:
        number = float(int(text) if whole else float(text))
    except ValueError:
        raise WrongField(field, f"“{text}” is no number.") from None
    if not least <= number <= most:
        raise WrongField(field, f"Between {least:g} and {most:g}.")
    return number
