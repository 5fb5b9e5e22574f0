"""The engine as a process of its own, for one front end, and for those that reconnect."""

import asyncio
import functools
import gc
import logging
import os
import signal
import socket

from oi_tui.app.build import make_engine
from oi_tui.app.engine.files.program_log import begin_logging
from oi_tui.app.engine.session.line import Line
from oi_tui.app.engine.session.wire import Exchange
from oi_tui.app.privacy import protect_process


def serve_front_end(descriptor: int) -> None:
    """Serve the front end at the other end of this socket until it leaves, then end the process."""
    if not gc.isenabled():  # not during the start; everything so far is permanent
        gc.freeze()
        gc.enable()
    protect_process()  # code that runs without a sandbox could read our keys from our environment
    begin_logging()
    asyncio.run(_serve(descriptor))


async def _serve(descriptor: int) -> None:
    serving = asyncio.current_task()
    assert serving is not None
    # The sandbox is tried here and not by the screen, which must appear at once.
    exchange = Exchange(functools.partial(make_engine, try_sandbox=True))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, serving.cancel)
    loop.add_signal_handler(signal.SIGHUP, lambda: exchange.outlives or serving.cancel())
    code = 0
    try:
        await exchange.serve(await Line.on(socket.socket(fileno=descriptor)))
    except asyncio.CancelledError:
        code = 143
    # Everything is saved. A thread may still be importing a library, or a tool call running: nobody waits for that.
    logging.shutdown()
    os._exit(code)
