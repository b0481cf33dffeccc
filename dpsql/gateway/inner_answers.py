"""The answers to inner queries, read off what was released for them: post-processing, by the shadow that planning asks.

From here on nothing is known but releases: which rows an answer has, whether it has too many, and what it is found to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dpsql.errors import InternalError
from dpsql.gateway.plans.tracked_scopes import ScopePlan
from dpsql.gateway.pricing import Drawn, PricedPlan
from dpsql.interrupt import until_cancelled
from dpsql.policy.model import Digits
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measured, as_chosen, with_relation
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release import postprocess
from dpsql.privacy.release.noisy_ladder import chosen_by
from dpsql.privacy.release.postprocess import CanHaveRows, CellText
from dpsql.privacy.release.release import NOTHING_KNOWN, Profile
from dpsql.question import Cancellation
from dpsql.rewrite.analysis.possible import possible
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.constant_table import TableRows
from dpsql.rewrite.ir.literal import ConstantEvaluator, SpelledSql
from dpsql.rewrite.ir.relation import Relation, awaited_tables, with_answers
from dpsql.rewrite.translate.public.public_queries import answered_table


@dataclass(frozen=True, slots=True)
class Reading:
    """How released rows become tables, for one request."""

    evaluator: ConstantEvaluator
    emitter: Emitter
    cancellation: Cancellation
    clamp: bool
    digits: Digits
    """Of the client's answer; inner ones keep all, since they are measured with."""
    profile: Profile = NOTHING_KNOWN
    """The facts about whole tables."""

    def over(self, priced: PricedPlan, drawn: Drawn) -> str:
        """Return a statement over its released rows, of whose inner queries all is released, too.

        Raises:
            DpsqlError: an inner answer can't be computed, or has rows where it may have one.
        """
        return priced.plan.over(rows for _, rows in self.rows(priced, drawn))

    def rows(self, priced: PricedPlan, drawn: Drawn) -> Iterator[tuple[ScopePlan, list[list[CellText]]]]:
        """Yield each scope of a plan with its released rows.

        Raises:
            DpsqlError: likewise.
        """
        possible = self.possible(priced, drawn)
        for scope, measured, shown in zip(priced.plan.scopes, priced.scopes, possible, strict=True):
            draws = [drawn[part.identity] for part in measured.parts]
            shows = postprocess.Shows.of(self.digits, clamp=self.clamp)
            rows = postprocess.rows(measured.plan, draws, scope.types, shows, possible=shown)
            yield scope, list(until_cancelled(rows, self.cancellation))

    def possible(self, priced: PricedPlan, drawn: Drawn) -> list[CanHaveRows | None]:
        """Return for each scope of a plan which groups can have rows, None if that does not depend on inner answers.

        Raises:
            DpsqlError: likewise.
        """
        answers = self._answers(priced, drawn)
        return [self._possible(scope, answers) for scope in priced.plan.scopes]

    def completed(self, priced: PricedPlan, part: PricedMeasurement, drawn: Drawn) -> PricedMeasurement:
        """Return a measurement with what was released before in it, everything else being as it was paid.

        That are the answers that it waits for, and the C that is chosen by how many rows units have.

        Raises:
            DpsqlError: likewise.
        """
        settled = self.settled(priced, part, drawn)
        return part if settled is part else replace(settled, sql=settled.measurement.sql(self.emitter))

    def settled(self, priced: PricedPlan, part: PricedMeasurement, drawn: Drawn) -> PricedMeasurement:
        """Return the same measurement with the text that it had: for who has its rows already.

        Raises:
            DpsqlError: likewise.
        """
        wanted = {table.place for table in awaited_tables(part.measurement.relation)}
        if not wanted and part.bound_by is None:
            return part
        measurement = part.measurement
        if wanted:  # an answer may be of groups alone, for which nothing is measured
            answers = self._answers(_stage_of(priced, part), drawn, wanted)
            measurement = with_relation(measurement, _answered(measurement.relation, answers))
        keys = None if part.finds_keys is None else drawn[part.finds_keys.identity].keys
        groups = len(measurement.groups.grouped if keys is None else keys)
        chosen = None if part.bound_by is None else self._chosen(priced, part.bound_by, measurement, groups, drawn)
        if chosen is not None:
            measurement = as_chosen(measurement, chosen.rows)
        return replace(part, measurement=measurement, chosen=chosen)

    def _chosen(
        self, priced: PricedPlan, part: PricedMeasurement, measurement: Measured, groups: int, drawn: Drawn
    ) -> ChosenBound:
        """Return the C of a measurement, chosen by what was released of how many rows units have."""
        search, release = drawn[part.identity].best
        if not isinstance(search, RowsPerUnit) or not isinstance(measurement, (Sums, Histogram)):
            raise InternalError
        # Not by a profile: another role, which has not paid for that, may be told the same release.
        return chosen_by(search, release.numbers[0], measurement, groups, aimed=priced.aim is not None)

    def _answers(self, priced: PricedPlan, drawn: Drawn, wanted: set[int] | None = None) -> Mapping[int, TableRows]:
        """Return the rows of inner queries by their places."""
        return {
            place: self._rows(inner, drawn)
            for place, inner in enumerate(priced.inner)
            if wanted is None or place in wanted
        }

    def _rows(self, inner: PricedPlan, drawn: Drawn) -> TableRows:
        text = replace(self, digits=Digits.ALL).over(inner, drawn)
        return answered_table(self.evaluator.rows(SpelledSql(text))).rows

    def _possible(self, scope: ScopePlan, answers: Mapping[int, TableRows]) -> CanHaveRows | None:
        keys = [key.expr for key in scope.plan.groups.keys]
        if scope.waiting is None or not keys:
            return None
        return possible(keys, _answered(scope.waiting, answers), self.emitter.declared)


def _answered(relation: Relation, answers: Mapping[int, TableRows]) -> Relation:
    return with_answers(relation, lambda awaited: awaited.answered(answers[awaited.place]))


def _stage_of(priced: PricedPlan, part: PricedMeasurement) -> PricedPlan:
    stages: Iterator[PricedPlan] = priced.stages()
    for stage in stages:
        parts = (each for scope in stage.scopes for measured in scope.parts for each in (measured, measured.bound_by))
        if any(each is not None and each.identity == part.identity for each in parts):
            return stage
    raise InternalError
