"""Texts whose values are not declared: what engines make of them provably as PostgreSQL does, and nothing else.

Engines agree about characters, byte by byte order and LIKE; not about letters beyond ASCII, nor about regular expressions.

lower(note) = 'a'  →  translate(note, 'ABC…', 'abc…') = 'a'        note ~ '^a.*b'  →  note LIKE 'a%b%'
"""

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Expr, Ref, Results, refs
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.literals import literal_text
from dpsql.rewrite.translate.values.context import Handler, Translator
from dpsql.rewrite.translate.values.time_texts import beginning
from dpsql.rewrite.translate.values.value_map import through_shadow

_LETTERS: Mapping[str, str] = {"lower": "lowered", "upper": "uppered"}
_VARCHAR = re.compile(r"character(?: varying)?\((\d+)\)")
_META = frozenset(".^$*+?()[]{}|\\")
_SIMILAR_META = frozenset("*+?(){}[]\\")
_ANYTHING: Mapping[str, str] = {".*": "%", ".+": "_%", ".": "_"}
_TOKEN = re.compile(r"\.[*+]?|\\[^A-Za-z0-9]|[^.^$*+?()\[\]{}|\\]", re.DOTALL)


def is_open(t: Translator, expr: Expr) -> bool:
    """Return whether an expression is a text that may be anything."""
    return expr.type.is_text and not isinstance(expr, Const) and t.facts_of(expr).values is None


def as_text(expr: Expr) -> Expr:
    """Return a value that engines read as a text as one."""
    if isinstance(expr, Const):
        return Const(expr.value, SqlType.TEXT)
    return expr if expr.type is SqlType.TEXT else Apply("as_text", (expr,), SqlType.TEXT)


def labels_of(*exprs: Expr) -> tuple[Value, ...]:
    """Return the labels of an enumeration in their order, by the first column of it."""
    return next((ref.column.values or () for ref in refs(*exprs) if ref.type is SqlType.ENUM), ())


def in_order(expr: Expr, values: Sequence[Value]) -> Expr:
    """Return the place that a value has in an order of all that there can be."""
    if isinstance(expr, Const):
        return Const(values.index(expr.value) if expr.value in values else None, SqlType.INTEGER)
    keys = (Const(value, expr.type) for value in values)
    return Apply("map", (expr, *keys), SqlType.INTEGER, Results(tuple(range(len(values)))))


def in_letters(t: Translator, node: exp.Expr, *others: exp.Expr) -> Expr | None:
    """Return `lower(x)` or `upper(x)` of such a text where it is compared with texts of ASCII; None of anything else."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    op = _LETTERS.get(function_name(inner)) if isinstance(inner, exp.Anonymous) else None
    if op is None or len(inner.expressions) != 1:
        return None
    arg = t.expression(inner.expressions[0])
    texts = [literal_text(other) for other in others]
    plain = all(text is not None and text.isascii() for text in texts)
    return Apply(op, (as_text(arg),), SqlType.TEXT) if is_open(t, arg) and plain else None


def without_case(arg: Expr, pattern: str, node: exp.Expr) -> Expr:
    """Translate `x ILIKE pattern` of such a text.

    Raises:
        Unsupported: the pattern has letters beyond ASCII.
    """
    if not pattern.isascii():
        raise _beyond_ascii(node)
    return _liked(Apply("lowered", (arg,), SqlType.TEXT), pattern.lower())


def _regular(t: Translator, node: exp.Expr) -> Expr:
    """Translate `~` and `~*`."""
    arg, escaped = t.expression(node.this), node.expression.unnest()
    if function_name(escaped) == "similar_to_escape":
        return _similar(t, escaped.expressions[0], node)
    text = literal_text(node.expression)
    if not is_open(t, arg) or text is None:
        return through_shadow(t, node)
    not_padded(arg, node)
    if isinstance(node, exp.RegexpILike):
        if not text.isascii():
            raise _beyond_ascii(node)
        arg, text = Apply("folded", (arg,), SqlType.TEXT), text.lower()
    patterns = [_as_like(part) for part in text.split("|")]
    if "\\|" in text or None in patterns:
        raise Unsupported(
            f"{node.sql('postgres')[:80]}: engines read this regular expression otherwise than PostgreSQL",
            because="regular-expression",
            hint="Of texts without declared `values` it may have characters, ^ $ . .* .+ and |; or write LIKE.",
        )
    parts = tuple(_liked(arg, pattern) for pattern in patterns if pattern is not None)
    return parts[0] if len(parts) == 1 else Apply("or", parts, SqlType.BOOLEAN)


def _similar(t: Translator, pattern: exp.Expr, node: exp.Expr) -> Expr:
    """Translate SIMILAR TO, of alternatives that `LIKE` could say.

    x SIMILAR TO 'a|b%'  is  x ~ similar_to_escape('a|b%')
    """
    arg, text = t.expression(node.this), literal_text(pattern)
    if not is_open(t, arg) or text is None:
        return through_shadow(t, node)
    not_padded(arg, node)
    if not _SIMILAR_META.isdisjoint(text):
        raise Unsupported(
            f"{node.sql('postgres')[:80]}: engines read this pattern otherwise than PostgreSQL",
            because="similar-pattern",
            hint="Of texts without declared `values` it may have characters, % _ and |; or write LIKE.",
        )
    parts = tuple(_liked(arg, alternative) for alternative in text.split("|"))
    return parts[0] if len(parts) == 1 else Apply("or", parts, SqlType.BOOLEAN)


def not_padded(arg: Expr, node: exp.Expr) -> None:
    """Check that a text has no blanks at its end that PostgreSQL compares with a pattern, and engines do not have.

    Raises:
        Unsupported: it has.
    """
    if arg.type is SqlType.CHARACTER:
        raise Unsupported(
            f"{node.sql('postgres')[:80]}: blanks at the end of char(n) count in patterns alone",
            because="pattern-of-padded",
            hint="Write x::text LIKE …, without blanks at the end.",
        )


def _as_like(pattern: str) -> str | None:
    """Return the LIKE pattern that a regular expression is; None if it is none."""
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    inside = pattern[begins : len(pattern) - ends]
    tokens = _TOKEN.findall(inside)
    if "".join(tokens) != inside:
        return None
    middle = "".join(_ANYTHING.get(token) or _as_itself(token[-1]) for token in tokens)
    return ("" if begins else "%") + middle + ("" if ends else "%")


def _as_itself(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _liked(arg: Expr, pattern: str) -> Expr:
    return Apply("like", (arg, Const(pattern, SqlType.TEXT)), SqlType.BOOLEAN)


def _beyond_ascii(node: exp.Expr) -> Unsupported:
    return Unsupported(
        f"{node.sql('postgres')[:80]}: engines have other small letters beyond ASCII than PostgreSQL",
        because="letters-beyond-ascii",
        hint="Write LIKE; or the owner of the data can declare `values` for the column.",
    )


def length(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate LENGTH of any text: its number of characters, bounded where the type bounds it."""
    arg = t.expression(args[0]) if len(args) == 1 else None
    if arg is None or not is_open(t, arg):
        return through_shadow(t, node)
    match = _VARCHAR.fullmatch(arg.column.declared) if isinstance(arg, Ref) else None
    return Apply("length", (as_text(arg),), SqlType.INTEGER, Digits(int(match[1])) if match else None)


def left(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate LEFT of any text."""
    if len(args) == 2:
        number = t.expression(args[1])
        if (of_time := _of_time(t, args[0], 0, number, node)) is not None:
            return of_time
        arg = t.expression(args[0])
        if is_open(t, arg) and isinstance(number, Const) and isinstance(number.value, int) and number.value >= 0:
            return Apply("cut", (as_text(arg),), SqlType.TEXT, Digits(number.value))
    return through_shadow(t, node)


def substring(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate SUBSTRING and SUBSTR: of any text from its first character on."""
    start = t.expression(args[1]) if len(args) == 3 else None
    if isinstance(start, Const) and isinstance(start.value, int) and not isinstance(start.value, bool):
        of_time = _of_time(t, args[0], start.value - 1, t.expression(args[2]), node)
        if of_time is not None:
            return of_time
    if isinstance(start, Const) and start.value == 1 and start.type.is_number:
        return left(t, [args[0], args[2]], node)
    return through_shadow(t, node)


def _of_time(t: Translator, text: exp.Expr, before: int, number: Expr, node: exp.Expr) -> Expr | None:
    """Return some of the first characters of a time's text, `before` and a number of them; None of any other text."""
    if not isinstance(number, Const) or not isinstance(number.value, int) or isinstance(number.value, bool):
        return None
    return beginning(t, text, before + number.value, node) if number.value >= 0 else None


def _substring(t: Translator, node: exp.Expr) -> Expr:
    parts = [node.args.get(part) for part in ("this", "start", "length")]
    return substring(t, [part for part in parts if part is not None], node)


REGULAR: Mapping[type[exp.Expr], Handler] = {
    exp.RegexpLike: _regular,
    exp.RegexpILike: _regular,
    exp.Substring: _substring,
}
