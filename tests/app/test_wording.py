"""Texts of screens, errors, help, README and guide are said in the field's words."""

from pathlib import Path

from support.wording import NOT_SAID, ROOT, spoken_files, unwanted_words


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
