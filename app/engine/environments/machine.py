"""The machine that code runs on, in a few words for who writes the code."""

import functools
import platform
import re

_UNUSUAL = re.compile(r"[^A-Za-z0-9 ._/()+-]")


@functools.cache
def machine_in_words() -> str:
    """`Debian GNU/Linux 13 (trixie) on x86_64`. Asks the system once; nothing is run."""
    name = platform.system()
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", name)
    except OSError:
        if name == "Darwin":
            name = f"macOS {platform.mac_ver()[0]}".strip()
    return f"{_UNUSUAL.sub('', name)[:60].strip()} on {platform.machine()}"
