"""The causes of Spark's errors: its own words where no row was read, and then ours, since its own may quote a value."""

import re
from collections.abc import Mapping

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
