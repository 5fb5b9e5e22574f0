"""Reading the clipboard through the terminal, by Kitty's clipboard protocol (OSC 5522).

Over ssh nothing else reaches the clipboard of the person. The program asks for a list of types, which a terminal gives
at once, then for what it wants, about which many terminals ask the person first. The answer comes in packets of a few
kilobytes among the keys. What arrives is foreign: each packet must name the read that it answers.
"""

import asyncio
import base64
import binascii
import re
import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

LIST_LIMIT = 2.0
"""Seconds until the list of types must be here."""

CONSENT_LIMIT = 60.0
"""Seconds that the person has to allow it, where the terminal asks."""

SILENCE_LIMIT = 5.0
"""Seconds without a packet after which a transfer is given up."""

TRANSFER_LIMIT = 180.0
"""Seconds that a read may take in all."""

LONGEST_PACKET = 16_384
"""Characters; a packet has 4 kB before base64."""

_BEGIN = "\x1b]5522;"
_BODY = re.compile(r"[\w;:=+/.\-]*", re.ASCII)
"""What a packet consists of. Anything else ends it, so that no key is lost in one that was cut."""
_ENDS = ("\x1b\\", "\x07")
_LIST = "."

_FAILURES = {
    "EPERM": "The terminal did not allow reading the clipboard.",
    "EBUSY": "The clipboard is in use by another program.",
    "ENOSYS": "The terminal has no clipboard to read.",
}


class UnreadableClipboard(Exception):
    """Why the terminal's clipboard could not be read, as a sentence."""


class Packet(NamedTuple):
    """A piece of an answer."""

    fields: dict[str, str]
    payload: str


class ClipboardPackets:
    """Picks packets out of what the terminal sends; the rest are keys."""

    def __init__(self, take: Callable[[Packet], None]) -> None:
        self._take = take
        self._held = ""

    def feed(self, text: str) -> str:
        """The keys among this text. An unfinished packet is held back until its end."""
        if not self._held and "\x1b" not in text:
            return text
        text, self._held = self._held + text, ""
        keys: list[str] = []
        while True:
            before, found, rest = text.partition(_BEGIN)
            keys.append(before)
            if not found:
                break
            body = _BODY.match(rest)
            end = body.end() if body is not None else 0
            mark = next((mark for mark in _ENDS if rest.startswith(mark, end)), "")
            if mark and end <= LONGEST_PACKET:
                self._take(_read_packet(rest[:end]))
            elif not mark and rest[end:] in ("", "\x1b"):  # of what is too long, so much that it stays so
                self._held = found + rest[: min(end, LONGEST_PACKET + 1)] + rest[end:]
                return "".join(keys)
            text = rest[end + len(mark) :]
        last = keys[-1]
        begun = next((size for size in range(len(_BEGIN) - 1, 0, -1) if last.endswith(_BEGIN[:size])), 0)
        self._held = last[len(last) - begun :]
        keys[-1] = last[: len(last) - begun]
        return "".join(keys)

    def rest(self) -> str:
        """What was held back and could be a key, since nothing followed; a packet that has begun is none."""
        if len(self._held) >= len(_BEGIN):
            return ""
        held, self._held = self._held, ""
        return held


class _Reading:
    """One read, from its question to its last packet. Packets come in the thread that reads keys."""

    def __init__(self, most: int) -> None:
        self.id = secrets.token_hex(8)
        self.found: dict[str, bytearray] = {}
        self.asked = self.heard = time.monotonic()
        self.begun = False
        self.done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it failed, "" if it did not."""
        self._loop = asyncio.get_running_loop()
        self._most = most
        self._size = 0

    def take(self, packet: Packet) -> None:
        self.heard, self.begun = time.monotonic(), True
        match packet.fields.get("status", ""):
            case "OK":
                pass
            case "DATA":
                try:
                    kind = _decode(packet.fields.get("mime", "")).decode("utf-8", errors="replace")
                    data = _decode(packet.payload)
                except (binascii.Error, ValueError):
                    self._end("The terminal sent a clipboard that cannot be read.")
                    return
                self._size += len(data) + len(kind)
                if self._size > self._most:
                    self._end(f"What is in the clipboard is larger than {self._most // 1_000_000} MB.")
                else:
                    self.found.setdefault(kind, bytearray()).extend(data)
            case "DONE":
                self._end("")
            case status:
                self._end(_FAILURES.get(status, "The terminal could not read the clipboard."))

    def _end(self, why: str) -> None:
        def finish() -> None:
            if not self.done.done():
                self.done.set_result(why)

        self._loop.call_soon_threadsafe(finish)


class TerminalClipboard:
    """The clipboard of the terminal that the person sits at; one read at a time, the newest."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._reading: _Reading | None = None
        packets = ClipboardPackets(self._take)
        self.feed, self.rest = packets.feed, packets.rest

    async def kinds(self) -> tuple[str, ...]:
        """The types that are there. UnreadableClipboard where the terminal does not say."""
        found = await self._read(_LIST, most=100_000, patience=LIST_LIMIT)
        listed = b" ".join(bytes(data) for data in found.values()).decode("utf-8", errors="replace").split()
        return tuple(dict.fromkeys([*listed, *(kind for kind in found if kind != _LIST)]))

    async def read(self, kinds: Iterable[str], *, most: int) -> dict[str, bytes]:
        """The clipboard's content in these types, at most so many bytes in all. UnreadableClipboard if that fails."""
        found = await self._read(" ".join(kinds), most=most, patience=CONSENT_LIMIT)
        return {kind: bytes(data) for kind, data in found.items()}

    async def _read(self, wanted: str, *, most: int, patience: float) -> dict[str, bytearray]:
        reading = self._reading = _Reading(most)
        payload = base64.b64encode(wanted.encode()).decode()
        self._write(f"{_BEGIN}type=read:id={reading.id};{payload}{_ENDS[0]}")
        try:
            while not reading.done.done():
                due = reading.heard + (SILENCE_LIMIT if reading.begun else patience)
                left = min(due, reading.asked + TRANSFER_LIMIT) - time.monotonic()
                if left <= 0:
                    raise UnreadableClipboard("The terminal did not send its clipboard in time.")
                await asyncio.wait([reading.done], timeout=left)
        finally:
            if self._reading is reading:
                self._reading = None
        if why := reading.done.result():
            raise UnreadableClipboard(why)
        return reading.found

    def _take(self, packet: Packet) -> None:
        reading = self._reading
        if reading is not None and packet.fields.get("id") == reading.id and packet.fields.get("type") == "read":
            reading.take(packet)


@runtime_checkable
class AsksTerminal(Protocol):
    """A driver that knows its terminal."""

    picks: Any
    """Who takes packets out of the keys."""

    @property
    def knows_clipboard(self) -> bool:
        """Whether the terminal reported that it has this protocol."""
        ...

    def write(self, data: str) -> None: ...
    def flush(self) -> None: ...


def terminal_clipboard(driver: object) -> TerminalClipboard | None:
    """The clipboard of this driver's terminal; None if the terminal did not say that it has this protocol."""
    if not isinstance(driver, AsksTerminal) or not driver.knows_clipboard:
        return None
    clipboard = driver.picks
    if not isinstance(clipboard, TerminalClipboard):  # it stays: a packet may come late
        driver.picks = clipboard = TerminalClipboard(partial(_tell, driver))
    return clipboard


def _tell(driver: AsksTerminal, sequence: str) -> None:
    driver.write(sequence)
    driver.flush()


def _read_packet(text: str) -> Packet:
    head, _, payload = text.partition(";")
    fields = (field.partition("=") for field in head.split(":"))
    return Packet({name: value for name, _, value in fields}, payload)


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
