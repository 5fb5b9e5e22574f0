"""The process of `oi-tui mcp serve`: one assistant's program, from its first line to the end of its input."""

import asyncio
import fcntl
import io
import logging
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import NamedTuple, NoReturn

from oi_tui.app.build import make_engine, redactor_of
from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.mcp.sdk_server import serve_calls
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.session.assistant_desk import PATIENCE, AssistantDesk
from oi_tui.app.engine.session.host import Host
from oi_tui.app.privacy import protect_process

ENDED = "The assistant that this session served has ended."


class WirePair(NamedTuple):
    """Descriptors of the connection that nothing else in this process has."""

    input: int
    output: int


def take_wire() -> WirePair:
    """Standard input and output, for the protocol alone: from now on prints go to standard error, and reads get
    nothing."""
    sys.stdout.flush()
    pair = WirePair(*(fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) for descriptor in (0, 1)))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pair


def serve_assistant(wire: WirePair, setup: Configure, patience: float | None) -> NoReturn:
    """Serve the other assistant until it hangs up, then end the process. OiTuiError if no session can be opened. A call
    that needs approval waits `patience` seconds for somebody to attach; None is the default."""
    protect_process()  # the engine is in this process: code without a sandbox could read our keys from its environment
    code = asyncio.run(_serve(wire, setup, redactor_of(setup, os.environ), patience or PATIENCE))
    logging.shutdown()
    os._exit(code)  # everything is saved; nobody waits for a thread that imports, or for a call that hangs


async def _serve(wire: WirePair, setup: Configure, redactor: Redactor, patience: float) -> int:
    """The exit code: 0 when its input has ended, 143 after a signal."""
    serving, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert serving is not None
    reader, writer = await _streams(wire)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    # No servers of tools: one of them may be this program.
    host = Host(partial(make_engine, redactor=redactor, uses_servers=False))
    welcoming: asyncio.Task[NoReturn] | None = None
    try:
        engine = await host.begin(setup)
        welcoming = asyncio.create_task(host.welcome_all())
        await serve_calls(AssistantDesk(host, engine, redactor, setup, patience), reader, writer)
        return 0
    except asyncio.CancelledError:
        return 143
    finally:
        if welcoming is not None:
            welcoming.cancel()
            await asyncio.wait([welcoming])
        await host.close(ENDED)
        with suppress(OSError):
            writer.close()


async def _streams(wire: WirePair) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """SettingsError where there is no program at the other end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), io.FileIO(wire.input))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop), io.FileIO(wire.output, "w")
        )
    except ValueError as error:
        hint = "This command is started by another assistant."
        raise SettingsError("Standard input and output are no pipes.", hint=hint) from error
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
