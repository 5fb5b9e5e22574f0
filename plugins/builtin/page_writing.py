"""A session as one page of HTML: nothing is loaded, nothing runs, and it is read in light and dark.

No script and no address of the web is in it, and its policy forbids both should something of ours be wrong. HTML that
the session's code made is a stranger's: the page shows its readable text, never the markup itself.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from oi_tui.plugins.api import (
    PLOTLY_TYPE,
    TABLE_TYPE,
    Action,
    ActionBlock,
    Block,
    ErrorOutput,
    NoticeBlock,
    Output,
    PlanStep,
    ProseBlock,
    RichOutput,
    SessionContent,
    StreamOutput,
    SummaryBlock,
    ThoughtBlock,
    UserBlock,
    apply_carriage_returns,
    attached_file,
    evidence_anchors,
    frame_of,
    plain_text,
    plan_heading,
    plotly_summary,
    read_html,
    run_end,
    says_something,
    step_line,
    summary_title,
    tell_places,
    thought_title,
    without_escapes,
)
from oi_tui.plugins.builtin.page_parts import (
    PICTURES,
    document,
    escape_text,
    frame,
    picture,
    picture_of_url,
    preformat,
    prose,
    source,
)
from oi_tui.plugins.builtin.page_style import style_sheet

_POLICY = "default-src 'none'; style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'"

WORTH_TELLING = 0.1
"""Seconds that a run took."""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="{policy}" />
<meta name="referrer" content="no-referrer" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def write_html(session: SessionContent) -> bytes:
    """The page as a file, with the title of the session."""
    return page_bytes(session.blocks, session.outline.title, session.outline.plan)


def page_bytes(blocks: Sequence[Block], title: str, plan: Sequence[PlanStep] = ()) -> bytes:
    """A session as one HTML page (UTF-8) that loads and runs nothing."""
    style = style_sheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    heading = f"<header><h1>{escape_text(title)}</h1></header>" if title else ""
    anchors = evidence_anchors(plan, blocks)
    parts = (_block(block, place, anchors.get(block.id, "")) for block, place in tell_places(blocks))
    page = _PAGE.format(
        policy=_POLICY.format(style=f"sha256-{digest}"),
        title=escape_text(title or "Session"),
        style=style,
        body="\n".join([heading, *([_plan(plan, anchors)] if plan else []), *filter(None, parts)]),
    )
    return page.encode("utf-8", "replace")


def _plan(steps: Sequence[PlanStep], anchors: Mapping[str, str]) -> str:
    return "\n".join(
        [
            f'<section class="plan" aria-label="Plan"><h2>{escape_text(plan_heading(steps))}</h2>',
            "<ol>",
            *(f"<li>{'<br />'.join(_step(step, anchors))}</li>" for step in steps),
            "</ol></section>",
        ]
    )


def _step(step: PlanStep, anchors: Mapping[str, str]) -> Iterator[str]:
    yield escape_text(step_line(step))
    if step.done_when:
        yield f"<small>Done when: {escape_text(step.done_when)}</small>"
    there = [anchors[block_id] for block_id in step.evidence if block_id in anchors]
    if links := ", ".join(f'<a href="#{anchor}">{anchor.replace("-", " ")}</a>' for anchor in there):
        yield f"<small>Evidence: {links}</small>"


def _block(block: Block, place: str, anchor: str) -> str:
    match block:
        case UserBlock():
            return f'<section class="prompt" aria-label="Prompt">{"".join(_prompt(block))}</section>'
        case ProseBlock():
            return prose(block.text) if block.text.strip() else ""
        case ThoughtBlock():
            words = escape_text(thought_title(block))
            return f"<details><summary>{words}</summary>{preformat(block.text, 'details')}</details>"
        case SummaryBlock():
            words = escape_text(summary_title(block))
            return f"<details><summary>{words}</summary>{preformat(block.text, 'details')}</details>"
        case Action():
            place_of = f' id="{anchor}"' if anchor else ""
            return f'<figure class="run {block.state}"{place_of}>\n{"".join(_code(block, place))}</figure>'
        case NoticeBlock():
            words = "".join(f"<p>{escape_text(part)}</p>" for part in (block.title, block.hint) if part.strip())
            details = preformat(block.details, "details")
            return f'<aside class="notice {block.level}">{words}{details}</aside>'


def _prompt(block: UserBlock) -> Iterator[str]:
    if block.text.strip():
        yield f"<p>{escape_text(block.text.strip(chr(10)))}</p>"
    files = [attached_file(written) for written in block.files]
    yield from (picture_of_url(file.picture) for file in files)
    names = [file.name for file in files if file.name]
    if names:
        yield f'<p class="files">Files: {escape_text(", ".join(names))}</p>'


def _code(block: ActionBlock, place: str) -> Iterator[str]:
    took = f"{block.duration:,.1f} s" if block.duration is not None and block.duration >= WORTH_TELLING else ""
    runs_in = f"{block.runs_in} · {place}" if place else block.runs_in
    yield f"<figcaption><span>{escape_text(runs_in)}</span><span>{took}</span></figcaption>\n"
    yield source(block.source, block.written_in)
    if block.original is not None:
        written = source(block.original, block.written_in)
        yield f"\n<details><summary>Edited before it ran; this was proposed</summary>{written}</details>"
    for output in block.outputs:
        if shown := "".join(_output(output)):
            yield f'\n<div class="output">{shown}</div>'
    if block.dropped:
        yield f'\n<p class="note">{block.dropped:,} more characters of output were not kept.</p>'
    if end := run_end(block):
        yield f'\n<p class="end">{escape_text(end)}</p>'


def _output(output: Output) -> Iterator[str]:
    match output:
        case StreamOutput(tail=tail):
            yield preformat(plain_text(output), output.name)
            if tail is not None:
                if tail.left_out_characters:
                    yield f'<p class="note">… {tail.left_out_characters:,} characters left out …</p>'
                yield preformat(apply_carriage_returns(without_escapes(tail.text)), output.name)
        case ErrorOutput():
            trace = "\n".join(output.traceback) or f"{output.name}: {output.value}"
            yield preformat(without_escapes(trace), "error")
        case RichOutput():
            yield _rich(output)


def _rich(output: RichOutput) -> str:
    """The most expressive form: our table, a picture, then the readable text of the others."""
    data = output.data
    if (table := frame_of(data.get(TABLE_TYPE))) is not None:
        return frame(table)
    for mime in PICTURES:
        if shown := picture(mime, data.get(mime)):
            return shown
    if lines := plotly_summary(data.get(PLOTLY_TYPE)):
        return preformat("\n".join(["[interactive figure]", *lines]), "figure")
    match data:
        case {"text/html": str(markup)} if shown := document(read_html(markup)):
            return shown
        case {"text/markdown": str(markdown)} if markdown.strip():
            return prose(markdown)
        case {"text/latex": str(formula)} if formula.strip() and not says_something(data.get("text/plain")):
            return preformat(formula, "formula")
        case {"application/json": value}:
            return preformat(json.dumps(value, indent=2, ensure_ascii=False, default=str), "json")
        case _:
            return preformat(without_escapes(plain_text(output)), "result")
