"""No raw text reaches a widget: what is given to one is ours, was made safe, or stands in a table with the reason.

Read off the syntax tree of screens and widgets. The timeline and the viewer draw strips of their own out of lines that
they clean at their own boundary; they are seen by the tests that feed hostile text to the whole program
(`security/test_terminal_sinks.py`), not by this one. Neither is text that a function returns: what returns a `Content`
is trusted, since a `Content` is only made of what is read here.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("app/tui.py", "app/screens", "widgets")
DRAWN = ("widgets/timeline/", "widgets/viewer/")
"""Draw strips of lines that were made safe; a `Text` or a widget made there is read here all the same."""

MAKERS = {"Static", "Label", "Button", "Option", "Selection", "Content", "Text", "notify", "styled"}
"""Take text first."""

CLEANERS = {"safe_text", "single_line", "list_text", "row_text", "clean_text", "spoken"}
NUMBERS = {"len", "round", "sum", "min", "max"}
SHAPES = {"truncate", "join", "strip", "rstrip", "removeprefix", "removesuffix", "capitalize", "expandtabs", "split"}
"""Methods that make safe text of safe text."""

MARKUP = {"Content.from_markup", "Content.from_rich_text", "Text.from_markup", "Text.from_ansi"}

REVIEWED: dict[str, tuple[str, ...]] = {
    # words of ours only; see `_tell`'s callers
    "app/screens/branching.py": ("text",),
    # written out by `visible_text` when the link is made; the title and hints are ours
    "app/screens/browser_ask.py": (
        "'\\n'.join(…)",
        "link.shown",
        "title",
    ),
    # choices are cleaned when they are taken; titles are ours
    "app/screens/choose.py": (
        "(f'{number} ' if number < 10 else '  ', '$accent')",
        "choice",
        "self._title",
    ),
    # callers give words of ours, or a path through `safe_text`
    "app/screens/confirm.py": (
        "self._text",
        "self._title",
    ),
    # words of ours
    "app/screens/folder.py": ("folder_title(…)",),
    # lines and names are cleaned where they are made; what offers mean is ours
    "app/screens/folder_words.py": (
        "(f'{INDENT}{what:25}', '$dim')",
        "(f'{offer.name:{LABEL}}', name)",
        "(offer.meaning, '$warning' if offer.grave else '$dim')",
        "*((f'\\n{line}', '$warning' if index == 0 else '') for index, line in enumerate(lines[1:]))",
        "f'Also there, and not read by this program: {names}'",
        "f'✗ {offer.name:{LABEL}}{offer.meaning}'",
        "lines[0]",
    ),
    # the table of commands and keys: ours
    "app/screens/help.py": (
        "' ' * indent + line",
        "(f'{head:<{_KEYS}}', '$accent')",
        "(first, '$dim')",
        "head",
        "section.title",
    ),
    # cleaned where they are made
    "app/screens/history.py": (
        "(f'  {_age(self._clock() - prompt.at)} · {where}', '$dim')",
        "line",
    ),
    # hints are ours
    "app/screens/line_ask.py": ("self._hint",),
    # the title is ours
    "app/screens/picture_screen.py": ("f'{self._title} · {width}×{height}{share}'",),
    # cleaned above; the states are a closed set
    "app/screens/rebuild.py": (
        "(failed, '$error')",
        "(first, '$text')",
    ),
    # `what` is a word of ours
    "app/screens/save_as.py": ("f'Save {self._what}'.rstrip() + ' as'",),
    # titles and words are ours or made with `safe_text` in `_words`; stages of a download are ours
    "app/screens/setup.py": (
        "line",
        "text",
        "title",
        "words",
    ),
    # `_title` cleans; places and troubles are ours
    "app/screens/viewer.py": (
        "self._title(…)",
        "trouble or self._viewer_body.position",
    ),
    # the path of our own log
    "app/tui.py": ("f'✗ Something went wrong inside oi-tui; what, is in {log}.{again}'",),
    # words of ours and a count
    "app/screens/run_again.py": ("hidden_note(…)",),
    # counts and words of ours; labels and languages go through `safe_text` where they are put in
    "widgets/approval_view.py": (
        "f\" {_count_text(hidden, 'hidden character')} \"",
        "f\"↓ {_count_text(self.below, 'more line')}{unseen}\"",
        "hidden_note(…)",
        "right",
        "self._explanation(…)",
    ),
    # the hint is ours
    "widgets/composer.py": ("self.hint",),
    # `why_...` are ours; values are cleaned line by line above
    "widgets/inspector.py": (
        "text",
        "words",
    ),
    # through `one_line` or `safe_text` where they are made; sizes and marks are ours
    "widgets/inspector_view.py": (
        "('  ' + ' '.join(parts), '$dim')",
        "(' ' + ' · '.join(filter(None, known)), '$dim')",
        "(entry.mark, f'bold {colour}')",
        "(size, '$dim')",
        "text",
        "what",
    ),
    # keys and their words: ours
    "widgets/keyrow.py": (
        "(item.key, styles[0])",
        "(wording, styles[1])",
    ),
    # counts and words of ours
    "widgets/search_bar.py": ("label",),
    # through `one_line` where they are made; signs and ages are ours
    "widgets/sessions/row_view.py": (
        "(age, '$dim')",
        "(branch, '$faint')",
        "(f'{hit.kind} ', '$dim italic')",
        "(folder, style)",
        "(row.below, '$faint')",
        "*((piece.text, 'bold $accent underline' if piece.matched else '$dim') for piece in pieces)",
        "folder",
        "heading.label",
        "text",
        "text[start - 1]",
        "title",
        "title.truncate(…)",
    ),
    # counts and words of ours
    "widgets/sessions/panel.py": (
        "'Reading…' if not stock.known else 'Searching…' if self._searching "
        "else explain_no_rows(sought, archived=self.shows_archive)",
        "self._count_text(…)",
    ),
    # words of ours; facts go through `one_line`
    "widgets/sessions/preview.py": (
        "(' · '.join(filter(None, facts)), '$dim')",
        "words",
    ),
    # parts are cleaned where they are made
    "widgets/status.py": (
        "*(item for part in shown for item in ((_SEPARATOR, '$faint'), Content.styled(part.text, part.style)))",
        "part.text",
    ),
    # cells are cleaned when the table is read
    "widgets/viewer/table_pane.py": (
        "cell",
        "column.name",
    ),
}
"""What may be given to a widget as it is, and above it why. For anything new: wrap it in `safe_text(...)` there."""


def sources() -> list[Path]:
    found = [ROOT / place for place in PLACES if place.endswith(".py")]
    found += [path for place in PLACES if not place.endswith(".py") for path in (ROOT / place).rglob("*.py")]
    return sorted(found)


def name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def content_makers() -> set[str]:
    """Functions of ours that return a `Content`, or several."""
    return {
        node.name
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.returns is not None and is_content(node.returns)
    }


def is_content(annotation: ast.expr) -> bool:
    return any(word in ast.unparse(annotation) for word in ("Content", "Text", "Option"))


class Reading:
    """One function (or module) and what its names hold."""

    def __init__(self, scope: ast.AST, makers: set[str]) -> None:
        self._makers = makers
        self._held: dict[str, list[ast.expr]] = {}
        self._unknown: set[str] = set()
        self._asked: set[str] = set()
        for node in ast.walk(scope):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._note(target, value)
                case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                    self._note(target, value)
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    self._note(target, value)
                case ast.For(target=target) | ast.comprehension(target=target):
                    self._unknown |= {inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)}
                case ast.arg(arg=name, annotation=annotation):
                    if annotation is None or not (
                        is_content(annotation) or ast.unparse(annotation) in ("int", "float")
                    ):
                        self._unknown.add(name)

    def _note(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self._held.setdefault(name, []).append(value)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for inner, given in zip(targets, values, strict=True):
                    self._note(inner, given)
            case ast.Tuple(elts=targets), ast.IfExp(body=body, orelse=other):
                self._note(target, body)
                self._note(target, other)
            case _:
                self._unknown |= {inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)}

    def is_safe(self, node: ast.expr) -> bool:
        """Whether it can only be text of ours, text that was made safe, or numbers."""
        match node:
            case ast.Constant():
                return True
            case ast.JoinedStr(values=parts):
                return all(map(self.is_safe, parts))
            case ast.FormattedValue(value=value, format_spec=spec):
                numeric = spec is not None and ast.unparse(spec).strip("f'\"")[-1:] in (*",dfx%", "n")
                return numeric or self.is_safe(value)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                is_number = isinstance(left, ast.Constant) and isinstance(left.value, int)
                return self.is_safe(right if is_number else left)
            case ast.BinOp(left=left, right=right):
                return self.is_safe(left) and self.is_safe(right)
            case ast.BoolOp(values=values):
                return all(map(self.is_safe, values))
            case ast.IfExp(body=body, orelse=other):
                return self.is_safe(body) and self.is_safe(other)
            case ast.Tuple(elts=[text, _]):
                return self.is_safe(text)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return all(map(self.is_safe, elements))
            case ast.Starred(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
                return self.is_safe(value)
            case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
                return self.is_safe(element)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="visible_text")), attr="text"):
                return True
            case ast.Name(id=name):
                return self._is_safe_name(name)
            case ast.Call():
                return self._is_safe_call(node)
            case _:
                return False

    def _is_safe_name(self, name: str) -> bool:
        if name.isupper() or (name.startswith("_") and name[1:].isupper()):
            return True  # constants of a module
        if name in self._unknown or name not in self._held or name in self._asked:
            return name in self._asked
        self._asked.add(name)  # a name that is made of itself is as safe as the rest of it
        safe = all(map(self.is_safe, self._held[name]))
        self._asked.discard(name)
        return safe

    def _is_safe_call(self, call: ast.Call) -> bool:
        name = name_of(call.func)
        if name in CLEANERS | NUMBERS | self._makers | {"Content", "Text", "assemble", "styled"}:
            return True  # a maker is read where it stands
        if isinstance(call.func, ast.Attribute) and name in SHAPES:
            return self.is_safe(call.func.value) and all(map(self.is_safe, call.args if name == "join" else []))
        if name == "map" and call.args:
            return name_of(call.args[0]) in CLEANERS
        if name in ("filter", "sorted", "str") and call.args:
            return self.is_safe(call.args[-1])
        return False


def shown(call: ast.Call, drawn: bool) -> Iterator[ast.expr]:
    """What this call puts on a screen."""
    name = name_of(call.func)
    if name in MAKERS and call.args:
        yield call.args[0]
    elif name == "assemble":
        yield from call.args
    elif name == "update" and isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not drawn:
        yield call.args[0]
    for keyword in call.keywords:
        if keyword.arg in ("placeholder", "tooltip", "label") and name not in ("Binding", "Command"):
            yield keyword.value


def written(text: ast.expr) -> str:
    """The expression as it stands in the table; of a call, what is called."""
    return f"{ast.unparse(text.func)}(…)" if isinstance(text, ast.Call) else ast.unparse(text)


def raw_text(path: str, tree: ast.Module, makers: set[str]) -> Iterator[str]:
    """What is given to a widget and is not known to be safe, as its name in the table."""
    drawn = path.startswith(DRAWN)
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        reading = Reading(scope, makers)
        for node in ast.walk(scope):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                given += shown(node, drawn)
            elif isinstance(node, ast.Assign) and name_of(node.targets[0]) in TITLES:
                given.append(node.value)
            yield from (f"{path}::{written(text)}" for text in given if not reading.is_safe(text))


TITLES = {"border_title", "border_subtitle", "placeholder", "sub_title", "tooltip"}


def all_raw_text() -> set[str]:
    makers = content_makers()
    return {
        raw
        for path in sources()
        for raw in raw_text(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")), makers)
    }


def reviewed() -> set[str]:
    return {f"{path}::{expression}" for path, expressions in REVIEWED.items() for expression in expressions}


def test_nothing_is_given_to_a_widget_that_was_not_made_safe() -> None:
    assert sorted(all_raw_text() - reviewed()) == [], "wrap it in safe_text(...), or say above REVIEWED why not"


def test_an_exception_that_is_not_needed_any_more_goes() -> None:
    assert sorted(reviewed() - all_raw_text()) == []


PLANTED = """
def show(self, name, error, count: int):
    self.update({text})
"""


@pytest.mark.parametrize(
    "text",
    [
        *("name", "str(error)", "f'no {name}'", "'no ' + name", "self.name", "Content(name)", "Static(error.title)"),
        *("Content.assemble(('x', '$dim'), (name, '$text'))", "' '.join([name])", "name if count else ''", "name * 2"),
        *("Content.from_markup(name)", "Static('x', markup=True)", "self.notify(name, markup=False)", "Option(name)"),
        *("self.notify('words')", "Input(placeholder=name)", "(said := name)", "safe_text('x') + name", "Static('x')"),
    ],
)
def test_a_raw_text_that_is_planted_is_found(text: str) -> None:
    tree = ast.parse(PLANTED.format(text=text))
    assert [*raw_text("app/screens/planted.py", tree, set()), *markup("app/screens/planted.py", tree)]


@pytest.mark.parametrize(
    "text",
    [
        *("safe_text(name)", "f'{safe_text(name)} · {count:,}'", "'a' if name else 'b'", "visible_text(name).text"),
        *(
            "Content.assemble(('x', '$dim'), (safe_text(name), '$text'))",
            "f'{len(name)}'",
            "' '.join(map(safe_text, name))",
        ),
    ],
)
def test_a_safe_text_is_not_held_up(text: str) -> None:
    tree = ast.parse(PLANTED.format(text=text))
    assert not [*raw_text("app/screens/planted.py", tree, set()), *markup("app/screens/planted.py", tree)]


def markup(path: str, tree: ast.AST) -> Iterator[str]:
    """Where Textual or Rich would read square brackets, escapes or links in a text."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        switch = given.get("markup")
        off = isinstance(switch, ast.Constant) and switch.value is False
        reads = name in ("Static", "Label", "notify") and not off
        if (
            reads
            or (switch is not None and not off)
            or ast.unparse(node.func) in MARKUP
            or name in ("Markdown", "MarkdownViewer")
        ):
            yield f"{path}:{node.lineno} {ast.unparse(node.func)}"


def test_a_line_to_type_into_is_a_field_which_makes_its_value_safe() -> None:
    plain = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Call) and name_of(node.func) == "Input")
        or (isinstance(node, ast.ClassDef) and "Input" in map(name_of, node.bases) and path.name != "field.py")
    ]
    assert plain == []


def test_no_widget_reads_markup_or_opens_links() -> None:
    found = [
        place
        for path in sources()
        for place in markup(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
