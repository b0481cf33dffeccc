"""EXPLAIN of a private statement: what would be measured, how far off it would be, what it would cost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from itertools import zip_longest

from dpsql.accounting.privacy_loss import compose, show_down, show_up
from dpsql.engines.base import SnapshotVersion
from dpsql.errors import InternalError
from dpsql.gateway.explaining.notices import nowhere
from dpsql.gateway.pricing import AimedPrice, PricedPlan
from dpsql.lexer.reader import literal_value, token_name, tokens
from dpsql.policy.interval import Interval
from dpsql.policy.model import Privacy, Role
from dpsql.privacy.accuracy.expected_error import (
    ExpectedError,
    ForeseenBound,
    ForeseenBounds,
    detection_limits,
    expected_errors,
)
from dpsql.privacy.accuracy.margin import first_width, within_noise
from dpsql.privacy.features.feature import ONE, ScaledExpr, Shape
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import FromCount, KeySearch, MeasurementPlan, Searched, SelectionRule
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection
from dpsql.privacy.release.noisy_ladder import chosen_by, doubt_to_expect
from dpsql.privacy.release.release import NOTHING_KNOWN, Profile, Release
from dpsql.rewrite.functions.table import describe
from dpsql.rewrite.ir.relation import reads_all, tables_below
from dpsql.shadow.splice import shadow_literal

# The C that will be chosen for a statement, as far as its role knows it, so that EXPLAIN can say how far answers err.

_LEAST, _MUCH = 2, 256
"""Where nothing tells: C where units have a row or two each, and where some have a hundred and more."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a role has paid for in this epoch: its profile, and releases of a statement by its measurements' identities."""

    profile: Profile = NOTHING_KNOWN
    releases: Mapping[str, Release] = field(default_factory=dict)


NO_KNOWLEDGE = Knowledge()


def foreseen_bounds(scope: PricedScope, known: Knowledge) -> Mapping[int, ForeseenBound]:
    """Return the C of the parts for which one is chosen, by their places.

    Where a release says how many of these rows units have, it is known which C will follow. A profile tells of all rows of
    its table. Otherwise C is between two numbers, which are said to be assumed.
    """
    bounds = ((place, _foreseen(part, known)) for place, part in enumerate(scope.parts))
    return {place: bound for place, bound in bounds if bound is not None}


def _foreseen(part: PricedMeasurement, known: Knowledge) -> ForeseenBound | None:
    measured, search = part.measurement, part.bound_by
    if not isinstance(measured, (Sums, Histogram)) or search is None:
        return None
    if not isinstance(search.measurement, RowsPerUnit):
        raise InternalError
    ladder, paid, groups = search.measurement, float(measured.epsilon), max(len(measured.groups.grouped), 1)
    if (release := known.releases.get(search.identity)) is not None:
        chosen = chosen_by(ladder, release.numbers[0], measured, groups, paid=paid)
        return ForeseenBound(chosen, None, "as released for these rows before")
    of_table = known.profile.of(measured.bound.unit.table) if measured.bound.once else None
    told = measured.bounds_rows and measured.bound.form is not Form.EUCLIDEAN  # of lengths a profile says nothing
    if of_table is None or of_table.ladder is None or not told:
        # No C lies above the last rung of the ladder by which it is chosen.
        least, most = (min(rows, ladder.rungs[-1]) for rows in (_LEAST, _MUCH))
        doubted = ChosenBound(most, 0, doubt_to_expect(ladder, most))
        return ForeseenBound(
            ChosenBound(least, 0), doubted, f"{_LEAST} if units have a row or two each, {_MUCH} if some have a hundred"
        )
    chosen = of_table.ladder.chosen(measured, groups, paid=paid)
    if reads_all(measured.relation, measured.where):
        return ForeseenBound(chosen, None, "by the profile")
    doubt = max(chosen.doubt, doubt_to_expect(ladder, chosen.rows))
    return ForeseenBound(
        ChosenBound(min(_LEAST, chosen.rows), 0),
        replace(chosen, doubt=doubt),
        "that of all rows at most, by the profile",
    )


# The lines of EXPLAIN about rows that a role does not see.


def rights(role: Role, priced: PricedPlan) -> Iterator[str]:
    """Yield for each table that a plan reads in part, the rows of it that the role sees."""
    if role.where:
        relations = (part.measurement.relation for part in priced.measurements)
        names = (table.name for relation in relations for table in tables_below(relation))
        yield from (f'Rows: {rows}, the only ones granted to role "{role.name}"' for rows in role.granted_rows(names))


# The numbers of EXPLAIN (FORMAT JSON), for programs: the same as its lines say to people.

PlanValues = Mapping[str, object]
_CLAMPING = frozenset({Shape.VALUE, Shape.SIGNED, Shape.LOW})


def plan_values(priced: PricedPlan, known: Knowledge = NO_KNOWLEDGE) -> PlanValues:
    """Return what the statement costs, its measurements, and the expected errors; all of it follows from the plan alone.

    Amounts of ε and δ are texts, as exact as they are shown everywhere; an output without a share has null. A margin
    has a unit where it is not in the output's own. Where C will be chosen and nobody knows it, the margin is for the
    largest C that is thought of. A statement that aims at an error has that and the most ε for it;
    the others are then those of the first look, beside which outputs have what all of that ε would make of them.
    """
    outputs = [line for scope in priced.scopes for line in expected_errors(scope.plan, foreseen_bounds(scope, known))]
    of_all = [
        line for scope in priced.scopes for line in _errors_at_most(scope.plan, priced, foreseen_bounds(scope, known))
    ]
    aim = priced.aim
    target = {} if aim is None else {"Target": float(aim.error), "At Most": show_down(aim.cap)}
    return {
        **_cost(compose(part.cost for part in priced.measurements)),
        **target,
        "Measurements": [_measurement(part) for part in priced.measurements],
        "Outputs": [
            {
                "Output": o.output,
                "Margin": o.up_to or o.margin,
                **({"Least Margin": o.margin} if o.up_to else {}),
                "Unit": o.unit.strip() or None,
                "Relative": None if o.up_to else o.relative,
                **({} if most is None else {"Margin With All": most.up_to or most.margin}),
                **({} if most is None else {"Relative With All": None if most.up_to else most.relative}),
                **_given(o),
            }
            for o, most in zip_longest(outputs, of_all)
        ],
    }


def clamped(measurement: Sums) -> Sequence[ScaledExpr]:
    """Return what is clamped to its interval before it is summed."""
    return list(dict.fromkeys(f.x for f in measurement.features if f.x is not None and f.shape in _CLAMPING))


def _measurement(part: PricedMeasurement) -> PlanValues:
    m = part.measurement
    common = {"Tables": [source.table.name for source in m.relation.sources], **_cost(part.cost)}
    match m:
        case KeySearch() | BeyondBounds():
            return common
        case RowsPerUnit():
            return {**common, "Up To": m.rungs[-1]}
        case Sums():
            return {**common, "Clamped": [_range(x) for x in clamped(m)]}
        case Histogram():
            points = [float(q) for q in m.points]
            chosen = {"Points": points, "Buckets": m.number, "Enough": m.enough(m.bound.rows)}
            return {**common, **chosen, "Chosen": _range(m.x)}


def _range(x: ScaledExpr) -> PlanValues:
    return {"Expression": describe(x.expr), "Low": float(x.interval.low), "High": float(x.interval.high)}


def _given(line: ExpectedError) -> PlanValues:
    return {"Given": line.given.removeprefix(", if ").removeprefix(", for ")} if line.given else {}


def _cost(cost: Privacy) -> PlanValues:
    delta = {"Delta": show_down(cost.delta)} if cost.delta else {}
    return {"Epsilon": show_down(cost.epsilon), **delta}


# The plan of a private statement in the formats of EXPLAIN for programs, laid out as PostgreSQL lays out its own.

_INDENT = "  "


def as_json(plan: PlanValues) -> str:
    """Return `[{"Plan": {…}}]`."""
    return json.dumps([{"Plan": plan}], ensure_ascii=False, indent=2)


def as_yaml(plan: PlanValues) -> str:
    """Return `- Plan:` and what is in it, texts in double quotes."""
    return "\n".join(["- Plan: ", *_yaml(plan, 2)])


def as_xml(plan: PlanValues) -> str:
    """Return `<explain><Query><Plan>…`; what is in a list is an `Item`, and blanks in names are hyphens."""
    lines = ['<explain xmlns="http://www.postgresql.org/2009/explain">', f"{_INDENT}<Query>", *_xml("Plan", plan, 2)]
    return "\n".join([*lines, f"{_INDENT}</Query>", "</explain>"])


def _yaml(values: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, value in values.items():
        match value:
            case Mapping():
                yield f"{_INDENT * depth}{name}: "
                yield from _yaml(value, depth + 1)
            case list() | tuple() if value:
                yield f"{_INDENT * depth}{name}: "
                yield from _yaml_items(value, depth + 1)
            case _:
                yield f"{_INDENT * depth}{name}: {json.dumps(value, ensure_ascii=False)}"


def _yaml_items(items: Sequence[object], depth: int) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping):
            # The hyphen stands in the indentation of the first key.
            first, *others = _yaml(item, depth + 1)
            yield f"{_INDENT * depth}- {first.lstrip()}"
            yield from others
        else:
            yield f"{_INDENT * depth}- {json.dumps(item, ensure_ascii=False)}"


def _xml(name: str, value: object, depth: int) -> Iterator[str]:
    tag, indent = name.replace(" ", "-"), _INDENT * depth
    match value:
        case Mapping():
            inside = [line for key, item in value.items() for line in _xml(key, item, depth + 1)]
        case list() | tuple():
            inside = [line for item in value for line in _xml("Item", item, depth + 1)]
        case _:
            text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
            yield f"{indent}<{tag}>{escape(text, quote=False)}</{tag}>"
            return
    yield from (f"{indent}<{tag}>", *inside, f"{indent}</{tag}>")


_NODE = "Private Answer"

_FOUND = 200
"""Groups that are thought of where they are found out: as many as PostgreSQL thinks of."""
_MARGINS = 3
"""Mean absolute errors in a margin at 95 %, of Laplace noise (ln 20)."""


@dataclass(frozen=True, slots=True)
class Free:
    """The parts of a plan that need not be paid."""

    read_off: Mapping[str, str]
    """By measurement the statement off whose answer it is read."""
    stored: frozenset[str]
    """The measurements that are stored themselves, choices of C among them."""
    instead: tuple[str, ...]
    """Statements whose coarser answers are free."""

    def left(self, priced: PricedPlan) -> Privacy:
        """Return the price of the rest."""
        return compose(self.unpaid(priced))

    def unpaid(self, priced: PricedPlan) -> list[Privacy]:
        """Return what each measurement costs that has to be paid."""
        own = [part for scope in priced.scopes for part in scope.parts]
        free = {part.identity for part in own if part.identity in self.read_off or part.identity in self.stored}
        # A choice of C is paid for as long as something that is to be measured waits for it.
        still = {part.bound_by.identity for part in own if part.bound_by is not None and part.identity not in free}
        searches = {part.bound_by.identity for part in own if part.bound_by is not None} - still
        paid = free | searches | self.stored
        return [part.cost for part in priced.measurements if part.identity not in paid]


ALL_TO_PAY = Free({}, frozenset(), ())


def explain(
    priced: PricedPlan,
    prefix: str,
    edition: SnapshotVersion | None = None,
    known: Knowledge = NO_KNOWLEDGE,
    free: Free = ALL_TO_PAY,
    further: Sequence[str] = (),
    *,
    estimates: bool = False,
) -> str:
    """Return a SELECT of what would be measured; `prefix` is the EXPLAIN with its options, of which VERBOSE adds SQL.

    `edition` is the copy of the records that would be asked, `further` what else is said in the end. `estimates` says that
    the first line has costs in PostgreSQL's form.
    It is named and typed as EXPLAIN's own output is. FORMAT TEXT has a line a row. The others have one value,
    `[{"Plan": {"Node Type": …, "Epsilon": …, "Details": [line, …]}}]`, as tools expect that draw plans.
    """
    options = explain_options(prefix)
    lines = _lines(priced, edition, known, statements=options.get("verbose", "off") not in _OFF)
    lines += (*_known(priced, known.profile), *_free(priced, free))
    lines += further
    shape = options.get("format", "text")
    if shape in ("json", "yaml", "xml"):
        copy = {} if edition is None else {"Snapshot": edition.taken.isoformat()}
        node = {"Node Type": _NODE, **copy, **plan_values(priced, known), **_left(priced, free), "Details": lines}
        if shape == "json":
            return f'SELECT {shadow_literal(as_json(node))}::json AS "QUERY PLAN"'  # a literal only
        if shape == "yaml":
            return f'SELECT {shadow_literal(as_yaml(node))}::text AS "QUERY PLAN"'  # a literal only
        return f'SELECT pg_dpsql.xml_of({shadow_literal(as_xml(node))}) AS "QUERY PLAN"'
    if estimates:
        rows = max((len(scope.plan.groups.shown) for scope in priced.scopes), default=0) or _FOUND
        lines[0] += f"  (cost=0.00..1.00 rows={rows} width=32)"
    return _shown(lines)


_OFF = frozenset({"off", "false", "0"})


def explain_options(prefix: str) -> Mapping[str, str]:
    """Return the options of an EXPLAIN and their values in small letters; one without a value is on.

    EXPLAIN VERBOSE  →  verbose: on    EXPLAIN (VERBOSE off, FORMAT json)  →  verbose: off, format: json
    """
    words = list(tokens(prefix))[1:]
    if not words or words[0].word != "(":  # words alone, as before PostgreSQL 9
        return {token.word: "on" for token in words}
    options: dict[str, str] = {}
    name = ""
    for token in words:
        if token.word in ("(", ",", ")"):
            name = ""
        elif not name:
            name = (token_name(token) or "").lower()
            options[name] = "on"
        else:
            options[name] = (literal_value(token) or token_name(token) or token.text).lower()
    return options


def explain_rows() -> str:
    """Return a SELECT of a plan for rows that are protected, with the costs of what nobody should choose.

    postgres_fdw asks for it before it asks what an aggregate costs there.
    """
    costs = "cost=1000000000.00..1000000000.00 rows=1000000 width=32"
    return _shown([f"Rows that are protected: refused when they are asked for  ({costs})"])


def _shown(lines: Sequence[str]) -> str:
    array = ", ".join(shadow_literal(line) for line in lines)
    # The order of rows is promised by ORDER BY alone.
    source = f"pg_catalog.unnest(ARRAY[{array}]::text[]) WITH ORDINALITY AS _u(line, n)"
    return f'SELECT line AS "QUERY PLAN" FROM {source} ORDER BY n'  # noqa: S608  # literals only


def _lines(priced: PricedPlan, edition: SnapshotVersion | None, known: Knowledge, *, statements: bool) -> list[str]:
    """Return the lines of the explanation; `statements` adds the engine's SQL."""
    cost = compose(part.cost for part in priced.measurements)
    lines = [
        f"Private answer: ε = {show_down(cost.epsilon)}{_delta(cost.delta)}, free if it was answered before in this epoch"
    ]
    if edition is not None:
        lines.append(f"Data: {edition}; what was written to the records later is not in it")
    if priced.aim is not None:
        lines += _aim(priced.aim, grouped=any(scope.plan.groups.keys for scope in priced.scopes))
    stages = list(priced.stages())
    for number, stage in enumerate(stages, 1):
        if len(stages) > 1:
            what = "the statement" if stage is priced else "an inner answer, released before the next"
            lines.append(f"  Stage {number} of {len(stages)}: {what}")
        for scope in stage.scopes:
            bounds = foreseen_bounds(scope, known)
            lines += _scope(scope.plan, scope.parts, bounds, statements=statements)
            lines += _at_most(scope.plan, priced, bounds)
    return lines


def _free(priced: PricedPlan, free: Free) -> Iterator[str]:
    """Yield the outputs that are read off paid answers, the price of the others, and the questions that would be free."""
    for outputs, statement in _read_off(priced, free):
        numbers = ", ".join(map(str, outputs))
        yield (
            f"Free: output {numbers} is computed from the answer to {statement}, and has the noise of all its groups that "
            "are added up, not what is said above: dpsql.margin() tells it"
        )
    if free.read_off or free.stored:
        left = free.left(priced)
        yield f"Left to pay: ε = {show_down(left.epsilon)}{_delta(left.delta)}"
    for statement in dict.fromkeys(free.instead):
        yield f"Free instead, by fewer groups: {statement}"


def _read_off(priced: PricedPlan, free: Free) -> Iterator[tuple[Sequence[int], str]]:
    """Yield the outputs of each measurement that is read off a paid answer, and the statement of that answer."""
    for scope in priced.scopes:
        for place, part in enumerate(scope.parts):
            if part.identity in free.read_off:
                outputs = [i for i, o in enumerate(scope.plan.outputs, 1) if getattr(o, "part", None) == place]
                yield outputs, " ".join(free.read_off[part.identity].split())


def _left(priced: PricedPlan, free: Free) -> PlanValues:
    """Return the same as values: what need not be paid, what is left, and what would be free instead."""
    read = [{"Outputs": outputs, "Answer": statement} for outputs, statement in _read_off(priced, free)]
    left = {"Left To Pay": show_down(free.left(priced).epsilon)} if free.read_off or free.stored else {}
    instead = list(dict.fromkeys(free.instead))
    return {**left, **({"Read Off": read} if read else {}), **({"Free Instead": instead} if instead else {})}


def _known(priced: PricedPlan, profile: Profile) -> Iterator[str]:
    """Yield what a profile tells of the tables that are measured, and of what their declared C takes off."""
    bounds = {part.measurement.bound.unit.table: part.measurement.bound for part in priced.measurements}
    for name, bound in bounds.items():
        of_table = profile.of(name)
        if of_table is None or of_table.ladder is None or of_table.rows is None:
            continue
        fixed = (
            bound.once and bound.form in {Form.REWEIGHT, Form.EUCLIDEAN} and bound.up_to is None
        )  # else it is of other rows
        cut = (
            f"; C = {bound.rows:,} takes about {100 * of_table.share_cut(bound.rows).value:.2g} % off all of them"
            if fixed
            else ""
        )
        yield f"Profile: {name} has about {of_table.rows:,.0f} rows of {of_table.units:,.0f} units ({bound.unit.name}){cut}"


def _aim(aim: AimedPrice, *, grouped: bool) -> Iterator[str]:
    of_groups = ", in the group with the median row" * grouped
    yield f"Target: a typical error of {100 * float(aim.error):g} %{of_groups}; a first look says how much more ε it takes"
    yield f"At most: ε = {show_down(aim.cap)}, and where that is not enough the answer errs by more"


def _at_most(plan: MeasurementPlan, priced: PricedPlan, bounds: ForeseenBounds) -> Iterator[str]:
    """Yield how far outputs err, and what is left out, if the statement pays the most that it may."""
    for line in _errors_at_most(plan, priced, bounds):
        share = (
            "" if line.relative is None else f", typically {100 * line.relative / _MARGINS:.3g} % of {line.compared}"
        )
        yield f"     Output {line.output} with all of it: {_margin(line)}{line.unit} with 95 %{share}{line.given}"
    least = _most_hidden(_paying_all(plan, priced)) if priced.aim is not None else None
    if least is not None:
        yield f"     Left out with all of it: groups whose count is at most {least:,.4g}"


def _errors_at_most(plan: MeasurementPlan, priced: PricedPlan, bounds: ForeseenBounds) -> Sequence[ExpectedError]:
    if priced.aim is None or not plan.parts:
        return ()
    return tuple(expected_errors(_paying_all(plan, priced), bounds))


def _paying_all(plan: MeasurementPlan, priced: PricedPlan) -> MeasurementPlan:
    """Return a plan with the share of one measurement, if a statement that aims at an error pays the most."""
    if priced.aim is None:
        return plan
    most = priced.aim.steps[-1]
    return replace(plan, parts=tuple(replace(part, epsilon=most) for part in plan.parts))


def _most_hidden(plan: MeasurementPlan) -> float | None:
    return within_noise(plan, len(plan.groups.grouped)) if plan.hides_empty else None


def _scope(
    plan: MeasurementPlan, scope: Sequence[PricedMeasurement], bounds: ForeseenBounds, *, statements: bool
) -> Iterator[str]:
    if not scope:
        yield f"  -> Public rows: {len(plan.groups.shown):,}, nothing is measured"
    yield from (f"     Nowhere: {nowhere(said_of)}" for said_of in plan.nowhere)
    for part in scope:
        yield f"  -> {_headline(part)}"
        yield from (f"       {line}" for line in _details(part))
        if statements:
            yield from (f"       Engine, for C: {search.sql}" for search in (part.bound_by,) if search is not None)
            yield f"       Engine{', where C is known before' if part.is_told else ''}: {part.sql}"
    if plan.added_up is not None:
        most = max((sum(len(run.places) for run in line) for line in plan.added_up.lines), default=0)
        yield f"     Added up: each of the {len(plan.groups.shown):,} groups is made of at most {most:,} that are measured"
    yield from _left_out(plan)
    for line in expected_errors(plan, bounds):
        share = "" if line.relative is None or line.up_to else f", about {100 * line.relative:.3g} % of {line.compared}"
        yield f"     Output {line.output}: {_margin(line)}{line.unit} with 95 %{share}{line.given}"
    for told in detection_limits(plan, bounds):
        rows = f"{told.rows:,}" if told.up_to is None else f"{told.rows:,} to {told.up_to:,}"
        yield f"     Output {told.output}: distinguishable from zero from about {rows} rows on{told.given}"


def _margin(line: ExpectedError) -> str:
    least = f"±{_digits(line.margin)}"
    return least if line.up_to is None else f"{least} to ±{_digits(line.up_to)}"


def _digits(margin: float) -> str:
    """Return three digits of a margin, those of thousands apart: 1,120."""
    return f"{float(f'{margin:.3g}'):,.15g}"


def _left_out(plan: MeasurementPlan) -> Iterator[str]:
    if plan.units is not None:
        told = f"can't be shown to have {plan.units.least:,} units (min_units), whose number is measured for it"
        yield f"     Left out: groups that {told}" if plan.groups.keys else f"     NULL where they {told}"
    least = _most_hidden(plan)
    if least is not None:
        along = "; COUNT(*) is measured with it" if plan.counted_along else ""
        yield f"     Left out: groups whose count is at most {least:,.4g}, as much as the noise of empty ones may be{along}"


def _headline(part: PricedMeasurement) -> str:
    m = part.measurement
    tables = ", ".join(source.table.name for source in m.relation.sources)
    selected = "the selected groups" if part.finds_keys else "groups shown when their count passes a threshold"
    groups = f"{len(m.groups.grouped):,} groups" if m.groups.grouped else selected
    match m:
        case KeySearch():
            what, groups = "Keys", "shown when enough units have them"
        case RowsPerUnit():
            what = "Rows per unit"
        case BeyondBounds():
            what = "Values beyond bounds"
        case Histogram():
            what = "Order statistics"
        case Sums():
            what = _counted(m)
    which = f"{what} {'over' if isinstance(m, Sums) else 'of'} {tables}, {groups}"
    rho = f", ρ = {show_up(part.cost.rho)} by Gaussian noise, which has no ε" if part.cost.rho else ""
    return f"{which}: ε = {show_down(part.cost.epsilon)}{_delta(part.cost.delta)}{rho}"


def _counted(m: Sums) -> str:
    match m.distinct:
        case CountOf.ROWS:
            noun = "count" if m.features == (ONE,) else "sum"
            return f"{len(m.features)} noisy {noun}{'' if len(m.features) == 1 else 's'}"
        case CountOf.UNITS:
            return "Distinct units"
        case CountOf.VALUES:
            return "Distinct values"
        case CountOf.TUPLES:
            return "Distinct tuples of values"
        case CountOf.EACH_VALUE:
            return f"{len(m.features)} noisy sums of distinct values"


def _details(part: PricedMeasurement) -> Iterator[str]:
    m = part.measurement
    bound = m.bound
    how = {
        Form.UNIQUE: "one row each, by a constraint or GROUP BY",
        Form.REWEIGHT: "mass scaling",
        Form.TRUNCATE: "selection",
        Form.ACCOUNT: "mass scaling by accounts",
        Form.EUCLIDEAN: "mass scaling by the root of its rows' squares over the groups",
    }
    if isinstance(m, KeySearch):
        yield from _search(m, part.rule)
        return
    if isinstance(m, Searched):
        return
    yield f"Unit: {bound.unit.name}, {_worth(part)} ({how[bound.form]})"
    if isinstance(m, Histogram):
        points = ", ".join(f"{float(q):g}" for q in m.points)
        yield f"Points {points} of {describe(m.x.expr)} among {m.number:,} buckets of {_interval(m.x.interval)}"
        yield f"Mostly NULL in groups of far fewer than {m.enough(bound.rows):,} rows"
        if m.margin:
            yield "Margin: chosen together with the point, which is about 1.5 times as far off for it"
        return
    # Noise grows as C does. Where C is chosen it is not known here, and so the noise is told for one row.
    if bound.up_to is None or m.end is not None:
        yield f"Noise: each sum is within ±{first_width(m):,.4g} rows with 95 %"
    else:
        yield f"Noise: each sum is within ±{first_width(m) / bound.rows:,.4g} rows times C with 95 %"
    if m.block_conditions:
        yield f"Blocks: {len(m.blocks):,}, no row is in two of them, and each has the noise of its own sums alone"
    for x in clamped(m):
        ended = m.end is not None and x.expr == m.end.number
        yield f"Clamp: {describe(x.expr)} to {f'what C rows come to; {_chosen(part)}' if ended else _interval(x.interval)}"
    if m.valued and part.bound_by is None:
        yield "Weights: in sums by what is added up, in counts by rows; a quotient of the two is no average"
    if isinstance(part.rule, FromCount):
        yield f"Threshold: groups are shown from a noisy count of {part.rule.least / m.steps_per_row:,.1f}"


def _worth(part: PricedMeasurement) -> str:
    rows, of_number = f"{part.measurement.bound.rows:,}", isinstance(part.measurement, Sums) and part.measurement.end
    if part.bound_by is None or of_number:
        return f"at most {rows} {'row' if rows == '1' else 'rows'} each"
    return f"at most C rows each; {_chosen(part)}"


def _chosen(part: PricedMeasurement) -> str:
    """Return among which numbers C is chosen, and for how much."""
    search = part.bound_by
    if search is None or not isinstance(search.measurement, RowsPerUnit):
        raise InternalError
    cost = show_down(search.cost.epsilon)
    return f"C is chosen privately, up to {search.measurement.rungs[-1]:,}, for ε = {cost}"


def _search(m: KeySearch, rule: SelectionRule | None) -> Iterator[str]:
    yield f"Unit: {m.bound.unit.name}, at most {m.bound.rows:,} keys (selection); with g keys it adds 1/√g to each"
    if isinstance(rule, GaussianSelection):
        alone, most = float(rule.units_alone()), float(rule.units)
        yield f"Threshold, with Gaussian noise: {alone:,.1f} units of one key each, {most:,.1f} of {m.bound.rows:,}"


def _interval(interval: Interval) -> str:
    return f"[{float(interval.low):g}, {float(interval.high):g}]"


def _delta(delta: Fraction) -> str:
    return f", δ = {show_down(delta)}" if delta else ""
