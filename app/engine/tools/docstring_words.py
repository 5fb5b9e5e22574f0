"""What a docstring says, in any of the usual styles."""

from typing import NamedTuple


class DocstringWords(NamedTuple):
    """A docstring in its parts."""

    description: str
    arguments: dict[str, str]


def read_docstring(written: str) -> DocstringWords:
    """The descriptions of a function and of its arguments, by name."""
    import docstring_parser  # deferred: only where there are functions to read

    try:
        told = docstring_parser.parse(written)
    except docstring_parser.ParseError:
        return DocstringWords(written, {})
    parts = (told.short_description, told.long_description)
    arguments = {one.arg_name: one.description or "" for one in told.params}
    return DocstringWords("\n\n".join(part for part in parts if part), arguments)
