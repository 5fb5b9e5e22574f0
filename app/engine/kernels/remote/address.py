"""What a kernel is chosen by, taken apart: the one place that reads such names.

`NAME`               an environment, its path, or a server, where a new kernel is started
`SERVER:KERNELSPEC`  a new kernel of another kernelspec of that server
`SERVER@ID`          the kernel of this id, which lives there; the beginning of the id is enough
`ssh://[USER@]HOST[:PORT][/PATH]`  a Jupyter server that is started there, by the environment or program of this path
"""

import re

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.values import Value

SSH = "ssh://"

SHORT_ID = 8
"""Characters of a kernel's id that are shown; enough to be unique on a server."""

_SERVER = re.compile(r"(?P<server>[\w-]{1,100})(?P<mark>[:@])(?P<rest>.*)", re.ASCII | re.DOTALL)
_KERNELSPEC = re.compile(r"[A-Za-z0-9._-]{1,200}")
_KERNEL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SSH = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][\w.-]{0,99})@)?"
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9](?:[\w.-]{0,252})))"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<path>/[^\x00-\x1f\x7f]{0,1000})?",
    re.ASCII,
)


class KernelAddress(Value, frozen=True, kw_only=True):
    """Where a kernel is, or is started."""

    name: str = ""
    """An environment, its path, or a server: the caller, who knows those, decides. "" for a machine over ssh."""
    kernelspec: str = ""
    """Of the server `name`; "" for its usual one."""
    kernel_id: str = ""
    """The beginning of the id of a kernel that lives on the server `name`; "" for a new one."""
    user: str = ""
    """On `host`; "" if ssh knows."""
    host: str = ""
    """A machine that is reached over ssh; "" for none."""
    port: int = 0
    """Of its ssh; 0 if ssh knows."""
    path: str = ""
    """Of a Python or an environment there; "" for the login shell's jupyter."""

    def __str__(self) -> str:
        """As typed by the user."""
        if self.host:
            user = f"{self.user}@" if self.user else ""
            host = f"[{self.host}]" if ":" in self.host else self.host
            return f"{SSH}{user}{host}{f':{self.port}' if self.port else ''}{_in_url(self.path)}"
        if self.kernelspec:
            return f"{self.name}:{self.kernelspec}"
        return f"{self.name}@{self.kernel_id}" if self.kernel_id else self.name


def parse_address(text: str) -> KernelAddress:
    """The parsed address; SettingsError if it is none of these. Text with a "/" that does not begin with ssh:// is a
    path."""
    text = text.strip()
    if text.startswith(SSH):
        return _parse_ssh(text)
    if text.lower().startswith(("http://", "https://")):
        raise SettingsError(
            "A server is chosen by the name that it was added as.",
            hint="To add this one: oi-tui kernels add NAME URL, in a shell. Then: /kernel NAME, or --kernel NAME.",
        )
    found = None if "/" in text else _SERVER.fullmatch(text)
    if found is None:
        return KernelAddress(name=text)
    server, rest = found["server"], found["rest"]
    if found["mark"] == ":" and _KERNELSPEC.fullmatch(rest):
        return KernelAddress(name=server, kernelspec=rest)
    if found["mark"] == "@" and _KERNEL_ID.fullmatch(rest):
        return KernelAddress(name=server, kernel_id=rest)
    raise SettingsError(
        f"“{text[:200]}” names no kernel.",
        hint="Say SERVER, SERVER:KERNELSPEC or SERVER@ID. `oi-tui kernels list SERVER` shows what there is.",
    )


def _parse_ssh(text: str) -> KernelAddress:
    """No part may look like an option: ssh is a program that is run with it."""
    found = _SSH.fullmatch(text.removeprefix(SSH))
    port = int(found["port"] or 0) if found is not None else 0
    if found is None or port > 65_535:
        raise SettingsError(f"“{text[:200]}” is no machine.", hint="Say ssh://[USER@]HOST[:PORT][/PATH].")
    host = found["bracketed"] or found["host"]
    path = (found["path"] or "").rstrip("/")
    return KernelAddress(user=found["user"] or "", host=host, port=port, path=_remote_path(path))


def _remote_path(path: str) -> str:
    """A path as the machine knows it: as in addresses of git, `/~/env` is in the home folder."""
    return path.removeprefix("/") if path.startswith("/~/") else path


def _in_url(path: str) -> str:
    return f"/{path}" if path.startswith("~/") else path
