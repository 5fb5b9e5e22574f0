"""JSON as a tree whose branches grow when they are opened, so that its size costs nothing before."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from oi_tui.app.engine.text.safe import safe_text
from oi_tui.app.engine.text.words import quantity
from oi_tui.themes.palette import Palette
from oi_tui.widgets.timeline.ink import Ink
from oi_tui.widgets.timeline.search import Search
from oi_tui.widgets.viewer.line_index import Step

BATCH = 200
"""Branches that grow at once; the next ones are a key away."""

LONGEST = 300
"""Characters of a value that are shown."""

_SEARCHED = 2_000
"""Values that are looked at in one slice of a search."""

Way = tuple[int, ...]
"""From the root: which child, and of that which one, and so on. In the order of the text."""


class JsonBranch:
    """A value and the way to it."""

    def __init__(self, value: Any, way: Way, *, more: bool = False) -> None:
        self.value = value
        self.way = way
        self.more = more
        """Whether it is a placeholder for branches that have not grown yet."""


class JsonTree(Tree[JsonBranch]):
    """A value of JSON; the keys of a tree, and what the viewer asks of what it shows."""

    DEFAULT_CSS = """
    JsonTree { height: 1fr; background: $surface-console; padding: 0 1; scrollbar-size-vertical: 1; }
    JsonTree:focus { background-tint: $background 0%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor_up", "Up", id="viewer.up", show=False),
        Binding("down,j", "cursor_down", "Down", id="viewer.down", show=False),
        Binding("pageup,b", "page_up", "Page up", id="viewer.page_up", show=False),
        Binding("pagedown,f", "page_down", "Page down", id="viewer.page_down", show=False),
        Binding("right,l", "open", "Open", id="tree.open", show=False),
        Binding("left,h", "shut", "Close, or to what it is in", id="tree.close", show=False),
        Binding("home,g", "first", "Start", id="viewer.start", show=False),
        Binding("end,G", "last", "End", id="viewer.end", show=False),
    ]

    class Moved(Message):
        """The cursor is somewhere else."""

    def __init__(self, value: Any, palette: Palette, *, id: str | None = None) -> None:
        self._ink = Ink(palette)
        self._search: Search | None = None
        self._found: list[Way] = []
        super().__init__(self._label("", value), JsonBranch(value, ()), id=id)
        self._value = value
        self.guide_depth = 3

    def on_mount(self) -> None:
        """The first level is open."""
        self._grow(self.root)
        self.root.expand()

    # What the screen asks

    @property
    def position(self) -> str:
        """Where the cursor is, as one would write it in code."""
        branch = self._branch
        value, parts = self._value, []
        for number in branch.way:
            if isinstance(value, dict):
                key = list(value)[number]
                parts.append(f"[{json.dumps(safe_text(str(key)), ensure_ascii=False)}]")
                value = value[key]
            else:
                parts.append(f"[{number}]")
                value = value[number]
        return "".join(parts)

    def text_to_copy(self) -> tuple[str, str]:
        """The value under the cursor as JSON; a string as it is."""
        value = self._branch.value
        return safe_text(value if isinstance(value, str) else to_json(value)), "the value"

    def find(self, search: Search, step: int) -> Iterator[Step]:
        """The next key or value with a match; around the end."""
        here = self._branch.way
        best: Way | None = None
        around: Way | None = None
        for number, (way, words) in enumerate(_walk(self._value), 1):
            if number % _SEARCHED == 0:
                yield Step(0.0)
            if not search.count(words):
                continue
            if step > 0 and way > here:
                best = way
                break
            if step > 0:
                around = way if around is None else around
            elif way < here:
                best = way
            else:
                around = way
        if (found := best if best is not None else around) is not None:
            self._found.append(found)
            yield Step(1.0, len(self._found) - 1)

    def mark(self, search: Search | None, line: int | None = None) -> None:
        """Mark matches, and go to the one that a search gave this number."""
        self._search = search
        self._tree_lines_cached = None
        self.refresh()
        if line is not None:
            self._go(self._found[line])

    # Growing

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[JsonBranch]) -> None:
        """Grow what is looked at for the first time."""
        event.stop()
        if not event.node.children:
            self._grow(event.node)

    def on_tree_node_selected(self, event: Tree.NodeSelected[JsonBranch]) -> None:
        """Add branches, if the placeholder was selected."""
        event.stop()
        branch = event.node.data
        if branch is not None and branch.more and event.node.parent is not None:
            parent, line = event.node.parent, self.cursor_line
            event.node.remove()
            self._grow(parent)
            self.call_after_refresh(self._put_line, line)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[JsonBranch]) -> None:
        event.stop()
        self.post_message(self.Moved())

    def _grow(self, node: TreeNode[JsonBranch], least: int = 0) -> None:
        """The next branches of a node, at least until the one with the number `least`."""
        branch = node.data
        if branch is None:
            return
        if node.children and (last := node.children[-1]).data is not None and last.data.more:
            last.remove()
        start = len(node.children)
        children = _children(branch.value)
        end = max(start + BATCH, least + 1)
        for number in range(start, min(end, len(children))):
            key, value = children[number]
            way = (*branch.way, number)
            node.add(self._label(key, value), JsonBranch(value, way), allow_expand=bool(_children(value)))
        if end < len(children):
            label = Text(safe_text(f"… {len(children) - end:,} more · enter to show"), self._ink.console_dim)
            node.add_leaf(label, JsonBranch(None, (*branch.way, end), more=True))

    def _go(self, way: Way) -> None:
        node = self.root
        for number in way:
            if number >= len(node.children) or (node.children[number].data or _NOTHING).more:
                self._grow(node, number)
            node.expand()
            node = node.children[number]
        self.call_after_refresh(self._put_cursor, node)

    def _put_cursor(self, node: TreeNode[JsonBranch]) -> None:
        if self.last_line >= 0:  # asking for it numbers the lines of what has just grown
            self.move_cursor(node)
            self.scroll_to_node(node, animate=False)

    def _put_line(self, line: int) -> None:
        self.cursor_line = line
        self.scroll_to_line(line, animate=False)

    # Looks

    def render_label(self, node: TreeNode[JsonBranch], base_style: Style, style: Style) -> Text:
        """A label with its matches marked."""
        label = super().render_label(node, base_style, style)
        if self._search is not None:
            for at in self._search.in_text(label.plain):
                label.stylize(self._ink.match, at, at + len(self._search.needle))
        return label

    def _label(self, key: str, value: Any) -> Text:
        ink, code = self._ink, self._ink.palette.code
        label = Text(no_wrap=True)
        if key:
            label.append(f"{_short(key)}: ", Style(color=code.function))
        match value:
            case dict():
                label.append(f"{{ {quantity(len(value), 'key')} }}", Style(color=ink.palette.inks.dim))
            case list():
                label.append(f"[ {quantity(len(value), 'item')} ]", Style(color=ink.palette.inks.dim))
            case str():
                label.append(_short(json.dumps(safe_text(value), ensure_ascii=False)), Style(color=code.string))
            case None | bool():
                label.append(json.dumps(value), Style(color=code.keyword))
            case _:
                label.append(_short(str(value)), Style(color=code.number))
        return label

    # Moving

    def action_open(self) -> None:
        """Open a branch; the second time go into it."""
        node = self.cursor_node
        if node is not None and node.allow_expand and not node.is_expanded:
            node.expand()
        else:
            self.action_cursor_down()

    def action_shut(self) -> None:
        """Close a branch; the second time go to what it is in."""
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded and node.allow_expand:
            node.collapse()
        elif node.parent is not None:
            self.move_cursor(node.parent)

    def action_first(self) -> None:
        self._put_line(0)

    def action_last(self) -> None:
        """The last branch that is open."""
        self._put_line(self.last_line)

    @property
    def _branch(self) -> JsonBranch:
        node = self.cursor_node or self.root
        return node.data or _NOTHING


_NOTHING = JsonBranch(None, ())


def to_json(value: Any) -> str:
    """A value as JSON; a value that is not JSON by its type's name."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _children(value: Any) -> list[tuple[str, Any]]:
    match value:
        case dict():
            return [(str(key), child) for key, child in value.items()]
        case list():
            return [(str(number), child) for number, child in enumerate(value)]
        case _:
            return []


def _walk(value: Any) -> Iterator[tuple[Way, str]]:
    """All values in the order of the text, each with its key; without recursion, since nesting has no bound."""
    stack: list[tuple[Way, str, Any]] = [((), "", value)]
    while stack:
        way, key, inside = stack.pop()
        children = _children(inside)
        words = (
            ""
            if children or isinstance(inside, dict | list)
            else inside
            if isinstance(inside, str)
            else to_json(inside)
        )
        yield way, f"{key}: {words}" if key else words
        stack += [((*way, number), name, child) for number, (name, child) in reversed(list(enumerate(children)))]


def _short(text: str) -> str:
    line = safe_text(text).replace("\n", "⏎")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
