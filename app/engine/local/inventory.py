"""Embedded models as people see them: the offers of the first screen, and the rows of `oi-tui models`."""

from typing import Literal

from oi_tui.app.engine.core.errors import LocalModelError
from oi_tui.app.engine.core.protocol import ModelOffer
from oi_tui.app.engine.core.values import Value
from oi_tui.app.engine.local.catalogue import LocalModel, offered_models
from oi_tui.app.engine.local.model_choice import MachineResources, choose_model
from oi_tui.app.engine.local.weights import Weights
from oi_tui.app.engine.text.words import coarse_size

WeightsState = Literal["installed", "partial", "absent"]


class ModelEntry(Value, frozen=True, kw_only=True):
    """One row of `oi-tui models`."""

    model: LocalModel
    state: WeightsState
    size_on_disk: int
    """Bytes, an unfinished download included."""
    path: str
    """Where the whole file is or will be."""
    recommended: bool = False


def model_entries(weights: Weights, machine: MachineResources) -> tuple[ModelEntry, ...]:
    """The offered models in the catalogue's order, and hidden ones that are here."""
    best = choose_model(machine).model
    shown = dict.fromkeys((*offered_models(), *weights.installed_models()))
    return tuple(
        ModelEntry(
            model=model,
            state=_state(weights, model),
            size_on_disk=weights.size_on_disk(model),
            path=str(weights.path(model)),
            recommended=model == best,
        )
        for model in shown
    )


def embedded_offers(
    weights: Weights, machine: MachineResources, *, obstacle: LocalModelError | None
) -> tuple[ModelOffer, ...]:
    """What the first screen offers: installed ones first; none where an `obstacle` keeps the runtime from loading."""
    if obstacle is not None:
        return ()
    best = choose_model(machine).model
    found = [_offer(weights, model, recommended=model == best) for model in offered_models()]
    return tuple(sorted(found, key=lambda offer: offer.download_bytes > 0))


def explain_choice(machine: MachineResources, *, obstacle: LocalModelError | None) -> str:
    """One line on the recommended model, or on why none can run."""
    if obstacle is not None:
        return f"{obstacle.title} {obstacle.hint}".rstrip()
    return choose_model(machine).why


def _offer(weights: Weights, model: LocalModel, *, recommended: bool) -> ModelOffer:
    here = weights.is_installed(model)
    missing = 0 if here else model.size
    size = f"{coarse_size(model.size)} {'on disk' if here else 'download'}"
    return ModelOffer(
        id=model.name if here else model.id,
        kind="embedded",
        title=f"Built-in: {model.title}",
        detail=f"{size}, {coarse_size(model.memory)} memory, no key, stays on this machine · {model.licence}",
        download_bytes=missing,
        recommended=recommended,
    )


def _state(weights: Weights, model: LocalModel) -> WeightsState:
    if weights.is_installed(model):
        return "installed"
    return "partial" if weights.size_on_disk(model) else "absent"
