"""The vocabulary of privacy events: frozen data that is necessary and sufficient for accounting.

An event states what was released and with how much noise, never how.  All numbers are exact: text
(``"1.1"``, ``"256/60000"``), integers and `Fraction` are taken as they are, a float as the decimal
that it prints as.

Meaning never changes under a name: a new meaning gets a new name.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from dpaccount.documents import html_table
from dpaccount.errors import InputError
from dpaccount.numerics.closed.gaussian import mu_squared, of_discrete_laplace, of_laplace, of_response
from dpaccount.plan.bound_events import Approximate, DominatingPair, Rdp, Shuffled, ShuffledResponse, Zcdp
from dpaccount.plan.event_base import (
    ONE,
    Amount,
    Event,
    Real,
    Spelled,
    event_kind,
    record,
    require_nestable,
    require_whole,
    sum_of_bounds,
    walk,
)
from dpaccount.plan.gaussian_events import DpFtrl, Gaussian, GaussianMixture, Gdp, MatrixFactorisation, Tree
from dpaccount.plan.sample_events import (
    BallsInBins,
    BandedPoisson,
    PoissonExamples,
    PoissonReplaced,
    PoissonSubsampled,
    RandomAllocation,
    Repeated,
    SampledWithoutReplacement,
    TruncatedPoisson,
    TruncatedReplaced,
)
from dpaccount.relation import Relation

__all__ = [
    "ELSEWHERE",
    "VOCABULARY",
    "Approximate",
    "BallsInBins",
    "BandedPoisson",
    "BoundedRange",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DominatingPair",
    "DpFtrl",
    "Event",
    "Exponential",
    "Gaussian",
    "GaussianMixture",
    "Gdp",
    "Laplace",
    "MatrixFactorisation",
    "PermuteAndFlip",
    "Plan",
    "PoissonExamples",
    "PoissonReplaced",
    "PoissonSubsampled",
    "Pure",
    "RandomAllocation",
    "RandomizedResponse",
    "Rdp",
    "Repeated",
    "SampledWithoutReplacement",
    "Sequence",
    "Shuffled",
    "ShuffledResponse",
    "Tree",
    "TruncatedPoisson",
    "TruncatedReplaced",
    "Zcdp",
    "allowed",
    "misplaced",
]


@event_kind
class DiscreteGaussian(Event):
    """Discrete Gaussian noise on integers.

    `sigma` is its parameter in each of `dimension` coordinates; a unit moves them by `sensitivity` in ℓ2.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "discrete_gaussian"
    grows = "sensitivity"
    group_attained = True
    sigma: Real
    sensitivity: Real = ONE
    dimension: int = 1

    def _check(self) -> None:
        if self.dimension == 1:
            require_whole(self.name, self.sensitivity)

    def _zcdp(self) -> Amount:
        """Return ρ of the continuous noise, in any dimension (Canonne, Kamath & Steinke 2020)."""
        return (self.sensitivity / self.sigma) ** 2 / 2

    def _pure(self) -> Amount:
        return None if self.sensitivity else Fraction(0)


@event_kind
class Laplace(Event):
    """Laplace noise of scale `scale` on a value of ℓ1 sensitivity `sensitivity`.

    `scale` is absolute, the b of exp(−|x|/b)/(2b): its standard deviation is b√2.  One release is pure
    (sensitivity/scale)-DP.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "laplace"
    grows = "sensitivity"
    group_attained = True
    scale: Real
    sensitivity: Real = ONE

    def _pure(self) -> Amount:
        return self.sensitivity / self.scale

    def _mu_squared(self) -> Amount:
        """Return μ² of the Laplace pair (docs/proofs.md, "One release under Gaussian DP")."""
        return of_laplace(self.sensitivity / self.scale)


@event_kind
class DiscreteLaplace(Event):
    """Two-sided geometric noise of ratio exp(−1/scale) on an integer of sensitivity `sensitivity`.

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "discrete_laplace"
    grows = "sensitivity"
    group_attained = True
    scale: Real
    sensitivity: Real = ONE

    def _check(self) -> None:
        require_whole(self.name, self.sensitivity)

    def _pure(self) -> Amount:
        return self.sensitivity / self.scale

    def _mu_squared(self) -> Amount:
        """Return μ² of the discrete Laplace pair (docs/proofs.md, "One release under Gaussian DP")."""
        return of_discrete_laplace(1 / self.scale, int(self.sensitivity))


@event_kind
class _Chained(Event):
    """An ε-DP event; a chain of k is exactly the discrete Laplace pair of scale 1/ε moved by k."""

    epsilon: Real

    def _pure(self) -> Fraction:
        return self.epsilon

    def for_group(self, k: int) -> Event:
        """Return discrete Laplace noise of scale 1/ε on a value moved by k: exactly the chain of k steps."""
        if self.epsilon == 0:
            return self
        scale, moved = 1 / self.epsilon, Fraction(k)
        return DiscreteLaplace(scale=scale, sensitivity=moved, count=self.count, cover=self.cover)


@event_kind
class RandomizedResponse(_Chained):
    """Randomised response among `k` answers: the truth with odds e^`epsilon` against each other answer.

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "randomized_response"
    epsilon: Real
    k: int = 2

    def _mu_squared(self) -> Amount:
        """Return μ² of the response's pair (docs/proofs.md, "One release under Gaussian DP")."""
        return of_response(self.epsilon, self.k)


class _Ranged(Event):
    """A mechanism of bounded range: its parameter is how wide losses lie apart."""

    def _pure(self) -> Fraction:
        return getattr(self, self.grows)

    def _zcdp(self) -> Fraction:
        """Return η²/8 (Cesar & Rogers 2021)."""
        return self._pure() ** 2 / 8

    def _mu_squared(self) -> Fraction:
        """Return what η/2-DP costs (docs/proofs.md)."""
        return mu_squared(self._pure() / 2)


@event_kind
class Exponential(_Ranged):
    """Exponential mechanism of `epsilon`, exp(ε·score/(2Δ)), run `count` times on units of `cover`."""

    name = "exponential"
    grows = "epsilon"
    epsilon: Real


@event_kind
class BoundedRange(_Ranged):
    """Any mechanism of bounded range `eta`, adaptively chosen, run `count` times on units of `cover`."""

    name = "bounded_range"
    grows = "eta"
    eta: Real


@event_kind
class PermuteAndFlip(Event):
    """Permute-and-flip: pure `epsilon`, not bounded range, run `count` times on units of `cover`."""

    name = "permute_and_flip"
    grows = "epsilon"
    group_attained = True
    epsilon: Real

    def _pure(self) -> Amount:
        return self.epsilon

    def _mu_squared(self) -> Amount:
        """Return μ² of Laplace noise of the same ε, whose pair dominates it (docs/numerics.md)."""
        return of_laplace(self.epsilon)


@event_kind
class Pure(_Chained):
    """Any `epsilon`-differentially private mechanism, run `count` times on units of `cover`."""

    name = "pure"
    group_attained = True
    epsilon: Real


@event_kind
class Sequence(Event):
    """All of `of`, on the same units, run `count` times on units of `cover`."""

    name = "sequence"
    group_attained = gaussian = True
    of: tuple[Event, ...] = ()

    def _check(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        for part in self.of:
            require_nestable(self.name, part)

    def _pure(self) -> Amount:
        return sum_of_bounds(part.pure() for part in self.of)

    def _zcdp(self) -> Amount:
        return sum_of_bounds(part.zcdp() for part in self.of)

    def _mu_squared(self) -> Amount:
        return sum_of_bounds(part.mu_squared() for part in self.of)

    def _approximate(self) -> tuple[Fraction, Fraction] | None:
        parts = [part.approximate() for part in self.of]
        epsilon, delta = (sum_of_bounds(None if part is None else part[i] for part in parts) for i in (0, 1))
        return None if epsilon is None or delta is None else (epsilon, delta)

    def for_group(self, k: int) -> Event | None:
        """Return all members for k units; None where one of them has no bound but a chain."""
        known = tuple(part for part in (part.for_group(k) for part in self.of) if part is not None)
        return replace(self, of=known) if len(known) == len(self.of) else None


VOCABULARY: dict[str, type[Event]] = {
    kind.name: kind
    for kind in (
        Gaussian,
        DiscreteGaussian,
        Laplace,
        DiscreteLaplace,
        RandomizedResponse,
        Exponential,
        BoundedRange,
        PermuteAndFlip,
        Pure,
        Approximate,
        Zcdp,
        Gdp,
        Rdp,
        DominatingPair,
        Shuffled,
        ShuffledResponse,
        GaussianMixture,
        PoissonSubsampled,
        PoissonExamples,
        PoissonReplaced,
        TruncatedPoisson,
        TruncatedReplaced,
        SampledWithoutReplacement,
        RandomAllocation,
        MatrixFactorisation,
        DpFtrl,
        BandedPoisson,
        BallsInBins,
        Repeated,
        Sequence,
        Tree,
    )
}


NO_EVENTS: Any = ()


class Planned(Protocol):
    """What has a plan, such as a training run."""

    def plan(self) -> "Plan":
        """Return the plan of what was released."""
        ...


@record(frozen=True, repr=False)
class Plan:
    """Events fixed beforehand, and the relation under which all of them are counted.

    Plans and runs of one relation can be added, events can be added to a plan, and times a number everything
    is released that many times as often.

    >>> plan = Plan("replace-one", Gaussian(sigma=4) * 10) + Laplace(scale="2.5", cover=(1, 512))
    >>> print(2 * plan)
    replace-one
      count  event     parameters         units
         20  gaussian  sigma 4            all
          2  laplace   scale 2.5          1 to 512
    """

    relation: Spelled[Relation, Relation | str]
    events: Spelled[tuple[Event, ...], Event | Iterable[Event]] = NO_EVENTS

    def __post_init__(self) -> None:
        """Refuse events that have no meaning under the relation."""
        if self.relation not in list(Relation):
            raise InputError(f"unknown relation {self.relation!r}", f"known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation))
        held: Any = self.events
        object.__setattr__(self, "events", (held,) if isinstance(held, Event) else tuple(held))
        if not all(isinstance(event, Event) for event in self.events):
            raise InputError("a plan holds something that is no event", "give events of dpaccount.events")
        # By identity: the covers of one kind share its bare event, so that each kind is walked through once.
        for kind in {id(bare): bare for bare in map(Event.bare, self.events)}.values():
            refused = next((e.name for e in walk(kind) if not allowed(e.name, self.relation)), None)
            if refused is not None:
                raise InputError(misplaced(refused, self.relation), ELSEWHERE[refused])

    def __add__(self, more: "Plan | Planned | Event | Iterable[Event]") -> "Plan":
        """Return the plan with further events, or with those of a plan or a run of the same relation."""
        if not isinstance(more, Plan | Event | Iterable):
            more = more.plan() if callable(more.plan) else more.plan  # an accountant's is a property
        if isinstance(more, Plan) and more.relation != self.relation:
            raise InputError(
                f"plans under {self.relation} and {more.relation} do not add up", "count both under one"
            )
        events = more.events if isinstance(more, Plan) else (more,) if isinstance(more, Event) else more
        return Plan(self.relation, (*self.events, *events))

    def __mul__(self, times: int) -> "Plan":
        return Plan(self.relation, [event * times for event in self.events])

    __rmul__ = __mul__

    def assumptions(self) -> list[str]:
        """Return the user's own assumptions, beyond the events: pairs of laws, sizes of datasets."""
        kinds = {id(bare): bare for bare in map(Event.bare, self.events)}.values()
        texts = (part.assumption() for kind in kinds for part in walk(kind))
        return list(dict.fromkeys(filter(None, texts)))

    def as_json(self) -> dict[str, Any]:
        """Return this plan as a document of schema ``dpaccount/events/1``."""
        listed = [event.as_json() for event in self.events]
        return {"schema": "dpaccount/events/1", "relation": self.relation.value, "events": listed}

    def to_json(self) -> str:
        """Return that document as text; `dpaccount.read_events` reads it back."""
        return json.dumps(self.as_json(), ensure_ascii=False)

    def __repr__(self) -> str:
        """Return a table of the events."""
        rows = [HEAD, *map(_row, self.events[:MOST_ROWS])]
        widths = [max(len(row[place]) for row in rows) for place in range(3)]
        lines = [
            f"  {count:>{widths[0]}}  {name:<{widths[1]}}  {parameters:<{widths[2]}}  {units}"
            for count, name, parameters, units in rows
        ]
        rest = len(self.events) - MOST_ROWS
        return "\n".join([self.relation.value, *lines, *([f"  and {rest} more"] if rest > 0 else [])])

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        rest = len(self.events) - MOST_ROWS
        more = f", the first {MOST_ROWS} of {len(self.events)}" if rest > 0 else ""
        rows = map(_row, self.events[:MOST_ROWS])
        return html_table(HEAD, rows, f"{self.relation.value}{more}")


HEAD = ("count", "event", "parameters", "units")
MOST_ROWS = 60  #: of a plan that are printed
MOST_MEMBERS = 8  #: and of a list in one of its rows


def _row(event: Event) -> tuple[str, str, str, str]:
    document = event.as_json()
    count, cover = document.pop("count", 1), document.pop("cover", None)
    del document["event"]
    parameters = ", ".join(f"{key} {_shown(value)}" for key, value in document.items())
    units = "all" if cover is None else f"{cover[0]} to {cover[1]}"
    return str(count), event.name, parameters, units


def _shown(value: Any) -> str:
    """Return a parameter in a line: an inner event by its name and its own parameters."""
    if isinstance(value, list):
        more = [f"… ({len(value)})"] if len(value) > MOST_MEMBERS else []
        return f"[{', '.join([*map(_shown, value[:MOST_MEMBERS]), *more])}]"
    if not isinstance(value, dict):
        return str(value)
    rest = ", ".join(f"{key} {_shown(each)}" for key, each in value.items() if key != "event")
    return f"{value['event']} ({rest})"


#: Where events are counted that are not counted under the other relation.
ELSEWHERE = {
    "randomized_response": "it is counted under replace-one",
    "shuffled": "it is counted under replace-one",
    "shuffled_response": "it is counted under replace-one",
    "sampled_without_replacement": "it is counted under replace-one",
    "poisson_subsampled": "use poisson_replaced, or count it under add-remove",
    "poisson_examples": "it is counted under add-remove",
    "banded_poisson": "it is counted under add-remove",
    "balls_in_bins": "it is counted under add-remove",
    "gaussian_mixture": "it is counted under add-remove",
    "poisson_replaced": "it is counted under replace-one",
    "truncated_poisson": "use truncated_replaced, or count it under add-remove",
    "truncated_replaced": "it is counted under replace-one",
    "random_allocation": "a unit that is replaced is a group of two (--group 2), counted under add-remove",
}


def misplaced(name: str, relation: Relation) -> str:
    """Return why events of this name are refused under `relation`."""
    known = name == "random_allocation"  # its pair is known there, but not how such pairs compose
    return f"{name} {'is not computed' if known else 'has no meaning'} under {relation}"


def allowed(name: str, relation: Relation) -> bool:
    """Return whether events of this name are counted under `relation`."""
    return name not in ELSEWHERE or ELSEWHERE[name].endswith(relation.value)
