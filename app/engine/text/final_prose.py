"""What a turn came to, as text: the prose at its end, and what its code put out. Pure."""

from collections.abc import Iterable, Sequence

from oi_tui.app.engine.core.blocks import Action, Block, ProseBlock, UserBlock
from oi_tui.app.engine.core.outputs import ErrorOutput, Output, RichOutput, StreamOutput
from oi_tui.app.engine.text.safe import safe_text


def final_prose(blocks: Sequence[Block], step: int) -> str:
    """The prose of the last step, and of those before it that held nothing else (see `completion.py`)."""
    others = [number for number, block in enumerate(blocks) if isinstance(block, Action | UserBlock)]
    last = others[-1] if others else -1
    prose = [
        block.text
        for number, block in enumerate(blocks)
        if isinstance(block, ProseBlock) and (number > last or block.step == step)
    ]
    return safe_text("\n\n".join(text.strip() for text in prose))


def last_prose(blocks: Iterable[Block], step: int) -> str:
    """The prose of the model's last answer alone."""
    return "\n".join(block.text for block in blocks if isinstance(block, ProseBlock) and block.step == step)


def run_output(outputs: Iterable[Output]) -> str:
    """What came out of a run as text; of what has none, the mime types."""
    parts: list[str] = []
    for output in outputs:
        match output:
            case StreamOutput():
                parts.append(output.text)
            case ErrorOutput():
                parts.append("\n".join(output.traceback) or f"{output.name}: {output.value}")
            case RichOutput():
                text = output.data.get("text/plain")
                parts.append(text if isinstance(text, str) else f"[{', '.join(output.data)}]")
    return safe_text("\n".join(part.rstrip("\n") for part in parts if part))
