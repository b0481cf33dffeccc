"""The story of the page Explore as one file that a browser opens without any server: made-up and public rows only."""

import re

from markupsafe import Markup

from dpsql.web.curves import Json
from dpsql.web.explore import story_page
from dpsql.web.page_context import HERE, template_of
from dpsql.web.samples import story_data

_SCRIPTS = ("dom", "chart", "noise", "picture", "story", "yours", "explore")
"""In the order in which they need each other."""
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
"""A content security policy under which a browser fetches and sends nothing."""
_IMPORT, _EXPORT = re.compile(r"^import .*?;\n", re.MULTILINE), re.compile(r"^export ", re.MULTILINE)


def story_file() -> str:
    """Return the page, with its scripts, its style and its data inside."""
    inside: Json = {
        "policy": _POLICY,
        "style": Markup((HERE / "static" / "style.css").read_text(encoding="utf-8")),  # noqa: S704  a file of ours
        "script": Markup(_joined()),  # noqa: S704  files of ours
        "story": story_data(),
    }
    return template_of("explore.html").render(inside=inside, visitor=None, dataset="synthetic data", story=story_page())


def _joined() -> str:
    """Return the modules as one: what they share by name they see, once their imports and exports are taken out."""
    texts = ((HERE / "static" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
