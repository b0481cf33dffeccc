"""What a statement pays: its ε in equal parts for its distinct measurements, and δ for partition selection."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.composition import equal_share
from dpsql.accounting.privacy_loss import show_down, show_up
from dpsql.errors import Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.model import Privacy, Role
from dpsql.privacy.features.variance import noise_ratio
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_choice import chosen
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.partition_rule import SelectionRule, selection_rule
from dpsql.privacy.measurement.plan import Measurement, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.planner import priced
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.law import CubeLaw
from dpsql.rewrite.analysis.keys import Key
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.relation import awaiting

_PILOT = 10
"""Where nothing public tells how much a target takes, the first look pays this part of the most."""


@quickly_made
@dataclass(frozen=True, slots=True)
class PricedMeasurement:
    """One measurement, ready to be paid and run."""

    measurement: Measurement
    sql: str
    identity: str
    """A hash of everything that decides what is released, but for who asks and when."""
    finds_keys: "PricedMeasurement | None" = None
    """The measurement of the same scope by which its groups are selected, where they are not declared."""
    awaits: tuple["PricedMeasurement", ...] = ()
    """The measurements from whose releases the constants come that it reads."""
    rule: SelectionRule | None = None
    """The rule by which it selects groups, computed in full before the engine is asked."""

    @property
    def cost(self) -> Privacy:
        """Return what it costs."""
        match self.measurement:
            case Sums(mechanism=name, epsilon=epsilon, delta=delta):
                return mechanism(name).loss(epsilon, delta)
            case Histogram(epsilon=epsilon):
                return Privacy(epsilon)
            case KeySearch(epsilon=epsilon, delta=delta):
                return Privacy(epsilon, delta)

    def paying(self, epsilon: Fraction) -> "PricedMeasurement":
        """Return the measurement at another ε; its groups are declared."""
        return replace(self, measurement=replace(self.measurement, epsilon=epsilon))

    @property
    def note(self) -> str:
        """Return what it is, for people who read the ledger."""
        m = self.measurement
        groups = f"{len(m.groups.grouped):,} groups" if m.groups.grouped else "groups by partition selection"
        if isinstance(m, Histogram):
            return f"{len(m.points)} order statistics, {groups}"
        if isinstance(m, KeySearch):
            return f"keys by the number of units, {groups}"
        blocks = f" in {len(m.blocks):,} blocks" if m.block_conditions else ""
        what = "sums" if m.distinct.value in {"rows", "each value"} else "distinct counts"
        return f"{len(m.features)} {what}{blocks}, {groups}"


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

    Parts are distinct if they measure different things; what two scopes ask alike is measured and paid once. δ is spread
    in the same way over the parts that need it.

    Raises:
        Unsupported: the share of one is less than the role's measurements cost at least.
    """
    plans = chosen(plans, epsilon, role.least_epsilon)
    # What an engine is asked, and what is read off it, depends neither on ε nor on δ, and is written once.
    texts = [tuple(part.sql(emitter) for part in plan.parts) for plan in plans]
    asked = [tuple(map(_hashed, plan.parts, sqls)) for plan, sqls in zip(plans, texts, strict=True)]
    written = list(zip(texts, asked, strict=True))
    unpaid = [_parts(plan, *one) for plan, one in zip(plans, written, strict=True)]
    distinct = {part.identity: part for parts in unpaid for part in parts}
    finding = sum(1 for part in distinct.values() if part.cost.delta)
    each = equal_share(epsilon, len(distinct))
    if each < role.least_epsilon:  # before anything is computed for it: that takes the longer the less ε there is
        raise _too_little(role, epsilon, len(distinct))
    done = [_spread(priced(plan, each), finding) if finding else priced(plan, each) for plan in plans]
    paying = (
        _parts(p, *one) if finding else _paying(p, known) for p, one, known in zip(done, written, unpaid, strict=True)
    )
    return tuple(PricedScope(plan, parts) for plan, parts in zip(done, paying, strict=True))


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


def _parts(
    plan: MeasurementPlan, sqls: Sequence[str], asked: Sequence["hashlib._Hash"]
) -> tuple[PricedMeasurement, ...]:
    made: list[PricedMeasurement] = []
    for measurement, sql, hashed in zip(plan.parts, sqls, asked, strict=True):
        finder = made[0] if made and plan.finder else None
        identity = _identity(measurement, hashed) + (finder.identity if finder else "")
        rule = selection_rule(measurement) if measurement.epsilon else None
        made.append(
            PricedMeasurement(measurement, sql, hashlib.sha256(identity.encode()).hexdigest(), finder, rule=rule)
        )
    return tuple(made)


def _paying(plan: MeasurementPlan, unpaid: Sequence[PricedMeasurement]) -> tuple[PricedMeasurement, ...]:
    """Return the same measurements with the ε of the plan's; without δ nothing else of them hangs on what is paid."""
    return tuple(PricedMeasurement(part, one.sql, one.identity) for part, one in zip(plan.parts, unpaid, strict=True))


def _hashed(measurement: Measurement, sql: str) -> "hashlib._Hash":
    """Return the hash of what is measured, but for δ, which is added to it: the text may list thousands of groups."""
    return hashlib.sha256(_asked(measurement, sql).encode())


def _asked(measurement: Measurement, sql: str) -> str:
    """Return a text of what is measured, but for δ: the engine's statement, the groups, and what is read off them."""
    groups = measurement.groups
    shown = [_shown(key) for key in groups.keys]
    awaited = [table.token for table in awaiting(measurement.relation)]
    common = (sql, repr(groups.grouped), repr(shown), str(measurement.bound.mass), *awaited)
    match measurement:
        case Sums():
            rest: tuple[object, ...] = (measurement.features, measurement.mechanism, measurement.distinct)
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
    """Return a hash of what is measured, for the δ that it takes."""
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


def waiting(scope: PricedScope, answers: Sequence[tuple[str, tuple[PricedMeasurement, ...]]]) -> PricedScope:
    """Return a scope whose measurements wait for inner queries.

    `answers` has, of each inner query, a text of all that its answer depends on beside releases, and its measurements.

    What such a measurement is depends on what was released before: as its identity has the inner ones' in it, it can be
    paid for, and found again, before anybody knows the answers.
    """
    made: list[PricedMeasurement] = []
    for part in scope.parts:
        places = sorted({table.place for table in awaiting(part.measurement.relation)})
        awaits = tuple({one.identity: one for place in places for one in answers[place][1]}.values())
        finder = None if part.finds_keys is None else made[0]
        texts = [part.identity, *(answers[place][0] for place in places), *(one.identity for one in awaits)]
        identity = hashlib.sha256("\n".join(texts).encode()).hexdigest() if places else part.identity
        made.append(replace(part, identity=identity, awaits=awaits, finds_keys=finder))
    return replace(scope, parts=tuple(made))


def first_look(plans: Sequence[MeasurementPlan], error: Fraction, most: Fraction, least: Fraction) -> Fraction:
    """Return the ε of a statement that public numbers promise to be enough for a relative error.

    Of a group of the expected size n the error is r at ε = C/(r·n), four times that for variances (the sound form of
    PyDPLib's levels); at `most`, and no less than the `least` for each part. n comes from the policy; where that does not
    say it, a tenth of the most finds out.
    """
    wanted = [_level_epsilon(plan, part, error) for plan in plans for part in plan.parts]
    known = [epsilon for epsilon in wanted if epsilon is not None]
    if not known or len(known) < len(wanted):
        return max(most / _PILOT, min(most, least * len(wanted)))
    return min(most, max(*known, least) * len(wanted))


def _level_epsilon(plan: MeasurementPlan, part: Measurement, error: Fraction) -> Fraction | None:
    rows = part.relation.expected_rows
    if rows is None:
        return None
    rows_of_group = Fraction(rows, max(len(part.groups.grouped), 1))
    exact = part.bound.rows / (error * rows_of_group)
    return _rounded_up(exact * _wider(plan, part) if isinstance(part, Sums) else exact)


def _wider(plan: MeasurementPlan, sums: Sums) -> Fraction:
    """Return how much more ε a measurement needs than a lone count for the same error.

    Four times as much for variances; and a cube of d statistics has noise sqrt((d + 1)(d + 2)/6) times a lone count's. The
    three cells of a value are taken where they are less noisy than a cube of three. What is added up over blocks has the
    noise of all of them.
    """
    of_each = [CubeLaw(len(block.places)).variance for block in sums.blocks]
    readouts = [output.readout for output in plan.outputs if isinstance(output, StatisticOutput)]
    added_up = any(feature.block is None for readout in readouts for feature in readout.features)
    noise = noise_ratio(sum(of_each, Fraction(0)) if added_up else max(of_each))
    return max(noise, Fraction(1)) * (4 if sums.row_norm > sums.lattice else 1)


def _rounded_up(epsilon: Fraction) -> Fraction:
    """Return the next number with six digits after the point, which people can read in the ledger."""
    return Fraction(-(-epsilon * 10**6 // 1), 10**6)
