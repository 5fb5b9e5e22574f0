"""In the kernel: an audit hook that stops what the lists of functions do not allow, and says what was tried.

It is no sandbox: code that runs in the same process can get around it. It sees what cells do by the interpreter's own
events, not what compiled libraries do by themselves.
"""

import re
import sys
import threading
import types
from collections.abc import Sequence
from typing import Any

_FAMILIES = {
    "subprocess.Popen": (
        *("subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call"),
        *("subprocess.check_output", "subprocess.getoutput", "subprocess.getstatusoutput"),
    ),
    "os.system": ("os.system",),
    "os.exec": ("os.execv", "os.execve", "os.execvp", "os.execl", "os.execlp"),
    "os.posix_spawn": ("os.posix_spawn", "os.posix_spawnp"),
    "os.spawn": ("os.spawnv", "os.spawnve", "os.spawnl"),
    "os.fork": ("os.fork",),
    "os.forkpty": ("os.forkpty",),
    "pty.spawn": ("pty.spawn",),
    "open": ("open", "io.open", "os.open"),
    "socket.connect": ("socket.socket.connect", "socket.create_connection", "socket.socket"),
    "socket.sendto": ("socket.socket.sendto", "socket.socket"),
    "socket.sendmsg": ("socket.socket.sendmsg", "socket.socket"),
    "socket.getaddrinfo": ("socket.getaddrinfo",),
    "socket.gethostbyname": ("socket.gethostbyname",),
    "ctypes.dlopen": ("ctypes.CDLL",),
    "ctypes.dlsym": ("ctypes.CDLL",),
    "import": (),
}
_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
)
_OF_SHELL = ("pexpect", "ptyprocess", "IPython.utils._process", "ipykernel.zmqshell")
_OF_IMPORTS = ("importlib", "_frozen_importlib")
_MACHINERY = {*_OF_IMPORTS, "zipimport", "IPython", "ipykernel", "traitlets", "oi_tui_in_kernel"}
_LONGEST = 120
"""Characters of a name that is judged."""
_DEEPEST = 1_000
"""Frames that are looked through for the cell."""
_MODULES, _SPACE_OF = sys.modules, vars(types.ModuleType)["__dict__"].__get__
"""As they are before any cell could put something in their place."""


def add_function_hook(
    allow: Sequence[Sequence[str]], deny: Sequence[Sequence[str]], literal_begins: Sequence[str]
) -> None:
    """Check the calls of this kernel's cells from now on; refused ones are reported after each cell."""
    from IPython import get_ipython  # the kernel's own

    shell = get_ipython()
    hook = _FunctionHook(allow, deny, tuple(literal_begins), shell.user_module.__dict__)
    shell.events.register("pre_run_cell", lambda *_: hook.tried.clear())
    shell.events.register("post_run_cell", lambda *_: hook.say())
    sys.addaudithook(hook.hear)


class _FunctionHook:
    """Judges events of the interpreter by who led to them."""

    def __init__(
        self,
        allow: Sequence[Sequence[str]],
        deny: Sequence[Sequence[str]],
        begins: Sequence[str],
        space: dict[str, Any],
    ) -> None:
        """`begins` is what allowed names begin with, `space` the names of cells."""
        self._allowed = [[re.compile(part, re.ASCII) for part in entry] for entry in allow]
        self._denied = [[re.compile(part, re.ASCII) for part in entry] for entry in deny]
        self._runs_shell = any(part.startswith("shell:") for entry in allow for part in entry)
        self._begins, self._space = begins, space
        self._busy = threading.local()
        self._own_threads = {thread.ident for thread in threading.enumerate()}
        self.tried: dict[str, int] = {}

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """ImportError or PermissionError for what may not be done."""
        if event not in _FAMILIES or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            names, in_cell = self._find_callers()
            name = self._judge_import(arguments, names, in_cell) if event == "import" else ""
            if event != "import" and (in_cell or event in _STARTS):
                name = self._judge_call(event, names)
        finally:
            self._busy.now = False
        if name:
            self.tried[name] = self.tried.get(name, 0) + 1
            kind = ImportError if event == "import" else PermissionError
            raise kind(f"{name} is not among the functions that may be called here (oi-tui: [functions])")

    def say(self) -> None:
        """Print the refused calls as output of the cell."""
        counted = [f"{name} ({count} times)" if count > 1 else name for name, count in sorted(self.tried.items())]
        self.tried.clear()
        if counted:
            said = ", ".join(counted)[:1_000]
            sys.stderr.write(f"[oi-tui stopped what [functions] does not allow: {said}]\n")

    def _find_callers(self) -> tuple[list[tuple[str, str]], bool]:
        """Modules and functions that led here, the innermost first, up to the cell; whether there is a cell. Nothing
        of a cell's runs for that: it would run unheard."""
        names: list[tuple[str, str]] = []
        frame: Any = sys._getframe(2)
        for _ in range(_DEEPEST):
            if frame is None:
                return names, threading.get_ident() not in self._own_threads  # those that came later are of cells
            if frame.f_globals is self._space:
                return names, True
            module = _module_of(frame.f_globals)
            if module and frame.f_code.co_name != "_modified_open":  # IPython's own, around `open`
                names.append((module, frame.f_code.co_name))
            frame = frame.f_back
        return names, True

    def _judge_import(self, arguments: tuple[Any, ...], names: list[tuple[str, str]], in_cell: bool) -> str:
        """The module that may not be imported, "" for one that may, or that a library imports."""
        if not in_cell or any(_root(module) not in _OF_IMPORTS for module, _ in names):
            return ""
        wanted = str.__str__(arguments[0])  # whatever a cell's own kind of text says of itself
        within = any(_within(begin, wanted) for begin in self._begins)
        unlisted = self._allowed and not _matches(self._allowed, wanted) and not within
        return wanted if unlisted or _matches(self._denied, wanted) else ""

    def _judge_call(self, event: str, names: list[tuple[str, str]]) -> str:
        """The function that may not be called, "" if all that led here may."""
        family, through = _FAMILIES[event], [f"{module}.{function}" for module, function in names]
        for name in (family[0], *through):
            if _matches(self._denied, name):
                return name
        if all(_matches(self._denied, name) for name in family):
            return family[0]
        if not self._allowed or any(_matches(self._allowed, name) for name in (*family, *through)):
            return ""
        if self._runs_shell and event in _STARTS and any(module.startswith(_OF_SHELL) for module, _ in names):
            return ""  # `!command`: which one was read before it ran
        roots = {_root(module) for module, _ in names}
        may_open = roots & _MACHINERY or any(_within(begin, root) for begin in self._begins for root in roots)
        if event not in _STARTS and may_open:
            return ""  # a library that the cell may use opens what it needs
        return family[0]


def _module_of(space: dict[str, Any]) -> str:
    """The name of the module that has these globals, "" if none has: what is executed in a dict can call itself
    anything."""
    name = dict.get(space, "__name__")
    if type(name) is not str:
        return ""
    module = dict.get(_MODULES, name)
    return name if issubclass(type(module), types.ModuleType) and _SPACE_OF(module) is space else ""


def _root(module: str) -> str:
    return module.partition(".")[0]


def _matches(entries: Sequence[Sequence["re.Pattern[str]"]], name: str) -> bool:
    return len(name) <= _LONGEST and any(all(part.fullmatch(name) for part in entry) for entry in entries)


def _within(begin: str, name: str) -> bool:
    """Whether what begins so may be of this module, or within it."""
    beneath, fixed = name + ".", begin.rstrip("\0")
    return fixed.startswith(beneath) or fixed == name or (begin.endswith("\0") and beneath.startswith(fixed))
