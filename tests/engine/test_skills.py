"""Skills: what is read of their folders, what is refused, and how they are added and removed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.events import ExecutionFinished
from oi_tui.app.engine.skills.skill_folder import add_skill, find_skills, remove_skill, skill_faults, skills_dir
from oi_tui.app.engine.skills.skill_tool import LONGEST_LIST, make_skill_tool
from oi_tui.app.engine.testing import FakeModel
from oi_tui.app.engine.trust.folder_check import read_folder
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.engine.trust.folder_digests import folder_digests, has_folder_content
from oi_tui.app.engine.trust.skill_files import (
    LARGEST_SKILL,
    LARGEST_TEXT,
    MORE,
    MOST_FILES,
    MOST_SKILLS,
    Skill,
    WrongSkill,
    find_folder_skills,
    read_skill_file,
    skill_files,
    skills_in_words,
    trusted_skills,
)
from oi_tui.app.frontend.folder_offers import finding_lines
from support.tool_calls import answer, call, calls, make, text_of
from support.turns import play

TIES: Any = None
"""The tool asks nothing of the session."""


def skill(
    place: Path, name: str = "tidy", description: str = "Tidy a table", body: str = "Use scripts/run.py."
) -> Path:
    folder = place / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", encoding="utf-8")
    (folder / "scripts" / "run.py").write_text("print('tidied')\n", encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own skills."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    skills_dir().mkdir(parents=True)
    return skills_dir()


async def test_H1_a_skill_is_listed_by_one_line_and_read_when_it_is_needed(mine: Path) -> None:
    skill(mine, description="Tidy a table\u202e and\n  more")
    [tool] = make_skill_tool(TIES)
    assert "tidy: Tidy a table" in tool.description
    assert "\u202e" not in tool.description
    both = answer(
        *call('{"name": "tidy"}', "load_skill"), *call('{"name": "tidy", "file": "scripts/run.py"}', "load_skill", 1)
    )
    session = make(FakeModel(both, "Done."), tool, approve="ask")
    await play(session, session.run("go"))
    head, script = map(text_of, calls(session))
    assert "Use scripts/run.py." in head
    assert f"code can read and not change: {mine / 'tidy'}" in head
    assert script == "print('tidied')\n"


def test_H1_without_skills_there_is_no_tool_and_with_many_the_list_is_bounded(mine: Path) -> None:
    assert list(make_skill_tool(TIES)) == []
    for number in range(MOST_SKILLS + 5):
        skill(mine, f"s{number:03}", "x" * 1000)
    assert len(find_skills()) == MOST_SKILLS
    [tool] = make_skill_tool(TIES)
    assert len(tool.description) < LONGEST_LIST + 300


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "link", "scripts/../../x", "linked/x", "", "pipe"])
def test_H2_nothing_is_read_outside_of_a_skill_and_never_through_a_link(mine: Path, name: str) -> None:
    folder = skill(mine)
    (mine.parent / "secret").write_text("x", encoding="utf-8")
    (mine.parent / "x").write_text("x", encoding="utf-8")
    (folder / "link").symlink_to(mine.parent / "secret")
    (folder / "linked").symlink_to(mine.parent)
    os.mkfifo(folder / "pipe")
    with pytest.raises(WrongSkill):
        read_skill_file(folder, name)
    assert "link (a link, not read)" in list(skill_files(folder))


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("no front matter", "front matter"),
        ("---\nname: other\ndescription: x\n---\n", "named otherwise"),
        ("---\nname: tidy\n---\n", "no description"),
        ("---\nname: [\n---\n", "not valid YAML"),
        ("---\na: &a [x]\nb: *a\n---\n", "aliases"),
        ("---\nname: !!bool maybe\n---\n", "not valid YAML"),
        ("---\nname: !!int ''\n---\n", "not valid YAML"),
        ("---\nname: !!timestamp soon\n---\n", "not valid YAML"),
        (f"---\nname: 1{':0' * 250}.0\n---\n", "not valid YAML"),
        (f"---\nname: 0x{'f' * 7_000}\ndescription: x\n---\n", "named otherwise"),
        (f"---\nname: {'9' * 7_000}\n---\n", "not valid YAML"),
        ("---\nname: !!python/object/apply:os.system [true]\n---\n", "not valid YAML"),
        (f"---\nname: {'[' * 3_000}\n---\n", "nested"),
        ("---\nname: tidy\ndescription: x\n---\n" + "x" * LARGEST_TEXT, "more than"),
    ],
)
def test_H2_a_broken_skill_is_named_with_what_is_wrong_and_not_offered(mine: Path, head: str, why: str) -> None:
    (skill(mine) / "SKILL.md").write_text(head, encoding="utf-8")
    [found] = find_skills()
    assert why in found.wrong
    assert list(make_skill_tool(TIES)) == []


def test_H3_a_skill_is_added_as_a_copy_without_links_tested_and_removed(tmp_path: Path, mine: Path) -> None:
    source = skill(tmp_path, body="See [this](gone.md).")
    (source / "link").symlink_to("/etc/passwd")
    (source / "bad.py").write_text("def (", encoding="utf-8")
    added = add_skill(source)
    assert sorted(skill_files(added.folder)) == ["SKILL.md", "bad.py", "scripts/run.py"]
    faults = skill_faults(added)
    assert any("gone.md" in fault for fault in faults)
    assert any("bad.py" in fault for fault in faults)
    with pytest.raises(SettingsError):
        add_skill(source)
    remove_skill("tidy")
    assert find_skills() == ()
    for name in ("tidy", "../data", ""):
        with pytest.raises(SettingsError):
            remove_skill(name)


def test_H3_the_command_lists_shows_adds_and_removes(tmp_path: Path, mine: Path) -> None:
    source = skill(tmp_path)

    def run(*arguments: str) -> str:
        argv = [sys.executable, "-m", "oi_tui.app.cli", "skills", *arguments]
        finished = subprocess.run(argv, capture_output=True, text=True, timeout=60, input="")
        return f"{finished.returncode} {finished.stdout}{finished.stderr}"

    assert not run("add", str(source)).startswith("0 ")  # nobody said yes
    assert "Added: tidy" in run("add", "--yes", str(source))
    assert "tidy" in run("list")
    assert "Use scripts/run.py." in run("show", "tidy")
    assert run("test", "tidy") == "0 Nothing is wrong with it.\n"
    assert "Removed" in run("remove", "tidy")


async def test_H13_skills_of_a_folder_are_read_only_as_the_person_saw_them(tmp_path: Path, mine: Path) -> None:
    project = tmp_path / "project"
    for place in (".oi/skills", ".agents/skills"):
        (project / place).mkdir(parents=True)
    ours, theirs = skill(project / ".oi/skills", body="Of the project."), skill(project / ".agents/skills", "chart")
    skill(mine, "chart", description="Mine")
    assert has_folder_content(project)
    seen = folder_digests(project).skills
    assert [one.text for one in finding_lines(read_folder(project)) if one.label == "a skill"] == [
        "tidy: Tidy a table",
        "chart: Tidy a table",
    ]

    def usable() -> tuple[Skill, ...]:
        return trusted_skills(project, trusted=True, seen=seen)

    assert trusted_skills(project, trusted=False, seen=seen) == ()
    assert trusted_skills(project, trusted=True, seen="") == ()
    [tool] = make_skill_tool(TIES, usable)
    assert "tidy: Tidy a table" in tool.description
    assert "chart: Mine" in tool.description  # one's own counts
    load = answer(*call('{"name": "tidy"}', "load_skill"))
    again = answer(*call('{"name": "tidy", "file": "scripts/run.py"}', "load_skill"))
    session = make(FakeModel(load, again, "Done."), tool, approve="ask")

    def change(event: object) -> None:
        if isinstance(event, ExecutionFinished):
            (ours / "scripts" / "run.py").write_text("print('other')\n", encoding="utf-8")

    await play(session, session.run("go"), change)
    first, second = map(text_of, calls(session))
    assert "Of the project." in first
    assert second == ""
    assert "it changed since the user trusted it" in str(calls(session)[1].outputs)
    assert theirs.exists()


def test_H13_a_change_of_any_file_is_asked_about_and_links_and_what_is_too_large_are_left_out(
    tmp_path: Path, mine: Path
) -> None:
    project = tmp_path / "project"
    (project / ".agents/skills").mkdir(parents=True)
    folder = skill(project / ".agents/skills")
    decisions = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid(), home=tmp_path)
    decisions.decide(project, trusted=True, seen=folder_digests(project))
    decided = decisions.find(project)
    assert decided is not None
    assert decided.changed_files(project) == ()
    changes: dict[str, Callable[[], object]] = {
        "a script": lambda: (folder / "scripts" / "run.py").write_text("print('other')"),
        "a new file": lambda: (folder / "more.md").write_text("x"),
        "a link": lambda: (folder / "link").symlink_to("/etc/passwd"),
        "another skill": lambda: skill(project / ".agents/skills", "chart"),
    }
    for name, change in changes.items():
        before = folder_digests(project).skills
        change()
        assert folder_digests(project).skills != before, name
        assert decided.changed_files(project) == ("skills",)
    assert "/etc/passwd" not in str(find_folder_skills(project))
    with (folder / "big").open("wb") as file:
        file.truncate(LARGEST_SKILL + 1)
    seen = folder_digests(project).skills
    assert [one.name for one in trusted_skills(project, trusted=True, seen=seen)] == ["chart"]
    assert "tidy, not used: it is too large" in list(skills_in_words(find_folder_skills(project)))
    (folder / "big").unlink()
    for number in range(MOST_FILES):
        (folder / "empty" / str(number)).mkdir(parents=True)
    assert [*skill_files(folder)][-1] == MORE
    assert folder_digests(project).skills != seen
    assert "tidy, not used: it is too large" in list(skills_in_words(find_folder_skills(project)))
    shutil.rmtree(project / ".agents/skills")
    (project / ".agents/skills").symlink_to(mine)
    skill(mine, "secret")
    assert find_folder_skills(project) == ()
    assert decided.changed_files(project) == ()  # what is gone harms nobody
