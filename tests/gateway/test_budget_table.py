"""`dpsql.budget`: however much a role may spend."""

import re
from fractions import Fraction
from pathlib import Path

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.gateway.catalogue.virtual_tables import AccountsStatement, Books, with_accounts
from dpsql.gateway.measuring import account
from dpsql.policy.model import Policy, Privacy
from dpsql.privacy.release.release import Profile
from dpsql.question import Asker, Cancellation
from dpsql.rewrite.syntax.read.dialect import parse_query
from tests.support.fix_ledger import Clock


def test_it_has_no_more_questions_than_a_bigint(policy: Policy, tmp_path: Path) -> None:
    """The shadow would take no more: nobody could read the table again, nor an agent hear what it has paid for."""
    asked = AccountsStatement("SELECT questions_left FROM dpsql.budget", ())
    payer = account(policy, Asker("ana", "owner"))
    with SqliteLedger(tmp_path / "ledger.db", Clock()) as ledger:
        ledger.grant("owner", Privacy(Fraction(10**60), Fraction(0)), "much")
        shown = with_accounts(asked, parse_query, payer, Books(ledger, tuple, Cancellation(), Profile, tuple, tuple))
    (told,) = re.findall(r"""'\{"(\d+)"\}'::bigint""", shown)
    assert int(told) == 2**63 - 1
