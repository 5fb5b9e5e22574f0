"""What a name in Python source refers to: imports, aliases, constant `getattr`, modules by their names as text.

Constant texts and paths are joined: `"a" + "b"`, `Path("a") / "b"`, `os.path.join("a", "b")`.
"""

import ast
import re
import sys
import unicodedata
from collections.abc import Iterator

from oi_tui.app.engine.policy.reading import NameUse, Risk
from oi_tui.app.engine.policy.risks import CALLS, MODULES

HANDED_ON = frozenset({"open", "eval", "exec", "compile", "__import__", "getattr", "get_ipython", "vars", "globals"})
"""Names of Python's own whose aliases are followed."""

REACHED = frozenset({"os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "importlib", "posix", "pty"})
"""Modules through which everything can be reached."""

_FOREIGN = re.compile(r"[^\W\d]*[^\x00-\x7f]\w*")
_IMPORTS = ("__import__", "import_module")
_PATHS = frozenset({"Path", "PurePath", "PosixPath", "PurePosixPath", "expanduser", "abspath", "realpath", "fspath"})
_SAME_PATH = frozenset({"resolve", "absolute", "expanduser", "as_posix"})
_THROUGH = re.compile(r"(?:.+\.)?_{0,2}(os|subprocess|shutil|builtins|sys|importlib|posix|pty)_{0,2}\.")
"""`pathlib.os.remove`, `tempfile._os.remove`: a module has those that it imports itself."""
RUNS_TEXT = frozenset({
    *("code.InteractiveInterpreter", "code.InteractiveConsole", "types.FunctionType", "types.CodeType", "bdb.Bdb"),
    *("timeit.timeit", "timeit.repeat", "timeit.Timer", "cProfile.run", "cProfile.runctx", "profile.run", "pdb.run"),
    *("pdb.runeval", "pdb.runcall", "trace.Trace", "doctest.testfile", "ctypes.PyDLL", "ctypes.cdll.LoadLibrary"),
    *("importlib.util.module_from_spec", "importlib.util.spec_from_file_location", "cffi.FFI", "os.startfile"),
    *("unittest.main", "venv.create", "zipimport.zipimporter", "site.addsitedir", "pkgutil.resolve_name"),
})  # fmt: skip
"""Calls that run text or files as code, beside those that are labelled so."""
_STARTERS = ("run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput")
_LONGEST_CHAIN = 60
"""Parts of a name, and of a path; what is longer says nothing."""


def disguises(source: str) -> Iterator[Risk]:
    """Python reads letters in their plainest form: a name need not be the one that is shown."""
    if source.isascii():
        return
    for number, text in enumerate(source.split("\n"), 1):
        if any(unicodedata.normalize("NFKC", word) != word for word in _FOREIGN.findall(text)):
            yield Risk("a name is read otherwise than it looks", number, grave=True)


class Aliases:
    """Which name of the source is which name of a library."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self.names: dict[str, str] = {}
        imported: list[NameUse] = []
        risks: list[Risk] = []
        for node in nodes:
            match node:
                case ast.Import():
                    for alias in node.names:
                        imported.append(NameUse(alias.name, node.lineno))
                        if alias.asname:
                            self.names[alias.asname] = alias.name
                            risks += _masking_risks(alias.name, alias.asname, node.lineno)
                case ast.ImportFrom():
                    module = "." * node.level + (node.module or "")
                    for alias in node.names:
                        full = _canonical(f"{module}.{alias.name}")
                        imported.append(NameUse(full, node.lineno))
                        if alias.name == "*":
                            self._everything(module)
                        elif alias.name.strip("_") in REACHED:
                            self.names[alias.asname or alias.name] = alias.name.strip("_")
                        else:
                            self.names[alias.asname or alias.name] = full
                case _:
                    pass
        self.imported = tuple(imported)
        self.roots = frozenset(name.name.lstrip(".").partition(".")[0] for name in imported)
        for node in nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=target)], value=value)
                    | ast.NamedExpr(target=ast.Name(id=target), value=value)
                    | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                ):
                    full = self.full_name(value)
                    root = full.partition(".")[0]
                    if (
                        full in CALLS
                        or full in HANDED_ON
                        or root in REACHED
                        or full in MODULES
                        or "get_ipython" in full
                    ):
                        self.names[target] = full
                case _:
                    pass
        self.risks = tuple(risks)

    def _everything(self, module: str) -> None:
        """`from os import *`."""
        for name in CALLS:
            owner, _, short = name.rpartition(".")
            if owner == module:
                self.names[short] = name
        if module == "subprocess":
            self.names |= {name: f"subprocess.{name}" for name in _STARTERS}

    def full_name(self, node: ast.expr) -> str:
        """The full name of what is called: `os.remove`, `pathlib.Path().unlink`; "" where there is none."""
        name = self._chain(node)
        root, _, last = name.rpartition(".")
        if last.strip("_") in REACHED and root.partition(".")[0] in self.roots:
            return last.strip("_")  # `glob.os` is a module; what has such a field may be anything
        return _canonical(name)

    def _chain(self, node: ast.expr) -> str:
        parts: list[str] = []
        for _ in range(_LONGEST_CHAIN):
            match node:
                case ast.Attribute(attr="__dict__"):
                    node = node.value
                case ast.Attribute():
                    parts.append(f".{node.attr}")
                    node = node.value
                case ast.Subscript(
                    value=ast.Attribute(attr="__dict__", value=owner), slice=ast.Constant(value=str(name))
                ):
                    parts.append(f".{name}")
                    node = owner
                case ast.Subscript(
                    value=ast.Attribute() | ast.Name() as table, slice=ast.Constant(value=str(name))
                ) if self._chain(table) == "sys.modules":
                    return "".join((name, *reversed(parts)))  # sys.modules["os"]
                case ast.Subscript(value=ast.Call(func=called, args=args), slice=ast.Constant(value=str(name))):
                    if self.full_name(called) not in ("vars", "globals", "locals"):
                        return "".join(reversed(parts))
                    if not args:
                        return "".join((self.names.get(name, name), *reversed(parts)))
                    parts.append(f".{name}")
                    node = args[0]
                case ast.Call(func=ast.Name() as called, args=[owner, name, *_]) if self._is(called, "getattr"):
                    if (text := constant_text(name)) is None:
                        parts.append("()")
                        node = called
                    else:
                        parts.append(f".{text}")
                        node = owner
                case ast.Call(func=called, args=[name, *_]) if (
                    text := constant_text(name)
                ) is not None and self.full_name(called).endswith(_IMPORTS):
                    return "".join((text, *reversed(parts)))
                case ast.Call():
                    parts.append("()")
                    node = node.func
                case ast.NamedExpr(value=value):
                    node = value
                case ast.Name():
                    parts.append(self.names.get(node.id, node.id))
                    return "".join(reversed(parts))
                case _:
                    return "".join(reversed(parts)) if parts else ""
        return "".join(reversed(parts))

    def _is(self, node: ast.Name, name: str) -> bool:
        return self.names.get(node.id, node.id) == name

    def path_text(self, node: ast.expr, depth: int = 0) -> str | None:
        """The path that an expression spells: `Path("a") / "b"` is `a/b`; None if it is not known before the run."""
        if depth > _LONGEST_CHAIN:
            return None
        match node:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join([left, right], depth)
            case ast.Call(func=called, args=args) if args:
                last = self.full_name(called).rpartition(".")[2]
                if last in _PATHS or last == "join":
                    return self._join(args, depth)
                if last == "joinpath" and isinstance(called, ast.Attribute):
                    return self._join([called.value, *args], depth)
                return None
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in _SAME_PATH:
                return self.path_text(value, depth + 1)
            case ast.Call(func=ast.Attribute(attr="cwd")):
                return "."
            case ast.Call(func=ast.Attribute(attr="home")):
                return "~"
            case _:
                return constant_text(node)

    def _join(self, parts: list[ast.expr], depth: int) -> str | None:
        texts = [self.path_text(part, depth + 1) for part in parts]
        return None if None in texts else "/".join(text for text in texts if text)


def _canonical(name: str) -> str:
    """The same name without the modules that it is reached through."""
    found = _THROUGH.match(name)
    if found is None:
        return name
    return f"{'os' if found[1] == 'posix' else found[1]}.{name[found.end() :]}"


def constant_text(node: ast.expr, depth: int = 0) -> str | None:
    """The text that an expression spells, None if it is not known before the run."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(data)):
            return data.decode(errors="replace")
        case ast.BinOp(left=left, op=ast.Add(), right=right) if depth < _LONGEST_CHAIN:
            texts = constant_text(left, depth + 1), constant_text(right, depth + 1)
            return None if texts[0] is None or texts[1] is None else texts[0] + texts[1]
        case ast.JoinedStr(values=values) if all(isinstance(value, ast.Constant) for value in values):
            return "".join(str(value.value) for value in values if isinstance(value, ast.Constant))
        case _:
            return None


def _masking_risks(module: str, alias: str, line: int) -> list[Risk]:
    if alias in sys.stdlib_module_names and alias != module.rpartition(".")[2]:
        return [Risk(f"calls {module} “{alias}”", line, grave=True)]
    return []
