"""What MCP servers have for a prompt, on the screen: slash commands, addresses after `@`, and what completes both."""

import pytest

from oi_tui.app.engine.core.tool_replies import (
    OfferCompleted,
    OffersFound,
    PromptRecord,
    ResourceRecord,
    ServerOffers,
)
from oi_tui.app.engine.core.tool_verbs import CompleteOffer, FindOffers
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.screens.server_offers import TemplatePlace, template_place
from support.stage import Play

EXPLAIN = PromptRecord(
    name="explain it",
    slash="notes:explain-it",
    description="Explain a topic\x1b[2J",
    arguments=("topic", "level"),
    required=("topic",),
)
NOTES = ServerOffers(
    name="notes",
    prompts=(EXPLAIN,),
    resources=(ResourceRecord(uri="note://today", name="Today"), ResourceRecord(uri="file:///a/b.txt", name="B")),
    templates=(ResourceRecord(uri="day://{day}/{hour}", name="Hours"),),
)


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("", TemplatePlace("day://")),
        ("da", TemplatePlace("day://")),
        ("day://", TemplatePlace("day://", "day", "")),
        ("day://mo", TemplatePlace("day://", "day", "mo")),
        ("day://monday/", TemplatePlace("day://monday/", "hour", "")),
        ("day://monday/1", TemplatePlace("day://monday/", "hour", "1")),
        ("note://", None),
    ],
)
def test_N13_where_in_a_template_somebody_is_typing(typed: str, place: TemplatePlace | None) -> None:
    assert template_place("day://{day}/{hour}", typed) == place


@pytest.mark.parametrize(
    ("template", "typed", "place"),
    [
        ("note://{day}.txt", "note://x", TemplatePlace("note://", "day", "x")),
        ("note://{day}.txt", "note://x.", TemplatePlace("note://x.txt")),
        ("note://{day}.txt", "note://x.txt", None),
        ("note://{?q*}", "note://x", TemplatePlace("note://", "q", "x")),
        ("note://{a}{b}", "note://x", TemplatePlace("note://", "a", "x")),
    ],
)
def test_N13_odd_templates(template: str, typed: str, place: TemplatePlace | None) -> None:
    assert template_place(template, typed) == place


async def test_N12_a_prompt_of_a_server_is_listed_completed_and_sent_as_it_was_typed(play: Play) -> None:
    async with play((80, 24)) as stage:
        await stage.pilot.press("/")
        await stage.until(lambda: FindOffers() in stage.engine.verbs)
        stage.engine.reply(OffersFound(servers=(NOTES,)))
        await stage.pilot.press(*"notes")
        await stage.until(lambda: "/notes:explain-it topic [level]" in stage.seen)
        assert "MCP server notes: Explain a topic" in stage.seen
        assert "\x1b" not in stage.seen
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.prompt.text == "/notes:explain-it ")
        asked = CompleteOffer(server="notes", offer="explain it", argument="topic", typed="")
        await stage.until(lambda: asked in stage.engine.asked)
        values = ("black holes", "tides")
        stage.engine.reply(OfferCompleted(server="notes", offer="explain it", argument="topic", values=values))
        await stage.until(lambda: '"black holes"' in stage.seen)
        await stage.pilot.press("tab")
        await stage.until(lambda: stage.prompt.text == '/notes:explain-it "black holes"')
        await stage.pilot.press("space")
        given = {"topic": "black holes"}
        more = CompleteOffer(server="notes", offer="explain it", argument="level", typed="", given=given)
        await stage.until(lambda: more in stage.engine.asked)
        await stage.pilot.press("enter")
        line = '/notes:explain-it "black holes"'
        await stage.until(lambda: any(isinstance(one, Submit) and one.text == line for one in stage.engine.asked))


async def test_N12_what_is_missing_keeps_the_line_in_the_prompt(play: Play) -> None:
    async with play((80, 24)) as stage:
        await stage.pilot.press("/")
        await stage.until(lambda: FindOffers() in stage.engine.verbs)
        stage.engine.reply(OffersFound(servers=(NOTES,)))
        await stage.pilot.press(*"notes")
        await stage.until(lambda: "notes:explain-it" in stage.seen)
        stage.prompt.fill("/notes:explain-it")
        await stage.pilot.press("escape", "enter")
        await stage.until(lambda: "It needs topic." in stage.seen)
        assert stage.prompt.text == "/notes:explain-it"
        assert not any(isinstance(one, Submit) for one in stage.engine.asked)


async def test_N13_addresses_are_listed_after_the_name_of_the_server(play: Play) -> None:
    async with play((80, 24)) as stage:
        await stage.pilot.press(*"see @")
        await stage.until(lambda: FindOffers() in stage.engine.verbs)
        stage.engine.reply(OffersFound(servers=(NOTES,)))
        await stage.until(lambda: "read from this MCP server" in stage.seen)
        await stage.pilot.press(*"not", "tab")
        await stage.until(lambda: stage.prompt.text == "see @notes:")
        await stage.until(lambda: "note://today" in stage.seen and "day://{day}/{hour}" in stage.seen)
        await stage.pilot.press(*"day://mo")
        asked = CompleteOffer(server="notes", offer="day://{day}/{hour}", argument="day", typed="mo")
        await stage.until(lambda: asked in stage.engine.asked)
        values = ("monday", "mo\x1b[2J")
        stage.engine.reply(
            OfferCompleted(server="notes", offer="day://{day}/{hour}", argument="day", typed="mo", values=values)
        )
        await stage.until(lambda: "day://monday" in stage.seen)
        await stage.pilot.press("tab")
        await stage.until(lambda: stage.prompt.text == "see @notes:day://monday")
