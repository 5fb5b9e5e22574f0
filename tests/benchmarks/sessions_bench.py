"""The panel of sessions with 10,000: opening, a step, the end, a letter of the filter; beside Textual's list."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from figures import Budget, judge, medians, table
from stage import Stage, staged
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from oi_tui.app.engine.core.library_replies import SessionsFound
from oi_tui.app.engine.core.protocol_lines import decode_reply, encode_message
from oi_tui.app.engine.core.session_records import SessionRecord
from oi_tui.widgets.sessions.panel import Panel

COUNT = 10_000
ROUNDS = 3
REPEATS = 7
OPENED = 0.1
"""Seconds that opening may take, by the processor's clock: on a busy machine the wall's would be of the others."""

NOW = 1_800_000_000.0


def found() -> SessionsFound:
    """Sessions of two years in twenty folders, every tenth a fork."""
    return SessionsFound(
        sessions=tuple(
            SessionRecord(
                id=f"s{number}",
                created=NOW - 6300 * number,
                active=NOW - 6300 * number,
                cwd=f"/home/somebody/work/project-{number % 20}",
                title=f"Look into measurement {number} of the harbour and plot its mean",
                model="openai/qwen2.5-coder-1.5b",
                turns=number % 30,
                input_tokens=12 * number,
                parent_id=f"s{number + 1}" if number % 10 == 0 else None,
            )
            for number in range(COUNT)
        )
    )


async def timed(stage: Stage, act: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds with all frames that follow, and wall seconds to the last of them."""
    cpu, begun = time.process_time(), time.perf_counter()
    act()
    await stage.drawn()
    return time.process_time() - cpu, stage.last_frame - begun


async def ours() -> dict[str, float]:
    """The panel."""
    line = encode_message(found())
    panel = Panel(clock=lambda: NOW, home="/home/somebody")
    async with staged(panel) as stage:
        seen: dict[str, float] = {}

        def open_it() -> None:
            reply = decode_reply(line)
            assert isinstance(reply, SessionsFound)
            panel.show(reply)
            panel.rows.focus()

        seen["open"], seen["open, wall"] = await timed(stage, open_it)
        seen["step"] = statistics.median(
            [(await timed(stage, lambda: panel.rows.action_move(1)))[0] for _ in range(REPEATS)]
        )
        seen["end"] = (await timed(stage, lambda: panel.rows.action_edge(-1)))[0]
        field = panel.query_one(Input)
        texts = iter(("h", "ha", "har", "harb", "harbo", "harbou", "harbour"))

        def type_one() -> None:
            field.value = next(texts)

        seen["letter"] = statistics.median([(await timed(stage, type_one))[0] for _ in range(REPEATS)])
        return seen


async def textual() -> dict[str, float]:
    """Textual's list of lines, told the titles only; a letter is a list made anew."""
    titles = [record.title for record in found().sessions]
    listed = OptionList()
    async with staged(listed) as stage:
        seen: dict[str, float] = {}

        def fill() -> None:
            listed.set_options([Option(title) for title in titles])
            listed.focus()

        seen["open"], seen["open, wall"] = await timed(stage, fill)
        seen["step"] = statistics.median([(await timed(stage, listed.action_cursor_down))[0] for _ in range(REPEATS)])
        seen["end"] = (await timed(stage, listed.action_last))[0]
        seen["letter"] = statistics.median([(await timed(stage, fill))[0] for _ in range(REPEATS)])
        return seen


def measured(name: str) -> dict[str, float]:
    """The figures of one kind, from a process of its own."""
    command = [sys.executable, __file__, name]
    result: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return result


def main() -> None:
    """Measure by turns and print the section."""
    rounds = [(measured("ours"), measured("textual")) for _ in range(ROUNDS)]
    panel, plain = medians(each[0] for each in rounds), medians(each[1] for each in rounds)
    print(
        "## Panel of sessions\n\n"
        f"A panel with {COUNT:,} sessions in 20 folders, a thousand of them forks: CPU ms of the process"
    )
    print(
        "with all frames that follow, painted on 120x40. Beside it, an `OptionList` with the titles alone. To opening"
    )
    print("belongs the line from the engine; with a letter all titles, tags, models and folders are filtered.\n")
    actions = {"open": "open", "step": "a step", "end": "to the end", "letter": "a letter"}
    rows = [
        (words, f"{panel[name] * 1000:.1f}", f"{plain[name] * 1000:.1f}", f"{panel[name] / plain[name]:.2f}")
        for name, words in actions.items()
    ]
    print(table(("", "panel", "`OptionList`", "ratio"), rows))
    judge(
        Budget(
            f"panel of {COUNT:,} sessions opened, CPU",
            f"< {OPENED * 1000:.0f} ms",
            f"{panel['open'] * 1000:.0f} ms",
            panel["open"] < OPENED,
            f"{plain['open'] * 1000:.0f} ms as an `OptionList` of titles",
        )
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours"]:
            print(json.dumps(asyncio.run(ours())))
        case ["textual"]:
            print(json.dumps(asyncio.run(textual())))
        case _:
            main()
