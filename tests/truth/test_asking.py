"""What is asked in the suites that take a part of all cells."""

from collections import Counter
from itertools import product

from tests.truth.asking import EPSILONS, QUESTIONS, a_third, every
from tests.truth.data_sets import LABS


def test_a_third_asks_everything_of_each_part() -> None:
    """Each question about each part at one ε, and each part equally often at all of them."""
    third = a_third(LABS)
    assert set(third) <= set(every(LABS))
    pairs = Counter((asked.question, asked.where) for asked, _ in third)
    assert pairs == dict.fromkeys(product(QUESTIONS, LABS.filters), 1)
    each = len(QUESTIONS) // len(EPSILONS)
    assert Counter((asked.where, epsilon) for asked, epsilon in third) == dict.fromkeys(
        product(LABS.filters, EPSILONS), each
    )
