"""Why a server does not start, in words that say what to do."""

import re

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.engine.mcp.answers import ServerFault
from oi_tui.app.engine.mcp.entries import NamedServer
from oi_tui.app.engine.mcp.offers import safe_line

_WANTS_LOGIN = re.compile(r"401|unauthori[sz]ed|OAuth|login", re.IGNORECASE)
_FOR_SDK_1 = re.compile(r"'Server' object has no attribute|cannot import name .+ from 'mcp|No module named 'mcp\.")


def why_no_start(named: NamedServer, why: str, log: str) -> str:
    """The reason, as the end of a sentence, with the way out where there is a known one. `log` is the end of what the
    program wrote."""
    if named.entry.url and _WANTS_LOGIN.search(why):
        return f"it wants a login (oi-tui mcp login {named.name})"
    download = named.entry.download
    pinned = download is not None and any(re.match(r"mcp(?![\w.-])", one) for one in download.packages)
    if download is not None and download.tool == "uv" and not pinned and _FOR_SDK_1.search(log):
        return f"{safe_line(why)}; it seems to need version 1 of the MCP SDK: add it with uvx --with 'mcp<2'"
    return safe_line(why)


def first_error(error: BaseException) -> BaseException:
    """The first one within groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def fault_line(error: BaseException) -> str:
    """The error as one line."""
    ours = isinstance(error, ServerFault | OiTuiError)
    return safe_line(str(error) if ours else f"{type(error).__name__}: {error}")
