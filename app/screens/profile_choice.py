"""A profile for the session on the screen: what of it protects less is asked about before."""

from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace
from textual.screen import Screen

from oi_tui.app.commands.profiles import ProfileChange, profile_change
from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.frontend.bridge import Bridge
from oi_tui.app.screens.confirm import ConfirmScreen


class ProfileDesk(Protocol):
    """Who uses a profile: what says and asks things where the person writes."""

    profile: str
    """Name of the one in use."""

    def tell(self, words: str, *, failed: bool = False, seconds: float = ...) -> None:
        """Say it; 0 seconds is until the prompt changes."""
        ...

    def ask(self, question: Screen[bool], then: Callable[[bool | None], None]) -> None:
        """Ask something above the session."""
        ...


def use_profile(desk: ProfileDesk, bridge: Bridge, name: str) -> None:
    """Change in this session what a profile changes, after a yes if that is milder, and say what has to wait."""
    change = profile_change(name, session_settings(bridge), desk.profile)

    def finish(yes: bool | None) -> None:
        if yes:
            _apply(desk, bridge, name, change)

    if change.milder:
        desk.ask(milder_question(name, change), finish)
    else:
        finish(True)


def session_settings(bridge: Bridge) -> Settings:
    """The settings, with what was changed in the session since."""
    now, past = bridge.settings, bridge.transcript
    if not past.session_id:
        return now
    loop = replace(
        now.loop,
        approve=past.approval,
        complete=past.complete,
        max_cost=past.max_cost,
        max_tokens=past.max_tokens,
    )
    return replace(now, model=replace(now.model, name=past.model or now.model.name), loop=loop)


def milder_question(name: str, change: ProfileChange) -> ConfirmScreen:
    """Asks whether a profile may protect less than now."""
    lines = "\n".join(one.words for one in change.milder)
    return ConfirmScreen(f"Use the profile {name}? It is milder than this session.", lines, yes="use it", no="keep")


def _apply(desk: ProfileDesk, bridge: Bridge, name: str, change: ProfileChange) -> None:
    for verb in change.verbs:
        bridge.send(verb)
    if not change.failed:
        desk.profile = name
    if change.failed or change.later:
        desk.tell(change.words, failed=change.failed, seconds=0)
    else:
        desk.tell(change.words)
