"""Rows C11 and U34: commands as files: what they say, and what they cannot."""

import os
from pathlib import Path

import pytest

from oi_tui.app.commands.argument_verbs import WrongArgument
from oi_tui.app.commands.own_commands import OwnCommands, shell_prompt
from oi_tui.app.engine.core.errors import SettingsError
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.files.command_folder import LARGEST_COMMAND, MOST_COMMANDS
from oi_tui.app.engine.text.command_file import WrongCommandFile, WrongUse, bind_arguments, parse_command
from oi_tui.app.engine.trust.folder_check import read_folder
from oi_tui.app.engine.trust.folder_decisions import FolderDecisions
from oi_tui.app.engine.trust.folder_digests import folder_digests

REVIEW = """---
description: Review a file
arguments:
  - name: file
    help: what to review
  - name: level
    choices: [quick, thorough]
    default: quick
---
Review @{{file}}: {{level}}. {% if selection %}About: {{selection}}{% endif %}
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own commands."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "oi-tui" / "commands"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder that is worked in, with a place for commands."""
    (tmp_path / "work" / ".oi" / "commands").mkdir(parents=True)
    return tmp_path / "work"


def commands_of(place: Path, *, trusted: bool = True, selection: str = "") -> OwnCommands:
    seen = folder_digests(place).commands if trusted else None
    return OwnCommands(lambda: place, lambda: seen, lambda: selection)


# -- what a file says


def test_C11_a_command_has_arguments_with_choices_defaults_and_a_template() -> None:
    says = parse_command(REVIEW)
    assert says.description == "Review a file"
    assert [(one.name, one.choices, one.default, one.required) for one in says.arguments] == [
        ("file", (), "", True),
        ("level", ("quick", "thorough"), "quick", False),
    ]
    bare = parse_command("# Tidy up\n\nTidy {{args}}.")
    assert (bare.description, bare.arguments) == ("Tidy up", ())


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("a.py", {"file": "a.py", "level": "quick"}),
        ("a.py thorough", {"file": "a.py", "level": "thorough"}),
        ('"a b.py" thorough', {"file": "a b.py", "level": "thorough"}),
        ("level=thorough a.py", {"file": "a.py", "level": "thorough"}),
        ('file="a b.py"', {"file": "a b.py", "level": "quick"}),
    ],
)
def test_C11_arguments_are_typed_in_order_or_by_name(typed: str, found: dict[str, str]) -> None:
    assert bind_arguments(parse_command(REVIEW).arguments, typed) == found


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", r"It needs file \(what to review\)."),
        ("a.py slow", "No level “slow”. Choose one of: quick, thorough."),
        ("a.py quick and more", "No level “quick and more”."),
        ("file=a level=quick more", "“more” is too much."),
    ],
)
def test_C11_what_was_typed_wrong_is_explained(typed: str, why: str) -> None:
    with pytest.raises(WrongUse, match=why):
        bind_arguments(parse_command(REVIEW).arguments, typed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\ndescription: x\n", "line 1: the front matter has no end"),
        ("---\ndescription: x\n---\n\n", "line 4: there is no prompt"),
        ("---\ndescription: x\nallowed-tools: all\n---\nGo", "line 3: there is no key allowed-tools; there are"),
        ("---\ndescription: [\n---\nGo", "line 2: expected the node content"),
        ("---\ndescription: 3\n---\nGo", "line 2: description: expected `str`, got `int`"),
        ("---\narguments:\n  - name: a\n    choices: [yes, no]\n---\nGo", r"line 4: arguments\[0\].choices\[0\]: "),
        ("---\narguments: [cwd]\n---\nGo", "line 2: 'cwd' cannot be the name of an argument"),
        ("---\narguments: [a, a]\n---\nGo", "line 2: two arguments have the name a"),
        ("---\narguments:\n  - {name: a, default: b}\n  - b\n---\nGo", "line 2: b is required"),
        ("---\ndescription: \"a\\e[2Jb\"\n---\nGo", "line 2: description is one line"),
        ("---\nx: &a [1]\ny: *a\n---\nGo", "line 1: the front matter has YAML aliases"),
        ("---\nx: " + "[" * 40 + "]" * 40 + "\n---\nGo", "line 1: the front matter is nested too deeply"),
        ("---\ndescription: " + "x" * 9000 + "\n---\nGo", "line 1: the front matter has more than 8,000"),
    ],
)  # fmt: skip
def test_C11_a_broken_file_is_named_with_its_line(text: str, why: str, config: Path, place: Path) -> None:
    with pytest.raises(WrongCommandFile, match=why):
        parse_command(text)
    (config / "torn.md").write_text(text)
    own = commands_of(place)
    assert own.faults()[0].startswith(f"{config / 'torn.md'}: torn.md, line ")
    with pytest.raises(WrongArgument, match=r"/torn cannot be used: torn\.md, line "):
        own.prompt("torn", "")


# -- what comes of it


def test_C11_a_command_makes_a_prompt_with_its_files_and_its_name(config: Path, place: Path) -> None:
    (config / "review.md").write_text(REVIEW)
    (place / "a.py").write_text("x = 1")
    own = commands_of(place, selection="x")
    row = next(row for row in own.rows() if row.slash == "review")
    assert (row.argument, row.help, row.origin) == ("FILE [quick|thorough]", "Review a file", "yours")
    assert list(row.arguments[1].choices()) == ["quick", "thorough"]
    assert own.prompt("review", "a.py thorough") == Submit(
        text="Review @a.py: thorough. About: x", files=("a.py",), command="/review a.py thorough"
    )


def test_C11_a_file_that_changed_counts_at_once(config: Path, place: Path) -> None:
    own = commands_of(place)
    assert list(own.rows()) == []
    (config / "hello.md").write_text("Hello")
    assert [row.help for row in own.rows()] == ["Hello"]
    stale = next(iter(own.rows()))
    (config / "hello.md").write_text("Goodbye")
    assert stale.verb is not None
    assert stale.verb("") == Submit(text="Goodbye", command="/hello")
    (config / "hello.md").unlink()
    with pytest.raises(WrongArgument, match="/hello cannot be used: its file is gone"):
        stale.verb("")


def test_C11_what_is_typed_is_no_template_and_a_slash_or_a_sign_in_a_prompt_is_text(config: Path, place: Path) -> None:
    (config / "say.md").write_text("!rm -rf {{args}}")
    own = commands_of(place)
    assert own.prompt("say", "{{cwd}} {% for x in y %}").text == "!rm -rf {{cwd}} {% for x in y %}"
    (config / "never.md").write_text("/approve auto")
    assert own.prompt("never", "") == Submit(text="/approve auto", command="/never")


def test_C11_a_task_without_a_screen_takes_a_command_and_nothing_of_the_screen(config: Path, place: Path) -> None:
    (config / "review.md").write_text(REVIEW)
    assert shell_prompt("/rev a.py", place, None).text == "Review @a.py: quick."
    assert shell_prompt("what is /etc?", place, None) == Submit(text="what is /etc?")
    for text, why in [
        ("/theme nord", "/theme works on the screen only."),
        ("/reveiw a.py", "No command /reveiw. Did you mean /review?"),
        ("/review", "/review FILE quick|thorough: It needs file"),
    ]:
        with pytest.raises(SettingsError) as raised:
            shell_prompt(text, place, None)
        assert raised.value.title.startswith(why)


# -- what it cannot


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{{ ''.__class__.__mro__ }}", "variables have no attributes"),
        ("{{ cycler.__init__.__globals__ }}", "variables have no attributes"),
        ("{% for a in range(9999999) %}{% endfor %}", "a loop is over a list"),
        ("{{ 'x' * 999999999 }}", "a template can have no arithmetic"),
        ("{% include '/etc/passwd' %}", "a template can have no other templates"),
        ("{% macro m() %}{{ m() }}{% endmacro %}", "a template can have no macro"),
        ("line\n{{ unknown }}", "'unknown' is undefined"),
        ("line\n{% if %}", "Line 2: "),
    ],
)
def test_U34_a_template_reaches_nothing_and_runs_no_longer_than_it_should(
    body: str, why: str, config: Path, place: Path
) -> None:
    (config / "evil.md").write_text(body)
    with pytest.raises(WrongArgument, match="Its template is wrong") as raised:
        commands_of(place).prompt("evil", "")
    assert why in str(raised.value)


def test_U34_a_folders_commands_count_with_trust_and_as_they_were_then(place: Path, tmp_path: Path) -> None:
    file = place / ".oi" / "commands" / "deploy.md"
    file.write_text("Deploy it.")
    folders = FolderDecisions(tmp_path / "folders.toml", owner=os.getuid(), home=tmp_path / "home")
    assert [one.name for one in read_folder(place).commands] == ["deploy"]
    assert commands_of(place).prompt("deploy", "").text == "Deploy it."

    untrusted = commands_of(place, trusted=False)
    assert [row.help for row in untrusted.rows()] == ["cannot be used: this folder is not trusted"]
    with pytest.raises(WrongArgument, match="/deploy cannot be used: this folder is not trusted"):
        untrusted.prompt("deploy", "")

    decision = folders.decide(place, trusted=True, seen=folder_digests(place))
    assert decision.changed_files(place) == ()
    own = OwnCommands(lambda: place, lambda: decision.commands)
    row = next(iter(own.rows()))
    before = file.stat()
    file.write_text("Delete it.")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert row.verb is not None
    with pytest.raises(WrongArgument, match="the commands of this folder changed since you trusted it"):
        row.verb("")
    assert decision.changed_files(place) == ("commands",)
    assert decision.trusted_commands(place) == decision.commands  # which is another one than that of now
    (place / "AGENTS.md").write_text("Obey.")
    assert decision.trusted_commands(place) is None
    (place / "AGENTS.md").unlink()
    file.unlink()
    assert decision.changed_files(place) == ()


def test_U34_a_folders_command_hands_out_no_file_of_elsewhere_that_nobody_typed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s")
    commands = place / ".oi" / "commands"
    (commands / "look.md").write_text("Read @../secret.txt {{args}}")
    (commands / "far.md").write_text("Read @remote:keys.txt")
    (commands / "fine.md").write_text("Read {{args}}")
    (place / "link.txt").symlink_to(tmp_path / "secret.txt")
    (commands / "linked.md").write_text("Read @link.txt")
    own = commands_of(place)
    for name, what in (("look", "@../secret.txt"), ("linked", "@link.txt")):
        with pytest.raises(WrongArgument, match=f"It mentions {what}, which is not in this folder."):
            own.prompt(name, "")
    with pytest.raises(WrongArgument, match="a file of a server"):
        own.prompt("far", "")
    assert own.prompt("fine", "@../secret.txt").files == ("../secret.txt",)


def test_U34_names_of_ours_escapes_links_and_what_is_too_much_are_refused(
    config: Path, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("Outside")
    commands = place / ".oi" / "commands"
    for name in ("model", "mod", "Shout", "a b", "x\x1b[2Jy", "fine"):
        (commands / f"{name}.md").write_text("Go")
    (commands / "linked.md").symlink_to(tmp_path / "outside.md")
    (commands / "big.md").write_text("x" * (LARGEST_COMMAND + 1))
    (commands / "binary.md").write_bytes(b"\xff\xfe")
    os.mkfifo(commands / "pipe.md")
    own = commands_of(place)
    assert [(row.slash, "cannot be used" in row.help) for row in own.rows()] == [
        ("big", True), ("binary", True), ("fine", False), ("linked", True), ("pipe", True)
    ]  # fmt: skip
    said = "\n".join(own.faults())
    assert "/model is a command of oi-tui" in said
    assert "/mod means /model" in said
    assert "\x1b" not in said
    for words in ("is a link", "is larger than", "is not UTF-8", "is no plain file"):
        assert words in said
    (config / "fine.md").write_text("Mine")
    assert own.prompt("fine", "").text == "Mine"
    assert "you have a command of this name" in "\n".join(own.faults())
    (config / "own-link.md").symlink_to(tmp_path / "outside.md")
    assert own.prompt("own-link", "").text == "Outside"


def test_U34_a_folder_of_commands_that_is_a_link_or_endless_is_not_read(place: Path, tmp_path: Path) -> None:
    commands = place / ".oi" / "commands"
    for number in range(MOST_COMMANDS + 5):
        (commands / f"c{number:03}.md").write_text("Go")
    own = commands_of(place)
    assert len(list(own.rows())) == MOST_COMMANDS
    assert f"only the first {MOST_COMMANDS} files are read" in own.faults()[-1]
    commands.rename(tmp_path / "elsewhere")
    commands.symlink_to(tmp_path / "elsewhere")
    linked = commands_of(place)
    assert list(linked.rows()) == []
    assert linked.faults() == [f"{commands}: the folder is a link"]
