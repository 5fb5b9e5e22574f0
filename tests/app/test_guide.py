"""README and guide say what the program does: every key, command, setting, option and exit code; their links lead
somewhere, and no name of a test's row is in them."""

import re
import sys
from importlib import resources
from pathlib import Path

import pytest
from click import UsageError

from oi_tui.app import cli
from oi_tui.app.commands.registry import COMMANDS
from oi_tui.app.guide.pages import close_topics, guide_page, guide_pages
from oi_tui.app.subcommands import SUBCOMMANDS
from support.guide_tables import GUIDE, guide_tables, marked_tables, with_tables
from support.terminal import Terminal

ROOT = Path(__file__).parents[2]
READ_BY_PEOPLE = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]
WITH_LINKS = [*READ_BY_PEOPLE, *sorted((ROOT / "app").glob("**/README.md")), ROOT / "CHANGELOG.md"]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_program() -> None:
    texts = [read(page) for page in GUIDE.glob("*.md")]
    assert [with_tables(text) for text in texts] == texts, "run: python tests/support/guide_tables.py"
    assert sorted(name for text in texts for name in marked_tables(text)) == sorted(guide_tables())


def test_the_map_has_each_page_once_and_pages_are_shipped() -> None:
    pages = guide_pages()
    assert sorted([page.topic for page in pages]) == sorted(path.stem for path in GUIDE.glob("[a-z]*.md"))
    assert all(page.text.startswith("# ") and "<!--" not in page.text for page in pages)
    assert resources.files("oi_tui.app.guide").joinpath("README.md").is_file()


def test_a_page_is_found_by_its_topic_or_a_beginning_and_a_slip_is_answered() -> None:
    assert guide_page("keys") == guide_page("KEYS.md")
    assert (guide_page("trouble") or guide_pages()[0]).topic == "troubleshooting"
    assert guide_page("s") is None
    assert close_topics("setings") == ["settings"]
    assert close_topics("ollama")[0] == "models"


@pytest.mark.parametrize("path", WITH_LINKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", read(path)):
        if re.match(r"https?://", target):
            continue
        name, _, heading = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        assert there.exists(), target
        assert path.parent != GUIDE or there.is_relative_to(ROOT / "app"), f"{target} is not shipped"
        if heading:
            assert heading in _anchors(read(there)), target


def test_no_row_of_the_tests_is_named_where_people_read() -> None:
    rows = set(re.findall(r"^\| ([A-Z]+\d+) ", read(ROOT / "tests" / "ROWS.md"), re.MULTILINE))
    assert len(rows) > 100
    for path in READ_BY_PEOPLE:
        assert rows.isdisjoint(re.findall(r"\b[A-Z]+\d+\b", read(path))), path.name


def test_every_option_and_exit_code_is_in_the_guide() -> None:
    text = " ".join(read(GUIDE / "command-line.md").split())
    for command in (cli.app, cli.run):
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert f"`{parameter.opts[0]}" in text or f" {parameter.opts[0]}" in text, parameter.opts
    for code, meaning in re.findall(r"(\d+) ([a-z][^;.]*)", " ".join(cli.EXIT_CODES_HELP.split())):
        assert f"{code} {meaning}" in text, (code, meaning)


def test_the_first_commands_of_the_readme_are_those_of_make() -> None:
    commands = re.findall(r"^    (\S.*?)(?: +#.*)?$", read(ROOT / "README.md"), re.MULTILINE)
    assert commands[:2] == ["make run", "make test"]
    assert len(read(ROOT / "README.md").splitlines()) <= 140


def test_help_prints_a_page_its_topics_or_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        cli.program(["help", *words], standalone_mode=False)
        return capsys.readouterr().out

    assert (
        printed("terminals")
        == printed("terminal")
        == next(page.text for page in guide_pages() if page.topic == "terminals")
    )
    assert all(f"| {page.topic} |" in printed() for page in guide_pages())
    for words, said in (
        (["setings"], "Did you mean settings?"),
        (["me", "sort", "this"], "oi-tui -- help me sort this"),
    ):
        with pytest.raises(UsageError, match=said):
            printed(*words)


def test_C12_help_finds_the_section_that_explains_a_command_or_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        cli.program(["help", *words], standalone_mode=False)
        return capsys.readouterr().out

    for words, heading in (
        (["usage"], "## Budgets and prices"),
        (["/context"], "## Long conversations"),
        (["context"], "## Long conversations"),
        (["profile"], "# Profiles"),
        (["rule"], "## Rules"),
        (["restart"], "## Interrupt and restart"),
        (["attach"], "## Detach and attach"),
        (["exit", "codes"], "## Exit codes"),
        (["config", "set"], "# Settings"),
        (["config", "show"], "Usage: oi-tui config show"),
        (["doctor"], "Usage: oi-tui doctor"),
    ):
        text = printed(*words)
        assert heading in text, words
        assert text.count("\n# ") + text.count("\n## ") <= 1 or heading.startswith("# "), words
    # Each command is explained, with what it does and how it is typed.
    for row in COMMANDS:
        if row.slash and guide_page(row.slash) is None and row.slash != "help":
            assert f"`/{row.slash}`" in printed(row.slash).split("\n")[0]
            assert row.help in printed(row.slash)
    assert all(printed(name) for name in SUBCOMMANDS)
    for words, said in ((["usge"], "Did you mean usage"), (["contxt"], "Did you mean context")):
        with pytest.raises(UsageError, match=said):
            printed(*words)


def test_on_a_terminal_a_long_page_is_drawn_for_the_pager(clean_env: dict[str, str], tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat >{tmp_path}/paged\n")
    pager.chmod(0o755)
    command = [sys.executable, "-m", "oi_tui.app.cli", "help", "settings"]
    with Terminal(command, env=clean_env | {"PAGER": str(pager)}, cwd=tmp_path) as terminal:
        terminal.wait_exit()
    paged = (tmp_path / "paged").read_text()
    assert "max_steps" in paged
    assert "|---|" not in paged
    assert "\x1b[" in paged


def _anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_g19_what_the_tools_of_other_programs_are_here_is_here() -> None:
    rows = [line.split(" | ") for line in read(GUIDE / "coming-from.md").splitlines() if line.startswith("| ")][1:]
    slashes = {command.slash for command in COMMANDS if command.slash}
    engine = "".join(read(path) for path in (ROOT / "app" / "engine").rglob("*.py"))
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row[1])]
    assert len(named) > 20
    for name in named:
        if name.startswith("/"):
            assert name[1:] in slashes, name
        elif name.startswith("oi-tui "):
            assert name.split()[1] in {"run", *SUBCOMMANDS}, name
        elif re.fullmatch(r"[a-z]+_[a-z]+", name):
            assert name == "server__tool" or f'"{name}"' in engine or f"def {name}(" in engine, name
