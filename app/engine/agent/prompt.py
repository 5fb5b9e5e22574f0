"""The conversation as chat messages, which the transcript alone decides; what leaves for the model leaves here.

Nothing goes that a person could not see (invisible characters), and no secret that is known or looks like one.
Small models set the tone: the system prompt is short, because naming libraries or adding rules measurably
makes a 1.5-billion-parameter model worse, and larger ones do not need it.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from oi_tui.app.engine.agent import completion
from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    ThoughtBlock,
    UserBlock,
)
from oi_tui.app.engine.core.chat_model import ChatMessage, ToolCall
from oi_tui.app.engine.core.outcomes import SYNTAX_ERROR
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.mime import UNTRUSTED, pictures, report
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.execute import EXECUTE

SYSTEM = """\
You do tasks for the user by running code on their machine. Reply with one ```python code block that solves the \
task{shell}.{others} It runs in {where} after the user approves it, variables are kept, and you are shown the output. \
{around}Do not guess results: run code. When the task is done, answer in one or two sentences without code."""

NEXT = "If the task is done, answer in one or two sentences without code. If not, go on with the next code block."
"""Said after every output: it makes small models stop when they are done."""

FAILED = (
    "The task is not done. Reply with corrected code in one code block. "
    "If you do not know what the data looks like, print it first."
)
"""Said after an error: without it small models explain the error instead of mending it."""

UNSEEN = "You cannot see pictures; code can open the file."
"""Said with a picture that is not sent: models describe what they have not seen."""

MOST_LABELS = 10
"""Languages beside Python and the shell that are named."""

_LABEL = re.compile(r"[A-Za-z0-9:._+#-]{1,60}")
"""What is installed has names that anybody may have chosen: nothing else gets into the prompt."""


def system_prompt(languages: Sequence[str], cwd: str, around: str = "") -> str:
    """The one system message; `around` says what the code can reach and change."""
    shell = " (```bash for shell commands)" if "shell" in languages else ""
    labels = [name for name in languages if name not in ("python", "shell") and _LABEL.fullmatch(name)]
    others = f" The labels {', '.join(labels[:MOST_LABELS])} run too." if labels else ""
    return SYSTEM.format(shell=shell, others=others, where=cwd, around=f"{around} " if around else "")


class _Told(NamedTuple):
    """What became of neighbouring blocks."""

    group: tuple[Block, ...]
    images: bool
    messages: tuple[ChatMessage, ...]
    withheld: Mapping[str, tuple[str, ...]]
    """By block: the secrets."""

    def is_of(self, group: tuple[Block, ...], images: bool) -> bool:
        """Whether these blocks are the very same."""
        same = len(group) == len(self.group) and all(a is b for a, b in zip(group, self.group, strict=True))
        return same and self.images == images


class Conversation:
    """The messages of one session. A block is looked through once, however many requests it is part of."""

    def __init__(self, redactor: Redactor, output_limit: int, *, insist: bool = False) -> None:
        """`output_limit`: characters of one run's output. `insist`: an answer without code is not the end."""
        self._redactor = redactor
        self._limit = output_limit
        self.insist = insist
        self._told: dict[str, _Told] = {}
        """By the first block of a group."""

    def messages(self, blocks: Iterable[Block], *, system: str, images: bool = False) -> tuple[ChatMessage, ...]:
        """All messages of a request.

        One answer of the model is one assistant message (prose and fenced code, or prose and native calls),
        followed by what its code gave: as tool results for native calls, else as one user message.
        """
        told: dict[str, _Told] = {}
        for _, neighbours in groupby(blocks, key=_group):
            group = tuple(neighbours)
            known = self._told.get(group[0].id)
            if known is None or not known.is_of(group, images):
                teller = _Teller(self._redactor, self._limit, images)
                said = tuple(teller.messages(list(group)))
                known = _Told(group, images, said, {name: tuple(found) for name, found in teller.withheld.items()})
            told[group[0].id] = known
        self._told = told  # cleared blocks leave the cache too
        first = ChatMessage(role="system", text=self._redactor.redact(safe_text(system)).text)
        messages = [first, *(message for known in told.values() for message in known.messages)]
        return tuple(_with_insistence(_merge(messages)) if self.insist else _merge(messages))

    @property
    def withheld_names(self) -> dict[str, tuple[str, ...]]:
        """By block: the names of the secrets that the last request was sent without."""
        return {block_id: names for known in self._told.values() for block_id, names in known.withheld.items()}


def _group(block: Block) -> tuple[str, int | str]:
    match block:
        case ProseBlock() | ThoughtBlock() | Action(author="assistant"):
            return ("step", block.step)
        case _:
            return ("single", block.id)


class _Teller:
    """Puts blocks into words, and takes note of the secrets that were in them."""

    def __init__(self, redactor: Redactor, limit: int, images: bool) -> None:
        self.withheld: dict[str, list[str]] = {}
        self._redactor = redactor
        self._limit = limit
        self._images = images

    def messages(self, group: list[Block]) -> Iterator[ChatMessage]:
        """The messages for a prompt, for the user's own code, or for a whole answer with the results of its code."""
        match group:
            case [UserBlock() as block]:
                given = tuple(file.picture for file in map(attached_file, block.files) if file.picture)
                text = self._with_files(block) + (f"\n\n{UNSEEN}" if given and not self._images else "")
                yield ChatMessage(role="user", text=text, images=given if self._images else ())
            case [NoticeBlock() as block]:
                if block.to_model:
                    yield ChatMessage(role="user", text=self._clean(block)(block.to_model))
            case [CodeBlock(author="user") as block]:
                text = f"I ran this {block.language} code:\n{self._fence(block, block.source)}"
                text += f"\nOutput ({UNTRUSTED}):\n{self._report(block)}"
                yield ChatMessage(role="user", text=text, images=pictures(block) if self._images else ())
            case _:
                yield from self._step(group)

    def _step(self, group: list[Block]) -> Iterator[ChatMessage]:
        actions = [block for block in group if isinstance(block, Action)]
        native = [action for action in actions if action.call_id is not None]
        parts = [
            self._text_of(block) for block in group if not (isinstance(block, Action) and block.call_id is not None)
        ]
        yield ChatMessage(
            role="assistant",
            text="\n\n".join(part for part in parts if part),
            calls=tuple(self._call(action) for action in native),
        )
        for action in native:
            yield ChatMessage(role="tool", text=self._result(action), call_id=action.call_id or "")
        fenced = [action for action in actions if action.call_id is None]
        shown = tuple(url for action in actions for url in pictures(action)) if self._images else ()
        if fenced:
            which = [f"Output of the {f'{code.runs_in} ' if len(fenced) > 1 else ''}code" for code in fenced]
            results = "\n\n".join(
                self._result(code, f"{what} ({UNTRUSTED}):\n") for code, what in zip(fenced, which, strict=True)
            )
            failed = any(code.state == "error" or code.refusal.startswith(SYNTAX_ERROR) for code in fenced)
            yield ChatMessage(role="user", text=f"{results}\n\n{FAILED if failed else NEXT}", images=shown)
        elif shown:
            yield ChatMessage(role="user", text="The pictures that the code made:", images=shown)

    def _text_of(self, block: Block) -> str:
        match block:
            case ProseBlock():
                return self._clean(block)(block.text.strip())
            case Action():
                return self._fence(block, block.original if block.original is not None else block.source)
            case _:
                return ""

    def _fence(self, block: ActionBlock, source: str) -> str:
        source = self._source(block, source)
        label = "bash" if block.written_in == "shell" else block.written_in
        ticks = "```" if "```" not in source else "````"
        return f"{ticks}{label}\n{source}\n{ticks}"

    def _call(self, block: ActionBlock) -> ToolCall:
        source = self._source(block, block.original if block.original is not None else block.source)
        if isinstance(block, CallBlock):
            return ToolCall(id=block.call_id or "", name=block.tool, arguments=source)
        arguments = msgspec.json.encode({"language": block.language, "code": source}).decode()
        return ToolCall(id=block.call_id or "", name=EXECUTE, arguments=arguments)

    def _source(self, block: ActionBlock, source: str) -> str:
        """A source as it leaves; in arguments of a call, a secret may be spelled in any way that JSON has."""
        clean = self._clean(block)
        if isinstance(block, CallBlock):
            with contextlib.suppress(ValueError, RecursionError):  # not JSON: keep the text verbatim
                arguments = json.loads(source)
                if (cleaned := _with_each_text(arguments, clean)) != arguments:
                    return clean(json.dumps(cleaned, ensure_ascii=False, indent=2))
        return clean(source)

    def _result(self, code: ActionBlock, label: str = "") -> str:
        """The role of a native call's result says by itself what it is; fenced code needs a label."""
        told = f"{label}{self._report(code)}"
        if code.is_edited and code.state != "refused":
            return f"The user edited it before it ran. This is what ran:\n{self._fence(code, code.source)}\n{told}"
        return told

    def _report(self, code: ActionBlock) -> str:
        return report(code, self._limit, self._clean(code))

    def _with_files(self, block: UserBlock) -> str:
        clean = self._clean(block)
        context = clean(block.context or "\n".join(name for name in block.files if not name.startswith("data:")))
        return f"{clean(block.text)}\n\n{context}" if context else clean(block.text)

    def _clean(self, block: Block) -> Callable[[str], str]:
        """What a text of this block becomes before it leaves."""

        def clean(text: str) -> str:
            safe = safe_text(text)
            if safe != text:  # a secret may hold what nobody can see
                text, names = self._redactor.redact(text)
                safe = safe_text(text)
                self._note(block, names)
            redacted = self._redactor.redact(safe)
            self._note(block, redacted.names)
            return redacted.text

        return clean

    def _note(self, block: Block, names: tuple[str, ...]) -> None:
        if names:
            self.withheld.setdefault(block.id, []).extend(names)


def _with_each_text(value: object, clean: Callable[[str], str]) -> object:
    """The same JSON with its texts cleaned, keys too."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _with_each_text(item, clean) for key, item in value.items()}
        case list():
            return [_with_each_text(item, clean) for item in value]
        case _:
            return value


def _merge(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
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


def _with_insistence(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """With the insistence after each answer that neither ran code nor was answered by the user."""
    last = ""
    for message in messages:
        if last == message.role == "assistant":
            yield ChatMessage(role="user", text=completion.INSIST)
        yield message
        last = message.role
    if last == "assistant":
        yield ChatMessage(role="user", text=completion.INSIST)
