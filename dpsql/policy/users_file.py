"""The users in the text of a configuration, changed where they stand: all else, comments too, stays as it was written."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from dpsql.errors import ConfigError
from dpsql.policy.config import User
from dpsql.policy.load.document import Document, Mistakes, Span, Tree, expand, parse_document, spans_of
from dpsql.policy.load.shapes import ConfigShape, read_shape

_USERS = "users"
_HINT = "Change it by hand, and run dpsql check."


@dataclass(frozen=True, slots=True)
class WrittenUser:
    """A user as the file has it."""

    role: str
    password: str
    disabled: bool
    ldap: bool
    """Whether the directory knows the password."""
    epsilon: str | None


def users_in(text: str) -> Mapping[str, WrittenUser]:
    """Return the users of a configuration, those included who may not log in.

    Raises:
        ConfigError: it can't be read.
    """
    users = _tree(text).get(_USERS, {})
    if not isinstance(users, dict):
        return {}
    return {name: _written(user) for name, user in users.items() if isinstance(user, dict)}


def with_user(text: str, name: str, line: str, user: Mapping[str, str]) -> str:
    """Return the text with one more user: `line` is how it is written, `user` what it says.

    Raises:
        ConfigError: the file is not written so that this can be done.
    """
    span = spans_of(text).get((_USERS,))
    # nothing             →  users: and the line, at the end of the file
    # users: {}           →  users: and the line below it
    # users: {ann: {…}}   →  users: {ann: {…}, line}
    # users: in lines     →  the line before the first of them, in its column
    match span:
        case None:
            new = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{_USERS}:\n  {line}\n"
        case Span(start, end, _, None):
            rest = text[end:] if text[start:end] in ("{}", "") else ""
            new = f"{text[:start].rstrip(' ')}\n  {line}{rest}"
        case Span(end=end, in_braces=True):
            new = f"{text[: end - 1].rstrip()}, {line}{text[end - 1 :]}"
        case Span(first=(at, column)):
            new = f"{text[:at]}{line}\n{' ' * column}{text[at:]}"
        case _:
            new = text
    users = _tree(text).get(_USERS, {})
    return _checked(text, new, {**(users if isinstance(users, dict) else {}), name: dict(user)})


def with_key(text: str, name: str, key: str, value: str, written: str) -> str:
    """Return the text with a user's key set to a value, which is `written` in some way.

    Raises:
        ConfigError: there is no such user, or the file is not written so that this can be done.
    """
    spans, users = spans_of(text), _tree(text).get(_USERS, {})
    user = users.get(name) if isinstance(users, dict) else None
    if not isinstance(users, dict) or not isinstance(user, dict):
        user_names = ", ".join(users) if isinstance(users, dict) else ""
        raise ConfigError(f'there is no user "{name}"', hint=f"Users: {user_names or 'none'}.")
    there, around = spans.get((_USERS, name, key)), spans.get((_USERS, name))
    if there is not None:
        new = f"{text[: there.start]}{written}{text[there.end :]}"
    elif around is not None and around.first is not None:
        at, column = around.first
        behind = ", " if around.in_braces else f"\n{' ' * column}"
        new = f"{text[:at]}{key}: {written}{behind}{text[at:]}"
    else:
        new = text
    return _checked(text, new, {**users, name: {**user, key: value}})


def amount(text: str) -> Fraction:
    """Read how much ε a user may spend.

    Raises:
        ConfigError: it is no such amount.
    """
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if number <= 0:
        raise ConfigError(f"--epsilon {text} is no amount", hint="It has to be more than 0.")
    return number


def _written(user: Mapping[str, Tree]) -> WrittenUser:
    epsilon = user.get("epsilon")
    return WrittenUser(
        str(user.get("role", "")),
        str(user.get("password", "")),
        str(user.get("disabled", "false")).lower() != "false",
        str(user.get("ldap", "false")).lower() != "false",
        None if epsilon is None else str(epsilon),
    )


def _tree(text: str) -> Mapping[str, Tree]:
    mistakes = Mistakes()
    document = parse_document(text, "the configuration", mistakes)
    mistakes.settle()
    return {} if document is None else document.root


def _checked(old: str, new: str, users: Mapping[str, Tree]) -> str:
    """Return the new text if it says what it should, and of all else what the old one said."""
    mistakes = Mistakes()
    document = parse_document(new, "the configuration", mistakes)
    if document is None or mistakes.gathered or document.root != {**_tree(old), _USERS: users}:
        raise ConfigError("users: is written in a way that can't be changed here", hint=_HINT)
    return new


# The users of a configuration that may have mistakes elsewhere: a mistake must not keep anybody in who was removed.
#
# Where the file is no YAML as a whole, its block `users:` is read by itself.

_BLOCK = re.compile(r"^users:.*\n?(?:(?:[ \t].*|#.*|)(?:\n|\Z))*", re.MULTILINE)
"""From the key to the next line that begins with something else than a space or a comment."""


def remaining_users(
    path: Path, served: Mapping[str, User], roles: Collection[str], environment: Mapping[str, str] = os.environ
) -> dict[str, User] | None:
    """Return those of the users `served` whom the file still has, with the password and the role that it gives them.

    A user whose new role the file has and is not among `roles`, those that are served, is left out. A part of a user's
    line that can't be read leaves that user as before; None if the users can't be read at all.
    """
    document = _document(path)
    if document is None or not isinstance(document.root.get("users"), dict):
        return None
    written, declared = document.root["users"], document.root.get("roles", {})
    assert isinstance(written, dict)
    # Mistakes are not kept: whatever is right in the file counts, and it decides who may stay.
    given = read_shape(ConfigShape, expand(document, path.parent, environment, Mistakes()), Mistakes()).users
    left: dict[str, User] = {}
    for name, user in served.items():
        shape = given.get(name)
        named = None if shape is None else shape.role
        role = user.role if named is None or named not in {*roles, *declared} else named
        password = user.verifier if shape is None or (shape.password is None and not shape.ldap) else shape.password
        if name in written and not _is_disabled(written[name]) and role in roles:
            left[name] = replace(user, role=role, verifier=password or "")
    return left


def _is_disabled(user: Tree) -> bool:
    """Return whether a user may not log in: also where what is said of it is neither true nor false."""
    return isinstance(user, dict) and user.get("disabled", "false") != "false"


def _document(path: Path) -> Document | None:
    """Read the file, or what there is of its users."""
    try:
        # Bytes that are no UTF-8 must not keep anybody in who was removed.
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        return None
    whole = parse_document(text, str(path), Mistakes())
    if whole is not None:
        return whole
    blocks = _BLOCK.findall(text)
    return parse_document(blocks[0], str(path), Mistakes()) if len(blocks) == 1 else None
