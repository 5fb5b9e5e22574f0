"""A process of its own that turns one SVG into a PNG: `python -m ...svg_worker WIDTH HEIGHT`, SVG in, PNG out.

An SVG is a program of a stranger in a language with references, patterns and filters: a few lines can want all the
memory or all the time there is. So it is drawn where both are limited, nothing can be written, and nothing is fetched
but what the drawing brings itself as `data:`.
"""

import resource
import sys

SECONDS = 10
BYTES = 1_500_000_000
NO_LIBRARY, NOT_DRAWN = 3, 4
"""Exit codes."""


def main() -> int:
    """Draw what comes on the standard input."""
    for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, BYTES), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    try:
        from cairosvg import svg2png  # here, under the limits; it is optional, and so is the library below it
    except (ImportError, OSError):
        return NO_LIBRARY
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # only now: looking for the library takes a temporary file
    width, height = map(int, sys.argv[1:3])
    try:
        drawn = svg2png(bytestring=sys.stdin.buffer.read(), output_width=width, output_height=height, unsafe=False)
    except Exception:
        # The boundary to a parser fed by strangers: XML, CSS and numbers can be broken in any way.
        return NOT_DRAWN
    sys.stdout.buffer.write(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
