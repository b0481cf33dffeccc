"""YAML 1.2 files as trees of text with line numbers; nothing is read as a number, so nothing passes through a float."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path as File
from typing import Protocol

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dpsql.errors import ConfigError

# The mistakes found in the configuration: collected, so that all are told at once.

Path = tuple[str | int, ...]
"""Where a value stands in a file: the keys and positions that lead to it."""


class LocatedFile(Protocol):
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

    def add(self, document: LocatedFile, path: Path, text: str) -> None:
        """Note a mistake at a place of a file."""
        place = f"{dotted_path(path)}: " if path else ""
        self.gathered.append(Mistake(document.file, document.line(path), _on_one_line(place + text)))
        self._places.add((document.file, path))

    def ignore(self, document: LocatedFile, path: Path) -> None:
        """Let nothing be told of a place, which belongs to a mistake beside it."""
        self._places.add((document.file, path))

    def note(self, document: LocatedFile, path: Path, text: str) -> None:
        """Note what is no mistake."""
        self.notes.append(Mistake(document.file, document.line(path), _on_one_line(f"{dotted_path(path)}: {text}")))

    def add_file(self, file: str, text: str, line: int = 1) -> None:
        """Note a mistake of a whole file."""
        self.gathered.append(Mistake(file, line, text))

    def touch(self, document: LocatedFile, path: Path) -> bool:
        """Return whether a mistake is known at `path` or below: what follows from it need not be told."""
        return any(file == document.file and place[: len(path)] == path for file, place in self._places)

    def settle(self) -> None:
        """Raise what was found, sorted by file and line.

        Raises:
            ConfigError: if anything was found; one line per mistake.
        """
        if not self.gathered:
            return
        # All mistakes at once: whoever writes a policy mends the file in one go, and need not start the server ten
        # times.
        ordered = sorted(set(self.gathered))
        number = "1 mistake" if len(ordered) == 1 else f"{len(ordered)} mistakes"
        raise ConfigError("\n".join(str(mistake) for mistake in ordered), hint=f"{number} in the configuration.")


def dotted_path(path: Path) -> str:
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


# The document: a file's tree of texts, and where each stands.

Tree = str | list["Tree"] | dict[str, "Tree"]

# YAML's aliases can make a file of a few hundred bytes unfold to billions of nodes.
_DEEPEST = 12
_LARGEST = 200_000
_CORE = "tag:yaml.org,2002:"
_OPENED, _CLOSED = re.compile(r"[A-Za-z ]+\(\d+"), re.compile(r"\d+\)")
"""The two halves of a type with a length: numeric(10, 2)."""
_GLUED = re.compile(r"([A-Za-z_][\w-]*):(\S+)")
"""A key whose value begins at once, inside of braces: {type:smallint}."""
_NO_SPACE = re.compile(r"[A-Za-z_][\w-]*:[^\s/]")
"""A key whose value begins at once, which YAML takes for one text."""
# max_rows: 1.000 would be one row to YAML, and a thousand to many of those who write it.
_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d00")
"""A number that many take for thousands."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its tree, and the line of every value."""

    file: str
    root: Mapping[str, Tree]
    lines: Mapping[Path, int]
    hidden: frozenset[Path] = frozenset()
    """Values that came from the environment: messages do not repeat them."""

    def line(self, path: Path) -> int:
        """Return the line of the value at `path`, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def has(self, path: Path) -> bool:
        """Return whether the file has something at `path`, right or wrong."""
        return path in self.lines


@dataclass(frozen=True, slots=True)
class Span:
    """Where a value stands in a text: characters from `start` up to `end`."""

    start: int
    end: int
    in_braces: bool
    """Whether it is a mapping within braces."""
    first: tuple[int, int] | None = None
    """Of a mapping with keys: where the first stands, and in which column."""


def spans_of(text: str) -> Mapping[Path, Span]:
    """Return where the values stand in the text of a file that can be read."""
    spans: dict[Path, Span] = {}

    def walk(node: Node, path: Path) -> None:
        keys = node.value if isinstance(node, MappingNode) else ()
        first = (keys[0][0].start_mark.index, keys[0][0].start_mark.column) if keys else None
        in_braces = isinstance(node, MappingNode) and bool(node.flow_style)
        # An alias is walked each time that it stands there, and a key that stands twice keeps its first place.
        spans.setdefault(path, Span(node.start_mark.index, node.end_mark.index, in_braces, first))
        for key, value in keys:
            if len(path) < _DEEPEST:
                walk(value, (*path, str(key.value)))

    walk(YAML(typ="safe", pure=True).compose(text), ())
    return spans


def read_document(location: File, name: str, mistakes: Mistakes) -> Document | None:
    """Read a file that holds one mapping; note its mistakes under `name`, None if it is unusable."""
    try:
        # Some editors begin a file with a byte order mark, which is no part of the first key.
        text = location.read_bytes().decode("utf-8-sig")
    except OSError as failure:
        mistakes.add_file(name, f"can't be read: {failure.strerror}")
        return None
    except UnicodeDecodeError as failure:
        mistakes.add_file(name, f"is not UTF-8 text: byte {failure.start} is wrong")
        return None
    return parse_document(text, name, mistakes)


def parse_document(text: str, name: str, mistakes: Mistakes) -> Document | None:
    """Read the text of a file that holds one mapping; see `read_document`."""
    try:
        # Composed and not constructed, so that values are texts with their lines: YAML would make a float of 0.1 and false of
        # no.
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as failure:
        mistakes.add_file(name, *_unreadable(failure, text.splitlines()))
        return None
    except YAMLError:
        mistakes.add_file(name, "is not YAML text: it has control characters")
        return None
    except RecursionError:
        mistakes.add_file(name, "is nested too deeply")
        return None
    if node is None or (isinstance(node, ScalarNode) and not node.value):
        mistakes.add_file(name, "is empty")
        return None
    return _Walk(name, mistakes).document(node)


def _unreadable(failure: MarkedYAMLError, lines: Sequence[str]) -> tuple[str, int]:
    """Return what is wrong with a text that is no YAML, and in which line."""
    mark = failure.problem_mark or failure.context_mark
    line = mark.line if mark else 0
    begun = failure.context_mark
    if "expected ':'" in str(failure.problem) and begun is not None:  # which is noticed in the next line only
        line = begun.line
    shown = lines[line].strip() if line < len(lines) else ""
    if _NO_SPACE.match(shown):
        key, _, value = shown.partition(":")
        return f'is not YAML: "{key}:" needs a space after it: {key}: {value.split(" ")[0]}', line + 1
    if "'\\t'" in str(failure.problem):
        return "is not YAML: there is a tab, where YAML takes spaces", line + 1
    return f"is not YAML: {failure.problem}", line + 1


@dataclass(slots=True)
class _Walk:
    """The walk from YAML nodes to a tree of text; acts as the document while that is not there yet."""

    file: str
    mistakes: Mistakes
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        return self.lines.get(path, 1)

    def document(self, node: Node) -> Document | None:
        root = self._tree(node, ())
        if isinstance(root, dict):
            return Document(self.file, root, self.lines)
        self.mistakes.add_file(self.file, "must be a mapping (key: value)", node.start_mark.line + 1)
        return None

    def _tree(self, node: Node, path: Path) -> Tree | None:
        """Turn a node into text, lists and mappings; None if it says nothing."""
        # The line of a key was noted before: its value may begin further down.
        self.lines.setdefault(path, node.start_mark.line + 1)
        # Aliases may repeat or even contain themselves: the two limits make the walk end.
        if len(path) > _DEEPEST or len(self.lines) > _LARGEST:
            self.mistakes.add(self, path[:2], "is nested too deeply or too large")
            return None
        if not str(node.tag).startswith(_CORE):
            self.mistakes.add(self, path, f"has the tag {node.tag}; tags are not allowed")
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            items = [self._tree(item, (*path, at)) for at, item in enumerate(node.value)]
            return [item for item in items if item is not None]
        # What YAML reads as null: the word, ~, and nothing behind the colon.
        if node.tag == f"{_CORE}null":
            self.mistakes.add(self, path, "has no value; give one, or take the line out (NULL is never a value)")
            return None
        if isinstance(node, ScalarNode) and node.style is None and _GROUPED.fullmatch(str(node.value)):
            number = str(node.value)
            written = f"{number} is {number.rstrip('0').rstrip('.')}"
            self.mistakes.note(self, path, f"{written}: the point is no separator of thousands, which is _")
        return str(node.value)

    def _mapping(self, node: MappingNode, path: Path) -> Tree:
        tree: dict[str, Tree] = {}
        for place, value in self._with_commas(node, path):
            meant = (
                f'it must be in quotes: "{value}"'
                if "(" in value
                else f"it must be {value.replace(',', '.')}, with a point"
            )
            self.mistakes.add(self, place, f'is "{value}"; {meant}')
        for key, value in node.value:
            place = (*path, str(key.value))
            # What was told already: both halves of a number with a comma, or a key that had a mistake and stands here again.
            if self.mistakes.touch(self, place) and place in self.lines:
                continue
            if not isinstance(key, ScalarNode):
                self.mistakes.add(self, path, "a key must be plain text")
                continue
            if place in self.lines:
                first = self.lines[place]
                self.lines[place] = key.start_mark.line + 1
                self.mistakes.add(self, place, f"is given twice, first in line {first}")
                continue
            self.lines[place] = key.start_mark.line + 1
            glued = _GLUED.fullmatch(str(key.value))
            if glued and value.tag == f"{_CORE}null":
                tree[glued[1]] = glued[2]  # what is meant, so that nothing else is told of it
                self.lines.setdefault((*path, glued[1]), key.start_mark.line + 1)
                self.mistakes.add(self, (*path, glued[1]), f'"{glued[1]}:" needs a space after it')
                continue
            item = self._tree(value, place)
            if item is not None:
                tree[str(key.value)] = item
        return tree

    def _with_commas(self, node: MappingNode, path: Path) -> Iterator[tuple[Path, str]]:
        """Yield values that a comma ends, so that the rest is a key to YAML: {epsilon: 0,5} and {type: numeric(10, 2)}."""
        for (key, value), (after, nothing) in pairwise(node.value):
            if not (isinstance(after, ScalarNode) and isinstance(value, ScalarNode) and nothing.tag == f"{_CORE}null"):
                continue
            first, rest = str(value.value), str(after.value)
            between = after.start_mark.index - value.end_mark.index - 1
            number = first.isdigit() and rest.isdigit() and between == 0
            if number or (_OPENED.fullmatch(first) and _CLOSED.fullmatch(rest)):
                place = (*path, str(key.value))
                for part in (place, (*path, rest)):
                    self.lines.setdefault(part, key.start_mark.line + 1)
                self.mistakes.ignore(self, (*path, rest))
                yield place, f"{first},{' ' * between}{rest}"


# `${NAME}` and `${file:path}` in the configuration: values from the environment and from files.

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


def expand(document: Document, base: File, environment: Mapping[str, str], mistakes: Mistakes) -> Document:
    """Fill in the placeholders of a document; what can't be found is noted and left out."""
    walk = _Expansion(document, base, environment, mistakes)
    root = walk.filled(dict(document.root), ())
    return replace(document, root=root if isinstance(root, dict) else {}, hidden=frozenset(walk.hidden))


@dataclass(slots=True)
class _Expansion:
    """One walk over a document."""

    document: Document
    base: File
    environment: Mapping[str, str]
    mistakes: Mistakes
    hidden: set[Path] = field(default_factory=set)

    def filled(self, tree: Tree, path: Path) -> Tree | None:
        if isinstance(tree, dict):
            items = {key: self.filled(item, (*path, key)) for key, item in tree.items()}
            return {key: item for key, item in items.items() if item is not None}
        if isinstance(tree, list):
            entries = [self.filled(item, (*path, at)) for at, item in enumerate(tree)]
            return [entry for entry in entries if entry is not None]
        if "${" not in tree:
            return tree
        # A DSN with its password must not stand in an error message because something else in it is wrong.
        self.hidden.add(path)
        try:
            # Once only: what a variable or a file holds is a value, also if it has ${…} in it.
            return _PLACEHOLDER.sub(lambda match: self._value(match[1]), tree)
        except ValueError as failure:
            self.mistakes.add(self.document, path, str(failure))
            return None

    def _value(self, name: str) -> str:
        """Return what a placeholder stands for; raises `ValueError` if it stands for nothing."""
        if not name.startswith("file:"):
            if name not in self.environment:
                raise ValueError(f"needs the environment variable {name}, which is not set")
            return self.environment[name]
        place = self.base / name.removeprefix("file:")
        try:
            # Files of secrets end with a line feed when an editor has written them.
            return place.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise ValueError(f"needs the file {place}, which can't be read") from None
