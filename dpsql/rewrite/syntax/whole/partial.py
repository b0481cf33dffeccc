"""Functions, operators and casts with which PostgreSQL fails for some values, by the names that statements have.

The shadow has each of them once more in the schema `pg_dpsql`, with the same arguments, and NULL where the original fails.
"""

from collections.abc import Mapping

from sqlglot import exp

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
