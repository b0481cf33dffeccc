"""Every form of SQL that is written as another means the same: PostgreSQL answers both over random tables.

Forms change the tree of a statement, one after the other. Here each step is written as text, and PostgreSQL runs what
there was before it and what there is behind it. A form that is added is judged with the others.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlglot import exp

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy, Table
from dpsql.question import Settings
from dpsql.rewrite.bind.bound_reader import BoundReader
from dpsql.rewrite.syntax.forms.decorrelate import decorrelate
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import parse
from dpsql.rewrite.syntax.whole import scopes
from dpsql.rewrite.syntax.whole.analyze import expand_views
from dpsql.rewrite.syntax.whole.scopes import FORMS, find
from tests.queries.forms import forms
from tests.queries.test_golden import ANSWERED as GOLDEN
from tests.support import fix_shop
from tests.support.dirt import rides, trips
from tests.support.fix_world import World, fetched, running
from tests.support.memory import Memory
from tests.support.records import ZONES, Row
from tests.support.samples import examples, spread
from tests.support.served import write_table
from tests.support.shop_generator import written
from tests.support.shop_statements import ANSWERED as OF_THE_SHOP

_UNITS = 12
"""Whose rows there are."""
_OURS = """
CREATE SCHEMA dpsql;
CREATE FUNCTION dpsql.margin(anyelement) RETURNS float8 LANGUAGE sql AS 'SELECT NULL::float8';
CREATE FUNCTION public.middle(float8[]) RETURNS float8 LANGUAGE sql AS
  'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest($1) AS u (x)';
CREATE AGGREGATE public.median(float8) (sfunc = array_append, stype = float8[], finalfunc = public.middle, initcond = '{}');
"""


_OF_SCOPES = frozenset({"_name_columns_below", "wrong"})


@dataclass(frozen=True, slots=True)
class Step:
    """What a form made of a statement."""

    form: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Judge:
    """A shadow that binds statements, and sessions of databases that have all tables as they are seen."""

    world: World
    sessions: Sequence[psycopg.Connection]

    def steps(self, sql: str, patched: pytest.MonkeyPatch) -> list[Step]:
        """Return what each form changes of a statement, until it is refused."""
        tree, made = self._tree(sql), list[Step]()
        if tree is None:
            return made
        nodes, policy = expand_views(tree, self.world.policy), self.world.policy
        text = render(tree)

        def noted(form: Callable[..., Any], name: str) -> Callable[..., Any]:
            def run(*args: object, **named: object) -> object:
                nonlocal text
                result = form(*args, **named)
                after = render(tree)
                if after != text:
                    made.append(Step(name, text, after))
                    text = after
                return result

            return run

        with patched.context() as patch:
            for module, name, form in other_forms():
                patch.setattr(module, name, noted(form, name))
            every = [replace(form, reword=noted(form.reword, form.reword.__name__)) for form in FORMS]
            patch.setattr(scopes, "FORMS", every)
            try:
                find(tree, policy, nodes)
            except DpsqlError:
                return made  # what was made of it before that means the same, too
        return made

    def _tree(self, sql: str) -> exp.Query | None:
        try:
            statement = parse(sql, BoundReader(self.world.oracle(Settings())))
        except DpsqlError:
            return None
        return statement.queries[0].tree if statement is not None else None

    def result(self, sql: str) -> str | None:
        """Return what all forms together make of a statement; None where it is refused."""
        tree = self._tree(sql)
        try:
            if tree is not None:
                find(tree, self.world.policy, expand_views(tree, self.world.policy))
        except DpsqlError:
            return None
        return None if tree is None else render(tree)

    def differs(self, step: Step) -> bool:
        """Return whether PostgreSQL says two things of the same tables."""
        return any(_answer(session, step.before) != _answer(session, step.after) for session in self.sessions)


def other_forms() -> Iterator[tuple[ModuleType, str, Callable[..., object]]]:
    """Yield all else that changes a tree, where it is called."""
    in_order = {form.reword for form in FORMS}
    for module in (scopes, scopes):
        for name, value in list(vars(module).items()):
            ours = inspect.isfunction(value) and (".syntax.forms." in value.__module__ or name in _OF_SCOPES)
            if ours and value not in in_order:
                yield module, name, value


def _answer(session: psycopg.Connection, sql: str) -> object:
    try:
        return Counter(tuple(map(_cell, row)) for row in fetched(session, sql).rows)
    except psycopg.errors.DataException as error:  # which may depend on which rows are looked at first
        return str(error.sqlstate)


def _cell(cell: object) -> object:
    return f"{cell:.9g}" if isinstance(cell, float) else str(cell)


def _database(world: World, name: str, tables: dict[str, Sequence[Row]]) -> psycopg.Connection:
    world.owner.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
    world.owner.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    session = world.connect("dpsql_owner", name)
    session.execute("CREATE SCHEMA seen")
    for table, rows in tables.items():
        write_table(session, "seen", world.policy.tables[table], rows)
        session.execute(SQL("ALTER TABLE {} SET SCHEMA public").format(Identifier("seen", table)))
    views = list(world.policy.views.values())
    while views:
        view = views.pop(0)
        try:
            session.execute(f"CREATE VIEW public.{view.name} AS {view.query}".encode())
        except psycopg.errors.UndefinedTable:
            views.append(view)  # it reads another one
    session.execute(_OURS)
    session.execute("SET statement_timeout = '20s'")
    return session


def _complete(rows: Sequence[Row], table: Table) -> list[Row]:
    """Return the rows that every statement sees."""
    needed = [name for name, column in table.columns.items() if not column.nullable]
    return [row for row in rows if all(row[name] is not None for name in needed)]


def _rides(policy: Policy) -> dict[str, Sequence[Row]]:
    tables = {"rides": rides(policy), "trips": trips(policy)}
    units = {"rides": "rider", "trips": "passenger_id"}
    seen = {name: _complete(rows, policy.tables[name]) for name, rows in tables.items()}
    few = {name: [row for row in rows if row[units[name]] in range(_UNITS)] for name, rows in seen.items()}
    return {**few, "zones": ZONES}


def _shop(policy: Policy, seed: int) -> dict[str, Sequence[Row]]:
    tables = fix_shop.made_up(seed, size=8, most=8)
    owned = fix_shop.without(tables, None)
    rows = {name: fix_shop.completed(policy, name, owned[name]) for name in fix_shop.PROTECTED}
    return {**fix_shop.PUBLIC, **{name: _complete(of, policy.tables[name]) for name, of in rows.items()}}


@pytest.fixture(scope="module")
def in_town(world: World) -> Iterator[Judge]:
    """Judge statements over rides and trips."""
    session = _database(world, "judged_rides", _rides(world.policy))
    yield Judge(world, [session])
    session.close()


@pytest.fixture(scope="module")
def in_the_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Judge statements over the shop's tables, of several contents."""
    policy = fix_shop.read_shop(tmp_path_factory.mktemp("shop"))
    with running(policy, fix_shop.USERS, Memory(policy, public=fix_shop.PUBLIC)) as world:
        sessions = [_database(world, f"judged_{seed}", _shop(policy, seed)) for seed in (1, 2, 3)]
        yield Judge(world, sessions)
        for session in sessions:
            session.close()


def _of_rides() -> list[str]:
    return [golden.sql for golden in GOLDEN] + [form.sql for form in forms() if form.about == "taxi"]


def _cuts_ties(step: Step) -> bool:
    """Return whether rows with one value come into one group, where PostgreSQL's ntile parts them: the form says so."""
    return "ntile(" in step.before and "quantiles of" in step.after


def test_over_rides(in_town: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden statements, and what was once taken for something else; every form changes some of them."""
    steps = [step for text in _of_rides() for step in in_town.steps(text, monkeypatch)]
    assert [step for step in steps if in_town.differs(step) and not _cuts_ties(step)] == []
    changing = {form.reword.__name__ for form in FORMS} | {"make_distinct", "decorrelate", "put_places_below"}
    assert changing - {"number_by_key"} <= {step.form for step in steps}


def test_a_form_changes_nothing_without_its_kinds_of_nodes(in_town: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """All forms, looked for in every SELECT, make of each statement what those make of it that it may have."""
    texts = [text for text in _of_rides() if spread(text, examples(3, 1)) == 0]
    made = [in_town.result(text) for text in texts]
    anything = [replace(form, made_of=(exp.Expr,)) for form in FORMS]
    monkeypatch.setattr(scopes, "FORMS", anything)
    assert [in_town.result(text) for text in texts] == made
    assert len([result for result in made if result is not None]) > len(texts) / 2


def test_over_the_shop(in_the_shop: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements by hand, and made-up ones."""
    texts = [*OF_THE_SHOP, *(form.sql for form in forms() if form.about == "shop")]
    texts += [written(number).sql for number in range(examples(100, 10_000))]
    steps = [step for text in texts for step in in_the_shop.steps(text, monkeypatch)]
    assert len(steps) > len(texts) / 4
    assert "number_by_key" in {step.form for step in steps}
    assert [step for step in steps if in_the_shop.differs(step)] == []


def test_a_mistake_would_be_seen(in_the_shop: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A join that loses the rows without a partner."""

    def wrong(select: exp.Select, *args: object, **named: object) -> object:
        made = decorrelate(select, *args, **named)  # type: ignore[arg-type]
        for join in select.args.get("joins") or ():
            join.set("side", None)
        return made

    monkeypatch.setattr(scopes, "decorrelate", wrong)
    sql = "SELECT count(*) FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.buyer = c.customer) < 2"
    (step,) = in_the_shop.steps(sql, monkeypatch)
    assert in_the_shop.differs(step)
