"""A synchronous function in a thread of its own: the engine continues meanwhile, and can ask it to end.

Python cannot stop a thread. A call that is cancelled gets `CallCancelled` at its next line of Python; one that waits in
a library or in the system continues until that returns, and the caller learns that it still runs.
"""

import asyncio
import contextlib
import contextvars
import ctypes
import threading
from collections.abc import Callable
from typing import Any


class CallCancelled(BaseException):
    """Raised within a function that is to end; nothing need catch it."""


async def call_in_thread(function: Callable[[], Any], name: str) -> Any:
    """What it returns or raises. Cancelled, it is asked to end, and its end is waited for."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(result)
        else:
            ended.set_exception(error)

    def work() -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = context.run(function)
        except BaseException as error:
            # A future takes no StopIteration; and the function's own interrupts are not the engine's.
            kept = isinstance(error, Exception | CallCancelled) and not isinstance(error, StopIteration)
            failure = error if kept else RuntimeError(f"{type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    thread = threading.Thread(target=work, name=f"tool {name}", daemon=True)
    thread.start()
    cancelled = False
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            if not cancelled:
                _ask_to_end(thread)
            cancelled = True
    if cancelled:
        ended.exception()
        raise asyncio.CancelledError
    return ended.result()


def _ask_to_end(thread: threading.Thread) -> None:
    if thread.is_alive() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(CallCancelled))
