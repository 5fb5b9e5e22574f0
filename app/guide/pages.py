"""The pages of the guide as values. Reads files of this package; knows nothing of who shows them."""

import difflib
import functools
import re
from importlib import resources
from typing import NamedTuple

MAP = "README"
"""The page that lists the others."""

_ROW = re.compile(r"^\| \[([a-z-]+)\]\(([a-z-]+)\.md\) \| (.+) \|$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_LINK = re.compile(r"\[([^\]\n]+)\]\(([^)\s]+)\)")


class GuidePage(NamedTuple):
    """A page that people read, by its topic."""

    topic: str
    """What it is asked for by, the file's name without its ending."""
    summary: str
    """One line of the map."""
    text: str
    """Markdown without comments. Links to other pages are their topics; other links are their words."""


@functools.cache
def guide_pages() -> tuple[GuidePage, ...]:
    """All pages but the map, in its order."""
    return tuple(GuidePage(topic, summary, _read(topic)) for topic, _, summary in _ROW.findall(_source(MAP)))


def guide_page(topic: str) -> GuidePage | None:
    """The page of this topic, or whose topic alone begins so; None if there is none."""
    wanted = topic.strip().lower().removesuffix(".md")
    exact = [page for page in guide_pages() if page.topic == wanted]
    begun = exact or [page for page in guide_pages() if wanted and page.topic.startswith(wanted)]
    return begun[0] if len(begun) == 1 else None


def close_topics(topic: str) -> list[str]:
    """Topics that a slip could have meant, then those whose pages have the word in them; at most three."""
    wanted = topic.strip().lower()
    near = difflib.get_close_matches(wanted, [page.topic for page in guide_pages()], n=3, cutoff=0.6)
    pages = sorted(guide_pages(), key=lambda page: -page.text.lower().count(wanted))
    naming = [page.topic for page in pages if wanted and wanted in page.text.lower()]
    return list(dict.fromkeys([*near, *naming]))[:3]


def _source(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def _read(name: str) -> str:
    return _LINK.sub(_link_words, _COMMENT.sub("", _source(name)))


def _link_words(link: re.Match[str]) -> str:
    """Outside a browser a link is a word to ask for."""
    words, target = link[1], link[2].partition("#")[0]
    topic = target.removesuffix(".md")
    if target == topic or "/" in topic or words == topic:
        return words
    return f"{words} (`oi-tui help {topic}`)"
