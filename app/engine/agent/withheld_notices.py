"""Notices about secrets that were withheld from the model: one for each block, not one for each request."""

from collections import Counter
from collections.abc import Iterable, Iterator

from oi_tui.app.engine.agent.conversation import Conversation
from oi_tui.app.engine.core.blocks import Action, UserBlock
from oi_tui.app.engine.core.events import AnyEvent, NoticeAdded, SecretsWithheld
from oi_tui.app.engine.core.ids import new_id
from oi_tui.app.engine.transcript.transcript import Transcript


def withheld_events(conversation: Conversation, transcript: Transcript) -> Iterator[AnyEvent]:
    """Events for secrets that the last request withheld and the transcript does not show yet.

    Code shows it in its own header. A prompt gets a notice: users who give a key to a model should know that it does
    not arrive.
    """
    for block_id, names in conversation.withheld_names.items():
        block = transcript.block(block_id)
        if not isinstance(block, Action | UserBlock) or block.withheld == names:
            continue
        yield SecretsWithheld(block_id=block_id, names=names)
        if isinstance(block, UserBlock):
            title = f"Withheld from the model: {count_secrets(names)}."
            hint = "The model reads [secret withheld: …] instead. Code can still read a file that contains it."
            yield NoticeAdded(block_id=new_id(), level="info", title=title, hint=hint)


def count_secrets(names: Iterable[str]) -> str:
    """`OPENAI_API_KEY and 2 × password`."""
    told = [f"{count} × {name}" if count > 1 else name for name, count in Counter(names).items()]
    return " and ".join((", ".join(told[:-1]), told[-1])) if len(told) > 1 else "".join(told)
