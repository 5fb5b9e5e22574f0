"""What a frame is put together from: of each widget the rows that changed and that nothing in front of it covers."""

from collections.abc import Callable, Mapping, Sequence

from textual._compositor import Compositor
from textual.geometry import Region
from textual.strip import Strip


class FrontCompositor(Compositor):
    """Textual's, without asking widgets for rows that nobody sees.

    Textual has every widget that touches a changed region draw all of its rows, also the containers and the screen
    behind what changed.
    """

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        chops: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        open_rows = {y: len(chops[y]) for y in crop.line_range if y < len(chops) and is_rendered_line(y)}
        for widget, (region, clip) in self.visible_widgets.items():  # from front to back
            if not open_rows:
                break
            seen = region.intersection(clip)
            rows = [y for y in open_rows if seen.y <= y < seen.bottom]
            if not rows or not seen.width:
                continue
            first, last = min(rows), max(rows)
            strips = widget.render_lines(Region(seen.x - region.x, first - region.y, seen.width, last + 1 - first))
            for y in rows:
                line = chops[y]
                if len(line) == 1:  # as wide as the screen, as most rows are
                    line[0] = strips[y - first]
                    del open_rows[y]
                    continue
                inside = [cut for cut in cuts[y] if seen.x <= cut <= seen.right]
                parts = strips[y - first].divide([cut - seen.x for cut in inside[1:]])
                for cut, part in zip(inside, parts, strict=False):
                    if line[cut] is None:
                        line[cut] = part
                        open_rows[y] -= 1
                if not open_rows[y]:
                    del open_rows[y]
        return chops  # type: ignore[return-value]  # the screen fills what is behind everything else
