"""The forms of statements that have passed their trial, with the sums that the engine made of synthetic people.

A file keeps a line each: a hash of the form, the engine's edition, the policy and dpsql's version, and behind it the rows. It
holds nothing of records. Where the file can't be read or written, statements are tried again.
"""

import base64
import binascii
import hashlib
import json
import logging
import os
import re
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path

from dpsql.privacy.measurement.plan import Measured
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import EngineRow
from dpsql.private_files import make_directory, open_private

_LOG = logging.getLogger("dpsql.trial")
_MOST = 200_000
"""Forms in memory; then it begins anew."""
_MOST_BYTES = 64 * 2**20
"""Bytes of a file; then it begins anew, too. A line has some five hundred."""
_LONGEST = 2**16
"""Bytes of the rows of a line: those of more are not kept."""
_DIGITS = 64
"""Digits of a hash."""


class TriedForms:
    """The forms that have passed, for any number of threads; `file` is None where it is kept in memory alone."""

    def __init__(self, file: Path | None) -> None:
        """Read what has passed before."""
        self._file, self._lock, self._read = file, threading.Lock(), 0
        self._passed: dict[str, bytes] = {}
        """By form the rows, as they are written; empty where there are none."""
        self._look()

    def __contains__(self, form: str) -> bool:
        """Return whether a form has passed, in this process or in another one."""
        with self._lock:
            if form not in self._passed:
                self._look()
            return form in self._passed

    def rows(self, form: str) -> Sequence[EngineRow]:
        """Return what the engine has made of synthetic people; nothing where that is not kept."""
        with self._lock:
            written = self._passed.get(form, b"")
        try:
            return json.loads(zlib.decompress(base64.b64decode(written))) if written else ()
        except (ValueError, binascii.Error, zlib.error):
            return ()

    def add(self, form: str, rows: Sequence[EngineRow] = ()) -> None:
        """Keep a form that has passed, with what the engine made of synthetic people."""
        written = (
            base64.b64encode(zlib.compress(json.dumps([[*row] for row in rows], default=str).encode())) if rows else b""
        )
        if len(written) > _LONGEST:
            written = b""
        with self._lock:
            if len(self._passed) >= _MOST:  # a user who may explain for nothing could fill the memory
                self._passed.clear()
            self._passed[form] = written
            if self._file is None:
                return
            try:
                make_directory(self._file.parent)
                opened = open_private(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                try:
                    # Others may have read that far: they see by the smaller size that it has begun anew.
                    if os.fstat(opened).st_size >= _MOST_BYTES:
                        os.ftruncate(opened, 0)
                    os.write(opened, form.encode() + (b" " + written if written else b"") + b"\n")
                finally:
                    os.close(opened)
            except OSError as failed:
                _LOG.warning("what passed its trial can't be kept, and will be tried again: %s", failed)

    def _look(self) -> None:
        """Read what was added since; most are asked for again and again, and were not added."""
        if self._file is None:
            return
        try:
            if self._file.stat().st_size == self._read:
                return
            opened = open_private(self._file, os.O_RDONLY)
            try:
                size = os.fstat(opened).st_size
                if size < self._read:  # begun anew
                    self._read = 0
                more = os.pread(opened, size - self._read, self._read)
            finally:
                os.close(opened)
        except FileNotFoundError:
            return
        except OSError as failed:
            _LOG.warning("what passed its trial can't be read: %s", failed)
            return
        # Another process may be in the middle of a line, which is read the next time.
        whole = more[: more.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            form, _, written = line.partition(b" ")
            if len(form) == _DIGITS:
                self._passed[form.decode("ascii", "replace")] = written


# The form of a measurement: what it is without its constants, so that one trial counts for all that differ in them.
#
# SELECT count(*) … WHERE s0."fare" > 20.5e0  →  SELECT count(*) … WHERE s0."fare" > 0

_NUMBER = r"(?<![\w\"])[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?(?![\w\"])"
_COMPARED = r"(?<=[=<>] )'(?:[^']|'')*'"
_CONSTANT = re.compile(rf'("(?:[^"]|"")*")|{_COMPARED}|{_NUMBER}')
_LIST = re.compile(r"\(?0(?:, 0)+\)?")


def form_of(measurement: Measured, sql: str) -> str:
    """Return a hash of a measurement's form."""
    plain = _LIST.sub("0", _CONSTANT.sub(lambda match: match[1] or "0", sql))
    how: tuple[object, ...] = (type(measurement).__name__, measurement.bound.form.name)
    if isinstance(measurement, Sums):
        blocks = [(block.norm.name, len(block.places)) for block in measurement.blocks]
        how = (*how, measurement.mechanism, measurement.distinct.name, blocks, bool(measurement.delta))
    return hashlib.sha256(f"{how}\n{plain}".encode()).hexdigest()
