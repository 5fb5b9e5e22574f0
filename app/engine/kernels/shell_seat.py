"""Where a shell runs: the interface between the protocol with bash and the machine.

Bash reads the code from one pipe and reports its end on another. The output of a run goes through two more that only
this run has, so stdout and stderr stay apart, and later text of a background job is never taken for output of a later
run. The stdin of a run is empty. The terminal carries only conversation.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

BASH = ("bash", "--noprofile", "--noediting", "--rcfile")

RC = """\
set +o history +H -b
unset HISTFILE
PS1= PS2= __oi_run=0
__oi_end() {{ builtin echo "$__oi_run $1" >{ends}; }}
PROMPT_COMMAND='__oi_end $?'
{activate}
"""
"""First input of every new shell. The prompt reports the end of a run again, because bash drops the rest of an
interrupted line."""

RUN = "__oi_run={number} PROMPT_COMMAND='__oi_end $?'; . {file} </dev/null >{out} 2>{err}; __oi_end $?\n"


class ShellEars(NamedTuple):
    """Receives the events of the shell."""

    on_output: Callable[[int, Literal["stdout", "stderr"], str], None]
    """What a run wrote, by its number."""
    on_terminal: Callable[[str], None]
    """What appeared on the terminal."""
    on_ends: Callable[[str], None]
    """What bash says of runs that are over."""
    on_exit: Callable[[int | None, str], None]
    """Bash is gone: its exit code (None: it ended otherwise), and how that came about, as the end of a sentence."""


class ShellSeat(Protocol):
    """One bash with its terminal and pipes, on this machine or another; started and ended once."""

    @property
    def complaint(self) -> str:
        """The end of what appeared on the terminal before the shell was ready."""
        ...

    async def arrive(self) -> None:
        """Connect to the machine, which may have to start first: within its own time limits. KernelError if it
        fails."""
        ...

    async def start(self, ears: ShellEars) -> None:
        """Start bash there; `on_ends` reports its first prompt. KernelError if it fails."""
        ...

    def begin(self, number: int, source: str) -> None:
        """Have bash run the source, byte for byte."""
        ...

    def drain(self) -> None:
        """Tell all that has arrived of the run and the terminal."""
        ...

    def finish(self) -> None:
        """The run is over: later output of its jobs is dropped."""
        ...

    def type(self, text: str) -> None:
        """Type on the terminal; lost if nobody reads it."""
        ...

    def press_ctrl_c(self) -> None:
        """Type ^C when the foreground can take it, until the run is over."""
        ...

    def kill_foreground(self) -> None:
        """SIGKILL to the job in the foreground, never to bash."""
        ...

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        ...

    async def close(self) -> None:
        """End bash and all its jobs, and leave nothing behind."""
        ...
