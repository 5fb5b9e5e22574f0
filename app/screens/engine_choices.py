"""What `/model` and `/kernel` can be followed by: what the engine found when it last listed models and kernels."""

from collections.abc import Mapping

from oi_tui.app.engine.core.protocol import KernelsFound, ModelsFound
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge


class EngineChoices:
    """Asks for nothing: a list that was never opened offers no values."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._models = ModelsFound(offers=())
        self._kernels: dict[str, KernelsFound] = {}
        """By server, "" for this machine."""

    def note(self, reply: ModelsFound | KernelsFound) -> None:
        """Keep what is there now."""
        if isinstance(reply, ModelsFound):
            self._models = reply
        else:
            self._kernels[reply.server] = reply

    def values(self, command_id: str) -> Mapping[str, str]:
        """Names that the command can take as they are, each with what is known of it; others need their list."""
        match command_id:
            case "model":
                here = self._bridge.transcript.api_base
                return {
                    offer.id: one_line(offer.detail or offer.title)
                    for offer in self._models.offers
                    if not (offer.download_bytes or offer.wants_key)
                    and (offer.recent or (offer.api_base or "") in ("", here))
                    and _is_plain(offer.id)
                }
            case "kernel":
                return {
                    choice.name: one_line(choice.title)
                    for found in self._kernels.values()
                    for choice in found.choices
                    if not (choice.is_language or choice.in_use or choice.obstacle or choice.costs)
                    and _is_plain(choice.name)
                }
            case _:
                return {}


def _is_plain(name: str) -> bool:
    return safe_text(name) == name and "\n" not in name
