"""Pictures of the pages that code showed, for a model that can see: what the person looks at in the browser."""

import asyncio
import base64
import os
from collections.abc import Mapping
from functools import partial

from oi_tui.app.engine.core.blocks import ActionBlock
from oi_tui.app.engine.core.outputs import Output, RichOutput, StreamOutput
from oi_tui.app.engine.kernels.page_kernel import PAGE_LANGUAGE
from oi_tui.app.engine.kernels.page_picture import PageNotDrawn, draw_page
from oi_tui.app.engine.text.browser_page import needs_scripts, page_of
from oi_tui.app.engine.text.mime import IMAGE_TYPES
from oi_tui.app.engine.text.rich_text import says_something

MOST_PAGES = 2
"""Of one run, the last ones: each costs a second or two."""


async def draw_results(block: ActionBlock, environ: Mapping[str, str] = os.environ) -> tuple[Output, ...]:
    """The pictures and what scripts failed at; nothing where the text says as much, or nothing can be drawn."""
    if block.runs_in == PAGE_LANGUAGE:
        return ()
    drawn: list[Output] = []
    pages = [output for output in block.outputs if isinstance(output, RichOutput) and _needs_a_picture(output)]
    for output in pages[-MOST_PAGES:]:
        page = await asyncio.to_thread(partial(page_of, output, scripts=True))
        if page is None:
            continue
        try:
            found = await draw_page(page, environ)
        except PageNotDrawn:
            return tuple(drawn)
        if errors := "".join(f"[page] {said.text}\n" for said in found.console if said.is_error):
            drawn.append(StreamOutput(name="stderr", text=errors))
        encoded = base64.b64encode(found.picture.data).decode()
        drawn.append(RichOutput(data={found.picture.mime: encoded}, metadata={"recipient": "assistant"}))
    return tuple(drawn)


def _needs_a_picture(output: RichOutput) -> bool:
    """Whether a page says more than its text, and has no picture yet."""
    data = output.data
    if any(mime in data for mime in IMAGE_TYPES):
        return False
    return needs_scripts(output) or ("text/html" in data and not says_something(data.get("text/plain")))
