"""Two real data sets with heavy tails: delays of flights by hour and by carrier (data/README.md).

As in Zhou & Tan 2020, section 5.1: f is the mean of the test rows, a person's noise a test row less f, and
the kernel the covariance of the normalised train rows.  Unlike there, B, R and the clip come from the train
rows, which are taken for public: bounds from the rows that are to be protected would make the noise tell of
them.  Everything is in units of the train rows' noise, its standard deviation over all points.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError

if TYPE_CHECKING:
    from bandits.simulation.potential_rewards import PotentialRewards

FOLDER = Path(__file__).parent / "data"
#: file and number of columns before the first point
FILES = {"delays-by-hour": ("delays_by_hour.csv", 2), "delays-by-carrier": ("delays_by_carrier.csv", 1)}
QUANTILE = 0.99  #: of the train rows' |noise|: the public R


@dataclass(frozen=True)
class Delays:
    """Train and test rows [rows, points], in units of the train rows' noise."""

    train: Floats
    test: Floats

    @property
    def kernel(self) -> Floats:
        """Return the covariance of the train rows, each point scaled to mean 0 and variance 1."""
        centred = self.train - self.train.mean(axis=0)
        normal = centred / np.sqrt((centred**2).sum(axis=0))
        gram: Floats = normal.T @ normal
        np.fill_diagonal(gram, 1.0)  # so it is, up to rounding
        return gram

    @property
    def bound(self) -> float:
        """Return B: the largest absolute mean of a point over the train rows."""
        return float(np.abs(self.train.mean(axis=0)).max())

    @property
    def noise_bound(self) -> float:
        """Return R: what 99 % of the train rows' noise stays within; the clip B + R cuts what is beyond."""
        return float(np.quantile(np.abs(self.train - self.train.mean(axis=0)), QUANTILE))

    @property
    def moments(self) -> tuple[float, float]:
        """Return v and c: the mean squares of train rewards, and of their noise (1 by the unit)."""
        return float((self.train**2).mean()), float(((self.train - self.train.mean(axis=0)) ** 2).mean())

    def rewards(self, rounds: int, seed: int) -> "PotentialRewards":
        """Return `rounds` people, each a test row drawn with replacement."""
        from bandits.simulation.potential_rewards import PotentialRewards

        if rounds < 1:
            raise InputError(f"the horizon is {rounds}", "give at least 1 round")
        drawn = np.random.default_rng([seed, 13]).integers(0, len(self.test), rounds)
        return PotentialRewards(self.test.mean(axis=0), self.test[drawn], self.bound, self.noise_bound)


@lru_cache(maxsize=2)
def delays(name: str) -> Delays:
    """Return the rows of data by their name in `FILES`; test rows are those with index % 4 = 3."""
    if name not in FILES:
        raise InputError(f"the data are {name[:40]!r}", f"known: {', '.join(FILES)}")
    file, before = FILES[name]
    rows = np.loadtxt(FOLDER / file, delimiter=",", skiprows=1)[:, before:]
    tested = np.arange(len(rows)) % 4 == 3
    train = rows[~tested]
    # From train rows only: a unit, like a bound, would tell of the rows it was computed from.
    unit = (train - train.mean(axis=0)).std()
    return Delays(train / unit, rows[tested] / unit)
