"""Every error that a person may meet, with what to do about it and the exit code it leads to.

    OiTuiError
    ├── SettingsError      a settings file or a flag is wrong                        exit 2
    ├── ModelError         the model could not answer                                exit 3
    ├── KernelError        code could not be run at all (not: the code raised)       exit 4
    ├── StoreError         the session could not be read or written                  exit 5
    │   └── AuditError     what was done could not be written down                   exit 5
    └── LocalModelError    the embedded model could not be fetched or started        exit 6

`title` is what happened, `hint` what to do; both are plain words for the screen. `details` may be
technical and is shown folded.
"""

from typing import ClassVar, Literal

from oi_tui.app.engine.core.values import Remedy

ModelErrorKind = Literal[
    "no_key",
    "wrong_key",
    "unreachable",
    "rate_limited",
    "server",
    "cut",
    "unknown_model",
    "context_too_long",
    "timeout",
    "bad_request",
    "bad_reply",
    "budget",
    "refused",
    "other",
]


_ALL_THE_SAME = ("unknown_model", "no_key")
"""Another try with the same model ends in the same way."""

_NO_TRY = ("budget", "refused")
"""Nor does another model help."""


class OiTuiError(Exception):
    """Base: a title, a hint and an exit code."""

    exit_code: ClassVar[int] = 1
    remedies: tuple[Remedy, ...] = ()
    """What a person can do about it with one key."""
    wait: float = 0.0
    """Seconds after which it is worth another try, as far as a server says so."""

    def __init__(self, title: str, *, hint: str = "", details: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint
        self.details = details


class SettingsError(OiTuiError):
    """A settings file or a flag is wrong; names the file and the key."""

    exit_code = 2


class ModelError(OiTuiError):
    """The model could not answer or was interrupted; `kind` says how."""

    exit_code = 3

    def __init__(self, kind: ModelErrorKind, title: str, *, hint: str = "", details: str = "") -> None:
        super().__init__(title, hint=hint, details=details)
        self.kind = kind
        self.tokens_allowed = 0
        """The tokens that the server accepts, as it said when it refused more; 0 if it did not say."""
        self.refuses_tools = False
        """Whether the same request may be answered if it offers no tools."""
        self.refuses_schema = False
        """Whether the same request may be answered if it has no schema."""
        self.continues = False
        """Whether another model continues what has arrived, as soon as it is asked."""
        self.remedies = () if kind in _NO_TRY else ("model",) if kind in _ALL_THE_SAME else ("retry", "model")


class KernelError(OiTuiError):
    """A kernel could not be started, or is of no use any more."""

    exit_code = 4


class StoreError(OiTuiError):
    """The session could not be read or written."""

    exit_code = 5


class AuditError(StoreError):
    """The audit log could not be read or written; nothing is run then."""


class LocalModelError(OiTuiError):
    """The embedded model could not be fetched, verified or started."""

    exit_code = 6
