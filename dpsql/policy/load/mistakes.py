"""The mistakes found in the configuration: collected, so that all are told at once."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.errors import ConfigError

Path = tuple[str | int, ...]
"""Where a value stands in a file: the keys and positions that lead to it."""


class Positioned(Protocol):
    """A file that knows the lines of its values."""

    @property
    def file(self) -> str:
        """The file's name as messages give it."""

    def line(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the nearest thing around it."""


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """One mistake; the text names the value and what is allowed."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


@dataclass(slots=True)
class Mistakes:
    """The mistakes that were found so far, and their places."""

    gathered: list[Mistake] = field(default_factory=list)
    notes: list[Mistake] = field(default_factory=list)
    """What is right and may be meant otherwise."""
    _places: set[tuple[str, Path]] = field(default_factory=set)

    def add(self, document: Positioned, path: Path, text: str) -> None:
        """Note a mistake at a place of a file."""
        place = f"{dotted(path)}: " if path else ""
        self.gathered.append(Mistake(document.file, document.line(path), _on_one_line(place + text)))
        self._places.add((document.file, path))

    def ignore(self, document: Positioned, path: Path) -> None:
        """Let nothing be told of a place, which belongs to a mistake beside it."""
        self._places.add((document.file, path))

    def note(self, document: Positioned, path: Path, text: str) -> None:
        """Note what is no mistake."""
        self.notes.append(Mistake(document.file, document.line(path), _on_one_line(f"{dotted(path)}: {text}")))

    def add_file(self, file: str, text: str, line: int = 1) -> None:
        """Note a mistake of a whole file."""
        self.gathered.append(Mistake(file, line, text))

    def touch(self, document: Positioned, path: Path) -> bool:
        """Return whether a mistake is known at `path` or below: what follows from it need not be told."""
        return any(file == document.file and place[: len(path)] == path for file, place in self._places)

    def settle(self) -> None:
        """Raise what was found, sorted by file and line.

        Raises:
            ConfigError: if anything was found; one line per mistake.
        """
        if not self.gathered:
            return
        ordered = sorted(set(self.gathered))
        number = "1 mistake" if len(ordered) == 1 else f"{len(ordered)} mistakes"
        raise ConfigError("\n".join(str(mistake) for mistake in ordered), hint=f"{number} in the configuration.")


def dotted(path: Path) -> str:
    """Write a path as people do: `columns.fare.bounds[1]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def _on_one_line(text: str) -> str:
    """Write control characters, which keys and values may hold, as escapes: one mistake is one line."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def suggestion(word: str, choices: Iterable[str]) -> str:
    """Return "; did you mean …?" if a known word is close, and what is allowed."""
    names = sorted(choices)
    close = difflib.get_close_matches(word, names, n=1) or [name for name in names if name.lower() == word.lower()]
    if not names:
        return "; none is declared"
    allowed = f"allowed: {', '.join(names)}"
    return f'; did you mean "{close[0]}"? {allowed}' if close else f"; {allowed}"
