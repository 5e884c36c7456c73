"""The vocabulary of privacy events: frozen data that is necessary and sufficient for accounting.

An event says what was released and with how much noise, never how. All numbers are exact
(`Fraction` or `int`): floats are refused, because ``0.1`` the float is not 1/10.

Meaning never changes under a name: a new meaning gets a new name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.numerics.closed.group_privacy import chained
from dpaccount.numerics.closed.toeplitz import group_squares, tree_squares
from dpaccount.plan.event_base import (
    Amount,
    Cover,
    Event,
    GaussianPair,
    OnSample,
    Stream,
    added,
    exact,
    inside,
    walk,
    whole,
)
from dpaccount.relation import Relation


@dataclass(frozen=True, kw_only=True)
class Gaussian(GaussianPair):
    """Gaussian noise of standard deviation `sigma` on a value of ℓ2 sensitivity `sensitivity`."""

    name = "gaussian"
    grows = "sensitivity"
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)

    def _mu_squared(self) -> Fraction:
        return (self.sensitivity / self.sigma) ** 2


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Event):
    """Discrete Gaussian noise on the integer lattice of `dimension` coordinates."""

    name = "discrete_gaussian"
    grows = "sensitivity"
    group_attained = True
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    dimension: int = 1

    def _check(self) -> None:
        if self.dimension == 1:
            whole(self.name, self.sensitivity)

    def _zcdp(self) -> Amount:
        """Return that of the continuous noise, in any dimension (Canonne, Kamath & Steinke 2020)."""
        return (self.sensitivity / self.sigma) ** 2 / 2

    def _pure(self) -> Amount:
        return None if self.sensitivity else Fraction(0)


@dataclass(frozen=True, kw_only=True)
class Laplace(Event):
    """Laplace noise of scale `scale` on a value of ℓ1 sensitivity `sensitivity`."""

    name = "laplace"
    grows = "sensitivity"
    group_attained = True
    scale: Fraction
    sensitivity: Fraction = Fraction(1)

    def _pure(self) -> Amount:
        return self.sensitivity / self.scale


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(Event):
    """Two-sided geometric noise of ratio exp(−1/scale) on an integer of sensitivity `sensitivity`."""

    name = "discrete_laplace"
    grows = "sensitivity"
    group_attained = True
    scale: Fraction
    sensitivity: Fraction = Fraction(1)

    def _check(self) -> None:
        whole(self.name, self.sensitivity)

    def _pure(self) -> Amount:
        return self.sensitivity / self.scale


class _Chained(Event):
    """An ε-DP event; a chain of k is exactly the discrete Laplace pair of scale 1/ε moved by k."""

    epsilon: Fraction

    def _pure(self) -> Fraction:
        return self.epsilon

    def for_group(self, k: int) -> Event:
        """Return that pair."""
        if self.epsilon == 0:
            return self
        scale, moved = 1 / self.epsilon, Fraction(k)
        return DiscreteLaplace(scale=scale, sensitivity=moved, count=self.count, cover=self.cover)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(_Chained):
    """k-ary randomised response: the truth with odds e^ε against each other answer."""

    name = "randomized_response"
    epsilon: Fraction
    k: int = 2


@dataclass(frozen=True, kw_only=True)
class Exponential(Event):
    """Exponential mechanism, exp(ε·score/(2Δ)): pure ε, and ε-bounded-range."""

    name = "exponential"
    grows = "epsilon"
    epsilon: Fraction

    def _pure(self) -> Amount:
        return self.epsilon

    def _zcdp(self) -> Amount:
        """Return that of ε-bounded range (Cesar & Rogers 2021)."""
        return self.epsilon**2 / 8


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Event):
    """Any η-bounded-range mechanism, adaptively chosen."""

    name = "bounded_range"
    grows = "eta"
    eta: Fraction

    def _pure(self) -> Amount:
        return self.eta

    def _zcdp(self) -> Amount:
        """Return η²/8 (Cesar & Rogers 2021)."""
        return self.eta**2 / 8


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Event):
    """Permute-and-flip selection: pure ε, not bounded range."""

    name = "permute_and_flip"
    grows = "epsilon"
    group_attained = True
    epsilon: Fraction

    def _pure(self) -> Amount:
        return self.epsilon


@dataclass(frozen=True, kw_only=True)
class Pure(_Chained):
    """Any ε-differentially private mechanism."""

    name = "pure"
    group_attained = True
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class Approximate(Event):
    """Any (ε, δ)-differentially private mechanism."""

    name = "approximate"
    epsilon: Fraction
    delta: Fraction

    def _pure(self) -> Amount:
        return None if self.delta else self.epsilon

    def _approximate(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.delta

    def for_group(self, k: int) -> Event:
        """Return (kε, δ(e^{kε} − 1)/(e^ε − 1)) (Vadhan 2017)."""
        return replace(self, epsilon=k * self.epsilon, delta=chained(self.epsilon, self.delta, k))


@dataclass(frozen=True, kw_only=True)
class Zcdp(Event):
    """Any ρ-zCDP mechanism."""

    name = "zcdp"
    rho: Fraction

    def _zcdp(self) -> Amount:
        return self.rho

    def _pure(self) -> Amount:
        return None if self.rho else Fraction(0)

    def for_group(self, k: int) -> Event:
        """Return k²ρ (Bun & Steinke 2016)."""
        return replace(self, rho=k * k * self.rho)


@dataclass(frozen=True, kw_only=True)
class Gdp(GaussianPair):
    """Any μ-GDP mechanism."""

    name = "gdp"
    grows = "mu"
    mu: Fraction

    def _mu_squared(self) -> Fraction:
        return self.mu**2


@dataclass(frozen=True, kw_only=True)
class Rdp(Event):
    """Any mechanism whose Rényi divergence of each order is at most the ε beside it."""

    name = "rdp"
    points: tuple[tuple[Fraction, Fraction], ...]

    def _check(self) -> None:
        if not self.points:
            raise InputError("rdp: no points; give at least one [order, epsilon]")
        points = tuple((exact(self.name, a), exact(self.name, e)) for a, e in self.points)
        if any(order <= 1 or epsilon < 0 for order, epsilon in points):
            raise InputError("rdp: a point is out of range; orders exceed 1, epsilons are at least 0")
        object.__setattr__(self, "points", points)


@dataclass(frozen=True, kw_only=True)
class PoissonSubsampled(OnSample):
    """`of`, run on a fresh Poisson sample of rate `rate` (add-remove only)."""

    name = "poisson_subsampled"
    rate: Fraction
    of: Event

    @property
    def fraction(self) -> Fraction:
        """Return the rate."""
        return self.rate


HOLD = "whoever may be drawn pays, so it must hold them all"  #: why a cover has a least size


@dataclass(frozen=True, kw_only=True)
class SampledWithoutReplacement(OnSample):
    """`of`, run on a fresh sample of `size` out of `population` (replace-one only).

    A cover must hold the whole population: whoever may be drawn pays.
    """

    name = "sampled_without_replacement"
    size: int
    population: int
    of: Event

    def _check(self) -> None:
        if self.size > self.population:
            raise InputError(f"{self.name}: size exceeds population; use 1 <= size <= population")
        if self.cover is not None and self.cover[1] - self.cover[0] + 1 < self.population:
            raise InputError(f"{self.name}: the cover holds fewer units than the population; {HOLD}")
        super()._check()

    def covering(self, first: int, last: int) -> "Event":
        """Return this event on units first … last, which must hold its population."""
        return replace(self, cover=(first, last))

    @property
    def fraction(self) -> Fraction:
        """Return the part of the population that is drawn."""
        return Fraction(self.size, self.population)


@dataclass(frozen=True, kw_only=True)
class MatrixFactorisation(Stream):
    """Continual release of prefix sums by A = B·C with C = √Toeplitz; one participation per unit."""

    name = "matrix_factorisation"
    uneven = True
    rounds: int
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    kind: str = "sqrt-toeplitz"
    start: int = 1

    def _check(self) -> None:
        super()._check()
        if self.kind != "sqrt-toeplitz":
            raise InputError(f"{self.name}: unknown kind {self.kind!r}; known here: sqrt-toeplitz")

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return bounds on the squared norm of k columns together."""
        return group_squares(self.rounds, k)

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the event on its rounds: each is charged the longest column."""
        return (((self.start, self.start + self.rounds - 1), 1, self),)

    def met_at(self, unit: int) -> Event:
        """Return a factorisation of the rounds from `unit` on, whose first column is the unit's own."""
        return replace(self, start=unit, rounds=self.start + self.rounds - unit)


@dataclass(frozen=True, kw_only=True)
class Sequence(Event):
    """All of `of`, on the same units."""

    name = "sequence"
    group_attained = gaussian = True
    of: tuple[Event, ...] = ()

    def _check(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        for part in self.of:
            inside(self.name, part)

    def _pure(self) -> Amount:
        return added(part.pure() for part in self.of)

    def _zcdp(self) -> Amount:
        return added(part.zcdp() for part in self.of)

    def _mu_squared(self) -> Amount:
        return added(part.mu_squared() for part in self.of)

    def _approximate(self) -> tuple[Fraction, Fraction] | None:
        parts = [part.approximate() for part in self.of]
        epsilon, delta = (added(None if part is None else part[i] for part in parts) for i in (0, 1))
        return None if epsilon is None or delta is None else (epsilon, delta)

    def for_group(self, k: int) -> Event | None:
        """Return all members for k units; None where one of them has no bound but a chain."""
        known = tuple(part for part in (part.for_group(k) for part in self.of) if part is not None)
        return replace(self, of=known) if len(known) == len(self.of) else None


@dataclass(frozen=True, kw_only=True)
class Tree(Stream):
    """A binary tree of independent Gaussian node noises over `rounds` rounds from `start` on."""

    name = "tree"
    rounds: int
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    start: int = 1

    def classes(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield (nodes, cover) for each run of rounds under equally many complete nodes.

        The rounds split by the binary digits of their number; a run of 2^j of them lies under
        the j + 1 complete nodes that it contains or is contained in, because a larger node over
        it would reach beyond the last round (Chan, Shi & Song 2011).
        """
        first = self.start
        for level in range(self.rounds.bit_length() - 1, -1, -1):
            if self.rounds >> level & 1:
                yield level + 1, (first, first + (1 << level) - 1)
                first += 1 << level

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return Σ (rounds of the group under a node)², at most: one for each level where k is 1."""
        moves = Fraction(tree_squares(self.rounds, k))
        return moves, moves

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the nodes over each run of rounds under equally many of them."""
        node = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return tuple((cover, depth * self.count, node) for depth, cover in self.classes())


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
        PoissonSubsampled,
        SampledWithoutReplacement,
        MatrixFactorisation,
        Sequence,
        Tree,
    )
}


@dataclass(frozen=True)
class Plan:
    """Events fixed beforehand, and the relation under which all of them are counted."""

    relation: Relation
    events: tuple[Event, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse events that have no meaning under the relation."""
        if self.relation not in list(Relation):
            raise InputError(f"unknown relation {self.relation!r}; known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "events", tuple(self.events))
        if not all(isinstance(event, Event) for event in self.events):
            raise InputError("a plan holds something that is no event; give events of dpaccount.events")
        for kind in {id(bare): bare for bare in map(Event.bare, self.events)}.values():
            refused = next((e.name for e in walk(kind) if not allowed(e.name, self.relation)), None)
            if refused is not None:
                raise InputError(f"{refused} has no meaning under {self.relation}; {ELSEWHERE[refused]}")


#: Where events are counted that have no meaning under the other relation.
ELSEWHERE = {
    "randomized_response": "it is counted under replace-one",
    "sampled_without_replacement": "it is counted under replace-one",
    "poisson_subsampled": "it is counted under add-remove",
}


def allowed(name: str, relation: Relation) -> bool:
    """Say whether events of this name are counted under `relation`."""
    return name not in ELSEWHERE or ELSEWHERE[name].endswith(relation.value)
