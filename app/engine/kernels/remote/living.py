"""Kernels on servers that a session uses, on disk: written before code runs in them, so that we can reconnect however
the program ended. A private file of ours that code in a sandbox cannot see.

The `key` identifies us to the server: for this key it buffers the kernel's messages while nobody listens.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from oi_tui.app.engine.core.values import Language, Value
from oi_tui.app.engine.files.owned_file import file_lock, read_record, replace_owned_file
from oi_tui.app.engine.files.paths import data_dir, private_dir

LIVING_FILE = "living_kernels.toml"

MOST_KEPT = 300
"""Kernels that are remembered; of more, the oldest are forgotten."""


class LivingKernel(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kernel that a session left behind, or has in use."""

    session_id: str
    """Of ours."""
    language: Language
    server: str
    """The name that it was added with."""
    site: str
    """Address of the server, without secrets: another address is another server."""
    kernel_id: str
    key: str
    kernelspec: str = ""
    is_python: bool = False
    voice: str = ""
    """What the kernel's process calls itself; another one has none of its variables. "" until it was prepared."""
    foreign: bool = False
    """Somebody else started it: it is never ended by us."""


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    kernel: list[LivingKernel] = []


class LivingKernels:
    """The file, read each time."""

    def __init__(self, path: Path, *, owner: int) -> None:
        self._path = path
        self._owner = owner

    def all(self) -> tuple[LivingKernel, ...]:
        """The oldest first; SettingsError if the file cannot be relied on."""
        hint = "Fix it, or delete it: then kernels that still run are not found again."
        return tuple(read_record(_Record, self._path, "list of living kernels", hint, owner=self._owner).kernel)

    def of_session(self, session_id: str) -> tuple[LivingKernel, ...]:
        """The kernels this session may reconnect to, the newest first."""
        known = reversed(self.all()) if session_id else ()
        return tuple(kernel for kernel in known if kernel.session_id == session_id)

    def find(self, site: str, kernel_id: str) -> LivingKernel | None:
        """The one with this id on this server, as the session knows it that started it."""
        found = [kernel for kernel in self.all() if (kernel.site, kernel.kernel_id) == (site, kernel_id)]
        return min(found, key=lambda kernel: kernel.foreign, default=None)

    def put(self, kernel: LivingKernel) -> None:
        """Remember it, replacing its earlier entry."""
        self._change(lambda known: [*(one for one in known if not _same(one, kernel)), kernel][-MOST_KEPT:])

    def forget(self, kernel: LivingKernel) -> None:
        """Remove a kernel that has ended or that nobody will reconnect to."""
        if any(_same(one, kernel) for one in self.all()):
            self._change(lambda known: [one for one in known if not _same(one, kernel)])

    def hand_over(self, session_id: str, heir: str) -> None:
        """Hand the kernels of one session over to another."""
        if self.of_session(session_id):
            self._change(
                lambda known: [
                    msgspec.structs.replace(one, session_id=heir) if one.session_id == session_id else one
                    for one in known
                ]
            )

    def _change(self, change: Callable[[list[LivingKernel]], list[LivingKernel]]) -> None:
        import tomli_w  # deferred: only where something changes

        with file_lock(self._path):
            kernels = change(list(self.all()))
            replace_owned_file(self._path, tomli_w.dumps({"kernel": msgspec.to_builtins(kernels)}))


def _same(one: LivingKernel, other: LivingKernel) -> bool:
    """Whether one takes the place of the other: a kernel is of one session, and others may attach."""
    both_ours = not (one.foreign or other.foreign)
    return (one.site, one.kernel_id) == (other.site, other.kernel_id) and (
        both_ours or one.session_id == other.session_id
    )


def living_kernels() -> LivingKernels:
    """The kernels of the current user."""
    return LivingKernels(private_dir(data_dir()) / LIVING_FILE, owner=os.getuid())
