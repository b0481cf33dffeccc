"""The settings of every session with Spark: how statements are read, and that nothing in a row makes one fail."""

from collections.abc import Mapping

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
