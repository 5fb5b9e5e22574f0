"""What lies between a person's `1+1` and its 2, beyond what a bare Jupyter kernel takes (row R12)."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import ROUNDS, Budget, judge, spread, table
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import start_new_async_kernel

from oi_tui.app.engine.core.configuration import Configure
from oi_tui.app.engine.core.events import ExecutionFinished
from oi_tui.app.engine.core.protocol import Batch
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import Open, Run
from oi_tui.app.engine.kernels.base import RunResult
from oi_tui.app.engine.kernels.launch import Launch
from oi_tui.app.engine.kernels.pool import Kernels
from oi_tui.app.frontend.client import ProcessClient
from support.enclosure import UNENCLOSED
from support.terminal import clean_env

SOURCE = "1+1"
BUDGET = 0.020
RUNS = 5 * ROUNDS

Warm = Callable[[], Awaitable[None]]
"""Runs the source once and returns when it is over."""


async def bare(stack: AsyncExitStack) -> Warm:
    """A kernel and its client, and nothing of ours: over on the reply and on idle."""
    manager, client = await start_new_async_kernel()
    stack.push_async_callback(manager.shutdown_kernel, now=True)
    stack.callback(client.stop_channels)

    async def run() -> None:
        message = client.execute(SOURCE)
        await asyncio.gather(until_reply(client, message), until_idle(client, message))

    return run


async def until_reply(client: AsyncKernelClient, message: str) -> None:
    while (await client.get_shell_msg(timeout=10))["parent_header"].get("msg_id") != message:
        pass


async def until_idle(client: AsyncKernelClient, message: str) -> None:
    while True:
        received = await client.get_iopub_msg(timeout=10)
        idle = received["msg_type"] == "status" and received["content"]["execution_state"] == "idle"
        if idle and received["parent_header"].get("msg_id") == message:
            return


async def our_kernel(stack: AsyncExitStack, folder: Path) -> Warm:
    """Our kernel, in this process: what the session calls."""
    kernels = Kernels(Launch(cwd=folder))
    stack.push_async_callback(kernels.close)
    kernel = kernels.get("python")
    await kernel.start()

    async def run() -> None:
        finished = await kernel.run(SOURCE, "c", lambda event: None)
        assert finished == RunResult(status="ok"), finished

    return run


async def our_engine(stack: AsyncExitStack, folder: Path) -> Warm:
    """The engine process as the screen sees it: a verb out, the event that says "finished" back, all of it stored."""
    setup = Configure(settings=Settings(sandbox=UNENCLOSED), cwd=str(folder))
    client = await ProcessClient.start(setup, log=folder / "engine.log")
    stack.push_async_callback(client.close)
    replies = client.replies()
    await client.send(Open())

    async def run() -> None:
        await client.send(Run(language="python", source=SOURCE))
        async for reply in replies:
            if isinstance(reply, Batch) and any(isinstance(event, ExecutionFinished) for event in reply.events):
                return

    return run


async def measured(folder: Path) -> dict[str, list[float]]:
    """Seconds of every run, by turns, after a warm-up."""
    async with AsyncExitStack() as stack:
        warm = {
            "bare jupyter_client": await bare(stack),
            "our kernel": await our_kernel(stack, folder),
            "our engine, from verb to event": await our_engine(stack, folder),
        }
        seconds: dict[str, list[float]] = {name: [] for name in warm}
        for number in range(RUNS + 3):
            for name, run in warm.items():
                begun = time.perf_counter()
                async with asyncio.timeout(60):
                    await run()
                if number >= 3:
                    seconds[name].append(time.perf_counter() - begun)
        return seconds


def main() -> None:
    """Measure in a home of its own and print the section."""
    with TemporaryDirectory() as home:
        os.environ.clear()
        os.environ.update(clean_env(Path(home)))
        seconds = asyncio.run(measured(Path(home)))
    first, *_ = seconds.values()
    added = {name: sorted(own)[len(own) // 2] - sorted(first)[len(first) // 2] for name, own in seconds.items()}
    rows = [(name, *spread(own), f"{added[name] * 1000:.1f}") for name, own in seconds.items()]
    print(f"## Warm `{SOURCE}` (R12)\n")
    print(f"{RUNS} runs of each by turns, each in a kernel of its own that has been warmed up.")
    print(f"Budget: {BUDGET * 1000:.0f} ms more than the bare round trip.\n")
    print(table(("ms", "p50", "p90", "p99", "max", "more than bare"), rows))
    most = max(added.values())
    limit = f"<= {BUDGET * 1000:.0f} ms over bare Jupyter"
    judge(Budget(f"warm `{SOURCE}`", limit, f"{most * 1000:.1f} ms over it", most <= BUDGET, f"{rows[0][1]} ms"))


if __name__ == "__main__":
    main()
