"""`dpsql budget`: what every role has spent and has left, more for a role, and what was told without a charge."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from dpsql.accounting.balance import Account, Balance, PrivacyFilter
from dpsql.accounting.ledger import USUAL_LINES, usual_price
from dpsql.accounting.privacy_loss import show_down
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks
from dpsql.engines.snapshot.open import days_of_copy
from dpsql.epsilon.advising.advice import decimal
from dpsql.errors import ConfigError
from dpsql.open_ledger import open_ledger
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.policy.load.scalars import delta as delta_of
from dpsql.policy.load.scalars import positive
from dpsql.policy.model import Accounting, DatasetBudget, Policy, Privacy

budget_app = typer.Typer(name="budget", help="See what was spent, and amend it.", invoke_without_command=True)
_Reason = Annotated[str, typer.Option("--reason", help="The reason, for readers of the ledger.")]
_Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help="How much ε.")]
_Delta = Annotated[str, typer.Option("--delta", "-d", help="How much δ.")]


@dataclass(frozen=True, slots=True)
class _Standing:
    """A role's balance, and what its questions cost."""

    balance: Balance
    usual: Privacy

    @property
    def questions(self) -> int:
        """Return for how many more questions both budgets pay."""
        budgets = (self.balance.role_filter, self.balance.dataset_filter)
        return min(each.questions(self.usual) for each in budgets)


@budget_app.callback()
def usual_command(
    context: typer.Context, config: ConfigFile = DEFAULT_CONFIG, *, as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """Show the budgets where nothing else is said."""
    if context.invoked_subcommand is None:
        show_budgets(config, as_json=as_json, as_csv=as_csv)


@budget_app.command("show", epilog="Example: dpsql budget show --json")
@with_exit_code
def show_budgets(config: ConfigFile = DEFAULT_CONFIG, *, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Print what each role has spent in its period, and what the roles of each unit kind have spent together."""
    form, loaded = Form.of(as_json, as_csv), load(config)
    standings = tuple(_standings(loaded))
    # The data set's part is the same in the balance of each role that protects the kind.
    kinds = {standing.balance.account.role.protects: standing.balance for standing in standings}
    if form is Form.JSON:
        roles = {standing.balance.account.role.name: _role(standing) for standing in standings}
        typer.echo(json.dumps({"roles": roles, "unit_kinds": {kind: _kind(b) for kind, b in kinds.items()}}, indent=2))
        return
    names = ("role", "protects", "spent", "left", "questions left", "renews", "account")
    spent = Table(*names, header_style="bold")
    together = Table("data set, unit kind", "in", "spent", "left", header_style="bold")
    for role_standing in standings:
        balance, role = role_standing.balance, role_standing.balance.account.role
        amounts = (_spent(balance.role_spent, balance.role_filter), _amount(balance.role_left))
        questions = f"{role_standing.questions:,} at ε {decimal(role_standing.usual.epsilon, 3)}"
        renews, account = str(balance.renews or "never"), "closed" if balance.closed else "open"
        _add(spent, role.name, role.protects, *amounts, questions, renews, account)
    for kind, balance in kinds.items():
        window = balance.account.dataset.window
        often = "all time" if window is None else f"{window} days"
        _add(
            together,
            kind,
            often,
            _spent(balance.dataset_spent, balance.dataset_filter),
            _amount(balance.dataset_left),
        )
    print_blocks(spent, together, form=form)


@budget_app.command(epilog="Example: dpsql budget grant analyst --epsilon 1 --reason 'the yearly report'")
@with_exit_code
def grant(
    role: Annotated[str, typer.Argument(help="Who may spend more.")],
    epsilon: _Epsilon,
    reason: _Reason,
    delta: _Delta = "0",
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Let a role spend more in its present period; what all roles may spend together stays what it is."""
    loaded, amount, reason = load(config), _privacy(epsilon, delta), _reason(reason)
    _require_role(loaded.policy, role)
    with open_ledger(loaded) as ledger:
        ledger.grant(role, amount, reason)
        balance = ledger.balance(_account(loaded.policy, role), read=days_of_copy(loaded))
    until = f"until {balance.renews}" if balance.renews else "and the budget does not renew"
    typer.echo(f'role "{role}" may spend {_amount(amount)} more, {until}: it has {_amount(balance.role_left)} left')
    shared = balance.dataset_left
    if shared.epsilon < balance.role_left.epsilon or shared.delta < balance.role_left.delta:
        typer.echo(
            f"all roles together have {_amount(shared)} left, and that stays so: the configuration says how much"
        )


@budget_app.command(
    epilog="Example: dpsql budget correct analyst --epsilon 0.5 --reason 'a table of March was published'"
)
@with_exit_code
def correct(
    epsilon: _Epsilon,
    reason: _Reason,
    role: Annotated[str | None, typer.Argument(help="Whose budget pays, and the data set's with it.")] = None,
    delta: _Delta = "0",
    unit: Annotated[str | None, typer.Option("--unit", help="Without a role: the unit kind whose budget pays.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Charge answers that were given without a charge: lost with a ledger, or published elsewhere."""
    loaded, amount, reason = load(config), _privacy(epsilon, delta), _reason(reason)
    policy = loaded.policy
    if (role is None) == (unit is None):
        raise ConfigError("a correction is for a role, or with --unit for a unit kind", hint=f"Units: {_kinds(policy)}")
    if role is not None:
        _require_role(policy, role)
    kind = unit or policy.roles[role or ""].protects
    if kind not in policy.budgets:
        raise ConfigError(f'there is no budget for unit kind "{kind}"', hint=f"Units: {_kinds(policy)}")
    with open_ledger(loaded) as ledger:
        # No role's budget pays where none is named, and the data set's does.
        ledger.correct(role or "", kind, amount, reason)
    who = f'role "{role}" and unit kind "{kind}" are' if role else f'unit kind "{kind}" is'
    typer.echo(f"{who} charged {_amount(amount)}: {reason}")


def _standings(loaded: Config) -> Iterator[_Standing]:
    with open_ledger(loaded) as ledger:
        for name, role in loaded.policy.roles.items():
            price = usual_price(ledger.entries(name, USUAL_LINES), role)
            yield _Standing(ledger.balance(_account(loaded.policy, name), read=days_of_copy(loaded)), price)


def _account(policy: Policy, role: str) -> Account:
    # Nobody's, so that no share of a user's is looked at, but the whole role.
    return Account("", policy.roles[role], policy.budgets[policy.roles[role].protects])


def _require_role(policy: Policy, role: str) -> None:
    if role not in policy.roles:
        raise ConfigError(f'there is no role "{role}"', hint=f"Roles: {', '.join(policy.roles)}")


def _kinds(policy: Policy) -> str:
    return ", ".join(policy.budgets)


def _privacy(epsilon: str, delta: str) -> Privacy:
    """Return an amount, as a configuration has it; ε may be a fraction, 1/3.

    Raises:
        ConfigError: it is none.
    """
    above, _, below = epsilon.partition("/")
    try:
        return Privacy(positive(above) / positive(below or "1"), delta_of(delta))
    except ValueError:
        raise ConfigError(
            f"--epsilon {epsilon[:50]} --delta {delta[:50]} is no amount to add",
            hint="ε is more than 0, and at most 1e99; δ is from 0 to less than 1. No charge is taken back.",
        ) from None


def _reason(text: str) -> str:
    """Return a reason that says something, in one line."""
    said = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    if not said:
        raise ConfigError("--reason says nothing", hint="Later readers of the ledger want to know why.")
    return said


def _role(standing: _Standing) -> Mapping[str, object]:
    balance, role = standing.balance, standing.balance.account.role
    return {
        "protects": role.protects,
        "period": role.budget.period.value,
        "renews": None if balance.renews is None else str(balance.renews),
        "total": _numbers(balance.role_total),
        "granted": _numbers(balance.granted),
        "accounting": balance.role_filter.accounting.value,
        "spent": _numbers(balance.role_spent),
        "composed": _numbers(balance.role_filter.spent),
        "left": _numbers(balance.role_left),
        "usual_price": _numbers(standing.usual),
        "questions_left": standing.questions,
        "account": "closed" if balance.closed else "open",
    }


def _kind(balance: Balance) -> Mapping[str, object]:
    budget: DatasetBudget = balance.account.dataset
    return {
        "window_days": budget.window,
        "total": _numbers(budget.total),
        "accounting": balance.dataset_filter.accounting.value,
        "spent": _numbers(balance.dataset_spent),
        "composed": _numbers(balance.dataset_filter.spent),
        "left": _numbers(balance.dataset_left),
    }


def _numbers(privacy: Privacy) -> Mapping[str, str]:
    return {"epsilon": show_down(privacy.epsilon), "delta": show_down(privacy.delta)}


def _add(table: Table, *cells: str) -> None:
    """Add a row whose cells are not markup."""
    table.add_row(*(Text(cell) for cell in cells))


def _spent(added: Privacy, budget: PrivacyFilter) -> str:
    """Write what was spent: with zCDP the sum of what was charged, and what that comes to."""
    if budget.accounting is Accounting.SUM:
        return _amount(added)
    return f"{_amount(added)}; with zCDP {_amount(budget.spent)}"


def _amount(privacy: Privacy) -> str:
    """Write ε, and δ where there is any, with three digits; JSON has them all."""
    epsilon = f"ε {decimal(privacy.epsilon, 3)}"
    return f"{epsilon}, δ {show_down(privacy.delta)}" if privacy.delta else epsilon
