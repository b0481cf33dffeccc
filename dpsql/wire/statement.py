"""What a statement is to the wire: private, prepared or executed by name, refused here, or (None) the shadow's alone.

Only the first words are looked at. Whatever is misread here meets the shadow's tripwire or its privileges.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dpsql.errors import AccessDenied, DpsqlError, Unsupported
from dpsql.question import Question

_NAME_LIMIT = 63  # bytes of an identifier that PostgreSQL keeps
# Each character can be read in one way only: a text that does not match must not be tried in all the others.
_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*")
_FIRST = re.compile(_BLANK.pattern + r"(?:prepare|execute|listen|notify|alter|create|set)\b", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"]|"")*"|[^\W\d][\w$]*|.', re.DOTALL)
_MANY = 12  # words that are looked at
_ON = {"on", "true", "yes", "1", "'on'", "'true'", "default"}


@dataclass(frozen=True, slots=True)
class Private:
    """A statement that the gateway answers."""

    question: Question


@dataclass(frozen=True, slots=True)
class Prepare:
    """`PREPARE name AS inner`."""

    name: str
    inner: str


@dataclass(frozen=True, slots=True)
class ExecuteNamed:
    """`EXECUTE name (arguments)`."""

    text: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Denied:
    """A statement that fails when it is run."""

    error: DpsqlError


Statement = Private | Prepare | ExecuteNamed | Denied


def by_first_words(text: str) -> Prepare | ExecuteNamed | Denied | None:
    """Return what the first words of `text` say; None if they don't decide anything."""
    if _FIRST.match(text) is None:
        return None
    tokens = list(_tokens(text))
    words = [token.lower() for token, _ in tokens]
    match words:
        case ["prepare", "transaction", *_]:
            return None
        case ["prepare", _, *_]:
            return _prepare(text, tokens)
        case ["execute", _, *_]:
            return _execute(text, tokens)
        case ["listen" | "notify" as word, *_]:
            return Denied(Unsupported(f"{word.upper()} is not supported"))
        case ["alter", "role" | "user" | "group" | "database" | "system" as word, *_]:
            return Denied(AccessDenied(f"permission denied to alter a {word}"))
        case ["create", *rest]:
            return _create(rest)
        case ["set", *rest]:
            return _set([word for word in rest if word not in ("session", "local")])
    return None


def _create(words: list[str]) -> Denied | None:
    plain = [
        word for word in words if word not in ("or", "replace", "local", "global", "temp", "temporary", "recursive")
    ]
    if plain[:1] in (["view"], ["rule"]):
        return Denied(AccessDenied(f"permission denied to create a {plain[0]}", hint="Create a temporary table."))
    return None


def _set(words: list[str]) -> Denied | None:
    """Refuse the settings that change how literals are read."""
    name = words[0].strip('"') if words else ""
    if name not in ("standard_conforming_strings", "array_nulls") or (len(words) > 2 and _is_on(words[2:])):
        return None
    return Denied(Unsupported(f'setting "{name}" can\'t be changed'))


def _is_on(words: list[str]) -> bool:
    return "".join(words).rstrip(";") in _ON


def _prepare(text: str, tokens: list[tuple[str, int]]) -> Prepare | None:
    name = _name(tokens[1][0])
    at = _after_parentheses(text, tokens[1][1])
    found = re.compile(r"as\b", re.IGNORECASE).match(text, _skip_blank(text, at))
    return None if found is None else Prepare(name, text[found.end() :])


def _execute(text: str, tokens: list[tuple[str, int]]) -> ExecuteNamed:
    name, start = _name(tokens[1][0]), tokens[1][1]
    inside = text[start:].strip().removesuffix(";").strip()
    arguments = inside[1:-1] if inside.startswith("(") and inside.endswith(")") else ""
    return ExecuteNamed(text, name, arguments)


def _after_parentheses(text: str, at: int) -> int:
    """Return where a list of types in parentheses ends, if one begins at `at`."""
    at = _skip_blank(text, at)
    if text[at : at + 1] != "(":
        return at
    depth = 0
    for match in re.compile(r'"(?:[^"]|"")*"|[()]').finditer(text, at):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return at


def _name(token: str) -> str:
    """Return an identifier as PostgreSQL keeps it."""
    name = token[1:-1].replace('""', '"') if token.startswith('"') else token.lower()
    return name.encode()[:_NAME_LIMIT].decode(errors="ignore")


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Yield the first words with where each ends."""
    at = 0
    for _ in range(_MANY):
        found = _TOKEN.match(text, _skip_blank(text, at))
        if found is None:
            return
        at = found.end()
        yield found[0], at
