"""Functions over public tables of points: the experiments of Kharkovskii, Dai & Low 2020, section 4.

Inputs are centred and scaled to a largest norm of 25, values in units of σ_y; larger is better (prices are
negated).  Points are in an order of their own for every seed, so that no tie is broken by place.
"""

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.axes import symmetric_root

NORM = 25.0  #: the largest norm of a row, in all experiments of the paper


@dataclass(frozen=True)
class Field:
    """f at every point: `points` [n, d] of norm at most 25, `values` [n], and the prior that fits it.

    `length` and `scale` are those of the squared-exponential kernel, `noise` the variance that a learner
    takes an answer to have; `answer_noise` the one that it has.
    """

    points: Floats
    values: Floats
    length: float
    scale: float = 1.0
    noise: float = 1e-5
    answer_noise: float = 1e-5

    def regret(self, asked: Sequence[int]) -> Floats:
        """Return the simple regret after each query: max f − the best f asked so far."""
        return self.values.max() - np.maximum.accumulate(self.values[list(asked)])

    def permuted(self, seed: int) -> "Field":
        """Return the same function with its points in another order."""
        order = np.random.default_rng([17, seed]).permutation(len(self.points))
        return replace(self, points=self.points[order], values=self.values[order])


def normalised(points: Floats) -> Floats:
    """Return points centred and scaled to a largest norm of 25, which has to be public."""
    away = points - points.mean(axis=0)
    return away * (NORM / np.linalg.norm(away, axis=1).max())


def grid(side: int) -> Floats:
    """Return side × side points of a square, centred, of largest norm 25."""
    axis = np.arange(side, dtype=np.float64)
    return normalised(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2))


def gaussian_field(seed: int, length: float = 5.0, side: int = 100) -> Field:
    """Return a draw of the Gaussian process on the paper's 100 × 100 grid (σ_y² = 1, σ_n² = 1e-5)."""
    points = grid(side)
    line = points[::side, 0]
    root = symmetric_root(np.exp(-((line[:, None] - line) ** 2) / (2 * length**2)))
    normal = np.random.default_rng([16, seed]).normal(size=(side, side))
    return Field(points, (root @ normal @ root.T).ravel(), length).permuted(seed)


def branin(seed: int, side: int = 100) -> Field:
    """Return minus Branin–Hoo, standardised, on a grid over [−5, 10] × [0, 15]."""
    axis = np.linspace(0.0, 15.0, side)
    x, y = (part.ravel() for part in np.meshgrid(axis - 5, axis, indexing="ij"))
    bent = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    function = bent**2 + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x) + 10
    # length and scale near those of largest marginal likelihood at 500 points
    return Field(grid(side), _standard(-function), length=7.4, scale=0.35).permuted(seed)


@lru_cache(maxsize=1)
def _loans() -> Field:
    """Return the stand-in for loans: fitted log spending of 5630 persons of a health insurance trial."""
    names = ("log_income_z", "age_z", "health_z")
    table = _table("insurance_field.csv", (*names, "log_spending_fit"))
    points = _standard(table[:, :3])
    by = NORM / np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    # the length that the function was fitted with, 1 before the scaling; the scale by marginal likelihood
    return Field(normalised(points), _standard(table[:, 3]), length=float(by), scale=0.1)


@lru_cache(maxsize=1)
def _properties() -> Field:
    """Return the stand-in for property prices: minus the log altitude of 1195 airports."""
    table = _table("airports_field.csv", ("lat", "lon", "altitude_ft"))
    height = np.log(100 + np.maximum(table[:, 2], 1.0))
    # by marginal likelihood over all points: the height of a place and of its neighbour differ
    return Field(normalised(_standard(table[:, :2])), _standard(-height), length=2.1, scale=0.9, noise=0.11)


def _standard(columns: Floats) -> Floats:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _table(name: str, columns: Sequence[str]) -> Floats:
    """Return columns of a shipped file, in the file's order."""
    text = (files("bandits.simulation") / "data" / name).read_text(encoding="utf-8")
    return np.array([[float(row[c]) for c in columns] for row in csv.DictReader(text.splitlines())])


FIELDS: dict[str, Callable[[int], Field]] = {
    "field": gaussian_field,
    "branin": branin,
    "loans": lambda seed: _loans().permuted(seed),
    "property": lambda seed: _properties().permuted(seed),
}
