"""Forms of SQL have the verdicts that are written down: what is right stays so, and what becomes right is written down."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.queries.forms import Bench, Form, benches, forms, verdict_of_form

FORMS = forms()
COUNTS_OF_FOUND = {
    "SELECT count(*) FROM (SELECT DISTINCT c_last_name, c_birth_year FROM customer) q",
    "SELECT count(*) FROM (SELECT c_last_name, c_birth_year FROM customer GROUP BY 1, 2) q",
}
"""They say much too few, without a word."""
Benches = Mapping[str, Callable[[], Bench]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benches]:
    """Give who asks, by what the statements are about."""
    with benches(tmp_path_factory.mktemp("forms")) as made:
        yield made


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.sql)
def test_forms_have_their_verdicts(form: Form, opened: Benches) -> None:
    """Without noise each is what PostgreSQL says, or refused by the rule that is named."""
    assert verdict_of_form(form.sql, opened[form.about]()) == form.verdict


def test_nothing_else_is_wrong() -> None:
    """Of groups that are found out only those are counted that are; whatever else is answered is right."""
    assert {form.sql for form in FORMS if form.verdict == "wrong"} == COUNTS_OF_FOUND
    assert len({form.sql for form in FORMS}) == len(FORMS) > 100
