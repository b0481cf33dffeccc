"""How far a copy has got: which table of how many, and how large the file has become, told every few seconds."""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Tell = Callable[[str], None]
_T = TypeVar("_T")
_EVERY = 5.0
"""Seconds between two lines."""


class Progress:
    """Tells of a copy that is being written to `file`; never how many rows there are."""

    def __init__(self, file: Path, tell: Tell) -> None:
        self._file, self._tell = file, tell
        self._doing, self._came = "", 0

    def tell(self, line: str) -> None:
        """Tell the operator something else."""
        self._tell(line)

    def came(self, letters: int) -> None:
        """Count what has come from the records, where the file grows by it only later."""
        self._came += letters

    def of(self, tables: Collection[tuple[str, _T]]) -> Iterator[tuple[str, _T]]:
        """Yield tables with what belongs to them, and tell of each."""
        for number, (name, item) in enumerate(tables, 1):
            self._doing = f"snapshot: table {name}, {number} of {len(tables)}"
            self._tell(self._doing)
            yield name, item

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell again and again, until the block ends."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_EVERY):
                came = f"{self._came / 2**20:,.0f} MiB read, " if self._came else ""
                self._tell(f"{self._doing}; {came}{self._size() / 2**20:,.0f} MiB written")

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except OSError:
            return 0
