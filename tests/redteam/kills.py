"""Kills at moments that nobody chose: of kernels that start, of who writes sessions and the audit log."""

import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from redteam.attempts import Attack

from oi_tui.app.engine.log.audit.verify import verify_folder
from oi_tui.app.engine.log.store import Store
from support.enclosure import why_no_rung
from support.kernel_kills import StartScene, kill_a_start
from support.killing import LONGEST, kill_audit_writer, one, states_of_script, what_is_wrong
from support.promises import LINUX_RUNGS


def start_kills(attack: Attack) -> None:
    """Of the engine, of the first process, of who waits, in each kind of sandbox by turns."""
    rungs = [rung.name for rung in LINUX_RUNGS if not why_no_rung(rung.name)]
    attack.tally.note = "; ".join(filter(None, (why_no_rung(rung.name) for rung in LINUX_RUNGS)))

    async def all_of_them() -> None:
        with TemporaryDirectory(prefix="k-", dir="/tmp") as runtime, TemporaryDirectory() as folder:
            os.environ["XDG_RUNTIME_DIR"] = runtime
            scenes = {}
            for name in rungs:
                Path(folder, name).mkdir()
                scenes[name] = StartScene(Path(folder, name), Path(runtime), name)
            for number in attack.numbers():
                name = rungs[number // 3 % len(rungs)]
                attack.count(name)
                try:
                    await kill_a_start(scenes[name], number, int(attack.order.seed))
                except AssertionError as error:
                    attack.through(number, f"{name}: {error}")

    asyncio.run(all_of_them())


def storage_kills(attack: Attack) -> None:
    """Of a program that writes a session: what it said was written is there, and the file is whole."""
    states = states_of_script()
    for number in attack.numbers():
        with TemporaryDirectory() as folder:
            path = Path(folder, "sessions.db")
            written = one(path, attack.chance(number).uniform(0, LONGEST))
            wrong = what_is_wrong(path, written, states)
            with closing(Store(path)) as store:
                wrong += "" if store.record("killed") else "the session is not there"
            if wrong:
                attack.through(number, wrong)


def audit_kills(attack: Attack) -> None:
    """Of a program that writes an audit log: what is there is intact."""
    with TemporaryDirectory() as folder:
        for number in attack.numbers():
            kill_audit_writer(Path(folder), attack.chance(number).uniform(0, 0.1))
            if any(not report.intact for report in verify_folder(Path(folder))):
                attack.through(number, "the log is not intact")


KILL_KINDS: dict[str, Callable[[Attack], None]] = {
    "kills while a kernel starts": start_kills,
    "kills while a session is written": storage_kills,
    "kills while the audit log is written": audit_kills,
}
