"""The users of a configuration that may have mistakes elsewhere: a mistake must not keep anybody in who was removed.

Where the file is no YAML as a whole, its block `users:` is read by itself.
"""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from dpsql.policy.config import User
from dpsql.policy.load.config_shape import ConfigShape
from dpsql.policy.load.document import Document, Tree, parse_document
from dpsql.policy.load.expand import expand
from dpsql.policy.load.mistakes import Mistakes
from dpsql.policy.load.shaped import shaped

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
    given = shaped(ConfigShape, expand(document, path.parent, environment, Mistakes()), Mistakes()).users
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
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        return None
    whole = parse_document(text, str(path), Mistakes())
    if whole is not None:
        return whole
    blocks = _BLOCK.findall(text)
    return parse_document(blocks[0], str(path), Mistakes()) if len(blocks) == 1 else None
