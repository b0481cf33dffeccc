"""Names as YAML writes them."""

import json
import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
# Words that some readers of YAML take for booleans or nulls.
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_name(name: str) -> str:
    """Return a name for a YAML file: plain where it can only be read as itself."""
    plain = _PLAIN.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else json.dumps(name, ensure_ascii=False)
