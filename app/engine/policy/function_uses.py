"""Which functions a source uses, by full names: for lists of what may be called.

`pandas.read_csv` is a function of a module, `.head` a method of an unknown value, `pandas.read_csv().head` one of a
value whose origin is in the source; `shell:git` is a program, `tool:fetch_url` a tool, `kernel:ir` a kernel,
`magic:run` a magic.
"""

import ast
import builtins
import sys
from collections.abc import Iterator

from oi_tui.app.engine.policy import magics
from oi_tui.app.engine.policy.functions import FunctionUse, UnknownUse
from oi_tui.app.engine.policy.programs import inner_commands
from oi_tui.app.engine.policy.python import parse_python
from oi_tui.app.engine.policy.python_names import Aliases
from oi_tui.app.engine.policy.reading import LONGEST_SOURCE, SourceFacts
from oi_tui.app.engine.policy.risks import METHODS

_BUILTINS = frozenset(dir(builtins))
HARMLESS_BUILTINS = frozenset({
    *("abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex"),
    *("dict",),
    *("divmod", "enumerate", "filter", "float", "format", "frozenset", "hasattr", "hash", "hex", "id", "input", "int"),
    *("isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow"),
    *("print",),
    *("property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod", "classmethod"),
    *("str",),
    *("sum", "super", "tuple", "type", "zip", "Ellipsis", "NotImplemented", "__name__", "__debug__", "display"),
    *(name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)),
})  # fmt: skip
"""Names of Python's own that reach nothing, and are on every list."""

HARMLESS_METHODS = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, complex, range)
    for name in dir(kind)
    if not name.startswith("_")
)
"""Methods of Python's plain values, which reach nothing either."""

_HARMLESS_ATTRIBUTES = frozenset({"__name__", "__doc__", "__version__", "__init__", "__len__", "__file__"})
_PRELOADED = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot"}
"""Names that some kernels have without an import."""


def find_uses(language: str, source: str, reading: SourceFacts, tool: str = "") -> Iterator[FunctionUse | UnknownUse]:
    """All uses of a source, or of a call of a tool, but for what is harmless in any case."""
    if tool:
        yield FunctionUse((f"tool:{tool}",), 0)
        return
    if language not in ("python", "shell"):
        yield FunctionUse((f"kernel:{language}",), 1)
        return
    for part in reading.unread:
        yield UnknownUse(part.why, part.line)
    if language == "python":
        yield from _python_uses(source)
    for inline in reading.inline:
        yield from _python_uses(inline.text)
    for command in reading.commands:
        for one in (command, *inner_commands(command)):
            yield _program_use(one.program, one.line)


def _program_use(program: str, line: int) -> FunctionUse | UnknownUse:
    return (
        FunctionUse((f"shell:{program}",), line) if program else UnknownUse("a command that only the run tells", line)
    )


def _python_uses(source: str) -> Iterator[FunctionUse | UnknownUse]:
    if len(source) > LONGEST_SOURCE:
        yield UnknownUse("too long to be looked through", 1)
        return
    tree = parse_python(source)
    if tree is None:
        apart = magics.split_magics(source)
        for magic in apart.magics:
            word = magic.rest.lstrip("%").split()[:1]
            if magic.sign in ("%", "%%") and word and word[0] not in ("bash", "sh"):
                yield FunctionUse((f"magic:{word[0]}",), magic.line)
            elif magic.sign == ",":
                yield UnknownUse("a call without brackets", magic.line)
        tree = parse_python(apart.python)
    if tree is None:
        yield UnknownUse("no Python that can be read", 1)
        return
    yield from _TreeUses(tree).find()


class _TreeUses:
    """The uses of one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._aliases = Aliases(self._nodes)
        self._own = _own_names(self._nodes)
        self._origins = self._find_origins()

    def find(self) -> Iterator[FunctionUse | UnknownUse]:
        spoken_for: set[int] = set()
        for node in self._nodes:
            match node:
                case ast.Import(names=names):
                    yield from (FunctionUse((one.name,), node.lineno, imports=True) for one in names)
                case ast.ImportFrom(names=names):
                    module = "." * node.level + (node.module or "")
                    yield from (FunctionUse((f"{module}.{one.name}",), node.lineno, imports=True) for one in names)
                case ast.Call(func=called):
                    spoken_for.add(id(called))
                    yield from self._use(called, is_call=True)
                case ast.Attribute(value=value):
                    if isinstance(value, ast.Name | ast.Attribute):
                        spoken_for.add(id(value))
                    if node.attr.startswith("__") and node.attr not in _HARMLESS_ATTRIBUTES:
                        yield FunctionUse((f".{node.attr}",), node.lineno)
                    if id(node) not in spoken_for:
                        yield from self._use(node, is_call=False)
                case ast.Name(ctx=ast.Load()) if id(node) not in spoken_for:
                    yield from self._use(node, is_call=False)
                case _:
                    pass

    def _use(self, node: ast.expr, *, is_call: bool) -> Iterator[FunctionUse | UnknownUse]:
        """The meaning of an expression that is called, or used as a value."""
        name, line = self._aliases.full_name(node), node.lineno
        last = name.rpartition(".")[2]
        root = _root_of(node)
        if root is not None and self._is_module_or_builtin(root):
            full = _with_preloaded(name)
            if full.removeprefix("builtins.") not in HARMLESS_BUILTINS:
                method = (f".{last}",) if ")." in full else ()
                if method and last in HARMLESS_METHODS:
                    return
                yield FunctionUse((full.removeprefix("builtins."), *method), line)
            return
        if isinstance(node, ast.Attribute):
            attr = node.attr
            if attr in HARMLESS_METHODS or not (is_call or attr in METHODS):
                return
            origin = self._origins.get(root.id, "") if root is not None else ""
            chain = (
                f"{origin}{name[len(root.id) :]}" if root is not None and origin and name.startswith(root.id) else ""
            )
            yield FunctionUse((chain, f".{attr}") if chain else (f".{attr}",), line)
        elif isinstance(node, ast.Name):
            if is_call and node.id not in self._own:
                yield FunctionUse((name,), line)
        elif is_call and isinstance(node, ast.Call | ast.Subscript):
            if name and not name.startswith("()") and root is None:
                yield FunctionUse((name,), line)  # __import__("os").system
            elif isinstance(node, ast.Subscript):
                yield UnknownUse("a function that only the run tells", line)
        elif is_call and not isinstance(node, ast.Lambda):
            yield UnknownUse("a function that only the run tells", line)

    def _is_module_or_builtin(self, root: ast.Name) -> bool:
        if root.id in self._aliases.names or root.id in self._aliases.roots:
            return True
        if root.id in self._own:
            return False
        return root.id in _BUILTINS or root.id in sys.stdlib_module_names or root.id in _PRELOADED

    def _find_origins(self) -> dict[str, str]:
        """Variables that are assigned once, from a call of a library."""
        found: dict[str, str] = {}
        twice: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if node.id in found:
                    twice.add(node.id)
                found[node.id] = ""
        for node in self._nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as value) if target not in twice:
                    root = _root_of(value)
                    if root is not None and self._is_module_or_builtin(root):
                        found[target] = _with_preloaded(self._aliases.full_name(value))
                case _:
                    pass
        return found


def _root_of(node: ast.expr) -> ast.Name | None:
    """The name that a chain of fields and calls begins with."""
    while True:
        match node:
            case ast.Name():
                return node
            case ast.Attribute(value=value) | ast.Call(func=value) | ast.Subscript(value=value):
                node = value
            case _:
                return None


def _with_preloaded(name: str) -> str:
    root, dot, rest = name.partition(".")
    return f"{_PRELOADED[root]}{dot}{rest}" if root in _PRELOADED else name


def _own_names(nodes: list[ast.AST]) -> frozenset[str]:
    """What the source defines by itself. A name that Python or its library has too is its own only where it is not
    used before, as in `os = os`."""
    bound: dict[str, tuple[int, int]] = {}
    for node in nodes:
        for name, place in _bindings(node):
            bound[name] = min(place, bound.get(name, place))
    early = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in bound
        and (node.id in _BUILTINS or node.id in sys.stdlib_module_names or node.id in _PRELOADED)
        and (node.lineno, node.col_offset) < bound[node.id]
    }
    return frozenset(bound) - early


def _bindings(node: ast.AST) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names that a node binds, and from which place on they mean that."""
    match node:
        case ast.Assign(targets=targets):
            yield from _targets(targets, _end_of(node))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.NamedExpr(target=target):
            yield from _targets([target], _end_of(node))
        case ast.For(target=target, iter=before) | ast.AsyncFor(target=target, iter=before):
            yield from _targets([target], _end_of(before))
        case ast.comprehension(target=target, iter=before):
            yield from _targets([target], _end_of(before))
        case ast.withitem(context_expr=before, optional_vars=ast.expr() as target):
            yield from _targets([target], _end_of(before))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            begin = (node.body[0].lineno, node.body[0].col_offset)
            yield node.name, begin
            yield from ((one.arg, begin) for one in _arguments(node.args))
        case ast.Lambda(args=args, body=body):
            yield from ((one.arg, (body.lineno, body.col_offset)) for one in _arguments(args))
        case ast.ClassDef(name=name, body=body):
            yield name, (body[0].lineno, body[0].col_offset)
        case ast.ExceptHandler(name=str(name), body=body):
            yield name, (body[0].lineno, body[0].col_offset)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, _end_of(node)
        case _:
            pass


def _targets(targets: list[ast.expr], place: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, place


def _end_of(node: ast.expr | ast.stmt | ast.pattern) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _arguments(given: ast.arguments) -> Iterator[ast.arg]:
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from (one for one in (given.vararg, given.kwarg) if one is not None)
