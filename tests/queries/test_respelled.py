"""In other words that PostgreSQL reads alike a statement is planned the same, letter by letter, and has the same answer.

Whatever differs stands in `respelled.txt`, judged; a difference that is gone has to go from there. Of other trees, which
PostgreSQL has too (`OTHER_TREE`), the price and the answer are the same.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest

from dpsql.policy.model import Policy
from tests.queries.respelled import RESPELLINGS, respelled
from tests.queries.respelling import (
    STILL,
    Difference,
    asking,
    differences,
    in_the_shop,
    known_differences,
    meaning_of,
    tried,
)
from tests.support.fix_world import USERS, World
from tests.support.golden import Golden
from tests.support.memory import Memory
from tests.support.reference import Reference
from tests.support.samples import spread

KNOWN = known_differences()
NAMED: Mapping[str, Golden] = {golden.name: golden for golden in STILL}
EXACT = {
    (difference.name, difference.spelling): difference.kind
    for difference in KNOWN
    if "*" not in difference.name + difference.spelling
}
"""What differs of one statement in one spelling."""
SOME = 4
"""About one statement of so many is tried in one of the spellings."""
SAMPLE = [
    (golden.name, [*RESPELLINGS][spread(f"in other words {golden.name}", len(RESPELLINGS))])
    for golden in STILL
    if spread(golden.name, SOME) == 0
]


def judged(difference: Difference | None) -> bool:
    """Return whether a difference is known, if there is one."""
    return difference is None or any(line.covers(difference) for line in KNOWN)


@pytest.mark.parametrize(("name", "spelling"), SAMPLE)
def test_other_words_are_planned_the_same(
    name: str, spelling: str, world: World, dirty: Memory, reference: Reference
) -> None:
    """Some statements in one spelling each."""
    golden = NAMED[name]
    with asking(golden.user, world, dirty) as client:
        difference = tried(
            golden, spelling, client, meaning_of(reference, world.policy.roles[USERS[golden.user]].protects)
        )
    assert judged(difference), difference


@pytest.mark.slow
@pytest.mark.parametrize("golden", STILL, ids=lambda golden: golden.name)
def test_all_words_are_planned_the_same(golden: Golden, world: World, dirty: Memory, reference: Reference) -> None:
    """Every statement in every spelling; what is listed of it is all there."""
    by_spelling = {difference.spelling: difference for difference in differences(golden, world, dirty, reference)}
    assert [difference for difference in by_spelling.values() if not judged(difference)] == []
    listed = {spelling: kind for (name, spelling), kind in EXACT.items() if name == golden.name}
    assert {spelling: by_spelling[spelling].kind for spelling in listed if spelling in by_spelling} == listed


@pytest.fixture(scope="module")
def of_number(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Iterator[Difference]]]:
    """Give what asks made-up statements over the shop in all other words."""
    with in_the_shop(tmp_path_factory.mktemp("respelled")) as made:
        yield made


def test_a_few_made_up_statements_are_planned_the_same(of_number: Callable[[int], Iterator[Difference]]) -> None:
    """Of joins, units through references and public tables."""
    assert [difference for number in (0, 3, 7, 9) for difference in of_number(number) if not judged(difference)] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_made_up_statements(part: int, of_number: Callable[[int], Iterator[Difference]]) -> None:
    """The same of ten thousand, of which about one in three is exact enough to be compared."""
    assert [
        difference for number in range(part, 10_000, 20) for difference in of_number(number) if not judged(difference)
    ] == []


def test_every_line_names_what_there_is() -> None:
    """Statements and spellings that are gone are not listed, and none is twice."""
    assert [difference for difference in KNOWN if difference.name not in NAMED and "*" not in difference.name] == []
    assert {difference.spelling for difference in KNOWN} - {"*"} <= RESPELLINGS.keys()
    assert len({(difference.name, difference.spelling, difference.kind) for difference in KNOWN}) == len(KNOWN)


@pytest.mark.parametrize("spelling", RESPELLINGS)
def test_every_spelling_changes_something(spelling: str, policy: Policy) -> None:
    """Each is another text of some statement."""
    assert any(respelled(golden.sql, spelling, policy) for golden in STILL)
