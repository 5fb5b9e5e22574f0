"""The viewer on a log of 200 MB: how soon it is seen, counted, searched, and how long the keys ever wait."""

import asyncio
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from figures import table
from textual.app import App

from oi_tui.app.screens.viewer import TextContent, ViewerScreen
from oi_tui.themes.loader import load_palette, textual_theme
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.viewer.line_index import Step
from oi_tui.widgets.viewer.pane import TextPane

SIZE = 200_000_000
LINE = "2026-03-01 12:00:00 INFO measurement of station 0042 mean score 71.25 ok\n"
PAGES = 50


class Watch:
    """The longest time for which the event loop did nothing else."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        last = perf_counter()
        while True:
            await asyncio.sleep(0.001)
            self.longest, last = max(self.longest, perf_counter() - last), perf_counter()

    def lap(self) -> str:
        """The longest since the last lap, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return f"{longest * 1000:.0f}"


async def until(condition: Callable[[], bool]) -> None:
    """Let others go on until it is so."""
    while True:
        if condition():
            return
        await asyncio.sleep(0)


async def search(pane: TextPane, needle: str) -> None:
    """As the screen does it."""
    pane.mark(None)
    step: Step
    for step in pane.find(Search(needle), 1):
        if step.line is not None:
            return
        await asyncio.sleep(0)


async def measure(path: Path) -> list[tuple[str, str, str]]:
    """What was done, milliseconds, and the longest pause meanwhile."""
    rows: list[tuple[str, str, str]] = []
    app: App[None] = App()
    palette = load_palette()
    app.register_theme(textual_theme(palette))
    app.theme = palette.name
    async with app.run_test(size=(120, 40)):
        watch = Watch()
        watching = asyncio.create_task(watch.run())
        start = perf_counter()
        screen = ViewerScreen(TextContent("log", path), palette, path.parent)
        await app.push_screen(screen)
        pane = screen.query_one(TextPane)
        await until(lambda: bool(pane.position))
        rows.append(("first screen", f"{(perf_counter() - start) * 1000:.0f}", watch.lap()))
        await until(lambda: pane.lines.complete)
        rows.append((f"{pane.lines.count:,} lines counted", f"{(perf_counter() - start) * 1000:.0f}", watch.lap()))
        for needle, what in (("Needle", "search, exact"), ("needle", "search, any case")):
            pane.action_start()
            start = perf_counter()
            await search(pane, needle)
            rows.append((what, f"{(perf_counter() - start) * 1000:.0f}", watch.lap()))
        start = perf_counter()
        for _ in range(PAGES):
            pane.action_page(1)
            await asyncio.sleep(0)
        rows.append((f"{PAGES} pages", f"{(perf_counter() - start) * 1000:.0f}", watch.lap()))
        watching.cancel()
    return rows


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.txt")
        with path.open("w", encoding="utf-8") as file:
            for _ in range(SIZE // (len(LINE) * 10_000)):
                file.write(LINE * 10_000)
            file.write("the Needle at the end\n")
        rows = asyncio.run(measure(path))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"## Viewer\n\nA log of {SIZE // 1_000_000} MB on a screen of 120x40; {memory} MB of memory at most.\n")
    print(table(("", "ms", "longest pause, ms"), rows))


if __name__ == "__main__":
    main()
