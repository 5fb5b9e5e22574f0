"""A transcript as plain text and as Markdown: all of it, and nothing that a terminal obeys."""

import json
import re
from html import unescape

from hypothesis import given

from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.formats.export import plain_transcript
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.plugins.session_files import export_session
from support.exports import FEW, OPENED, PNG, blocks_of, code, out, prompt, prose, ran, sessions, settled, tour

PLAIN = """\
> Add the numbers.
>
> - *all* of them
> [numbers.csv]

First the **sum**:

python:
    x = sum([1, 2, 3])
    print('sum', x)
    x
sum 6
6

python:
    y + 1
careful
Trace
y

python:
    y = 3

python:
    import shutil; shutil.rmtree('/')
[Not run: no!]

Warning: The kernel was started anew
Variables are gone.

shell:
    echo $((20 + 3))
23

> [picture (1×1)]

python:
    for n in range(9): print(n)
0
1
[… 10 characters left out …]
7
8

python:
    draw()
[a picture of 1×1 pixels was shown to the user]
   a
0  1

Done: `6`.

```
not closed
"""


def test_a_plain_transcript_reads_like_the_screen() -> None:
    assert plain_transcript(blocks_of(tour())) == PLAIN


def test_no_session_is_no_text() -> None:
    assert plain_transcript([]) == ""


def test_what_a_terminal_would_obey_is_not_in_it() -> None:
    evil = "\x1b]0;title\x07\x1b[2J\u202e"
    events = [OPENED, *prompt("u", evil, evil), *prose("p", evil), *code("c", evil), *ran("c", evil, out(evil + "x"))]
    assert plain_transcript(blocks_of(events)) == (
        "> []\n\npython:\n    <U+001B>]0;title<U+0007><U+001B>[2J<U+202E>\nx\n"
    )


@FEW
@given(sessions())
def test_any_transcript_is_safe_to_print(events: list[AnyEvent]) -> None:
    text = plain_transcript(settled(events))
    assert safe_text(text) == text


def test_markdown_has_the_title_the_transcript_and_its_pictures() -> None:
    text = export_session(tour(), "md", title="A *tour*").decode()
    assert text.startswith("# A \\*tour\\*\n\n> Add the numbers.\n")
    assert text.count(f"(data:image/png;base64,{PNG})") == 2


def test_markdown_without_images_says_where_they_were() -> None:
    text = export_session(tour(), "md", images=False).decode()
    assert "base64" not in text
    assert "[picture of 1×1 pixels left out]" in text


HIDING = "if user != 'admin\u202e': # \u26a0\ufe0f\n    p\u0430y()\x1b[2J"
SHOWN = "if user != 'admin<U+202E>': # \u26a0\ufe0f\n    p<U+0430>y()<U+001B>[2J"


def str_values(value: object) -> list[str]:
    """All strings in parsed JSON."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for part in value.values() for text in str_values(part)]
        case list():
            return [text for part in value for text in str_values(part)]
        case _:
            return []


def test_U5_what_hides_in_code_is_written_out_wherever_it_is_read_and_kept_where_it_runs_again() -> None:
    events = [OPENED, *prompt("u", "go"), *code("c", HIDING), *ran("c", HIDING)]
    assert "    " + SHOWN.replace("\n", "\n    ") in plain_transcript(blocks_of(events))
    assert SHOWN in export_session(events, "md").decode()
    page = re.sub(r"<[^>]*>", "", export_session(events, "html").decode())
    assert SHOWN in unescape(page)
    notebook = json.loads(export_session(events, "ipynb"))
    assert HIDING in ["".join(cell["source"]) for cell in notebook["cells"]]
    assert HIDING in str_values(json.loads(export_session(events, "lmc")))
