"""The house in figures: sizes, arrows between rooms, names and words, read from the syntax tree.

`make house` prints them. tests/test_architecture.py holds some of them.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "widgets", "themes", "plugins")

Function = ast.FunctionDef | ast.AsyncFunctionDef

IRREGULAR = frozenset(
    re.findall(
        r"\w+",
        """begun been bound broken brought built caught chosen come done drawn driven fallen felt found forgotten
    given gone grown heard held hidden kept known laid learnt led left lost made meant met paid ridden risen said seen
    sent shown slept sold spent spoken stood sunk sworn taken taught told thought thrown torn understood woken won worn
    written""",
    )
)
"""Past participles without -ed; those that are verbs as well (run, put, set, cut, read) are left out."""

NO_PARTICIPLES = frozenset(("feed", "need", "embed", "shed", "speed", "seed", "proceed", "exceed", "succeed"))
"""Words in -ed that are verbs or nouns."""


def sources() -> list[Path]:
    """All modules that are shipped, sorted by path."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    """Path below the repository, with slashes: `app/engine/core/blocks.py`."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """Dotted name for imports: `oi_tui.app.engine.core.blocks`."""
    return ".".join(("oi_tui", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


@cache
def tree_of(path: Path) -> ast.Module:
    """Syntax tree of a module, read once."""
    return ast.parse(path.read_text(encoding="utf-8"), name_of(path))


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, walked once."""
    return tuple(ast.walk(tree))


def functions(tree: ast.AST) -> Iterator[Function]:
    """Functions and methods, nested ones too."""
    return (node for node in nodes_of(tree) if isinstance(node, Function))


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    """Classes, nested ones too."""
    return (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef))


# --- arrows


def room_of(module: str) -> str:
    """The folder of a module: `app.engine.core`; a package is its own."""
    path = ROOT.joinpath(*module.removeprefix("oi_tui.").split("."))
    folder = path if path.is_dir() else path.parent
    return ".".join(folder.relative_to(ROOT).parts)


@cache
def _modules() -> frozenset[str]:
    return frozenset(module_of(source) for source in sources())


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names of our own modules that a module imports, wherever in it."""
    modules = _modules()
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oi_tui"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


@cache
def arrows() -> Counter[tuple[str, str]]:
    """From room to room: how many imports there are. A room that holds rooms counts as one of its own."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sources():
        here = room_of(module_of(path))
        for module in set(imports_of(path)):
            there = room_of(module)
            if there != here:
                found[here, there] += 1
    return found


# --- sizes


def chain_methods() -> dict[str, int]:
    """Methods of each class and of its bases that are ours: what one object of it can do beyond its library's."""
    found = {
        node.name: (path, node) for path in sources() for node in tree_of(path).body if isinstance(node, ast.ClassDef)
    }

    def methods(name: str, seen: frozenset[str]) -> set[str]:
        if name not in found or name in seen:
            return set()
        node = found[name][1]
        own = {item.name for item in node.body if isinstance(item, Function)}
        return own.union(*(methods(ast.unparse(base).split("[")[0], seen | {name}) for base in node.bases))

    return {f"{name_of(path)}::{name}": len(methods(name, frozenset())) for name, (path, _) in found.items()}


# --- names and words


def public_definitions() -> dict[str, list[str]]:
    """Public classes and functions on the top level of modules: name to the modules that define it."""
    found = defaultdict(list)
    for path in sources():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef | Function) and not (node.name.startswith("_") or is_overload(node)):
                found[node.name].append(name_of(path))
    return dict(found)


def is_overload(node: ast.ClassDef | Function) -> bool:
    """Whether this only says another type of a function that follows."""
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list)


def is_participle(name: str) -> bool:
    """Whether a function is named by one past participle alone, such as `told` or `_settled`."""
    word = name.strip("_")
    if "_" in word or word in NO_PARTICIPLES:
        return False
    return word in IRREGULAR or bool(re.fullmatch(r"[a-z]{2,}ed", word))


def participles() -> list[str]:
    """Functions and methods that are named so: `path:line name`."""
    return [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in sources()
        for node in functions(tree_of(path))
        if is_participle(node.name)
    ]


def terse_docstrings() -> list[str]:
    """Docstrings of at most three words: `path:line text`."""
    return [
        f"{name_of(path)}:{node.lineno} {text}"
        for path in sources()
        for node in (*functions(tree_of(path)), *classes(tree_of(path)))
        if (text := ast.get_docstring(node)) and len(text.split()) <= 3
    ]


def main() -> None:
    """Print the figures, one a line."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    definitions = public_definitions()
    twice = {name: places for name, places in definitions.items() if len(places) > 1}
    methods = chain_methods()
    figures = {
        "lines of source": sum(lines.values()),
        "lines of tests": tests,
        "modules": len(lines),
        "modules over 400 lines": sum(count > 400 for count in lines.values()),
        "rooms": len({room_of(module_of(path)) for path in lines}),
        "arrows between rooms": len(arrows()),
        "classes with over 25 methods, our bases counted": sum(count > 25 for count in methods.values()),
        "functions": sum(1 for path in lines for _ in functions(tree_of(path))),
        "public names defined more than once": len(twice),
        "functions named by a participle": len(participles()),
        "docstrings of three words or fewer": len(terse_docstrings()),
    }
    for label, figure in figures.items():
        print(f"{figure:>7,}  {label}")
    print(
        "\nlargest modules:",
        *(f"{count} {name_of(path)}" for path, count in sorted(lines.items(), key=lambda item: -item[1])[:5]),
        sep="\n  ",
    )
    print(
        "largest classes:",
        *(f"{count} {name}" for name, count in sorted(methods.items(), key=lambda item: -item[1])[:5]),
        sep="\n  ",
    )


if __name__ == "__main__":
    main()
