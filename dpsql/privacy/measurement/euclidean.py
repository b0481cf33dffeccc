"""Sums with Gaussian noise, and a limit for units in the Euclidean norm, where all who pay for a statement count ρ.

Claim: with n_g rows in group g a unit's rows weigh w = ⌊W·C / max(ℓ, C)⌋, ℓ being the least whole number with ℓ² ≥ Σ n_g².
So it moves a group's coordinates by w·S·n_g at most, each, and w·S·√Σ n_g² ≤ W·C·S is what `Gaussian` wants. Proof:
w·ℓ ≤ W·C. A row moves coordinates of one block of its group, each by w·S at most, or cells that add up to it; a group's rows
in its several blocks are n_g together, and the squares of parts add up to no more than the square of the whole. What is one
group here was one where its rows were counted: keys come back as whole numbers or texts, by which they were told apart. ∎

ℓ is n at most, so that no row weighs less than under the limit for rows; a unit with a row in each of n groups has ℓ = √n.

Which noise a measurement has is decided by the statement and the policy alone: Gaussian noise where groups are several,
and its variance is the smaller one at the ε that is paid. It is so for a few statistics up to ε = 3.8.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.zcdp import rho_of
from dpsql.policy.model import MechanismName
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.plan import Measurement, MeasurementPlan
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.block import Block
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.rewrite.ir.relation import awaiting

FEWEST, FEWEST_CHOSEN = 2, 12
"""Groups from which on noise is Gaussian: where C is declared, and where it is chosen. Over few groups the ladder of lengths
costs more than it gains: four wards of patients with one row each were further off by two thirds."""


def in_euclidean_norm(plan: MeasurementPlan, epsilon: Fraction) -> MeasurementPlan:
    """Return the plan with Gaussian noise in those parts that have less of it so; for who counts ρ."""
    if plan.added_up is not None or plan.finder is not None or plan.by_units is not None:
        return plan
    return replace(plan, parts=tuple(_bounded(part, epsilon) for part in plan.parts))


def _bounded(part: Measurement, epsilon: Fraction) -> Measurement:
    if not isinstance(part, Sums) or not _may_be(part):
        return part
    if not has_less_noise(part.blocks, epsilon):
        return part
    return replace(part, mechanism=MechanismName.GAUSSIAN, bound=replace(part.bound, form=Form.EUCLIDEAN))


def has_less_noise(blocks: Sequence[Block], epsilon: Fraction) -> bool:
    """Return whether Gaussian noise has less variance in each block than the cube's, at the same limit."""
    cube, normal = mechanism(MechanismName.CUBE), mechanism(MechanismName.GAUSSIAN)
    least = min(cube.variance(block, blocks) for block in blocks) / epsilon**2
    most = max(normal.variance(block, blocks) for block in blocks) / (2 * rho_of(epsilon))
    return most < least


def _may_be(part: Sums) -> bool:
    """Return whether a measurement is one of those that are proved here: rows of declared groups, each weighed as a row."""
    bound, plain = part.bound, part.distinct is CountOf.ROWS and part.end is None and not part.delta
    stored = all(source.made is None and source.table.grows is None for source in part.relation.sources)
    weighed = bound.form is Form.REWEIGHT and not part.weighs_norms
    least = FEWEST if bound.up_to is None else FEWEST_CHOSEN
    several = len(part.groups.grouped) >= least and part.mechanism is MechanismName.CUBE
    # Of these several that the engine tells apart may be one when they come back.
    exact = not any(key.fractional for key in part.groups.keys)
    return plain and weighed and several and exact and stored and not awaiting(part.relation)
