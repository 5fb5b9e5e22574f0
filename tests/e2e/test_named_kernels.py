"""A server or environment that the command line names and that is not there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.terminal import Terminal


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--kernel", "clutser"), "There is no Jupyter server called “clutser”."),
        (("--kernel", "clutser@3f2a"), "There is no Jupyter server called “clutser”."),
        (("--python", "nosuch"), "There is no Python environment called “nosuch”."),
    ],
)
def test_R16_what_is_not_there_is_said_in_the_terminal_and_opens_no_screen(
    terminal: Callable[..., Terminal],
    command: list[str],
    clean_env: dict[str, str],
    folder: Path,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    shown = terminal([*command, *arguments], env=clean_env, cwd=folder, columns=120, rows=24, timeout=30)
    assert shown.wait_exit() == 2
    assert words in shown.raw.decode()
    assert b"The engine stopped" not in shown.raw
