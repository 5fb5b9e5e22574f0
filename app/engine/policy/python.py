"""Reads Python source: imports, calls, paths, and the shell commands within (`!ls`, `%%bash`, `os.system("…")`).

Python hides what it does from every reader that does not run it. What is found here makes labels and stricter
decisions; that nothing was found means nothing.
"""

import ast
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator

from oi_tui.app.engine.policy import magics
from oi_tui.app.engine.policy.reading import (
    LONGEST_SOURCE,
    TOO_LONG,
    NameUse,
    PathUse,
    Risk,
    ShellCommand,
    SourceFacts,
    Unread,
    Word,
    merge_facts,
    shift_lines,
)
from oi_tui.app.engine.policy.risks import (
    CALLS,
    CODE,
    EVASIONS,
    MODULES,
    NETWORK,
    SECRETS,
    STARTS,
    WRITES,
    of_name,
    risk,
)
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.policy.shell import read_shell

MANY_MAGICS = 500
"""Lines that are not Python; the shell's grammar takes its time for each."""

DYNAMIC = "a shell command that only the run tells"

_SHELL_CALLS = frozenset({"os.system", "os.popen", "asyncio.create_subprocess_shell", "subprocess.getoutput"}) | {
    "subprocess.getstatusoutput"
}
_PROCESS_CALLS = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_WORD_CALLS = re.compile(r"os\.(?:exec|spawn|posix_spawn)\w*|asyncio\.create_subprocess_exec|pty\.spawn")
_IPYTHON = re.compile(r"get_ipython\(\)\.(system|system_raw|system_piped|getoutput|getoutput_detail)")
_IPYTHON_MAGIC = re.compile(r"get_ipython\(\)\.(run_line_magic|run_cell_magic|magic|run_cell|ex|ev)")
_OPENS = frozenset({"open", "io.open", "codecs.open", "builtins.open", "os.open", "gzip.open", "bz2.open", "lzma.open"})
_ALIASED = frozenset({"open", "eval", "exec", "compile", "__import__", "getattr"})
_REACHED = frozenset({"os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "importlib", "posix", "pty"})
_URL = re.compile(r"(?:https?|ftp|s3|gs)://")
_FOREIGN = re.compile(r"[^\W\d]*[^\x00-\x7f]\w*")
_SHELL_CELLS = frozenset({"bash", "sh", "script", "system", "sx", "!"})
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun"})
_QUIET_CELLS = frozenset({"html", "markdown", "latex", "svg", "SVG", "HTML"})
_QUIET_LINES = frozenset({
    *("matplotlib", "pylab", "who", "whos", "who_ls", "pwd", "precision", "xmode", "autosave", "config", "history"),
    *("pinfo", "pinfo2", "pdoc", "psource", "psearch", "lsmagic", "magic", "quickref", "dhist", "hist", "page"),
    *("pprint", "colors", "automagic", "autocall", "logstate", "tb", "reset", "xdel", "unalias", "gui", "bookmark"),
})  # fmt: skip
_SHELL_LINES = frozenset(
    {"sx", "sc", "system", "cat", "cp", "mv", "rm", "rmdir", "mkdir", "ls", "ll", "lf", "lk", "lx"}
)
_INSTALLERS = frozenset({"pip", "conda", "mamba", "micromamba", "uv"})


def read_python(source: str) -> SourceFacts:
    """What can be told of a cell; never raises, whatever the text is."""
    if len(source) > LONGEST_SOURCE:
        return SourceFacts(unread=(Unread(TOO_LONG, 1),))
    tree = _parse(source)
    automatic = _automatic(source, tree is not None)
    if automatic is not None:
        return _of_magics((automatic,))
    if tree is not None:
        return _of_tree(tree, source)
    apart = magics.split_magics(source)
    if apart.magics and apart.magics[0].sign == "%%":
        return _of_cell(apart.magics[0], apart.body)
    found = _of_magics(apart.magics)
    tree = _parse(apart.python)
    if tree is None:
        return merge_facts(found, SourceFacts(unread=(Unread("cannot be read as Python", _wrong_line(apart.python)),)))
    return merge_facts(found, _of_tree(tree, apart.python))


def _parse(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python says of odd escapes is for whoever runs it
            return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None  # the last two: nested more deeply than Python itself reads


def _wrong_line(source: str) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, MemoryError, RecursionError):
        return 1
    return 1


# -- what is not Python -------------------------------------------------------------------------------


def _automatic(source: str, is_python: bool) -> magics.Magic | None:
    """A single line whose first word is a magic without its sign: `rm -rf x` (which may even read as Python)."""
    stripped = source.strip()
    found = None if "\n" in stripped else magics.AUTOMATIC.fullmatch(source)
    if found is None or found["name"] not in magics.UNSIGNED or (is_python and found["rest"] is None):
        return None
    return magics.Magic("%", stripped, source.count("\n", 0, source.index(stripped)) + 1)


def _of_magics(found: tuple[magics.Magic, ...]) -> SourceFacts:
    if len(found) > MANY_MAGICS:
        return SourceFacts(unread=(Unread(TOO_LONG, found[0].line),))
    return merge_facts(*(_of_magic(magic) for magic in found))


def _of_magic(magic: magics.Magic) -> SourceFacts:
    match magic.sign:
        case "!" | "!!":
            return _shell(magic.rest.lstrip("!"), magic.line)
        case "?":
            return SourceFacts()
        case "%":
            return _of_line(magic.rest.strip(), magic.line)
        case _:
            return SourceFacts(unread=(Unread("a call without brackets", magic.line),))


def _of_line(text: str, line: int) -> SourceFacts:
    name, _, rest = text.lstrip("%").partition(" ")
    if name in _QUIET_LINES:
        return SourceFacts()
    if name in _SHELL_LINES:
        return _shell(rest if name in ("sx", "sc", "system") else f"{name} {rest}", line)
    if name in _INSTALLERS:
        return _shell(f"{name} {rest}", line)
    if name in _PYTHON_CELLS:
        return shift_lines(read_python(re.sub(r"^(?:\s*-\w+(?:\s*\d+)?)+\s*", "", rest)), line - 1)
    if name in ("cd", "pushd", "popd"):
        return SourceFacts(places=(PathUse(rest.strip(), line),), moves=True)
    if name in ("env", "set_env"):
        return SourceFacts(risks=(Risk("changes the environment", line),) if rest.strip() else ())
    if name in ("run", "load", "loadpy", "rerun", "recall", "macro", "edit", "load_ext", "reload_ext"):
        return SourceFacts(risks=(risk(CODE, line),), unread=(Unread(f"%{name} runs what only the run tells", line),))
    if name in ("save", "store", "logstart", "notebook", "writefile"):
        return SourceFacts(
            risks=(Risk(WRITES, line),), places=tuple(PathUse(word, line, True) for word in rest.split())
        )
    return SourceFacts(unread=(Unread("a magic that is not known", line),))


def _of_cell(magic: magics.Magic, body: str) -> SourceFacts:
    name, _, rest = magic.rest.strip().partition(" ")
    if name in _SHELL_CELLS and not (name == "script" and rest.split()[:1] not in (["bash"], ["sh"])):
        return merge_facts(_shell(body, magic.line + 1), SourceFacts(risks=(Risk(STARTS, magic.line),)))
    if name in _PYTHON_CELLS:
        statement = _of_line(magic.rest.strip(), magic.line) if name in ("time", "timeit", "prun") else SourceFacts()
        return merge_facts(statement, shift_lines(read_python(body), magic.line))
    if name in ("writefile", "file"):
        path = rest.replace("-a ", "").strip()
        return SourceFacts(risks=(Risk(WRITES, magic.line),), places=(PathUse(path, magic.line, True),))
    if name in _QUIET_CELLS:
        return SourceFacts()
    risks = (Risk(STARTS, magic.line),)
    return SourceFacts(risks=risks, unread=(Unread("a cell of another language", magic.line),))


def _shell(text: str, line: int) -> SourceFacts:
    """Shell within Python: held to the rules of shell, and never plain."""
    reading = shift_lines(read_shell(text), line - 1)
    if re.search(r"\{[^{},]+\}|\$\w", text):  # IPython puts Python's values in before the shell sees it
        reading = reading._replace(unread=(*reading.unread, Unread(DYNAMIC, line)))
    return merge_facts(reading, SourceFacts(risks=(Risk(STARTS, line),)))


# -- what is ------------------------------------------------------------------------------------------


def _of_tree(tree: ast.Module, source: str) -> SourceFacts:
    nodes = list(ast.walk(tree))
    aliases = _Aliases(nodes)
    found = [reading for node in nodes for reading in _of_node(node, aliases)]
    return merge_facts(*found, SourceFacts(names=aliases.imported, risks=(*aliases.risks, *_disguises(source))))


def _disguises(source: str) -> Iterator[Risk]:
    """Python reads letters in their plainest form: a name need not be the one that is shown."""
    if source.isascii():
        return
    for number, text in enumerate(source.split("\n"), 1):
        if any(unicodedata.normalize("NFKC", word) != word for word in _FOREIGN.findall(text)):
            yield Risk("a name is read otherwise than it looks", number, grave=True)


class _Aliases:
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
                        full = f"{module}.{alias.name}"
                        imported.append(NameUse(full, node.lineno))
                        if alias.name == "*":
                            self._everything(module)
                        else:
                            self.names[alias.asname or alias.name] = full
                case _:
                    pass
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name() | ast.Attribute() as value):
                    full = self.full_name(value)
                    if full in CALLS or full in _ALIASED or full.partition(".")[0] in _REACHED or full in MODULES:
                        self.names[target] = full
                case _:
                    pass
        self.imported = tuple(imported)
        self.risks = tuple(risks)

    def _everything(self, module: str) -> None:
        """`from os import *`."""
        for name in CALLS:
            owner, _, short = name.rpartition(".")
            if owner == module:
                self.names[short] = name

    def full_name(self, node: ast.expr) -> str:
        """The full name of what is called: `os.remove`, `pathlib.Path().unlink`; "" where there is none."""
        parts: list[str] = []
        while True:
            match node:
                case ast.Attribute():
                    parts.append(f".{node.attr}")
                    node = node.value
                case ast.Call():
                    parts.append("()")
                    node = node.func
                case ast.Name():
                    parts.append(self.names.get(node.id, node.id))
                    return "".join(reversed(parts))
                case _:
                    return "".join(reversed(parts)) if parts else ""


def _masking_risks(module: str, alias: str, line: int) -> list[Risk]:
    if alias in sys.stdlib_module_names and alias != module.rpartition(".")[2]:
        return [Risk(f"calls {module} “{alias}”", line, grave=True)]
    return []


def _of_node(node: ast.AST, aliases: _Aliases) -> Iterator[SourceFacts]:
    match node:
        case ast.Call():
            yield from _of_call(node, aliases)
        case ast.Constant(value=str(text)) if 0 < len(text) < 1_000 and "\n" not in text:
            grave = (Risk(SECRETS, node.lineno, grave=True),) if names_secret(text) else ()
            yield SourceFacts(places=(PathUse(text, node.lineno),), risks=grave)
        case ast.Attribute(attr=attr) if attr in EVASIONS:
            yield SourceFacts(risks=(risk(CODE, node.lineno),))
        case ast.Name(id="__builtins__"):
            yield SourceFacts(risks=(risk(CODE, node.lineno),))
        case _:
            pass


def _of_call(node: ast.Call, aliases: _Aliases) -> Iterator[SourceFacts]:
    name, line = aliases.full_name(node.func), node.lineno
    if not name:
        return
    what = of_name(name)
    if name == "re.compile" or (what == CODE and name == "compile" and not node.args):
        what = ""
    yield SourceFacts(names=(NameUse(name, line, called=True),), risks=(risk(what, line),) if what else ())
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if any(_URL.match(text) for text in texts) and name != "print":
        yield SourceFacts(risks=(Risk(NETWORK, line),))
    if name in _OPENS or (name.endswith(".open") and name.startswith("pathlib.Path()")):
        yield from _read_open(node, name, line)
    if name in CALLS and what in (WRITES, "deletes files"):
        yield SourceFacts(places=tuple(PathUse(text, line, True) for text in texts))
    if name == "getattr" and node.args and aliases.full_name(node.args[0]) in _REACHED and len(texts) < 1:
        yield SourceFacts(unread=(Unread("a name that only the run tells", line),), risks=(risk(CODE, line),))
    yield from _read_process_start(node, name, line)


def _read_open(node: ast.Call, name: str, line: int) -> Iterator[SourceFacts]:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    place = 0 if name.startswith("pathlib.") else 1
    mode = keywords.get("mode", node.args[place] if len(node.args) > place else None)
    match mode:
        case None:
            writes = False
        case ast.Constant(value=str(text)):
            writes = bool(set(text) & set("wax+"))
        case _:
            writes = True  # flags, or what only the run tells
    if writes:
        match node.args:
            case [ast.Constant(value=str(path)), *_]:
                places: tuple[PathUse, ...] = (PathUse(path, line, True),)
            case _:
                places = ()
        yield SourceFacts(places=places, risks=(Risk(WRITES, line),))


def _read_process_start(node: ast.Call, name: str, line: int) -> Iterator[SourceFacts]:
    """Commands that are started from Python."""
    first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("args", "cmd")), None)
    if name in _SHELL_CALLS or _IPYTHON.fullmatch(name):
        match first:
            case ast.Constant(value=str(text)):
                yield _shell(text, line) if name.startswith("get_ipython") else read_and_move(text, line)
            case _:
                yield SourceFacts(unread=(Unread(DYNAMIC, line),), risks=(Risk(STARTS, line),))
    elif name in _PROCESS_CALLS or _WORD_CALLS.fullmatch(name):
        yield _given_words(node, first, line)
    elif _IPYTHON_MAGIC.fullmatch(name):
        texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if not texts or len(texts) < len(node.args) or "magic" not in name:
            yield SourceFacts(unread=(Unread("code that only the run tells", line),), risks=(risk(CODE, line),))
        elif "cell_magic" in name and len(texts) == 3:
            yield _of_cell(magics.Magic("%%", f"{texts[0]} {texts[1]}", line), texts[2])
        else:
            yield _of_line(" ".join(texts), line)


def _given_words(node: ast.Call, first: ast.expr | None, line: int) -> SourceFacts:
    """`subprocess.run(["rm", path])`: words one by one, as far as they stand there."""
    match first:
        case ast.Constant(value=str(text)):
            words = [word for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
            if len(words) == len(node.args) > 1:
                return _command([Word(str(word.value)) for word in words], line)
            return read_and_move(text, line)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements:
            return _command([_word(element) for element in elements], line)
        case _:
            return SourceFacts(unread=(Unread(DYNAMIC, line),))


def _word(element: ast.expr) -> Word:
    match element:
        case ast.Constant(value=str(text)):
            return Word(text)
        case _:
            return Word("", sure=False)


def _command(words: list[Word], line: int) -> SourceFacts:
    """A command of these words, through the shell's reader so that what it runs is seen too."""
    unread = () if words[0].sure else (Unread(DYNAMIC, line),)
    text = " ".join("'" + word.text.replace("'", "'\\''") + "'" if word.sure else '"$_"' for word in words)
    reading = read_and_move(text, line)
    direct = ShellCommand(words=tuple(words), line=line)
    return reading._replace(commands=(direct, *reading.commands[1:]), unread=(*unread, *reading.unread))


def read_and_move(text: str, line: int) -> SourceFacts:
    """A shell command that stands in this line."""
    return shift_lines(read_shell(text), line - 1)
