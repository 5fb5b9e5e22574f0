"""Files that complete a prompt, in a tree of 100,000: how long the walk takes, and the slowest key of all queries."""

import tempfile
from pathlib import Path
from time import perf_counter, process_time

from figures import table

from oi_tui.app.commands.file_index import find_files, walk_folder

FOLDERS, FILES = 1_000, 100
QUERIES = ("", "s", "sales.csv", "zzzz", "report_99", "rprt", "rep_1/da", "qx")


def make_tree(root: Path) -> None:
    """Folders two deep, with files in each."""
    for number in range(FOLDERS):
        folder = root / f"report_{number % 50}" / f"data_{number}"
        folder.mkdir(parents=True)
        for file in range(FILES):
            (folder / f"sales_{file}.csv").touch()
    (root / ".gitignore").write_text("*.pyc\nbuild/\n/dist\n*.log\n!keep.log\n")


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as root:
        make_tree(Path(root))
        started, used = perf_counter(), process_time()
        found = walk_folder(root)
        walk, cpu = perf_counter() - started, process_time() - used
        slowest = 0.0
        for query in QUERIES:
            for end in range(len(query) + 1):
                started = process_time()
                find_files(found, query[:end])
                slowest = max(slowest, process_time() - started)
    print(
        table(
            (f"a tree of {len(found.paths):,} entries", ""),
            [("walked", f"{walk:.2f} s, {cpu:.2f} s of CPU"), ("the slowest key", f"{slowest * 1000:.0f} ms of CPU")],
        )
    )


if __name__ == "__main__":
    main()
