"""Reads shell source with tree-sitter's grammar of bash: simple commands, redirections, and what is unknown.

There are two readers. The grammar finds every command, however nested; labels and rules that deny or ask use it. The
plain reader knows almost nothing: words, quotes without expansions, and five signs between commands. A rule can allow
only what the plain reader understands completely and in the same words as the grammar; so a bug in one of them asks
once too often and allows nothing.
"""

import re

from tree_sitter import Node, Tree

from oi_tui.app.engine.policy.handovers import NAMES_PROGRAM, find_handover, given_texts
from oi_tui.app.engine.policy.overwrites import PlainValues, goals_of, replaced_by
from oi_tui.app.engine.policy.plain_shell import GLOB, plain_commands
from oi_tui.app.engine.policy.programs import (
    DELETES,
    SHELLS,
    WRAPPER_WORDS,
    WRAPPERS,
    WRITES,
    effects,
    has_inline_program,
    inner_commands,
    is_python,
)
from oi_tui.app.engine.policy.reading import (
    LONGEST_SHELL,
    TOO_DEEP,
    TOO_LONG,
    Handover,
    InlineSource,
    PathUse,
    ReplacedFile,
    Risk,
    ShellCommand,
    SourceFacts,
    Unread,
    Word,
    merge_facts,
    shift_lines,
)
from oi_tui.app.engine.policy.risks import SECRETS
from oi_tui.app.engine.policy.secrets import names_secret
from oi_tui.app.engine.policy.shell_grammar import (
    BROKEN_WORD,
    END_WORD,
    HELD_BACK,
    NO_TEXT,
    REDIRECTIONS,
    bracket_depth,
    hides_substitution,
    is_split_wrongly,
    parse_shell,
)

DEEPEST = 4
"""How many shells within shells are looked through (`bash -c "bash -c …"`)."""

NESTED = 200
"""Brackets within brackets."""

MANY_WORDS = 2_000
"""Of one command; the ones behind are not looked at."""

_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"})
_MOVES = frozenset({"cd", "pushd", "popd"})
_LASTING = frozenset({
    *("alias", "unalias", "eval", "source", ".", "exec", "trap", "enable", "hash", "set", "shopt", "bind", "complete"),
    *("read", "mapfile", "readarray", "printf", "getopts", "let", "builtin", "command", "export", "declare", "typeset"),
    *("local", "readonly", "unset", "ulimit", "umask", "wait", "test", "[", "compgen", "compopt", "shift", "fc"),
    *("history",),
})  # fmt: skip
"""Builtins that may change the meaning of later words. (Anything not plain counts as one anyway.)"""

_DECLARATIONS = frozenset({"declaration_command", "unset_command"})
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r'\\(["$`\\\n])')


_BACKQUOTES = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)

_EVALUATES = frozenset({"test_command", "arithmetic_expansion", "subscript", "c_style_for_statement", "((", "let"})
"""Parts in which a value can be an expression, which can hold a command."""


def read_shell(source: str, depth: int = 0) -> SourceFacts:
    """The reading of a source; never raises, whatever the text is."""
    if len(source) > LONGEST_SHELL:
        return SourceFacts(unread=(Unread(TOO_LONG, 1),), lasting=True)
    if bracket_depth(source) > NESTED:
        return SourceFacts(unread=(Unread(TOO_DEEP, 1),), lasting=True)
    if (odd := NO_TEXT.search(source)) is not None:
        line = source.count("\n", 0, odd.start()) + 1
        return SourceFacts(unread=(Unread("cannot be read as shell", line),), lasting=True)
    if (tree := parse_shell(source)) is None:
        return SourceFacts(unread=(Unread(TOO_LONG, 1),), lasting=True)
    walk = _Walk(source, tree)
    inner = [_text_as_code(command, depth) for command in walk.commands]
    inner += [_document_as_code(*document, depth) for document in walk.documents]
    joined = BROKEN_WORD.sub("", source)
    if joined != source:
        inner.append(read_shell(joined, depth + 1) if depth < DEEPEST else _opaque("a word of several lines", 1))
    inner += [_in_backquotes(found, depth) for found in _BACKQUOTES.finditer(source)]
    reading = walk.reading()
    reading = merge_facts(reading, *(found for found in inner if found is not None)) if any(inner) else reading
    plain = reading.complete and plain_commands(source) == [
        tuple(word.text for word in command.words) for command in walk.commands
    ]
    return reading._replace(plain=plain, lasting=reading.lasting or not plain)


def _in_backquotes(found: re.Match[str], depth: int) -> SourceFacts | None:
    """The text between backquotes, which the grammar does not find everywhere; some are only quoted characters."""
    text = found[1].replace("\\`", "`")
    if depth < DEEPEST and not read_shell(text, DEEPEST).commands:
        return None
    return SourceFacts(
        handovers=(Handover("a command in backquotes", 1 + found.string.count("\n", 0, found.start()), text),)
    )


class _Walk:
    """One pass over the tree, in the order of the source, without recursion: nesting may be deep."""

    def __init__(self, source: str, tree: Tree) -> None:
        self.bytes = source.encode()
        self.commands: list[ShellCommand] = []
        self.places: list[PathUse] = []
        self.unread: list[Unread] = []
        self.handovers: list[Handover] = []
        self.risks: list[Risk] = []
        self.replaced: list[ReplacedFile] = []
        self.values = PlainValues()
        self.documents: list[tuple[ShellCommand, str, int]] = []
        """What is given to a command in the source itself (`<<END`), and where that begins."""
        self.lasting = False
        self._holds_text = False
        """Whether a text there would run if a shell evaluated it again: `'$(rm x)'`."""
        stack = [tree.root_node]
        while stack:
            node = stack.pop()
            self._look(node)
            stack.extend(reversed(node.children))

    def reading(self) -> SourceFacts:
        if self._holds_text:  # what an expression finds in a variable may be that text
            whole = self.bytes.decode("utf-8", "replace")
            loose = [one for one in self.handovers if one.what == "arithmetic" and not one.key]
            self.handovers += [one._replace(key=whole) for one in loose]
        return SourceFacts(
            commands=tuple(self.commands),
            places=tuple(self.places),
            unread=tuple(dict.fromkeys(self.unread)),
            handovers=tuple(dict.fromkeys(self.handovers)),
            risks=tuple(dict.fromkeys(self.risks)),
            replaced=tuple(dict.fromkeys(self.replaced)),
            folders=tuple(path for command in self.commands if command.program in _MOVES for path in goals_of(command)),
            moves=any(command.program in _MOVES for command in self.commands),
            lasting=self.lasting,
        )

    def _look(self, node: Node) -> None:
        kind = node.type
        if node.is_error or node.is_missing:
            self._add_unread("cannot be read as shell", node)
        elif kind == "word" and self.bytes[node.start_byte : node.start_byte + 1] == b"\n":
            self._add_unread("cannot be read as shell", node)  # the grammar takes a line end before `\` into the word
        elif kind == "command":
            self._command(node)
        elif kind in _DECLARATIONS:
            self._declaration(node)
        elif kind == "file_redirect":
            self._redirection(node)
        elif kind == "redirected_statement":
            self._document(node)
        elif kind == "variable_assignment":
            self._value(node)
        elif kind == "for_statement":
            self._loop(node)
        elif kind in _EVALUATES:
            text = self._text(node)
            key = text if "`" in text or "$(" in text.replace("$((", "") else ""
            self.handovers.append(Handover("arithmetic", node.start_point[0] + 1, key))
        elif kind == "heredoc_start" and not END_WORD.fullmatch(self._text(node)):
            self._add_unread("cannot be read as shell", node)
        elif kind == "expansion" and "@P" in (text := self._text(node)):
            self.handovers.append(Handover("a text that is read as a prompt", node.start_point[0] + 1, text))
        elif kind in HELD_BACK:
            self._holds_text = self._holds_text or HELD_BACK[kind].search(self._text(node)) is not None
            if kind == "heredoc_body" and hides_substitution(node, self.bytes):
                self._add_unread("cannot be read as shell", node)
        elif kind == "variable_name" and NAMES_PROGRAM.fullmatch(name := self._text(node)):
            self._assignment(node, name)

    def _value(self, node: Node) -> None:
        """A variable that is given a text."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            self.values.add(self._text(name), self.values.spell(self._word(value)))

    def _loop(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        if name is None:
            return
        for value in node.children_by_field_name("value"):
            self.values.add(self._text(name), self.values.spell(self._word(value)))

    def _assignment(self, node: Node, name: str) -> None:
        """A variable that names a program; to read it changes nothing."""
        around = node.parent
        read = ("simple_expansion", "expansion", "string")
        if around is not None and (around.type not in read or "=" in self._text(around)):
            self.handovers.append(Handover(f"{name}=", node.start_point[0] + 1, self._text(around)))

    def _document(self, node: Node) -> None:
        taker = node.child_by_field_name("body")
        if taker is not None and taker.type == "pipeline":
            taker = taker.named_children[-1]
        if taker is None or taker.type != "command":
            return
        for redirect in node.named_children:
            for body in redirect.named_children if redirect.type == "heredoc_redirect" else ():
                if body.type == "heredoc_body":
                    self.documents.append((self._read_command(taker), self._text(body), body.start_point[0] + 1))

    def _command(self, node: Node) -> None:
        self._take(self._read_command(node), node)

    def _read_command(self, node: Node) -> ShellCommand:
        line = node.start_point[0] + 1
        words: list[Word] = []
        variables: list[str] = []
        if is_split_wrongly(node, self.bytes):
            self._add_unread("cannot be read as shell", node)
        for child in node.named_children:
            match child.type:
                case "variable_assignment":
                    variables.append(self._text(child).partition("=")[0])
                case kind if kind in REDIRECTIONS or kind == "comment":
                    pass
                case _:
                    words.append(self._word(child))
        return ShellCommand(words=tuple(words), line=line, variables=tuple(variables))

    def _declaration(self, node: Node) -> None:
        """`export X=…`: a command for which the grammar has its own node."""
        words = [Word(self._text(child), sure=child.type in ("word", "variable_name")) for child in node.children]
        if words:
            first = words[0]._replace(sure=True)
            self._take(ShellCommand(words=(first, *words[1:]), line=node.start_point[0] + 1), node)

    def _take(self, command: ShellCommand, node: Node) -> None:
        self.commands.append(command)
        if (handover := find_handover(command)) is not None:
            self.handovers.append(handover)
        if command.words and not command.words[0].sure:
            self._add_unread("a command that only the run tells", node)
        if command.program in WRAPPERS and len(command.words) > WRAPPER_WORDS:
            self._add_unread("more words than are looked at", node)
        inner = inner_commands(command)
        behind = next((found for one in inner if (found := effects(one))), [])  # the rests of its words do not count
        self.risks += [Risk(what, command.line, grave) for what, grave in (*effects(command), *behind)]
        programs = {one.program for one in (command, *inner)}
        self.lasting = self.lasting or not programs.isdisjoint(_LASTING)
        self.replaced += [found for one in (command, *inner) for found in replaced_by(one, self.values.spell)]
        self._paths(command, writes=not programs.isdisjoint(DELETES | WRITES))

    def _paths(self, command: ShellCommand, writes: bool) -> None:
        if len(command.words) > MANY_WORDS:
            self.unread.append(Unread("more words than are looked at", command.line))
        for word in command.words[1:MANY_WORDS]:
            path = word.text.partition("=")[2] if word.text.startswith("-") else word.text
            if path and word.sure:
                self.places.append(PathUse(path, command.line, writes))
                if names_secret(path):
                    self.risks.append(Risk(SECRETS, command.line, grave=True))

    def _redirection(self, node: Node) -> None:
        line = node.start_point[0] + 1
        sign = next((child.type for child in node.children if not child.is_named), "")
        targets = node.children_by_field_name("destination")
        if len(targets) != 1:
            self._add_unread("a redirection that is not understood", node)
            return
        target = self._word(targets[0])
        if sign in (">", ">|", "&>", ">&") and target.text not in _NOWHERE:
            spelled = self.values.spell(target)
            self.replaced += [ReplacedFile(one.text, line, one.pattern) for one in spelled if one.text]
        if sign in (">&", "<&") and re.fullmatch(r"\d+-?|-", target.text):
            return
        if not target.sure:
            self._add_unread("a file that only the run tells", node)
            return
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.risks.append(Risk("network", line))
        elif target.text not in _NOWHERE:
            writes = sign not in ("<", "<&")
            self.places.append(PathUse(target.text, line, writes, whole=sign in (">", ">|", "&>")))
            if writes:
                self.risks.append(Risk("writes files", line))

    def _word(self, node: Node) -> Word:
        """The word with its quotes taken away, if that is all that happens to it."""
        parts: list[str] = []
        nodes = list(node.named_children) if node.type in ("concatenation", "command_name") else [node]
        if node.type == "command_name" and nodes and nodes[0].type == "concatenation":
            nodes = list(nodes[0].named_children)
        text = self._text(node)
        end = node.start_byte
        for part in nodes:
            if part.start_byte != end:
                return Word(text, sure=False)  # the grammar left something out
            end = part.end_byte
            literal = self._literal(part)
            if literal is None:
                return Word(text, sure=False)
            parts.append(literal)
        if end != node.end_byte or (node.type == "concatenation" and _BRACES.search(text)):
            return Word(text, sure=False)
        return Word("".join(parts))

    def _literal(self, node: Node) -> str | None:
        text = self._text(node)
        match node.type:
            case "word" | "number" | "variable_name":
                return None if GLOB.search(text) or _BRACES.search(text) else _ESCAPE.sub(_unescape, text)
            case "raw_string":
                return text[1:-1]
            case "string" if all(child.type == "string_content" for child in node.named_children):
                return _ESCAPE_IN_QUOTES.sub(_unescape, text[1:-1])
            case _:
                return None

    def _add_unread(self, why: str, node: Node) -> None:
        self.unread.append(Unread(why, node.start_point[0] + 1))

    def _text(self, node: Node) -> str:
        return self.bytes[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _unescape(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


# -- shells within shells -----------------------------------------------------------------------------


def _text_as_code(command: ShellCommand, depth: int) -> SourceFacts | None:
    """What a command runs that is given as text: `bash -c '…'`, `eval …`, `sudo sh -c '…'`, `python -c '…'`."""
    found = [_given_text(one, depth) for one in (command, *inner_commands(command))]
    readings = [reading for reading in found if reading is not None]
    return merge_facts(*readings) if readings else None


def _document_as_code(command: ShellCommand, text: str, line: int, depth: int) -> SourceFacts | None:
    """The same of what a shell, or Python, is given to read."""
    for one in (command, *inner_commands(command)):
        script = next((word.text for word in one.words[1:] if not word.text.startswith("-") or word.text == "-"), "-")
        if one.program in SHELLS and (script == "-" or any(word.text == "-s" for word in one.words)):
            return _within((Word(text),), line, depth)
        if is_python(one.program) and script == "-":
            return SourceFacts(inline=(InlineSource(text, line),))
    return None


def _given_text(command: ShellCommand, depth: int) -> SourceFacts | None:
    program, words = command.program, command.words[1:]
    if program == "eval":
        return _within(words, command.line, depth)
    if program in SHELLS:
        for place, word in enumerate(words):
            if re.fullmatch(r"-\w*c\w*", word.text):
                return _within(words[place + 1 : place + 2], command.line, depth)
        if all(word.text.startswith(("-", "+")) for word in words):
            return _opaque(f"{program} runs what it is given", command.line)
        return None
    if texts := given_texts(command):
        return merge_facts(*(_within((text,), command.line, depth) for text in texts))
    if is_python(program):
        given = (words[place + 1] for place, word in enumerate(words[:-1]) if re.fullmatch(r"-\w*c", word.text))
        if (text := next(given, None)) is not None and text.sure:
            opaque = _opaque(f"{program} runs what it is given", command.line)
            return opaque._replace(inline=(InlineSource(text.text, command.line),))
    if has_inline_program(command):
        return _opaque(f"{program} runs what it is given", command.line)
    return None


def _within(words: tuple[Word, ...], line: int, depth: int) -> SourceFacts:
    if not words or depth >= DEEPEST or not all(word.sure for word in words):
        return _opaque("a command that only the run tells", line)
    reading = read_shell(" ".join(word.text for word in words), depth + 1)
    return shift_lines(reading._replace(risks=(*reading.risks, Risk("runs text as code", 1))), line - 1)


def _opaque(why: str, line: int) -> SourceFacts:
    return SourceFacts(unread=(Unread(why, line),), risks=(Risk("runs text as code", line, grave=True),), lasting=True)
