"""`${NAME}` and `${file:path}` in the configuration: values from the environment and from files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as File

from dpsql.policy.load.document import Document, Tree
from dpsql.policy.load.mistakes import Mistakes, Path

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
        self.hidden.add(path)
        try:
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
            return place.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise ValueError(f"needs the file {place}, which can't be read") from None
