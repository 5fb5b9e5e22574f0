"""The shape of the repository, held by looking at it: arrows, rooms, sizes, and what must not be anywhere.

Exceptions to a rule are in a table here, with the reason. `lint-imports` holds the import arrows in detail; the tests
here hold what only a running interpreter or the syntax tree can show.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest

from oi_tui.app.engine.hooks.calling import hook_names
from oi_tui.app.engine.hooks.specs import EngineHooks
from oi_tui.plugins.screen_specs import ScreenHooks
from support.house import PACKAGES as ROOMS
from support.house import (
    ROOT,
    arrows,
    classes,
    functions,
    is_overload,
    module_of,
    name_of,
    nodes_of,
    participles,
    public_definitions,
    sources,
    terse_docstrings,
    tree_of,
)

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

MODULE_LINES, CLASS_METHODS, FUNCTION_LINES = 400, 25, 70
TOO_LONG: dict[str, str] = {
    "app/engine/core/events.py": "the vocabulary: one flat list of values, each of which is read by itself",
    "app/engine/transcript/transcript.py::_fold": "the fold: one flat match over the closed union of events",
}
"""Path, `path::Class` or `path::function` that may be over its budget -> the reason."""

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}

QUARANTINE = {
    "oi_tui.app.engine.models.litellm_model": {"litellm"},
    "oi_tui.app.engine.kernels.jupyter": {"jupyter_client", "zmq"},
    "oi_tui.app.engine.local.server": {"xllamacpp"},
}
"""Modules that are allowed a heavy library, though even these defer it until it is needed."""

NOT_IN_THE_ENGINE = {"textual", "rich", "litellm", "jupyter_client", "zmq", "xllamacpp", "pandas", "matplotlib"}
NOT_IN_THE_FRONT_END = NOT_IN_THE_ENGINE - {"textual", "rich"} | {"pydantic", "openai", "httpx", "aiohttp", "IPython"}
FRONT_ENDS = ("oi_tui.app.tui", "oi_tui.app.headless.runner", "oi_tui.app.cli")

RUN_INSIDE_THE_KERNEL = {f"app/engine/kernels/in_kernel{part}.py" for part in ("", "_background", "_figures")}
"""What another interpreter runs, beside the person's code: it imports inside functions to leave no name behind."""


WORLDS_APART = {
    "app/cli.py",
    "app/opening.py",
    "app/start.py",
    "app/subcommands/__init__.py",
    *(
        f"app/subcommands/{name}.py"
        for name in (
            "attach",
            "audit",
            "commands",
            "config",
            "doctor",
            "extract",
            "kernels",
            "logs",
            "mcp",
            "models",
            "plugins",
            "replay",
            "sessions",
            "skills",
            "theme",
            "tools",
            "trust",
            "usage",
        )
    ),
    *(f"app/subcommands/{name}.py" for name in ("session_edits", "stored", "usage")),
}
"""Modules that may import ours inside functions: each command has a world of its own, and the screen must not wait
for (nor hold) the engine's."""


AFTER_THE_FIRST_FRAME = {
    "app/tui.py": {
        *(
            f"oi_tui.app.screens.{name}"
            for name in ("confirm", "folder", "guide", "key_help", "leave_question", "palette_screen")
        ),
        *("oi_tui.app.screens.settings_desk", "oi_tui.app.commands.typed"),
    },
    "app/screens/chat.py": {
        *("oi_tui.app.screens.chat_parts", "oi_tui.app.screens.session_side"),
        *("oi_tui.widgets.keyrow", "oi_tui.widgets.welcome"),
    },
    "app/screens/session_side.py": {f"oi_tui.app.screens.{name}" for name in ("instructions_screen", "setup")},
    "app/engine/structured/answer_schema.py": {
        f"oi_tui.app.engine.structured.{name}" for name in ("bounded_validator", "normalising")
    },
    "app/engine/agent/syntax_check.py": {"oi_tui.app.engine.policy.syntax"},
    "app/engine/policy/rule_text.py": {"oi_tui.app.engine.policy.python", "oi_tui.app.engine.policy.shell"},
    "app/engine/policy/decide.py": {"oi_tui.app.engine.policy.judging"},
    "app/engine/kernels/widget_displays.py": {"oi_tui.app.engine.text.widget_text"},
    "app/engine/web/fetch_tool.py": {"oi_tui.app.engine.web.page_text"},
    "app/engine/web/web_tools.py": {f"oi_tui.app.engine.web.{name}" for name in ("search_engines", "search_tool")},
    "app/engine/text/rich_text.py": {"oi_tui.app.engine.text.html", "oi_tui.app.engine.text.html_reader"},
    "app/screens/chat_parts.py": {
        *(f"oi_tui.app.screens.{name}" for name in ("extract_desk", "kernel_screen", "plugin_desk")),
        "oi_tui.app.screens.skill_screens",
        *("oi_tui.app.screens.sessions_pane", "oi_tui.app.screens.variables_panel", "oi_tui.widgets.sessions.preview"),
    },
    "app/screens/server_screens.py": {"oi_tui.app.screens.servers_screen"},
    "app/settings/effective.py": {"oi_tui.app.engine.secrets.redaction"},
    "app/screens/timeline_pane.py": {
        f"oi_tui.app.screens.{name}" for name in ("block_actions", "undo_screen", "viewer")
    },
    "widgets/timeline/outputs/registry.py": {"oi_tui.plugins.host", "oi_tui.plugins.screen_values"},
    "app/screens/prompt_desk.py": {
        *(f"oi_tui.app.screens.{name}" for name in ("clipboard", "command_desk", "confirm", "external_editor")),
        *("oi_tui.widgets.keyrow", "oi_tui.app.commands.mentions", "oi_tui.app.commands.typed"),
    },
    "app/screens/plugin_desk.py": {
        f"oi_tui.app.screens.{name}" for name in ("plugins_screen", "tools_screen", "viewer")
    },
    "app/screens/pasting.py": {
        *("oi_tui.app.engine.text.attached", "oi_tui.widgets.keyrow"),
        *("oi_tui.app.screens.clipboard", "oi_tui.app.screens.clipboard_reading"),
    },
    "app/screens/stop_keys.py": {"oi_tui.widgets.keyrow"},
    "app/commands/registry.py": {f"oi_tui.app.commands.{name}" for name in ("macro_file", "profiles")},
    "app/commands/macro_file.py": {"oi_tui.app.engine.files.settings_edit"},
    "app/commands/macros.py": {"oi_tui.app.engine.files.settings_edit"},
    "app/engine/mcp/server.py": {f"oi_tui.app.engine.mcp.{name}" for name in ("sdk_session", "sdk_streams")},
    "app/engine/mcp/servers.py": {f"oi_tui.app.engine.mcp.{name}" for name in ("sdk_session", "logins")},
    "app/engine/trust/folder_digests.py": {
        *("oi_tui.app.engine.files.command_folder", "oi_tui.app.engine.trust.skill_files"),
    },
    "app/commands/theme_folders.py": {"oi_tui.plugins.host"},
    "app/look.py": {"oi_tui.app.screens.theme_screen", "oi_tui.app.terminal.no_color"},
    "app/screens/leaving.py": {"oi_tui.app.frontend.attaching"},
    "app/engine/files/settings_file.py": {
        *("oi_tui.app.engine.files.profile_files", "oi_tui.app.engine.files.settings_lines"),
    },
    "app/screens/settings_desk.py": {
        *("oi_tui.app.screens.profile_desk", "oi_tui.app.screens.setting_change", "oi_tui.app.screens.settings_screen"),
        "oi_tui.app.screens.key_sets",
    },
    "app/screens/key_desk.py": {f"oi_tui.app.screens.{name}" for name in ("key_control", "key_sets", "keys_screen")},
    "app/screens/prompt_completion.py": {"oi_tui.app.commands.file_index"},
    "themes/loader.py": {"oi_tui.themes.theme_file"},
    "widgets/text_box.py": {"oi_tui.widgets.completion", "oi_tui.widgets.text_edits"},
}
"""Modules that import one of ours inside a function: what it brings with it would double the way to the first frame."""


def loaded_by(module: str) -> set[str]:
    """The top-level names in `sys.modules` after a fresh interpreter imported the module."""
    program = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd="/")
    assert finished.returncode == 0, finished.stderr
    return set(finished.stdout.split())


# --- rooms


def test_the_packages_that_are_installed_are_those_on_disk() -> None:
    setuptools = PYPROJECT["tool"]["setuptools"]
    on_disk = {module_of(path) for path in sources() if path.name == "__init__.py"}
    assert set(setuptools["packages"]) == on_disk
    assert setuptools["package-dir"] == {f"oi_tui.{room}": room for room in ROOMS}


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in sources()}
    assert [name_of(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_cannot_be_imported_under_a_second_name(room: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", f"import {room}"], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert f"ImportError: import oi_tui.{room}, not {room}" in finished.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_type_checkers_find_each_room_through_a_link(room: str) -> None:
    link = ROOT / ".dev" / "oi_tui" / room
    assert os.readlink(link) == f"../../{room}"
    assert link.resolve() == ROOT / room


def test_the_version_is_written_once() -> None:
    assert version("oi-tui") == PYPROJECT["project"]["version"]
    number = re.compile(rf"""["']{re.escape(version("oi-tui"))}["']""")
    assert [name_of(path) for path in sources() if number.search(path.read_text(encoding="utf-8"))] == []


def test_modules_are_named_after_what_they_hold() -> None:
    named = {name_of(path): {path.stem, *path.relative_to(ROOT).parent.parts} for path in sources()}
    assert [name for name, parts in named.items() if parts & VAGUE_NAMES] == []


# --- arrows


def test_no_module_of_the_engine_loads_a_front_end_or_a_heavy_library() -> None:
    modules = [module_of(path) for path in sources() if path.is_relative_to(ROOT / "app" / "engine")]
    free = [module for module in modules if module not in QUARANTINE]
    assert loaded_by(", ".join(free)) & NOT_IN_THE_ENGINE == set()


@pytest.mark.parametrize("module", QUARANTINE)
def test_a_quarantined_module_defers_its_heavy_library(module: str) -> None:
    if not (ROOT / name_in_root(module)).exists():
        pytest.skip(f"there is no {module} yet")
    assert loaded_by(module) & (NOT_IN_THE_ENGINE - {"zmq"}) == set()


@pytest.mark.parametrize("module", FRONT_ENDS)
def test_a_front_end_loads_nothing_that_belongs_to_the_engine_process(module: str) -> None:
    if not (ROOT / name_in_root(module)).exists():
        pytest.skip(f"there is no {module} yet")
    assert loaded_by(module) & NOT_IN_THE_FRONT_END == set()


def test_few_arrows_lead_from_room_to_room() -> None:
    assert len(arrows()) <= 302


def name_in_root(module: str) -> str:
    return module.removeprefix("oi_tui.").replace(".", "/") + ".py"


def is_first_party(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(level=level, module=module):
            return level > 0 or (module or "").partition(".")[0] == "oi_tui"
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] == "oi_tui" for alias in names)
        case _:
            return False


def test_no_function_imports_our_own_modules() -> None:
    deferred = [
        f"{name_of(path)}: {ast.unparse(node)}"
        for path in sources()
        if name_of(path) not in WORLDS_APART
        for function in functions(tree_of(path))
        for node in nodes_of(function)
        if is_first_party(node) and getattr(node, "module", None) not in AFTER_THE_FIRST_FRAME.get(name_of(path), ())
    ]
    assert deferred == []


def test_a_deferred_import_of_a_library_says_why() -> None:
    silent = []
    for path in sources():
        text = path.read_text(encoding="utf-8").splitlines()
        if name_of(path) in RUN_INSIDE_THE_KERNEL | WORLDS_APART:
            continue
        for function in functions(tree_of(path)):
            imports = [node for node in nodes_of(function) if isinstance(node, ast.Import | ast.ImportFrom)]
            first = min((node.lineno for node in imports), default=0)
            if first and not any("#" in line for line in text[max(first - 4, 0) : first]):
                silent.append(f"{name_of(path)}:{first}")
    assert silent == []


# --- sizes


def methods_of(class_: ast.ClassDef, named: dict[str, list[ast.ClassDef]]) -> set[str]:
    """Names of its methods and of those that it has from bases of ours: an object does not get smaller by slices."""
    methods = {node.name for node in class_.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for base in class_.bases:
        ours = named.get(base.id, []) if isinstance(base, ast.Name) else []
        if len(ours) == 1:  # ambiguous otherwise
            methods |= methods_of(ours[0], named)
    return methods


def over_budget() -> Iterator[tuple[str, str]]:
    """What is too long, as (its name in the table of exceptions, the measure)."""
    named: dict[str, list[ast.ClassDef]] = {}
    for class_ in chain.from_iterable(classes(tree_of(path)) for path in sources()):
        named.setdefault(class_.name, []).append(class_)
    for path in sources():
        tree = tree_of(path)
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > MODULE_LINES:
            yield name_of(path), f"{length} lines"
        for class_ in classes(tree):
            methods = len(methods_of(class_, named))
            if methods > CLASS_METHODS:
                yield f"{name_of(path)}::{class_.name}", f"{methods} methods"
        for function in functions(tree):
            if lines(function) > FUNCTION_LINES:
                yield f"{name_of(path)}::{function.name}", f"{lines(function)} lines"


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_nothing_grows_past_its_budget() -> None:
    assert {name: size for name, size in over_budget() if name not in TOO_LONG} == {}


def test_an_exception_that_is_not_needed_any_more_goes() -> None:
    assert TOO_LONG.keys() - dict(over_budget()).keys() == set()


# --- what must not be anywhere


def test_colours_are_written_in_the_themes_only() -> None:
    colour = re.compile(r"""["' :]#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b|\brgba?\(\s*\d|\bhsla?\(\s*\d""")
    files = chain.from_iterable((ROOT / room).rglob(kind) for room in ROOMS for kind in ("*.py", "*.tcss"))
    painted = [
        f"{name_of(path)}:{number}"
        for path in sorted(files)
        if path.relative_to(ROOT).parts[0] != "themes"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if colour.search(line)
    ]
    assert painted == []


def test_what_a_checker_is_told_to_ignore_has_a_code_and_a_reason() -> None:
    ignored = re.compile(r"#\s*(type:\s*ignore|noqa)(?P<rest>.*)")
    reasoned = re.compile(r"\[[\w, -]+\]\s*#\s*\w+|:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*\s*#?\s*\S+")
    tests = sorted((ROOT / "tests").rglob("*.py"))
    bare = [
        f"{name_of(path)}:{number}"
        for path in sources() + tests
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := ignored.search(line)) and not reasoned.match(found["rest"])
    ]
    assert bare == []


def test_no_group_of_a_pattern_is_possessive() -> None:
    """Python before 3.11.5 (Debian 12 has 3.11.2) matches wrongly where there is a choice in such a group."""
    possessive = re.compile(r"\)(?:[*+?]|\{+[\d,]+\}+)\+")
    found = [
        f"{name_of(path)}:{number}"
        for path in sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if possessive.search(line)
    ]
    assert found == []


def public(nodes: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if not is_overload(node):
            yield node


def test_modules_and_what_they_offer_say_what_they_are() -> None:
    """Methods may speak for themselves: a docstring that only repeats a name tells nobody anything."""
    silent = []
    for path in sources():
        tree = tree_of(path)
        if not ast.get_docstring(tree) and path.read_text(encoding="utf-8").strip():
            silent.append(name_of(path))
        silent += [f"{name_of(path)}::{item.name}" for item in public(tree.body) if not ast.get_docstring(item)]
    assert silent == []


# --- names and words


def test_a_public_name_exists_once() -> None:
    programs = {"main"} | hook_names(EngineHooks) | hook_names(ScreenHooks)  # each script and plugin has them
    assert {
        name: places for name, places in public_definitions().items() if len(places) > 1 and name not in programs
    } == {}


def test_a_function_is_a_verb_or_the_noun_that_it_returns() -> None:
    assert participles() == []


def test_no_docstring_is_there_just_to_have_one() -> None:
    assert terse_docstrings() == []


def test_handlers_that_swallow_everything_say_why() -> None:
    silent = []
    for path in sources():
        text = path.read_text(encoding="utf-8").splitlines()
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.ExceptHandler) and is_broad(node) and not passes_on(node):
                around = text[node.lineno - 2 : node.lineno + 1]
                if not any("#" in line for line in around):
                    silent.append(f"{name_of(path)}:{node.lineno}")
    assert silent == []


def is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(re.search(r"\b(Base)?Exception\b", ast.unparse(handler.type)))


def passes_on(handler: ast.ExceptHandler) -> bool:
    """It cleans up and raises the same error again."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


# --- what is shown

DOORS = {"widgets/lettering.py", "widgets/field.py", "app/terminal/echo.py", "app/terminal/tty_prompt.py"}
"""What makes text safe on its way to the terminal; whatever else shows text, goes through these."""

FED_AS_THEY_ARE = {"DataTable", "ProgressBar", "TextArea", "Tree"}
"""Widgets of Textual's beside the doors: they take numbers, a `Text` or a document that was cleaned."""

SINKS = {"Text", "Content", "click.echo", "click.secho", "click.confirm", "click.prompt"}
"""These accept only literals and values sanitised right there."""

TITLES = {"placeholder", "tooltip", "border_title", "border_subtitle"}


def is_safe_to_show(node: ast.expr) -> bool:
    """Whether it is written out in the source, a constant, or made safe right here."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="safe_text" | "lettering")):
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return is_safe_to_show(one) and is_safe_to_show(other)
        case _:
            return False


def raw_text(tree: ast.Module) -> Iterator[ast.AST]:
    """Where a text may be shown as it is, or its square brackets be read."""
    for node in nodes_of(tree):
        match node:
            case ast.ImportFrom(module="textual.widgets", names=names):
                own = FED_AS_THEY_ARE | {"Input", "OptionList"}  # these two for the types of events
                raw = any(alias.name not in own for alias in names)
            case ast.Import(names=names):
                raw = any(alias.name.startswith(("textual.", "rich.")) for alias in names)  # and hides what is called
            case ast.Call(func=func, args=args, keywords=keywords):
                sink = ast.unparse(func)
                raw = (
                    sink in ("Input", "OptionList", "Option")
                    or sink.startswith(("Content.", "Text."))
                    or (sink in SINKS and not all(map(is_safe_to_show, args[:1])))
                    or any(k.arg in TITLES and not is_safe_to_show(k.value) for k in keywords)
                    or any(k.arg == "markup" and ast.unparse(k.value) != "False" for k in keywords)
                )
            case ast.ClassDef(bases=bases):
                raw = any(ast.unparse(base) in ("Input", "OptionList") for base in bases)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value):
                raw = name in TITLES and not is_safe_to_show(value)
            case ast.FunctionDef(name="render", returns=returns):
                raw = returns is None or ast.unparse(returns) != "Content"
            case _:
                raw = False
        if raw:
            yield node


def test_all_that_is_shown_goes_through_a_door_that_makes_it_safe() -> None:
    shown = [path for path in sources() if not name_of(path).startswith("app/engine/")]
    assert {name_of(path) for path in shown} > DOORS
    assert [
        f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        for path in shown
        if name_of(path) not in DOORS
        for node in raw_text(tree_of(path))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        *("from textual.widgets import Static", "Content(name)", "Content.styled(name, '$dim')", "Text(f'{name}')"),
        *("Content.from_markup('x')", "OptionList(name)", "Option(name)", "x.tooltip = name", "click.echo(name)"),
        *("Field(placeholder=name)", "Words(name, markup=True)", "Text('no ' + name)", "Text(name if name else '')"),
        *("class Line(Input): pass", "def render(self) -> str: return 'x'", "import textual.widgets as t"),
    ],
)
def test_a_raw_text_that_is_planted_is_found(text: str) -> None:
    assert [*raw_text(ast.parse(text))]
