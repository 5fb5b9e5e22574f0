"""Row C5: one row a command, and what others add to it."""

import pytest

from oi_tui.app.commands.command_set import OUR_COMMANDS, CommandSet, TakenName
from oi_tui.app.commands.registry import Argument, Command, Situation
from oi_tui.app.subcommands import SUBCOMMANDS, subcommand


def row(name: str) -> Command:
    return Command(f"plugin.{name}", name.title(), "Of a plugin", slash=name, origin="a plugin")


def test_C5_each_row_has_a_name_of_its_own_and_names_subcommands_that_exist() -> None:
    ids, slashes = [one.id for one in OUR_COMMANDS], [one.slash for one in OUR_COMMANDS if one.slash]
    assert len(set(ids)) == len(ids)
    assert len(set(slashes)) == len(slashes)
    for one in OUR_COMMANDS:
        assert bool(one.action) != bool(one.verb)
        assert not one.shell or one.shell.split()[0] in SUBCOMMANDS
    assert all(subcommand(name) is not None for name in SUBCOMMANDS)


def test_C5_a_command_that_does_not_apply_says_why() -> None:
    rows = {one.id: one for one in OUR_COMMANDS}
    quiet, running = Situation(), Situation(turn_open=True, busy=True)
    assert rows["pause"].why_not(quiet) == "no turn is running"
    assert rows["pause"].why_not(running) == ""
    assert rows["retry"].why_not(running) == "there must be a turn, and nothing may run"
    assert rows["export"].why_not(Situation(empty=True)) == "nothing has happened in this session yet"
    assert rows["engine"].why_not(quiet) == "the engine is running"
    assert rows["usage"].why_not(Situation(stopped=True)) == "the engine is not running; /engine starts it"
    assert rows["theme"].why_not(Situation(stopped=True)) == ""


def test_C5_what_decides_about_code_is_marked_so() -> None:
    rows = {one.id: one for one in OUR_COMMANDS}
    assert [one.id for one in OUR_COMMANDS if one.decides("x")] == [
        *("approve", "budget", "rule", "profile", "sandbox", "settings", "mode")
    ]
    assert rows["rule"].decides("allow Shell(ls)")
    assert not rows["rule"].decides("deny Shell(ls)")
    assert rows["kernel"].decides("server yes")
    assert not rows["budget"].decides("")


def test_C5_the_arguments_of_a_row_are_written_as_they_may_follow() -> None:
    arguments = (Argument("FILE"), Argument("brief|long", lambda: {"brief": "", "long": ""}, required=False))
    assert row("review")._replace(arguments=arguments).argument == "FILE [brief|long]"


@pytest.mark.parametrize(
    ("name", "why"),
    [("model", "/model is a command of oi-tui"), ("mod", "/mod means /model"), ("Big", "small letters"),
     ("a b", "small letters"), ("\x1b[2J", "small letters"), ("", "small letters"), ("x" * 41, "at most 40")],
)  # fmt: skip
def test_C5_what_others_add_takes_no_name_of_ours(name: str, why: str) -> None:
    commands = CommandSet()
    with pytest.raises(TakenName, match=why):
        commands.add(row("fine")._replace(slash=name)) if name else commands.add(row(" "))
    assert commands.rows() == OUR_COMMANDS


def test_C5_what_others_add_is_found_and_changes_no_beginning_of_a_name_of_ours() -> None:
    commands = CommandSet(lambda: (row("themed"), row("greet")._replace(id="second")))
    commands.add(row("greet"))
    with pytest.raises(TakenName, match="there is a command greet already"):
        commands.add(row("greet")._replace(id="third"))
    assert [one.id for one in commands.rows()[len(OUR_COMMANDS) :]] == ["plugin.greet", "plugin.themed"]
    named = {name: found.id for name in ("the", "themed", "gre", "them") if (found := commands.by_name(name))}
    assert named == {"the": "theme", "themed": "plugin.themed", "gre": "plugin.greet", "them": "theme"}
    assert commands.find("plugin.greet") is not None
    assert commands.similar("geret") == ("greet",)
