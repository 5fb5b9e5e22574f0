"""Runs inside a Python kernel, after `in_kernel.py`: never imported by us, only sent as text.

`import computer` gives code a way to the session that runs it: `computer.run(language, code)`, `computer.ask(prompt)`.
A module `computer` of the person's own comes first. A call is an input request whose question says what is wanted, so
it needs no socket beside those that the kernel has; the engine decides about it as about code of the model.

No first-party imports. Leave nothing in the user namespace.
"""

import importlib.abc
import importlib.machinery
import itertools
import json
import sys
import threading
import types
from typing import Any

CALL_MARK = "\0oi-tui call\0"
"""As in `core/kernel_call.py`."""

LONGEST_CALL = 100_000
"""Characters of the code or the prompt of one call."""

MODULE = "computer"


class ComputerError(RuntimeError):
    """The session did not do what was asked; the message says why."""


class SessionCaller:
    """Calls of one kernel: one at a time, from the main thread of a cell that runs."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._numbers = itertools.count(1)
        self._runs = False
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, _info: Any) -> None:
        self._runs = True

    def _end(self, _result: Any) -> None:
        self._runs = False

    def call(self, method: str, text: Any, language: Any = "") -> str:
        """The answer, which is waited for; ComputerError if there is none."""
        if not isinstance(text, str) or not isinstance(language, str):
            raise TypeError("language, code and prompt are texts")
        if len(text) > LONGEST_CALL:
            raise ComputerError(f"The text has {len(text):,} characters; {LONGEST_CALL:,} are the most.")
        if not self._runs or threading.current_thread() is not threading.main_thread():
            raise ComputerError("Only a cell that runs can call this, from its main thread.")
        number = next(self._numbers)
        call = {"number": number, "method": method, "text": text, "language": language[:100]}
        answer = json.loads(self._shell.kernel.raw_input(CALL_MARK + json.dumps(call)) or "{}")
        if answer.get("number") != number:
            raise ComputerError("The answer to this call was lost.")
        if answer.get("refusal"):
            raise ComputerError(answer["refusal"])
        return str(answer.get("text", ""))


class ComputerFinder(importlib.abc.Loader):
    """Finds `computer` where nothing else does."""

    def __init__(self, caller: SessionCaller) -> None:
        self._caller = caller

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        """As `sys.meta_path` wants it."""
        return importlib.machinery.ModuleSpec(name, self, origin="oi-tui") if name == MODULE else None

    def create_module(self, _spec: Any) -> None:
        """None lets Python create a plain module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Give it its functions, which know this kernel."""
        caller = self._caller

        def run(language: str, code: str) -> str:
            """Run code in the kernel of another language ("shell", "r") and return its output as text.

            It is approved like any code. ComputerError says why it did not run.
            """
            return caller.call("run", code, language)

        def ask(prompt: str) -> str:
            """Ask the session's model once, without tools and without the conversation, and return its answer.

            It counts in the budget of the session. ComputerError says why there is no answer.
            """
            return caller.call("ask", prompt)

        module.__doc__ = "The session that runs this code: run(language, code) and ask(prompt)."
        vars(module).update(run=run, ask=ask, ComputerError=ComputerError, __all__=["ComputerError", "ask", "run"])
        for item in (run, ask, ComputerError):
            item.__module__ = MODULE


def offer_computer() -> None:
    """Prepare the kernel that executes this."""
    from IPython import get_ipython  # there is one only in a kernel

    shell = get_ipython()
    if getattr(shell, "kernel", None) is not None:
        sys.meta_path.append(ComputerFinder(SessionCaller(shell)))


if __name__ == "oi_tui_in_kernel":
    offer_computer()
