"""Test functions on finite grids, as sums over groups of coordinates, and bandits played on them.

Maximised and scaled: camelback is divided by 5, the others by their maximum over the whole domain.  Domains
and formulas are those of the package of Mutny & Krause that Dubey 2021 cites: Styblinski–Tang on [−4, 4],
and a Michalewicz function without the square inside its second sine, on [−π/6, 7π/6].  The textbook's
(Jamil & Yang 2013), on [−5, 5] and with z² on [0, π], have names of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from bandits.learning.arrivals import Actions, Course, replay
from bandits.learning.contextual import Calibrated
from bandits.space.points import Space
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Cover
from mechanisms.subject import Domain, Rows, View, wide


@dataclass(frozen=True)
class Surface:
    """f(x) = Σ_g tables[g][x_g]: one point of its own grid for each of several groups of coordinates.

    `points[g]` has shape [n, d_g] and lies in the unit cube; `tables[g]` has shape [n].  `lengths` are
    the length scales, in units of the cube, that a learner may choose among, smallest first.
    """

    points: tuple[Floats, ...]
    tables: tuple[Floats, ...]
    lengths: tuple[float, ...]

    def value(self, chosen: Integers) -> Floats:
        """Return f at choices of shape [..., groups]."""
        parts = [table[chosen[..., g]] for g, table in enumerate(self.tables)]
        return np.sum(parts, axis=0)

    @property
    def best(self) -> float:
        """Return max f over the grid."""
        return float(sum(table.max() for table in self.tables))

    def regret(self, chosen: Integers) -> Floats:
        """Return max f − f of every choice."""
        return self.best - self.value(chosen)


def camelback(x: Floats, y: Floats) -> Floats:
    """Return the six-hump camelback function, least −1.0316284534899 at ±(0.0898420131, −0.7126564030)."""
    return (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2


def styblinski_tang(x: Floats) -> Floats:
    """Return one coordinate's part of Styblinski–Tang, least −39.1661657037714 at −2.9035340277712."""
    return (x**4 - 16 * x**2 + 5 * x) / 2


def michalewicz(x: Floats, i: int, power: int = 2) -> Floats:
    """Return the part of coordinate i (from 1) of Michalewicz's function, m = 10, to be minimised.

    With `power` 1 the square is left out.
    """
    return -np.sin(x) * np.sin(i * x**power / np.pi) ** 20


#: minima of the two additive functions over their whole domains: of one coordinate, and of ten by `power`
STYBLINSKI_TANG_LEAST = -39.1661657037714
MICHALEWICZ_10_LEAST = {1: -8.004987909018, 2: -9.660151715641}

FINE_LENGTHS = (0.03, 0.06, 0.12, 0.25)
COARSE = (0.15, 0.3, 0.6)


def _camelback() -> Surface:
    """Camelback on [−2, 2] × [−1, 1], 25 × 25 points, over −5: from −1.147 to .206."""
    unit = np.stack(np.meshgrid(np.linspace(0, 1, 25), np.linspace(0, 1, 25), indexing="ij"), -1)
    points = unit.reshape(-1, 2)
    return Surface((points,), (-camelback(4 * points[:, 0] - 2, 2 * points[:, 1] - 1) / 5,), COARSE)


def _styblinski_tang(reach: float) -> Surface:
    """Styblinski–Tang on [−`reach`, `reach`]^20, 41 points an axis, over its minimum."""
    axis = np.linspace(0, 1, 41)
    table = styblinski_tang(reach * (2 * axis - 1)) / (20 * STYBLINSKI_TANG_LEAST)
    return Surface((axis[:, None],) * 20, (table,) * 20, FINE_LENGTHS)


def _michalewicz(low: float, high: float, power: int) -> Surface:
    """Michalewicz's function on [`low`, `high`]^10, 41 points an axis, over its minimum."""
    axis = np.linspace(0, 1, 41)
    least, points = MICHALEWICZ_10_LEAST[power], low + (high - low) * axis
    tables = tuple(michalewicz(points, i, power) / least for i in range(1, 11))
    return Surface((axis[:, None],) * 10, tables, FINE_LENGTHS)


SURFACES: dict[str, Callable[[], Surface]] = {
    "camelback": _camelback,
    "styblinski-tang-20": partial(_styblinski_tang, 4.0),
    "michalewicz-10": partial(_michalewicz, -np.pi / 6, 7 * np.pi / 6, 1),
    "styblinski-tang-20-textbook": partial(_styblinski_tang, 5.0),
    "michalewicz-10-textbook": partial(_michalewicz, 0.0, np.pi, 2),
}


def surface(name: str) -> Surface:
    """Return a catalogued surface; raises `InputError` with the known names."""
    one_of("surface", name, SURFACES)
    return SURFACES[name]()


@dataclass(frozen=True)
class SurfaceBandit(Calibrated):
    """Play `rounds` points of a known domain for an unknown `surface`; all see the points and sums.

    A record is what a person's reward has beyond the surface, so that it can be any other's neighbour; with
    a `space` of one's own instead of the surface, what each of its points would pay.
    """

    surface: str = "camelback"
    rounds: int = 10_000
    space: Space | None = field(default=None, kw_only=True)

    @cached_property
    def world(self) -> Surface:
        """Return the surface, or `space` without values; a learner reads its points, never its values."""
        if self.space is None:
            return surface(self.surface)
        return Surface((self.space.points,), (np.zeros(len(self.space)),), COARSE)

    def kernel_on(self, kernel: str) -> str:
        """Return this kernel's name over the points of the world; raises `InputError` for another."""
        kernels.known(kernel, Fraction(1), kernels.POINT_KERNELS)
        return kernel if self.space is None else self.space.kernel_name(kernel)

    def domain(self) -> Domain:
        """Return one number a person, or what each point of `space` pays; well beyond what is clipped."""
        return wide(self.rounds, 1 if self.space is None else len(self.space), 4.0)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once; everyone sees the points played and the sums released."""

        def pays(first: int, shown: list[Actions]) -> Floats:
            slots, places = np.arange(first, first + len(shown)), np.array(shown)
            return self.world.value(places) + data[slots, places[:, 0] if self.space else 0]

        return replay(self.course(noise, coins), None, pays)

    def course(self, noise: Noise, coins: int) -> "SurfaceCourse":
        """Return a run for people who come one by one."""
        raise NotImplementedError


def on_offer(point: Integers, among: Floats | None) -> bool:
    """Return whether a person may be shown this point: without places, every point."""
    return among is None or point[0] in among


class SurfaceCourse(Course):
    """A run over people to whom all points are offered; all see the points and the released sums."""

    def __init__(self, subject: SurfaceBandit, batches: Sequence[Cover], groups: int) -> None:
        self.batches, self._groups, self.space = batches, groups, subject.space
        self._shown: list[Integers] = []
        self._sums: list[Integers] = []

    @property
    def _begins(self) -> bool:
        """Return whether the next person is the first of a batch."""
        return len(self._shown) == self.batches[len(self._sums)][0] - 1

    def view(self) -> View:
        """Return the points played, and the released sums, one after another."""
        points = np.array(self._shown, dtype=np.int64).reshape(-1, self._groups)
        return View(public={"points": points, "sums": self._released()})

    def _released(self) -> Integers:
        return np.array(self._sums, dtype=np.int64).reshape(-1)
