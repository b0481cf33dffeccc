"""A translator of expressions over `rides`."""

import pytest
import sqlglot
from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.read.dialect import Client
from dpsql.rewrite.syntax.whole.scopes import find
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.rows.relations import Tracker
from dpsql.rewrite.translate.values.context import Translator
from tests.support.fix_world import World


@pytest.fixture(scope="module")
def translator(policy: Policy, world: World) -> Translator:
    """The translator of expressions over `rides`."""
    tracker = Tracker(
        policy, policy.roles["owner"], Constants((), world.oracle()), world.public.declared, lambda _: frozenset()
    )
    tree = sqlglot.parse_one("SELECT count(*) FROM rides", read=Client)
    assert isinstance(tree, exp.Query)
    (scope,) = find(tree, policy).scopes
    return tracker.scope(scope.select, scope.ctes)[1]
