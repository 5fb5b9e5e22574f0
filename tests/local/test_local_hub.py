"""Fetching from the publisher's hub: whole, interrupted, wrong, missing."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.fetch import fetch
from oi_tui.app.engine.local.hub import Hub
from oi_tui.app.engine.local.sources import Progress
from oi_tui.app.engine.local.weights import Weights


class Shelf:
    """A source that has the bytes at hand."""

    name = "shelf"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def room(self, model: LocalModel, folder: Path) -> int:
        return model.size

    async def bring(self, model: LocalModel, folder: Path, progress: Progress) -> Path:
        file = folder / "file"
        file.write_bytes(self.content)
        return file


async def test_a_model_comes_from_the_hub_and_is_then_installed(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub()])
    assert path == weights.path(model)
    assert path.read_bytes() == content
    assert weights.installed_models() == (model,)
    assert not weights.partial(model).exists()
    assert heard.stages() == ["downloading", "verifying"]
    assert heard.all[-1].done_bytes == heard.all[-1].total_bytes == model.size


async def test_a_file_that_is_kept_elsewhere_is_fetched_there(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.moved = {"/tiny.gguf": "/cdn/one", "/cdn/one": f"{server.url}/cdn/two"}
    server.files["/cdn/two"] = content
    server.cuts = [1_500_000]
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub()])
    assert path.read_bytes() == content
    assert [path for path, _ in server.asked] == ["/tiny.gguf", "/cdn/one", "/cdn/two"] * 2


async def test_addresses_that_lead_in_a_circle_are_given_up(
    server: Any, model: LocalModel, weights: Weights, heard: Any
) -> None:
    server.moved = {"/tiny.gguf": "/tiny.gguf"}
    async with asyncio.timeout(30):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[Hub()])
    assert "without end" in caught.value.details
    assert len(server.asked) < 10


async def test_an_installed_model_is_not_fetched_again(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    weights.folder.mkdir()
    weights.path(model).write_bytes(content)
    assert await fetch(model, weights, progress=heard, sources=[Hub()]) == weights.path(model)
    assert server.asked == []


async def test_a_download_that_is_cut_goes_on_where_it_broke_off(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content
    server.cuts = [1_500_000, 500_000]
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub()])
    assert path.read_bytes() == content
    starts = [int(wanted.removeprefix("bytes=").rstrip("-") or 0) for _, wanted in server.asked]
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert len(starts) == 3


async def test_a_server_without_ranges_is_read_from_the_beginning(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content
    server.ranges = False
    server.cuts = [1_500_000]
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub()])
    assert path.read_bytes() == content


async def test_a_cancelled_download_keeps_its_bytes_and_the_next_one_goes_on(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content
    server.held = "/tiny.gguf"
    async with asyncio.timeout(60):
        task = asyncio.create_task(fetch(model, weights, progress=heard, sources=[Hub()]))
        assert await asyncio.to_thread(server.reached.wait, 30)
        await heard.something.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert weights.installed_models() == ()
        kept = weights.size_on_disk(model)
        assert 0 < kept < model.size
        server.held = ""
        path = await fetch(model, weights, progress=heard, sources=[Hub()])
    assert path.read_bytes() == content
    assert server.asked[-1] == ("/tiny.gguf", f"bytes={kept}-")


async def test_wrong_bytes_are_refused_and_removed(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = b"x" + content[1:]
    async with asyncio.timeout(30):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[Hub()])
    assert "wrong sha256" in caught.value.details
    assert "oi-tui models add" in caught.value.hint
    assert weights.installed_models() == ()
    assert weights.size_on_disk(model) == 0


async def test_a_file_that_is_too_long_is_refused_without_filling_the_disk(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content * 4
    async with asyncio.timeout(30):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[Hub()])
    assert "another size" in caught.value.details
    assert weights.size_on_disk(model) == 0


async def test_a_missing_file_leads_to_the_next_source(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub(), Shelf(content)])
    assert server.asked == [("/tiny.gguf", "")]
    assert path.read_bytes() == content


async def test_a_wrong_source_leads_to_the_next_one(
    model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Shelf(b"nonsense"), Shelf(content)])
    assert path.read_bytes() == content


async def test_an_unreachable_hub_says_so_in_the_details(model: LocalModel, weights: Weights, heard: Any) -> None:
    # Port 9 of the loopback interface: nobody listens there.
    nowhere = msgspec.structs.replace(model, hub_url="http://127.0.0.1:9/tiny.gguf")
    async with asyncio.timeout(30):
        with pytest.raises(LocalModelError) as caught:
            await fetch(nowhere, weights, progress=heard, sources=[Hub()])
    assert caught.value.title == "Tiny (3 MB) could not be downloaded."
    assert caught.value.details.startswith("hub: ")


async def test_a_proxy_that_cannot_be_used_leads_to_the_next_source(
    model: LocalModel, weights: Weights, content: bytes, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks9://127.0.0.1:9")
    async with asyncio.timeout(30):
        path = await fetch(model, weights, progress=heard, sources=[Hub(), Shelf(content)])
    assert path.read_bytes() == content


async def test_a_full_disk_is_told_with_numbers_before_anything_is_asked_for(
    server: Any, model: LocalModel, tmp_path: Path, heard: Any
) -> None:
    full = Weights(tmp_path / "models", models=(model,), free_bytes=lambda _: 51_000_000)
    with pytest.raises(LocalModelError, match=r"53 MB are needed, 51 MB are free") as caught:
        await fetch(model, full, progress=heard, sources=[Hub()])
    assert "XDG_CACHE_HOME" in caught.value.hint
    assert server.asked == []


async def test_two_downloads_of_one_model_do_not_spoil_each_other(
    server: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    server.files["/tiny.gguf"] = content
    server.held = "/tiny.gguf"
    async with asyncio.timeout(60):
        first = asyncio.create_task(fetch(model, weights, progress=heard, sources=[Hub()]))
        assert await asyncio.to_thread(server.reached.wait, 30)
        with pytest.raises(LocalModelError, match="being downloaded already"):
            await fetch(model, weights, progress=heard, sources=[Hub()])
        server.release.set()
        assert (await first).read_bytes() == content
