"""The clipboard through the terminal: packets among keys, whatever a terminal sends, and a whole read in a terminal."""

import asyncio
import base64
import functools
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from oi_tui.app.screens.clipboard import Clipboard, read_clipboard
from oi_tui.app.screens.clipboard_reading import ClipboardPackets, Packet, TerminalClipboard, UnreadableClipboard
from oi_tui.app.terminal.probe import Answers
from support.terminal import Terminal, clean_env

REQUEST = re.compile(r"\x1b\]5522;type=read:id=(\w+);([\w+/=]+)\x1b\\")


def b64(data: str | bytes) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def packet(status: str, number: str = "1", kind: str = "", data: bytes = b"") -> str:
    mime = f":mime={b64(kind)}" if kind else ""
    payload = f";{b64(data)}" if data else ""
    return f"\x1b]5522;type=read:id={number}:status={status}{mime}{payload}\x1b\\"


def sent(number: str, contents: dict[str, bytes]) -> list[str]:
    """A whole answer, in pieces of 4,096 bytes."""
    parts = [packet("OK", number)]
    for kind, data in contents.items():
        parts += [packet("DATA", number, kind, data[at : at + 4096]) for at in range(0, len(data), 4096)]
    return [*parts, packet("DONE", number)]


def note_status(taken: list[str], one: Packet) -> None:
    taken.append(one.fields["status"])


@functools.cache  # it is noise, which does not compress
def png() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((90, 70), 60).save(file, "PNG")
    return file.getvalue()


def test_P9_packets_are_taken_out_of_the_keys_wherever_they_are_cut() -> None:
    text = f"a{packet('OK')}b\x1b[A{packet('DATA', kind='image/png', data=b'xyz')}\x1b"
    for cut in range(len(text) + 1):
        taken: list[str] = []
        packets = ClipboardPackets(functools.partial(note_status, taken))
        assert packets.feed(text[:cut]) + packets.feed(text[cut:]) + packets.rest() == "ab\x1b[A\x1b"
        assert taken == ["OK", "DATA"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("\x1b]5522;type=read:status=OK\x1b[Ax", "\x1b[Ax"),
        ("\x1b]5522;type=read hello", " hello"),
        (f"\x1b]5522;{'A' * 20_000}\x1b\\y", "y"),
        ("\x1b]5522;\r", "\r"),
        ("\x1b]52;c;\x07", "\x1b]52;c;\x07"),
    ],
)
def test_P9_a_packet_that_is_broken_takes_no_key_with_it(text: str, keys: str) -> None:
    packets = ClipboardPackets(lambda one: None)
    assert packets.feed(text) + packets.rest() == keys


def test_P9_a_packet_that_is_too_long_types_nothing_in_whatever_pieces_it_comes() -> None:
    taken: list[str] = []
    packets = ClipboardPackets(functools.partial(note_status, taken))
    keys = packets.feed("a\x1b]5522;type=read:status=DATA;")
    for _ in range(100):
        keys += packets.feed("A" * 4096)
    keys += packets.feed("AA\x1b") + packets.feed("\\b") + packets.feed(packet("OK")) + packets.feed("c")
    assert (keys + packets.rest(), taken) == ("abc", ["OK"])


def clipboard(answer: Callable[[str, str], list[str]]) -> TerminalClipboard:
    """Of a terminal that answers so, to the id of a read and the types that it asks for."""

    def write(sequence: str) -> None:
        request = REQUEST.fullmatch(sequence)
        assert request is not None
        for part in answer(request[1], base64.b64decode(request[2]).decode()):
            assert reading.feed(part) == ""

    reading = TerminalClipboard(write)
    return reading


def holding(contents: dict[str, bytes]) -> Callable[[str, str], list[str]]:
    """A terminal with this in its clipboard."""

    def answer(number: str, wanted: str) -> list[str]:
        if wanted == ".":
            return sent(number, {".": " ".join(contents).encode()})
        return sent(number, {kind: contents[kind] for kind in wanted.split()})

    return answer


async def test_P9_without_a_desktop_the_clipboard_of_the_terminal_is_read(tmp_path: Path) -> None:
    told: list[str] = []
    there = clipboard(holding({"text/html": b"<b>", "image/png": png(), "text/plain": "grün".encode()}))
    ssh = {"SSH_TTY": "/dev/pts/1", "WAYLAND_DISPLAY": "wayland-0", "PATH": "/usr/bin:/bin"}
    assert await read_clipboard(ssh, there, told.append) == Clipboard(png(), "grün")
    assert len(told) == 1
    assert await read_clipboard(ssh, clipboard(holding({"text/uri-list": b"file:///a"}))) == Clipboard(
        paths="file:///a"
    )
    assert await read_clipboard(ssh, clipboard(holding({}))) == Clipboard()
    # The desktop's own program comes first.
    (tmp_path / "wl-paste").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "wl-paste").chmod(0o700)
    local = {"WAYLAND_DISPLAY": "wayland-0", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert await read_clipboard(local, clipboard(lambda number, wanted: pytest.fail("asked"))) == Clipboard()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda number, wanted: [packet("EPERM", number)], "did not allow"),
        (lambda number, wanted: [packet("EBUSY", number)], "in use"),
        (lambda number, wanted: [packet("NONSENSE", number)], "could not read"),
        (
            lambda number, wanted: [packet("OK", number), f"\x1b]5522;type=read:id={number}:status=DATA;A\x1b\\"],
            "cannot",
        ),
        (lambda number, wanted: sent(number, {"x": b"1" * 9000}), "larger than 0 MB"),
    ],
)
async def test_P9_what_a_terminal_refuses_or_sends_wrongly_is_said(
    answer: Callable[[str, str], list[str]], why: str
) -> None:
    with pytest.raises(UnreadableClipboard, match=why):
        await clipboard(answer).read(["image/png"], most=8_000)


async def test_P9_a_terminal_that_is_silent_or_answers_another_read_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oi_tui.app.screens.clipboard_reading.CONSENT_LIMIT", 0.05)
    monkeypatch.setattr("oi_tui.app.screens.clipboard_reading.SILENCE_LIMIT", 0.05)
    for answer in (
        lambda number, wanted: [],
        lambda number, wanted: sent("another", {"image/png": b"x"}),
        lambda number, wanted: sent(number, {"image/png": b"x"})[:-1],
    ):
        async with asyncio.timeout(5):
            with pytest.raises(UnreadableClipboard, match="in time"):
                await clipboard(answer).read(["image/png"], most=8_000)


def test_P9_a_terminal_says_whether_programs_can_read_its_clipboard() -> None:
    for said, known in (("2", True), ("1", True), ("0", False), ("4", False)):
        answers = Answers()
        assert answers.feed(f"a\x1b[?5522;{said}$yb\x1b[?62;c") == "ab"
        assert answers.known.clipboard is known


PROGRAM = """
from textual.app import App
from textual.widgets import Input, Label
from oi_tui.app.screens.clipboard import read_clipboard
from oi_tui.app.screens.clipboard_reading import terminal_clipboard
from oi_tui.app.terminal.probing_driver import ProbingDriver

class Pasting(App[None]):
    def __init__(self):
        super().__init__(driver_class=ProbingDriver)

    def compose(self):
        yield Label("waiting", markup=False)
        yield Input()

    def on_terminal_known(self, message):
        self.query_one(Label).update(f"clipboard {message.known.clipboard}")

    def on_key(self, event):
        if event.key == "f2":
            self.run_worker(self.read())

    async def read(self):
        found = await read_clipboard({"SSH_TTY": "x"}, terminal_clipboard(self._driver))
        self.query_one(Label).update(f"picture of {len(found.picture)} bytes <{found.text}{found.why}>")

Pasting().run()
"""


class Kitty(Terminal):
    """A terminal with a picture in its clipboard; its user types while it is sent."""

    modes = Terminal.modes | {b"5522"}
    asked = b""

    def _take(self, data: bytes) -> None:
        super()._take(data)
        self.asked += data
        for request in re.finditer(REQUEST.pattern.encode(), self.asked):
            self.asked = b""
            number, wanted = request[1].decode(), base64.b64decode(request[2]).decode()
            answer = holding({"image/png": png(), "text/plain": b"words"})(number, wanted)
            for at, part in enumerate(answer):
                self._write(part.encode() + (b"k" if wanted != "." and at < 3 else b""))


@pytest.mark.pty
def test_P9_a_picture_comes_through_a_real_terminal_and_no_key_is_lost(tmp_path: Path) -> None:
    env = clean_env(tmp_path, **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}))
    with Kitty([sys.executable, "-c", PROGRAM], env=env, cwd=tmp_path, columns=70, rows=8) as terminal:
        terminal.wait_for("clipboard True")
        terminal.send("\x1bOQ")
        terminal.wait_for(f"picture of {len(png())} bytes <words>")
        terminal.wait_for("kkk")
