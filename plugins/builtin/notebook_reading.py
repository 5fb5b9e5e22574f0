"""A notebook as blocks: our own notebooks restore the session, others become a session of somebody who typed the cells.

The content of a cell wins over its metadata: a cell that was changed in Jupyter is imported changed.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from oi_tui.plugins.api import (
    Action,
    Block,
    CodeBlock,
    ErrorOutput,
    ImportedContent,
    NoticeBlock,
    Output,
    ProseBlock,
    RichOutput,
    SessionOutline,
    StoreError,
    StreamOutput,
    SummaryBlock,
    Tail,
    ThoughtBlock,
    UserBlock,
    as_markdown,
    attribute_to_file,
    block_of,
    escape_html,
    fenced_block,
    read_json,
)
from oi_tui.plugins.builtin.notebook_form import (
    MAJOR,
    CellOutput,
    CodeCell,
    DisplayData,
    ExecuteResult,
    MarkdownCell,
    Notebook,
    NotebookCell,
    NotebookError,
    NotebookStream,
    RawCell,
    is_json_mime,
    join_lines,
)
from oi_tui.plugins.builtin.notebook_writing import METADATA_KEY, NOTEBOOK_VERSION, PLAN_KEY, SHELL_MAGIC, tail_gap

MOST_CELLS = 50_000

_PLACE = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)
_CELL = re.compile(r"cells\[(\d+)\]\.?")
_KERNEL = re.compile(r"[A-Za-z0-9._-]{1,60}")


def read_notebook(data: bytes, name: str) -> ImportedContent | None:
    """For the importer: the session in a notebook, whatever its name; StoreError if it is a broken one."""
    if not any(word in data for word in (b'"cells"', b'"nbformat"', b'"worksheets"')):
        return None
    match content := read_json(data):
        case {"format": "oi-tui/lmc"}:
            return None
        case {"cells": _} | {"nbformat": _} | {"worksheets": _}:
            blocks, outline = blocks_of_notebook(content)
            return ImportedContent(blocks=tuple(blocks), outline=outline)
        case _:
            return None


def blocks_of_notebook(content: dict[str, Any]) -> tuple[list[Block], SessionOutline | None]:
    """The blocks, and what it says of the session if it is one of ours; StoreError, which names the cell."""
    _check_version(content)
    try:
        notebook = msgspec.convert(content, Notebook)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None
    if len(notebook.cells) > MOST_CELLS:
        raise StoreError(
            f"The notebook has {len(notebook.cells):,} cells, and {MOST_CELLS:,} can be read",
            hint="Split it into several notebooks.",
        )
    session = _session(notebook.metadata.get(METADATA_KEY))
    language = _language(notebook.metadata)
    blocks = [
        _block(cell, number, language, session)
        for number, cell in enumerate(notebook.cells, start=1)
        if session is None or not _is_plan(cell)
    ]
    return [*blocks, *_attachment_notice(notebook.cells)], session


def _is_plan(cell: NotebookCell) -> bool:
    """Whether it only shows the plan, which is in the notebook's metadata."""
    ours = cell.metadata.get(METADATA_KEY)
    return isinstance(cell, MarkdownCell) and isinstance(ours, dict) and ours.get(PLAN_KEY) is True


def _check_version(content: dict[str, Any]) -> None:
    major = content.get("nbformat")
    if "worksheets" in content or (isinstance(major, int) and major < MAJOR):
        raise StoreError(
            f"The notebook is of format {major}, and only format {MAJOR} can be read",
            hint="Bring it up to date first: jupyter nbconvert --to notebook --nbformat 4 FILE",
        )
    if major != MAJOR:
        raise StoreError(f"The notebook is of format {major!r}, and only format {MAJOR} can be read", hint=_WHAT)


_WHAT = "Save it as a notebook of format 4 in the program that wrote it."


def _wrong(said: str) -> StoreError:
    """msgspec's words, with the cell counted as a person counts."""
    found = _PLACE.search(said)
    what, where = (said[: found.start()], found[1]) if found else (said, "")
    if cell := _CELL.match(where):
        place = where[cell.end() :]
        return StoreError(f"Cell {int(cell[1]) + 1}{f', {place}' if place else ''}: {what}", hint=_WHAT)
    return StoreError(f"The notebook is wrong{f' at {where}' if where else ''}: {what}", hint=_WHAT)


def _session(ours: object) -> SessionOutline | None:
    """None for the notebook of another program, and for one of a newer version of ours: then only the cells are
    read."""
    if not isinstance(ours, dict) or ours.get("version") != NOTEBOOK_VERSION:
        return None
    try:
        return msgspec.convert(ours, SessionOutline)
    except msgspec.ValidationError as error:
        raise StoreError(f"The notebook is wrong at metadata.{METADATA_KEY}: {error}", hint=_WHAT) from None


def _language(metadata: dict[str, Any]) -> str:
    match metadata.get("kernelspec"):
        case {"language": "python"}:
            return "python"
        case {"name": str(name)} if _KERNEL.fullmatch(name) and not name.startswith("python"):
            return name
        case _:
            return "python"


def _block(cell: NotebookCell, number: int, language: str, session: SessionOutline | None) -> Block:
    outlined = _block_from_outline(cell, number) if session is not None else None
    match cell:
        case CodeCell():
            return _code(cell, number, language, outlined if isinstance(outlined, CodeBlock) else None)
        case MarkdownCell():
            return _text(join_lines(cell.source), number, outlined)
        case RawCell():
            return ProseBlock(id=f"cell-{number}", text=fenced_block(join_lines(cell.source)), state="complete")


def _block_from_outline(cell: NotebookCell, number: int) -> Block | None:
    match cell.metadata.get(METADATA_KEY):
        case {"block": dict(values)}:
            pass
        case _:
            return None
    try:
        return block_of(values)
    except msgspec.ValidationError as error:
        raise StoreError(f"Cell {number}, metadata.{METADATA_KEY}.block: {error}", hint="Remove this key.") from None


def _text(text: str, number: int, outlined: Block | None) -> Block:
    match outlined:
        case ProseBlock() if outlined.text and escape_html(outlined.text) == text:
            return outlined
        case ProseBlock():
            return msgspec.structs.replace(outlined, text=text)
        case UserBlock() | Action() | NoticeBlock() | ThoughtBlock() | SummaryBlock() if as_markdown(outlined) == text:
            return attribute_to_file(outlined)
        case UserBlock():
            return attribute_to_file(msgspec.structs.replace(outlined, text=_unquote(text), files=()))
        case _:
            return ProseBlock(id=f"cell-{number}", text=text, state="complete")


def _unquote(text: str) -> str:
    return "\n".join(re.sub(r"^> ?", "", line) for line in text.split("\n"))


def _code(cell: CodeCell, number: int, language: str, outlined: CodeBlock | None) -> Block:
    source = join_lines(cell.source)
    outputs = tuple(_output(output, cell, place) for place, output in enumerate(cell.outputs))
    if outlined is None:
        failed = any(isinstance(output, ErrorOutput) for output in outputs)
        ran = bool(outputs) or cell.execution_count is not None
        return CodeBlock(
            id=f"cell-{number}",
            language=language,
            source=source,
            author="user",
            state=("error" if failed else "ok") if ran else "refused",
            refusal="" if ran else "it was not run in the notebook",
            outputs=outputs,
        )
    if outlined.language != language:
        source = source.removeprefix(SHELL_MAGIC)
    original = outlined.original if outlined.original != source else None
    return attribute_to_file(msgspec.structs.replace(outlined, source=source, original=original, outputs=outputs))


def _output(output: CellOutput, cell: CodeCell, place: int) -> Output:
    match output:
        case NotebookStream():
            stream = StreamOutput(name="stderr" if output.name == "stderr" else "stdout", text=join_lines(output.text))
            return _with_tail(stream, cell.metadata.get(METADATA_KEY), place)
        case NotebookError():
            return ErrorOutput(name=output.ename, value=output.evalue, traceback=tuple(output.traceback))
        case DisplayData() | ExecuteResult():
            data = {mime: _content(mime, content) for mime, content in output.data.items()}
            metadata = {key: value for key, value in output.metadata.items() if key != METADATA_KEY}
            return RichOutput(
                data=data,
                metadata=metadata,
                display_id=_display_id(output.metadata.get(METADATA_KEY)),
                is_result=isinstance(output, ExecuteResult),
            )


def _content(mime: str, content: Any) -> Any:
    """Joins text stored as lines; anything else is shown verbatim."""
    if is_json_mime(mime) or isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        return "".join(content)
    return json.dumps(content)


def _display_id(ours: object) -> str | None:
    match ours:
        case {"display_id": str(display_id)}:
            return display_id
        case _:
            return None


def _with_tail(stream: StreamOutput, ours: object, place: int) -> StreamOutput:
    """The stream in its two parts, where the metadata says that it was long and the text still says so too."""
    match ours.get("tails") if isinstance(ours, dict) else None:
        case dict(tails):
            pass
        case _:
            return stream
    match tails.get(str(place)):
        case {"head": int(head), "left_out_characters": int(characters), "left_out_lines": int(lines)}:
            tail = Tail(text="", left_out_characters=characters, left_out_lines=lines)
        case _:
            return stream
    split = StreamOutput(name=stream.name, text=stream.text[: max(0, head)], tail=tail)
    between = tail_gap(split)
    rest = stream.text[len(split.text) :]
    if not rest.startswith(between):
        return stream
    return msgspec.structs.replace(split, tail=msgspec.structs.replace(tail, text=rest.removeprefix(between)))


def _attachment_notice(cells: list[NotebookCell]) -> Iterator[Block]:
    """Content without a place in a session is mentioned, not dropped silently."""
    count = sum(len(cell.attachments or {}) for cell in cells if isinstance(cell, MarkdownCell | RawCell))
    if count:
        what = "A file that was attached" if count == 1 else f"{count:,} files that were attached"
        yield NoticeBlock(id="attachments", level="info", title=f"{what} to text of the notebook did not come along.")
