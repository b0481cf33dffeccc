"""Where statements are tried: on synthetic people, for the worlds that tests have."""

import pytest

from tests.support.fix_shop import Shops, paying
from tests.support.tried import Court, court


@pytest.fixture(scope="session")
def shop_courts(shops: Shops) -> dict[str, Court]:
    """Give a place to try statements over the shop in, for each engine; what they pay lets groups be found."""
    return {name: court(paying(shop.policy, 1, "explorer"), shop.world, shop.engine) for name, shop in shops.items()}
