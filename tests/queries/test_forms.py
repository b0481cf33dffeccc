"""Forms of SQL have the verdicts that are written down: what is right stays so, and what becomes right is written down."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.queries.forms import Bench, Form, benches, forms, verdict_of_form

FORMS = forms()
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


def test_nothing_is_wrong() -> None:
    """All that is answered is right."""
    assert not [form.sql for form in FORMS if form.verdict == "wrong"]
    assert len({form.sql for form in FORMS}) == len(FORMS) > 100
