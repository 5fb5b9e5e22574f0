"""The start of a prompt that is typed or pasted where the keys are for something else: the prompt continues with it."""

from textual.events import Key, Paste
from textual.message import Message
from textual.widget import Widget


class PromptStarted(Message):
    """Somebody writes a prompt, or pastes one."""

    def __init__(self, text: str, *, pasted: bool) -> None:
        super().__init__()
        self.text, self.pasted = text, pasted


def start_prompt(widget: Widget, event: Key | Paste) -> None:
    """Send keys that would be text to the prompt instead of this widget; other keys are for the widget."""
    text = event.text if isinstance(event, Paste) else event.character if event.is_printable else None
    if text is not None:
        event.stop()
        event.prevent_default()
        widget.post_message(PromptStarted(text, pasted=isinstance(event, Paste)))
