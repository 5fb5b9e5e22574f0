"""Which variables a cell of Python reads and which it changes, read off its source: nothing of it is run.

What a source does by `exec`, `globals()` or a second name for the same object is not seen here; the kernel tells.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

LARGEST = 200_000
"""Characters of a source that is read."""

MOST_STEPS = 300_000
"""Names and parts of a source that are looked at: the session waits meanwhile, and it may be made to take long."""

MUTATORS = frozenset(
    """
    append extend insert pop remove clear update sort reverse add discard setdefault popitem appendleft popleft rotate
    fit partial_fit fit_transform load_state_dict train step fill resize put partition setflags shuffle write
    """.split()  # noqa: SIM905  lines of words are read faster than a column of quotations
)
"""Methods that change what they are called on."""

_TIMED_LINE = re.compile(r"^([ \t]*)%time(?:it)?[ \t]+(?!-)", re.MULTILINE)
_SHELL_LINE = re.compile(r"^([ \t]*)(?:[%!].*|([^\W\d]\w*)[ \t]*=[ \t]*[%!].*)$", re.MULTILINE)
_TORCH = re.compile(r"[a-z]\w*[a-z\d]_")
"""Methods of tensors that change them: `add_`."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*\n?")
_OF_PYTHON = frozenset({"time", "timeit", "capture", "prun"})


class _TooMuch(Exception):
    """A source that takes too long to read."""


class _Steps:
    """The work that one source may still take."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def spend(self, count: int) -> None:
        """_TooMuch if nothing is left."""
        self._left -= count
        if self._left < 0:
            raise _TooMuch


class CellNames(NamedTuple):
    """Names of the namespace that a cell uses."""

    reads: frozenset[str] = frozenset()
    """Read before the cell itself has assigned them."""
    binds: frozenset[str] = frozenset()
    """Assigned, imported, defined or deleted."""
    mutates: frozenset[str] = frozenset()
    """Changed in place: `df["a"] = 1`, `rows.append(1)`."""
    imports: frozenset[str] = frozenset()
    """Those of `binds` that are only imported: the same again when the cell is run again."""
    behind: Mapping[str, frozenset[str]] = {}
    """By each function or class that is defined: names that it reads when it is called."""
    calls: bool = False
    """Whether it calls anything, which may change names in ways that cannot be read."""


def name_use(source: str) -> CellNames:
    """The use of names in a cell. Of what cannot be read, or not in time, only that it may have changed anything."""
    if len(source) > LARGEST:
        return CellNames(calls=True)
    if (magic := _CELL_MAGIC.match(source)) is not None:
        if magic[1] not in _OF_PYTHON:
            return CellNames()
        source = source[magic.end() :]
    timed = _TIMED_LINE.sub(r"\1", source)
    plain = _SHELL_LINE.sub(lambda line: f"{line[1]}{line[2]} = 0" if line[2] else f"{line[1]}pass", timed)
    try:
        tree = ast.parse(plain)
        reader = _Reader(_Steps())
        reader.read(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _TooMuch):
        return CellNames(calls=True)
    return CellNames(
        reads=frozenset(reader.reads),
        binds=frozenset(reader.binds),
        mutates=frozenset(reader.mutates),
        imports=frozenset(reader.imported - reader.assigned),
        behind=reader.behind,
        calls=any(isinstance(node, ast.Call) for node in ast.walk(tree)) or plain != source,
    )


class _Reader(ast.NodeVisitor):
    """Goes through statements in the order in which they run."""

    def __init__(self, steps: _Steps, local: Iterable[str] = ()) -> None:
        """`local` are names of a scope within the cell."""
        self._steps = steps
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.mutates: set[str] = set()
        self.imported: set[str] = set()
        self.assigned: set[str] = set()
        self.behind: dict[str, frozenset[str]] = {}
        self._local = set(local)
        self._known: set[str] = set()
        """What the cell has certainly assigned by now."""

    def read(self, nodes: Iterable[ast.AST]) -> None:
        """Each of these, in order."""
        for node in nodes:
            self.visit(node)

    # -- names -------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._load(node.id)
        else:
            self._bind(node.id)

    def _load(self, name: str) -> None:
        behind = self.behind.get(name, ())
        self._steps.spend(1 + len(behind))
        for read in (name, *behind):  # code that names a function may call it
            if read not in self._local and read not in self._known:
                self.reads.add(read)

    def _bind(self, name: str, *, imported: bool = False) -> None:
        if name not in self._local:
            self.binds.add(name)
            (self.imported if imported else self.assigned).add(name)
            self._known.add(name)

    def _mutate(self, node: ast.expr) -> None:
        """The name at the root of `a.b[0].c`, if there is one."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id not in self._local:
            self.mutates.add(node.id)

    # -- statements --------------------------------------------------------------------------------

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._load(target.id)
            self.visit(target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.read([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self._load(node.target.id)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.read([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.read([node.value, node.target])

    def visit_Attribute(self, node: ast.Attribute | ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._mutate(node)
        self.generic_visit(node)

    visit_Subscript = visit_Attribute

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and (
            node.func.attr in MUTATORS or _TORCH.fullmatch(node.func.attr) or any(map(_is_in_place, node.keywords))
        ):
            self._mutate(node.func.value)

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._bind(name.asname or name.name.partition(".")[0], imported=True)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            if name.name != "*":
                self._bind(name.asname or name.name, imported=True)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.read([node.iter, node.target])
        self._branches(node.body, node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._branches(node.body, node.orelse)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._branches(node.body, node.orelse, every=bool(node.orelse))

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        handlers: list[list[ast.AST]] = []
        for handler in node.handlers:
            names = [ast.Name(handler.name, ast.Store())] if handler.name else []
            handlers.append([*filter(None, [handler.type]), *names, *handler.body])
        self._branches([*node.body, *node.orelse], *handlers, every=True)
        self.read(node.finalbody)

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                    self._bind(part.name)
                elif isinstance(part, ast.MatchMapping) and part.rest:
                    self._bind(part.rest)
                elif isinstance(part, ast.expr):
                    self.visit(part)
        self._branches(*([*filter(None, [case.guard]), *case.body] for case in node.cases))

    def _branches(self, *branches: Iterable[ast.AST], every: bool = False) -> None:
        """Of which one may run: what each of them assigns is known afterwards if `every` way is among them."""
        before, after = self._known, []
        for branch in branches:
            self._steps.spend(len(before))
            self._known = set(before)
            self.read(branch)
            after.append(self._known)
        self._known = set.intersection(*after) if every and after else before

    # -- scopes ------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.read([*node.decorator_list, *_defaults(node.args), *_annotations(node)])
        self.behind[node.name] = _free_names(node, self._steps)
        self._bind(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.read(_defaults(node.args))
        for name in _free_names(node, self._steps):  # it may be called at once
            self._load(name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.read([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)])
        inner = _Reader(self._steps)
        inner.read(node.body)
        for name in inner.reads:
            self._load(name)
        self.behind[node.name] = frozenset().union(*inner.behind.values()) - {node.name}
        self._bind(node.name)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        targets = node.generators
        names = {
            name.id
            for part in targets
            for name in ast.walk(part.target)
            if isinstance(name, ast.Name) and name.id not in self._local
        }
        self.visit(targets[0].iter)
        self._local |= names
        self.read(part.iter for part in targets[1:])
        self.read(test for part in targets for test in part.ifs)
        self.read([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._local -= names

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp


def _free_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, steps: _Steps) -> frozenset[str]:
    """Names that a function reads from outside when it is called, also in what is defined within it."""
    args = node.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    inner = _Reader(steps, (arg.arg for arg in given))
    inner.read(body)
    outer: set[str] = set()
    for part in body:
        for at in ast.walk(part):
            steps.spend(1)
            if isinstance(at, ast.Global):
                outer.update(at.names)
    steps.spend(sum(map(len, inner.behind.values())))
    behind = frozenset().union(*inner.behind.values())
    return frozenset((inner.reads | behind) - (inner.binds - outer) - {arg.arg for arg in given})


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [*(arg.annotation for arg in given if arg.annotation is not None), *filter(None, [node.returns])]


def _is_in_place(keyword: ast.keyword) -> bool:
    """Whether it is `inplace=True`, as methods of pandas have it."""
    return keyword.arg == "inplace" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
