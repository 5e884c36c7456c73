"""Outsourced optimisation, Kharkovskii, Dai & Low 2020, section 4: who hands rows out, who asks for values.

The first query is one point drawn uniformly, which counts as the first of the T; the paper names no number of
initial points.  Hyper-parameters are known to all learners alike, as in section 2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from bandits.outsourced_optimisation.kernels import RowKernel
from bandits.outsourced_optimisation.modeler import AS_PUBLISHED, NOISE_AWARE, Acquisition, Modeler
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range
from mechanisms.k_norm import KNorm
from mechanisms.shared import moved_rows
from papers.kharkovskii.fields import FIELDS, NORM, Field, gaussian_field
from papers.kharkovskii.published import transform, width
from papers.reproduction import LAST_ROUND, Summary, TrialWorld

RADIUS = Fraction(int(NORM))
MOVED = Fraction(1)  #: a neighbour's row moves by at most so much
GRID_BITS = 10
#: how the next row is chosen: by the paper's β_t, by a constant width, or as our modeler does
ACQUISITIONS = {
    "published": AS_PUBLISHED,
    "constant": Acquisition(NOISE_AWARE.width),
    "noise-aware": NOISE_AWARE,
}


def epsilon_of(log_epsilon: float) -> Fraction:
    """Return e^x, cut after six digits: no more than it."""
    return Fraction(math.floor(math.exp(log_epsilon) * 10**6), 10**6)


# ------------------------------------------------------------------ learners and their releases


@dataclass(frozen=True)
class PlainGpUcb:
    """GP-UCB on the points themselves: not private."""

    privacy: ClassVar[str] = "none"

    rule: str = "published"

    def __post_init__(self) -> None:
        """Refuse a rule that is none."""
        one_of("rule", self.rule, ACQUISITIONS)

    def rows(self, points: Floats, seed: int) -> Floats:
        """Return the rows that a modeler sees."""
        return points


@dataclass(frozen=True)
class PoGpUcb(PlainGpUcb):
    """Algorithm 2 on what Algorithm 1 releases at r = `dimension`, ω as it is read: it is not private."""

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**5)
    dimension: int = 10

    def __post_init__(self) -> None:
        """Refuse what makes no ω."""
        super().__post_init__()
        if not (self.epsilon > 0 and 0 < self.delta < 1 and self.dimension >= 1):
            raise out_of_range("epsilon > 0, 0 < delta < 1 and dimension >= 1")

    def rows(self, points: Floats, seed: int) -> Floats:
        """Return Algorithm 1's release."""
        threshold = width(float(self.epsilon), float(self.delta), self.dimension)
        return transform(points, threshold, self.dimension, np.random.default_rng([20, seed]))


def rate_of(epsilon: Fraction, columns: int) -> Fraction:
    """Return the largest rate of `k-norm` that costs no more than ε, for rows that move by at most 1."""
    reach = MOVED + moved_rows.slack(RADIUS, columns, GRID_BITS)
    return Fraction(int(epsilon / reach * 2**30), 2**30)


def simulated(curator: KNorm, points: Floats, seed: int) -> Floats:
    """Return points with noise of density ∝ exp(−rate·‖v‖₂), on the lattice, clipped to their box.

    A direction and a length of law Gamma(d, 1/rate), drawn in floating point, as up to 10 000 rows need it:
    for measuring regret only, never for real data.  The box is public, and clipping is free.
    """
    rng = np.random.default_rng([21, seed])
    normal = rng.normal(size=points.shape)
    length = rng.gamma(curator.columns, float(curator.noise_scale), size=(len(points), 1))
    noisy = points + normal / np.linalg.norm(normal, axis=1, keepdims=True) * length
    return np.clip(np.round(noisy * 2**GRID_BITS) / 2**GRID_BITS, points.min(axis=0), points.max(axis=0))


def spread_of(curator: KNorm) -> float:
    """Return the variance of the noise in a coordinate, (d + 1)/rate²."""
    return (curator.columns + 1) * float(curator.noise_scale) ** 2


# ------------------------------------------------------------------ the world


@dataclass(frozen=True)
class OutsourcedWorld(TrialWorld):
    """A function over the rows of a table, which a modeler asks for values: `queries` times `rounds` of them.

    The claim that a curator's release is to meet is at e^`log_epsilon` and `delta`, for rows that move by 1.
    """

    serves: ClassVar[type[Any]] = KNorm
    summary: ClassVar[Summary] = LAST_ROUND
    other_choices: ClassVar[dict[str, Callable[..., Any]]] = {"gp-ucb": PlainGpUcb, "po-gp-ucb": PoGpUcb}

    rounds: int
    data: str = "field"
    lengthscale: Fraction | None = None
    queries: int = 1
    log_epsilon: float | None = None
    delta: Fraction = Fraction(1, 10**5)
    dimension: int = 10
    table: int = 0  #: of the paper, whose number its rows show

    def __post_init__(self) -> None:
        """Refuse data that are none, and an ε beyond doubles."""
        one_of("data", self.data, FIELDS)
        if self.lengthscale is not None and self.data != "field":
            raise InputError(f"the lengthscale of {self.data} is known", "give one for data = field")
        if not -5 <= (self.log_epsilon or 0) <= 5 or not 0 < self.delta < 1:
            raise out_of_range("log_epsilon in [-5, 5] and 0 < delta < 1")

    def field(self, seed: int) -> Field:
        """Return the function of a trial, its points in an order of their own."""
        if self.lengthscale is not None:
            return gaussian_field(seed, float(self.lengthscale))
        return FIELDS[self.data](seed)

    @property
    def row(self) -> dict[str, object]:
        """Return the data with their length, ln ε, r, and the table's number."""
        length = None if self.lengthscale is None else float(self.lengthscale)
        shown = {"data": self.data, "length": length, "log_epsilon": self.log_epsilon}
        return {**shown, "dimension": self.dimension, "table": self.table}

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return the table's size, what its rows' neighbours are, and the noise that costs e^log_epsilon."""
        rows, columns = _shape(self.data)
        table = {"rows": rows, "columns": columns, "radius": RADIUS, "unit": MOVED, "bits": GRID_BITS}
        known = {**table, "delta": self.delta, "dimension": self.dimension}
        if self.log_epsilon is None:
            return known
        rate = rate_of(epsilon_of(self.log_epsilon), columns)
        return {**known, "epsilon": Fraction(math.exp(self.log_epsilon)), "rate": rate}

    @property
    def asked(self) -> int:
        """Return how many rows a trial asks for."""
        return min(self.rounds * self.queries, _shape(self.data)[0])

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return the simple regret after each query; runs with the same noise are played once."""
        # What only names a row is left out of the cache's key.
        return _played(replace(self, log_epsilon=None, dimension=1, table=0), bandit, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return the simple regret of asking different rows drawn uniformly."""
        drawn = np.random.default_rng([19, seed]).choice(_shape(self.data)[0], self.asked, replace=False)
        return self.field(seed).regret(drawn.tolist())

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return how much more is left than without privacy, by the same rule on the same seeds."""
        if bandit is None or type(bandit) is PlainGpUcb:
            return {}
        plain = PlainGpUcb(getattr(bandit, "rule", "noise-aware"))
        without = float(np.mean([self.regrets(plain, seed)[-1] for seed in seeds]))
        return {"excess": round(float(runs[:, -1].mean()) - without, 6)}


@lru_cache(maxsize=len(FIELDS))
def _shape(data: str) -> tuple[int, int]:
    rows, columns = FIELDS[data](0).points.shape
    return rows, columns


@lru_cache(maxsize=256)
def _played(world: OutsourcedWorld, bandit: PlainGpUcb | KNorm, seed: int) -> Floats:
    """Return the simple regret after each query; a seed also draws the first point and the answers' noise.

    The number of queries is an input of Algorithm 2, so ours may know it; the published transform keeps a
    constant width, by which it does better.
    """
    field, spread = world.field(seed), 0.0
    if isinstance(bandit, KNorm):
        rule, rows = replace(NOISE_AWARE, rounds=world.asked), simulated(bandit, field.points, seed)
        spread = spread_of(bandit)
    else:
        rule, rows = ACQUISITIONS[bandit.rule], bandit.rows(field.points, seed)
        rule = replace(rule, rounds=world.asked) if rule.unseen else rule
    rng = np.random.default_rng([18, seed])
    kernel = RowKernel(field.length, field.scale, spread)
    modeler = Modeler(rows, kernel, int(rng.integers(len(rows))), rule, field.noise)
    errors = math.sqrt(field.answer_noise) * rng.normal(size=world.asked)
    for error in errors:
        index = modeler.ask()
        modeler.tell(index, float(field.values[index] + error))
    return field.regret(modeler.posterior.asked)
