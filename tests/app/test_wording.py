"""Texts of screens, errors, help, README and guide are said in the field's words."""

from pathlib import Path

from support.house import sources
from support.wording import NOT_SAID, RIDDLES, ROOT, riddles, spoken_files, unwanted_words


def test_nothing_is_said_in_words_that_we_do_not_use() -> None:
    found = {str(path.relative_to(ROOT)): words for path in spoken_files() if (words := unwanted_words(path))}
    assert found == {}, NOT_SAID


def test_texts_are_found_and_docstrings_are_not_but_those_of_commands(tmp_path: Path) -> None:
    path = tmp_path / "said.py"
    path.write_text(
        '"""Code that you approve."""\n'
        'NAME = f"Code that you approve {1}"\n'
        "@click.command()\n"
        'def run():\n    """Code is told."""\n'
        'def other():\n    """Code is told."""\n'
    )
    assert unwanted_words(path) == ["2: that you approve", "5: is told"]


def test_docstrings_and_comments_speak_in_no_riddles() -> None:
    found = {str(path.relative_to(ROOT)): words for path in sources() if (words := riddles(path))}
    assert found == {}, RIDDLES


def test_riddles_are_found_in_docstrings_and_comments_and_not_in_code(tmp_path: Path) -> None:
    path = tmp_path / "said.py"
    path.write_text(
        '"""What there is."""\n'
        "told = 1  # made anew\n"
        "class Told:\n"
        '    field: str = "as ever"\n'
        '    """Called with `told`."""\n'
    )
    assert riddles(path) == ["1: What there is", "2: anew"]
