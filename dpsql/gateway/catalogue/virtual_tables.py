"""The tables `dpsql.budget`, `charges`, `registry`, `audit`, `profile`, `columns`, `releases`, `standing`: spent and told."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from itertools import islice

from sqlglot import exp

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import USUAL_LINES, Entry, Ledger, StandingQuestion, usual_price
from dpsql.accounting.privacy_loss import compose, show_down, show_up
from dpsql.errors import AccessDenied, DpsqlError, Unsupported
from dpsql.gateway.plans.tracked_scopes import placeholder
from dpsql.interrupt import until_cancelled
from dpsql.policy.model import Period
from dpsql.privacy.release.release import Profile
from dpsql.question import Cancellation
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Query, ReadQuery, parse, reads
from dpsql.rewrite.syntax.whole.analyze import asked_statement
from dpsql.rewrite.syntax.whole.scopes import Kind
from dpsql.rewrite.syntax.whole.writing_statements import parse_writing
from dpsql.shadow import splice
from dpsql.trail.record import ChainedLine

# The rows of `dpsql.registry`: what was released, and what each answer has cost in all.

REGISTRY = {
    "role_name": "text", "unit_kind": "text", "statement": "text", "epsilon": "numeric", "delta": "numeric",
    "first_told": "timestamp with time zone", "last_told": "timestamp with time zone", "times": "bigint",
}  # fmt: skip


def registry_rows(entries: Sequence[Entry], brief: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return a row for each statement of each role, from the ledger's newest lines; `brief` cuts long statements short."""
    told: dict[tuple[str, str, str], list[Entry]] = {}
    # The newest line comes first; rows are in the order in which statements were first told.
    for entry in reversed(entries):
        told.setdefault((entry.role, entry.kind, entry.statement), []).append(entry)
    return [
        (role, kind, brief(statement), show_down(cost.epsilon), show_down(cost.delta), *_when(lines))
        for (role, kind, statement), lines in told.items()
        for cost in (compose(line.cost for line in lines),)
    ]


def _when(lines: Sequence[Entry]) -> tuple[str, str, str]:
    """Return when a statement was charged first and last, and how many times: its parts are charged at one time."""
    times = sorted({line.time for line in lines})
    return times[0].isoformat(" "), times[-1].isoformat(" "), str(len(times))


# The rows of `dpsql.standing`: what was paid for a term, how far it was measured, and until when it is.

STANDING = {
    "role_name": "text", "table_name": "text", "term": "text", "state": "text", "epsilon": "numeric", "statement": "text",
    "began": "timestamp with time zone", "measured_until": "timestamp with time zone", "periods": "bigint",
    "first_period": "date", "last_period": "date", "next_closes": "timestamp with time zone",
}  # fmt: skip


class StandingState(StrEnum):
    """What becomes of a standing question now."""

    STANDS = "stands"
    """What closes is measured."""
    OVER = "over"
    """Its term is over; what was measured is told on."""
    ENDED = "ended"
    """What is declared of its table has changed: it is told no more."""


@dataclass(frozen=True, slots=True)
class ListedQuestion:
    """A standing question, as it is listed."""

    role: str
    question: StandingQuestion
    state: StandingState
    next_closes: datetime | None
    """When the period closes that follows on those that were measured; None if that is not to be known, or there is none."""


def standing_rows(listed: Iterable[ListedQuestion], brief: Callable[[str], str]) -> list[tuple[str | None, ...]]:
    """Return a row for each, oldest first; `brief` cuts long statements short."""
    return [
        (
            each.role,
            each.question.table,
            each.question.term,
            each.state.value,
            show_down(each.question.epsilon),
            brief(each.question.statement),
            each.question.began.isoformat(" "),
            each.question.until.isoformat(" "),
            str(len(each.question.measured)),
            *(each.question.measured[place].isoformat() if each.question.measured else None for place in (0, -1)),
            None if each.next_closes is None else each.next_closes.isoformat(" "),
        )
        for each in listed
    ]


ACCOUNTS = r'\bdpsql"?\s*\.\s*"?(?:budget|charges|registry|audit|profile|columns|releases|standing|take_profile)\b'
"""The pattern that finds the names of the tables in a text."""
_NAMED = re.compile(ACCOUNTS, re.IGNORECASE)
_MOST = 10_000
"""Charges, or lines of the audit trail, that are shown."""
_MOST_QUESTIONS = 2**63 - 1
"""The largest bigint."""
_LONGEST = 2_000
"""Characters of a statement that are shown."""
_LONGEST_READ = 32_000
"""Characters of a statement that is read."""
_OF_A_MOMENT = ("08", "53", "54", "57", "58")
"""Errors that say nothing of a statement: cancels, time limits, what is busy or away."""
_TABLES = ("budget", "charges", "registry", "audit", "profile", "columns", "releases", "standing")
_BUDGET = {
    "unit_kind": "text", "period": "text", "renews": "timestamp with time zone", "epsilon_total": "numeric",
    "epsilon_spent": "numeric", "epsilon_left": "numeric", "delta_total": "numeric", "delta_spent": "numeric",
    "delta_left": "numeric", "per_query_epsilon": "numeric", "usual_epsilon": "numeric", "questions_left": "bigint",
    "epsilon_composed": "numeric",
}  # fmt: skip
_CHARGES = {
    "charge_id": "bigint", "made_at": "timestamp with time zone", "user_name": "text", "unit_kind": "text",
    "epsilon": "numeric", "delta": "numeric", "statement": "text",
}  # fmt: skip
# Not how long a statement took: that may tell of records what no noise covers.
_AUDIT = {
    "line": "bigint", "made_at": "timestamp with time zone", "event": "text", "user_name": "text", "role_name": "text",
    "address": "text", "application": "text", "statement": "text", "parameters": "text[]", "verdict": "text",
    "sqlstate": "text", "rule": "text", "epsilon": "numeric", "delta": "numeric", "releases": "text[]",
    "trial": "text",
}  # fmt: skip
_PROFILE = {
    "table_name": "text", "column_name": "text", "what": "text", "value": "double precision", "margin": "double precision",
}  # fmt: skip
_RELEASES = {
    "epoch": "bigint", "statement": "text", "measured": "text", "groups": "bigint", "epsilon": "numeric",
}  # fmt: skip
_DECLARED_COLUMNS = """SELECT table_name, column_name, type, lower_bound, upper_bound, "values", nullable, description
  FROM dpsql.columns"""
_BEYOND = {
    "table_name": "text", "column_name": "text", "share_below": "double precision", "share_above": "double precision",
}  # fmt: skip
_DIGITS = 4
"""Digits of what a profile tells."""
_FIELDS = (
    "time", "event", "user", "role", "address", "application", "statement", "parameters", "verdict", "code", "rule",
    "epsilon", "delta", "releases", "trial",
)  # fmt: skip
_MOST_READ = 64 * 2**20
"""The most bytes of the trail that are read."""
_MOST_SHOWN, _LONGEST_SHOWN = 100, 200
"""Parameters of a statement that are shown, and characters of each."""


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
    # The pattern takes next to no time, and most statements end here.
    if _NAMED.search(text) is None or not reads(text, _TABLES):
        return None
    if len(text) > _LONGEST_READ:
        raise Unsupported(
            f"a statement that reads one of dpsql's own tables has at most {_LONGEST_READ:,} characters",
            because="accounts-in-long-statement",
            hint="Send it by itself.",
        )
    asked = asked_statement(text)
    return None if asked is None else AccountsStatement(text, asked.probes)


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """The answers that a role was given."""

    epoch: int
    statement: str
    measured: str
    groups: int
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Books:
    """The sources that the tables are read from."""

    ledger: Ledger
    trail: Callable[[], Iterable[ChainedLine]]
    """Returns the audit trail's lines, the newest first."""
    cancellation: Cancellation
    profile: Callable[[], Profile]
    """Returns the profile of whole tables."""
    releases: Callable[[], Iterable[KnownRelease]]
    """Returns what the role was told in this epoch, of which all that follows is free."""
    standing: Callable[[], Iterable[ListedQuestion]]
    """Returns the standing questions that the role has paid for, or for an owner all roles."""


def with_accounts(asked: AccountsStatement, read: ReadQuery, account: Account, books: Books) -> str:
    """Return the statement over what the books say now: of the account's own role, and to owners the audit trail of all.

    Raises:
        AccessDenied: it reads the audit trail for a role that is no owner.
    """
    try:
        statement = parse(asked.text, read) or parse_writing(asked.text, _TABLES, _kind, read)
    except DpsqlError as error:
        if error.sqlstate.startswith(_OF_A_MOMENT):
            raise  # in the shadow the tables are empty, which would look as if nothing had been spent
        statement = None
    if statement is None:
        return asked.text  # of which PostgreSQL says what it is
    tables = dict(
        zip(_TABLES, (_budget, _charges, _registry, _audit, _profile, _columns, _releases, _standing), strict=True)
    )
    named = {fold(t.this) for query in statement.queries for t in query.tree.find_all(exp.Table) if _is_ours(t)}
    # Only what is read is computed. So the audit trail is refused to those who read it, and to nobody else.
    contents = {name: rows(account, books) for name, rows in tables.items() if name in named}
    return statement.text([_with_contents(query, contents) for query in statement.queries])


def _kind(tree: exp.Query) -> Kind:
    return Kind.ANSWER if any(_is_ours(table) for table in tree.find_all(exp.Table)) else Kind.PUBLIC


def _with_contents(query: Query, contents: Mapping[str, str]) -> str:
    tree = query.tree.copy()
    for table in [t for t in tree.find_all(exp.Table) if _is_ours(t)]:
        name = fold(table.this)
        # Without an alias it gets its own name as one, so that budget.epsilon_left goes on naming a column.
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name, quoted=True))
        stand_in = exp.to_identifier(placeholder(query, name), quoted=True)
        table.replace(exp.Table(this=stand_in, alias=alias.copy()))
    text = render(tree)
    # Into the text and not the tree, which would have a node for each cell.
    for name, rows in contents.items():
        text = text.replace(f'"{placeholder(query, name)}"', rows)
    return text


def _is_ours(table: exp.Table) -> bool:
    return fold(table.args.get("db")) == "dpsql" and fold(table.this) in _TABLES


def _budget(account: Account, books: Books) -> str:
    balance, role = books.ledger.balance(account, books.cancellation), account.role
    whole, spent, left = balance.role_total, balance.role_spent, balance.user_left
    usual = usual_price(books.ledger.entries(role.name, USUAL_LINES, books.cancellation), role)
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
        show_down(usual.epsilon),
        str(min(balance.questions(usual), _MOST_QUESTIONS)),
        show_up(balance.role_filter.spent.epsilon),
    )
    return splice.released_table(tuple(_BUDGET), tuple(_BUDGET.values()), [row])


def _brief(statement: str) -> str:
    """Return a statement, a long one cut short: many long ones would be too much for the shadow."""
    return statement if len(statement) <= _LONGEST else f"{statement[:_LONGEST]}…"


def _charges(account: Account, books: Books) -> str:
    entries = books.ledger.entries(account.role.name, _MOST, books.cancellation)
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
    return splice.released_table(tuple(_CHARGES), tuple(_CHARGES.values()), rows)


def _registry(account: Account, books: Books) -> str:
    """Return what was told to the role, or to an owner's every one: a row a statement, with all that it has cost."""
    entries = books.ledger.entries(None if account.role.owner else account.role.name, _MOST, books.cancellation)
    return splice.released_table(tuple(REGISTRY), tuple(REGISTRY.values()), registry_rows(entries, _brief))


def _audit(account: Account, books: Books) -> str:
    if not account.role.owner:
        raise AccessDenied(
            "dpsql.audit is for owners: it has the statements of all roles",
            because="audit-for-owners",
            hint="dpsql.charges has those of your own role that cost something.",
        )
    # The trail is read from its end, and shown from its beginning.
    return splice.released_table(tuple(_AUDIT), tuple(_AUDIT.values()), tuple(_newest_lines(books))[::-1])


def _newest_lines(books: Books) -> Iterator[Sequence[str | None]]:
    """Yield the rows of the newest lines: what clients have sent may be long, and is not to fill the memory."""
    read = 0
    for line in until_cancelled(islice(books.trail(), _MOST), books.cancellation):
        yield (str(line.link.number), *(_cell(line.fields.get(name)) for name in _FIELDS))
        read += line.size
        if read > _MOST_READ:
            return


def _profile(account: Account, books: Books) -> str:
    profile = books.profile()
    rows = [
        (line.table, line.column, line.what, _number(line.value), None if line.margin is None else _number(line.margin))
        for line in profile.lines(account.role.protects)
    ]
    return splice.released_table(tuple(_PROFILE), tuple(_PROFILE.values()), rows)


def _columns(_: Account, books: Books) -> str:
    """Return the declared columns, with the shares of values that are known to be beyond their bounds."""
    rows = [
        (name, column, _number(below.value), _number(above.value))
        for name, table in books.profile().tables.items()
        for column, (below, above) in table.beyond.items()
    ]
    beyond = splice.released_table(tuple(_BEYOND), tuple(_BEYOND.values()), rows)
    shares = "beyond.share_below, beyond.share_above"
    both = f"({_DECLARED_COLUMNS}) AS declared LEFT JOIN {beyond} AS beyond USING (table_name, column_name)"
    return f"(SELECT declared.*, {shares} FROM {both})"  # noqa: S608  # numbers and names of the policy, as literals


def _releases(_: Account, books: Books) -> str:
    rows = [
        (
            str(release.epoch),
            _brief(release.statement),
            release.measured,
            str(release.groups),
            show_down(release.epsilon),
        )
        for release in islice(books.releases(), _MOST)
    ]
    return splice.released_table(tuple(_RELEASES), tuple(_RELEASES.values()), rows)


def _standing(_: Account, books: Books) -> str:
    rows = standing_rows(islice(books.standing(), _MOST), _brief)
    return splice.released_table(tuple(STANDING), tuple(STANDING.values()), rows)


def _number(value: float) -> str:
    return f"{value:.{_DIGITS}g}" if value < 10**_DIGITS else f"{value:.0f}"


def _cell(value: object) -> str | None:
    """Return a field as PostgreSQL reads it, long ones cut short."""
    match value:
        case None:
            return None
        case list():
            shown = [None if item is None else str(item)[:_LONGEST_SHOWN] for item in value[:_MOST_SHOWN]]
            return splice.array_text(shown)
        case _:
            return _brief(str(value))
