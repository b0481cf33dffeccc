"""What the account may do by which a database is read: nothing but that."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dpsql.engines.postgres.catalogue import check_role
from dpsql.errors import ConfigError

_GRANT = re.compile(r"GRANT (.+?) ON (?:TABLE |PROCEDURE |FUNCTION )?(\S+) TO ", re.IGNORECASE | re.DOTALL)
_OF_ROLE = re.compile(r"GRANT (.+?) TO ", re.IGNORECASE | re.DOTALL)
_READING = frozenset({"SELECT", "USAGE", "SHOW VIEW", "SHOW DATABASES"})
_COLUMNS = re.compile(r"\([^)]*\)")


def see_that_it_only_reads(pool: Any, backend: str, places: Mapping[str, tuple[str, str | None]]) -> None:
    """See that the account can do nothing but read, where the database says so in a way that is known here.

    Raises:
        ConfigError: it can do more.
    """
    if backend in {"mysql", "mariadb"}:
        with pool.connect() as connection:  # of its own, since it puts on roles
            more = sorted(set(_more(connection)))
        if more:
            raise ConfigError(
                f"engine: the account has the rights {', '.join(more)}; "
                "dpsql connects only as one that can do nothing but SELECT",
                hint="CREATE USER dpsql_reader IDENTIFIED BY '…'; GRANT SELECT, SHOW VIEW ON hospital.* TO dpsql_reader;",
            )
    if backend == "postgresql":
        with pool.connect() as connection:
            driver = connection.connection.driver_connection
            schemas = driver.execute("SELECT current_schemas(false)").fetchone()[0]
            named = {table: (schema, name) for table, (name, schema) in places.items() if schema is not None}
            check_role(driver, list(places), schemas, named)


def _more(connection: Any) -> Iterator[str]:
    """Yield the rights besides reading that grants name, also those of roles that the account may put on."""
    seen, left = set[str](), [""]
    while left:
        role = left.pop()
        if role in seen:
            continue
        seen.add(role)
        if role:
            connection.exec_driver_sql(f"SET ROLE {role}")
        for (line,) in connection.exec_driver_sql("SHOW GRANTS").fetchall():
            given, of_role = _GRANT.match(str(line)), _OF_ROLE.match(str(line))
            if given is not None:
                rights = (right.strip().upper() for right in _COLUMNS.sub("", given[1]).split(","))
                yield from (right for right in rights if right not in _READING)
                yield from ("GRANT OPTION",) if "WITH GRANT OPTION" in str(line).upper() else ()
            elif of_role is not None:
                left += [name.strip().replace("%", "%%") for name in of_role[1].split(",")]
