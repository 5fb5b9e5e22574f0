"""What the code of a package is now, for those whose installer wrote down no hashes."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_FILES, MOST_BYTES = 5_000, 50_000_000
"""Of one package; a larger one cannot be enabled."""


class UnknownCode(Exception):
    """The code of a plugin cannot be determined; the text says why."""


def digest_of_code(place: Path, references: Iterable[str]) -> str:
    """One digest of the files of all packages and modules that these entry points (`module:object`) are in, at this
    place; UnknownCode if they are missing, cannot be read, or are too many."""
    digest = hashlib.sha256()
    room = MOST_BYTES
    for name in sorted({reference.partition(":")[0].split(".")[0].strip() for reference in references}):
        count = 0
        for path in _files(place, name):
            count += 1
            try:
                room -= path.stat().st_size
                if count > MOST_FILES or room < 0:
                    raise UnknownCode(f"its installer wrote down no hashes, and {name} is too large to be looked at")
                content = path.read_bytes()
            except OSError as error:
                raise UnknownCode(f"{path} cannot be read: {error.strerror}") from error
            digest.update(f"{path.relative_to(place)}\0{len(content)}\0".encode(errors="surrogateescape") + content)
        if not count:
            raise UnknownCode(f"its installer wrote down no hashes, and {name} is not in {place}")
    return digest.hexdigest()


def _files(place: Path, name: str) -> Iterator[Path]:
    """Plain files of the package or module of this name, in their order; not the bytecode that Python makes of them."""
    if (place / f"{name}.py").is_file():
        yield place / f"{name}.py"
    for folder, folders, names in os.walk(place / name):
        folders[:] = sorted(one for one in folders if one != "__pycache__")
        yield from (path for one in sorted(names) if (path := Path(folder) / one).is_file())
