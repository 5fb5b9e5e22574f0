"""What we know of a source before it runs. A reading informs: it can make a decision stricter, never milder."""

from typing import NamedTuple

LONGEST_SOURCE = 100_000
"""Characters of Python; what is longer is not read: it would take a third of a second or more."""

LONGEST_SHELL = 50_000
"""The same of shell source."""

TOO_LONG = "too long to be looked through"
TOO_DEEP = "nested too deeply to be looked through"


class Word(NamedTuple):
    """A word of a shell command."""

    text: str
    sure: bool = True
    """False if the text is known only at run time (`$x`, `{a,b}`); `text` is then the source of the word."""


class ShellCommand(NamedTuple):
    """A simple command, wherever it is: in a pipeline, a loop, a substitution, behind `sudo`."""

    words: tuple[Word, ...]
    line: int
    """From 1, in the whole source."""
    variables: tuple[str, ...] = ()
    """Names that are set for this command only: `PAGER=x git log`."""

    @property
    def program(self) -> str:
        """Its name without a folder; "" where only the run tells."""
        first = self.words[0] if self.words else Word("", sure=False)
        return first.text.rpartition("/")[2] if first.sure else ""


class PathUse(NamedTuple):
    """A path in the source."""

    path: str
    line: int
    writes: bool = False
    """Whether it is written, as far as can be seen."""
    whole: bool = False
    """Whether nothing of the earlier content remains: the file is the source's own."""


class ReplacedFile(NamedTuple):
    """A file that is overwritten: its earlier content, if any, is gone."""

    path: str
    line: int
    pattern: bool = False
    """`*`, `?` and `[…]` in the path, and in the path of the source, are wildcards for file names."""
    source: str = ""
    """What is copied or moved there, "" if nothing is: in a folder it keeps its name."""
    tree: bool = False
    """With all that is beneath the source."""
    moved: bool = False
    """The source is no longer where it was."""


class NameUse(NamedTuple):
    """Something of a library that is imported, called or only named, by its full dotted name."""

    name: str
    line: int
    called: bool = False
    used: bool = False
    """It is used as a value, and may be called elsewhere."""


class Handover(NamedTuple):
    """A part that may run another program, or text as code, which no reading follows."""

    what: str
    """What runs it: `make`, `awk`, `exec`."""
    line: int
    key: str = ""
    """What an approval remembers: the program if it runs code from files (`make`), else all of its words. Empty: it
    matters only for rules that deny."""


class InlineSource(NamedTuple):
    """Python inside shell: `python -c TEXT`, `python - <<END`."""

    text: str
    line: int
    """Where it begins."""


class Unread(NamedTuple):
    """A part that says nothing before it runs, and why."""

    why: str
    line: int


class Risk(NamedTuple):
    """One thing that a source does, in plain words."""

    what: str
    line: int
    grave: bool = False
    """Not to be run unasked, even in a sandbox."""


class SourceFacts(NamedTuple):
    """All that was found. Lines count from 1."""

    commands: tuple[ShellCommand, ...] = ()
    places: tuple[PathUse, ...] = ()
    names: tuple[NameUse, ...] = ()
    unread: tuple[Unread, ...] = ()
    handovers: tuple[Handover, ...] = ()
    risks: tuple[Risk, ...] = ()
    plain: bool = False
    """Shell: nothing but simple commands of literal words, joined by `&&`, `||`, `|`, `;` and line ends, and two ways
    of reading agree on what they are. Only such a source can be allowed by a rule for commands."""
    replaced: tuple[ReplacedFile, ...] = ()
    """As far as the source says so; paths that only the run tells are not among them."""
    inline: tuple[InlineSource, ...] = ()
    folders: tuple[str, ...] = ()
    """Those that are changed to on the way, as far as the source says so."""
    moves: bool = False
    """The folder is changed on the way: a relative path may mean another one."""
    hosts: tuple[str, ...] = ()
    """Of a call: all that it reaches, names in ASCII or addresses, in lower case."""
    lasting: bool = False
    """Shell: functions, aliases, variables or options may be other ones afterwards."""

    @property
    def complete(self) -> bool:
        """Whether all of it could be read."""
        return not self.unread

    @property
    def has_unseen(self) -> bool:
        """Whether some of it was not even looked at."""
        return any(part.why in (TOO_LONG, TOO_DEEP) for part in self.unread)


def shift_lines(reading: SourceFacts, lines: int) -> SourceFacts:
    """The same reading for a source that begins this many lines further down."""
    return reading._replace(
        commands=tuple(item._replace(line=item.line + lines) for item in reading.commands),
        places=tuple(item._replace(line=item.line + lines) for item in reading.places),
        names=tuple(item._replace(line=item.line + lines) for item in reading.names),
        unread=tuple(item._replace(line=item.line + lines) for item in reading.unread),
        handovers=tuple(item._replace(line=item.line + lines) for item in reading.handovers),
        risks=tuple(item._replace(line=item.line + lines) for item in reading.risks),
        replaced=tuple(item._replace(line=item.line + lines) for item in reading.replaced),
        inline=tuple(item._replace(line=item.line + lines) for item in reading.inline),
    )


def merge_facts(*readings: SourceFacts) -> SourceFacts:
    """All of them as one; never plain, since only a single command is."""
    return SourceFacts(
        commands=tuple(item for reading in readings for item in reading.commands),
        places=tuple(item for reading in readings for item in reading.places),
        names=tuple(item for reading in readings for item in reading.names),
        unread=tuple(item for reading in readings for item in reading.unread),
        handovers=tuple(item for reading in readings for item in reading.handovers),
        risks=tuple(item for reading in readings for item in reading.risks),
        replaced=tuple(item for reading in readings for item in reading.replaced),
        inline=tuple(item for reading in readings for item in reading.inline),
        folders=tuple(item for reading in readings for item in reading.folders),
        moves=any(reading.moves for reading in readings),
        hosts=tuple(item for reading in readings for item in reading.hosts),
        lasting=any(reading.lasting for reading in readings),
    )
