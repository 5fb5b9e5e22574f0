"""A session as a Jupyter notebook that can be run again.

Python code that ran is a code cell, byte for byte; shell code has `%%bash` before it. Refused or interrupted code, and
code of a second kernel, which one notebook cannot have, is Markdown: "run all" must not run anything that the user did
not run. A cell that raised is marked so that `jupyter execute` continues after it, as the session did; one that was
interrupted, lost its kernel or asked for input is marked to be skipped, and says why. The plan is the first cell.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from oi_tui.plugins.api import (
    Action,
    Block,
    CodeBlock,
    ErrorOutput,
    Output,
    ProseBlock,
    RichOutput,
    SessionContent,
    SessionOutline,
    StreamOutput,
    as_markdown,
    block_outline,
    escape_html,
    has_run,
    plan_markdown,
)
from oi_tui.plugins.builtin.notebook_form import (
    CellOutput,
    CodeCell,
    DisplayData,
    ExecuteResult,
    MarkdownCell,
    Notebook,
    NotebookCell,
    NotebookError,
    NotebookStream,
    is_json_mime,
    split_lines,
)

METADATA_KEY = "oi_tui"
"""The key in metadata for values that only we use."""

PLAN_KEY = "plan"
"""Marks the cell that shows the plan: the plan itself is in the metadata of the notebook."""

NOTEBOOK_VERSION = 1
"""Version of our metadata; a reader that does not know it uses only the cells."""

SHELL_MAGIC = "%%bash\n"
_SHELLS = ("shell", "bash")

_PASSED_OVER = "skip-execution"
_RAISES = "raises-exception"
"""Words by which nbclient and nbconvert know what to do with a cell."""

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def write_notebook(session: SessionContent) -> bytes:
    """The notebook as a file, from what an exporter gets."""
    return notebook_bytes(session.blocks, session.outline)


def notebook_bytes(blocks: Sequence[Block], session: SessionOutline) -> bytes:
    """A session as a notebook file (nbformat 4.5, UTF-8)."""
    language = _main_language(blocks)
    cells: list[NotebookCell] = []
    cited: dict[str, str] = {}
    count = 0
    for number, block in enumerate(blocks, start=1):
        count += _is_cell(block, language)
        cells.append(_cell(block, number, count, language))
        if isinstance(block, Action):
            cited[block.id] = f"cell \\[{count}\\]" if _is_cell(block, language) else f"cell {number + 1} from the top"
    if plan := plan_markdown(session.plan, lambda block_id: cited.get(block_id, "")):
        metadata_of_plan = {METADATA_KEY: {PLAN_KEY: True}}
        cells.insert(0, MarkdownCell(id="plan", metadata=metadata_of_plan, source=split_lines(plan)))
    metadata = {
        "kernelspec": _kernelspec(language, _place(blocks, language)),
        "language_info": {"name": language},
        **({"title": session.title} if session.title else {}),
        METADATA_KEY: {"version": NOTEBOOK_VERSION, **msgspec.to_builtins(session)},
    }
    notebook = msgspec.json.encode(Notebook(cells=_with_own_ids(cells), metadata=metadata))
    return msgspec.json.format(notebook, indent=1) + b"\n"


def tail_gap(output: StreamOutput) -> str:
    """The note between head and tail of a long stream."""
    left_out = output.tail.left_out_characters if output.tail is not None else 0
    joint = "" if output.text.endswith("\n") or not output.text else "\n"
    return f"{joint}[… {left_out:,} characters left out …]\n" if left_out else ""


def _main_language(blocks: Sequence[Block]) -> str:
    """The kernel of the notebook: Python, unless only one other was used."""
    ran = {block.language for block in blocks if isinstance(block, CodeBlock) and has_run(block)}
    others = ran - {*_SHELLS, "python"}
    return others.pop() if len(others) == 1 and others == ran else "python"


def _place(blocks: Sequence[Block], language: str) -> str:
    """Where its cells ran, if all known places are the same."""
    codes = (block for block in blocks if isinstance(block, CodeBlock) and block.language == language)
    places = {block.place for block in codes if block.place}
    return places.pop() if len(places) == 1 else ""


def _kernelspec(language: str, place: str) -> dict[str, str]:
    if language == "python":
        return {"name": "python3", "display_name": place or "Python 3 (ipykernel)", "language": "python"}
    return {"name": language, "display_name": language, "language": language}


def _is_cell(block: Block, language: str) -> bool:
    """Whether the block can be run again as a cell of this notebook."""
    if not isinstance(block, CodeBlock) or not has_run(block):
        return False
    return block.language == language or (language == "python" and block.language in _SHELLS)


def _cell(block: Block, number: int, count: int, language: str) -> NotebookCell:
    cell_id = block.id if _ID.fullmatch(block.id) else f"block-{number}"
    match block:
        case CodeBlock() if _is_cell(block, language):
            return _code_cell(block, cell_id, count, SHELL_MAGIC if block.language != language else "")
        case ProseBlock():
            text = escape_html(block.text)
            values = block_outline(block, carries_text=text == block.text)
            return MarkdownCell(id=cell_id, metadata={METADATA_KEY: {"block": values}}, source=split_lines(text))
        case _:
            values = block_outline(block, carries_text=False)
            return MarkdownCell(
                id=cell_id, metadata={METADATA_KEY: {"block": values}}, source=split_lines(as_markdown(block))
            )


def _code_cell(block: CodeBlock, cell_id: str, count: int, magic: str) -> CodeCell:
    ours: dict[str, Any] = {"block": block_outline(block)}
    if tails := {str(place): _tail(output) for place, output in enumerate(block.outputs) if _has_tail(output)}:
        ours["tails"] = tails
    tags = []
    if why := _skip_reason(block):
        ours["passed_over"] = why
        tags.append(_PASSED_OVER)
    if block.state == "error":
        tags.append(_RAISES)
    return CodeCell(
        id=cell_id,
        metadata={**({"tags": tags} if tags else {}), METADATA_KEY: ours},
        source=split_lines(magic + block.source),
        outputs=[_output(output, count) for output in block.outputs],
        execution_count=count,
    )


def _skip_reason(block: CodeBlock) -> str:
    """Why it is passed over when the notebook runs by itself, "" if it is not."""
    match block.state:
        case "interrupted" | "died" if block.ending is not None:
            return block.ending.describe()
        case "interrupted":
            return "it was interrupted"
        case "died":
            return "the kernel ended while it ran"
        case _:
            return "it asked for input" if block.asked else ""


def _has_tail(output: Output) -> bool:
    return isinstance(output, StreamOutput) and output.tail is not None


def _tail(output: Output) -> dict[str, int]:
    """Where in the text the tail begins, and how much was omitted before it."""
    assert isinstance(output, StreamOutput), output
    assert output.tail is not None, output
    return {
        "head": len(output.text),
        "left_out_characters": output.tail.left_out_characters,
        "left_out_lines": output.tail.left_out_lines,
    }


def _output(output: Output, count: int) -> CellOutput:
    match output:
        case StreamOutput():
            tail = output.tail.text if output.tail is not None else ""
            return NotebookStream(name=output.name, text=split_lines(output.text + tail_gap(output) + tail))
        case ErrorOutput():
            return NotebookError(ename=output.name, evalue=output.value, traceback=list(output.traceback))
        case RichOutput():
            data = {mime: _content(mime, content) for mime, content in output.data.items()}
            metadata = output.metadata
            if output.display_id is not None:
                metadata = {**metadata, METADATA_KEY: {"display_id": output.display_id}}
            if output.is_result:
                return ExecuteResult(data=data, metadata=metadata, execution_count=count)
            return DisplayData(data=data, metadata=metadata)


def _content(mime: str, content: Any) -> Any:
    """Text as lines, base64 as it is; only a JSON type may hold anything else."""
    if is_json_mime(mime):
        return content
    if not isinstance(content, str):
        return json.dumps(content, ensure_ascii=False, default=str)
    return split_lines(content) if mime.startswith("text/") or mime == "image/svg+xml" else content


def _with_own_ids(cells: Sequence[NotebookCell]) -> list[NotebookCell]:
    """No two cells of one id, and none without."""
    seen: set[str] = set()
    own: list[NotebookCell] = []
    for number, cell in enumerate(cells, start=1):
        cell_id = cell.id if cell.id not in seen else f"cell-{number}-{len(seen)}"
        seen.add(cell_id)
        own.append(msgspec.structs.replace(cell, id=cell_id))
    return own
