"""Pictures of screens, kept as SVG files beside the tests and compared as text.

`snap` is used through the fixture of that name: `await snap(pilot)` or `await snap(app, "narrow", size=(80, 24))`.
After a change that is meant, look at the new pictures and run pytest with `--snapshot-update`.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from textual.app import App
from textual.pilot import Pilot

RANDOM_ID = re.compile(r"terminal-\d+-")

Snap = Callable[..., Awaitable[None]]


class SvgSnapshots(SingleFileSnapshotExtension):
    """One `.svg` a picture, in `snapshots/TEST_MODULE/` beside the test."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of this test module's pictures."""
        module = Path(test_location.filepath)
        return str(module.parent / "snapshots" / module.stem)


def picture(app: App[object]) -> str:
    """The screen as SVG, the same for the same screen."""
    return RANDOM_ID.sub("terminal-", app.export_screenshot(simplify=True))


def snapper(snapshot: SnapshotAssertion, folder: Path) -> Snap:
    """What the `snap` fixture gives; a picture that differs is left in `folder` to be looked at."""
    expected = snapshot.use_extension(SvgSnapshots)

    async def snap(shown: App[object] | Pilot[object], name: str = "", size: tuple[int, int] = (80, 24)) -> None:
        if isinstance(shown, App):
            async with shown.run_test(size=size) as pilot:
                await snap(pilot, name)
            return
        await shown.pause()
        drawn = picture(shown.app)
        if drawn != (expected(name=name) if name else expected()):
            seen = folder / f"{name or 'screen'}.svg"
            seen.write_text(drawn, encoding="utf-8")
            pytest.fail(f"the screen is not the kept picture {name!r}; this is how it looked: {seen}", pytrace=False)

    return snap
