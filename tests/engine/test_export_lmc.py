"""Sessions and conversations as files of the message language."""

import json
from typing import Any

import pytest
from hypothesis import given

from oi_tui.app.engine.core.blocks import Block, CodeBlock
from oi_tui.app.engine.core.errors import StoreError
from oi_tui.app.engine.core.events import AnyEvent
from oi_tui.app.engine.core.outputs import RichOutput, StreamOutput
from oi_tui.app.engine.formats.lmc import static_messages
from oi_tui.app.engine.transcript.outline import attribute_to_file
from oi_tui.plugins.session_files import export_session, import_session
from support.exports import FEW, OPENED, PNG, blocks_of, sessions, settled, tour, transcript_of
from support.kinds import narrow, of

ASKED = {"role": "user", "type": "message", "content": "Plot it."}
CODE = {"role": "assistant", "type": "code", "format": "python", "content": "plot()"}


def said(*text: str) -> dict[str, Any]:
    return {"role": "computer", "type": "console", "format": "output", "content": "".join(text)}


def blocks_of_file(content: Any) -> list[Block]:
    return blocks_of(import_session(json.dumps(content).encode(), "Plot_it__May_1.json").events)


def test_a_session_is_its_messages_and_what_stands_beside_them() -> None:
    content = json.loads(export_session(tour(), "lmc", title="Numbers"))
    assert (content["format"], content["version"]) == ("oi-tui/lmc", 1)
    assert content["messages"] == static_messages(transcript_of(tour()))
    assert content["session"]["title"] == "Numbers"
    assert [notice["after"] for notice in content["session"]["notices"]] == [13]


def test_a_session_comes_back_but_for_what_the_language_has_no_words_for() -> None:
    events = tour()
    imported = import_session(export_session(events, "lmc", title="Numbers"), "x.json")
    assert (imported.title, imported.cwd, imported.format) == ("Numbers", "/home/me/data", "lmc")
    there, back = settled(events), blocks_of(imported.events)
    codes = [number for number, block in enumerate(there) if isinstance(block, CodeBlock)]
    for number in codes:
        bare = {"outputs": (), "dropped": 0}
        there[number], back[number] = (
            type(block)(**{name: getattr(block, name) for name in block.__struct_fields__} | bare)
            for block in (there[number], back[number])
        )
    assert back == list(map(attribute_to_file, there))
    assert transcript_of(imported.events).usage == transcript_of(events).usage


def test_the_outputs_are_there_in_one_form_each() -> None:
    back = blocks_of(import_session(export_session(tour(), "lmc"), "x.json").events)
    texts = [output.text for output in of(StreamOutput, narrow(back[9], CodeBlock).outputs)]
    assert "".join(texts) == "0\n1\n[10 characters are not shown]\n7\n8\n[12 more characters are not shown]\n"
    assert narrow(narrow(back[10], CodeBlock).outputs[0], RichOutput).data == {"image/png": PNG}


def test_L1_the_bare_list_of_messages_is_what_stands_in_the_whole_file() -> None:
    whole, bare = (json.loads(export_session(tour(), form)) for form in ("lmc", "messages"))
    assert bare == whole["messages"]


def test_without_images_there_are_none() -> None:
    assert b"iVBOR" not in export_session(tour(), "lmc", images=False)


@FEW
@given(sessions())
def test_what_was_exported_once_is_the_same_file_the_second_time(events: list[AnyEvent]) -> None:
    once = import_session(export_session(events, "lmc"), "x.json")
    data = export_session([OPENED, *once.events], "lmc")
    twice = import_session(data, "x.json")
    assert export_session([OPENED, *twice.events], "lmc") == data
    assert blocks_of(twice.events) == blocks_of(once.events)
    kinds = [(type(block), block.id, getattr(block, "step", 0)) for block in settled(events)]
    assert [(type(block), block.id, getattr(block, "step", 0)) for block in blocks_of(once.events)] == kinds


def test_a_conversation_that_open_interpreter_saved_is_a_session() -> None:
    # As its `messages` are written to a file: an empty console before the output, text in pieces, pictures in base64.
    saved = [
        ASKED,
        {"role": "assistant", "type": "message", "content": "First I look."},
        CODE,
        said(),
        said("Traceback (most recent call last):\n", "NameError: name 'plot' is not defined\n"),
        {"role": "assistant", "type": "code", "format": "shell", "content": "pip install plot"},
        said("ok\n"),
        {"role": "computer", "type": "image", "format": "base64.png", "content": PNG},
        {"role": "assistant", "type": "message", "content": "Done."},
    ]
    imported = import_session(json.dumps(saved).encode(), "Plot_it__May_1.json")
    blocks = blocks_of(imported.events)
    assert imported.title == "Plot it  May 1".replace("  ", " ")
    assert [block.id for block in blocks] == ["message-1", "message-2", "message-3", "message-6", "message-9"]
    assert narrow(blocks[2], CodeBlock).outputs == (
        StreamOutput(name="stdout", text="Traceback (most recent call last):\nNameError: name 'plot' is not defined\n"),
    )
    assert [type(output) for output in narrow(blocks[3], CodeBlock).outputs] == [StreamOutput, RichOutput]
    assert not transcript_of(imported.events).turn_open


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [{**ASKED, "start": True, "end": True}, {**CODE, "start": True}, said("1\n") | {"end": True}],
            [ASKED, CODE, said("1\n")],
            id="flags_left_in",
        ),
        pytest.param(
            [
                ASKED,
                {"role": "assistant", "type": "message", "start": True},
                {"role": "assistant", "type": "message", "content": "So "},
                {"role": "assistant", "type": "message", "content": "it is."},
                {"role": "assistant", "type": "message", "end": True},
                {"role": "assistant", "type": "code", "format": "python", "start": True, "content": ""},
                CODE,
                {"role": "assistant", "type": "code", "format": "python", "end": True},
                {"role": "computer", "type": "confirmation", "format": "execution", "content": CODE},
                {"role": "computer", "type": "console", "start": True},
                {"role": "computer", "type": "console", "format": "active_line", "content": 1},
                said("1\n"),
                said("2\n"),
                {"role": "computer", "type": "console", "format": "active_line", "content": None},
                {"role": "computer", "type": "console", "end": True},
            ],
            [ASKED, {"role": "assistant", "type": "message", "content": "So it is."}, CODE, said("1\n2\n")],
            id="the_stream",
        ),
        pytest.param(
            [{"role": "user", "content": "Plot it."}, {"role": "assistant", "type": "code", "content": "plot()"}],
            [ASKED, CODE],
            id="no_type_no_format",
        ),
        pytest.param(
            [
                {"role": "user", "message": "Plot it."},
                {"role": "assistant", "message": "So.", "language": "python", "code": "plot()", "output": "1\n"},
            ],
            [ASKED, {"role": "assistant", "type": "message", "content": "So."}, CODE, said("1\n")],
            id="first_version",
        ),
        pytest.param(
            [{"role": "system", "content": "Be."}, ASKED, CODE, {"role": "function", "name": "x", "content": "1\n"}],
            [ASKED, CODE, said("1\n")],
            id="chat",
        ),
        pytest.param(
            [
                {"role": "user", "content": [{"type": "text", "text": "Plot it."}, {"type": "image_url"}]},
                CODE,
                {"role": "computer", "type": "image", "format": "base64.jpg", "content": "/9j/"},
                {"role": "computer", "type": "image", "format": "description", "content": "a dog"},
                {"role": "computer", "type": "console", "content": None},
            ],
            [
                ASKED,
                CODE,
                {"role": "computer", "type": "image", "format": "base64.jpeg", "content": "/9j/"},
                said("a dog"),
            ],
            id="contents",
        ),
    ],
)
def test_its_habits_are_understood(messages: list[dict[str, object]], expected: list[dict[str, object]]) -> None:
    def bare(blocks: list[Block]) -> list[list[object]]:
        return [[getattr(block, name, None) for name in ("text", "source", "outputs")] for block in blocks]

    assert bare(blocks_of_file(messages)) == bare(blocks_of_file(expected))


def test_a_picture_that_is_only_a_path_is_not_read() -> None:
    saved = [ASKED, CODE, {"role": "computer", "type": "image", "format": "path", "content": "/etc/passwd"}]
    (_, block) = blocks_of_file(saved)
    assert list(narrow(narrow(block, CodeBlock).outputs[0], RichOutput).data.values()) == ["/etc/passwd"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([ASKED, {"role": "assistant", "type": "code", "format": "python", "content": 3}], 'Message 2, key "content"'),
        ([{**ASKED, "role": "nobody"}], "'nobody' is not user, assistant or computer"),
        ([{"role": "system", "content": ""}, 7], "Message 2 is no object"),
        ({"format": "oi-tui/lmc", "version": 2, "messages": []}, "version 2"),
        ({"format": "oi-tui/lmc", "version": 1, "messages": {}}, "no conversation"),
        (
            {"format": "oi-tui/lmc", "version": 1, "session": {"blocks": [{"message": "x"}]}, "messages": []},
            "session.*blocks",
        ),
    ],
)
def test_what_is_wrong_is_said_and_where(content: object, words: str) -> None:
    with pytest.raises(StoreError, match=words) as caught:
        import_session(json.dumps(content).encode(), "x.json")
    assert caught.value.hint


def test_an_edit_beside_the_wrong_message_is_the_persons_own_code() -> None:
    edit = {**CODE, "role": "user", "content": "other()"}
    session = {"blocks": [{"message": 2, "edit": 4, "block": {"type": "code", "id": "c", "language": "python"}}]}
    content = {"format": "oi-tui/lmc", "version": 1, "session": session, "messages": [ASKED, CODE, said("1"), edit]}
    assert [getattr(block, "author", "") for block in blocks_of_file(content)] == ["", "assistant", "user"]
