"""Our own files, sent compressed: they are the same for everybody.

Pages are not compressed: what they hold of a visitor's secrets could be guessed by the lengths of answers (BREACH).
"""

import gzip
import os
from functools import cache
from mimetypes import guess_type
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

_TEXTS = frozenset({".js", ".css", ".svg", ".txt"})


class PackedFiles(StaticFiles):
    """Static files, of which texts are compressed once."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file, compressed for whoever takes it so."""
        asked = Headers(scope=scope)
        if "gzip" not in asked.get("accept-encoding", "") or Path(full_path).suffix not in _TEXTS:
            response = super().file_response(full_path, stat_result, scope, status_code)
            response.headers["Vary"] = "Accept-Encoding"
            return response
        headers = {
            "Content-Encoding": "gzip",
            "ETag": f'"{stat_result.st_mtime_ns:x}-{stat_result.st_size:x}-gzip"',
            "Vary": "Accept-Encoding",
        }
        kind, _ = guess_type(full_path)
        packed = Response(compressed(Path(full_path), stat_result.st_mtime_ns), status_code, headers, kind)
        return NotModifiedResponse(packed.headers) if self.is_not_modified(packed.headers, asked) else packed


@cache
def compressed(path: Path, _: int) -> bytes:
    """Return a file's contents, compressed; the number is when it was changed last."""
    return gzip.compress(path.read_bytes(), mtime=0)


def compress_all(directory: Path) -> None:
    """Compress what will be asked for before anybody does."""
    for path in directory.rglob("*"):
        if path.suffix in _TEXTS:
            compressed(path, path.stat().st_mtime_ns)
