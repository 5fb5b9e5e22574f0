"""What MCP servers have for a prompt, as it is typed: `/SERVER:PROMPT ARGUMENTS`, `@SERVER:ADDRESS`, and what completes
both. Nothing is asked before somebody types a `/` or an `@`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.registry import Argument, Command
from oi_tui.app.engine.core.tool_replies import OfferCompleted, OffersFound, PromptRecord, ResourceRecord, ServerOffers
from oi_tui.app.engine.core.tool_verbs import CompleteOffer, FindOffers
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.text.command_file import CommandArgument, WrongUse, bind_arguments
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.widgets.completion import MOST, CompletionChoice, CompletionOffer

_MENTION = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):(.*)")
_VARIABLE = re.compile(r"\{[^{}]+\}")


class _Question(NamedTuple):
    """What was asked of a server."""

    server: str
    offer: str
    argument: str
    typed: str


class PromptOfferings:
    """Offers of all servers that are ready, as the engine sent them last."""

    def __init__(self, bridge: Bridge, on_news: Callable[[], None]) -> None:
        """`on_news` is called when there is more to offer."""
        self._bridge = bridge
        self._on_news = on_news
        self._servers: dict[str, ServerOffers] = {}
        self._asked: _Question | None = None
        self._values: tuple[str, ...] = ()
        """What was answered to it."""

    def look(self) -> None:
        """Have the engine tell, now and when it changes."""
        if not self._bridge.stopped:
            self._bridge.send(FindOffers())

    def take(self, reply: OffersFound | OfferCompleted) -> None:
        """What the engine says."""
        match reply:
            case OffersFound():
                found = {one.name: one for one in reply.servers}
                if found == self._servers:
                    return
                self._servers = found
            case OfferCompleted():
                if self._asked != (reply.server, reply.offer, reply.argument, reply.typed) or not reply.values:
                    return
                self._values = reply.values
        self._on_news()

    def rows(self) -> Iterator[Command]:
        """A slash command for each prompt."""
        for server in self._servers.values():
            for one in server.prompts:
                yield Command(
                    f"server.{one.slash}",
                    one.slash,
                    one.description or f"the prompt {one.name}",
                    slash=one.slash,
                    arguments=tuple(Argument(name, required=name in one.required) for name in one.arguments),
                    verb=partial(_prompt_of, one),
                    origin=f"MCP server {server.name}",
                )

    def argument_values(self, slash: str, argument: str, before: str, typed: str) -> dict[str, str]:
        """Completions of the server for an argument of its prompt; `before` has the other arguments so far."""
        for server in self._servers.values():
            for one in server.prompts:
                if one.slash == slash:
                    given = _arguments_before(one, before)
                    values = self._completions(_Question(server.name, one.name, argument, typed.lstrip('"')), given)
                    last = argument == one.arguments[-1]
                    return {value if last or " " not in value else f'"{value}"': "" for value in values}
        return {}

    def names(self, query: str) -> tuple[CompletionChoice, ...]:
        """Servers that something can be read from."""
        found = (one for one in self._servers.values() if one.resources or one.templates)
        return tuple(
            CompletionChoice(f"@{one.name}:", f"{one.name}:", "read from this MCP server")
            for one in found
            if one.name.lower().startswith(query.lower())
        )

    def mention_offer(self, start: tuple[int, int], query: str) -> CompletionOffer | None:
        """Addresses of the server that is named, None where none is."""
        match = _MENTION.fullmatch(query)
        server = self._servers.get(match[1]) if match else None
        if match is None or server is None:
            return None
        typed = match[2]
        fitting = [one for one in server.resources if typed.lower() in one.uri.lower()]
        fitting.sort(key=lambda one: not one.uri.lower().startswith(typed.lower()))
        choices = [_address_choice(server, one) for one in fitting]
        for one in server.templates:
            choices += self._template_choices(server, one, typed)
        return CompletionOffer(start, tuple(choices[:MOST])) if choices else None

    def _template_choices(self, server: ServerOffers, one: ResourceRecord, typed: str) -> Iterator[CompletionChoice]:
        place = template_place(one.uri, typed)
        if place is None:
            return
        if not place.variable:
            yield CompletionChoice(f"@{server.name}:{place.stem}", one.uri, one.name)
            return
        for value in self._completions(_Question(server.name, one.uri, place.variable, place.value), {}):
            if " " not in value:
                address = f"{place.stem}{value}"
                yield CompletionChoice(f"@{server.name}:{address}", address, one.name)

    def _completions(self, asked: _Question, given: dict[str, str]) -> tuple[str, ...]:
        """Completions so far; asks the engine for those that were not asked for before."""
        if asked != self._asked:
            self._asked, self._values = asked, ()
            if not self._bridge.stopped:
                server, offer, argument, typed = asked
                self._bridge.send(
                    CompleteOffer(server=server, offer=offer, argument=argument, typed=typed, given=given)
                )
        return self._values


class TemplatePlace(NamedTuple):
    """Where in a template of addresses somebody is typing."""

    stem: str
    """The text before it, including the fixed parts."""
    variable: str = ""
    """Whose value it is; "" where the fixed text of `stem` is being typed."""
    value: str = ""
    """The beginning of it."""


def template_place(template: str, typed: str) -> TemplatePlace | None:
    """For `note://{day}/{hour}` and "note://to": the variable `day`, of which "to" is typed. None if the typed text is
    not the beginning of such an address, or is complete."""
    at = end = 0
    for variable in _VARIABLE.finditer(template):
        fixed, rest = template[end : variable.start()], typed[at:]
        if not rest.startswith(fixed):
            return TemplatePlace(typed[:at] + fixed) if fixed.startswith(rest) else None
        at, end = at + len(fixed), variable.end()
        following = template[end : end + 1].replace("{", "")
        cut = typed.find(following, at) if following else -1
        if cut < 0:
            return TemplatePlace(typed[:at], variable[0].strip("{}?/&;.+#*"), typed[at:])
        at = cut
    tail, rest = template[end:], typed[at:]
    return TemplatePlace(typed[:at] + tail) if tail.startswith(rest) and rest != tail else None


def _address_choice(server: ServerOffers, one: ResourceRecord) -> CompletionChoice:
    return CompletionChoice(f"@{server.name}:{one.uri} ", one.uri, one.name)


def _arguments(prompt: PromptRecord) -> tuple[CommandArgument, ...]:
    return tuple(CommandArgument(name=one, required=one in prompt.required) for one in prompt.arguments)


def _arguments_before(prompt: PromptRecord, before: str) -> dict[str, str]:
    """The arguments before the one that is being typed."""
    optional = (one._replace(required=False) for one in _arguments(prompt))
    try:
        bound = bind_arguments(tuple(optional), before)
    except WrongUse:
        return {}
    return {name: value for name, value in bound.items() if value}


def _prompt_of(prompt: PromptRecord, typed: str) -> Submit:
    """The line as it was typed: the engine asks the server for the text. WrongArgument where something is missing."""
    try:
        bind_arguments(_arguments(prompt), typed)
    except WrongUse as error:
        raise WrongArgument(f"/{prompt.slash}: {error}") from error
    return Submit(text=f"/{prompt.slash} {typed}".rstrip())
