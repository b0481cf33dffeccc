"""What a package index shows of README: a hook of hatchling, run when a wheel or an archive of the sources is built.

An index shows README where none of the files beside it are. A link to one of them becomes its words and the file's name, as
in `the guarantee (docs/guarantee.md)`. A picture is left out, or becomes the words that stand for it within a link. Links to
addresses and to headings stay, and so does what stands in a fenced block.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)\s]*\))*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)\s]*\)\n\n?", re.MULTILINE)
"""One that stands by itself."""
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_STAYS = re.compile(r"https?://|mailto:|#")


class LongDescription(MetadataHookInterface):
    """Gives the project its `readme`."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add README, as an index shows it."""
        whole = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": shown(whole)}


def shown(page: str) -> str:
    """Return a page of Markdown without links and pictures that need the files beside it."""
    parts = _FENCED.split(page)
    return "".join(part if place % 2 else _LINK.sub(_named, _PICTURE.sub("", part)) for place, part in enumerate(parts))


def _named(match: re.Match[str]) -> str:
    picture, words, link = match.groups()
    words = _LINK.sub(_named, words)
    if _STAYS.match(link):
        return f"{picture}[{words}]({link})"
    if picture:
        return words
    file = link.partition("#")[0]
    return words if words == file else f"{words} ({file})"
