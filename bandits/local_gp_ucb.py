"""Locally private contextual GP-UCB: every person adds noise to their own statistics.

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

from bandits.learning import contextual
from bandits.learning.arrivals import Answered, Course, replay
from bandits.learning.gp_ucb import SolvedPosterior, raised
from bandits.statistics import published_noise
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from bandits.statistics.second_moments import centred, contribution
from dpaccount.errors import InputError, out_of_range
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
from mechanisms.subject import Domain, Rows, View
from mechanisms.symmetric_gaussian import FEATURE_BITS, STEP

HALF = Fraction(1, 2)
ZETA = 0.1  #: failure probability in the published shift
MOST_FEATURES = 400
MESSAGE_BITS = 20  #: published messages lie on multiples of 2^−20
MAX_MESSAGE = 2.0**53  #: a message's numbers are whole, and within what a double holds exactly


@dataclass(frozen=True)
class LocalGpUcb(contextual.Contextual):
    """Locally private GP-UCB on `rounds` people with `candidates` points each in a ball of radius 2.

    `sigma` is the off-diagonal noise of an ``exact`` message; left out, it is calibrated to (`epsilon`,
    `delta`).  `shift` times the spectral edge of the noise makes the matrix positive definite.
    """

    source: ClassVar[str] = "Dubey 2021, Algorithm 3 and Lemmas 5-6; exact calibration is ours"

    calibration: str = "exact"
    epsilon: Fraction = Fraction(4)
    shift: Fraction = Fraction(1)
    width: Fraction = Fraction(1, 10)
    refresh: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("calibration", self.calibration, ("exact", "published"))
        if min(self.nodes_per_axis, self.refresh) < 1:
            raise out_of_range("nodes_per_axis >= 1 and refresh >= 1")
        if min(self.shift, self.width) < 0:
            raise out_of_range("shift >= 0 and width >= 0")
        if self.features.size > MOST_FEATURES:
            raise InputError(f"{self.features.size} features are too many", f"at most {MOST_FEATURES}")

    @cached_property
    def noise_scales(self) -> tuple[Fraction, Fraction]:
        """Return the noise of an entry of φφᵀ off the diagonal, and of φy."""
        if self.calibration == "published":
            return published_noise.lemma5_sigmas(self.epsilon, self.delta, Fraction(1))
        return (super().noise_scale,) * 2

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ of an entry of φφᵀ off the diagonal."""
        return self.noise_scales[0]

    def proof(self, delta: Fraction) -> Theorem:
        """One message a person, in one release; what others see is a function of messages."""
        whole = (
            self._sums(self.noise_scales[0], delta) if self.calibration == "exact" else self._separate(delta)
        )
        return local_view(whole, assume_view("local-gp-ucb", "others", "replay"))

    def _one_each(self, query: str) -> Theorem:
        return assume_covers(query, [(t, t) for t in range(1, self.rounds + 1)], "movement")

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person, size = assume_rank_one("message", HALF, REPLACE_ONE, "movement"), self.features.size + 1
        numbers, one_each = size * (size + 1) // 2, self._one_each("message")
        return gaussian(
            linear(person), sigma, STEP, numbers, "message", delta, lambda one: local(one, one_each)
        )

    def _separate(self, delta: Fraction) -> Theorem:
        """‖upper(φφᵀ)‖ ≤ 1 and ‖yφ‖ ≤ 1: two Gaussian releases of one record."""
        step, size = grid.step(MESSAGE_BITS), self.features.size
        counts = {"matrix": size * (size + 1) // 2, "vector": size}

        def parts(kind: str) -> list[Theorem]:
            theorems = []
            for (name, count), sigma in zip(counts.items(), self.noise_scales, strict=True):
                query = linear(assume_ball(name, Fraction(1), REPLACE_ONE, "movement"))
                far = distance(sigma, step, count)
                one = (
                    fine_gaussian(query, sigma**2, step, count, far, name)
                    if kind == "fine"
                    else zcdp_gaussian(query, sigma**2, step, name)
                )
                theorems.append(local(one, self._one_each(name)))
            return theorems

        return least([lambda: compose(*parts("fine")), lambda: compose(*parts("zcdp"))], delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        clients = [Client(self, noise, number) for number in range(self.rounds)]
        ties, actions = np.random.default_rng(coins), []

        def pays(first: int, shown: list[Floats]) -> Floats:
            """Let a batch's people choose locally, and answer if their answers are needed."""
            messages = []
            for number, sent in enumerate(shown, first):
                points, rewards = data[number, : -self.candidates], data[number, -self.candidates :]
                offer = contextual.on_offer(points.reshape(self.candidates, -1))
                coin = ties.random(self.candidates)
                played, action = np.zeros(self.features.size), -1  # of who is offered nothing
                if offer is not None:
                    phi = self.features(offer[0])
                    best = clients[number].choose(sent, phi, coin)
                    played, action = phi[best], int(offer[1][best])
                actions.append(action)
                # Nobody comes after the last batch, so its messages are never sent.
                if first + len(shown) < self.rounds:
                    messages.append(clients[number].message(played, float(rewards[action])))
            return np.array(messages)

        replay(self.course(noise, coins), None, pays)
        return View(own={"action": np.array(actions, dtype=np.int64)})

    def course(self, noise: Noise, coins: int) -> "LocalCourse":
        """Return the server's side of a run, which draws no noise: people's messages have theirs."""
        return LocalCourse(self)


class Client:
    """The client of one person: holds action and reward, sends a noisy message of them.

    `number` is the person's slot, from 0.
    """

    def __init__(self, subject: LocalGpUcb, noise: Noise, number: int) -> None:
        self._subject, self._noise, self._number = subject, noise, number

    def choose(self, sent: Floats, candidates: Floats, ties: Floats) -> int:
        """Return the index of the candidate with the largest bound, by the server's parameters."""
        size = candidates.shape[1]
        gram, moment = sent[:-size].reshape(size, size), sent[-size:]
        width = float(self._subject.width)
        return contextual.pick(SolvedPosterior(gram, moment).upper_bounds(candidates, width), ties)

    def message(self, features: Floats, reward: float) -> Floats:
        """Return noisy φφᵀ and φy, the only things that leave: whole numbers of grid steps, in a row."""
        if self._subject.calibration == "exact":
            exact = contribution(features, centred(reward), HALF, corner=False)
            noisy = self._noise.noisy_symmetric("message", self._number, exact)
            return noisy[np.triu_indices(len(noisy))].astype(np.float64)
        upper = np.triu_indices(len(features))
        matrix = grid.in_ball(np.outer(features, features)[upper][None, :], Fraction(1), MESSAGE_BITS)[0]
        vector = grid.in_ball((features * (centred(reward) + 0.5))[None, :], Fraction(1), MESSAGE_BITS)[0]
        parts = (
            self._noise.noisy("matrix", self._number, matrix),
            self._noise.noisy("vector", self._number, vector),
        )
        return np.concatenate(parts).astype(np.float64)


def _symmetric(upper: Floats, size: int) -> Floats:
    """Return the symmetric matrix of this upper triangle, row by row."""
    square = np.zeros((size, size))
    square[np.triu_indices(size)] = upper
    return square + np.triu(square, 1).T


class LocalCourse(Course):
    """The server: a person is shown (G, u) in a row and answers with a message, which is summed."""

    last_is_read = False

    def __init__(self, subject: LocalGpUcb) -> None:
        self.batches = contextual.together(subject.rounds, subject.refresh)
        size = subject.features.size
        numbers = (size + 1) * (size + 2) // 2 if subject.calibration == "exact" else size * (size + 3) // 2
        self.reward = Domain(1, (-MAX_MESSAGE,) * numbers, (MAX_MESSAGE,) * numbers, (True,) * numbers)
        self._subject, self._rounds = subject, 0
        self._matrix, self._vector = np.zeros((size, size)), np.zeros(size)
        self._gram, self._moment = np.eye(size), np.zeros(size)

    def ask(self, context: Floats | None = None) -> Floats:
        """Return the parameters by which a client scores its own candidates."""
        return np.concatenate([self._gram.ravel(), self._moment])

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Add the messages of the batch under way, and refresh the parameters: eigenvalues of at least 1."""
        for message in rewards[answered]:
            matrix, vector = self._parts(message)
            self._matrix, self._vector = self._matrix + matrix, self._vector + vector
        self._rounds += len(rewards)
        self._gram, self._moment = raised(self._matrix, self._shift()), self._vector

    def view(self) -> View:
        """Return the learned parameters; the server knows no actions."""
        return View(public={"gram": self._gram, "moment": self._moment})

    def _parts(self, message: Floats) -> tuple[Floats, Floats]:
        size = len(self._vector)
        if self._subject.calibration == "exact":
            whole = _symmetric(message / 2.0 ** (2 * FEATURE_BITS), size + 1)
            return whole[:-1, :-1], whole[-1, :-1]
        message = message / 2.0**MESSAGE_BITS
        return _symmetric(message[:-size], size), message[-size:]

    def _shift(self) -> float:
        subject, (sigma, other), size = self._subject, self._subject.noise_scales, len(self._vector)
        if subject.calibration == "published":
            spectrum = published_noise.lemma6_spectrum(float(sigma), float(other), subject.rounds, size, ZETA)
            return 2 * spectrum.least
        # Every message has noise of its own, so the spectral edge of the sum grows with the root of their
        # number.
        return float(subject.shift) * 2 * float(sigma) * float(np.sqrt(size * self._rounds))
