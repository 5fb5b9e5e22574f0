"""Network requests that the sandbox refused during a run: counted by host, and reported once for each run.

Code asks as often as it likes, and in words that it chooses: hosts are named up to a number, each of them once, and of
the others it is known how many requests there were.
"""

from oi_tui.app.engine.sandbox.hosts import USUAL_PORTS, Refusal
from oi_tui.app.engine.text.safe import visible_text

MOST_NAMED_HOSTS = 50
"""Hosts of one run that are named."""

SHOWN = 4
"""Hosts in a title; the details have all that are named."""

LONGEST = 100
"""Characters of a host that are shown."""


class Refusals:
    """Requests to the network that the sandbox refused during one run."""

    def __init__(self) -> None:
        self._known: dict[str, Refusal] = {}
        self._counts: dict[str, int] = {}
        self.unnamed = 0
        """Requests to hosts beyond those that are named."""

    @property
    def counts(self) -> dict[str, int]:
        """How often each host was refused, in the order of their first time."""
        return dict(self._counts)

    @property
    def total(self) -> int:
        return sum(self._counts.values()) + self.unnamed

    def add(self, refusal: Refusal) -> bool:
        """One more; whether it is the first to a host that is named."""
        name = refusal.host
        if name not in self._counts and len(self._counts) >= MOST_NAMED_HOSTS:
            self.unnamed += 1
            return False
        self._counts[name] = self._counts.get(name, 0) + 1
        self._known.setdefault(name, refusal)
        return self._counts[name] == 1

    def describe(self, *, late: bool = False) -> tuple[str, str, str]:
        """Title, hint and details for the user. `late`: the run had ended at the time of the request."""
        said = [f"{_host_text(name)}{_times(count)}" for name, count in self._counts.items()]
        more = len(said) - SHOWN
        hosts = ", ".join(said[:SHOWN]) + (f" and {more}{' or more' * bool(self.unnamed)} others" if more > 0 else "")
        whom = " to what a run left behind" if late else ""
        lines = [f"{line}: {self._known[name].why}" for name, line in zip(self._counts, said, strict=True)]
        if self.unnamed:
            lines.append(f"{self.unnamed:,} more requests")
        return f"The sandbox refused the network{whom}: {hosts}.", self._hint(), "\n".join(lines)

    def _hint(self) -> str:
        """How to allow the first of them that can be allowed."""
        for name, refusal in self._known.items():
            match refusal.why:
                case "not on the list":
                    return f"To allow it, add “{_host_text(name)}” to sandbox.hosts in config.toml."
                case "leads to an address that is not public":
                    return "To allow it, add that address (like 192.168.1.5:8080) to sandbox.hosts in config.toml."
                case "no host":
                    continue
        return ""


def _times(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""


def _host_text(name: str) -> str:
    """The host as in a rule: without a port if that is a usual one."""
    host, _, port = name.rpartition(":")
    short = host if host and port in map(str, USUAL_PORTS) else name
    text = visible_text(short).text.replace("\n", "<U+000A>").replace("\t", "<U+0009>")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
