"""Locally private contextual GP-UCB: every person noises their own statistics before they leave.

Dubey 2021, Algorithm 3, with client and server as separate objects: the server sends what it has learned,
a client chooses, plays and answers with one noisy message, of which the server keeps the sum.  A person's
message is all that others learn of them.

``exact``: one symmetric matrix [φφᵀ, φ(y − ½)] with the least noise that is proved.  ``published``: φφᵀ with
independent noise on its upper triangle and yφ, at the scales of Lemma 5; their proof here bounds both parts
by balls, and the exact cost of Lemma 5 is among the papers' claims (`dpaccount claims dubey-lemma5`).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.features import FourierFeatures
from bandits.learning.gp_ucb import raised, upper_bounds
from bandits.statistics import published_noise
from bandits.statistics.calibration import least_sigma, target
from bandits.statistics.second_moments import centred, contribution
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_ball,
    assume_covers,
    assume_rank_one,
    assume_view,
    compose,
    fine_gaussian,
    linear,
    local,
    local_view,
)
from dpaccount.proof import discrete_gaussian as zcdp_gaussian
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import distance, gaussian, least
from mechanisms.subject import Rows, View
from mechanisms.symmetric_gaussian import BITS, STEP

Floats = NDArray[np.float64]
HALF = Fraction(1, 2)
ZETA = 0.1  #: failure probability in the published shift
FINE = 20  #: published messages lie on multiples of 2^−20


@dataclass(frozen=True)
class LocalGpUcb(contextual.Contextual):
    """Locally private GP-UCB on `rounds` people with `candidates` points each in a ball of radius 2.

    `sigma` is the off-diagonal noise of an ``exact`` message; left out, it is calibrated to (`epsilon`,
    `delta`).  `shift` times the spectral edge of the noise makes the matrix positive definite.
    """

    source: ClassVar[str] = "Dubey 2021, Algorithm 3 and Lemmas 5-6; exact calibration is ours"

    lengthscale: Fraction = Fraction(1)
    calibration: str = "exact"
    epsilon: Fraction = Fraction(4)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None
    shift: Fraction = Fraction(1)
    width: Fraction = Fraction(1, 10)
    refresh: int = 8

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense, before any charge."""
        contextual.domain(self.rounds, self.candidates, self.dimension)
        if self.calibration not in ("exact", "published"):
            raise InputError(f"calibration is {self.calibration[:40]!r}; known: exact, published")
        target(self.epsilon, self.delta)
        if min(self.nodes_per_axis, self.refresh) < 1:
            raise InputError("needed nodes_per_axis >= 1 and refresh >= 1")
        if (self.sigma is not None and self.sigma <= 0) or min(self.shift, self.width) < 0:
            raise InputError("needed sigma > 0, shift >= 0 and width >= 0")
        if self.features.size > 400:
            raise InputError(f"{self.features.size} features are too many; at most 400")

    @cached_property
    def features(self) -> FourierFeatures:
        """Return the public feature map."""
        return self.quadrature(self.lengthscale)

    @cached_property
    def noise_scale(self) -> tuple[Fraction, Fraction]:
        """Return the noise of an entry of φφᵀ off the diagonal, and of φy."""
        if self.calibration == "published":
            return published_noise.lemma5_sigmas(self.epsilon, self.delta, Fraction(1))
        sigma = self.sigma or least_sigma(lambda s: self._joint(s, self.delta), self.epsilon, self.delta)
        return sigma, sigma

    def proof(self, delta: Fraction) -> Theorem:
        """One message a person, in one release; what others see is a function of messages."""
        whole = (
            self._joint(self.noise_scale[0], delta) if self.calibration == "exact" else self._separate(delta)
        )
        return local_view(whole, assume_view("local-gp-ucb", "others", "replay"))

    def _one_each(self, query: str) -> Theorem:
        return assume_covers(query, [(t, t) for t in range(1, self.rounds)], "movement")

    def _joint(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person, size = assume_rank_one("message", HALF, REPLACE_ONE, "movement"), self.features.size + 1
        numbers, one_each = size * (size + 1) // 2, self._one_each("message")
        return gaussian(
            linear(person), sigma, STEP, numbers, "message", delta, lambda one: local(one, one_each)
        )

    def _separate(self, delta: Fraction) -> Theorem:
        """‖upper(φφᵀ)‖ ≤ 1 and ‖yφ‖ ≤ 1: two Gaussian releases of one record."""
        step, size = grid.step(FINE), self.features.size
        counts = {"matrix": size * (size + 1) // 2, "vector": size}

        def parts(kind: str) -> list[Theorem]:
            found = []
            for (name, count), sigma in zip(counts.items(), self.noise_scale, strict=True):
                query = linear(assume_ball(name, Fraction(1), REPLACE_ONE, "movement"))
                far = distance(sigma, step, count)
                one = (
                    fine_gaussian(query, sigma**2, step, count, far, name)
                    if kind == "fine"
                    else zcdp_gaussian(query, sigma**2, step, name)
                )
                found.append(local(one, self._one_each(name)))
            return found

        return least([lambda: compose(*parts("fine")), lambda: compose(*parts("zcdp"))], delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        return contextual.serve(data, self.candidates, self.features, Protocol(self, noise), coins)


class Client:
    """One person's side: holds what was played and paid, sends a noisy message of it."""

    def __init__(self, subject: LocalGpUcb, noise: Noise, number: int) -> None:
        self._subject, self._noise, self._number = subject, noise, number

    def message(self, features: Floats, reward: float) -> tuple[Floats, Floats]:
        """Return noisy φφᵀ and noisy φy, the only things that leave."""
        if self._subject.calibration == "exact":
            exact = contribution(features, centred(reward), HALF, corner=False)
            noisy = self._noise.noisy_symmetric("message", self._number, exact) / 2.0 ** (2 * BITS)
            return noisy[:-1, :-1], noisy[-1, :-1]
        upper = np.triu_indices(len(features))
        matrix = grid.in_ball(np.outer(features, features)[upper][None, :], Fraction(1), FINE)[0]
        vector = grid.in_ball((features * (centred(reward) + 0.5))[None, :], Fraction(1), FINE)[0]
        noisy = self._noise.noisy("matrix", self._number, matrix) / 2.0**FINE
        square = np.zeros((len(features), len(features)))
        square[upper] = noisy
        square += np.triu(square, 1).T
        return square, self._noise.noisy("vector", self._number, vector) / 2.0**FINE


class Aggregator:
    """The other side: sums messages, and sends every client what it has learned."""

    def __init__(self, subject: LocalGpUcb) -> None:
        size = subject.features.size
        self._subject, self._rounds = subject, 0
        self._matrix, self._vector = np.zeros((size, size)), np.zeros(size)
        self.gram, self.moment = np.eye(size), np.zeros(size)

    def receive(self, matrix: Floats, vector: Floats) -> None:
        """Add a message; refresh what is sent: shifted to be positive definite, eigenvalues at least 1."""
        self._matrix, self._vector = self._matrix + matrix, self._vector + vector
        self._rounds += 1
        if self._rounds % self._subject.refresh:
            return
        self.gram = raised(self._matrix, self._shift())
        self.moment = self._vector

    def _shift(self) -> float:
        subject, (sigma, other), size = self._subject, self._subject.noise_scale, len(self._vector)
        if subject.calibration == "published":
            spectrum = published_noise.lemma6_spectrum(float(sigma), float(other), subject.rounds, size, ZETA)
            return 2 * spectrum[0]
        return float(subject.shift) * 2 * float(sigma) * float(np.sqrt(size * self._rounds))


class Protocol:
    """Server and clients together, in scores/tell."""

    def __init__(self, subject: LocalGpUcb, noise: Noise) -> None:
        self._subject, self._noise, self._server, self._next = subject, noise, Aggregator(subject), 0

    def scores(self, candidates: Floats) -> Floats:
        """Return upper confidence bounds, computed where the person is from what the server sent."""
        width = float(self._subject.width)
        return upper_bounds(candidates, self._server.gram, self._server.moment, width)

    def tell(self, features: Floats, reward: float | None) -> None:
        """Let the next client send its message; who was paid nothing known sends none."""
        if reward is not None:
            client = Client(self._subject, self._noise, self._next)
            self._server.receive(*client.message(features, reward))
        self._next += 1
