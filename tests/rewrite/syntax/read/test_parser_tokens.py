"""PostgreSQL's tokens, told to the parser: each is one of the parser's, or several that it knows."""

import pytest

from dpsql.lexer.reader import tokens
from dpsql.rewrite.syntax.read.dialect import _OF_OTHERS, _VOCABULARY, Client
from tests.support.fix_world import World

TOLD = {
    "a !~~ 'it''s'": [("VAR", "a"), ("NOT", "!"), ("LIKE", "~~"), ("STRING", "it's")],
    "E'a\\nb' || B'101'": [("STRING", "a\nb"), ("DPIPE", "||"), ("BIT_STRING", "101")],
    '"q""r".x': [("IDENTIFIER", 'q"r'), ("DOT", "."), ("VAR", "x")],
    "a @> $12": [("VAR", "a"), ("AT_GT", "@>"), ("PARAMETER", "$"), ("NUMBER", "12")],
    "GROUP BY 1.50": [("GROUP_BY", "GROUP BY"), ("NUMBER", "1.50")],
    "anti JOIN qualify": [("VAR", "anti"), ("JOIN", "JOIN"), ("VAR", "qualify")],
    "user-defined": [("VAR", "user"), ("DASH", "-"), ("VAR", "defined")],
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), TOLD.items())
def test_tokens_are_told(text: str, told: list[tuple[str, str]]) -> None:
    """What is one sign to PostgreSQL may be two; words of other systems are names."""
    parser_tokens = _VOCABULARY.known_tokens(tuple(tokens(text)))
    assert parser_tokens is not None
    assert [(token.token_type.name, token.text) for token in parser_tokens] == told
    assert (parser_tokens[0].start, parser_tokens[-1].end) == (0, len(text) - 1)


def test_every_word_of_postgresqls_is_left(world: World) -> None:
    """Those of other systems that are left out are none by which PostgreSQL says anything."""
    words = {str(word) for (word,) in world.owner.execute("SELECT upper(word) FROM pg_get_keywords()").fetchall()}
    assert words.isdisjoint(_OF_OTHERS)
    assert {word for word in Client.Tokenizer.KEYWORDS if word in words} <= _VOCABULARY._words.keys()


def test_what_the_parser_does_not_know_is_not_told() -> None:
    """PostgreSQL writes such numbers nowhere."""
    assert _VOCABULARY.known_tokens(tuple(tokens("1.5e3"))) is None
