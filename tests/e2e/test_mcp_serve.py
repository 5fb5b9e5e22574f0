"""`oi-tui mcp serve`: another assistant in a session of ours, through the installed program, real pipes and kernels."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from support.assistants import SECRET, Assistant, ServedPlace, StandingAssistant

pytestmark = [pytest.mark.kernel, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> ServedPlace:
    return ServedPlace(tmp_path_factory.mktemp("served"))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served(place: ServedPlace) -> AsyncIterator[Assistant]:
    """One whose code runs without a question, for all tests that leave it as it was."""
    standing = StandingAssistant(place.environ, place.folder, "--yes", "--wait", "1", log=place.log)
    yield await standing.begin()
    await standing.end()


# -- N14: what it gets -------------------------------------------------------------------------------------


async def test_N14_code_runs_in_a_kernel_that_keeps_its_variables(served: Assistant, place: ServedPlace) -> None:
    assert served.greeting.server_info.name == "oi-tui"
    offered = {tool.name for tool in (await served.session.list_tools()).tools}
    assert offered == {
        *("run_code", "recall", "read_state", "interrupt", "list_variables", "show_variable", "restart_kernel"),
        *("read_file", "list_files", "search_files", "write_file", "edit_file"),
    }
    assert (await served.call("run_code", code="width = 40\nprint(width + 2)")).text == "42"
    assert (await served.call("run_code", code="width * 2", language="python")).text == "80"
    assert str(place.folder) in (await served.call("run_code", code="pwd", language="bash")).text
    assert "width: int 40" in (await served.call("list_variables")).text
    assert (await served.call("show_variable", name="width")).text == "40"
    missing = await served.call("show_variable", name="height")
    assert missing.failed
    assert "no such variable" in missing.text
    state = json.loads((await served.call("read_state")).text)
    assert (state["folder"], state["approval"], state["kernels"]["python"]) == (str(place.folder), "auto", "idle")


async def test_N14_pictures_are_pictures_and_errors_errors(served: Assistant) -> None:
    code = "from IPython.display import Image, display\nimport base64\ndisplay(Image(data=base64.b64decode({!r})))"
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    drawn = await served.call("run_code", code=code.format(png))
    ((mime, data),) = drawn.pictures
    assert mime == "image/png"
    assert base64.b64decode(data).startswith(b"\x89PNG")
    raised = await served.call("run_code", code="1 / 0")
    assert raised.failed
    assert "ZeroDivisionError" in raised.text


async def test_N14_a_long_output_is_cut_and_the_rest_is_read_by_its_number(served: Assistant) -> None:
    cut = await served.call("run_code", code="for n in range(30_000): print('row', n)")
    assert "row 0\n" in cut.text
    assert "row 29999" in cut.text
    assert len(cut.text) < 30_000
    number = int(cut.text.partition('recall {"block": ')[2].partition("}")[0])
    rest = await served.call("recall", block=number, from_line=15_000)
    assert "row 15000" in rest.text
    assert "no output of a call of yours" in (await served.call("recall", block=1)).text
    assert (await served.call("recall", block=10**9)).failed


async def test_N14_files_are_read_searched_and_changed_within_the_folder(served: Assistant, place: ServedPlace) -> None:
    assert not (await served.call("write_file", path="notes.txt", content="one\ntwo\n")).failed
    assert not (await served.call("edit_file", path="notes.txt", old="two", new="three")).failed
    assert (place.folder / "notes.txt").read_text() == "one\nthree\n"
    assert "three" in (await served.call("read_file", path="notes.txt")).text
    assert "notes.txt" in (await served.call("list_files")).text
    assert "notes.txt" in (await served.call("search_files", pattern="thr.e")).text
    outside = await served.call("read_file", path=str(place.home / "data/oi-tui/sessions.db"))
    assert outside.failed


async def test_N14_secrets_and_invisible_characters_do_not_reach_it(served: Assistant) -> None:
    halves = f"print({SECRET[:9]!r} + {SECRET[9:]!r}, 'a\\u200bb\\x1b[2J')"
    told = (await served.call("run_code", code=halves)).text
    assert SECRET not in told
    assert "[secret withheld: TRACKER_API_KEY]" in told
    assert not {"\u200b", "\x1b"} & set(told)
    await served.call("run_code", code=f"kept = {SECRET[:9]!r} + {SECRET[9:]!r}")
    assert SECRET not in (await served.call("show_variable", name="kept")).text


async def test_N14_standard_output_has_nothing_but_the_protocol(served: Assistant) -> None:
    """The client would fail at any other line; what code writes past its kernel does not get there either."""
    done = await served.call("run_code", code="import os; os.write(1, b'raw\\n'); os.system('echo shell')")
    assert not done.failed
    assert (await served.call("run_code", code="1 + 1")).text == "2"


async def test_N15_code_that_asks_for_input_is_interrupted_where_nobody_answers(served: Assistant) -> None:
    asked = await served.call("run_code", code="name = input('Name? ')")
    assert asked.failed
    assert "there was nobody to ask" in asked.text
    assert any("oi-tui attach" in told for told in asked.progress)


# -- N16: stopping -----------------------------------------------------------------------------------------


async def test_N16_a_call_that_is_given_up_stops_what_it_runs(served: Assistant) -> None:
    await served.call("run_code", code="import time\nturns = 0")
    waiting = asyncio.create_task(served.call("run_code", code="while True:\n    turns += 1\n    time.sleep(0.01)"))
    async with asyncio.timeout(30):
        while True:
            if json.loads((await served.call("read_state")).text)["kernels"].get("python") == "busy":
                break
            await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.wait([waiting])
    after = await served.call("run_code", code="turns > 0")  # waits for the end of the one before
    assert after.text == "True"


async def test_N16_interrupt_and_restart(served: Assistant) -> None:
    assert "Nothing of yours runs" in (await served.call("interrupt")).text
    await served.call("run_code", code="import time; held = 1")
    waiting = asyncio.create_task(served.call("run_code", code="time.sleep(60)"))
    async with asyncio.timeout(30):
        while True:
            if "Interrupted" in (await served.call("interrupt")).text:
                break
            await asyncio.sleep(0.05)
    stopped = await waiting
    assert stopped.failed
    assert "interrupted" in stopped.text or "KeyboardInterrupt" in stopped.text
    assert (await served.call("run_code", code="held")).text == "1"
    assert "Restarted: python" in (await served.call("restart_kernel")).text
    assert "NameError" in (await served.call("run_code", code="held")).text


# -- N17: bounds -------------------------------------------------------------------------------------------


async def test_N17_calls_at_once_wait_for_each_other(served: Assistant) -> None:
    await served.call("run_code", code="order = []")
    codes = [f"order.append({n}); import time; time.sleep(0.05); order" for n in range(6)]
    answers = await asyncio.gather(*(served.call("run_code", code=code) for code in codes))
    assert sorted(map(len, (answer.text for answer in answers))) == sorted(
        len(str(list(range(n + 1)))) for n in range(6)
    )


async def test_N17_what_is_no_call_is_refused_and_nobody_is_asked(served: Assistant) -> None:
    unknown = await served.call("rm_rf")
    assert unknown.failed
    assert "no tool named rm_rf" in unknown.text
    for arguments in ({}, {"code": 7}, {"code": "1", "more": 1}, {"code": "x" * 1_000_001}):
        assert (await served.call("run_code", **arguments)).failed
    assert "no such kernel" in (await served.call("run_code", code="1", language="cobol")).text
