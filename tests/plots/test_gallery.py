"""The gallery on the synthetic registry, with noise from the product's sampler."""

import random
from dataclasses import fields
from pathlib import Path

import pytest

from dpsql.plots import gallery
from dpsql.plots.charts import Picture
from dpsql.plots.registry import AGES, PROSTATITIS, REPORTS, SCORES, Report, registry


@pytest.fixture(scope="module")
def pictures() -> tuple[Picture, ...]:
    """Draw with fixed bytes."""
    return gallery.gallery(random.Random(2).randbytes)  # noqa: S311 -- the injected byte source of a test


def test_registry_is_complete() -> None:
    """920 reports, every category used, ages within the declared range and most of them between 50 and 80."""
    reports = registry()
    assert len(reports) == REPORTS == 920
    assert {report.pirads_score for report in reports} == set(SCORES)
    assert {report.prostatitis for report in reports} == set(PROSTATITIS)
    assert all(AGES[0] <= report.age <= AGES[1] for report in reports)
    assert sum(50 <= report.age <= 80 for report in reports) > 0.85 * REPORTS


def test_registry_has_the_attributes_of_table_2() -> None:
    """All sixteen, in its order."""
    assert [each.name for each in fields(Report)] == [
        "anonym_id",
        "request_radiology_department_code",
        "procedure_validating_physician_name",
        "last_modified",
        "age",
        "year",
        "gleason_score",
        "pca_no_pirads_defined",
        "follow_up",
        "pirads_score",
        "number_of_lesions",
        "prostatitis",
        "bph",
        "primary_tumour_local_recurrence_or_progress",
        "therapy",
        "turp_surgery",
    ]


def test_registry_is_the_same_every_time() -> None:
    """It is data, not noise."""
    assert registry() == registry()


def test_age_histogram_is_noisy_and_valid(pictures: tuple[Picture, ...]) -> None:
    """High noise: ε = 13/(.15·920), counts never negative, and not the exact ones."""
    (bars,) = pictures[0].figure.data
    assert "ε = 0.0942, noise scale 10.6" in pictures[0].caption
    assert len(bars.y) == 13
    assert all(height >= 0 for height in bars.y)
    assert list(bars.y) != gallery._age_counts(registry())


def test_levels_stand_side_by_side(pictures: tuple[Picture, ...]) -> None:
    """Low, medium and high, each with its ε and scale in the caption."""
    for picture in pictures[1:]:
        assert [note.text for note in picture.figure.layout.annotations] == ["low", "medium", "high"]
        assert all(f"{level} noise: ε = " in picture.caption for level in ("low", "medium", "high"))


def test_mean_ages_are_valid_and_noise_grows_with_the_level(pictures: tuple[Picture, ...]) -> None:
    """Means lie in the declared range, margins at high noise are wider than at low noise."""
    low, _, high = pictures[2].figure.data
    assert all(AGES[0] <= mean <= AGES[1] for trace in (low, high) for mean in trace.x)
    assert sum(high.error_x.array) > 2 * sum(low.error_x.array)


def test_median_ages_lie_between_their_quartiles(pictures: tuple[Picture, ...]) -> None:
    """Quantiles read off one noisy histogram can't cross."""
    for boxes in pictures[3].figure.data:
        for parts in zip(boxes.lowerfence, boxes.q1, boxes["median"], boxes.q3, boxes.upperfence, strict=True):
            assert list(parts) == sorted(parts)


def test_script_writes_one_page(tmp_path: Path) -> None:
    """`python -m dpsql.plots.gallery DIRECTORY` makes the directory and index.html."""
    gallery.main(tmp_path / "new")
    assert "PI-RADS score by mean age" in (tmp_path / "new" / "index.html").read_text(encoding="utf-8")


def test_every_picture_names_data_statistic_epsilon_and_role(pictures: tuple[Picture, ...]) -> None:
    """Under it, with of what each error is a share; and each has a title."""
    for picture in pictures:
        for part in ("Data: synthetic registry of 920 reports", "; statistic: ", "ε = ", "; role: ", " % of the "):
            assert part in picture.caption
        assert picture.figure.layout.title.text


def test_error_bars_stay_within_what_is_possible(pictures: tuple[Picture, ...]) -> None:
    """No count below 0, no mean age beyond the declared range."""
    (bars,) = pictures[0].figure.data
    downs = bars.error_y.arrayminus or bars.error_y.array
    assert all(height - down >= -1e-9 for height, down in zip(bars.y, downs, strict=True))
    for trace in pictures[2].figure.data:
        down, up = trace.error_x.arrayminus or trace.error_x.array, trace.error_x.array
        assert all(x - d >= AGES[0] - 1e-9 for x, d in zip(trace.x, down, strict=True))
        assert all(x + u <= AGES[1] + 1e-9 for x, u in zip(trace.x, up, strict=True))
