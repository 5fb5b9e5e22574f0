"""The program's texts for people, and phrases it does not use, each with a better one.

The vocabulary is the table "Words" of app/README.md. It reads README and guide, every text in the source that is no
docstring, and the docstrings that `--help` prints.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

NOT_SAID: dict[str, str] = {
    r"\b(?:is|are|be|was|were|been) told\b": "the program says, shows; the model reads, gets",
    r"\bthat you (?:approve|started in|may lose)\b": "code you approve, the folder you started in",
    r"\bst(?:and|ands|ood|anding) (?:in|there|here|at|on|beside|behind|under|still|against)\b": "is in",
    r"\b(?:break|breaks|broken|broke|breaking) (?:\w+ )?off\b": "interrupted; connection lost",
    r"\bwhat holds\b|\bholds in\b|\bhold in\b": "sandbox and trust for DIR",
    r"\basks first\b|\bunasked\b|\basked first\b": "approval: ask; without asking",
    r"\bto go on\b|\bgo(?:es)? on (?:with|where|there|from|in)\b|\bgoing on\b": "resume, continue, retry",
    r"\bcomes? back to\b|\bcame back\b": "returns, reconnects",
    r"\bwhat is left\b": "the rest, remaining",
    r"\bis to (?:be|run)\b|\bare to (?:be|run)\b": "runs",
    r"\b(?:is|are) said\b|\bbe said\b": "the program says",
    r"\ball that you can\b": "your full permissions",
    r"\bagain: (?:away|into|no more)\b": "press again to close",
    r"\btakes no more requests\b": "rate limit reached",
    r"\bdo without\b|\bdoes without\b": "no sandbox; without",
    r"\bbe (?:they|it) \w+": "even if",
    r"\bbrings? (?:\w+ ){1,5}along\b": "this folder has",
    r"\bof (?:the folder|them) counts?\b|\bwould count\b|\bcounts? (?:at once|again|no more)\b": "applies, is ignored",
    r"\bspells it\b": "in LiteLLM's spelling",
    r"\bfor good\b": "This cannot be undone",
    r"\bthrow(?:s|n)? (?:it )?away\b|\b[Pp]ut (?:it |\w+ )?away\b": "delete; archive",
    r"\bother colours\b": "change theme",
    r"\bforget (?:the )?changes\b": "discard changes",
    r"\bgoes on\b": "continues",
    r"\bmilder\b": "less strict",
    r"\banew\b": "again, start over",
    r"\bas a rule\b": "by default, usually",
    r"\bit lies\b|\bone lies\b": "it is in",
    r"\bwith what is wrong\b": "with any problems",
    r"\b(?:is|are) taken over\b": "is converted; moves here",
    r"\bsomething went wrong\b|\bit is not clear\b": "what failed, and why",
}
"""Pattern (case is ignored) to a better phrase."""

RIDDLES: dict[str, str] = {
    r"\btold\b|\btells? of\b": "is called with; gets, reads, is shown; describes, reports",
    r"\b(?:what|all that) there is\b|\bwhat is (?:not )?there\b": "name it: the kernels, an existing file",
    r"\bstand(?:s|ing)? (?:in|at|for|on|there|beside|before|above|below|behind|between|still)\b": "is in, replaces",
    r"\bin the place of\b": "instead of",
    r"\banew\b": "again",
    r"\bwhom?ever\b": "the caller, the person who",
    r"\bas ever\b": "as before, as usual, as in the base",
    r"\bwhat both\b": "common to both",
    r"\bmend(?:s|ed)?\b": "fix, correct",
    r"\bcomes? of\b": "the result of",
    r"\bsaid yes\b": "agreed",
    r"\bl(?:ies|ie|ay)\b": "is",
    r"\b(?:goes|go|going|went) on\b": "continues",
}
"""Of docstrings and comments: pattern (case is ignored, code in backquotes is left out) to a better phrase."""

_RIDDLE = re.compile("|".join(f"(?:{pattern})" for pattern in RIDDLES), re.IGNORECASE)

FOR_THE_MODEL = frozenset({"app/engine/agent/completion.py", "app/engine/agent/prompt.py"})
"""What only a model reads."""

_BANNED = re.compile("|".join(f"(?:{pattern})" for pattern in NOT_SAID), re.IGNORECASE)


def spoken_files() -> list[Path]:
    """Files with texts for people."""
    pages = [ROOT / "README.md", *(ROOT / "app" / "guide").glob("*.md")]
    sources = (path for room in ("app", "widgets", "themes", "plugins") for path in (ROOT / room).rglob("*.py"))
    return sorted(path for path in (*pages, *sources) if str(path.relative_to(ROOT)) not in FOR_THE_MODEL)


def unwanted_words(path: Path) -> list[str]:
    """Line and words, of what a file says to people."""
    text = path.read_text(encoding="utf-8")
    said = said_in_source(text) if path.suffix == ".py" else _paragraphs(text)
    return [f"{line}: {match[0]}" for line, words in said for match in _BANNED.finditer(words)]


def riddles(path: Path) -> list[str]:
    """Line and words, of what docstrings and comments of a module say in riddles."""
    text = path.read_text(encoding="utf-8")
    if not _RIDDLE.search(text):
        return []
    return [
        f"{line}: {match[0]}"
        for line, words in _said_to_developers(text)
        for match in _RIDDLE.finditer(re.sub(r"`[^`]*`", "", words))
    ]


def _said_to_developers(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, " ".join(str(node.value.value).split())
    for number, line in enumerate(text.splitlines(), 1):
        if (comment := re.search(r"(?:^|\s)# (.*)", line)) is not None:
            yield number, comment[1]


def said_in_source(text: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(text)
    silent: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if is_text and not (_is_command(node) and statement is body[0]):
                silent.add(id(statement.value))
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr():
                parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
                silent.update(id(part) for part in node.values)
                yield node.lineno, " ".join("".join(map(str, parts)).split())
            case ast.Constant(value=str(words)) if id(node) not in silent and " " in words:
                yield node.lineno, " ".join(words.split())


def _is_command(node: ast.AST) -> bool:
    """Whether `--help` prints the docstring."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any(
        "command" in ast.unparse(decorator) or "group" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    line = 1
    for paragraph in text.split("\n\n"):
        yield line, " ".join(paragraph.split())
        line += paragraph.count("\n") + 2
