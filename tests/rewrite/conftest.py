"""A translator of expressions over `rides`."""

import pytest
import sqlglot
from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.dialect import Client
from dpsql.rewrite.syntax.scopes import find
from dpsql.rewrite.translate.constants import Constants
from dpsql.rewrite.translate.context import Translator
from dpsql.rewrite.translate.relations import Tracker
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
