"""The folder of weights: what counts as installed, taking in a file, removing."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.local.catalogue import LocalModel
from oi_tui.app.engine.local.weights import Weights


def test_a_file_that_the_person_names_is_taken_in_as_a_copy(
    tmp_path: Path, model: LocalModel, weights: Weights, content: bytes
) -> None:
    file = tmp_path / "downloads.bin"
    file.write_bytes(content)
    assert weights.add(file) == model
    assert weights.path(model).read_bytes() == content
    assert file.exists()
    assert weights.verify(model)


def test_a_file_with_other_bytes_is_refused_and_nothing_is_left(
    tmp_path: Path, model: LocalModel, weights: Weights, content: bytes
) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(content[:-1] + b"x")
    with pytest.raises(LocalModelError, match="none of the known models") as caught:
        weights.add(file)
    assert "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf (1,117,320,768 bytes)" in caught.value.hint
    assert list(weights.folder.iterdir()) == []


def test_a_file_that_is_not_there_is_a_plain_error(tmp_path: Path, weights: Weights) -> None:
    with pytest.raises(LocalModelError, match="No such file"):
        weights.add(tmp_path / "nothing.gguf")


def test_a_partial_file_never_counts_as_installed(model: LocalModel, weights: Weights, content: bytes) -> None:
    weights.partial(model).mkdir(parents=True)
    (weights.partial(model) / "file").write_bytes(content)
    weights.path(model).write_bytes(content[:-1])
    assert weights.installed_models() == ()
    assert not weights.verify(model)


def test_verifying_finds_a_file_that_was_damaged(model: LocalModel, weights: Weights, content: bytes) -> None:
    weights.folder.mkdir()
    weights.path(model).write_bytes(b"x" + content[1:])
    assert not weights.verify(model)


def test_removing_tells_what_it_freed_and_takes_the_unfinished_download_too(
    model: LocalModel, weights: Weights, content: bytes
) -> None:
    weights.partial(model).mkdir(parents=True)
    (weights.partial(model) / "file").write_bytes(b"12345")
    weights.path(model).write_bytes(content)
    assert weights.size_on_disk(model) == model.size + 5
    assert weights.remove(model) == model.size + 5
    assert weights.remove(model) == 0
    assert weights.installed_models() == ()


def test_a_full_disk_refuses_a_file(tmp_path: Path, model: LocalModel, content: bytes) -> None:
    full = Weights(tmp_path / "models", models=(model,), free_bytes=lambda _: 0)
    file = tmp_path / "tiny.gguf"
    file.write_bytes(content)
    with pytest.raises(LocalModelError, match="Not enough disk space"):
        full.add(file)


def test_weights_live_in_the_cache_folder_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Weights().folder == tmp_path / "oi-tui" / "models"
