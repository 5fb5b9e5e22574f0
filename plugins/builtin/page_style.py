"""How an exported page looks: the reader's own colours, light or dark, and a measure that can be read.

No colour is written here: they are those of the system, mixed, and for code those of two styles of Pygments.
"""

from typing import Any

LIGHT, DARK = "default", "github-dark"
"""Styles of Pygments."""

_PAGE = """\
:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 18%, Canvas);
  --dim: color-mix(in srgb, CanvasText 70%, Canvas); --box: color-mix(in srgb, CanvasText 5%, Canvas);
  --accent: light-dark(mediumblue, lightskyblue); --bad: light-dark(firebrick, lightcoral);
  --warn: light-dark(saddlebrown, burlywood); }
* { box-sizing: border-box; }
body { margin: 0; background: Canvas; color: CanvasText; font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header { border-bottom: 1px solid var(--line); margin-bottom: 2rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 0.75rem; }
a { color: var(--accent); }
.prompt { margin: 2.5rem 0 1.25rem; padding: 0.1rem 0 0.1rem 1rem; border-left: 3px solid var(--accent); }
.prompt p { margin: 0.25rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-weight: 600; }
.prompt .files { font-weight: 400; color: var(--dim); font-size: 0.9rem; }
.prose { overflow-wrap: break-word; }
.prose blockquote, .document blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--line);
  color: var(--dim); }
pre, code { font: 0.875rem/1.5 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre { margin: 0; padding: 0.75rem 1rem; overflow-x: auto; tab-size: 4; }
:not(pre) > code { background: var(--box); border-radius: 3px; padding: 0.1em 0.3em; }
.prose pre { background: var(--box); border-radius: 6px; margin: 1rem 0; }
.run { margin: 1.25rem 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.run > figcaption { display: flex; gap: 1rem; justify-content: space-between; padding: 0.3rem 1rem;
  font-size: 0.8rem; color: var(--dim); border-bottom: 1px solid var(--line); }
.run > .source { background: var(--box); }
.run.refused > .source, .run.cut > .source { opacity: 0.75; }
.run > * + .output { border-top: 1px solid var(--line); }
.output { overflow-x: auto; }
img { display: block; max-width: 100%; height: auto; background: white; }
.output > img { max-width: calc(100% - 2rem); margin: 0.75rem 1rem; }
.output .document, .run .note { padding: 0.5rem 1rem; }
.output .stderr { border-left: 3px solid var(--warn); }
.output .error { border-left: 3px solid var(--bad); }
.plan { margin: 1.25rem 0; overflow-wrap: anywhere; }
.plan h2 { font-size: 1rem; margin: 0 0 0.5rem; }
.plan ol { margin: 0; padding-left: 2rem; }
.plan small { color: var(--dim); }
.note { color: var(--dim); font-size: 0.85rem; margin: 0; }
.end { padding: 0.4rem 1rem; margin: 0; font-size: 0.85rem; border-top: 1px solid var(--line); color: var(--bad); }
details { padding: 0.4rem 1rem; font-size: 0.85rem; border-top: 1px solid var(--line); color: var(--dim); }
table { border-collapse: collapse; margin: 0.5rem 0; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; }
thead th { border-bottom: 2px solid var(--line); }
.number { text-align: right; }
caption { white-space: nowrap; caption-side: bottom; text-align: left; color: var(--dim); padding-top: 0.4rem; }
.notice { margin: 1.25rem 0; padding: 0.5rem 1rem; border: 1px solid var(--line); border-left: 3px solid var(--dim);
  border-radius: 6px; font-size: 0.9rem; }
.notice.warning { border-left-color: var(--warn); }
.notice.error { border-left-color: var(--bad); }
.notice p { margin: 0.25rem 0; }
.item { margin: 0.25rem 0; }
.l1 { margin-left: 1rem; } .l2 { margin-left: 2rem; } .l3 { margin-left: 3rem; }
hr { border: 0; border-top: 1px solid var(--line); }
@media print { .run, .output { overflow: visible; break-inside: avoid; } pre { white-space: pre-wrap; } }
"""


def style_sheet() -> str:
    """The CSS of an exported page, light and dark."""
    # Only for an export: not worth its time at the start.
    from pygments.formatters import HtmlFormatter

    light, dark = (_code_style(HtmlFormatter(style=name)) for name in (LIGHT, DARK))
    return "\n".join([_PAGE, *light, "@media (prefers-color-scheme: dark) {", *dark, "}"])


def _code_style(formatter: Any) -> list[str]:
    lines: list[str] = formatter.get_token_style_defs([".source", ".prose pre"])
    return lines
