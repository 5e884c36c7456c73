"""A bandit: half of the patients try two doses in turn, the others get the better one of a noisy sum."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_ball,
    assume_covers,
    assume_view,
    billboard,
    linear,
    nodes,
)
from mechanisms import Domain, InputError, Noise, Rows, View
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian

BITS = 20  #: of the grid on which effects are added up


@dataclass(frozen=True)
class TwoDoses:
    """Jointly private bandit on `rounds` patients; a row is what each dose would do for one, in [0, 1]."""

    source: ClassVar[str] = "explore, then commit"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    rounds: int = 40
    sigma: Fraction = Fraction(10)

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if self.rounds < 2 or self.sigma <= 0:
            raise InputError("a parameter is out of range", "needed rounds >= 2 and sigma > 0")

    def domain(self) -> Domain:
        """Return one row per patient."""
        return Domain(self.rounds, (0.0, 0.0), (1.0, 1.0), (False, False))

    def proof(self, delta: Fraction) -> Theorem:
        """Each explorer adds one number in [−½, ½] to one sum; the others' doses read the noisy sums only."""
        person = linear(assume_ball("sums", Fraction(1, 2), REPLACE_ONE, "movement"))
        once = assume_covers("sums", [(1, self.rounds // 2)], "movement")
        sums = gaussian(
            person, self.sigma, grid.step(BITS), 2, "sums", delta, lambda noisy: nodes(noisy, once)
        )
        return billboard(sums, assume_view("two-doses", "others", "replay"))

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every patient once, in order; all see the sums, a patient their own dose."""
        doses, half = np.arange(self.rounds) % 2, self.rounds // 2
        effects = np.eye(2)[doses[:half]] * (data[:half] - 0.5)
        released = noise.noisy("sums", 0, grid.clipped(effects, -0.5, 0.5, BITS).sum(axis=0))
        doses[half:] = released.argmax()
        return View(own={"dose": doses}, public={"sums": released})
