"""What a sandbox promises, as one pure value; how the promise is kept is the business of the modules beside."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

IsolationMode = Literal["read-only", "workspace-write", "danger-full-access"]
"""`danger-full-access` is no sandbox at all."""

Network = Literal["none", "hosts", "full"]
"""Nothing; the hosts of a list, through a proxy; all that this machine reaches."""


SCRATCH = 1_000_000_000

RungChoice = Literal["auto", "bubblewrap", "space", "lock"]
"""Which kind of sandbox (`ladder.py`); `auto` is the first of the full ones that works here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one kernel may use; 0 means no limit of ours."""

    memory: int = 0
    """Bytes of private memory that one process may ask for."""
    processes: int = 0
    """Processes and threads of the sandbox. The system does not hold root to it."""
    file_size: int = 0
    """Bytes of one file that is written."""
    open_files: int = 0
    """Of one process."""
    cpu: int = 0
    """Seconds of processor time of one process."""
    scratch: int = 0
    """Bytes in each of the folders that are in memory only: /tmp, /dev/shm and the home folder."""

    @property
    def scratch_size(self) -> int:
        """The same, where nothing was set: the system's own default would be half of all memory."""
        return self.scratch or SCRATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that decides what code in the sandbox can reach. All paths are absolute and without links."""

    mode: IsolationMode
    workspace: Path
    home: Path
    """The person's; code sees an empty one in its place."""
    writable: tuple[Path, ...] = ()
    """Folders beside the workspace that may be written."""
    readable: tuple[Path, ...] = ()
    """Files and folders beside the system's that may be read."""
    hidden: tuple[Path, ...] = ()
    """What must not be seen, wherever it is, beside what `places.py` names."""
    network: Network = "none"
    hosts: tuple[str, ...] = ()
    """With `network` "hosts": rules as `proxy.py` reads them. None means: nothing can be reached."""
    environment: tuple[str, ...] = ()
    """Names of variables that are passed on beside the usual ones."""
    limits: Limits = field(default_factory=Limits)
    rung: RungChoice = "auto"

    @property
    def encloses(self) -> bool:
        """Whether there is a sandbox."""
        return self.mode != "danger-full-access"

    @property
    def is_weaker(self) -> bool:
        """Whether files and network alone are held, and nothing in the workspace is protected."""
        return self.rung == "lock"

    @property
    def writes(self) -> tuple[Path, ...]:
        """The folders of this machine that code may change."""
        return (self.workspace, *self.writable) if self.mode == "workspace-write" else ()

    @property
    def holds_home(self) -> bool:
        """The workspace is the home folder or one above it: only what is known to be secret is hidden then."""
        return self.home.is_relative_to(self.workspace)

    def narrow(self, *, writes: bool, network: bool) -> Self:
        """The same sandbox for code that needs less: without `writes` it can change no file of this machine, without
        `network` it reaches nothing. Where there is no sandbox, there is none for this either."""
        if not self.encloses:
            return self
        held = self if writes else replace(self, mode="read-only")
        return held if network else replace(held, network="none", hosts=())

    def describe(self) -> str:
        """One line for the person: the sandbox, what may be written, the network."""
        if not self.encloses:
            return "no sandbox: code has your full permissions"
        said = "lock, .git and .env not protected" if self.is_weaker else "sandbox"
        said += ": writes nothing but scratch files" if not self.writes else ": writes in the workspace"
        if self.writes and self.writable:
            said += f" and {len(self.writable)} more folder{'s' if len(self.writable) > 1 else ''}"
        if self.holds_home:
            said += ", which holds your home folder"
        return f"{said}; {self._describe_network()}"

    def tell_model(self) -> str:
        """Sentences for who writes the code: a file that is gone afterwards costs it a step."""
        if not self.encloses:
            return ""
        kept = "Only files in that folder are kept" if self.writes else "No file is kept"
        if self.writes and self.writable:
            kept = f"Only files in that folder and in {', '.join(map(str, self.writable))} are kept"
        if self.is_weaker:
            return (
                f"It runs locked in. {kept}: of the rest of the disk little can be read, and $TMPDIR is scratch space "
                f"that is lost. There is {self._describe_network()}."
            )
        lost = "/tmp is" if self.holds_home else "/tmp and the home folder are"
        return (
            f"It runs in a sandbox. {kept}: the rest of the disk is read-only, and {lost} scratch space that is lost. "
            f"There is {self._describe_network()}."
        )

    def _describe_network(self) -> str:
        match self.network:
            case "full":
                return "full network"
            case "hosts" if self.hosts:
                return f"network: {len(self.hosts)} allowed host{'s' if len(self.hosts) > 1 else ''}"
            case _:
                return "no network"
