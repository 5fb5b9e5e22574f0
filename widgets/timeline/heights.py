"""Heights of all blocks, with the sums that map a row to a block: a Fenwick tree.

Appending, changing one height and finding the block under a row take a logarithmic number of
steps, so a hundred thousand blocks cost no more than a hundred.
"""

from array import array
from collections.abc import Iterable


class Heights:
    """Numbers of rows, in order."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = array("q", heights)
        self._tree = tree = array("q", [0]) + self._heights
        self.total = sum(self._heights)
        """Sum of all heights."""
        for node in range(1, len(tree)):
            if (above := node + (node & -node)) < len(tree):
                tree[above] += tree[node]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        self.total += change
        node = index + 1
        while node < len(self._tree):
            self._tree[node] += change
            node += node & -node

    def append(self, height: int) -> None:
        """Add a height at the end."""
        self._heights.append(height)
        self.total += height
        node = len(self._heights)
        step, covered = 1, height
        while step < node & -node:
            covered += self._tree[node - step]
            step *= 2
        self._tree.append(covered)

    def before(self, index: int) -> int:
        """Rows above the block at `index`."""
        rows = 0
        while index:
            rows += self._tree[index]
            index &= index - 1
        return rows

    def find(self, row: int) -> tuple[int, int]:
        """Index of the block that holds `row`, and the row inside it; beyond the end `(len, rest)`."""
        index, step = 0, 1 << len(self._tree).bit_length()
        while step:
            node = index + step
            if node < len(self._tree) and self._tree[node] <= row:
                index = node
                row -= self._tree[node]
            step //= 2
        return index, row
