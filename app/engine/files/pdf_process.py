"""The text of a PDF, read in a process of its own: a hostile one can keep a parser busy for ever. Run as `python -m`.

The PDF comes on stdin, the numbers of pages and characters that are wanted in the arguments. What leaves on stdout is a
line of JSON for the document, then one for each page.
"""

import json
import resource
import sys
from io import BytesIO

SECONDS = 10
"""Of the processor."""
BYTES = 1_000_000_000
"""Of memory."""


def main() -> None:
    """Say what the PDF on stdin holds; killed by the system at the limits."""
    for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, BYTES), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    pages, characters = map(int, sys.argv[1:3])
    data = sys.stdin.buffer.read()
    try:
        _tell(data, pages, characters)
    except Exception as error:  # whatever a damaged file leads the parser to
        _say({"why": f"is damaged ({type(error).__name__})"})


def _tell(data: bytes, pages: int, characters: int) -> None:
    try:
        import pypdf  # in this process only
    except ImportError:
        _say({"why": "cannot be read: the package “pypdf” is not installed"})
        return
    document = pypdf.PdfReader(BytesIO(data))
    if document.is_encrypted and not document.decrypt(""):
        _say({"why": "is encrypted"})
        return
    count = len(document.pages)
    _say({"pages": count})
    for number in range(min(count, pages)):
        text = document.pages[number].extract_text()[:characters]
        characters -= len(text)
        _say({"text": text})
        if characters <= 0:
            return


def _say(fact: dict[str, object]) -> None:
    print(json.dumps(fact), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
