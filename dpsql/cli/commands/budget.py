"""`dpsql budget`: what every role has spent and has left."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpsql.accounting.balance import Account
from dpsql.accounting.privacy_loss import show_down
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.open_ledger import open_ledger
from dpsql.policy.load import load
from dpsql.policy.model import Privacy


@with_exit_code
def budget(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print what each role has spent in its period, and what the roles of each unit kind have spent together."""
    loaded = load(config)
    roles = Table("role", "protects", "spent", "left", "renews", "account", header_style="bold")
    kinds = Table("data set, unit kind", "in", "spent", "left", header_style="bold")
    with open_ledger(loaded) as ledger:
        balances = [
            ledger.balance(Account("", role, loaded.policy.budgets[role.protects]))
            for role in loaded.policy.roles.values()
        ]
    for balance in balances:
        role, renews = balance.account.role, str(balance.renews or "never")
        account = "closed" if balance.closed else "open"
        _add(roles, role.name, role.protects, _amount(balance.role_spent), _amount(balance.role_left), renews, account)
    for kind, balance in {balance.account.role.protects: balance for balance in balances}.items():
        window = balance.account.dataset.window
        often = "all time" if window is None else f"{window} days"
        _add(kinds, kind, often, _amount(balance.dataset_spent), _amount(balance.dataset_left))
    Console().print(roles, kinds)


def _add(table: Table, *cells: str) -> None:
    """Add a row whose cells are not markup."""
    table.add_row(*(Text(cell) for cell in cells))


def _amount(privacy: Privacy) -> str:
    """Write ε, and δ where there is any."""
    epsilon = f"ε {show_down(privacy.epsilon)}"
    return f"{epsilon}, δ {show_down(privacy.delta)}" if privacy.delta else epsilon
