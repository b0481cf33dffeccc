"""The product's files as Python reads them, which several tests look at and no collection of tests waits for."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "dpsql"


@cache
def files() -> Mapping[str, Path]:
    """Return every file by its name below the package: `policy.load.document`; a package by its own."""
    names = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "dpsql"] = file
    return names


@cache
def texts() -> Mapping[str, str]:
    """Return what stands in every file."""
    return {name: file.read_text(encoding="utf-8") for name, file in files().items()}


@cache
def trees() -> Mapping[str, ast.Module]:
    """Return every file as a tree, which takes seconds in all."""
    return {name: ast.parse(text) for name, text in texts().items()}
