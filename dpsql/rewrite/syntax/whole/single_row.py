"""Queries over released rows with at most one row, for all released values: decided before anything is paid for.

SELECT avg(n) FROM answer        SELECT zone FROM answer ORDER BY n DESC LIMIT 1        SELECT n FROM answer WHERE zone = 7
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.lexer.reader import tokens
from dpsql.rewrite.syntax.named.aggregate_names import function_name, top_aggregates
from dpsql.rewrite.syntax.named.columns import fold, from_items, item_name, outer_columns, output_name
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.read.trees import every

# Facts about the rows of answers, and of public tables, before anything is paid for.


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Facts about the rows of an answer before it is there, and about those of a public table."""

    most: int | None
    """None: nobody knows how many there will be."""
    keys: frozenset[str] | None
    """The columns that no two rows agree in; None: there are none."""
    columns: tuple[str, ...] = ()
    """All that there are, in their order; empty if they are not known."""
    values: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Of a public table what stands in each column."""

    def is_one_by(self, columns: frozenset[str]) -> bool:
        """Return whether there is one row at most for each combination of values of these columns."""
        if self.keys is not None and self.keys <= columns:
            return True
        listed = [self.values[name] for name in sorted(columns) if name in self.values]
        return bool(listed) and len(set(zip(*listed, strict=True))) == len(listed[0])


Released = Mapping[str, ReleasedRows]
"""By the names that stand in the places of answers, and those of public tables."""


# Functions, operators and casts with which PostgreSQL fails for some values, by the names that statements have.
#
# The shadow has each of them once more in the schema `pg_dpsql`, with the same arguments, and NULL where the original fails.

PARTIAL = frozenset(
    """abs acos acosd acosh age array_append array_cat array_fill array_position array_positions array_prepend array_remove
    array_replace array_to_tsvector asin asind atan2 atanh bit_count chr convert convert_from convert_to cos cosd cosh cot
    cotd date_add date_bin date_part date_subtract date_trunc daterange decode degrees div encode exp extract factorial
    gcd get_bit get_byte inet_merge int4range int8range is_normalized json_array_length json_object json_to_tsvector
    jsonb_array_length jsonb_insert jsonb_object jsonb_path_exists jsonb_path_match jsonb_path_query_array
    jsonb_path_query_first jsonb_set jsonb_set_lax jsonb_to_tsvector justify_days justify_hours justify_interval lcm like
    like_escape ln log log10 lpad make_date make_interval make_time make_timestamp make_timestamptz mod normalize notlike
    numrange overlay parse_ident phraseto_tsquery plainto_tsquery pow power radians regexp_count regexp_instr regexp_like
    regexp_match regexp_replace regexp_split_to_array regexp_substr repeat replace rpad scale set_bit set_byte
    similar_escape similar_to_escape sin sind sinh split_part sqrt substr substring tan tand timestamptz timezone to_ascii
    to_char to_date to_number to_regclass to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure to_regrole
    to_regtype to_timestamp to_tsquery trim_array tsrange tstzrange unistr websearch_to_tsquery width_bucket xmlcomment
    xpath xpath_exists""".split()
)
"""Functions, among those that people call by name."""
SETS = frozenset(
    """generate_series json_array_elements json_array_elements_text json_each json_each_text json_object_keys
    jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_object_keys jsonb_path_query
    regexp_matches regexp_split_to_table""".split()
)
"""Functions with rows, of which there are none where PostgreSQL's own would fail."""
OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.Pow: "^", exp.JSONBDeleteAtPath: "#-",
    exp.RegexpLike: "~", exp.RegexpILike: "~*", exp.Like: "~~", exp.ILike: "~~*",
    exp.DPipe: "||",
}  # fmt: skip
"""Operators between two values, by what the parser makes of them."""
BY_SECOND = frozenset({exp.Div, exp.Mod, exp.RegexpLike, exp.RegexpILike, exp.Like, exp.ILike})
"""Those of them that can fail for what stands behind them alone, as good as ever: a constant there is looked at before."""
CASTS: Mapping[str, str] = {
    "smallint": "smallint", "int2": "smallint", "int": "integer", "integer": "integer", "int4": "integer",
    "bigint": "bigint", "int8": "bigint", "real": "real", "float4": "real", "double precision": "double precision",
    "float8": "double precision", "float": "double precision", "decimal": "numeric", "numeric": "numeric",
}  # fmt: skip
"""Types of numbers, as the parser spells them, and their names: what is cast to them most often costs little."""
TOTAL_CASTS = frozenset({"text", "varchar", "char", "bpchar", "name", "unknown"})
"""Types that anything can be cast to, as the parser spells them."""
PARTS_OF_TIMES = frozenset(
    """century day decade dow doy epoch hour isodow isoyear julian microseconds millennium milliseconds minute month quarter
    second week year timezone timezone_hour timezone_minute""".split()
)
"""Parts of a time that can be asked for."""


_WITH_ROWS = SETS | {"unnest", "generate_series", "generate_subscripts", "string_to_table"}
_Names = frozenset[str]


def several_rows(query: exp.Expr, released: Released) -> bool:
    """Return whether a query, whose CTEs stand in their places, may have more than one row."""
    return not _is_single(query, released)


def _is_single(query: exp.Expr, released: Released, named: _Names = frozenset()) -> bool:
    """Return whether a query has one row at most that has given values in the outputs that are `named`."""
    if _is_limited(query):
        return True
    match query:
        case exp.Subquery():
            return _is_single(query.this, released, named)
        case exp.Intersect() | exp.Except():
            return _is_single(query.this, released, named)
        case exp.Values():
            return len(query.expressions) == 1
        case exp.Select():
            return not has_more_rows(query) and (_is_total(query) or _is_picked(query, released, named))
        case _:
            return False


def _is_limited(query: exp.Expr) -> bool:
    """Return whether a query has a LIMIT, or FETCH, that lets one row pass, or none."""
    limit = query.args.get("limit")
    if isinstance(limit, exp.Limit):
        return isinstance(limit.expression, exp.Literal) and limit.expression.name in ("0", "1")
    if not isinstance(limit, exp.Fetch):
        return False
    options, count = limit.args.get("limit_options"), limit.args.get("count")
    more = options is not None and (options.args.get("with_ties") or options.args.get("percent"))
    return not more and (count is None or count.name == "1")


def has_more_rows(select: exp.Select) -> bool:
    """Return whether one row may become several: by grouping sets, or functions with rows."""
    group = select.args.get("group")
    if group is not None and group.find(exp.GroupingSets, exp.Rollup, exp.Cube) is not None:
        return True
    calls = (call for output in select.expressions for call in every(output, exp.Func))
    return any(isinstance(call, exp.UDTF) or function_name(call) in _WITH_ROWS for call in calls)


def _is_total(select: exp.Select) -> bool:
    """Return whether all rows are aggregated into one."""
    outputs = [*select.expressions, *filter(None, [select.args.get("having")])]
    return not select.args.get("group") and any(True for output in outputs for _ in top_aggregates(output))


def _is_picked(select: exp.Select, released: Released, named: _Names) -> bool:
    """Return whether conditions name the one row of each source, or the one group."""
    joins = select.args.get("joins") or ()
    if select.args.get("with_"):  # rows of a recursive query, which may have the name of another table
        return False
    if any(join.side.upper() not in ("", "LEFT") or join.method.upper() == "NATURAL" for join in joins):
        return False
    outputs = {output_name(output): output.unalias() for output in select.expressions}
    columns = [output for name, output in outputs.items() if name in named and isinstance(output, exp.Column)]
    if any(output.is_star for output in select.expressions):
        columns += [exp.column(name, quoted=True) for name in sorted(named)]
    conditions = _Conditions(select, columns, released)
    if any(name in named and conditions.is_number_of_row(output) for name, output in outputs.items()):
        return True
    left = list(from_items(select))
    # WHERE t.id = u.trip AND u.id = 7: u has one row by the 7, and so has t by u. Each round takes away what is one row.
    while (settled := next((column for column in left if conditions.name_one(column, left)), None)) is not None:
        left = [column for column in left if column is not settled]
    return not left or conditions.name_group(left)


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a SELECT, and the columns that are known to be equal to something from elsewhere."""

    select: exp.Select
    settled: Sequence[exp.Column]
    released: Released

    def name_one(self, source: exp.Expr, left: Sequence[exp.Expr]) -> bool:
        """Return whether they leave one row of a source, by what is in none of the sources that are `left`."""
        names = self._names(source, left)
        if _renamed(source):
            names = _own_names(source, names, self.released)
        if isinstance(source, exp.Table):
            rows = _known(source, self.released)
            return rows is not None and (rows.most in (0, 1) or rows.is_one_by(names))
        return isinstance(source, (exp.Subquery, exp.Values)) and _is_single(source, self.released, names)

    def name_group(self, left: Sequence[exp.Expr]) -> bool:
        """Return whether there is one group only."""
        group, outputs = self.select.args.get("group"), self.select.expressions
        if group is None or group.args.get("all") or not group.expressions:
            return False
        keys = (
            outputs[int(element.name) - 1] if isinstance(element, exp.Literal) and element.is_int else element
            for element in group.expressions
        )
        return all(self._is_known(column, left) for key in keys for column in every(self._behind(key), exp.Column))

    def is_number_of_row(self, node: exp.Expr) -> bool:
        """Return whether an output has another value in each row: `row_number() OVER (…)`."""
        plain = isinstance(node, exp.Window) and not node.args.get("partition_by")
        return plain and function_name(node.this) == "row_number"

    def _behind(self, key: exp.Expr) -> exp.Expr:
        """Return the output that a key of groups names, the key itself if it names a column."""
        named = {output_name(output): output for output in self.select.expressions if isinstance(output, exp.Alias)}
        bare = isinstance(key, exp.Column) and not key.args.get("table")
        return named[fold(key.this)] if bare and fold(key.this) in named else key

    def _is_known(self, column: exp.Column, left: Sequence[exp.Expr]) -> bool:
        return all(
            self._is_of(column, source) and fold(column.this) in self._names(source, left)
            for source in left
            if self._may_be_of(column, source)
        )

    def _names(self, source: exp.Expr, left: Sequence[exp.Expr]) -> _Names:
        """Return the columns of a source that are equal to something that is in no row of those that are `left`."""
        columns = [
            *self.settled,
            *(column for condition in self._of(source) for column in self._compared(condition, left)),
        ]
        names = {fold(column.this) for column in columns if self._is_of(column, source)}
        join = source.parent
        if isinstance(join, exp.Join) and not any(
            other is two for other in left for two in _before(self.select, source)
        ):
            names |= {fold(name) for name in join.args.get("using") or ()}
        return frozenset(names)

    def _of(self, source: exp.Expr) -> Iterator[exp.Expr]:
        """Yield the conditions that all rows fulfil, and those under which a row of a source is joined."""
        for clause in ("where", "having"):
            if (value := self.select.args.get(clause)) is not None:
                yield from conjuncts_of(value.this)
        for join in self.select.args.get("joins") or ():
            if join.args.get("on") is not None and (not join.side or join.this is source):
                yield from conjuncts_of(join.args["on"])

    def _compared(self, condition: exp.Expr, left: Sequence[exp.Expr]) -> Iterator[exp.Column]:
        """Yield the columns that a condition sets equal to something: `x = 7`, `x IN (7)`, and `x` of two values."""
        match condition:
            case exp.EQ(this=side, expression=other):
                pairs = [(side, other), (other, side)]
            case exp.In(this=side, expressions=[other]):
                pairs = [(side, other)]
            case exp.Column() | exp.Not(this=exp.Column()):
                pairs = [(condition if isinstance(condition, exp.Column) else condition.this, exp.true())]
            case _:
                return
        for side, other in pairs:
            inside = every(other, exp.Column)
            if isinstance(side, exp.Column) and not any(self._may_be_of(c, s) for c in inside for s in left):
                yield side

    def _is_of(self, column: exp.Column, source: exp.Expr) -> bool:
        table, columns = fold(column.args.get("table")), _columns(source, self.released)
        alone = len(list(from_items(self.select))) == 1
        return table == item_name(source) if table else (fold(column.this) in columns if columns else alone)

    def _may_be_of(self, column: exp.Column, source: exp.Expr) -> bool:
        table, columns = fold(column.args.get("table")), _columns(source, self.released)
        return table == item_name(source) if table else not columns or fold(column.this) in columns


def _before(select: exp.Select, source: exp.Expr) -> list[exp.Expr]:
    sources = list(from_items(select))
    return sources[: next(place for place, item in enumerate(sources) if item is source)]


def _renamed(source: exp.Expr) -> list[str]:
    alias = source.args.get("alias")
    return (
        [fold(identifier) for identifier in alias.args.get("columns") or ()]
        if isinstance(alias, exp.TableAlias)
        else []
    )


def _own_names(source: exp.Expr, names: _Names, released: Released) -> _Names:
    """Return the names that columns have in a query whose alias gives them others."""
    own = _outputs(source.this, released) if isinstance(source, exp.Subquery) else ()
    return frozenset(name for renamed, name in zip(_columns(source, released), own, strict=False) if renamed in names)


def _known(table: exp.Table, released: Released) -> ReleasedRows | None:
    """Return the facts about a table's rows; None if it is not among those that are declared, or released."""
    ours = isinstance(table.this, exp.Identifier) and fold(table.args.get("db")) in ("", "public")
    return released.get(fold(table.this)) if ours else None


def _columns(source: exp.Expr, released: Released) -> Sequence[str]:
    """Return the names of a source's columns in their order; none if they are not known."""
    if isinstance(source, exp.Table):
        released_rows = _known(source, released)
        columns = released_rows.columns if released_rows is not None else ()
    else:
        columns = _outputs(source.this, released) if isinstance(source, exp.Subquery) else ()
    renamed = _renamed(source)
    return (*renamed, *columns[len(renamed) :])


def _outputs(query: exp.Expr, released: Released) -> tuple[str, ...]:
    """Return the names of a query's columns in their order; none if they are not known."""
    if isinstance(query, exp.Subquery):
        return _outputs(query.this, released)
    if not isinstance(query, exp.Select):
        return ()
    sources = list(from_items(query))
    if len(query.expressions) == len(sources) == 1 and isinstance(query.expressions[0], exp.Star):
        return tuple(_columns(sources[0], released))
    return () if any(output.is_star for output in query.expressions) else tuple(map(output_name, query.expressions))


# The queries in a query, or in what is written around one, that stand for one value each.
#
# SELECT count(*) / (SELECT n FROM answer)        VALUES ((SELECT count(*) …))        UPDATE kept SET n = (SELECT count(*) …)

_TESTS = frozenset({"all", "any", "array", "exists", "some"})
"""The readers of a list of values, where it is written with more parentheses than are needed."""
_PLACES: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.From: frozenset({"this"}), exp.Join: frozenset({"this"}), exp.Lateral: frozenset({"this"}),
    exp.In: frozenset({"query"}), exp.Exists: frozenset({"this"}), exp.Any: frozenset({"this"}),
    exp.All: frozenset({"this"}), exp.CTE: frozenset({"this"}), exp.Subquery: frozenset({"this"}),
}  # fmt: skip
"""Where a query in a query is no single value."""
_BEFORE_TABLES = _TESTS | {
    "as",
    "except",
    "from",
    "in",
    "intersect",
    "join",
    "lateral",
    "materialized",
    "union",
    "using",
}
"""Words before a parenthesis that a table, or a list, stands in."""


def values_of_several_rows(query: exp.Expr, released: Released) -> Iterator[exp.Subquery]:
    """Yield the queries in a query that stand for one value each, and may have more than one row."""
    for subquery in every(query, exp.Subquery):
        if _is_value(subquery) and several_rows(subquery, released):
            yield subquery


def has_values(query: exp.Expr) -> bool:
    """Return whether there is a query in a query that stands for one value."""
    return any(_is_value(subquery) for subquery in every(query, exp.Subquery))


def _is_value(node: exp.Subquery) -> bool:
    parent = node.parent
    match parent:
        case None | exp.SetOperation():
            return False
        case exp.Select():
            return node.arg_key == "expressions"
        case exp.Anonymous():
            return str(parent.this).lower() not in _TESTS
        case _:
            return node.arg_key not in _PLACES.get(type(parent), ())


def is_written_value(before: str, behind: str) -> bool:
    """Return whether a query stands for one value between these texts, as far as words tell."""
    words = [token.word for token in tokens(before)]
    if not words or words[-1] != "(":
        return False
    while words and words[-1] == "(":
        words.pop()
    if words and words[-1] == ",":  # another table, if it is given a name; another value else
        rest = [token.word for token in tokens(behind)][1:2]
        return not rest or rest[0] in (",", ")", "from", "where", "returning", ";")
    return not words or words[-1] not in _BEFORE_TABLES


def depends_on_nothing(query: exp.Subquery, asked: exp.Query) -> bool:
    """Return whether a query in one that is `asked` has the same rows wherever it stands: a session may try it by itself."""
    ctes = {fold(cte.args["alias"].this) for cte in every(asked, exp.CTE)}
    read = {fold(table.this) for table in every(query, exp.Table) if not table.args.get("db")}
    return not ctes & read and not outer_columns(query)
