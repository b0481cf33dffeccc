"""PostgreSQL's grammar with every function kept by its own name.

sqlglot knows hundreds of functions by class and writes some of them back in another form (`to_char` through strftime, for
one). Here a function call stays what was written, so that what is post-processing reaches PostgreSQL unchanged, and
what is private is looked up by name in `functions.py`.
"""

import platform
import re
import threading
from collections.abc import Callable, Collection
from importlib.abc import SourceLoader
from typing import ClassVar

import sqlglot.generator
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, UnsupportedError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import TokenType

from dpsql.errors import ConfigError, DpsqlError, Unsupported
from dpsql.lexer.tokens import tokens
from dpsql.rewrite.syntax.read.generator import JOINED_AS, ClientGenerator, Prefixed
from dpsql.rewrite.syntax.read.parser_tokens import Vocabulary

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
            return Prefixed(this=self._parse_term(), operator=operator)

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


def check_parser() -> None:
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


def parsed(text: str) -> exp.Query | None:
    """Return the tree of one query in PostgreSQL's words; None where the parser can't read it.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        text = _PRECISE.sub(r"interval_\1_", text)
        parser_tokens = _VOCABULARY.told(tuple(tokens(text)))
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
