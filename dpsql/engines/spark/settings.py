"""What every call to a Spark server has: settings of its session, a deadline, and causes of errors that quote no value."""

import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

SPARK_SETTINGS: Mapping[str, str] = {
    # In ANSI mode a cast, a quotient or a sum of one row's values can be an error, which would tell of it.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "true",
    # How literals and names are read.
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.integralDivide.returnBigint": "true",
    "spark.sql.groupByOrdinal": "true",
    # A date before the calendar's reform in a file would be an error.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    # Better an error than rows that are missing.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


def not_ours(settings: Mapping[str, str | None]) -> str | None:
    """Return the first setting of a session that is not ours."""
    pairs = ((name, settings.get(name)) for name in SPARK_SETTINGS)
    return next((f"{name} is {value}" for name, value in pairs if value != SPARK_SETTINGS[name]), None)


# How long calls to a Spark server may last, also of one that takes a call and never says anything.

_LONGEST_CALL = 600.0
"""Seconds for a call of which nobody says how long it may last: the files of a large table take a while to be listed."""
_UNTIL: ContextVar[float] = ContextVar("_UNTIL", default=math.inf)


@contextmanager
def answered_within(seconds: float) -> Iterator[None]:
    """Let what this thread asks of a server fail when it has not been answered after so many seconds in all."""
    token = _UNTIL.set(min(_UNTIL.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def seconds_left() -> float:
    """Return how long the next call may last."""
    return min(max(_UNTIL.get() - time.monotonic(), 0.0), _LONGEST_CALL)


# The causes of Spark's errors: its own words where no row was read, and then ours, since its own may quote a value.

_DETAILS = re.compile(r'details = "(.*?)"\n', re.DOTALL)
"""The words of gRPC, inside of its client's words around them."""
_KNOWN: Mapping[str, str] = {
    r"OutOfMemory|GC overhead|[Mm]emory limit|Resources exhausted": "out of memory",
    r"No space left|DiskErrorException": "a disk is full",
    r"FileNotFound|No such file|PATH_NOT_FOUND|NoSuchKey|NotFound: Object|does not exist": "a file is gone",
    r"Parquet error|is not a Parquet file|CANNOT_READ_FILE|FAILED_READ_FILE|Could not read footer": "a file can't be read",
    r"AccessDenied|AccessControlException|Permission denied|Forbidden|\b403\b": "the storage denies access",
    r"ExecutorLost|[Ee]xecutor \S+ (?:exited|lost)|lost task|FetchFailed": "an executor was lost",
    r"UnknownHost|Connection refused|ConnectException|timed out": "the cluster can't reach a server",
    r"larger than max|message larger|RESOURCE_EXHAUSTED|maxResultSize": "the answer is larger than the server sends",
    r"ARITHMETIC_OVERFLOW|overflow": "an overflow",
    r"SparkContext was shut down|SparkContext has been shutdown|stopped SparkContext": "the cluster was stopped",
}
"""By what a text has somewhere in it."""


def own_cause(error: Exception) -> str:
    """Return what an error says, in a line: for errors of connecting and binding, which no row can be in."""
    details = _DETAILS.search(str(error))
    text = details[1] if details else str(error)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "it does not say why")
    status = status_of(error)
    return f"{first} ({status})" if details and status else first


def safe_cause(error: Exception) -> str:
    """Return what an error is called, and what it is known to mean: nothing of its text, which may quote a value."""
    means = dict.fromkeys(words for pattern, words in _KNOWN.items() if re.search(pattern, str(error)))
    called = " ".join(filter(None, (type(error).__name__, error_class(error), status_of(error))))
    return f"{called}: {', '.join(means)}" if means else called


def status_of(error: Exception) -> str:
    """Return what gRPC calls an error."""
    code = getattr(error, "getGrpcStatusCode", lambda: None)()
    return getattr(code, "name", "")


def error_class(error: Exception) -> str:
    """Return what Spark calls an error: unlike its text, this can't quote a row."""
    return str(getattr(error, "getCondition", lambda: None)() or "")
