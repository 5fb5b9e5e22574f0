"""What the parts of a linear session share: the console, the session as it is known here, the way to the engine."""

from collections.abc import Callable, Iterable
from pathlib import Path

from oi_tui.app.engine.core.settings import Settings
from oi_tui.app.engine.core.verbs import AnyVerb
from oi_tui.app.engine.transcript.transcript import Transcript
from oi_tui.app.frontend.workplace import Workplace
from oi_tui.app.linear.console import Console
from oi_tui.app.linear.narrator import Narrator
from oi_tui.app.screens.external_editor import EditorFailed, edit_file, editor_command


class Desk:
    """One session at one console."""

    def __init__(
        self,
        console: Console,
        send: Callable[[AnyVerb], None],
        *,
        settings: Settings,
        folder: Path,
        place: Workplace | None,
    ) -> None:
        self.console, self.send = console, send
        self.say = console.say
        self.narrator = Narrator(console.say)
        self.transcript = Transcript()
        self.settings, self.folder, self.place = settings, folder, place
        self.running: set[str] = set()
        """Blocks that run."""
        self.stopped = True
        """Whether there is no engine."""

    def say_all(self, lines: Iterable[str]) -> None:
        """The same for lines that are still being made: each is held back or written by itself."""
        for line in lines:
            self.say(line)

    @property
    def busy(self) -> bool:
        """Whether leaving now would interrupt anything."""
        return not self.stopped and (self.transcript.turn_open or self.transcript.summarises or bool(self.running))

    def edit(self, text: str, suffix: str) -> str | None:
        """The text after the person's editor; None if there is no editor, which is printed."""
        try:
            command = editor_command(self.settings.screen.editor)
            with self.console.lend():
                return edit_file(command, text, f"prompt{suffix}").removesuffix("\n")
        except EditorFailed as failed:
            self.say(str(failed))
            return None
