"""The price of a statement: its ε in equal parts for its distinct measurements, and δ for partition selection."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share, show_down, show_up
from dpsql.accounting.zcdp import epsilon_paid_by, rho_of
from dpsql.errors import Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.model import MechanismName, Privacy, Role
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    KeySearch,
    Measured,
    Measurement,
    MeasurementPlan,
    SelectionRule,
    choose_plans,
    pay_parts,
    selection_rule,
)
from dpsql.privacy.measurement.rows_per_unit import SHARE, ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.block import Block
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.rewrite.analysis.keys import Key
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import Ref
from dpsql.rewrite.ir.relation import awaited_tables


@quickly_made
@dataclass(frozen=True, slots=True)
class PricedMeasurement:
    """One measurement, ready to be paid and run."""

    measurement: Measured
    sql: str
    identity: str
    """A hash of everything that decides what is released, but for the user and the time."""
    finds_keys: "PricedMeasurement | None" = None
    """The measurement of the same scope by which its groups are selected, where they are not declared."""
    awaits: tuple["PricedMeasurement", ...] = ()
    """The measurements from whose releases the constants come that it reads."""
    rule: SelectionRule | None = None
    """The rule by which it selects groups, computed in full before the engine is asked."""
    bound_by: "PricedMeasurement | None" = None
    """The measurement by whose release its C is chosen, where it is not declared."""
    chosen: ChosenBound | None = None
    """The C that was chosen by it, as soon as that is known."""
    is_told: bool = False
    """Whether its exact numbers are read off the rows by which its C is chosen, where these are measured beside it."""

    @property
    def read(self) -> tuple["PricedMeasurement", ...]:
        """Return the measurements whose releases decide the measurement: by constants, or by the C that is chosen."""
        return self.awaits if self.bound_by is None else (*self.awaits, self.bound_by)

    @property
    def cost(self) -> Privacy:
        """Return what it costs."""
        match self.measurement:
            case Sums(mechanism=name, epsilon=epsilon, delta=delta):
                loss = mechanism(name).loss(epsilon, delta)
                # Of a statement's ε the choice of C has its part. Of its ρ that is a smaller one.
                return replace(loss, epsilon=self.bound_by.cost.epsilon * SHARE) if loss.rho and self.bound_by else loss
            case Histogram(epsilon=epsilon) | RowsPerUnit(epsilon=epsilon) | BeyondBounds(epsilon=epsilon):
                return Privacy(epsilon)
            case KeySearch(epsilon=epsilon, delta=delta):
                return Privacy(epsilon, delta)

    def paying(self, epsilon: Fraction) -> "PricedMeasurement":
        """Return the measurement at another ε; its groups are declared."""
        return replace(self, measurement=replace(self.measurement, epsilon=epsilon))

    def looking(self, epsilon: Fraction, search: Fraction) -> "PricedMeasurement":
        """Return the measurement at another ε, with the choice of its C at `search`, or less if that is what it was."""
        searched = self.bound_by
        bound_by = None if searched is None else searched.paying(min(search, searched.cost.epsilon))
        return replace(self.paying(epsilon), bound_by=bound_by)

    @property
    def note(self) -> str:
        """Return what it is, for people who read the ledger."""
        m = self.measurement
        groups = f"{len(m.groups.grouped):,} groups" if m.groups.grouped else "groups by partition selection"
        if isinstance(m, Histogram):
            return f"{len(m.points)} order statistics, {groups}"
        if isinstance(m, KeySearch):
            return f"keys by the number of units, {groups}"
        if isinstance(m, RowsPerUnit):
            return "rows per unit, by which C is chosen"
        if isinstance(m, BeyondBounds):
            return f"values beyond the bounds of {len(m.columns)} columns"
        blocks = f" in {len(m.blocks):,} blocks" if m.block_conditions else ""
        noise = f", Gaussian noise of ρ = {show_up(self.cost.rho)}" if self.cost.rho else ""
        what = "sums" if m.distinct.value in {"rows", "each value"} else "distinct counts"
        return f"{len(m.features)} {what}{blocks}, {groups}{noise}"


@dataclass(frozen=True, slots=True)
class PricedScope:
    """One scope's plan with its ε in it, and its measurements."""

    plan: MeasurementPlan
    parts: tuple[PricedMeasurement, ...]
    """One for every part of the plan."""


def shares(
    plans: Sequence[MeasurementPlan], epsilon: Fraction, role: Role, emitter: Emitter
) -> tuple[PricedScope, ...]:
    """Return each scope's plan and its parts, with the statement's ε spread over the distinct ones.

    Parts are distinct if they measure different things; a measurement that two scopes share is made and paid once. δ
    is spread in the same way over the parts that need it.

    Raises:
        Unsupported: the share of one is less than the role's measurements cost at least.
    """
    plans = choose_plans(plans, epsilon, role.least_epsilon)
    # The engine's statement, and its readings, depend neither on ε nor on δ, and are written once.
    written = [[_Written.of(part, emitter) for part in plan.parts] for plan in plans]
    # Written before the price is known: a measurement's identity leaves out its ε, by which its releases are told
    # apart.
    unpaid = [_parts(plan, written_parts) for plan, written_parts in zip(plans, written, strict=True)]
    # Two scopes of a statement may measure the same: what has one identity is made, and paid for, once.
    distinct = {part.identity: part for parts in unpaid for part in parts}
    searches = {part.bound_by.identity for part in distinct.values() if part.bound_by is not None}
    finding = sum(1 for part in distinct.values() if part.cost.delta)
    # The choice of a C pays its part of a measurement's price.
    number = len(distinct) * SHARE + len(searches)
    search = equal_share(epsilon, number) if searches else Fraction(0)
    each = search * SHARE if searches else equal_share(epsilon, len(distinct))
    least = search or each
    if least < role.least_epsilon:  # before anything is computed for it: that takes the longer the less ε there is
        raise _too_little(role, epsilon, number if searches else len(distinct))
    done = [_spread(pay_parts(plan, each), finding) if finding else pay_parts(plan, each) for plan in plans]
    done = [replace(plan, parts=tuple(_with_the_rest(part, search) for part in plan.parts)) for plan in done]
    paying = (
        _parts(p, written_parts) if finding else _paying(p, unpaid_parts, emitter)
        for p, written_parts, unpaid_parts in zip(done, written, unpaid, strict=True)
    )
    return tuple(
        PricedScope(plan, tuple(_searching(part, search) for part in parts))
        for plan, parts in zip(done, paying, strict=True)
    )


def _with_the_rest(part: Measurement, search: Fraction) -> Measurement:
    """Return a measurement with Gaussian noise that pays what is left of ρ, when its C is chosen, and not of ε."""
    if not isinstance(part, Sums) or part.mechanism is not MechanismName.GAUSSIAN or part.bound.up_to is None:
        return part
    return replace(part, epsilon=epsilon_paid_by(rho_of(search * (SHARE + 1)) - rho_of(search)))


def _searching(part: PricedMeasurement, epsilon: Fraction) -> PricedMeasurement:
    """Return a measurement whose C is chosen with so much ε, if it is chosen."""
    return part if part.bound_by is None else replace(part, bound_by=part.bound_by.paying(epsilon))


@dataclass(frozen=True, slots=True)
class _Written:
    """A measurement as the engine is asked, the hash of that, and what its C is chosen by."""

    sql: str
    asked: "hashlib._Hash"
    search: PricedMeasurement | None
    is_told: bool = False

    @classmethod
    def of(cls, measurement: Measurement, emitter: Emitter) -> "_Written":
        """Write a measurement."""
        sql, search = measurement.sql(emitter), None
        asked = _hashed(measurement, sql)
        if measurement.bound.up_to is not None and isinstance(measurement, (Sums, Histogram)):
            search = search_of(measurement, emitter)
            asked.update(search.identity.encode())
        return cls(sql, asked, search, search is not None and _is_told(measurement, emitter))


def _is_told(measurement: Measurement, emitter: Emitter) -> bool:
    """Return whether a measurement is the number of the very rows by which its C is chosen."""
    if not isinstance(measurement, Sums) or not measurement.counts_rows or awaited_tables(measurement.relation):
        return False
    relation, where, unit = measurement.relation, measurement.where, measurement.bound.unit
    every = replace(relation, needed=())  # as for the choice of C
    return from_where(relation, where, (), unit, emitter) == from_where(every, where, (), unit, emitter)


def search_of(measurement: Sums | Histogram, emitter: Emitter, also: int = 1) -> PricedMeasurement:
    """Return the measurement by which the C of another is chosen; its ladder has `also` as a rung."""
    rows = RowsPerUnit(measurement, also=also)
    text = rows.sql(emitter)
    awaited = [table.token for table in awaited_tables(measurement.relation)]
    return _identified(rows, text, repr(rows.rungs), str(rows.sensitivity), *awaited)


def outside_of(measurement: Sums, columns: Sequence[Ref], epsilon: Fraction, emitter: Emitter) -> PricedMeasurement:
    """Return the measurement of which values of the same rows lie beyond their bounds."""
    beyond = BeyondBounds(measurement.relation, measurement.bound, tuple(columns), epsilon)
    return _identified(beyond, beyond.sql(emitter))


def _identified(measurement: Measured, text: str, *further: str) -> PricedMeasurement:
    return PricedMeasurement(measurement, text, hashlib.sha256("\n".join((text, *further)).encode()).hexdigest())


def _too_little(role: Role, epsilon: Fraction, number: int) -> Unsupported:
    """Return the refusal of a statement whose parts would pay too little each."""
    least, needed = role.least_epsilon, role.least_epsilon * number
    if needed > role.per_query.epsilon:
        hint = f"Ask for less at once: at most {role.per_query.epsilon // least:,} measurements share a statement's ε."
    else:
        hint = f"SET dpsql.epsilon = '{show_up(needed)}'"
    parts = "the statement" if number == 1 else f"each of the {number:,} measurements of the statement"
    return Unsupported(
        f'ε = {show_down(epsilon)} is too little: role "{role.name}" pays at least ε = {show_up(least)} for {parts}',
        because="epsilon-too-small",
        hint=hint,
    )


def _spread(plan: MeasurementPlan, finders: int) -> MeasurementPlan:
    parts = tuple(
        p if isinstance(p, Histogram) or not p.delta else replace(p, delta=equal_share(p.delta, finders))
        for p in plan.parts
    )
    return replace(plan, parts=parts)


def _parts(plan: MeasurementPlan, written: Sequence[_Written]) -> tuple[PricedMeasurement, ...]:
    made: list[PricedMeasurement] = []
    for measurement, written_part in zip(plan.parts, written, strict=True):
        finder = made[0] if made and plan.finder else None
        text = _identity(measurement, written_part.asked) + (finder.identity if finder else "")
        rule = selection_rule(measurement) if measurement.epsilon else None
        identity = hashlib.sha256(text.encode()).hexdigest()
        made.append(
            PricedMeasurement(
                measurement,
                written_part.sql,
                identity,
                finder,
                rule=rule,
                bound_by=written_part.search,
                is_told=written_part.is_told,
            )
        )
    return tuple(made)


def _paying(
    plan: MeasurementPlan, unpaid: Sequence[PricedMeasurement], emitter: Emitter
) -> tuple[PricedMeasurement, ...]:
    """Return the same measurements with the ε of the plan's; without δ little else of them depends on the price."""
    return tuple(
        replace(unpaid_part, measurement=part, sql=_paid_for(part, unpaid_part.sql, emitter))
        for part, unpaid_part in zip(plan.parts, unpaid, strict=True)
    )


def _paid_for(part: Measurement, sql: str, emitter: Emitter) -> str:
    """Return the engine's statement at its price, on which the number of units whose extremes are told apart depends."""
    return part.sql(emitter) if isinstance(part, Histogram) and part.told_apart is not None else sql


def _hashed(measurement: Measurement, sql: str) -> "hashlib._Hash":
    """Return the hash of a measurement, but for δ, which is added to it: the text may list thousands of groups."""
    return hashlib.sha256(_asked(measurement, sql).encode())


def _asked(measurement: Measurement, sql: str) -> str:
    """Return a text of a measurement, but for δ: the engine's statement, the groups, and what is read off them."""
    groups = measurement.groups
    shown = [_shown(key) for key in groups.keys]
    awaited = [table.token for table in awaited_tables(measurement.relation)]
    common = (sql, repr(groups.grouped), repr(shown), str(measurement.bound.mass), *awaited)
    match measurement:
        case Sums():
            ratios = ("ratios",) if measurement.of_ratios else ()  # for which another C is chosen
            rest: tuple[object, ...] = (measurement.features, measurement.mechanism, measurement.distinct, *ratios)
        case KeySearch():
            rest = (measurement.bound.rows,)
        case Histogram():
            rest = (
                measurement.points,
                measurement.extremes,
                measurement.x.interval,
                measurement.number,
                measurement.margin,
            )
    return "\n".join((*common, *map(repr, rest)))


def _identity(measurement: Measurement, asked: "hashlib._Hash") -> str:
    """Return a hash of a measurement, for the δ that it takes."""
    if isinstance(measurement, Histogram):
        return asked.hexdigest()
    whole = asked.copy()
    whole.update(f"\n{measurement.delta!r}".encode())
    return whole.hexdigest()


def _shown(key: Key) -> object:
    """Return what a key shows for the engine's values: of undeclared ones `price` and `price * 2` are one to the engine."""
    if key.shown is None and key.expr != key.grouped:
        return key.expr
    return sorted(map(repr, (key.shown or {}).items()))


def deferred_scope(scope: PricedScope, answers: Sequence[tuple[str, tuple[PricedMeasurement, ...]]]) -> PricedScope:
    """Return a scope whose measurements wait for inner queries.

    `answers` has, of each inner query, a text of all that its answer depends on beside releases, and its measurements.

    Such a measurement depends on earlier releases. Its identity has the inner ones' in it, so it can be paid for, and
    found again, before anybody knows the answers.
    """

    def waits(part: PricedMeasurement) -> PricedMeasurement:
        places = sorted({table.place for table in awaited_tables(part.measurement.relation)})
        awaits = tuple({answer.identity: answer for place in places for answer in answers[place][1]}.values())
        texts = [part.identity, *(answers[place][0] for place in places), *(awaited.identity for awaited in awaits)]
        identity = hashlib.sha256("\n".join(texts).encode()).hexdigest() if places else part.identity
        search = None if part.bound_by is None else waits(part.bound_by)
        return replace(part, identity=identity, awaits=awaits, bound_by=search)

    made: list[PricedMeasurement] = []
    for part in scope.parts:
        finder = None if part.finds_keys is None else made[0]
        made.append(replace(waits(part), finds_keys=finder))
    return replace(scope, parts=tuple(made))


# Sums with Gaussian noise, and a limit for units in the Euclidean norm, where all who pay for a statement count ρ.
#
# Claim: with n_g rows in group g a unit's rows weigh w = ⌊W·C / max(ℓ, C)⌋, ℓ being the least whole number with ℓ² ≥ Σ n_g².
# So it moves a group's coordinates by w·S·n_g at most, each, and w·S·√Σ n_g² ≤ W·C·S is what `Gaussian` wants. Proof: w·ℓ ≤
# W·C. A row moves coordinates of one block of its group, each by w·S at most, or cells that add up to it; a group's rows in
# its several blocks are n_g together, and the squares of parts add up to no more than the square of the whole. What is one
# group here was one where its rows were counted: keys come back as whole numbers or texts, by which they were told apart. ∎
#
# ℓ is n at most, so that no row weighs less than under the limit for rows; a unit with a row in each of n groups has ℓ = √n.
#
# Which noise a measurement has is decided by the statement and the policy alone: Gaussian noise where groups are several,
# and its variance is the smaller one at the ε that is paid. It is so for a few statistics up to ε = 3.8.

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
    return plain and weighed and several and exact and stored and not awaited_tables(part.relation)
