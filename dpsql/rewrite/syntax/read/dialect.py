"""PostgreSQL's grammar with every function kept by its own name.

sqlglot knows hundreds of functions by class and writes some of them back in another form (`to_char` through strftime, for
one). Here a function call stays what was written, so that what is post-processing reaches PostgreSQL unchanged, and
what is private is looked up by name in `functions.py`.
"""

import platform
import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.abc import SourceLoader
from typing import ClassVar

import sqlglot.generator
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, UnsupportedError
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.helper import name_sequence
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token as ParserToken
from sqlglot.tokenizer_core import TokenType

from dpsql.errors import ConfigError, DpsqlError, Unsupported
from dpsql.lexer import reader as lexer_tokens
from dpsql.lexer.reader import TEXTS, Token, TokenKind, tokens
from dpsql.policy.model import PUBLIC, TableName

# Views in the tree of a statement: a subquery where the view is read, written by its name where PostgreSQL reads it.
#
#     FROM card_trips AS c   →  ViewRead: (SELECT … FROM trips WHERE …) AS c, which is rendered as public.card_trips AS c
#
# No text of a client's becomes one of these nodes, so they say what a role was granted: the view, and what is read in it.


class ViewRead(exp.Subquery):
    """Where a statement reads a view: its query, its name, and whether it has public rows only."""

    arg_types: ClassVar[dict[str, bool]] = {**exp.Subquery.arg_types, "view": True, "public": True}

    @property
    def view(self) -> str:
        """Return the view's name."""
        return str(self.args["view"])


class ViewedTable(exp.Table):
    """A protected table in the query of a view; a role that may use the view need not be granted it.

    PostgreSQL is asked for the types of what is computed from it, and sees a row of NULLs of the declared types in its place.
    """

    arg_types: ClassVar[dict[str, bool]] = {**exp.Table.arg_types, "typed": True}


# Trees written as PostgreSQL's SQL, with every operator and function as it was.

_BEYOND_TABLES = frozenset({"db", "catalog", "join_mark", "shadow"})
"""Parts that few columns have."""
_NEGATED = {exp.Is: "IS NOT", exp.RegexpLike: "!~", exp.RegexpILike: "!~*"}
"""Comparisons that are negated by another word, and not by NOT before them."""
_OF_VALUES = "_values"
"""The parser's name for VALUES that stand for a query."""
JOINED_AS = "joined_as"
"""The part of a join in which the name stands that USING gives to its columns."""
_STAND_IN = re.compile(r"\binterval_(\d+)_(?=\W|$)")


_WRITTEN_TYPES: dict[exp.DType, str] = {}
"""How types without a length or anything else are written."""


def plain_kind(type_: exp.DataType) -> exp.DType | None:
    """Return the kind of a type that has nothing else, which says all of it; None of others."""
    plain = type(type_) is exp.DataType and not any(value for part, value in type_.args.items() if part != "this")
    return type_.this if plain and isinstance(type_.this, exp.DType) else None


@cache
def _name_of(kind: exp.DType) -> str:
    return str(exp.DataType(this=kind).sql("postgres")).lower()


def written_type(type_: exp.Expr) -> str:
    """Return a type as PostgreSQL writes it, in small letters: double precision, character varying(3)."""
    kind = plain_kind(type_) if isinstance(type_, exp.DataType) else None
    return str(type_.sql("postgres")).lower() if kind is None else _name_of(kind)


class PrefixOperator(exp.Unary):
    """What an operator without a left side is before: |/ fare."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "operator": True}


class ClientGenerator(PostgresGenerator):
    """A generator that writes operators as they were."""

    MULTI_ARG_DISTINCT = True
    TRANSFORMS: ClassVar = {
        **PostgresGenerator.TRANSFORMS,
        exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
        exp.CurrentTime: lambda self, node: self.sql(node, "this") or "CURRENT_TIME",
        exp.Pow: lambda self, node: self.binary(node, "^"),
        exp.StrPosition: lambda self, node: PostgresGenerator.TRANSFORMS[exp.StrPosition](self, node.copy()),
        exp.StartsWith: lambda self, node: self.binary(node, "^@"),
        PrefixOperator: lambda self, node: f"({node.args['operator']} {self.sql(node, 'this')})",
        ViewRead: lambda self, node: f"{TableName.of(node.view).quoted} AS {self.sql(node, 'alias')}",
        ViewedTable: lambda self, node: f"{node.args['typed']} AS {self.sql(node, 'alias')}",
    }

    def generate(self, expression: exp.Expr, copy: bool = True) -> str:
        """Write a tree as if it were the first one."""
        self._next_name = name_sequence("_t")
        return super().generate(expression, copy)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """Write a name; most are plain, and need no look at what has to be quoted."""
        name = str(expression.this)
        if not (name.isascii() and name.isidentifier()):
            return super().identifier_sql(expression)
        return f'"{name}"' if expression.args.get("quoted") else name

    def table_parts(self, expression: exp.Table) -> str:
        """Write a table's name; one that has its schema in it (`bind.schemas`) as a schema and a name."""
        name, schema = expression.this, expression.args.get("db")
        if isinstance(name, exp.Identifier) and schema is not None and schema.name == PUBLIC and "." in name.name:
            return TableName.of(name.name).quoted
        return super().table_parts(expression)

    def column_sql(self, expression: exp.Column) -> str:
        """Write a column; most are a name alone, or behind their table's."""
        table, more = expression.args.get("table"), _BEYOND_TABLES & expression.args.keys()
        if more and any(expression.args[key] for key in more):
            return super().column_sql(expression)
        name = self.sql(expression.this)
        return f"{self.sql(table)}.{name}" if table else name

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        """Write a join, and the name that USING gives to its columns."""
        named = expression.args.get(JOINED_AS)
        return super().join_sql(expression, join_op) + (f" AS {self.sql(named)}" if named is not None else "")

    def lateral_sql(self, expression: exp.Lateral) -> str:
        """Write LATERAL, and what is joined to it in brackets."""
        joins = expression.args.get("joins") or ()
        return super().lateral_sql(expression) + "".join(f" {self.sql(join).lstrip()}" for join in joins)

    def not_sql(self, expression: exp.Not) -> str:
        """Write a negation; where the operator has a word of its own for it, by that."""
        inside, word = expression.this, _NEGATED.get(type(expression.this))
        if isinstance(inside, exp.In):
            return f"{self.sql(inside, 'this')} NOT {self.sql(inside)[len(self.sql(inside, 'this')) + 1 :]}"
        if word is None:
            return super().not_sql(expression)
        what = "UNKNOWN" if inside.args.get("unknown") else self.sql(inside, "expression")
        return f"{self.sql(inside, 'this')} {word} {what}"

    def is_sql(self, expression: exp.Is) -> str:
        """Write IS, and UNKNOWN where that was written."""
        if expression.args.get("unknown"):
            return f"{self.sql(expression, 'this')} IS {'NOT ' * bool(expression.args.get('negate'))}UNKNOWN"
        return super().is_sql(expression)

    def if_sql(self, expression: exp.If) -> str:
        """Write a branch; sqlglot would take it out of its CASE to do so."""
        return super().if_sql(expression.copy())

    def windowspec_sql(self, expression: exp.WindowSpec) -> str:
        """Write a frame; one without an end goes to the current row."""
        if expression.args.get("end") or expression.args.get("exclude"):
            return super().windowspec_sql(expression)
        start = f"{self.sql(expression, 'start')} {self.sql(expression, 'start_side')}".strip()
        return f"{self.sql(expression, 'kind')} {start}"

    def trim_sql(self, expression: exp.Trim) -> str:
        """Write TRIM with the side that was written; what is trimmed stands in calls of other names."""
        return f"TRIM({expression.args.get('position') or 'BOTH'} FROM {self.sql(expression, 'this')})"

    def select_sql(self, expression: exp.Select) -> str:
        """Write a query; of VALUES, which may stand in its place, the parser makes a query over them."""
        rows = expression.args["from_"].this if expression.args.get("from_") else None
        if isinstance(rows, exp.Values) and _is_made(expression, rows):
            rows = rows.copy()
            rows.set("alias", None)
            return self.sql(rows)
        return super().select_sql(expression)

    def datatype_sql(self, expression: exp.DataType) -> str:
        """Write a type; `interval_3_` stands for `interval(3)`, which the parser does not read."""
        if (kind := plain_kind(expression)) is not None:
            if kind not in _WRITTEN_TYPES:
                _WRITTEN_TYPES[kind] = super().datatype_sql(expression)
            return _WRITTEN_TYPES[kind]
        return _STAND_IN.sub(r"INTERVAL(\1)", super().datatype_sql(expression))


def _is_made(query: exp.Select, rows: exp.Values) -> bool:
    """Return whether a query over VALUES is the parser's: PostgreSQL writes no star."""
    written = {key for key, value in query.args.items() if value and key != "with_"}
    stars = [type(output) for output in query.expressions] == [exp.Star]
    return stars and written == {"expressions", "from_"} and rows.alias == _OF_VALUES and not rows.alias_column_names


# PostgreSQL's tokens as the parser's own, so that a text need not be read twice: the two then can't read it differently.
#
# SELECT count(*) …  →  SELECT, VAR count, L_PAREN, STAR, R_PAREN …

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OF_OTHERS = frozenset(
    """ANTI APPLY ASOF AUTOINCREMENT AUTO_INCREMENT DESCRIBE EXEC FILE GLOB KEEP KILL NAMESPACE OPTIMIZE OVERWRITE
    PARTITIONED_BY PERCENT PIVOT PRAGMA QUALIFY REGEXP RLIKE SEMI SETTINGS STRAIGHT_JOIN UNCACHE UNNEST UNPIVOT USE
    XOR""".split()
)
"""Words that the parser knows from other systems: PostgreSQL does not quote what is called so."""


PREFIXES: Mapping[str, str] = {"@": "abs", "|/": "sqrt", "||/": "cbrt"}
"""Operators before what they take, and the functions that they are."""


class Vocabulary:
    """The words and signs that the parser knows."""

    def __init__(self, keywords: Mapping[str, TokenType], signs: Mapping[str, TokenType]) -> None:
        """Take keywords, and signs of one character."""
        self._words = {word: kind for word, kind in keywords.items() if word not in _OF_OTHERS}
        self._pairs = {pair: kind for pair, kind in keywords.items() if pair.count(" ") == 1}
        self._begins = frozenset(pair.split(" ")[0] for pair in self._pairs)
        self._signs = {**signs, **{sign: kind for sign, kind in keywords.items() if not sign[0].isalpha()}}

    def known_tokens(self, tokens: Sequence[Token]) -> list[ParserToken] | None:
        """Return the parser's tokens; None where there is one that the parser does not know."""
        told: list[ParserToken] = []
        pending = list(tokens)[::-1]
        while pending:
            sort, text, start, end = token = pending.pop()
            kind, inside = self._known(token)
            if kind is None and sort is TokenKind.OPERATOR and len(text) > 1:  # !~~ is NOT and ~~
                pending += [Token(sort, text[1:], start + 1, end), Token(sort, text[0], start, start + 1)]
                continue
            if kind is None:
                return None
            # GROUP BY, ORDER BY and a few more are one token of the parser's.
            if sort is TokenKind.NAME and pending and (pair := self._pair(text, pending[-1])) in self._pairs:
                kind, inside, end = self._pairs[pair], pair, pending.pop().end
            # The lexer's ends are behind the last character, the parser's are at it.
            told.append(ParserToken(kind, inside, start=start, end=end - 1))
            if kind is TokenType.PARAMETER:
                told.append(ParserToken(TokenType.NUMBER, text[1:], start=start + 1, end=end - 1))
        return told

    def _known(self, token: Token) -> tuple[TokenType | None, str]:
        """Return what a token is to the parser, None if it is nothing, and its text."""
        text = token.text
        match token.sort:
            case TokenKind.NAME:
                return self._words.get(text.upper(), TokenType.VAR), text
            case TokenKind.OPERATOR if text in PREFIXES:
                return TokenType.PIPE_SLASH, text
            case TokenKind.PUNCTUATION | TokenKind.OPERATOR:
                return self._signs.get(text), text
            case TokenKind.QUOTED:
                return TokenType.IDENTIFIER, lexer_tokens.token_name(token) or ""
            case TokenKind.NUMBER if _NUMBER.fullmatch(text):
                return TokenType.NUMBER, text
            case TokenKind.PARAMETER:
                return TokenType.PARAMETER, "$"
            case TokenKind.BITS:
                return TokenType.BIT_STRING, text[2:-1]
            case _ if token.sort in TEXTS and (inside := lexer_tokens.literal_value(token)) is not None:
                return TokenType.STRING, inside
            case _:
                return None, text

    def _pair(self, name: str, following: Token) -> str:
        """Return two words as they would be one keyword."""
        word = name.upper()
        return f"{word} {following.text.upper()}" if word in self._begins else ""


if not isinstance(sqlglot.generator.__spec__.loader, SourceLoader):  # classes of ours can't extend compiled ones
    raise ConfigError(
        "sqlglot is compiled here (sqlglotc), and dpsql can't extend its parser",
        hint="Remove its compiled form: pip uninstall sqlglotc",
    )

_STEPS = 30
"""Steps that the parser may take for each token; statements of people and tools need one or two."""
_OWN_SYNTAX = ("CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")


_CONSTANTS = frozenset({TokenType.NUMBER, TokenType.STRING})
_ENDS = frozenset(
    {None, TokenType.COMMA, TokenType.R_PAREN, TokenType.ALIAS, TokenType.FROM, TokenType.ORDER_BY, TokenType.LIMIT}
)
"""The ends of an expression that the word stands behind."""
_CAST_ENDS = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET})
"""The ends of a type, behind which nothing belongs to what was cast."""
_LONGEST_TYPE, _MOST_TYPES = 5, 200
"""Words of a type, and how many types are remembered."""
_TYPES: dict[tuple[tuple[TokenType, str], ...], Mapping[str, object]] = {}
"""What the parser has made of the words of types, before one of these ends."""


class TooComplexError(Exception):
    """The parser repeats itself without end."""


class Client(Postgres):
    """PostgreSQL's own words."""

    INDEX_OFFSET = 0
    """The parser takes it off an array's places, and adds it again."""

    class Parser(PostgresParser):
        """A parser that recognises syntax, not functions."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
        FUNCTION_PARSERS: ClassVar = {k: v for k, v in PostgresParser.FUNCTION_PARSERS.items() if k in _OWN_SYNTAX}
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            k: v for k, v in PostgresParser.NO_PAREN_FUNCTION_PARSERS.items() if k in ("ANY", "CASE")
        }
        UNARY_PARSERS: ClassVar = {
            **PostgresParser.UNARY_PARSERS,
            TokenType.PIPE_SLASH: lambda self: self._parse_prefix(),
            TokenType.PLUS: lambda self: PrefixOperator(this=self._parse_unary(), operator="+"),
        }
        _taken = 0

        def reset(self) -> None:
            """Begin anew."""
            super().reset()
            self._taken = 0

        def _warn_unsupported(self) -> None:
            """Give up: the parser would keep the text unchanged, and repeat it in the log."""
            raise ParseError("not understood")

        def _advance(self, times: int = 1) -> None:
            """Take a step; nested types and arrays would take twice as many for each level, since all is tried twice."""
            self._taken += 1
            if self._taken > _STEPS * (self._tokens_size + _STEPS):
                raise TooComplexError
            super()._advance(times)

        def _parse_disjunction(self) -> exp.Expr | None:
            """Return an expression: a name or a constant at once where it ends, not through eleven levels of operators."""
            if (constant := self._parse_cast_constant()) is not None:
                return constant
            ahead = 1
            if self._curr.token_type in self.IDENTIFIER_TOKENS:
                while (
                    self._type_ahead(ahead) is TokenType.DOT and self._type_ahead(ahead + 1) in self.IDENTIFIER_TOKENS
                ):
                    ahead += 2
            elif self._curr.token_type not in _CONSTANTS:
                return super()._parse_disjunction()
            atom = self._parse_atom() if self._type_ahead(ahead) in _ENDS else None
            return super()._parse_disjunction() if atom is None else atom

        def _parse_unary(self) -> exp.Expr | None:
            """Return an operand; the type of a constant is remembered, as it was read."""
            if (constant := self._parse_cast_constant()) is not None:
                return constant
            begin, end = self._type_of_constant()
            operand = super()._parse_unary()
            if end and self._index == end and isinstance(operand, exp.Cast) and len(_TYPES) < _MOST_TYPES:
                inside = operand.this.this if isinstance(operand.this, exp.Paren) else operand.this
                if isinstance(inside, exp.Literal) and plain_kind(operand.to) is not None:
                    _TYPES[self._words(begin, end)] = dict(operand.to.args)
            return operand

        def _parse_cast_constant(self) -> exp.Expr | None:
            """Return a constant of a type that was read before, at once: PostgreSQL writes every constant so.

            (1)::double precision
            """
            begin, end = self._type_of_constant()
            made = _TYPES.get(self._words(begin, end)) if end else None
            if made is None:
                return None
            in_brackets = self._curr.token_type is TokenType.L_PAREN
            token = self._next if in_brackets else self._curr
            constant: exp.Expr = self.PRIMARY_PARSERS[token.token_type](self, token)  # type: ignore[no-untyped-call]
            self._advance(end - self._index)
            inside = exp.Paren(this=constant) if in_brackets else constant
            return exp.Cast(this=inside, to=exp.DataType(**made))

        def _type_of_constant(self) -> tuple[int, int]:
            """Return where the type begins and ends that a constant is cast to, if that may be a whole operand; else 0."""
            at = int(self._curr.token_type is TokenType.L_PAREN)
            if self._type_ahead(at) not in _CONSTANTS or (at and self._type_ahead(2) is not TokenType.R_PAREN):
                return 0, 0
            colons = 1 + 2 * at
            if self._type_ahead(colons) is not TokenType.DCOLON:
                return 0, 0
            begin = self._index + colons + 1
            for place in range(begin + 1, min(begin + 1 + _LONGEST_TYPE, self._tokens_size)):
                if self._tokens[place].token_type in _CAST_ENDS:
                    return begin, place
            return begin, 0

        def _parse_types(
            self,
            check_func: bool = False,
            schema: bool = False,
            allow_identifiers: bool = True,
            with_collation: bool = False,
        ) -> exp.Expr | None:
            """Return a type; an operand ARRAY[…] is none, and is not read as one first, with all that is in it."""
            if check_func and self._curr.token_type is TokenType.ARRAY and self._type_ahead(1) is TokenType.L_BRACKET:
                return None
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

        def _parse_bracket_key_value(self, is_map: bool = False) -> exp.Expr | None:
            """Return one element of an array: a constant at once, behind which neither a name nor a slice can stand."""
            if (constant := self._parse_cast_constant()) is not None:
                return constant
            if self._curr.token_type in _CONSTANTS and self._type_ahead(1) in _CAST_ENDS:
                return self._parse_atom()
            return super()._parse_bracket_key_value(is_map)

        def _words(self, begin: int, end: int) -> tuple[tuple[TokenType, str], ...]:
            """Return the words between two places."""
            return tuple((token.token_type, token.text) for token in self._tokens[begin:end])

        def _parse_join(
            self,
            skip_join_token: bool = False,
            parse_bracket: bool = False,
            alias_tokens: Collection[TokenType] | None = None,
        ) -> exp.Join | None:
            """Return a join; the name that USING gives to its columns is kept beside it."""
            join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
            if join is not None and join.args.get("using") and self._match(TokenType.ALIAS):
                join.set(JOINED_AS, self._parse_id_var())
            return join

        def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
            """Return what stands in brackets; PostgreSQL writes so what is joined to LATERAL behind a comma."""
            if not table or self._curr.token_type is not TokenType.LATERAL:
                return super()._parse_wrapped_select(table)
            lateral = self._parse_lateral()
            if lateral is not None:
                lateral.set("joins", list(self._parse_joins()))
            return lateral

        def _parse_prefix(self) -> exp.Expr:
            """Return what an operator before a sum takes, which binds less than what is in one: @ fare - tip."""
            operator = self._prev.text
            return PrefixOperator(this=self._parse_term(), operator=operator)

        def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
            """Return what stands before IS and behind it; UNKNOWN is another word for NULL, which is kept."""
            unknown = "UNKNOWN" in (self._curr.text.upper(), self._next.text.upper() if self._next else "")
            condition = super()._parse_is(this)
            inside = condition.this if isinstance(condition, exp.Not) else condition
            if unknown and isinstance(inside, exp.Is):
                inside.set("unknown", value=True)
            return condition

        def _parse_function_call(
            self,
            functions: dict[str, Callable[..., exp.Expr]] | None = None,
            anonymous: bool = False,
            optional_parens: bool = True,
            any_token: bool = False,
        ) -> exp.Expr | None:
            """Return a call; a name in quotes is that of a function, whose arguments have no grammar of their own.

            "position"('abc', 'b')  is what  position('b' IN 'abc')  means
            """
            quoted = self._curr.token_type is TokenType.IDENTIFIER
            return super()._parse_function_call(functions, anonymous or quoted, optional_parens, any_token)

        def _type_ahead(self, places: int) -> TokenType | None:
            """Return what the token is that stands so many places behind this one; None behind the last."""
            at = self._index + places
            return self._tokens[at].token_type if at < self._tokens_size else None

    Generator = ClientGenerator


_CLIENT = Client()
_VOCABULARY = Vocabulary(Client.Tokenizer.KEYWORDS, Client.Tokenizer.SINGLE_TOKENS)
_REPEATED = re.compile(r"(?:ab?c)*+")
_PRECISE = re.compile(r"(?<=::)interval\((\d)\)")
"""A type that the parser does not read, but by a name that stands for it."""


class _OfThread(threading.local):
    """A generator for one thread: to make one takes as long as to write a few words."""

    def __init__(self) -> None:
        self.generator = _CLIENT.generator(
            normalize_functions=False, comments=False, unsupported_level=ErrorLevel.RAISE
        )


_OWN = _OfThread()


def require_faithful_parser() -> None:
    """See that statements are read as they are written.

    Before Python 3.11.5 (its gh-106052) what is repeated once and for all, as everything is by which the lexer knows a
    token, takes in more than it matches.

    Raises:
        ConfigError: Python is too old.
    """
    if _REPEATED.fullmatch("a"):
        raise ConfigError(
            f"statements would be misread: regular expressions of Python {platform.python_version()} are faulty",
            hint="Use Python 3.11.5 or later.",
        )


def parse_query(text: str) -> exp.Query | None:
    """Return the tree of one query in PostgreSQL's words; None where the parser can't read it.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        text = _PRECISE.sub(r"interval_\1_", text)
        parser_tokens = _VOCABULARY.known_tokens(tuple(tokens(text)))
        trees = [] if parser_tokens is None else _CLIENT.parser().parse(parser_tokens, text)
    except (SqlglotError, DpsqlError, TooComplexError):
        return None
    return trees[0] if len(trees) == 1 and isinstance(trees[0], exp.Query) else None


def render(node: exp.Expr) -> str:
    """Return `node` as PostgreSQL text, function names as they were written."""
    try:
        return _OWN.generator.generate(node, copy=False)
    except UnsupportedError:
        raise Unsupported(
            "this statement can't be written again as PostgreSQL reads it", because="not-written"
        ) from None


_LONGEST = 80
"""Characters of an expression in a message."""


def excerpt(node: exp.Expr) -> str:
    """Return `node` for a message: a long one ends behind a word, with dots for the rest."""
    text = render(node)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"


# Literals with the types that PostgreSQL says they are of: 'cash'::text, (5)::double precision.


def literal_text(node: exp.Expr) -> str | None:
    """Return a text that is written as one, for any type of text that it is said to be of; None of anything else."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES):
        node = node.this
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def without_literal_type(node: exp.Expr) -> exp.Expr:
    """Return a literal without the types that it is said to be of; anything else unchanged."""
    inside = node
    while isinstance(inside, (exp.Paren, exp.Cast)):
        inside = inside.this
    return inside if isinstance(inside, exp.Literal) else node
