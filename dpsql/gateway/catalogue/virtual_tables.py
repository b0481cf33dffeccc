"""The tables `dpsql.budget` and `dpsql.charges`: what a role may still spend and what it has spent, asked in SQL."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import Ledger
from dpsql.accounting.privacy_loss import show_down
from dpsql.errors import DpsqlError, Unsupported
from dpsql.gateway.plans.placeholders import placeholder
from dpsql.policy.model import Period
from dpsql.question import Cancellation
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.mentions import reads
from dpsql.rewrite.syntax.read.parse import Query, ReadQuery, parse
from dpsql.rewrite.syntax.whole.analyze import asked_statement
from dpsql.rewrite.syntax.whole.found import Kind
from dpsql.rewrite.syntax.whole.writing import written
from dpsql.shadow import splice

ACCOUNTS = r'\bdpsql"?\s*\.\s*"?(?:budget|charges)\b'
"""What finds the names of the tables in a text."""
_NAMED = re.compile(ACCOUNTS, re.IGNORECASE)
_MOST_CHARGES = 10_000
_LONGEST = 2_000
"""Characters of a statement that are shown."""
_LONGEST_READ = 32_000
"""Characters of a statement that is read."""
_TABLES = ("budget", "charges")
_BUDGET = {
    "unit_kind": "text", "period": "text", "renews": "timestamp with time zone", "epsilon_total": "numeric",
    "epsilon_spent": "numeric", "epsilon_left": "numeric", "delta_total": "numeric", "delta_spent": "numeric",
    "delta_left": "numeric", "per_query_epsilon": "numeric",
}  # fmt: skip
_CHARGES = {
    "charge_id": "bigint", "made_at": "timestamp with time zone", "user_name": "text", "unit_kind": "text",
    "epsilon": "numeric", "delta": "numeric", "statement": "text",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AccountsStatement:
    """A statement that reads the tables of accounts."""

    text: str
    probes: tuple[str, ...]
    """Its query, where the shadow does not look at that when it describes the statement."""


def accounts_statement(text: str) -> AccountsStatement | None:
    """Return the statement if it reads the tables of accounts, else None.

    Raises:
        Unsupported: it is too long to tell what else it does.
    """
    if _NAMED.search(text) is None or not reads(text, _TABLES):
        return None
    if len(text) > _LONGEST_READ:
        raise Unsupported(
            f"a statement that reads dpsql.budget or dpsql.charges has at most {_LONGEST_READ:,} characters",
            because="accounts-in-long-statement",
            hint="Send it by itself.",
        )
    asked = asked_statement(text)
    return None if asked is None else AccountsStatement(text, asked.probes)


def with_accounts(
    asked: AccountsStatement, read: ReadQuery, account: Account, ledger: Ledger, cancellation: Cancellation
) -> str:
    """Return the statement over what the ledger says now, of the account's own role."""
    try:
        statement = parse(asked.text, read) or written(asked.text, _TABLES, _kind, read)
    except DpsqlError:
        statement = None
    if statement is None:
        return asked.text  # of which PostgreSQL says what it is
    contents = {
        "budget": _budget(account, ledger, cancellation),
        "charges": _charges(account, ledger, cancellation),
    }
    return statement.text([_with_contents(query, contents) for query in statement.queries])


def _kind(tree: exp.Query) -> Kind:
    return Kind.ANSWER if any(_is_ours(table) for table in tree.find_all(exp.Table)) else Kind.PUBLIC


def _with_contents(query: Query, contents: Mapping[str, str]) -> str:
    tree = query.tree.copy()
    for table in [t for t in tree.find_all(exp.Table) if _is_ours(t)]:
        name = fold(table.this)
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        stand_in = exp.to_identifier(placeholder(query, name), quoted=True)
        table.replace(exp.Table(this=stand_in, alias=alias.copy()))
    text = render(tree)
    for name, rows in contents.items():
        text = text.replace(f'"{placeholder(query, name)}"', rows)
    return text


def _is_ours(table: exp.Table) -> bool:
    return fold(table.args.get("db")) == "dpsql" and fold(table.this) in _TABLES


def _budget(account: Account, ledger: Ledger, cancellation: Cancellation) -> str:
    balance, role = ledger.balance(account, cancellation), account.role
    whole, spent, left = role.budget.total, balance.role_spent, balance.role_left
    row: Sequence[str | None] = (
        role.protects,
        None if role.budget.period is Period.NEVER else role.budget.period.value,
        None if balance.renews is None else f"{balance.renews} 00:00:00+00",
        show_down(whole.epsilon),
        show_down(spent.epsilon),
        show_down(left.epsilon),
        show_down(whole.delta),
        show_down(spent.delta),
        show_down(left.delta),
        show_down(role.per_query.epsilon),
    )
    return splice.table(tuple(_BUDGET), tuple(_BUDGET.values()), [row])


def _brief(statement: str) -> str:
    """Return a statement, a long one cut short: many long ones would be too much for the shadow."""
    return statement if len(statement) <= _LONGEST else f"{statement[:_LONGEST]}…"


def _charges(account: Account, ledger: Ledger, cancellation: Cancellation) -> str:
    entries = ledger.entries(account.role.name, _MOST_CHARGES, cancellation)
    rows = [
        (
            str(i),
            e.time.isoformat(" "),
            e.user,
            e.kind,
            show_down(e.cost.epsilon),
            show_down(e.cost.delta),
            _brief(e.statement),
        )
        for i, e in enumerate(reversed(entries), 1)
    ]
    return splice.table(tuple(_CHARGES), tuple(_CHARGES.values()), rows)
