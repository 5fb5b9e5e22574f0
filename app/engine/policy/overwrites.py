"""Which files a shell command overwrites, by what is known of the program; and the values of plain variables.

`cp a b`, `tee f`, `sed -i s/a/b/ *.py`, `dd of=f`. Unknown programs and values known only at run time are not reported.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from oi_tui.app.engine.policy.programs import WRAPPERS, is_python
from oi_tui.app.engine.policy.reading import ReplacedFile, ShellCommand, Word

SPELLINGS = 50
"""Texts that one word with variables may expand to."""


LONGEST = 4_000
"""Characters of a path; no system takes more."""


class Spelling(NamedTuple):
    """A possible value of a word when it runs."""

    text: str
    pattern: bool = False
    """`*`, `?` and `[…]` in it are wildcards for file names."""


Spell = Callable[[Word], Sequence[Spelling]]

_WILD = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_TELLING = re.compile(r"[\w./ @%+,:~=*?\[\]^-]+")
"""What is left of a word may hold nothing that a shell would replace."""


class PlainValues:
    """The variables that are set to plain text in a source, with all the values that they are given."""

    def __init__(self) -> None:
        self._values: dict[str, dict[Spelling, None]] = {}

    def add(self, name: str, values: Sequence[Spelling]) -> None:
        """One more assignment, or the words of a loop."""
        self._values.setdefault(name, {}).update(dict.fromkeys(values[:SPELLINGS]))

    def spell(self, word: Word) -> Sequence[Spelling]:
        """The possible values of the word; none if unknown."""
        if word.sure:
            return (Spelling(word.text),)
        quoted = len(word.text) > 1 and word.text[0] == word.text[-1] == '"'
        text = word.text[1:-1] if quoted else word.text.replace('"', "") if word.text.count('"') == 2 else word.text
        names = list(dict.fromkeys(one[1] or one[2] for one in _VARIABLE.finditer(text)))
        if not all(name in self._values for name in names):
            return ()
        found: list[Spelling] = []
        for chosen in islice(product(*(self._values[name] for name in names)), SPELLINGS):
            made = _put_in(text, {name: value.text for name, value in zip(names, chosen, strict=True)})
            has_wildcard = (not quoted and _WILD.search(text) is not None) or any(value.pattern for value in chosen)
            if len(made) <= LONGEST and _TELLING.fullmatch(made):
                found.append(Spelling(made, has_wildcard))
        return found


def _put_in(text: str, values: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda one: values[one[1] or one[2]], text)


class _Output(NamedTuple):
    """Programs that write to the file of an option: `-o FILE`, `-oFILE`, `--output=FILE`."""

    short: str = "-o"
    long: str = "--output"


_OUTPUTS: dict[str, _Output] = {
    **dict.fromkeys(("sort", "curl", "pandoc", "shuf", "iconv", "gpg", "gpg2", "tree", "patch", "time"), _Output()),
    **dict.fromkeys(("gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "gfortran", "nasm", "as"), _Output()),
    **dict.fromkeys(("rustc", "go", "dot", "nvcc", "tcc", "strip", "protoc", "xsltproc"), _Output()),
    **dict.fromkeys(("git", "diff"), _Output("--output")),
    "wget": _Output("-O", "--output-document"),
    "openssl": _Output("-out", "-out"),
    "tar": _Output("-f", "--file"),
    "script": _Output("-O", "--log-out"),
}
_CLUSTERS = frozenset({"sort", "curl", "wget"})
"""Those options whose letters may be joined: `curl -so FILE`."""
_COPIES = frozenset({"cp", "mv", "install", "ln", "rsync", "scp", "gcp", "gmv", "ginstall"})
_COPY_VALUES = {
    "install": re.compile(r"-[a-zA-Z]*[SmogZ]|--(?:suffix|mode|owner|group)"),
    "rsync": re.compile(r"-[a-zA-Z]*[ef]|--(?:rsh|exclude|include|filter|exclude-from|include-from|files-from)"),
    "scp": re.compile(r"-[a-zA-Z]*[cFiJloPSDX]"),
}
"""Options of those whose next word is a value."""
_INTO = re.compile(r"-[a-zA-Z]*t(.*)|--target-directory(?:=(.*))?", re.DOTALL)
_TREES = re.compile(r"-[a-zA-Z]*[rRa][a-zA-Z]*|--(?:recursive|archive)")
_FORCES = re.compile(r"-[a-zA-Z]*[fi][a-zA-Z]*|--(?:force|interactive)")
_SPARES = re.compile(
    r"-[a-zA-Z]*n[a-zA-Z]*|--no-clobber|--ignore-existing|--dry-run|-[a-zA-Z]*b[a-zA-Z]*|--backup(?:=.*)?"
)
"""Options with which the file is kept, perhaps under another name."""
_EDITS = re.compile(r"-[a-zA-Z]*?i(.*)|--in-place(?:=(.*))?", re.DOTALL)
"""`-i` edits in place; what is behind it is the ending of a copy that is kept."""
_SCRIPTS = re.compile(r"-[a-zA-Z]*?[ef]|--(?:expression|file)(?:=.*)?")


_KNOWN = _COPIES | _OUTPUTS.keys() | frozenset({
    *("tee", "sponge", "dd", "sed", "gsed", "perl", "ruby", "awk", "gawk", "uniq", "xxd", "ffmpeg", "git"),
})  # fmt: skip


def replaced_by(command: ShellCommand, spell: Spell) -> Iterator[ReplacedFile]:
    """The files that this command overwrites if it runs unchanged."""
    program, words = command.program, command.words[1:]
    if program not in _KNOWN:
        return
    if program == "git":
        words = words[git_options(words) :]
    if words and words[-1].text in (";", "+"):
        words = words[:-1]  # of `find … -exec`
    for target, source, tree in _of_program(program, words):
        for spelling in spell(target):
            for origin in (spell(source) if source is not None else ()) or (Spelling(""),):
                has_wildcard = spelling.pattern or origin.pattern
                if spelling.text:
                    moved = program in ("mv", "gmv", "git")
                    yield ReplacedFile(spelling.text, command.line, has_wildcard, origin.text, tree, moved)


_Move = tuple[Word, Word | None, bool]


def _of_program(program: str, words: tuple[Word, ...]) -> Iterator[_Move]:
    texts = [word.text for word in words]
    operands = _operands(words)
    match program:
        case _ if program in _COPIES:
            yield from _of_copy(program, words)
        case "tee" | "sponge" if not any(re.fullmatch(r"-[a-z]*a[a-z]*|--append", text) for text in texts):
            yield from ((word, None, False) for word in operands)
        case "dd":
            yield from ((_without_sign(word, "of="), None, False) for word in words if word.text.startswith("of="))
        case "sed" | "gsed":
            yield from _of_edit(words, operands)
        case "perl" | "ruby" if any(_edits(text) for text in texts):
            yield from ((word, None, False) for word in operands)
        case "awk" | "gawk" if "inplace" in texts:
            yield from ((word, None, False) for word in operands[1:])
        case "uniq" | "xxd" if len(operands) == 2:
            yield operands[1], None, False
        case "ffmpeg" if operands:
            yield operands[-1], None, False
        case "git" if texts[:1] == ["mv"]:
            yield from _of_copy("mv", words[1:])
        case "git" if texts[:1] == ["checkout"] and not _names_branch(texts):
            yield from ((word, None, False) for word in operands[1:])
        case "curl" if any(re.fullmatch(r"-[a-zA-Z]*O|--remote-name(?:-all)?", text) for text in texts):
            urls = (word.text.rstrip("/").rpartition("/")[2].partition("?")[0] for word in operands if word.sure)
            yield from ((Word(name), None, False) for name in urls if name)
        case _:
            pass
    if program in _OUTPUTS and (program != "tar" or _creates(texts)):
        yield from ((word, None, False) for word in _output_arguments(program, words))


def _operands(words: Sequence[Word]) -> list[Word]:
    """The words that are not options; after `--` all of them."""
    place = next((place for place, word in enumerate(words) if word.sure and word.text == "--"), len(words))
    return [*(word for word in words[:place] if not word.text.startswith("-") or word.text == "-"), *words[place + 1 :]]


def _of_copy(program: str, words: tuple[Word, ...]) -> Iterator[_Move]:
    texts = [word.text for word in words]
    forced = any(_FORCES.fullmatch(text) for text in texts)
    if program != "install" and any(_SPARES.fullmatch(text) for text in texts) and not forced:
        return
    if program == "ln" and not forced:
        return
    into: Word | None = None
    left: list[Word] = []
    rest = iter(words)
    for word in rest:
        if program != "rsync" and (found := _INTO.fullmatch(word.text)) is not None:
            value = found[1] or found[2]
            into = Word(value, word.sure) if value else next(rest, None)
        elif program in _COPY_VALUES and _COPY_VALUES[program].fullmatch(word.text):
            next(rest, None)
        elif word.text == "--":
            left += rest
        elif not word.text.startswith("-"):
            left.append(word)
    tree = any(_TREES.fullmatch(text) for text in texts)
    target = into if into is not None else left.pop() if len(left) > 1 else None
    if target is not None:
        yield from ((target, source, tree and program != "mv") for source in left)


def _edits(text: str) -> bool:
    """Whether this option has files edited in place, without a copy of what they were."""
    found = _EDITS.fullmatch(text)
    return found is not None and not (found[1] or found[2]) and not text.startswith(("-e", "-f", "-I"))


def _of_edit(words: tuple[Word, ...], operands: list[Word]) -> Iterator[_Move]:
    if not any(_edits(word.text) for word in words):
        return
    values = {id(words[place + 1]) for place, word in enumerate(words[:-1]) if _SCRIPTS.fullmatch(word.text)}
    given = bool(values) or any(word.text.startswith(("--expression=", "--file=")) for word in words)
    files = [word for word in operands if id(word) not in values]
    yield from ((word, None, False) for word in (files if given else files[1:]))


def _creates(texts: list[str]) -> bool:
    """Whether `tar` creates an archive."""
    return bool(texts) and (re.fullmatch(r"-?[a-zA-Z]*c[a-zA-Z]*", texts[0]) is not None or "--create" in texts)


def _names_branch(texts: list[str]) -> bool:
    return any(re.fullmatch(r"-[bBt]|--(?:orphan|detach|track)", text) for text in texts)


_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")


def git_options(words: Sequence[Word]) -> int:
    """How many words precede git's subcommand: `-C there`, `-c a=b`."""
    place = 0
    while place < len(words) and words[place].text.startswith("-"):
        place += 2 if words[place].text in _WITH_VALUE else 1
    return place


def _without_sign(word: Word, sign: str) -> Word:
    return Word(word.text.removeprefix(sign), word.sure)


def _output_arguments(program: str, words: tuple[Word, ...]) -> Iterator[Word]:
    short, long = _OUTPUTS[program]
    for place, word in enumerate(words):
        name, sign, value = word.text.partition("=")
        together = program in _CLUSTERS and re.fullmatch(rf"-[a-zA-Z]+{short[1]}", word.text) is not None
        old = program == "tar" and place == 0 and re.fullmatch(r"-?[a-zA-Z]*c[a-zA-Z]*f", word.text) is not None
        if word.text in (short, long) or together or old:
            yield from words[place + 1 : place + 2]
        elif sign and name == long:
            yield Word(value, word.sure)
        elif len(short) == 2 and word.text.startswith(short):
            yield Word(word.text[2:], word.sure)


def goals_of(command: ShellCommand) -> list[str]:
    """Where `cd` leads, as far as it says so."""
    return [word.text for word in command.words[1:] if word.sure and not word.text.startswith("-")]


# -- clearing away by a name that says so -------------------------------------------------------------

_CLEANS = re.compile(
    r"(?:[\w.]*[-_:])?(?:clean|cleanall|distclean|realclean|mrproper|clobber|purge|nuke)(?:[-_:][\w.-]*)?"
)
_RUNNERS = frozenset({
    *("make", "gmake", "bmake", "nmake", "ninja", "just", "task", "rake", "mvn", "mvnw", "gradle", "gradlew", "ant"),
    *("sbt", "lein", "mix", "invoke", "inv", "doit", "nox", "tox", "scons", "waf", "bazel", "buck", "dune", "lake"),
    *("cargo", "npm", "pnpm", "yarn", "bun", "cmake", "flutter", "dotnet", "swift", "stack", "cabal", "go", "hatch"),
    *("pdm", "poe", "poetry", "meson", "composer", "mage"),
})  # fmt: skip
_ONLY_SAID = re.compile(r"-[a-zA-Z]*n[a-zA-Z]*|--(?:dry-run|just-print|recon)")


def runs_clean_target(command: ShellCommand) -> bool:
    """Whether it runs a target whose name means deleting build products: `make clean`, `npm run clean`."""
    words = [word.text for word in command.words[1:]]
    is_setup = is_python(command.program) and words[:2] == ["setup.py", "clean"]
    if command.program not in _RUNNERS and not is_setup:
        return False
    dry = command.program in ("make", "gmake", "ninja", "just", "cargo") and any(map(_ONLY_SAID.fullmatch, words))
    return not dry and any(_CLEANS.fullmatch(word) for word in words)


_RUINOUS = re.compile(r"-(?=\w*[rR])(?=\w*f)[rRfvidI]+|--(?:hard|no-preserve-root|force)|-delete")
_DELETERS = re.compile(
    r"(?<![\w./=-])(?:rm|unlink|shred|srm|rmdir|rimraf)(?![\w./=-])|=['\"]?(?:rm|unlink|shred|srm)\b"
)


def may_destroy_unseen(command: ShellCommand, source: str) -> bool:
    """Whether a command whose name is known only at run time has options that look destructive, or the source names a
    program that deletes."""
    words = command.words[1:] if command.program in WRAPPERS else command.words
    if not words or words[0].sure:
        return False
    return any(_RUINOUS.fullmatch(word.text) for word in words[1:]) or _DELETERS.search(source) is not None
