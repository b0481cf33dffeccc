"""The form of a measurement: what it is without its constants, so that one trial counts for all that differ in them.

SELECT count(*) … WHERE s0."fare" > 20.5e0  →  SELECT count(*) … WHERE s0."fare" > 0
"""

import hashlib
import re

from dpsql.privacy.measurement.plan import Measured
from dpsql.privacy.measurement.sums import Sums

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
