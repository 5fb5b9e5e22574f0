"""The tables of the engine's README against the code: rooms, arrows between them, verbs and replies on the wire."""

import re
from pathlib import Path
from typing import get_args

from oi_tui.app.engine.core import protocol, verbs
from support.house import ROOT, arrows

README = (ROOT / "app" / "engine" / "README.md").read_text(encoding="utf-8")
ENGINE = ROOT / "app" / "engine"


def table_under(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    below = README.split(f"\n## {heading}", 1)[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def names(cell: str) -> list[str]:
    """Names in backticks, one or several in a pair."""
    return " ".join(re.findall(r"`([^`]*)`", cell)).split()


def room(path: Path) -> str:
    """As the README calls it: a folder with a slash, a module with its ending."""
    return f"{path.name}/" if path.is_dir() else path.name


def test_the_floor_plan_names_every_room() -> None:
    on_disk = {room(path) for path in ENGINE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert {names(row[0])[0] for row in table_under("The floor plan")} == on_disk - {"__init__.py"}


def test_the_floor_plan_has_the_arrows_of_the_code() -> None:
    drawn = {names(row[0])[0]: set(names(row[2])) for row in table_under("The floor plan")}
    found: dict[str, set[str]] = {name: set() for name in drawn if name.endswith("/")}
    for here, there in arrows():
        match here.split("."), there.split("."):
            case ["app", "engine", one, *_], ["app", "engine", other, *_] if one != other:
                found[f"{one}/"].add(other)
            case _:
                pass
    assert {name: imports for name, imports in drawn.items() if name.endswith("/")} == found


def test_the_protocol_page_has_every_verb_with_its_fields() -> None:
    by_name = {struct.__name__: struct for struct in get_args(verbs.AnyVerb)}
    rows = {tuple(names(row[0])): {word.strip() for word in row[1].split(",")} - {""} for row in table_under("Verbs")}
    assert {name for row in rows for name in row} == by_name.keys()
    assert rows == {row: {field for name in row for field in by_name[name].__struct_fields__} for row in rows}


def test_the_protocol_page_has_every_reply() -> None:
    told = {name for row in table_under("Replies") for name in names(row[0])}
    greeting = {"Hello"}  # shown in full above the table
    assert told | greeting == {struct.__name__ for struct in get_args(protocol.Reply)}


def test_the_walks_lead_through_modules_that_are_there() -> None:
    paths = re.findall(r"`((?:app|widgets)/[\w/]+\.py)`", README)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).is_file()] == []
