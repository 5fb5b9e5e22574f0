"""What people are shown of the embedded models."""

from pathlib import Path

import pytest

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.local.catalogue import GB, LocalModel, find
from oi_tui.app.engine.local.inventory import ModelEntry, embedded_offers, explain_choice, model_entries
from oi_tui.app.engine.local.model_choice import MachineResources
from oi_tui.app.engine.local.weights import Weights

MACHINE = MachineResources(cores=2, free=20 * GB)


@pytest.fixture
def large() -> LocalModel:
    return find("qwen2.5-coder-1.5b")


@pytest.fixture
def small() -> LocalModel:
    return find("qwen2.5-coder-0.5b")


@pytest.fixture
def empty(tmp_path: Path) -> Weights:
    return Weights(tmp_path / "models")


def put(weights: Weights, model: LocalModel) -> None:
    """A file of the right size that takes no room."""
    weights.folder.mkdir(exist_ok=True)
    with weights.path(model).open("wb") as file:
        file.truncate(model.size)


def test_the_first_screen_offers_what_suits_the_machine_with_size_memory_and_licence(
    empty: Weights, large: LocalModel, small: LocalModel
) -> None:
    assert embedded_offers(empty, MACHINE, obstacle=None) == (
        ModelOffer(
            id="qwen2.5-coder-1.5b",
            kind="embedded",
            title="Built-in: Qwen2.5-Coder 1.5B",
            detail="1.1 GB download, 2.0 GB memory, no key, stays on this machine · Apache-2.0",
            download_bytes=large.size,
            recommended=True,
        ),
        ModelOffer(
            id="qwen2.5-coder-0.5b",
            kind="embedded",
            title="Built-in: Qwen2.5-Coder 0.5B",
            detail="491 MB download, 710 MB memory, no key, stays on this machine · Apache-2.0",
            download_bytes=small.size,
        ),
    )


def test_installed_models_come_first_are_ready_and_have_the_name_the_session_uses(
    empty: Weights, small: LocalModel
) -> None:
    put(empty, small)
    first, second = embedded_offers(empty, MACHINE, obstacle=None)
    assert (first.id, first.download_bytes) == ("local/qwen2.5-coder-0.5b", 0)
    assert first.detail.startswith("491 MB on disk")
    assert (second.id, second.recommended) == ("qwen2.5-coder-1.5b", True)


def test_without_the_runtime_nothing_is_offered_and_the_reason_is_told(empty: Weights) -> None:
    obstacle = LocalModelError("libgomp.so.1 cannot be opened.", hint="Install libgomp1.")
    assert embedded_offers(empty, MACHINE, obstacle=obstacle) == ()
    assert explain_choice(MACHINE, obstacle=obstacle) == "libgomp.so.1 cannot be opened. Install libgomp1."
    assert explain_choice(MACHINE, obstacle=None).startswith("Qwen2.5-Coder 1.5B: this machine has 2 cores")


def test_the_inventory_tells_state_and_size(empty: Weights, large: LocalModel, small: LocalModel) -> None:
    put(empty, small)
    empty.partial(large).mkdir(parents=True)
    (empty.partial(large) / "file").write_bytes(b"12345")
    assert model_entries(empty, MACHINE) == (
        ModelEntry(model=large, state="partial", size_on_disk=5, path=str(empty.path(large)), recommended=True),
        ModelEntry(model=small, state="installed", size_on_disk=small.size, path=str(empty.path(small))),
    )


def test_a_hidden_model_is_listed_only_when_it_is_here(empty: Weights) -> None:
    smol = find("smollm2-135m")
    assert smol not in [entry.model for entry in model_entries(empty, MACHINE)]
    put(empty, smol)
    assert smol in [entry.model for entry in model_entries(empty, MACHINE)]
