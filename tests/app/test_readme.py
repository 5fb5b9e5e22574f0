"""The README says what the program does: every key, command, setting, option and exit code stands in it."""

import re

from oi_tui.app import cli
from support.readme import README, with_tables


def test_the_tables_are_those_of_the_program() -> None:
    text = README.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run: python tests/support/readme.py"


def test_every_common_option_stands_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for command in (cli.app, cli.run):
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert f"`{parameter.opts[0]}" in text or f" {parameter.opts[0]}" in text, parameter.opts


def test_the_exit_codes_of_the_help_stand_in_the_readme() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    for code, meaning in re.findall(r"(\d+) ([a-z][^;.]*)", " ".join(cli.EXIT_CODES_HELP.split())):
        assert f"{code} {meaning}" in text, (code, meaning)
