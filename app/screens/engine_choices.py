"""What `/model`, `/kernel`, `/use` and `/keep` can be followed by: what the engine found when it last listed models,
kernels and kept functions, and the functions of the session."""

import re
from collections.abc import Callable, Mapping

from oi_tui.app.engine.core.blocks import CodeBlock
from oi_tui.app.engine.core.protocol import KernelsFound, ModelsFound
from oi_tui.app.engine.core.tool_replies import SkillsFound
from oi_tui.app.engine.core.tool_verbs import FindSkills
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.frontend.bridge import Bridge

_DEFINED = re.compile(r"^(?:async +def|def|class) +([A-Za-z]\w*)", re.MULTILINE)
LAST = 200
"""Blocks of the session in which functions are looked for."""


class EngineChoices:
    """Asks for kept functions alone: a list of models or kernels that was never opened offers no values."""

    def __init__(self, bridge: Bridge, on_news: Callable[[], None]) -> None:
        """`on_news` is called when there is more to offer."""
        self._bridge = bridge
        self._on_news = on_news
        self._models = ModelsFound(offers=())
        self._kernels: dict[str, KernelsFound] = {}
        """By server, "" for this machine."""
        self._skills = SkillsFound()

    def look(self, command_id: str) -> None:
        """Find out what can follow this command, if that takes asking."""
        if command_id == "use" and not self._bridge.stopped:
            self._bridge.send(FindSkills(names=True))

    def note(self, reply: ModelsFound | KernelsFound | SkillsFound) -> None:
        """Keep the present list."""
        match reply:
            case ModelsFound():
                self._models = reply
            case KernelsFound():
                self._kernels[reply.server] = reply
            case SkillsFound():
                news, self._skills = reply.skills != self._skills.skills, reply
                if news:
                    self._on_news()

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
            case "use":
                return {
                    one.name: one_line(one.summary)
                    for one in self._skills.skills
                    if one.kind == "function" and one.agreed and not one.wrong and _is_plain(one.name)
                }
            case "keep":
                return dict.fromkeys(self._definitions(), "")
            case _:
                return {}

    def _definitions(self) -> list[str]:
        """Functions and classes of the session's Python code that ran, the last one first."""
        cells = [
            block.source
            for block in self._bridge.transcript.blocks[-LAST:]
            if isinstance(block, CodeBlock) and block.language == "python" and block.state == "ok"
        ]
        return [name for source in reversed(cells) for name in reversed(_DEFINED.findall(source))]


def _is_plain(name: str) -> bool:
    return safe_text(name) == name and "\n" not in name
