"""What a person types at the prompt, and what becomes of it."""

from collections.abc import Callable

from oi_tui.app.commands.mentions import find_mentions
from oi_tui.app.commands.typed import SlashLine, interpret, needs_body
from oi_tui.app.engine.core.verbs import Submit
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.linear.desk import Desk

GOODBYES = ("exit", "quit", ":q")


class Prompts:
    """Takes lines that answer no question."""

    def __init__(self, desk: Desk, run_command: Callable[[SlashLine], None]) -> None:
        self._desk, self._run_command = desk, run_command
        self._insisted = ""
        """A prompt that mentions files that are not there: sent again, it is meant."""

    def take(self, text: str) -> None:
        """A prompt, code of the person's own, or a command."""
        desk = self._desk
        if not text.strip():
            return
        if text.strip() in GOODBYES:
            desk.say("To quit: /quit, or Ctrl+D.")
        elif needs_body(text):
            desk.console.keep(f"{text.rstrip()}\n")
            desk.say("Write the lines of the cell, with a backslash at the end of each but the last.")
        else:
            match interpret(text, desk.folder):
                case SlashLine() as typed:
                    self._run_command(typed)
                case Submit() as prompt:
                    self.submit(prompt)
                case verb:
                    desk.send(verb)

    def submit(self, prompt: Submit) -> None:
        """Send it, if all files that it mentions are there, or it is sent a second time; to a turn that runs, for its
        next step."""
        desk = self._desk
        missing = find_mentions(prompt.text, desk.folder).missing
        if missing and prompt.text != self._insisted:
            self._insisted = prompt.text
            names = ", ".join(f"@{one_line(name)}" for name in missing[:3])
            desk.say(f"No such file: {names}. Nothing was sent. Enter sends the prompt all the same.")
            desk.console.keep(prompt.text)
            return
        self._insisted = ""
        turn_open = desk.transcript.turn_open
        if turn_open:
            desk.narrator.expect(prompt.text)
        desk.send(Submit(text=prompt.text, files=prompt.files, command=prompt.command, steer=turn_open))

    def open_editor(self) -> None:
        """The line in the person's own editor; it comes back to be sent, or changed."""
        console = self._desk.console
        typed = console.take_typed()
        text = self._desk.edit(typed, ".md")
        console.keep(typed if text is None else text)
