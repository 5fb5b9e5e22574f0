"""The model that a task uses, of those that were found, and the message if there is none."""

from oi_tui.app.engine.core.protocol import ModelOffer


def is_ready(offer: ModelOffer) -> bool:
    """Whether it can be used as it is, without a choice that was made for another task."""
    return not (offer.download_bytes or offer.recent or offer.wants_key)


def no_model(best: ModelOffer | None, why: str) -> str:
    """What to do where no model can be used; `best` is one that could be downloaded."""
    lines = ["✗ No model: no key and no local server was found."]
    if best is not None:
        lines.append(f"  {best.title} · {best.detail}")
        lines.append("  To download and use it: --accept-download (or OI_TUI_ACCEPT_DOWNLOAD=1).")
    elif why:
        lines.append(f"  {why}")
    lines.append("  Or name a model: -m NAME, with --api-base URL for your own server.")
    return "\n".join(lines) + "\n"
