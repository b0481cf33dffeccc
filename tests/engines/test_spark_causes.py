"""What is told of Spark's errors: never a word of theirs once a row may be in it."""

import pytest

from dpsql.engines.spark.settings import own_cause, safe_cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space, row Ada", "ValueError: out of memory"),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] File s3://lake/Ada.parquet does not exist",
            "ValueError: a file is gone, a file can't be read",
        ),
        ("Status Code: 403; AccessDenied for Ada", "ValueError: the storage denies access"),
        ("ExecutorLostFailure (executor 3 exited), Ada", "ValueError: an executor was lost"),
        ("write to disk: No space left on device: Ada", "ValueError: a disk is full"),
        ("The value 'Ada' of the type STRING can't be cast", "ValueError"),
    ],
)
def test_a_cause_is_named_in_words_of_ours(text: str, cause: str) -> None:
    """By what is known of clusters; the text itself is not repeated."""
    assert safe_cause(ValueError(text)) == cause


def test_what_grpc_wraps_is_told_without_its_wrapping() -> None:
    """The first line of such a text says nothing."""
    text = (
        '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "refused"\n>'
    )
    assert own_cause(ValueError(text)) == "refused"
    assert own_cause(ValueError("\n no such column\n at line 1")) == "no such column"
    assert own_cause(ValueError("")) == "it does not say why"
