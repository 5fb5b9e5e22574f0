"""Which section of the guide explains a word: its heading has it, or its text tells most of that command."""

import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from oi_tui.app.guide.pages import guide_pages

_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_COMMAND = re.compile(r"^\| `/([\w-]+)[^`]*` \| [^|]* \| (?:`oi-tui ([^`]+)`)? ?\| (.+) \|$", re.MULTILINE)
_WORD = re.compile(r"[\w.-]+")

CODE_LINE, SENTENCE = 8, 20
"""What a section weighs for each line of code, and each sentence, that has a command."""


class GuideSection(NamedTuple):
    """A heading of a page with the text below it, up to the next heading."""

    topic: str
    heading: str
    text: str


class SlashRow(NamedTuple):
    """A slash command as the guide lists it."""

    shell: str
    """The subcommand of `oi-tui` that is about the same, "" if there is none."""
    about: str


@functools.cache
def slash_rows() -> dict[str, SlashRow]:
    """The slash commands by name, from the generated table: no registry is needed here."""
    texts = (page.text for page in guide_pages() if page.topic == "commands")
    return {name: SlashRow(shell, about) for text in texts for name, shell, about in _COMMAND.findall(text)}


@functools.cache
def guide_sections() -> tuple[GuideSection, ...]:
    """The sections of all pages, in order."""
    return tuple(section for page in guide_pages() for section in _split(page.topic, page.text))


def find_section(word: str, commands: Sequence[str] = (), *, least: int = 1) -> GuideSection | None:
    """The section whose heading says this word, else the one that tells most of `commands`, written as a person types
    them (`/usage`); None if there is none, or none that weighs at `least` so much."""
    written = [re.compile(rf"(?<![\w/]){re.escape(command)}(?![\w-])") for command in commands]
    ranked = [(_weight(section, word, written), section) for section in guide_sections()]
    weight, best = max(ranked, key=lambda one: one[0])
    return best if weight >= least else None


def similar_words(word: str, commands: Iterable[str]) -> list[str]:
    """What a slip could have meant of topics, commands and words of headings; at most three."""
    headings = (one.lower() for section in guide_sections() for one in _WORD.findall(section.heading))
    known = [*(page.topic for page in guide_pages()), *commands, *(one for one in headings if len(one) > 3)]
    return difflib.get_close_matches(word.lower(), list(dict.fromkeys(known)), n=3, cutoff=0.7)


def _split(topic: str, text: str) -> Iterator[GuideSection]:
    """Its sections, those of its second level with what is below them."""
    places = [found for found in _HEADING.finditer(text) if len(found[1]) <= 2]
    ends = [*(found.start() for found in places[1:]), len(text)]
    for found, end in zip(places, ends, strict=True):
        yield GuideSection(topic, found[2], text[found.start() : end].strip() + "\n")


def _weight(section: GuideSection, word: str, written: Sequence[re.Pattern[str]]) -> int:
    """How much it is about the word. Tables list everything, and lines of code name it: a sentence says more."""
    heading, wanted = [one.lower() for one in _WORD.findall(section.heading)], word.lower().split()
    told = 0
    for line in section.text.splitlines():
        worth = CODE_LINE if line.startswith("    ") else 0 if line.startswith("|") else SENTENCE
        told += worth * sum(len(one.findall(line)) for one in written)
    if told or not written:  # of a command, "logs" is not "The audit log"
        heading, wanted = [one.removesuffix("s") for one in heading], [one.removesuffix("s") for one in wanted]
    return told + (1000 // len(heading) if wanted and all(one in heading for one in wanted) else 0)
