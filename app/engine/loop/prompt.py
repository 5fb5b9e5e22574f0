"""The conversation as chat messages: a pure function of the transcript.

Small models set the tone: the system prompt is short, because naming libraries or adding rules measurably
makes a 1.5-billion-parameter model worse, and larger ones do not need it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from oi_tui.app.engine.blocks import Block, CodeBlock, NoticeBlock, ProseBlock, UserBlock
from oi_tui.app.engine.chat import ChatMessage, ToolCall
from oi_tui.app.engine.mime import pictures, report

SYSTEM = """\
You do tasks for the user by running code on their machine. Reply with one ```python code block that solves the \
task{shell}. It runs in {where} after the user approves it, variables are kept, and you are shown the output. \
Do not guess results: run code. When the task is done, answer in one or two sentences without code."""

NEXT = "If the task is done, answer in one or two sentences without code. If not, go on with the next code block."
"""Said after every output: it makes small models stop when they are done."""

FAILED = (
    "The task is not done. Reply with corrected code in one code block. "
    "If you do not know what the data looks like, print it first."
)
"""Said after an error: without it small models explain the error instead of mending it."""


def system_prompt(languages: Sequence[str], cwd: str) -> str:
    """The one system message."""
    shell = " (```bash for shell commands)" if "shell" in languages else ""
    return SYSTEM.format(shell=shell, where=cwd)


def conversation(
    blocks: Iterable[Block], *, system: str, output_limit: int, images: bool = False
) -> tuple[ChatMessage, ...]:
    """All messages of a request.

    One answer of the model is one assistant message (prose and fenced code, or prose and native calls),
    followed by what its code gave: as tool results for native calls, else as one user message.
    """
    messages = [ChatMessage(role="system", text=system)]
    for _, group in groupby(blocks, key=_group):
        messages.extend(_messages(list(group), output_limit, images))
    return tuple(_merged(messages))


def _group(block: Block) -> tuple[str, int | str]:
    match block:
        case ProseBlock() | CodeBlock(author="assistant"):
            return ("step", block.step)
        case _:
            return ("single", block.id)


def _messages(group: list[Block], limit: int, images: bool) -> Iterator[ChatMessage]:
    match group:
        case [UserBlock() as block]:
            yield ChatMessage(role="user", text=_with_files(block))
        case [NoticeBlock()]:
            return
        case [CodeBlock(author="user") as block]:
            text = f"I ran this {block.language} code:\n{_fenced(block, block.source)}\nOutput:\n{report(block, limit)}"
            yield ChatMessage(role="user", text=text, images=pictures(block) if images else ())
        case _:
            yield from _step(group, limit, images)


def _step(group: list[Block], limit: int, images: bool) -> Iterator[ChatMessage]:
    codes = [block for block in group if isinstance(block, CodeBlock)]
    native = [code for code in codes if code.call_id is not None]
    parts = [_said(block) for block in group if not (isinstance(block, CodeBlock) and block.call_id is not None)]
    yield ChatMessage(
        role="assistant",
        text="\n\n".join(part for part in parts if part),
        calls=tuple(_call(code) for code in native),
    )
    for code in native:
        yield ChatMessage(role="tool", text=_result(code, limit), call_id=code.call_id or "")
    fenced = [code for code in codes if code.call_id is None]
    shown = tuple(url for code in codes for url in pictures(code)) if images else ()
    if fenced:
        results = "\n\n".join(_labelled(code, limit, len(fenced)) for code in fenced)
        failed = any(code.state == "error" for code in fenced)
        yield ChatMessage(role="user", text=f"{results}\n\n{FAILED if failed else NEXT}", images=shown)
    elif shown:
        yield ChatMessage(role="user", text="The pictures that the code made:", images=shown)


def _said(block: Block) -> str:
    match block:
        case ProseBlock():
            return block.text.strip()
        case CodeBlock():
            return _fenced(block, block.original if block.original is not None else block.source)
        case _:
            return ""


def _fenced(block: CodeBlock, source: str) -> str:
    label = "bash" if block.language == "shell" else block.language
    ticks = "```" if "```" not in source else "````"
    return f"{ticks}{label}\n{source}\n{ticks}"


def _call(code: CodeBlock) -> ToolCall:
    source = code.original if code.original is not None else code.source
    arguments = msgspec.json.encode({"language": code.language, "code": source}).decode()
    return ToolCall(id=code.call_id or "", name="execute", arguments=arguments)


def _result(code: CodeBlock, limit: int) -> str:
    text = report(code, limit)
    if code.edited and code.state != "refused":
        return f"The user edited the code before it ran. This is what ran:\n{_fenced(code, code.source)}\n{text}"
    return text


def _labelled(code: CodeBlock, limit: int, count: int) -> str:
    which = "the code" if count == 1 else f"the {code.language} code"
    return f"Output of {which}:\n{_result(code, limit)}"


def _with_files(block: UserBlock) -> str:
    context = block.context or "\n".join(block.files)
    return f"{block.text}\n\n{context}" if context else block.text


def _merged(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Neighbouring user messages as one: several servers refuse two in a row."""
    waiting: ChatMessage | None = None
    for message in messages:
        if message.role == "assistant" and not message.text and not message.calls:
            continue
        if waiting is not None and waiting.role == message.role == "user":
            waiting = ChatMessage(
                role="user", text=f"{waiting.text}\n\n{message.text}", images=waiting.images + message.images
            )
            continue
        if waiting is not None:
            yield waiting
        waiting = message
    if waiting is not None:
        yield waiting
