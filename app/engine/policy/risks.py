"""Labels: what a source does, in plain words and with the lines; and which names of Python libraries do what."""

from collections.abc import Iterable

from oi_tui.app.engine.policy.reading import Risk, SourceFacts

SHOWN = 6
"""Labels at most; the rest is counted."""

_LINES = 3
"""Line numbers of one label at most."""

_ORDER = (
    *("changes how later code is read", "runs without a sandbox", "asks for more rights", "names a place of secrets"),
    *("changes disks", "deletes files", "runs text as code", "network", "installs packages", "starts a process"),
    *("ends processes", "changes who may use files", "unpickles data", "writes files"),
)

DELETES, WRITES, NETWORK, STARTS = "deletes files", "writes files", "network", "starts a process"
SECRETS, EXPOSED = "names a place of secrets", "runs without a sandbox"
FOREIGN = "brings in what others wrote"
MAY_DESTROY, MAY_CHANGE = "may change or delete files or data", "may change files or data"
CHANGES = frozenset({MAY_DESTROY, MAY_CHANGE})
"""What calls of tools say that do more than read."""
RUNS_LATER = "changes a file that other programs run or obey later"
DECEIVES = "writes hidden or deceiving characters"
ENDS, RIGHTS, CODE, PICKLE, PERMISSIONS = (
    *("ends processes", "asks for more rights", "runs text as code", "unpickles data", "changes who may use files"),
)
REREADS = "changes how later code is read"
GRAVE = frozenset({CODE, RIGHTS, REREADS})


def _table(what: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), what)


CALLS: dict[str, str] = (
    _table(DELETES, "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree os.truncate")
    | _table(WRITES, "os.rename os.renames os.replace os.mkdir os.makedirs os.link os.symlink shutil.copy")
    | _table(WRITES, "shutil.copy2 shutil.copyfile shutil.copytree shutil.move shutil.make_archive")
    | _table(WRITES, "shutil.unpack_archive os.mkfifo")
    | _table(
        WRITES, "numpy.save numpy.savez numpy.savez_compressed numpy.savetxt joblib.dump torch.save imageio.imwrite"
    )
    | _table(WRITES, "matplotlib.pyplot.savefig plt.savefig np.save np.savetxt np.savez cv2.imwrite")
    | _table(STARTS, "os.system os.popen os.fork os.forkpty os.posix_spawn os.posix_spawnp pty.spawn os.startfile")
    | _table(STARTS, "asyncio.create_subprocess_exec asyncio.create_subprocess_shell webbrowser.open")
    | _table(ENDS, "os.kill os.killpg os.abort os._exit signal.raise_signal")
    | _table(RIGHTS, "os.setuid os.setgid os.seteuid os.setegid os.setreuid")
    | _table(PERMISSIONS, "os.chmod os.chown os.lchown os.fchmod os.fchown shutil.chown")
    | _table(CODE, "eval exec compile __import__ importlib.import_module importlib.reload runpy.run_path")
    | _table(CODE, "code.interact runpy.run_module builtins.eval builtins.exec builtins.compile builtins.__import__")
    | _table(CODE, "ctypes.CDLL")
    | _table(PICKLE, "pickle.load pickle.loads cPickle.loads dill.load dill.loads cloudpickle.load cloudpickle.loads")
    | _table(PICKLE, "joblib.load torch.load marshal.loads marshal.load pandas.read_pickle pd.read_pickle")
    | _table(PICKLE, "shelve.open")
    | _table(NETWORK, "urllib.request.urlopen urllib.request.urlretrieve asyncio.open_connection")
    | _table(NETWORK, "asyncio.start_server")
)
"""What a call does; the names are full ones. (`np`, `pd` and `plt` are there without an import in some kernels.)"""

MODULES: dict[str, str] = (
    _table(
        NETWORK, "requests httpx aiohttp urllib3 socket socketserver ftplib smtplib poplib imaplib telnetlib paramiko"
    )
    | _table(NETWORK, "http.client http.server xmlrpc websocket websockets boto3 botocore openai anthropic litellm")
    | _table(
        NETWORK, "huggingface_hub selenium playwright scrapy yfinance pycurl fabric grpc tweepy wikipedia kagglehub"
    )
    | _table(STARTS, "subprocess multiprocessing pexpect sh plumbum")
)
"""What everything that is called of a module does."""

METHODS: dict[str, str] = (
    _table(DELETES, "unlink rmdir rmtree")
    | _table(WRITES, "write_text write_bytes savefig to_csv to_excel to_parquet to_json to_pickle to_feather to_hdf")
    | _table(WRITES, "to_html to_markdown to_latex to_sql to_stata touch symlink_to hardlink_to extractall")
    | _table(WRITES, "write_image write_html")
    | _table(PERMISSIONS, "chmod lchmod")
)
"""What a method of that name does, whatever it is called on."""

EVASIONS = frozenset({
    *("__subclasses__", "__globals__", "__builtins__", "__code__", "__loader__", "__mro__", "__getattribute__"),
    *("__reduce__", "__self__", "f_globals", "f_builtins"),
})  # fmt: skip
"""Ways around names, which no reading follows."""


def labels(reading: SourceFacts) -> tuple[str, ...]:
    """In plain words, the gravest first: `deletes files, line 3`."""
    lines: dict[str, list[int]] = {}
    for risk in reading.risks:
        lines.setdefault(risk.what, []).append(risk.line)
    for part in reading.unread:
        lines.setdefault(part.why, []).append(part.line)
    ranked = sorted(lines, key=lambda what: _ORDER.index(what) if what in _ORDER else len(_ORDER))
    said = [", ".join(filter(None, (what, _where(lines[what])))) for what in ranked[:SHOWN]]
    return (*said, f"{len(ranked) - SHOWN} more") if len(ranked) > SHOWN else tuple(said)


def _where(lines: Iterable[int]) -> str:
    """ "" for what is true of the whole, at line 0."""
    known = sorted(set(lines) - {0})
    shown = [str(line) for line in known[:_LINES]]
    if not known:
        return ""
    if len(known) == 1:
        return f"line {shown[0]}"
    if len(known) > _LINES:
        return f"lines {', '.join(shown)} …"
    return f"lines {', '.join(shown[:-1])} and {shown[-1]}"


def of_name(name: str) -> str:
    """The effect of calling this; "" if unknown."""
    if name in CALLS:
        return CALLS[name]
    module = next((module for module in MODULES if name == module or name.startswith(f"{module}.")), "")
    if module:
        return MODULES[module]
    if name.startswith(("os.exec", "os.spawn")):
        return STARTS
    return METHODS.get(name.rpartition(".")[2], "") if "." in name else ""


def risk(what: str, line: int) -> Risk:
    """One thing that a source does, as a `Risk`."""
    return Risk(what, line, what in GRAVE)
