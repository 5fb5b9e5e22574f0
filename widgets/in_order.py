"""Keys in the order in which they were typed, however fast they come.

Textual takes a letter where it is typed, but sends a bound key up to the app, which comes back with its action. What
arrives in one piece (a slow line, a script) would be edited in another order than it was typed.
"""

from typing import TYPE_CHECKING

from textual.events import Key

if TYPE_CHECKING:
    from textual.widget import Widget as Base
else:
    Base = object  # as a widget of its own it would have style sheets of its own


class InOrder(Base):
    """A mix-in for widgets that are typed into: their own bound keys are obeyed at once."""

    async def on_key(self, event: Key) -> None:
        """The actions of this widget's keys, before the next key is looked at."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return
