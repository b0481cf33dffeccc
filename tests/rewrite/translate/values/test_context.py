"""What every translated expression obeys, whatever the construct."""

import pytest
import sqlglot

from dpsql.errors import TooComplex, Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.translate.values.context import Translator
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

DEEP = 25
NAMES_IT_TWICE = ("({} BETWEEN 1 AND 2)::int", "nullif({}, 1.5)", "({} <> 3)::int")


def nested(form: str, times: int, inner: str) -> str:
    """Return `form` around itself."""
    for _ in range(times):
        inner = form.replace("{}", inner)
    return inner


@pytest.mark.parametrize("form", NAMES_IT_TWICE)
def test_what_grows_with_every_step_is_refused_at_once(form: str, policy: Policy, world: World) -> None:
    """Twice as large 25 times over would keep the gateway busy for weeks, before anything is paid."""
    sql = f"SELECT count(*) FROM rides WHERE {nested(form, DEEP, 'seats')} = 1"
    with pytest.raises(
        (TooComplex, Unsupported), match=r"takes \d,\d+ operations a row, the limit is 5,000|takes too long to bind"
    ):
        measurements(sql, policy, world, Memory(policy))


@pytest.mark.parametrize("form", NAMES_IT_TWICE)
def test_a_few_steps_are_not(form: str, policy: Policy, world: World) -> None:
    """The limit is far from what people write."""
    sql = f"SELECT count(*) FROM rides WHERE {nested(form, 2, 'seats')} = 1"
    assert measurements(sql, policy, world, Memory(policy))


def test_a_word_of_the_parser_that_no_rule_reads_is_refused(translator: Translator) -> None:
    """Another version of the parser may say NOT beside a node: that is not taken for the node without it."""
    compared = sqlglot.parse_one("rides.seats = 1", read="postgres")
    assert translator.expression(compared)
    compared.set("negate", True)
    with pytest.raises(Unsupported) as refusal:
        translator.expression(compared)
    assert refusal.value.because == "construct-not-known"
