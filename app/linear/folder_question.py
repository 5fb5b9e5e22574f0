"""The question about the folder, in lines: what code could do there, what the folder brings, and the choice."""

import asyncio

from oi_tui.app.engine.core.errors import OiTuiError
from oi_tui.app.frontend.folder_offers import (
    Offer,
    finding_lines,
    folder_offers,
    folder_title,
    introduction_lines,
    look_into,
    trial_lines,
)
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.linear.console import Console


async def ask_about_folder(console: Console, place: Workplace, *, again: bool = False) -> bool:
    """What code may do in the folder; whether something was chosen, which is stored by then. Nothing in it is read and
    nothing runs before."""
    for line in introduction_lines(place, again=again):
        console.say(line)
    console.say("Testing the sandbox, and reading the rules and settings of the folder.")
    found = await asyncio.to_thread(look_into, place)
    for one in (*trial_lines(found), *finding_lines(found.brought)):
        kind = {"warning": "Warning: ", "error": "Error: "}.get(one.tone, "")
        text = one.text.strip()
        console.say(f"{one.label}: {text}" if one.label else f"{kind}{text[:1].upper()}{text[1:]}")
    offers = folder_offers(place, found, again=again)
    keys: dict[str, Offer] = {}
    for letter, offer in zip("tonq", _in_order(offers), strict=True):
        if offer is not None and offer.enabled:
            keys[letter] = offer
            console.say(f"{letter}: {offer.name}: {offer.meaning}.")
        elif offer is not None:
            console.say(f"Not possible: {offer.name}: {offer.meaning}.")
    choices = ", ".join(f"{letter} {offer.name}" for letter, offer in keys.items())
    while True:
        answer = await console.ask(f"{folder_title(place, again=again)} {choices}:")
        if answer is None:
            return False
        chosen = keys.get(answer.strip().lower())
        if chosen is None:
            console.say("Nothing is decided. Answer with one of the letters.")
            continue
        if chosen.id is None:
            return False
        try:
            place.choose(chosen.id, found.brought.seen)
        except OiTuiError as error:
            console.say(f"Error: {error.title} {error.hint}")
            continue
        console.say(f"Chosen: {chosen.name}, {chosen.meaning}.")
        return True


def _in_order(offers: list[Offer]) -> list[Offer | None]:
    """Trust, read-only, no sandbox, and the way out: each where its letter is."""
    by_id = {offer.id: offer for offer in offers}
    return [by_id.get(choice) for choice in ("trust", "look", "open", None)]
