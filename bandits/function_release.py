"""Contextual kernel bandit that releases a function: any number of predictions by post-processing.

Learners are shown uniform actions, by public coins.  In up to three phases (an eighth of them, a quarter,
the rest) their clipped residuals are spread over public directions and only the noisy sum of a phase is
released; each learner is in one sum, whose Gram matrix is its public expectation.  From the sums follows a
function of context and action that everyone may see, and people who come later are shown its best action:
they cost nothing, and their context affects nothing that others see.

Contexts are rounded to public cells of [0, 1] and actions are a public grid of it.  Directions g have norm at
most 1 at every pair of both, so replacing a learner's context and reward moves a sum by at most 2 in units
of the clip, which is public or chosen from earlier releases.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bandits.learning.arrivals import Actions, Answered, Course, paid, replay
from bandits.learning.contextual import Calibrated
from bandits.private_prediction.public_grid import MIN_EIGENVALUE_SHARE, Eigenfeatures, OnPublicGrid
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of, target
from bandits.statistics.clipped_sums import CONTRIBUTION_BITS
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_ball,
    assume_covers,
    assume_view,
    billboard,
    k_norm,
    linear,
    nodes,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Domain, Rows, View

if TYPE_CHECKING:
    from bandits.private_prediction.function_learner import FunctionLearner

LAWS: Final = ("gaussian", "k-norm")
#: most numbers that K-norm noise is drawn for: its sampler rejects the more proposals, the more there are
MAX_K_NORM_NUMBERS: Final = 12
#: shares of the people in all phases but the last, which has the rest, by the number of phases
FIRST_SHARES: Final = {1: (), 2: (Fraction(1, 4),), 3: (Fraction(1, 8), Fraction(1, 4))}


@dataclass(frozen=True)
class FunctionRelease(OnPublicGrid, Calibrated):
    """Learn from `rounds` people who are shown uniform actions, then serve `served` more by what is released.

    `law` is the noise: "gaussian" with deviation 2·`sigma` in units of the clip (left out, the
    least that is proved to meet (`epsilon`, `delta`)), or "k-norm", at most 12 numbers a phase and pure
    `epsilon`.
    """

    source: ClassVar[str] = "ours; one released function, in phases (setting of Pavlovic et al. 2025)"

    served: int = 16
    phases: int = 3
    law: str = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.phases not in FIRST_SHARES:
            raise InputError(f"phases is {self.phases}", "it is 1, 2 or 3")
        least = {1: 2, 2: 4, 3: 8}[self.phases]
        if not least <= self.rounds <= 10**6 or not 0 <= self.served <= 10**6:
            raise InputError(
                f"{self.phases} phases need rounds from {least} to 1000000, and served from 0 to 1000000"
            )
        one_of("law", self.law, LAWS)
        if self.sigma is not None and (self.sigma <= 0 or self.law == "k-norm"):
            raise InputError(
                "sigma is the deviation of Gaussian noise, above 0", "K-norm noise follows epsilon"
            )
        if self.law != "k-norm" or self.delta or self.epsilon <= 0:  # K-norm noise is pure: δ may be 0
            target(self.epsilon, self.delta)

    # -------------------------------------------------------------- public constants

    @property
    def features(self) -> Eigenfeatures:
        """Return the public features of the kernel."""
        return self.grid.features(MIN_EIGENVALUE_SHARE)

    @property
    def numbers(self) -> int:
        """Return the maximum number of values that a phase releases."""
        return min(self.features.size, MAX_K_NORM_NUMBERS) if self.law == "k-norm" else self.features.size

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ of Gaussian noise, given or calibrated; of K-norm noise 1/rate, 2/ε."""
        return 2 / self.epsilon if self.law == "k-norm" else super().noise_scale

    def covers(self) -> list[Cover]:
        """Return the learners of every phase: public, from `rounds` alone."""
        shares = [int(share * self.rounds) for share in FIRST_SHARES[self.phases]]
        return [(first + 1, last) for first, last in pairwise([*accumulate(shares, initial=0), self.rounds])]

    def deviation(self, numbers: int) -> float:
        """Return the deviation of each of `numbers` released numbers, in units of the clip.

        K-norm noise of rate ε/2 has a Gamma(d) length, so that a number has the deviation √(d + 1)/rate.
        """
        if self.law == "k-norm":
            return sqrt(numbers + 1) * float(self.noise_scale)
        return 2 * float(self.noise_scale)

    # -------------------------------------------------------------- data and proof

    def domain(self) -> Domain:
        """Return rows of a context and a reward for each action."""
        return self.grid.people(self.rounds + self.served, self.bound)

    def proof(self, delta: Fraction) -> Theorem:
        """Vectors of norm at most 1, each learner's in one sum; own actions read the sums: billboard."""
        sums = self._pure(delta) if self.law == "k-norm" else self._sums(self.noise_scale, delta)
        return billboard(sums, assume_view("function-release", "others", "replay"))

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person, phases = self._people()
        step = grid.step(CONTRIBUTION_BITS)
        return gaussian(person, 2 * sigma, step, self.numbers, "phase", delta, lambda one: nodes(one, phases))

    def _pure(self, delta: Fraction) -> Theorem:
        person, phases = self._people()
        leaf = k_norm(person, self.epsilon / 2, Fraction(2), grid.step(CONTRIBUTION_BITS), "phase")
        return approximate(nodes(leaf, phases), delta)

    def _people(self) -> tuple[Theorem, Theorem]:
        """Return a learner's contribution, and the learners that each phase reads."""
        # A later phase's clip follows from earlier releases: it is no public constant, and the proof must say
        # so.
        inside = assume_ball("phase", Fraction(1), REPLACE_ONE, "movement", source="dp-output")
        return linear(inside), assume_covers("phase", self.covers(), "movement")

    # -------------------------------------------------------------- the run

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; everyone sees the function, a person their own action."""
        contexts, rewards = data[:, : self.grid.numbers], data[:, self.grid.numbers :]
        return replay(self.course(noise, coins), contexts, paid(rewards))

    def course(self, noise: Noise, coins: int) -> "FunctionCourse":
        """Return a run for people who come one by one."""
        return FunctionCourse(self, noise, coins)

    def report(self, view: View) -> dict[str, object]:
        """Return the best action of every context cell, and the guarantee's assumptions."""
        return {
            "best_action": np.asarray(view.public["values"]).argmax(axis=1).tolist(),
            "privacy_rests_on": [
                "directions of norm at most 1 at every pair of the public grid",
                "rewards clipped at a level that is public or of earlier releases",
                "each learner in one phase, by their slot",
            ],
            "concern_utility_only": ["the law of contexts", "the kernel", "noise in rewards"],
        }


class FunctionCourse(Course):
    """A run over people with a context each; their actions are shown to them alone."""

    candidates = 1

    def __init__(self, subject: FunctionRelease, noise: Noise, coins: int) -> None:
        served = [(subject.rounds + 1, subject.rounds + subject.served)] if subject.served else []
        self.batches = [*subject.covers(), *served]
        self.last_is_read = not served  # people who are only served do not contribute
        self.space, self.context = subject.grid.law, subject.grid.rows(1, (), ())
        reach = 4 * float(subject.bound)
        self.reward = Domain(1, (-reach,), (reach,), (False,))
        self._grid, self._noise, self._rounds = subject.grid, noise, subject.rounds
        self._learner = self.learner(subject)
        # Uniform actions have a public expected Gram matrix. A policy's choices would depend on private
        # contexts, and the matrix would have to be released too.
        drawn = np.random.default_rng(coins).integers(self._grid.actions, size=subject.rounds)
        self._uniform: list[int] = drawn.tolist()  # a public coin for each learner's slot
        self._phases = subject.covers()
        self._actions: list[int] = []
        self._places: list[int] = []  #: of the phase under way
        self._sums: list[Integers] = []
        self._learner.begin(self._phases[0][1])

    def learner(self, subject: FunctionRelease) -> "FunctionLearner":
        """Return the learner, which reads released sums."""
        from bandits.private_prediction.function_learner import FunctionLearner

        return FunctionLearner(
            subject.features,
            subject.deviation,
            subject.numbers,
            float(subject.bound),
            subject.grid.weights(),
        )

    def ask(self, context: Floats | None) -> Actions:
        """Return a uniform action for a learner, and the current best one for a served person."""
        cell = self._grid.cell(np.asarray(context, dtype=np.float64).ravel())
        if len(self._actions) < self._rounds:
            action = self._uniform[len(self._actions)]
            self._places.append(cell * self._grid.actions + action)
        else:
            action = int(self._values()[cell].argmax())
        self._actions.append(action)
        return np.array(action, dtype=np.int64)

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the sum of the phase under way, learn from it, and begin the next."""
        places = np.zeros(len(rewards), dtype=np.int64)  # for empty slots any value will do
        places[: len(self._places)] = self._places
        exact = self._learner.contributions(places, rewards, answered)
        released = self._noise.noisy("phase", len(self._sums), exact)
        self._learner.tell(released)
        self._sums.append(released)
        self._places = []
        if len(self._sums) < len(self._phases):
            first, last = self._phases[len(self._sums)]
            self._learner.begin(last - first + 1)

    def _values(self) -> Floats:
        return self._learner.values().reshape(self._grid.contexts, self._grid.actions)

    def view(self) -> View:
        """Return own actions, and for all the sums and the predicted reward of every cell and action."""
        sums = np.concatenate([*self._sums, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        return View(
            own={"action": np.array(self._actions, dtype=np.int64)},
            public={"sums": sums, "values": self._values()},
        )
