"""The ε that others have published with, as a scale beside one's own: figures of their makers, and where they stand."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PublishedEpsilon:
    """One deployment: its ε, for whom and how long that is, and who says so."""

    epsilon: float
    what: str
    unit: str
    source: str


PUBLISHED = (
    PublishedEpsilon(
        1.0,
        "Wikipedia: page views by country",
        "a device and a day (10 views)",
        "Adeleye et al. 2023, arXiv:2308.16298",
    ),
    PublishedEpsilon(
        2.0, "Apple: types of health data in use", "a device and a day", "Apple, Differential Privacy Overview"
    ),
    PublishedEpsilon(
        2.64, "Google: Community Mobility Reports", "a person and a day", "Aktay et al. 2020, arXiv:2004.04145"
    ),
    PublishedEpsilon(4.0, "Apple: popular emoji", "a device and a day", "Apple, Differential Privacy Overview"),
    PublishedEpsilon(9.98, "Israel: live births of 2014", "a birth, once", "Hod & Canetti 2024, arXiv:2405.00267"),
    PublishedEpsilon(
        19.61,
        "United States: redistricting data of 2020",
        "a person and a dwelling, once",
        "Census Bureau, 9 June 2021 (δ = 1e-10)",
    ),
)
"""In the order of ε. Amounts for every day add up for people who are there on many."""
