"""What a server has for a prompt of the person: resources to read, prompts that are ready, completions for both."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from oi_tui.app.engine.mcp.answers import ServerFault
from oi_tui.app.engine.mcp.offers import (
    MOST_VALUES,
    PromptOffer,
    ResourceOffer,
    clean_prompts,
    clean_resources,
    clean_values,
    safe_line,
)
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity

if TYPE_CHECKING:
    from oi_tui.app.engine.mcp.sdk_session import SdkConnection

LONGEST_PROMPT = 20_000
"""Characters of a prompt that is ready."""

T = TypeVar("T")


class ServerTexts:
    """Prompts, resources and templates of one server, as it listed them last."""

    def __init__(self, connection: Callable[[], "SdkConnection"], report: Callable[[str, str], None]) -> None:
        """`connection` raises ServerFault if there is none; `report` is called with violations."""
        self.resources: tuple[ResourceOffer, ...] = ()
        self.templates: tuple[ResourceOffer, ...] = ()
        """Addresses with variables: `note://{day}`."""
        self.prompts: tuple[PromptOffer, ...] = ()
        self._connection = connection
        self._report = report
        self._slow = False
        """Whether completions are not asked for any more."""

    async def look_at(self, connection: "SdkConnection") -> None:
        """List what the server offers now."""
        self.resources = await self._ask_for("resource", connection.resources, clean_resources)
        self.templates = await self._ask_for("template", connection.templates, clean_resources)
        self.prompts = await self._ask_for("prompt", connection.prompts, clean_prompts)

    async def read(self, uri: str) -> str:
        """The text of a resource; ServerFault if there is none."""
        return (await self._connection().read(uri)).text

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of a prompt; ServerFault if there is none."""
        text = safe_text(await self._connection().prompt(name, arguments)).strip()
        if len(text) <= LONGEST_PROMPT:
            return text
        self._report("long prompt", f"its prompt has more than {LONGEST_PROMPT:,} characters; it is cut")
        return f"{text[:LONGEST_PROMPT]}…"

    async def complete(self, offer: str, argument: str, typed: str, given: dict[str, str]) -> tuple[str, ...]:
        """Completions for an argument of a prompt or a variable of a template; none if the server offers none, or timed
        out before."""
        template = any(one.uri == offer for one in self.templates)
        if self._slow or not (template or any(one.name == offer for one in self.prompts)):
            return ()
        try:
            found = await self._connection().complete(offer, argument, typed, given, template=template)
        except ServerFault as fault:
            self._slow = True
            self._report("completions", f"it completes nothing, and is not asked again: {safe_line(str(fault))}")
            return ()
        kept = clean_values(found[:MOST_VALUES])
        if len(kept) < len(set(found)):
            why = f"of its completions some cannot be written, or are more than {MOST_VALUES}; they are left out"
            self._report("odd completions", why)
        return kept

    async def _ask_for(
        self, what: str, ask: Callable[[], Awaitable[tuple[T, ...]]], clean: Callable[[Iterable[T]], tuple[T, ...]]
    ) -> tuple[T, ...]:
        """One list of the server; empty if it fails, since the server may still have tools."""
        with suppress(ServerFault):
            found = await ask()
            kept = clean(found)
            if len(kept) < len(found):
                number = quantity(len(found) - len(kept), what)
                self._report(f"odd {what}s", f"it has {number} that cannot be written in a prompt")
            return kept
        return ()
