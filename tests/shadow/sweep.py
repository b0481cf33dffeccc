"""Everything of PostgreSQL that a client may call, and the largest and worst that it may be given."""

import itertools
from collections.abc import Iterator, Mapping
from random import Random

from psycopg import Connection

_MOST = 70
"""Calls of one function: all pairs of two texts, and a part of what more places may have."""

_TEXTS = (
    "repeat('a', 4000000)",
    "'%' || repeat('a', 2000000) || 'b%'",
    "repeat(U&'\\0323\\0307', 400000)",
    "repeat('a1 b2, ', 400000)",
    "repeat('9', 120000)",
    "repeat('[', 4000) || repeat(']', 4000)",
    "'{' || repeat('1,', 400000) || '1}'",
    "'x'",
)
_NUMBERS = ("repeat('9', 100000)::numeric", "('0.' || repeat('7', 16000))::numeric", "2.5")
VALUES: Mapping[str, tuple[str, ...]] = {
    "text": _TEXTS,
    "character varying": tuple(f"({text})::varchar" for text in _TEXTS),
    "character": tuple(f"({text})::bpchar" for text in _TEXTS[:2]),
    "name": ("repeat('a', 63)::name",),
    '"char"': ("'a'::\"char\"",),
    "bytea": ("convert_to(repeat('a', 4000000), 'UTF8')", "convert_to('%' || repeat('a', 2000000) || 'b%', 'UTF8')"),
    "bit": ("repeat('1', 8000000)::varbit::bit(8000000)", "(repeat('1', 4000000) || '0')::varbit::bit(4000001)"),
    "bit varying": ("repeat('1', 8000000)::varbit", "(repeat('1', 4000000) || '0')::varbit"),
    "numeric": _NUMBERS,
    "smallint": ("1::smallint", "32767::smallint"),
    "integer": ("1", "100000", "2147483647"),
    "bigint": ("1::bigint", "100000000::bigint", "9223372036854775807"),
    "real": ("1.5::real", "'infinity'::real"),
    "double precision": ("1.5::float8", "1e300::float8"),
    "boolean": ("true",),
    "oid": ("1259::oid",),
    "regclass": ("'pg_class'::regclass",),
    "regtype": ("'text'::regtype",),
    "date": ("date '2019-03-01'", "date '5000000-01-01'"),
    "timestamp without time zone": ("timestamp '2019-03-01'", "timestamp '290000-01-01'"),
    "timestamp with time zone": ("timestamptz '2019-03-01'", "timestamptz '290000-01-01'"),
    "time without time zone": ("time '12:00'",),
    "time with time zone": ("timetz '12:00+1'",),
    "interval": ("interval '1 microsecond'", "interval '170000000 years'"),
    "uuid": ("'00000000-0000-0000-0000-000000000001'::uuid",),
    "money": ("'12.3'::money",),
    "inet": ("'10.0.0.1/8'::inet",),
    "cidr": ("'10.0.0.0/8'::cidr",),
    "integer[]": (
        "(SELECT array_agg(x) FROM generate_series(1, 300000) AS x)",
        "(SELECT array_agg(-x) FROM generate_series(1, 300000) AS x)",
    ),
    "text[]": (
        "(SELECT array_agg('y' || x) FROM generate_series(1, 200000) AS x)",
        "(SELECT array_agg('x' || x) FROM generate_series(1, 200000) AS x)",
    ),
    "double precision[]": ("(SELECT array_agg(x::float8 / 200000) FROM generate_series(1, 200000) AS x)",),
    "tsvector": (
        "array_to_tsvector((SELECT array_agg('y' || x) FROM generate_series(1, 60000) AS x))",
        "array_to_tsvector((SELECT array_agg('x' || x) FROM generate_series(1, 60000) AS x))",
        "to_tsvector('simple', repeat('aa bb ', 100000))",
    ),
    "tsquery": (
        "(SELECT string_agg('x' || x, ' & ')::tsquery FROM generate_series(1, 40000) AS x)",
        "(repeat('a <-> ', 2000) || 'a')::tsquery",
    ),
    "jsonb": (
        "(SELECT jsonb_agg('x' || x) FROM generate_series(1, 200000) AS x)",
        "(SELECT jsonb_object_agg('x' || x, x) FROM generate_series(1, 200000) AS x)",
        "(SELECT jsonb_agg(jsonb_build_object('a', x)) FROM generate_series(1, 100000) AS x)",
        "(repeat('[', 4000) || repeat(']', 4000))::jsonb",
    ),
    "json": ("(SELECT json_agg('x' || x) FROM generate_series(1, 200000) AS x)",),
    "jsonpath": ("'$[*] ? (@ like_regex \"(a|aa)+$\")'::jsonpath", "('$' || repeat('.**', 60))::jsonpath"),
    "int4range": ("int4range(1, 2000000000)",),
    "int4multirange": (
        "(SELECT range_agg(int4range(x * 3, x * 3 + 1)) FROM generate_series(1, 100000) AS x)",
        "(SELECT range_agg(int4range(x * 3 + 1, x * 3 + 2)) FROM generate_series(1, 100000) AS x)",
    ),
    "path": ("('[' || repeat('(1,2),', 100000) || '(3,4)]')::path",),
    "polygon": ("('(' || repeat('(1,2),', 20000) || '(3,4))')::polygon",),
    "pg_lsn": ("'0/1'::pg_lsn",),
    "point": ("point '(1,2)'",),
    "line": ("line '{1,2,3}'",),
    "lseg": ("lseg '[(1,2),(3,4)]'",),
    "box": ("box '(1,2),(3,4)'",),
    "circle": ("circle '<(1,2),3>'",),
    "record": ("ROW(repeat('a', 4000000), 1)",),
    "regconfig": ("'english'::regconfig", "'simple'::regconfig"),
    "regdictionary": ("'english_stem'::regdictionary",),
    '"any"': ("repeat('a', 4000000)",),
    "tid": ("'(0,1)'::tid",),
    "txid_snapshot": ("txid_current_snapshot()",),
    "pg_snapshot": ("pg_current_snapshot()",),
    "macaddr": ("'08:00:2b:01:02:03'::macaddr",),
}
"""What is given for each type."""
_WRITTEN = frozenset({"record", '"any"', "tsquery"})
"""What no table can keep is written where it is needed."""
_ANY = {
    "anyelement": "integer",
    "anynonarray": "integer",
    "anyarray": "integer[]",
    "anyrange": "int4range",
    "anymultirange": "int4multirange",
    "anycompatible": "integer",
    "anycompatiblenonarray": "integer",
    "anycompatiblearray": "integer[]",
    "anycompatiblerange": "int4range",
    "anycompatiblemultirange": "int4multirange",
    "varchar": "character varying",
    "int4[]": "integer[]",
}
_FUNCTIONS = """
SELECT p.proname, p.prokind, p.proretset, p.provariadic <> 0,
       ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY n)
  FROM pg_proc AS p
 WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a') AND has_function_privilege(p.oid, 'EXECUTE')
   AND p.proname !~ '^(pg_|RI_|set_config|has_|current_|.*(typmod(in|out)|recv|send)$)'
   AND NOT EXISTS (SELECT FROM unnest(p.proargtypes) AS t
                    WHERE t IN ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype))
 ORDER BY p.oid
"""
"""Operators and most casts have functions that are among them; the catalogue's own are given no large values."""
_TYPES = """
SELECT format_type(oid, NULL) FROM pg_type
 WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typname !~ '^(pg_|_pg_)' ORDER BY oid
"""
_NUMBERS_OF = {type_: number for number, type_ in enumerate(VALUES)}


def create_values(owner: Connection) -> None:
    """Create a table for each type, with a column for each value, which everybody may read; the owner's connection."""
    owner.execute("CREATE SCHEMA sweep")
    owner.execute("GRANT USAGE ON SCHEMA sweep TO PUBLIC")
    for type_, values in VALUES.items():
        if type_ not in _WRITTEN:
            table = f"sweep.t{_NUMBERS_OF[type_]}"
            columns = ", ".join(f"({value}) AS v{place}" for place, value in enumerate(values))
            owner.execute(f"CREATE TABLE {table} AS SELECT {columns}".encode())
            owner.execute(f"GRANT SELECT ON {table} TO PUBLIC".encode())


def calls(connection: Connection) -> list[str]:
    """Return statements that call all that the session's user may call, with large arguments and worse ones."""
    return [
        *(call for row in connection.execute(_FUNCTIONS).fetchall() for call in _of_function(*row)),
        *_casts([type_ for (type_,) in connection.execute(_TYPES)]),
    ]


def _of_function(name: str, kind: str, many: bool, variadic: bool, types: list[str]) -> Iterator[str]:
    given = [_spelled(type_) for type_ in types]
    if not given:
        return
    prefix = "VARIADIC " if variadic and types[-1] != '"any"' else ""
    for *first, last in _chosen(given):
        call = f'pg_catalog."{name}"({", ".join((*first, prefix + last))})'
        if kind == "a":
            yield f"SELECT {call} IS NULL FROM generate_series(1, 50)"
        else:
            yield f"SELECT count(*) FROM {call} AS x" if many else f"SELECT {call} IS NULL"


def _casts(types: list[str]) -> Iterator[str]:
    """Give the casts of texts to all types, of all to text, and comparisons."""
    yield from (f"SELECT {text}::{type_} IS NULL" for text in _spelled("text") for type_ in types)
    for type_ in VALUES:
        first, *others = _spelled(type_)
        for value in (first, *others):
            yield f"SELECT {value}::text IS NULL"
            yield f"SELECT {value} = {first}"


def _spelled(type_: str) -> tuple[str, ...]:
    """Return how the values of a type are written; none where we know no large ones."""
    spelled = _ANY.get(type_, type_)
    values = VALUES.get(spelled, ())
    if spelled in _WRITTEN:
        return values
    return tuple(f"(SELECT v{place} FROM sweep.t{_NUMBERS_OF[spelled]})" for place, _ in enumerate(values))


def _chosen(given: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return some of all combinations: all where they are few, else as many as may be, drawn without a rule."""
    every = list(itertools.product(*given))
    return every if len(every) <= _MOST else Random(len(every)).sample(every, _MOST)  # noqa: S311 # no secret
