"""The base of every value that crosses a boundary: frozen, typed, validated on decoding.

Values are `msgspec.Struct`s: immutable, compared as a whole, and turned into JSON and back by one
codec (`protocol.py`, `store.py`). No behaviour lives here.
"""

from typing import Literal

import msgspec


class Value(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """An immutable value without a tag: only ever a field of something else."""


class SealedThoughts(Value, frozen=True, kw_only=True):
    """What a model thought before its calls, as its provider wants it back: unchanged, and often signed or encrypted.
    Nothing here reads it, shows it or looks for code in it."""

    owner: str
    """Names the model and its server: it goes back to no other."""
    data: str
    """JSON in the provider's form."""


TOUR = "demo/tour"
"""Name of the model that is a tour of the program: a script, which needs neither key nor network."""

Language = str
"""Canonical name of what runs a source: "python", "shell", or the name of a Jupyter kernelspec."""


class Reach(Value, frozen=True, kw_only=True):
    """The places of the machine that code in a sandbox can reach, absolute and without links. What is in none of them
    it cannot."""

    writes: tuple[str, ...] = ()
    """It can change files in these."""
    kept: tuple[str, ...] = ()
    """But not these, which are in them."""
    reads: tuple[str, ...] = ()
    """It can read files in these."""


class PackageHome(Value, frozen=True, kw_only=True):
    """The environment that code of one kernel would install packages into."""

    place: str
    """As shown to the user: "Python 3.12.4 in .venv"."""
    prefix: str = ""
    """Its folder here; "" where it is not on this machine."""
    python: str = ""
    """Its program."""
    has_pip: bool = True
    writable: bool = True
    """Whether the sandbox, if there is one, lets code change it."""
    is_ours: bool = False
    """Whether oi-tui itself runs in it."""
    offered: bool = False
    """Whether a person may have something installed there by a process of its own."""


FRESH_KERNEL = "a fresh kernel"
"""Where a run was that had a kernel of its own, started for it and ended after it, in the sandbox of its session."""


class Confinement(Value, frozen=True, kw_only=True):
    """The sandbox of one kernel's code. A kernel that promises nothing has none."""

    sandboxed: bool = False
    """A sandbox is around it; where that does not hold, the kernel does not start. The weaker lock is none."""
    offline: bool = False
    """Nothing can be reached from inside."""
    own_rules: bool = False
    """No sandbox, but the program's own rules for paths: it reads and changes single files of the folder, and nothing
    else; what it changes can be undone, where the reading of a call does not say otherwise."""
    reach: Reach | None = None
    """Files that can be reached; None where nothing is promised. The weaker lock promises it too."""
    packages: PackageHome | None = None
    """Where an installation would go; None where nothing is known of that."""
    apart: str = ""
    """The one folder that it works in, with the network: what installs something there, and nothing else. Or
    `FRESH_KERNEL`."""
    apart_hosts: tuple[str, ...] = ()
    """All that it reaches of the network then; none means the whole."""


ApprovalMode = Literal["ask", "auto", "never", "plan"]
"""Who decides about proposed code: the person, nobody (what destroys nothing runs), nobody (nothing runs); in plan mode
only tools that read run, until the person accepts a plan, and then the mode before it holds again."""

PermissionMode = Literal["plan", "dontAsk", "default", "acceptEdits", "auto", "unlessDestructive", "bypassPermissions"]
"""The same question on a finer scale (see `core/modes.py`), the strictest first."""

ScopeKind = Literal["source", "commands", "hosts", "turn"]
"""How far an "always" reaches: this exact source until its kernel is restarted; commands that begin like these, or
calls that only read from these hosts, in this session; or Python code in the verified sandbox, until the turn ends."""


class GrantScope(Value, frozen=True, kw_only=True):
    """The reach of an "always" beyond this exact source."""

    kind: ScopeKind
    rules: tuple[str, ...]
    """The rules it makes, as written in settings: `Shell(git status *)`."""


class EditableText(Value, frozen=True, kw_only=True):
    """The argument of a call that a person edits as a text of its own, not within JSON."""

    argument: str
    language: Language = ""
    """What it is written in, "" where that is not known."""


SandboxMode = Literal["read-only", "workspace-write", "danger-full-access"]
"""What code can change, the strictest first; `danger-full-access` is no sandbox at all."""

Remedy = Literal["retry", "model"]
"""What a person can do about an error with one key: try again, or choose another model."""

Level = Literal["info", "warning", "error"]
"""How loud a notice is."""


class KernelCall(Value, frozen=True, kw_only=True):
    """What running code asks of its session, and waits for (`kernel_call.py`)."""

    number: int
    """Which call of its kernel it is: the answer has the same."""
    method: Literal["run", "ask"]
    text: str
    """The code, or the prompt."""
    language: str = ""
    """Of the code, as the caller named it."""


class Verb(Value, frozen=True, kw_only=True):
    """Base of all verbs."""


class SessionVerb(Verb, frozen=True, kw_only=True):
    """Base of those about one session that is open. If it is not (any more), they are answered with `Failed`."""

    session_id: str = ""
    """"" is the session that was opened last."""


class SessionReply(Value, frozen=True, kw_only=True):
    """Base of replies that belong to one session; a front end that shows another session ignores them."""

    session_id: str = ""
    """"" if it is about none that is open."""
