"""Reads Python source: imports, calls, paths, and the shell commands within (`!ls`, `%%bash`, `os.system("…")`).

Python hides what it does from every reader that does not run it. What is found here makes labels and stricter
decisions; that nothing was found means nothing.
"""

import ast
import re
import warnings
from collections.abc import Iterator

from oi_tui.app.engine.policy import magics
from oi_tui.app.engine.policy.python_names import HANDED_ON, REACHED, RUNS_TEXT, Aliases, constant_text, disguises
from oi_tui.app.engine.policy.python_writes import PathValues, replaced_in
from oi_tui.app.engine.policy.reading import (
    LONGEST_SOURCE,
    TOO_LONG,
    Handover,
    NameUse,
    PathUse,
    ReplacedFile,
    Risk,
    ShellCommand,
    SourceFacts,
    Unread,
    Word,
    merge_facts,
    shift_lines,
)
from oi_tui.app.engine.policy.rereading import REREADING_MAGICS, changes_reading
from oi_tui.app.engine.policy.risks import (
    CALLS,
    CODE,
    DELETES,
    EVASIONS,
    NETWORK,
    PICKLE,
    REREADS,
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

MANY_TEXTS = 50
"""Of Python within shell."""

DYNAMIC = "a shell command that only the run tells"

_SHELL_CALLS = frozenset({"os.system", "os.popen", "asyncio.create_subprocess_shell", "subprocess.getoutput"}) | {
    "subprocess.getstatusoutput"
}
_PROCESS_CALLS = frozenset(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen"))
_WORD_CALLS = re.compile(r"os\.(?:exec|spawn|posix_spawn)\w*|asyncio\.create_subprocess_exec|pty\.spawn")
_STARTS = re.compile(
    r"(?:.*\.)?(?:subprocess\.(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)"
    r"|os\.(?:system|popen|(?:exec|spawn|posix_spawn)\w*)|pty\.spawn|asyncio\.create_subprocess_\w+)"
)
"""Functions that start a process, wherever they are taken from."""
_IPYTHON = re.compile(r".+\.(system|system_raw|system_piped|getoutput|getoutput_detail)")
_IPYTHON_MAGIC = re.compile(r".+\.(run_line_magic|run_cell_magic|run_cell)|.*get_ipython\(\)\.(magic|ex|ev)")
_OF_PATHS = (".unlink", ".rmdir", ".write_text", ".write_bytes", ".touch", ".symlink_to", ".hardlink_to")
"""Methods that write what they are called on."""
_OPENS = frozenset({"open", "io.open", "codecs.open", "builtins.open", "os.open", "gzip.open", "bz2.open", "lzma.open"})
_URL = re.compile(r"(?:https?|ftp|s3|gs)://")
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
    """The reading of a cell; never raises, whatever the text is."""
    if len(source) > LONGEST_SOURCE:
        return SourceFacts(unread=(Unread(TOO_LONG, 1),))
    tree = parse_python(source)
    automatic = _automatic(source, tree is not None)
    if automatic is not None:
        return _of_magics((automatic,))
    if tree is not None:
        return _of_tree(tree, source)
    apart = magics.split_magics(source)
    if apart.magics and apart.magics[0].sign == "%%":
        return _of_cell(apart.magics[0], apart.body)
    found = _of_magics(apart.magics)
    tree = parse_python(apart.python)
    if tree is None:
        return merge_facts(found, SourceFacts(unread=(Unread("cannot be read as Python", _wrong_line(apart.python)),)))
    return merge_facts(found, _of_tree(tree, apart.python))


def add_inline_python(reading: SourceFacts) -> SourceFacts:
    """Adds the reading of the Python that its shell commands run."""
    if not reading.inline:
        return reading
    found = (shift_lines(read_python(one.text), one.line - 1) for one in reading.inline[:MANY_TEXTS])
    return merge_facts(reading, *found)


def parse_python(source: str) -> ast.Module | None:
    """The tree of a source, None if it is no Python. Never raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about odd escapes belong to the run
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


# -- text that is not Python --------------------------------------------------------------------------------


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
    if name in REREADING_MAGICS:
        unread = (Unread(f"%{name} runs what only the run tells", line),)
        return SourceFacts(risks=(risk(REREADS, line), risk(CODE, line)), unread=unread)
    if name in _SHELL_LINES:
        return _shell(rest if name in ("sx", "sc", "system") else f"{name} {rest}", line)
    if name in _INSTALLERS:
        return _shell(f"{name} {rest}", line)
    if name in _PYTHON_CELLS:
        return shift_lines(read_python(re.sub(r"^(?:\s*-\w+(?:\s*\d+)?)+\s*", "", rest)), line - 1)
    if name in ("cd", "pushd", "popd"):
        return SourceFacts(places=(PathUse(rest.strip(), line),), folders=(rest.strip(" '\""),), moves=True)
    if name in ("env", "set_env"):
        return SourceFacts(risks=(Risk("changes the environment", line),) if rest.strip() else ())
    if name in ("run", "load", "loadpy", "rerun", "recall", "macro", "edit", "load_ext", "reload_ext"):
        return SourceFacts(risks=(risk(CODE, line),), unread=(Unread(f"%{name} runs what only the run tells", line),))
    if name in ("save", "store", "logstart", "notebook", "writefile"):
        return SourceFacts(
            risks=(Risk(WRITES, line),),
            places=tuple(PathUse(word, line, True) for word in rest.split()),
            replaced=tuple(ReplacedFile(word, line) for word in rest.split() if name != "logstart"),
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
        path = re.sub(r"(?:^|\s)(?:-a|--append)(?=\s)", "", rest).strip(" '\"")
        whole = (ReplacedFile(path, magic.line),) if path == rest.strip(" '\"") else ()
        return SourceFacts((), (PathUse(path, magic.line, True),), risks=(Risk(WRITES, magic.line),), replaced=whole)
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
    aliases = Aliases(nodes)
    values = PathValues(nodes, aliases)
    found = [reading for node in nodes for reading in _of_node(node, values)]
    mentioned = _mentions(nodes, aliases)
    return merge_facts(
        *found, mentioned, SourceFacts(names=aliases.imported, risks=(*aliases.risks, *disguises(source)))
    )


def _mentions(nodes: list[ast.AST], aliases: Aliases) -> SourceFacts:
    """Names used in the source without a call: a function can be called later."""
    spoken_for: set[int] = set()
    names: dict[str, int] = {}
    handovers: list[Handover] = []
    risks: list[Risk] = []
    for node in nodes:  # a parent comes before its children
        match node:
            case ast.Call(func=called):
                spoken_for.add(id(called))
                if not (isinstance(called, ast.Name) and called.id == "getattr" and len(node.args) > 1):
                    continue
                spoken_for.add(id(node.args[0]))
            case ast.Attribute(attr="__dict__", value=ast.Name()):
                pass  # the module is handed on as a table
            case ast.Subscript(value=ast.Attribute(attr="__dict__") as table, slice=ast.Constant()):
                spoken_for.update((id(table), id(table.value)))
            case ast.Subscript(value=ast.Attribute(attr="modules") as table, slice=ast.Constant()):
                spoken_for.add(id(table))
            case ast.Attribute():
                spoken_for.add(id(node.value))
            case ast.Assign(targets=[ast.Name()], value=ast.Name() as value):
                spoken_for.add(id(value))  # an alias, which is followed
            case _:
                pass
        if not isinstance(node, ast.Attribute | ast.Name | ast.Subscript | ast.Call) or id(node) in spoken_for:
            continue
        full = aliases.full_name(node)
        names.setdefault(full, node.lineno)
        if full in CALLS:
            risks.append(risk(CALLS[full], node.lineno))
        loose = full in REACHED or full in HANDED_ON or full in ("sys.modules", "__builtins__")
        if loose or _STARTS.fullmatch(full) or CALLS.get(full) == CODE or full in RUNS_TEXT:
            handovers.append(Handover(full, node.lineno, "" if full == "open" else ast.unparse(node)))
    used = tuple(NameUse(name, line, used=True) for name, line in names.items() if name)
    return SourceFacts(names=used, handovers=tuple(handovers), risks=tuple(risks))


def _of_node(node: ast.AST, values: PathValues) -> Iterator[SourceFacts]:
    aliases = values.aliases
    if isinstance(node, ast.expr) and changes_reading(node, aliases):
        yield SourceFacts(risks=(risk(REREADS, node.lineno),))
    match node:
        case ast.Call():
            yield from _of_call(node, values)
        case ast.Constant(value=str(text)) if 0 < len(text) < 1_000 and "\n" not in text:
            grave = (Risk(SECRETS, node.lineno, grave=True),) if names_secret(text) else ()
            yield SourceFacts(places=(PathUse(text, node.lineno),), risks=grave)
        case ast.Attribute(attr=attr) if attr in EVASIONS:
            yield SourceFacts(risks=(risk(CODE, node.lineno),), handovers=(Handover(attr, node.lineno, attr),))
        case ast.BinOp(op=ast.Div()) if path := aliases.path_text(node):
            yield SourceFacts(places=(PathUse(path, node.lineno),))
        case ast.Name(id="__builtins__"):
            yield SourceFacts(risks=(risk(CODE, node.lineno),))  # as a value it is a handover too
        case _:
            pass


def _of_call(node: ast.Call, values: PathValues) -> Iterator[SourceFacts]:
    aliases = values.aliases
    name, line = aliases.full_name(node.func), node.lineno
    if not name:
        return
    if replaced := tuple(replaced_in(node, name, values)):
        yield SourceFacts(replaced=replaced)
    what = of_name(name)
    if name == "re.compile" or (what == CODE and name == "compile" and not node.args):
        what = ""
    yield SourceFacts(names=(NameUse(name, line, called=True),), risks=(risk(what, line),) if what else ())
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if name == "os.chdir":
        yield SourceFacts(moves=True, folders=tuple(one.text for arg in node.args for one in values.spell(arg)))
    if what in (CODE, PICKLE) or name in RUNS_TEXT or name.startswith(("get_ipython().", "sys.modules.")):
        yield SourceFacts(handovers=(Handover(name, line, ast.unparse(node)),))
    if any(_URL.match(text) for text in texts) and name != "print":
        yield SourceFacts(risks=(Risk(NETWORK, line),))
    if name in _OPENS or (name.endswith(".open") and name.startswith("pathlib.Path()")):
        yield from _read_open(node, name, line, aliases)
    elif what in (WRITES, DELETES):
        paths = list(node.args) if name in CALLS or not name.endswith(_OF_PATHS) else []
        if isinstance(node.func, ast.Attribute) and name not in CALLS and "Path()" in name:
            paths.append(node.func.value)
        yield _writes(paths, line, aliases, whole=name.endswith((".write_text", ".write_bytes")))
    if name == "getattr" and node.args and aliases.full_name(node.args[0]) in REACHED and len(texts) < 1:
        yield SourceFacts(unread=(Unread("a name that only the run tells", line),), risks=(risk(CODE, line),))
    yield from _read_process_start(node, name, line)


def _writes(paths: list[ast.expr], line: int, aliases: Aliases, whole: bool = False) -> SourceFacts:
    """Mark known paths as written; an unknown one may be any path that the source mentions."""
    texts = [aliases.path_text(path) for path in paths]
    unknown = (Handover("a path that only the run tells", line),) if None in texts or not texts else ()
    return SourceFacts(places=tuple(PathUse(text, line, True, whole) for text in texts if text), handovers=unknown)


def _read_open(node: ast.Call, name: str, line: int, aliases: Aliases) -> Iterator[SourceFacts]:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    place = 0 if name.startswith("pathlib.") else 1
    mode = keywords.get("mode", node.args[place] if len(node.args) > place else None)
    match mode:
        case None:
            writes = whole = False
        case ast.Constant(value=str(text)):
            writes, whole = bool(set(text) & set("wax+")), bool(set(text) & set("wx"))
        case _:
            writes, whole = True, False  # flags, or what only the run tells
    if writes:
        path = node.func.value if place == 0 and isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
        facts = _writes([path] if path is not None else [], line, aliases, whole)
        yield facts._replace(risks=(Risk(WRITES, line),))


def _read_process_start(node: ast.Call, name: str, line: int) -> Iterator[SourceFacts]:
    """Commands that are started from Python."""
    first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("args", "cmd")), None)
    if name in _SHELL_CALLS or (_IPYTHON.fullmatch(name) and node.args):
        match first if first is None else constant_text(first):
            case str(text):
                yield read_and_move(text, line) if name in _SHELL_CALLS else _shell(text, line)
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
    """`subprocess.run(["rm", path])`: words one by one, as far as they are literal."""
    match first:
        case ast.expr() if (text := constant_text(first)) is not None:
            words = [word for word in node.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
            if len(words) == len(node.args) > 1:
                return _command([Word(str(word.value)) for word in words], line)
            return read_and_move(text, line)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) if elements:
            return _command([_word(element) for element in elements], line)
        case _:
            return SourceFacts(unread=(Unread(DYNAMIC, line),))


def _word(element: ast.expr) -> Word:
    text = constant_text(element)
    return Word("", sure=False) if text is None else Word(text)


def _command(words: list[Word], line: int) -> SourceFacts:
    """A command of these words, through the shell's reader so that what it runs is seen too."""
    unread = () if words[0].sure else (Unread(DYNAMIC, line),)
    text = " ".join("'" + word.text.replace("'", "'\\''") + "'" if word.sure else '"$_"' for word in words)
    reading = read_and_move(text, line)
    direct = ShellCommand(words=tuple(words), line=line)
    return reading._replace(commands=(direct, *reading.commands[1:]), unread=(*unread, *reading.unread))


def read_and_move(text: str, line: int) -> SourceFacts:
    """A shell command in this line."""
    return shift_lines(read_shell(text), line - 1)
