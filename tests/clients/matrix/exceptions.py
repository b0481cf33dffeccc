"""What does not work, by driver and step, in a sentence for docs/clients.md."""

from collections.abc import Mapping

EXCEPTIONS: Mapping[tuple[str, str], str] = {
    (
        "tdbc::postgres",
        "columns",
    ): "asks `SELECT * FROM` the table to learn its columns' types, which reads rows: refused",
}
