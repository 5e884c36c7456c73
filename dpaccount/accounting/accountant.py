"""What a plan costs: ε(δ) and δ(ε) of its worst unit, as proved enclosures.

>>> from dpaccount.accounting.accountant import Accountant
>>> from dpaccount.plan.events import Gaussian
>>> bounds = Accountant(Gaussian(sigma=4, count=16)).epsilon("1e-5")
>>> f"{bounds:.9f}"
'4.377178096'

Parameters and covers are fixed beforehand; queries may be adaptive. For parameters that are chosen
from earlier answers there are `dpaccount.Filter` and `dpaccount.Odometer`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Never, Union

from dpaccount.accounting import account
from dpaccount.accounting.methods.answer import Answer, intersect_upper, largest_answer
from dpaccount.accounting.own_bounds import Implied, OwnBounds
from dpaccount.accounting.worst_unit import Scalar, Worst, delta_scalar, epsilon_scalar, worst
from dpaccount.errors import BudgetError, InputError
from dpaccount.exact import Enclosure, Exact, Number, exact_argument
from dpaccount.forks import cached_property, unforked
from dpaccount.numerics.closed.group_privacy import chain_delta, chain_epsilon
from dpaccount.numerics.work_budget import ANSWER, allowance, allowance_left, granted, question, share
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import group_compositions
from dpaccount.plan import groups
from dpaccount.plan.cover_partition import UnitClass, attained_classes, unit_classes
from dpaccount.plan.event_base import Amount, Event, OnSample, Stream, times_bound, walk
from dpaccount.plan.events import BallsInBins, BandedPoisson, GaussianMixture, Plan, Planned
from dpaccount.relation import Relation

if TYPE_CHECKING:
    from dpaccount.accounting.methods.growing import Growing
    from dpaccount.accounting.risk import Risk

STANDARD_DELTAS = ("1e-5", "1e-6", "1e-8", "1e-10")
GAP = Fraction(1, 10**6)
OF_CHAIN = 0.125  #: of the work that is left, for each question that a chain of groups asks


Part = Union["Accountant", Plan, Planned, Event]
Parts = Part | Iterable[Part]  #: what an `Accountant` counts
DeltaOf = Callable[[Fraction], Fraction]  #: ε ↦ an upper bound on δ of single units


@dataclass(frozen=True)
class _PlanQuestion:
    """A question: what one unit pays, what a chain of groups pays, the cheap bound, the relative width."""

    at_gap: Callable[[Composition, Fraction], Answer]
    chained: Callable[[DeltaOf], Number]
    scalar: Scalar | None
    gap: Fraction

    def evaluate(self, total: Composition) -> Answer:
        """Return the cost of one total."""
        return self.at_gap(total, self.gap)

    def worst(self, totals: list[Composition]) -> Answer:
        """Return what the worst of several totals costs; closely only where it is not seen at a glance."""
        *others, likely = totals
        found = [self.evaluate(likely)]
        for total in others:
            rough = self.at_gap(total, Fraction(1, 5))
            below = rough.bounds.upper <= found[0].bounds.upper
            found.append(rough if below else self.evaluate(total))
        return largest_answer(found)


@dataclass(frozen=True, repr=False)
class PlanCost(Enclosure):
    """An enclosure of what a plan costs at one point of its profile."""

    accountant: "Accountant" = field(compare=False)

    def plot(self, kind: str = "profile", axes: Any = None) -> Any:
        """Draw what `Accountant.plot` draws."""
        return self.accountant.plot(kind, axes)


def _counted(parts: Parts, relation: Relation | str | None, group: int) -> Plan:
    """Return the plan of all parts: runs have a relation, events alone one in which they have a meaning."""
    listed = list(parts) if isinstance(parts, Iterable) else [parts]
    other = next((part for part in listed if isinstance(part, Accountant) and part.group != group), None)
    if other is not None:
        raise InputError(
            f"an accountant for groups of {other.group} is counted for groups of {group}",
            "give both one group",
        )
    flat = [part.plan if isinstance(part, Accountant) else part for part in listed]
    given = [part for part in flat if isinstance(part, Event)]
    runs = [part for part in flat if not isinstance(part, Event)]
    if not all(isinstance(run, Plan) or callable(getattr(run, "plan", None)) for run in runs):
        raise InputError(
            "a plan holds something that is no event", "give events of dpaccount.events, or runs"
        )
    if runs:
        first, *others = (run if isinstance(run, Plan) else run.plan() for run in runs)
        whole = sum(others, first) + given
        if relation not in (None, whole.relation):
            raise InputError(f"the runs are counted under {whole.relation}, not {relation}", "leave it out")
        return whole
    if relation is not None:
        return Plan(relation, given)
    try:
        return Plan(Relation.REPLACE_ONE, given)
    except InputError:
        with suppress(InputError):  # they may have no common relation: the first reason says more
            return Plan(Relation.ADD_REMOVE, given)
        raise


@dataclass(eq=False)
class _Counted:
    """A plan, how it grew, and what was answered about it."""

    plan: Plan
    growing: "Growing | None" = None
    answers: dict[tuple[object, ...], Worst] = field(default_factory=dict)

    @cached_property
    def classes(self) -> list[UnitClass]:
        """Return the classes of units."""
        return unit_classes(self.plan.events)

    @cached_property
    @question()
    def own(self) -> OwnBounds:
        """Return what single units cost at most in other theories."""
        return OwnBounds(
            self._most(Event.pure),
            self._most(_of_samples(Event.mu_squared)),
            self._most(_of_samples(Event.zcdp)),
        )

    def _most(self, bound: Callable[[Event], Amount]) -> Amount:
        """Return the largest sum of bounds over units; None if one has none."""
        once, most = cache(bound), Fraction(0)
        for unit in self.classes:
            total = Fraction(0)
            for event, count in unit.items:
                amount = once(event)
                if amount is None:
                    return None
                total += count * amount
            most = max(most, total)
        return most


class Accountant:
    """The cost of a plan for groups of `group` units (1: single units).

    A `Plan` has its own relation, and so have a run, such as of `dpaccount.sgd`, and an accountant; several
    add up, accountants of the same `group` by ``+``, too.  Events alone, one or several, are counted under
    `relation`: by default replace-one, or add-remove if they have a meaning only there, as Poisson samples
    do.

    >>> from dpaccount.plan.events import Gaussian
    >>> Accountant(Gaussian(sigma=4, count=10)).epsilon(1e-5)
    3.34140947 (±8e-10)

    >>> both = Accountant(Gaussian(sigma=4, count=4)) + Accountant(Gaussian(sigma=4, count=6))
    >>> both.epsilon(1e-5)
    3.34140947 (±8e-10)

    Answers are remembered, and `compose` adds events.
    """

    def __init__(
        self,
        plan: Parts,
        group: int = 1,
        *,
        relation: Relation | str | None = None,
    ) -> None:
        if type(group) is not int or group < 1:
            raise InputError(
                f"a group of {group!r} is out of range", "it must be a whole number of at least 1"
            )
        self._now = _Counted(plan if isinstance(plan, Plan) else _counted(plan, relation, group))
        self.group = group

    def __add__(self, more: Parts) -> "Accountant":
        """Return the accountant of both, for groups of this size."""
        return Accountant([self, *(more if isinstance(more, Iterable) else [more])], self.group)

    @property
    def plan(self) -> Plan:
        """Return what is counted."""
        return self._now.plan

    def _as_now(self) -> "Accountant":
        """Return a snapshot, which `compose` in another thread does not change."""
        found = Accountant(self.plan, self.group)
        found._now = self._now
        return found

    def __repr__(self) -> str:
        """Return the plan's table, and for whom it is counted."""
        return f"Accountant, groups of {self.group}, of {self.plan!r}"

    def _repr_html_(self) -> str:
        """Return the plan's table for a notebook."""
        return self.plan._repr_html_()

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as the plan and the group: balls cannot be pickled."""
        return Accountant, (self.plan, self.group)

    def plot(self, kind: str = "profile", axes: Any = None) -> Any:
        """Draw the ``profile`` δ(ε) or the ``trade-off`` curve; return Matplotlib's axes.

        Raises `InputError` for another kind.
        """
        from dpaccount.accounting.profile import plotted

        return plotted(self, kind, axes)

    @property
    def classes(self) -> list[UnitClass]:
        """Return the classes of units, by the multiset of events that cover them."""
        return self._now.classes

    def compose(self, more: Parts) -> None:
        """Count further events, runs or accountants, too: a fresh ε after each step of a loop costs little.

        As in every plan, their parameters may not depend on what was released; for those that do there are
        `dpaccount.Filter` and `dpaccount.Odometer`.  Raises `InputError` as `Accountant` does.

        >>> from dpaccount.plan.events import PoissonSubsampled
        >>> accountant = Accountant([], relation="add-remove")
        >>> for sigma in ("1.1", "1.2"):
        ...     accountant.compose(PoissonSubsampled(rate="0.01", of=Gaussian(sigma=sigma), count=200))
        >>> print(f"{accountant.epsilon('1e-5'):.6f}")
        1.003236
        """
        from dpaccount.accounting.methods.growing import Growing  # which a plan at once has no use for

        with unforked():  # threads take turns
            now = self._now
            whole = _counted([now.plan, *(more if isinstance(more, Iterable) else [more])], None, self.group)
            growing, begun = now.growing or Growing(), len(now.plan.events) if now.growing else 0
            # One assignment: a question, or an interruption, meets the old plan or the new one.
            self._now = _Counted(
                Plan(whole.relation, _together(whole.events)), growing.grown(whole.events[begun:])
            )

    def epsilon(self, delta: Exact, gap: Exact = GAP) -> PlanCost:
        """Return the least ε ≥ 0 with δ(ε) ≤ delta, within gap·max(1, ε) if the method can."""
        found = self.worst_epsilon(delta, gap).bounds
        return PlanCost(found.lower, found.upper, self)

    def delta(self, epsilon: Exact, gap: Exact = GAP) -> PlanCost:
        """Return δ(ε), within gap·δ if the method can."""
        found = self.worst_delta(epsilon, gap).bounds
        return PlanCost(found.lower, found.upper, self)

    def worst_epsilon(self, delta: Exact, gap: Exact = GAP) -> Worst:
        """Return ε(delta) with the unit that pays it and the method."""
        target, width = exact_argument("delta", delta), _width(gap)
        if not 0 <= target <= 1:
            raise InputError(f"delta {delta} is out of range", "it must be in [0, 1]")
        return self._as_now()._worst_epsilon(target, width)

    def _worst_epsilon(self, target: Fraction, width: Fraction) -> Worst:
        def grown() -> Worst | None:
            growing = self._now.growing
            if growing is None or self.group > 1 or not 0 < target < 1:
                return None
            close = growing.epsilon(target, width)
            return None if close is None else Worst(close, None, "Fourier inversion")

        def rough(total: Composition) -> Answer:
            return account.epsilon(total, target / self.group, Fraction(1))

        def chained(delta_of: DeltaOf) -> Number:
            if target == 1:
                return Fraction(0)
            least = worst(self.classes, rough, epsilon_scalar(target / self.group)).bounds.lower or Fraction(
                0
            )
            if not isinstance(least, Fraction):  # one unit's failures are too many
                return math.inf
            found = chain_epsilon(share(OF_CHAIN)(delta_of), target, self.group, least)
            return math.inf if found is None else found

        question = _PlanQuestion(
            lambda total, gap: account.epsilon(total, target, gap),
            chained,
            epsilon_scalar(target),
            width,
        )
        return self._remembered(
            ("epsilon", target, width),
            lambda: self._cut(
                grown() or self._grouped(question), lambda most: self._own().epsilon(target, most)
            ),
        )

    def worst_delta(self, epsilon: Exact, gap: Exact = GAP) -> Worst:
        """Return δ(epsilon) with the unit that pays it and the method."""
        at, width = exact_argument("epsilon", epsilon), _width(gap)
        if at < 0:
            raise InputError(f"epsilon {epsilon} is out of range", "it must be at least 0")

        question = _PlanQuestion(
            lambda total, gap: account.delta(total, at, gap),
            lambda delta_of: chain_delta(delta_of, at, self.group),
            delta_scalar(at),
            width,
        )
        now = self._as_now()
        return now._remembered(
            ("delta", at, width),
            lambda: now._cut(now._grouped(question), lambda most: now._own().delta(at, most)),
        )

    def _remembered(self, asked: tuple[object, ...], answer: Callable[[], Worst]) -> Worst:
        """Return the remembered answer, or a new one, which is remembered."""
        if allowance_left() < math.inf:  # in a larger question, whose answer may not depend on earlier ones
            return answer()
        answers, place = self._now.answers, (*asked, granted(1.0))
        if place not in answers:
            answers[place] = answer()
        return answers[place]

    def renyi(self, order: Exact) -> PlanCost:
        """Return the Rényi divergence at an order above 1, the larger of both directions.

        The ε of (order, ε)-Rényi DP; infinite where there is none.  Its lower end is None where only bounds
        are known.  Raises `InputError` for another order.
        """
        found = self.worst_renyi(order).bounds
        return PlanCost(found.lower, found.upper, self)

    def worst_renyi(self, order: Exact) -> Worst:
        """Return that divergence with the unit that pays it and the method."""
        from dpaccount.accounting.methods.at_order import renyi  # what few questions need

        at = exact_argument("order", order)
        if at <= 1:
            raise InputError(f"order {order} is out of range", "it must be above 1")
        # From group privacy nothing finite follows: only what the events say of groups counts.
        question = _PlanQuestion(lambda total, gap: renyi(total, at), lambda _: math.inf, None, GAP)
        now = self._as_now()
        return now._cut(now._grouped(question), lambda most: now._own().renyi(at, most))

    @question()
    def _grouped(self, question: _PlanQuestion) -> Worst:
        """Return the worst answer for single units, or for groups as tightly as the events allow."""
        if self.group == 1:
            return self._single(question)
        # From close to loose: one group is worst for all events at once; all are Gaussian, so that k units
        # cost kμ wherever they lie; or only the chain of neighbours is left.
        plan = self.plan.events
        joint, first = group_compositions(plan, self.group), groups.common(plan, self.group)
        if joint is not None and first is not None:
            answer = question.worst(joint)
            found = Worst(answer.bounds, first or None, answer.method)
            return found if all(map(groups.attained, plan)) else self._floored(found, question)
        if all(map(groups.gaussian, plan)):
            found, exact = self._aligned(question)
            return found if exact else _lower(self._floored(found, question), joint, question)
        return _lower(self._chained(question), joint, question)

    def _single(self, question: _PlanQuestion) -> Worst:
        """Return what the worst unit is charged, with what some unit is known to cost as its lower end."""
        found = worst(self.classes, question.evaluate, question.scalar)
        if not any(event.uneven for event in self.plan.events):
            return found
        own = attained_classes(self.plan.events)
        if own == self.classes:
            return found
        lower, upper = worst(own, question.evaluate, question.scalar).bounds.lower, found.bounds.upper
        return replace(found, bounds=Enclosure(None if lower is None else min(lower, upper), upper))

    def _aligned(self, question: _PlanQuestion) -> tuple[Worst, bool]:
        """Return what k units cost as if each met the worst Gaussian noise, and whether some do."""
        known = [event for event in (event.for_group(self.group) for event in self.plan.events) if event]
        wide = all(unit.size is None or unit.size >= self.group for unit in self.classes)
        shared = not any(isinstance(event, Stream) for event in self.plan.events)
        return worst(unit_classes(known), question.evaluate, question.scalar), wide and shared

    def _chained(self, question: _PlanQuestion) -> Worst:
        """Return what a chain of neighbours costs at most."""

        def delta_of(at: Fraction) -> Fraction:
            found = worst(
                self.classes, lambda total: account.delta(total, at, question.gap), delta_scalar(at)
            )
            return min(Fraction(1), Fraction(found.bounds.upper))

        single = self._single(question)
        with allowance(ANSWER):
            bounds = Enclosure(single.bounds.lower, question.chained(delta_of))
        return replace(single, bounds=bounds, method=f"group chain over {single.method}")

    def _floored(self, found: Worst, question: _PlanQuestion) -> Worst:
        """Return the answer with what one unit pays as its lower end."""
        lower, upper = self._single(question).bounds.lower, found.bounds.upper
        known = None if lower is None or found.bounds.lower is None else min(lower, upper)
        return replace(found, bounds=Enclosure(known, upper))

    def risk(
        self, distance: Exact | None = "1e-8", rates: Sequence[Exact] = ("0.001", "0.01", "0.1")
    ) -> "Risk":
        """Return what an attacker learns at most: advantage, true-positive rates, and μ up to a distance.

        `distance`: how far the curve may lie above that of μ, in (0, 1), or None where no μ is sought.
        `rates`: the false-positive rates in (0, 1) at which bounds are to be close.

        Raises `InputError` where one is out of range.
        """
        from dpaccount.accounting.risk import risk_of  # what few questions need

        now = self._as_now()
        return risk_of(now, distance, rates, now._own())

    def charge(self, event: Event) -> Never:
        """Refuse always: a plan is fixed beforehand; charges that depend on answers need a filter."""
        raise BudgetError(
            f"{event.name} cannot be charged to a plan, whose parameters are fixed beforehand; charge a"
            " dpaccount.Filter, or make a plan of everything before anything is released"
        )

    def zcdp(self) -> Fraction | None:
        """Return the largest ρ over units, an upper bound.

        None if some event has no zCDP bound, or a sample only that of the release on all units.
        """
        return self._own().zcdp

    def gdp(self) -> Fraction | None:
        """Return an upper bound on the largest μ² over units.

        None if some event is not GDP, or a sample only as the release on all units is: it has a μ up to a
        distance (`risk`).
        """
        return self._own().gdp

    def pure(self) -> Fraction | None:
        """Return the largest pure ε over units, an upper bound; None if it is infinite."""
        return self._own().pure

    def _own(self) -> OwnBounds:
        """Return the three for the group: kε, (kμ)² and k²ρ (Bun & Steinke 2016; Dong, Roth & Su 2022)."""
        one, square = self._now.own, self.group**2
        return OwnBounds(
            times_bound(self.group, one.pure), times_bound(square, one.gdp), times_bound(square, one.zcdp)
        )

    def _cut(self, found: Worst, implied: Callable[[Implied], Implied]) -> Worst:
        """Return an answer that is at most what the plan's own numbers imply; its ends must meet."""
        above, method = implied((found.bounds.upper, found.method))
        bounds = intersect_upper(Answer(found.bounds, found.method), above).bounds
        return replace(found, bounds=bounds, method=method if bounds.lower is None else found.method)


def _together(events: Sequence[Event]) -> list[Event]:
    """Return the events, equal ones in a row as one."""
    found: list[Event] = []
    for event in events:
        if found and found[-1] * event.count == event * found[-1].count:
            found[-1] = replace(event, count=found[-1].count + event.count)
        else:
            found.append(event)
    return found


def _of_samples(bound: Callable[[Event], Amount]) -> Callable[[Event], Amount]:
    """Return the bound, and None for a sample that has none but that of the release on all units.

    ρ and μ depend on the far tail of the curve, where a sample is no better than the release: beside its ε
    they say nothing.  (A ledger adds them up all the same, as adaptive charges need.)
    """

    def known(event: Event) -> Amount:
        chance = OnSample | BandedPoisson | BallsInBins | GaussianMixture
        samples = (part for part in walk(event) if isinstance(part, chance))
        rare = any(part.pure() is None and getattr(part, "rate", 0) != 1 for part in samples)
        return None if rare else bound(event)

    return known


def _lower(found: Worst, joint: list[Composition] | None, question: _PlanQuestion) -> Worst:
    """Return the answer, cut at what all events together cost at their own worst units."""
    answer = None if joint is None else question.worst(joint)
    if answer is None or answer.bounds.upper >= found.bounds.upper:
        return found
    return replace(found, bounds=Enclosure(found.bounds.lower, answer.bounds.upper), method=answer.method)


def _width(gap: Exact) -> Fraction:
    width = exact_argument("gap", gap)
    if width <= 0:
        raise InputError(f"gap {gap} is out of range", "it must be above 0")
    return width
