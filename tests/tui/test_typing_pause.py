"""Work in the background waits for keys, from the moment they are read."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest
from textual.events import Key
from textual.message import Message

from oi_tui.app.screens import typing_pause
from oi_tui.app.screens.typing_pause import TypingPause, preload
from oi_tui.app.terminal.guarded_driver import GuardedDriver


async def test_work_waits_for_a_key_that_was_read_until_it_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typing_pause, "LONGEST", 1000.0)
    monkeypatch.setattr(typing_pause, "PAINTED", 0.0)
    pause = TypingPause()
    pause.note_read()
    work = asyncio.create_task(pause.wait())
    imports = asyncio.create_task(asyncio.to_thread(pause.block))
    await asyncio.sleep(0.01)
    assert not work.done()
    assert not imports.done()
    pause.note_key()
    await asyncio.wait_for(asyncio.gather(work, imports), 10)


class Reader(GuardedDriver):
    """Reads keys from a pipe, until the first one."""

    def __init__(self, fileno: int) -> None:
        self.fileno = fileno
        self.exit_event = Event()
        self._debug = False
        self.seen: list[str] = []
        self.key_read = lambda: self.seen.append("read")

    def process_message(self, message: Message) -> None:
        assert isinstance(message, Key)
        self.seen.append(message.key)
        self.exit_event.set()


def test_a_key_is_announced_before_the_app_gets_it() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a")
    reader = Reader(reading)
    reader.run_input_thread()
    assert reader.seen == ["read", "a"]
    os.close(reading)
    os.close(writing)


def test_an_import_aside_leaves_the_list_of_finders_that_other_threads_go_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread that looks for a module while the list gets shorter misses a finder, and the module with it."""
    seen: list[bool] = []

    class Recorder:
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            seen.append(name == "this" and finders == before)

    finders: list[Any] = [Recorder(), *sys.meta_path]
    before = list(finders)
    monkeypatch.setattr(sys, "meta_path", finders)
    monkeypatch.delitem(sys.modules, "this", raising=False)

    TypingPause()._import("this")

    assert seen == [True]
    assert finders == before == sys.meta_path


class Held(TypingPause):
    """Waits for a key that is painted when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.waits, self.painted = Event(), Event()

    def block(self) -> None:
        self.waits.set()
        self.painted.wait(10)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_another_thread_imports_while_an_import_aside_waits_for_a_key(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typing_pause, "OURS", "imported_aside")
    for name in ("imported_aside", "imported_meanwhile"):
        (modules / f"{name}.py").touch()
    pause = Held()
    aside = Thread(target=pause._import, args=("imported_aside",))
    meanwhile = Thread(target=import_module, args=("imported_meanwhile",))
    aside.start()
    assert pause.waits.wait(10)
    meanwhile.start()
    meanwhile.join(5)
    try:
        assert not meanwhile.is_alive()
    finally:
        pause.painted.set()
        aside.join(10)
        meanwhile.join(10)
    assert {"imported_aside", "imported_meanwhile"} <= sys.modules.keys()


def test_no_key_is_waited_for_within_a_package_of_others(modules: Path) -> None:
    """Another thread that imports a module of it would wait for the package, and the package for the module."""
    (modules / "foreign").mkdir()
    (modules / "foreign" / "__init__.py").write_text("import foreign.part")
    (modules / "foreign" / "part.py").touch()
    pause = Held()
    pause._import("foreign")
    assert not pause.waits.is_set()


MARKS = """
import recorder
recorder.seen.append(__name__)
recorder.go_on.wait(10)
recorder.seen.append(__name__)
"""


async def test_imports_in_threads_come_one_after_the_other(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that import each other's packages are told of a deadlock by importlib."""
    recorder: Any = ModuleType("recorder")
    recorder.seen, recorder.go_on = [], Event()
    monkeypatch.setitem(sys.modules, "recorder", recorder)
    for name in ("aside_first", "aside_second"):
        (modules / f"{name}.py").write_text(MARKS)
    pause = TypingPause()
    both = asyncio.gather(pause.import_aside("aside_first"), preload("aside_second"))
    await asyncio.sleep(0.05)
    recorder.go_on.set()
    await asyncio.wait_for(both, 10)
    begun, ended, *others = recorder.seen
    assert begun == ended
    assert others == [({"aside_first", "aside_second"} - {begun}).pop()] * 2


@pytest.mark.parametrize("imported", [TypingPause().import_aside, preload])
async def test_an_import_in_a_thread_that_fails_does_so_where_the_module_is_used(
    modules: Path, imported: Callable[[str], Awaitable[None]]
) -> None:
    (modules / "imported_in_vain.py").write_text("raise RuntimeError('deadlock detected')")
    finders = sys.meta_path
    await imported("imported_in_vain")
    assert sys.meta_path == finders
    with pytest.raises(RuntimeError, match="deadlock"):
        import_module("imported_in_vain")


FAILS_ONCE = """
import recorder
recorder.tries += 1
if recorder.tries == 1:
    raise RuntimeError("deadlock detected")
"""


async def test_an_import_in_a_thread_is_tried_again(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the main loop imported at the same time is there then."""
    recorder: Any = ModuleType("recorder")
    recorder.tries = 0
    monkeypatch.setitem(sys.modules, "recorder", recorder)
    (modules / "imported_later.py").write_text(FAILS_ONCE)
    await TypingPause().import_aside("imported_later")
    assert "imported_later" in sys.modules
