"""The text of requests: the system prompt, and blocks in words. Everything that the model reads passes here, without
invisible characters and without secrets, known ones or what looks like one. Small models set the tone: the system
prompt is short, because naming libraries or adding rules measurably makes a 1.5-billion-parameter model worse, and
larger ones do not need it.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from oi_tui.app.engine.core.blocks import (
    Action,
    ActionBlock,
    Block,
    CallBlock,
    CodeBlock,
    NoticeBlock,
    ProseBlock,
    SummaryBlock,
    UserBlock,
)
from oi_tui.app.engine.core.chat_model import RECALL, ChatMessage, ChatRequest, ToolCall
from oi_tui.app.engine.core.outcomes import SYNTAX_ERROR
from oi_tui.app.engine.core.values import FRESH_KERNEL
from oi_tui.app.engine.parsing.fences import HELPERS, HELPERS_END
from oi_tui.app.engine.secrets.redaction import Redactor
from oi_tui.app.engine.text.attached import attached_file
from oi_tui.app.engine.text.mime import UNTRUSTED, clip_middle, pictures, report
from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.tools.execute import EXECUTE

SYSTEM = """\
You do tasks for the user by running code on their machine. Reply with one {block} that solves the \
task{shell}.{others} It runs in {where} after the user approves it, variables are kept, and you are shown the output. \
{around}Do not guess results: run code. When the task is done, answer in one or two sentences without code."""

FENCED = "```python code block"
"""The language of fences that a model uses by default."""

NEXT = "If the task is done, answer in one or two sentences without code. If not, go on with the next code block."
"""Said after every output: it makes small models stop when they are done."""

FAILED = (
    "The task is not done. Reply with corrected code in one code block. "
    "If you do not know what the data looks like, print it first."
)
"""Said after an error: without it small models explain the error instead of mending it."""

UNSEEN = "You cannot see pictures; code can open the file."
"""Said with a picture that is not sent: models describe what they have not seen."""

FILE_TOOLS = (
    "For looking at text files and changing them, prefer the tools read_file, list_files, search_files, edit_file and "
    "write_file to code: the user sees each change as a diff, and can undo it."
)
"""Said to models that are offered them."""

LEFT_OUT = "[The user left a part of the conversation out here.]"

EARLIER = "Earlier messages are left out."

RECALL_HINT = (
    f"To read what was left out of this conversation, call {RECALL}, or reply with a ```{RECALL} block that contains "
    '{"block": NUMBER} or {"search": "WORDS"}.'
)
"""Said where something was, and only there."""

_PYTHON_FENCE = re.compile(r"(?ms)^(`{3,4})python\n(.*?)\n\1$")

MOST_LABELS = 10
"""Languages beside Python and the shell that are named."""

_LABEL = re.compile(r"[A-Za-z0-9:._+#-]{1,60}")
"""What is installed has names that anybody may have chosen: nothing else gets into the prompt."""


def system_prompt(languages: Sequence[str], cwd: str, around: str = "", *, helpers: bool = False) -> str:
    """The one system message; `around` says what code can reach and change; with `helpers`, Python code is between
    those tags."""
    block = f"block of Python code between a line {HELPERS} and a line {HELPERS_END}" if helpers else FENCED
    shell = " (```bash for shell commands)" if "shell" in languages else ""
    labels = [name for name in languages if name not in ("python", "shell") and _LABEL.fullmatch(name)]
    others = f" The labels {', '.join(labels[:MOST_LABELS])} run too." if labels else ""
    return SYSTEM.format(block=block, shell=shell, others=others, where=cwd, around=f"{around} " if around else "")


def in_helpers(request: ChatRequest) -> ChatRequest:
    """The same with the model's fenced Python code as it is to write it; code with such a tag in it stays fenced."""

    def tags(found: re.Match[str]) -> str:
        return found[0] if HELPERS_END in found[2] else f"{HELPERS}\n{found[2]}\n{HELPERS_END}"

    messages = tuple(
        msgspec.structs.replace(one, text=_PYTHON_FENCE.sub(tags, one.text)) if one.role == "assistant" else one
        for one in request.messages
    )
    return msgspec.structs.replace(request, messages=messages)


class Teller:
    """Puts blocks into words, and takes note of the secrets that were in them."""

    def __init__(self, redactor: Redactor, limit: int, images: bool, number: int = 0, *, short: bool = False) -> None:
        """`limit`: characters of one run's output, and if `short` of a prompt too. `number` is that of the first block:
        by these, the model asks for what was cut."""
        self.withheld: dict[str, list[str]] = {}
        self.cuts = False
        """Whether something was cut."""
        self._redactor = redactor
        self._limit = limit
        self._images = images
        self._number = number
        self._numbers: dict[str, int] = {}
        self._short = short

    def messages(self, group: Sequence[Block]) -> Iterator[ChatMessage]:
        """The messages for a prompt, for the user's own code, or for a whole answer with the results of its code."""
        self._numbers = {block.id: number for number, block in enumerate(group, self._number)}
        match group:
            case [UserBlock(mark="left out")] | [Action(author="user", mark="left out")]:
                yield ChatMessage(role="user", text=LEFT_OUT)
            case [UserBlock() as block]:
                given = tuple(file.picture for file in map(attached_file, block.files) if file.picture)
                text = self._with_files(block) + (
                    f"\n\n{UNSEEN}" if given and not (self._images or self._short) else ""
                )
                yield ChatMessage(role="user", text=text, images=given if self._images else ())
            case [NoticeBlock() as block]:
                if block.to_model:
                    yield ChatMessage(role="user", text=self._clean(block)(block.to_model))
            case [SummaryBlock()]:
                return
            case [CodeBlock() | CallBlock() as block] if block.caller:
                return  # the caller prints what the model should read of it
            case [CodeBlock() as block] if block.apart == FRESH_KERNEL:
                return  # a test by the person: nothing of it is in the kernels that the model knows
            case [CodeBlock(author="user") | CallBlock(author="user") as block]:
                text = f"{_done_by_person(block)}:\n{self._fence(block, block.source)}"
                text += f"\nOutput ({UNTRUSTED}):\n{self._report(block)}"
                yield ChatMessage(role="user", text=text, images=pictures(block) if self._images else ())
            case _:
                yield from self._step(group)

    def read(self, block: UserBlock | ProseBlock | ActionBlock, written: str = "") -> str:
        """One block alone, with all of its output; `written` is what a long run wrote, where that is known."""
        match block:
            case UserBlock():
                return self._with_files(block)
            case ProseBlock():
                return self._clean(block)(block.text)
            case _:
                told = self._clean(block)(written) if written else report(block, self._limit, self._clean(block))
                return f"{self._source(block, block.source)}\n\n{told}"

    def summary(self, block: SummaryBlock) -> ChatMessage:
        """The message that replaces what the summary covers."""
        if not block.text.strip():
            return ChatMessage(role="user", text=f"[{EARLIER}]")
        text = f"Summary of the conversation before this ({UNTRUSTED}):\n{self._clean(block)(block.text.strip())}"
        return ChatMessage(role="user", text=f"{text}\n[End of the summary. {EARLIER}]")

    def _step(self, blocks: Sequence[Block]) -> Iterator[ChatMessage]:
        group = [block for block in blocks if not (isinstance(block, ProseBlock | Action) and block.mark == "left out")]
        actions = [block for block in group if isinstance(block, Action)]
        native = [action for action in actions if action.call_id is not None]
        parts = [
            self._text_of(block) for block in group if not (isinstance(block, Action) and block.call_id is not None)
        ]
        yield ChatMessage(
            role="assistant",
            text="\n\n".join(part for part in parts if part),
            calls=tuple(self._call(action) for action in native),
            sealed=next((action.sealed for action in native if action.sealed is not None), None),
        )
        for action in native:
            yield ChatMessage(role="tool", text=self.result(action), call_id=action.call_id or "")
        fenced = [action for action in actions if action.call_id is None]
        shown = tuple(url for action in actions for url in pictures(action)) if self._images else ()
        if fenced:
            which = [_output_of(action, alone=len(fenced) == 1) for action in fenced]
            results = "\n\n".join(
                self.result(code, f"{what} ({UNTRUSTED}):\n") for code, what in zip(fenced, which, strict=True)
            )
            failed = any(code.state == "error" or code.refusal.startswith(SYNTAX_ERROR) for code in fenced)
            yield ChatMessage(role="user", text=f"{results}\n\n{FAILED if failed else NEXT}", images=shown)
        elif shown:
            yield ChatMessage(role="user", text="The pictures that the code made:", images=shown)
        elif len(group) < len(blocks):
            yield ChatMessage(role="user", text=LEFT_OUT)

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
        label = block.tool if isinstance(block, CallBlock) else label
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

    def result(self, code: ActionBlock, label: str = "") -> str:
        """The result of an action. The role of a native call's result says by itself what it is; fenced code needs a
        label."""
        told = f"{label}{self._report(code)}"
        if code.is_edited and code.state != "refused":
            return f"The user edited it before it ran. This is what ran:\n{self._fence(code, code.source)}\n{told}"
        return told

    def _report(self, code: ActionBlock) -> str:
        handle = self._handle(code)
        told = report(code, self._limit, self._clean(code), handle)
        self.cuts = self.cuts or handle in told
        return told

    def _with_files(self, block: UserBlock) -> str:
        clean = self._clean(block)
        context = clean(block.context or "\n".join(name for name in block.files if not name.startswith("data:")))
        text = f"{clean(block.text)}\n\n{context}" if context else clean(block.text)
        if not self._short or len(text) <= self._limit:
            return text
        self.cuts = True
        return clip_middle([text], self._limit, self._handle(block))

    def _handle(self, block: Block) -> str:
        """How the model can read what was cut, as the end of a note."""
        return f'; {RECALL} {{"block": {self._numbers.get(block.id, self._number)}}} shows it'

    def _clean(self, block: Block) -> Callable[[str], str]:
        """Removes secrets and invisible characters from a text of this block."""

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


def _done_by_person(block: ActionBlock) -> str:
    if isinstance(block, CodeBlock):
        return f"I ran this {block.language} code"
    return f"I {'wanted to call' if block.state == 'refused' else 'called'} the {block.runs_in}"


def _output_of(action: ActionBlock, *, alone: bool) -> str:
    if isinstance(action, CallBlock):
        return f"Output of {action.tool}"
    return "Output of the code" if alone else f"Output of the {action.runs_in} code"
