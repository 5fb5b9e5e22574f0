"""The listing of a folder outside of the working folder: bounded, safe, and never waited for."""

import asyncio
import os
from pathlib import Path

import pytest

from oi_tui.app.commands import folder_listing
from oi_tui.app.commands.folder_listing import FolderListing, is_outside, list_folder
from support.stage import HandClock


async def listed(listing: FolderListing, folder: Path, query: str) -> list[str]:
    """What is offered as soon as the folder is read."""
    async with asyncio.timeout(10):
        while (found := listing.search(folder, query, (read := asyncio.Event()).set)) is None:
            await read.wait()
    return found


def test_only_what_leads_somewhere_by_itself_is_outside() -> None:
    assert all(map(is_outside, ("/", "~/a", "../", "./b")))
    assert not any(map(is_outside, ("", "a/b", "~", "..", ".git/", "...")))


async def test_names_that_begin_with_what_is_typed_come_first_and_hidden_ones_after_a_dot(tmp_path: Path) -> None:
    for name in ("data.csv", "old-data.csv", ".data", "Dat"):
        (tmp_path / name).write_text("")
    (tmp_path / "data2").mkdir()
    (tmp_path / "evil\x1b[2J").write_text("")
    listing, prefix = FolderListing(), f"{tmp_path}/"
    assert await listed(listing, Path("/"), f"{prefix}da") == [
        f"{prefix}{name}" for name in ("Dat", "data.csv", "data2/", "old-data.csv")
    ]
    assert await listed(listing, Path("/"), f"{prefix}.d") == [f"{prefix}.data"]
    assert await listed(listing, Path("/"), f"{prefix}evil") == []


async def test_a_folder_is_read_within_bounds_and_what_cannot_be_read_offers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_listing, "MOST", 3)
    for number in range(5):
        (tmp_path / f"f{number}").write_text("")
    listing = FolderListing()
    assert len(await listed(listing, tmp_path, "./")) == 3
    assert listing.is_cut
    assert list_folder(f"{tmp_path}/nowhere", 3) == []
    assert await listed(listing, tmp_path, "./nowhere/") == []


async def test_a_folder_that_does_not_answer_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    slow = list_folder
    asked: list[str] = []

    def wait(place: str, most: int) -> list[str]:
        asked.append(place)
        os.read(reading, 1)
        return slow(place, most)

    monkeypatch.setattr(folder_listing, "list_folder", wait)
    (tmp_path / "a").write_text("")
    clock = HandClock()
    listing, read = FolderListing(clock), asyncio.Event()
    assert listing.search(tmp_path, "./", read.set) is None
    assert listing.search(tmp_path, "../", read.set) is None  # of the other folders none is begun meanwhile
    os.write(writing, b"x")
    async with asyncio.timeout(10):
        await read.wait()
        assert listing.search(tmp_path, "./", read.set) == ["./a"]
        assert len(asked) == 1
        # Another folder is asked for while the same one is read anew: it has its turn.
        clock.now = folder_listing.FRESH
        listing.search(tmp_path, "./", read.set)
        read.clear()
        assert listing.search(tmp_path, "../", read.set) is None
        os.write(writing, b"xx")
        await read.wait()
        assert await listed(listing, tmp_path, "../")
    os.close(reading)
    os.close(writing)
