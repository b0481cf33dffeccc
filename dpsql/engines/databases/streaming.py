"""A statement's rows as they come from a driver, and not all at once; whoever has seen enough need not take the rest.

Texts come as the database sends them, since drivers fail at what is no UTF-8.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from dpsql.engines.databases.client import interrupt


@contextmanager
def rows_of(connection: Any, statement: Any, step: int) -> Iterator[Any]:
    """Give what has `fetchmany`: the rows of a statement of SQLAlchemy's, of which no more than `step` are held."""
    driver = connection.connection.driver_connection
    if connection.dialect.driver == "pymysql":
        with _of_pymysql(driver, _text(statement, connection.dialect)) as rows:
            yield rows
        return
    streaming = connection.execution_options(stream_results=True, max_row_buffer=step)
    with _as_they_come(driver), closing(streaming.execute(statement)) as rows:
        yield rows


def _text(statement: Any, dialect: Any) -> str:
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


@contextmanager
def _of_pymysql(driver: Any, statement: str) -> Iterator[Any]:
    """Give PyMySQL's own cursor: it reads all rows that are left before it closes, and so does its result."""
    from pymysql.cursors import SSCursor  # noqa: PLC0415  an extra

    before = driver.use_unicode, driver.decoders
    driver.use_unicode, driver.decoders = False, {}
    cursor = driver.cursor(SSCursor)
    try:
        cursor.execute(statement, ())  # with parameters, since SQLAlchemy has doubled each % in names
        yield cursor
    except BaseException:
        interrupt(driver)
        if (result := getattr(driver, "_result", None)) is not None:
            result.unbuffered_active = False
        raise
    finally:
        driver.use_unicode, driver.decoders = before
        cursor.close()


@contextmanager
def _as_they_come(driver: Any) -> Iterator[None]:
    """Have SQLite hand over texts that may be no UTF-8, with stand-ins for what can't be decoded."""
    if not hasattr(driver, "text_factory"):
        yield
        return
    before = driver.text_factory
    driver.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = before
