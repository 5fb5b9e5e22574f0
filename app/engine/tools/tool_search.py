"""Tools by words: with many, a model is offered those that it finds, not all descriptions in each request."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from oi_tui.app.engine.core.chat_model import FIND_TOOLS
from oi_tui.app.engine.text.words import one_line
from oi_tui.app.engine.tools.tool import Arguments, Capabilities, Tool, ToolOutput

MOST_OFFERED = 20
"""Tools that are offered without a search."""

HITS = 8
"""Tools that one search finds at most."""

TOLD = 300
"""Characters of a description in an answer."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_OF_NAME, _OF_ARGUMENTS = 3.0, 0.5
"""What a word counts there; in the description it counts 1."""


def search_tools(tools: Iterable[Tool], query: str) -> list[Tool]:
    """Tools whose name, description and arguments fit these words, best first."""
    known = [(tool, _weights(tool)) for tool in tools]
    wanted = set(_words(query))
    if not wanted:
        return []
    frequency = Counter(word for _, weights in known for word in wanted if _weight(weights, word))
    scored = [
        (sum(_weight(weights, word) * math.log(1 + len(known) / frequency[word]) for word in wanted), tool)
        for tool, weights in known
        if any(_weight(weights, word) for word in wanted)
    ]
    scored.sort(key=lambda one: (-one[0], one[1].name))
    return [tool for _, tool in scored[:HITS]]


def finder_tool(search: Callable[[str], Sequence[Tool]]) -> Tool:
    """The tool by which a model finds others; what it finds is offered from the next step on."""

    async def run(arguments: Arguments, output: ToolOutput) -> str:
        found = search(str(arguments["query"]))
        lines = [f"{tool.name}: {one_line(tool.description)[:TOLD]}" for tool in found]
        return "\n".join(["You can call these now:", *lines] if lines else ["No tool has these words. Try others."])

    return Tool(
        name=FIND_TOOLS,
        description="Find more tools than those offered to you. What it finds can be called from the next step on.",
        schema={
            "type": "object",
            "properties": {"query": {"type": "string", "description": "Words for what you want to do."}},
            "required": ["query"],
        },
        run=run,
        capabilities=Capabilities(writes=False, network=False),
        unasked="it reads descriptions of tools only",
    )


def _weights(tool: Tool) -> dict[str, float]:
    weights: dict[str, float] = {}
    properties = tool.schema.get("properties")
    arguments = " ".join(map(str, properties)) if isinstance(properties, dict) else ""
    for text, weight in ((tool.description, 1.0), (arguments, _OF_ARGUMENTS), (tool.name, _OF_NAME)):
        for word in _words(text):
            weights[word] = max(weight, weights.get(word, 0.0))
    return weights


def _weight(weights: dict[str, float], word: str) -> float:
    """The weight of a word, or of one that begins like it: `issue` finds `issues`."""
    alike = (weight for other, weight in weights.items() if len(word) > 3 and other.startswith(word))
    return max(weights.get(word, 0.0), 0.8 * max(alike, default=0.0))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
