"""Which files Python source overwrites: `open(p, "w")`, `Path(p).write_text(…)`, `df.to_csv(p)`, `shutil.copy(a, p)`.

A path counts where the source spells it, itself or by a name that is given it: `out = "a.csv"`, `for p in
Path("src").glob("*.py")`. A path that is computed in another way is known only when the code runs, and is left out.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

from oi_tui.app.engine.policy.overwrites import LONGEST, SPELLINGS, Spelling
from oi_tui.app.engine.policy.python_names import Aliases
from oi_tui.app.engine.policy.reading import ReplacedFile

_DEPTH = 12
"""Parts of a path, and names of names, that are followed."""

_TO_SECOND: dict[str, bool] = {
    **dict.fromkeys(("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename"), False),
    **dict.fromkeys(("os.renames", "os.replace", "urllib.request.urlretrieve"), False),
    "shutil.copytree": True,
}
"""What is written by its second argument, from the first; True with all that is beneath."""

_SECOND = frozenset({"torch.save", "joblib.dump", "cv2.imencode", "torchvision.utils.save_image"})
_FIRST = frozenset({
    *("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "np.save", "np.savez", "np.savetxt"),
    *("np.savez_compressed", "imageio.imwrite", "cv2.imwrite", "plt.savefig", "matplotlib.pyplot.savefig"),
    *("plt.imsave", "matplotlib.pyplot.imsave", "pandas.ExcelWriter", "pd.ExcelWriter", "fileinput.input"),
})  # fmt: skip
_METHODS = re.compile(
    r"(?:to|save|sink|export|write)_\w+|save|savefig|savetxt|imsave|imwrite|tofile|urlretrieve|download_file|dump"
)
"""Methods that write to the path that is their first text, whatever they are called on."""
_NO_PATH = frozenset({"write_text", "write_bytes", "to_numeric", "to_datetime", "to_dict", "to_list", "to_string"})
_ENDINGS = {"numpy.save": ".npy", "np.save": ".npy", "numpy.savez": ".npz", "np.savez": ".npz"}
_PATH_KEYWORDS = frozenset({
    *("path", "path_or_buf", "path_or_buffer", "fname", "filename", "file", "dst", "excel_writer", "buf", "fp", "f"),
    *("out", "uri", "dest", "destination"),
})  # fmt: skip
_ANEW = re.compile(r"[rbt]*w[bt+]*(?::\w+)?")
"""Modes by which a file begins empty."""
_NAMED = frozenset({"glob", "rglob", "iglob"})


_STEPS = 10_000
"""Expressions that are looked at for one source."""


class PathValues:
    """The texts assigned to the names of a source, as far as they are constant."""

    def __init__(self, nodes: list[ast.AST], aliases: Aliases) -> None:
        self.aliases = aliases
        self._given: dict[str, list[ast.expr]] = {}
        self._spelled: dict[str, tuple[Spelling, ...]] = {}
        self._steps = _STEPS
        for node in nodes:
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._give(target, value)
                case (
                    ast.NamedExpr(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    self._give(target, value)
                case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
                    self._give_each(target, items)
                case _:
                    pass

    def _give(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self._given.setdefault(name, []).append(value)
            case ((ast.Tuple(elts=names) | ast.List(elts=names)), (ast.Tuple(elts=values) | ast.List(elts=values))):
                for one, given in zip(names, values, strict=False):
                    self._give(one, given)
            case _:
                pass

    def _give_each(self, target: ast.expr, items: ast.expr) -> None:
        match items:
            case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
                for value in values:
                    self._give(target, value)
            case ast.Call(func=ast.Name(id="sorted" | "list" | "tuple" | "set" | "reversed"), args=[inner, *_]):
                self._give_each(target, inner)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                match target:
                    case ast.Tuple(elts=[_, one]):
                        self._give_each(one, inner)
                    case _:
                        pass
            case _:
                self._give(target, items)

    def spell(self, node: ast.expr, depth: int = 0) -> Sequence[Spelling]:
        """The paths that the expression may be; none if unknown."""
        self._steps -= 1
        if depth > _DEPTH or self._steps < 0:
            return ()
        if (text := self.aliases.path_text(node)) is not None:
            return (Spelling(text),)
        match node:
            case ast.Name(id=name):
                if name not in self._spelled:
                    self._spelled[name] = ()  # a name that refers to itself has no value
                    found = (one for value in self._given.get(name, ()) for one in self.spell(value, depth + 1))
                    self._spelled[name] = tuple(dict.fromkeys(islice(found, SPELLINGS)))
                return self._spelled[name]
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join((left, right), "/", depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join((left, right), "", depth)
            case ast.JoinedStr(values=values):
                return self._join(tuple(values), "", depth)
            case ast.FormattedValue(value=value, format_spec=None):
                return self.spell(value, depth + 1)
            case ast.Call(func=func, args=args):
                return self._of_call(func, args, depth)
            case ast.List(elts=values) | ast.Tuple(elts=values):
                return tuple(islice((one for value in values for one in self.spell(value, depth + 1)), SPELLINGS))
            case _:
                return ()

    def _of_call(self, func: ast.expr, args: list[ast.expr], depth: int) -> Sequence[Spelling]:
        name = self.aliases.full_name(func)
        last = name.rpartition(".")[2]
        match func:
            case _ if last in _NAMED and name in ("glob.glob", "glob.iglob", "glob", "iglob") and args:
                return [one._replace(pattern=True) for one in self.spell(args[0], depth + 1)]
            case ast.Attribute(value=owner) if last in _NAMED and args:
                start = [*self.spell(owner, depth + 1)]
                deep = "**/" if last == "rglob" else ""
                rest = self.spell(args[0], depth + 1)
                return [Spelling(f"{a.text}/{deep}{b.text}", True) for a in start for b in rest][:SPELLINGS]
            case ast.Attribute(value=owner) if last in ("resolve", "absolute", "expanduser", "as_posix", "strip"):
                return self.spell(owner, depth + 1)
            case ast.Attribute(value=owner) if last == "joinpath":
                return self._join((owner, *args), "/", depth)
            case _ if last in ("Path", "PurePath", "join", "str", "fspath", "abspath", "realpath", "sorted", "list"):
                return self._join(tuple(args), "/", depth) if args else ()
            case _:
                return ()

    def _join(self, parts: tuple[ast.expr, ...], sign: str, depth: int) -> Sequence[Spelling]:
        spelled = [self.spell(part, depth + 1) for part in parts[:_DEPTH]]
        found = (
            Spelling(sign.join(one.text for one in chosen), any(one.pattern for one in chosen))
            for chosen in islice(product(*spelled), SPELLINGS)
        )
        return [one for one in found if len(one.text) <= LONGEST]


def replaced_in(node: ast.Call, name: str, values: PathValues) -> Iterator[ReplacedFile]:
    """The files that this call overwrites; `name` is the full name of the function."""
    for target, source, tree in _targets(node, name):
        for one in values.spell(target):
            for origin in (values.spell(source) if source is not None else ()) or (Spelling(""),):
                if one.text and len(one.text) <= LONGEST and "\n" not in one.text:
                    has_wildcard = one.pattern or origin.pattern
                    moved = source is not None and "copy" not in name
                    yield ReplacedFile(one.text, node.lineno, has_wildcard, origin.text, tree, moved)
                    if (ending := _ENDINGS.get(name, "")) and not one.text.endswith(ending):
                        yield ReplacedFile(one.text + ending, node.lineno, has_wildcard)


def _targets(node: ast.Call, name: str) -> Iterator[tuple[ast.expr, ast.expr | None, bool]]:
    args, keywords = node.args, {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    method = name.rpartition(".")[2]
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    named = next((value for key, value in keywords.items() if key in _PATH_KEYWORDS), None) if keywords else None
    if name in _TO_SECOND:
        source = args[0] if args else keywords.get("src")
        target = args[1] if len(args) > 1 else named
        if target is not None:
            yield target, source, _TO_SECOND[name]
    elif name in _SECOND:
        if (target := args[1] if len(args) > 1 else named) is not None:
            yield target, None, False
    elif name in _FIRST:
        if (name != "fileinput.input" or _is_true(keywords.get("inplace"))) and (args or named is not None):
            yield args[0] if args else named or node, None, False
    elif method in ("write_text", "write_bytes") and owner is not None:
        yield owner, None, False
    elif method in ("rename", "replace") and owner is not None and len(args) == 1 and not keywords:
        yield args[0], owner, False
    elif name == "os.open":
        if len(args) > 1 and "O_TRUNC" in ast.unparse(args[1]):
            yield args[0], None, False
    elif _begins_empty(args, keywords, method):
        own = method == "open" and owner is not None and _is_mode(next(iter(args), None))
        place = owner if own else args[0] if args else named if named is not None else owner
        if place is not None:
            yield place, None, False
    elif method not in _NO_PATH and "." in name and _METHODS.fullmatch(method):
        yield from ((value, None, False) for value in (*args[:1], *([] if named is None else [named])))


def _begins_empty(args: list[ast.expr], keywords: dict[str, ast.expr], method: str) -> bool:
    """Whether it opens a file by a mode that empties it: `open(p, "w")`, `ZipFile(p, mode="w")`, `p.open("w")`."""
    if _is_mode(keywords.get("mode")) or (len(args) > 1 and _is_mode(args[1])):
        return True
    return method == "open" and len(args) >= 1 and _is_mode(args[0])


def _is_mode(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _ANEW.fullmatch(node.value) is not None


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)
