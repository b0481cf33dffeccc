"""PostgreSQL's own words in fewer words: each is the same to PostgreSQL, which `test_bound_reader.py` has it say."""

import pytest

from dpsql.rewrite.bind.deparsed import in_plain_words
from dpsql.rewrite.syntax.read.dialect import parse_query, render

SAID = [
    (
        "SELECT 1 AS a FROM ((public.t JOIN public.u ON ((t.x = u.x))) LEFT JOIN public.v ON (true))",
        "SELECT 1 AS a FROM public.t JOIN public.u ON t.x = u.x LEFT JOIN public.v ON TRUE",
    ),
    (
        "SELECT 1 AS a FROM (( VALUES (1), (2)) v(d) CROSS JOIN public.t)",
        "SELECT 1 AS a FROM (VALUES (1), (2)) AS v(d) CROSS JOIN public.t",
    ),
    (
        "SELECT 1 AS a FROM (public.t JOIN (public.u JOIN public.v ON ((u.x = v.x))) ON ((t.x = u.x)))",
        "SELECT 1 AS a FROM public.t JOIN (public.u JOIN public.v ON u.x = v.x) ON t.x = u.x",
    ),
    ("SELECT (t.a > 2), t.b FROM public.t", 'SELECT t.a > 2 AS "?column?", t.b FROM public.t'),
    (
        "SELECT ( SELECT 1) FROM public.t ORDER BY ( SELECT 1)",
        'SELECT (SELECT 1 AS "?column?") AS "?column?" FROM public.t ORDER BY 1',
    ),
    ("SELECT (t.a * (t.b + t.c)) AS x FROM public.t", "SELECT t.a * (t.b + t.c) AS x FROM public.t"),
    ("SELECT (- (t.a - (t.b - t.c))) AS x FROM public.t", "SELECT -(t.a - (t.b - t.c)) AS x FROM public.t"),
    (
        "SELECT 1 AS a FROM public.t WHERE ((t.a AND t.b) AND (t.c AND (t.d OR t.e)))",
        "SELECT 1 AS a FROM public.t WHERE t.a AND t.b AND (t.c AND (t.d OR t.e))",
    ),
    ("SELECT (NOT (t.a IS DISTINCT FROM t.b)) AS x FROM public.t", "SELECT t.a IS NOT DISTINCT FROM t.b AS x FROM public.t"),
    ("SELECT (t.a = ANY (ARRAY[1, 2])) AS x FROM public.t", "SELECT t.a IN (1, 2) AS x FROM public.t"),
    ("SELECT (t.a <> ALL (ARRAY[1, 2])) AS x FROM public.t", "SELECT t.a NOT IN (1, 2) AS x FROM public.t"),
    ("SELECT (t.a = ANY (ARRAY[1])) AS x FROM public.t", "SELECT t.a = ANY(ARRAY[1]) AS x FROM public.t"),
    ("SELECT (t.a = ANY (ARRAY[t.b, 2])) AS x FROM public.t", "SELECT t.a = ANY(ARRAY[t.b, 2]) AS x FROM public.t"),
    (
        "SELECT public.median(t.a) FILTER (WHERE (t.b > 1)) AS m FROM public.t",
        "SELECT public.median(t.a) FILTER(WHERE t.b > 1) AS m FROM public.t",
    ),
    ("SELECT (t.a IS NOT UNKNOWN) AS x, (t.b !~* 'c'::text) FROM public.t",
     "SELECT t.a IS NOT UNKNOWN AS x, t.b !~* CAST('c' AS TEXT) AS \"?column?\" FROM public.t"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "plain"), SAID)
def test_what_is_written_out_of_caution_is_left_out(said: str, plain: str) -> None:
    """Brackets that decide nothing, joins in brackets, lists as arrays, and outputs without a name."""
    tree = parse_query(said)
    assert tree is not None
    in_plain_words(tree)
    assert render(tree) == plain
