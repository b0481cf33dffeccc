"""A synthetic registry of 920 radiology reports: nobody's data, with the columns and shape of a published one.

The columns are those of Table 2 in Imtiaz et al. 2021 (PyDPLib), whose real reports are private. Ages peak between 50
and 80, higher PI-RADS scores come with higher ages, and the category shares are plausible inventions.
"""

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

REPORTS = 920
AGES = (30, 95)
"""The declared range of the ages in years."""
SCORES = (1, 2, 3, 4, 5)
PROSTATITIS = ("chr", "y", "n", "acute", "acute on chronic")
_SEED = 920


@dataclass(frozen=True, slots=True)
class Report:
    """One report of one patient."""

    anonym_id: int
    request_radiology_department_code: str
    procedure_validating_physician_name: str
    last_modified: date
    age: float
    year: int
    gleason_score: int | None
    pca_no_pirads_defined: bool
    follow_up: str
    pirads_score: int
    number_of_lesions: int
    prostatitis: str
    bph: bool
    primary_tumour_local_recurrence_or_progress: str
    therapy: str
    turp_surgery: str


def registry() -> tuple[Report, ...]:
    """Return the reports, the same ones every time."""
    rng = np.random.default_rng(_SEED)
    return tuple(_report(rng, number) for number in range(1, REPORTS + 1))


def _report(rng: np.random.Generator, number: int) -> Report:
    def pick(values: tuple[str, ...], shares: tuple[float, ...]) -> str:
        return values[int(rng.choice(len(values), p=shares))]

    # All reports come from one stream of draws: a draw that is put in between changes everything after it.
    score = int(rng.choice(SCORES, p=(0.06, 0.2, 0.22, 0.33, 0.19)))
    seen = date(2017, 1, 1) + timedelta(days=int(rng.integers(0, 730)))
    inflamed = pick(PROSTATITIS, (0.27, 0.16, 0.47, 0.06, 0.04))
    age = rng.normal(63 + 1.4 * (score - 3) - 3 * (inflamed == "acute"), 8.2)
    cancer = score >= 4 and rng.random() < 0.7
    return Report(
        anonym_id=number,
        request_radiology_department_code=pick(("URO", "RAD", "ONC"), (0.7, 0.2, 0.1)),
        procedure_validating_physician_name=pick(("physician A", "physician B", "physician C"), (0.5, 0.3, 0.2)),
        last_modified=seen,
        age=round(float(np.clip(age, *AGES)), 1),
        year=seen.year,
        gleason_score=int(rng.integers(6, 11)) if cancer else None,
        pca_no_pirads_defined=bool(rng.random() < 0.03),
        follow_up=pick(("none", "PSA", "MRI", "biopsy"), (0.4, 0.25, 0.2, 0.15)),
        pirads_score=score,
        number_of_lesions=int(rng.poisson(0.4 * score)),
        prostatitis=inflamed,
        bph=bool(rng.random() < 0.62),
        primary_tumour_local_recurrence_or_progress=pick(("primary", "recurrence", "progress"), (0.86, 0.09, 0.05)),
        therapy=pick(("none", "surgery", "radiation", "hormones", "surveillance"), (0.45, 0.2, 0.12, 0.08, 0.15)),
        turp_surgery=pick(("no", "yes", "unknown"), (0.82, 0.11, 0.07)),
    )
