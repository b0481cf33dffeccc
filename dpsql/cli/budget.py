"""`dpsql budget`: what every role has spent and has left."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpsql.cli.accounts import open_ledger
from dpsql.cli.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.told import told
from dpsql.policy.load import load
from dpsql.policy.model import Privacy
from dpsql.privacy.balance import Account
from dpsql.privacy.budget import show

_COLUMNS = ("role", "protects", "spent", "left", "renews", "data set: spent", "data set: left")


@told
def budget(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print what each role has spent in its period, and what all roles of its unit kind have spent together."""
    policy = load(config)
    table = Table(*_COLUMNS, header_style="bold")
    with open_ledger(policy) as ledger:
        for role in policy.policy.roles.values():
            balance = ledger.balance(Account("", role, policy.policy.budgets[role.protects]))
            cells = (
                role.name,
                role.protects,
                _amount(balance.role_spent),
                _amount(balance.role_left),
                str(balance.renews or "never"),
                _amount(balance.dataset_spent),
                _amount(balance.dataset_left),
            )
            table.add_row(*(Text(cell) for cell in cells))
    Console().print(table)


def _amount(privacy: Privacy) -> str:
    """Write ε, and δ where there is any."""
    epsilon = f"ε {show(privacy.epsilon)}"
    return f"{epsilon}, δ {show(privacy.delta)}" if privacy.delta else epsilon
