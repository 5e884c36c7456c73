"""Jointly private contextual GP-UCB: noisy sums of features over a binary tree.

Round t brings a person with a decision set and a reward; the released statistics are prefix sums of
φφᵀ and φ(y − ½), noised as one symmetric matrix without its y² corner (Dubey 2021, Algorithms 1
and 2, which release the corner and never read it).  The published noise is calibrated by another
formula; here the least noise that the kernel proves is used.  A person's action reads their own
decision set and released sums of others: joint differential privacy by the billboard rule.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.features import QuadratureFeatures, quadrature_features
from bandits.gp_ucb import choose
from dpaccount.curves import billboard
from dpaccount.errors import InputError
from dpaccount.kernel import REPLACE_ONE, Theorem, assume_rank_one, assume_tree, assume_view
from dpaccount.ledger.receipt import Noise
from dpaccount.noise import Integers
from dpaccount.rules import linear, nodes, symmetric_gaussian
from dpaccount.witness import approximate
from mechanisms.subject import Domain, Rows, View
from mechanisms.symmetric_gaussian import BITS, STEP, contribution
from mechanisms.tree import TreeSums

Floats = NDArray[np.float64]
HALF = Fraction(1, 2)  #: rewards in [0, 1] are centred


@dataclass(frozen=True)
class JdpGpUcb:
    """Jointly private GP-UCB on `rounds` people with `candidates` points each in a ball of radius 2.

    Rewards in [0, 1] are centred, so |y| ≤ ½ and the sensitivity is ‖·‖_F ≤ √2(1 + ¼).  `sigma` is
    the off-diagonal noise of a node; `shift` times the spectral edge of the noise makes the matrix
    positive definite; `refresh` rounds share one posterior.
    """

    source: ClassVar[str] = "Dubey 2021, Algorithms 1-2 and Lemma 2, with exact calibration and no corner"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    rounds: int = 1024
    candidates: int = 25
    dimension: int = 2
    nodes_per_axis: int = 4
    lengthscale: Fraction = Fraction(1)
    sigma: Fraction = Fraction(18)
    shift: Fraction = Fraction(2)
    width: Fraction = Fraction(1, 10)
    refresh: int = 1

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense, before any charge."""
        counts = (self.candidates, self.dimension, self.nodes_per_axis, self.refresh)
        if self.rounds < 2 or min(counts) < 1:
            raise InputError("needed rounds >= 2, and candidates, dimension, nodes_per_axis, refresh >= 1")
        if min(self.sigma, self.lengthscale) <= 0 or min(self.shift, self.width) < 0:
            raise InputError("needed sigma > 0, lengthscale > 0, shift >= 0 and width >= 0")
        if self.features.size > 400:
            raise InputError(
                f"{self.features.size} features are too many; at most 400: use fewer nodes_per_axis"
            )

    @cached_property
    def features(self) -> QuadratureFeatures:
        """Return the public feature map."""
        return quadrature_features(self.dimension, self.nodes_per_axis, float(self.lengthscale))

    def domain(self) -> Domain:
        """Return one row per person: the candidates' coordinates, then what each would pay."""
        coordinates, rewards = self.candidates * self.dimension, self.candidates
        low = (-2.0,) * coordinates + (0.0,) * rewards
        high = (2.0,) * coordinates + (1.0,) * rewards
        return Domain(self.rounds, low, high, (False,) * len(low))

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one sensitivity, symmetric noise per node, the tree over rounds 1 … T−1, billboard."""
        person = assume_rank_one("statistics", HALF, REPLACE_ONE, "movement")
        node = symmetric_gaussian(linear(person), self.sigma**2, STEP, "node")
        whole = nodes(node, assume_tree("statistics", self.rounds - 1, "movement"))
        return billboard(approximate(whole, delta), assume_view("jdp-gp-ucb", "others", "replay"))

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        points = data[:, : -self.candidates].reshape(self.rounds, self.candidates, self.dimension)
        rewards = data[:, -self.candidates :]
        learner = Learner(self, noise)
        actions = np.zeros(self.rounds, dtype=np.int64)
        for t in range(self.rounds):
            candidates = self.features(points[t])
            actions[t] = learner.ask(candidates)
            if t < self.rounds - 1:  # nobody acts on the last person's data
                learner.tell(candidates[actions[t]], float(rewards[t, actions[t]]))
        return View(own={"action": actions})


@dataclass
class Learner:
    """Ask for a candidate, tell its reward; all that is learned passes through the noisy tree."""

    subject: JdpGpUcb
    noise: Noise
    _tree: TreeSums = field(init=False)
    _posterior: tuple[Floats, Floats] = field(init=False)

    def __post_init__(self) -> None:
        """Start from the prior."""
        size = self.subject.features.size
        self._tree = TreeSums(lambda node, exact: self.noise.noisy_symmetric("node", node, exact))
        self._posterior = np.eye(size), np.zeros(size)

    def ask(self, candidates: Floats) -> int:
        """Return the index of the candidate to play; rows of `candidates` are features."""
        return choose(candidates, *self._posterior, float(self.subject.width))

    def tell(self, features: Floats, reward: float) -> None:
        """Add one person's statistics to the tree; rewards outside [0, 1] are clipped."""
        total = self._tree.add(contribution(features, reward - 0.5, HALF))
        if self._tree.rounds % self.subject.refresh == 0:
            self._posterior = self.posterior(total)

    def posterior(self, total: Integers) -> tuple[Floats, Floats]:
        """Return (G, u) from a noisy prefix: symmetric, shifted to be positive definite.

        The spectral edge of a symmetric Gaussian matrix of size m is 2σ√m; the shift reads public
        numbers and releases only, and eigenvalues below 1 are raised to 1.
        """
        matrix = total / 2.0 ** (2 * BITS)
        size = len(matrix) - 1
        edge = 2 * float(self.subject.sigma) * np.sqrt(size * self._tree.terms())
        gram = matrix[:size, :size] + (1 + float(self.subject.shift) * edge) * np.eye(size)
        values, vectors = np.linalg.eigh(gram)
        return (vectors * np.maximum(values, 1.0)) @ vectors.T, matrix[:size, size]
