"""The order of texts in the shadow: byte by byte, as every engine is asked for it (`COLLATE "C"`).

PostgreSQL must compare constants, keys and answers as an engine compares rows. The cluster is made with a locale that
has this order; a file system or a C library that is another one since could change it.
"""

from psycopg import Connection

from dpsql.errors import ConfigError

_TEXTS = ("", " ", "A", "B", "Z", "_", "a", "a b", "ab", "b", "z", "~", "É", "é", "ß", "ω", "中", "\uffee", "𝄞")
"""Texts that every other order mixes up: small and capital letters, spaces, letters with accents, two and four bytes."""
_SORTED = "SELECT t FROM unnest(%s::text[]) AS t ORDER BY t"
_NAME = """
SELECT coalesce(to_jsonb(d) ->> 'daticulocale', to_jsonb(d) ->> 'datlocale', datcollate)
  FROM pg_database AS d WHERE datname = current_database()
"""
"""The collation has another column in each version that knows more than the C library's."""


def check_order(connection: Connection, directory: str) -> None:
    """See that a database of the shadow, whose files are in `directory`, compares texts byte by byte.

    Raises:
        ConfigError: it does not.
    """
    sorted_texts = [text for (text,) in connection.execute(_SORTED, (list(_TEXTS),)).fetchall()]
    if sorted_texts != sorted(_TEXTS, key=str.encode):
        ((name,),) = connection.execute(_NAME).fetchall()
        raise ConfigError(
            f'the shadow compares texts by the collation "{name}", and not byte by byte as the engine does',
            hint=f"Stop dpsql and remove {directory}: it is only a cache, and is made anew with the collation C.UTF-8 or C.",
        )
