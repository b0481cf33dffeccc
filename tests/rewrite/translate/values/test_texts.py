"""Texts that may be anything: what engines make of them as PostgreSQL does; that they do is tried by `texts.sql`."""

import pytest

from dpsql.errors import Unsupported
from dpsql.rewrite.translate.values.context import Translator
from tests.rewrite.translate.shown import translated
from tests.support.fix_world import World

TRANSLATED = {
    "note < 'b'": "lt(note, b)",
    "note ILIKE 'A%'": "like(lowered(note), a%)",
    "lower(note) LIKE 'a%'": "like(lowered(note), a%)",
    "upper(note) = 'A'": "eq(uppered(note), A)",
    "lower(note) IN ('a', 'b')": "in(lowered(note), a, b)",
    "length(note)": "length(note)",
    "note NOT LIKE 'a%'": "not(like(note, a%))",
    "note !~~* 'A%'": "not(like(lowered(note), a%))",
    "left(note, 2)": "cut[2](note)",
    "substring(note FROM 1 FOR 2)": "cut[2](note)",
    "substr(note, 1, 2)": "cut[2](note)",
    "note ~ '^a.b'": "like(note, a_b%)",
    "note ~ 'a.*b.+$'": "like(note, %a%b_%)",
    r"note ~ '^50%\.$|_'": r"or(like(note, 50\%.), like(note, %\_%))",
    "note ~* 'A'": "like(folded(note), %a%)",
}
REFUSED = {
    "note ILIKE 'é'": "letters-beyond-ascii",
    "note ~* 'é'": "letters-beyond-ascii",
    "lower(note) = 'é'": "function-needs-domain",
    "lower(note)": "function-needs-domain",
    "lower(note) < paid": "function-needs-domain",
    "left(note, -1)": "function-needs-domain",
    "substring(note FROM 2 FOR 2)": "function-needs-domain",
    "substring(note FROM 1 FOR -1)": "function-needs-domain",
    "substring(note, '1')": "function-needs-domain",
    "note ~ 'a+'": "regular-expression",
    "note ~ '[ab]'": "regular-expression",
    "note ~ '(?i)a'": "regular-expression",
    r"note ~ '\d'": "regular-expression",
    r"note ~ 'a\|b'": "regular-expression",
    "note ~ 'a^b'": "regular-expression",
}
"""Each with the code of the rule that it breaks."""


@pytest.mark.parametrize("sql", TRANSLATED)
def test_what_all_understand_alike_is_passed_on(sql: str, translator: Translator) -> None:
    """Characters, their order, LIKE, and the 26 letters."""
    assert translated(translator, sql) == TRANSLATED[sql]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_engines_may_understand_otherwise_is_refused(sql: str, translator: Translator) -> None:
    """By the rule that it breaks."""
    with pytest.raises(Unsupported) as refusal:
        translated(translator, sql)
    assert refusal.value.because == REFUSED[sql]


@pytest.mark.parametrize(("function", "characters"), [("lower", {"\u0130", "\u212a"}), ("upper", {"\u0131", "\u017f"})])
def test_two_letters_beyond_ascii_have_ascii_ones(function: str, characters: set[str], world: World) -> None:
    """As PostgreSQL's own functions say, which ILIKE uses: no other text is one of ASCII once its letters are small."""
    question = (
        f"SELECT chr(n) FROM generate_series(128, 131071) AS n WHERE n NOT BETWEEN 55296 AND 57343 "
        f"AND ascii({function}(chr(n))) < 128"
    )
    assert {letter for (letter,) in world.owner.execute(question)} == characters
