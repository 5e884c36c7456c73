"""Bandits whose people keep their rewards: the server chooses a point, the person answers by one message.

What the server shows is a function of earlier messages and of coins.  A person's device plays the
point and sends one message of the reward, by a channel of `bandits.local_privacy.channels`: ε-DP of that
person against everyone, the server too.  One proof is charged for the whole horizon, and every
message is a release of its own: nothing adds up over people.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import inf, isfinite
from typing import ClassVar

import numpy as np

from bandits.learning.arrivals import TOLD, Answered, Course, name_of, replay
from bandits.local_privacy.channels import CHANNELS, Channel, channel
from bandits.local_privacy.learner import Choosy, Question, RewardLearner
from bandits.simulation.delays import FILES, delays
from bandits.space.points import Space, grid, of_matrix
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.subject import EXAMPLE, Domain, Rows, View, wide

PRIVACY = ("local", "none")
LENGTHSCALE = Fraction(1, 5)  #: unless said; kernels of data that is shipped have none
MAX_MESSAGE = 2.0**53  #: a message without a bound of its own


@dataclass(frozen=True)
class LocalRewards:
    """`rounds` people, each with a reward for every one of `points` public points; `epsilon` per message.

    `bound` is B, the most that the mean reward is in absolute value; `noise_bound` is R, the most that a
    reward's noise is: public, never taken from the rewards.  A reward beyond B + R is clipped, NaN in the
    data counts as 0.  With `privacy` ``none`` rewards are told as they are, for comparison only.

    Points are those of `space`, else equally spaced in [0, 1], with the `kernel` and `lengthscale` that the
    learner believes in; of ``delays-by-hour`` and ``delays-by-carrier`` they are those of shipped data.
    """

    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE
    channels: ClassVar[tuple[str, ...]] = CHANNELS
    learned: ClassVar[tuple[str, ...]] = ()  #: names of kernels that messages choose
    constants_from: ClassVar[str] = "public"  #: whence a message's centre and clip are

    rounds: int = 1000
    epsilon: Fraction = Fraction(1)
    kernel: str = "squared-exponential"
    lengthscale: Fraction = LENGTHSCALE
    points: int = 100
    channel: str = "duchi"
    privacy: str = "local"
    space: Space | None = field(default=None, kw_only=True)
    bound: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(2)})
    noise_bound: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})

    def __post_init__(self) -> None:
        one_of("privacy", self.privacy, PRIVACY)
        one_of("channel", self.channel, self.channels)
        if not 0 < self.epsilon <= 30 or self.rounds < 1:
            raise out_of_range("epsilon in (0, 30] and rounds >= 1")
        if min(self.bound, self.noise_bound) < 0 or self.bound + self.noise_bound == 0:
            raise out_of_range("bound >= 0 and noise_bound >= 0, not both 0")
        if self.space is not None:
            self.space.counts(self, "points", len(self.space))
        self.domain_points  # noqa: B018  # refuses a kernel that is none

    @cached_property
    def domain_points(self) -> Space:
        """Return the public points; raises `InputError` for other points than those of a kernel's data."""
        if self.space is not None and self.kernel not in FILES:
            return self.space
        if self.kernel not in FILES:
            kernels.known(self.kernel, self.lengthscale, (*kernels.POINT_KERNELS, *self.learned, *FILES))
            return grid(self.points)
        if self.lengthscale != LENGTHSCALE or self.space is not None:
            raise InputError(
                f"the kernel {self.kernel!r} has points of its own, and no length scale",
                f"leave space out, and lengthscale at {LENGTHSCALE}",
            )
        points = of_matrix(delays(self.kernel).kernel)
        if len(points) != self.points:
            raise InputError(
                f"the kernel {self.kernel!r} has {len(points)} points", f"give points = {len(points)}"
            )
        return points

    @cached_property
    def prior(self) -> Floats:
        """Return the kernel matrix of the points."""
        return prior_kernel(self.domain_points, self.kernel, float(self.lengthscale))

    @property
    def reach(self) -> float:
        """Return B + R: a reward is clipped to plus or minus it."""
        return float(self.bound + self.noise_bound)

    @property
    def delta(self) -> Fraction:
        """Return δ: the messages are purely private."""
        return Fraction(0)

    @cached_property
    def by(self) -> Channel:
        """Return the channel of every message."""
        return channel(self.channel, self.epsilon)

    @cached_property
    def noise_scale(self) -> float | None:
        """Return the largest variance of a message in units of its clip; None without privacy."""
        if self.privacy == "none":
            return None
        return float(self.by.variance(np.linspace(-1, 1, 33)).max())

    def domain(self) -> Domain:
        """Return one row a person: what every point would pay them, beyond the clip too."""
        return wide(self.rounds, self.points, 2 * self.reach if self.privacy == "local" else TOLD.high[0])

    def proof(self, delta: Fraction) -> Theorem:
        """One message a person, and what everyone sees is a function of messages: local DP."""
        if self.privacy == "none":
            raise InputError("privacy is 'none': rewards are told as they are", "nothing is proved of that")
        return self._messages(delta)

    def _messages(self, delta: Fraction) -> Theorem:
        return self.by.proof(name_of(self), self.rounds, delta, self.constants_from)

    def row(self, slot: int) -> int:
        """Return whose row of the data answers a slot (both from 0): everyone answers once."""
        return slot

    def learner(self, coins: int) -> RewardLearner:
        """Return the learner that chooses points, without observations."""
        raise NotImplementedError

    def message(self, noise: Noise, slot: int, shown: Floats, reward: float, coin: float) -> float:
        """Return what the person of `slot` (from 0) tells: their device's side.

        `shown` is (point, centre, clip), `coin` uniform on [0, 1).
        """
        _, centre, clip = shown.tolist()
        if self.privacy == "none":
            return 0.0 if np.isnan(reward) else reward
        return self.by.send(noise, slot, relative(reward, centre, clip), coin)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Ask every person once, in order; all that was shown and answered is for everyone."""
        # a stream of their own: with the coins of a simulation's noise of one seed, messages would be biased
        tosses = np.random.default_rng((coins, 17)).random(self.rounds).tolist()  # one a row

        def tells(slot: int, shown: Floats) -> float:
            row = self.row(slot)
            return self.message(noise, slot, shown, float(data[row, int(shown[0])]), tosses[row])

        def pays(first: int, shown: list[Floats]) -> Floats:
            return np.array([tells(slot, one) for slot, one in enumerate(shown, first)])

        return replay(self.course(noise, coins), None, pays)

    def course(self, noise: Noise, coins: int) -> "RewardCourse":
        """Return the server's side of a run, which draws no noise: people's messages have theirs."""
        return RewardCourse(self, self.learner(coins))


@lru_cache(maxsize=8)
def prior_kernel(space: Space, kernel: str, lengthscale: float) -> Floats:
    """Return the kernel matrix of public points, which every run of a subject shares."""
    matrix = space.kernel(kernel, lengthscale)
    # The cache hands the same array to every run: one that wrote to it would change the others.
    matrix.setflags(write=False)
    return matrix


def relative(reward: float, centre: float, clip: float) -> float:
    """Return (reward − centre)/clip, which the channel clips again; NaN is for the channel to settle.

    Raises `InputError` for a centre or clip that no server shows: found before anything is drawn.
    """
    if not 0 < clip < inf or not isfinite(centre):
        raise InputError(
            f"shown were centre {centre} and clip {clip}", "needed a finite one and 0 < clip < inf"
        )
    return (reward - centre) / clip


class RewardCourse(Course):
    """The server's run: a person is shown (point, centre, clip) in a row, and tells a message."""

    by_device = True

    def __init__(self, subject: LocalRewards, learner: RewardLearner) -> None:
        self.batches = [(slot, slot) for slot in range(1, subject.rounds + 1)]
        most = TOLD.high[0] if subject.privacy == "none" else min(subject.by.largest, MAX_MESSAGE)
        self.reward = wide(1, 1, most)
        self._subject, self._learner = subject, learner
        self.space = subject.space if isinstance(learner, Choosy) else None
        self._open: Question | None = None
        self._shown: list[Floats] = []
        self._answers: list[float] = []

    def ask(self, context: Floats | None = None) -> Floats:
        """Return what the next person is shown: the same as the last one, where that one was silent."""
        if context is not None and isinstance(self._learner, Choosy):
            silent = self._open is not None and self._open.point in context
            self._open = self._open if silent else self._learner.ask(context.astype(np.int64))
        self._open = self._open or self._learner.ask()
        clip = self._subject.reach if self._open.clip is None else self._open.clip
        self._shown.append(np.array([self._open.point, self._open.centre, clip]))
        return self._shown[-1]

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Give the learner the answer of the one person of the batch under way."""
        self._answers.append(float(rewards[0]) if answered[0] else float("nan"))
        if not answered[0]:
            return
        point, centre, clip = self._shown[-1].tolist()
        spread = self._subject.noise_scale
        self._open = None
        if spread is None:
            self._learner.tell(int(point), self._answers[-1], None)
        else:
            self._learner.tell(int(point), centre + clip * self._answers[-1], spread * clip**2)

    def check(self, message: float) -> None:
        """Refuse what the channel never sends, such as a reward itself: all answers are for everyone."""
        if self._subject.privacy == "local" and not self._subject.by.sends(message):
            raise InputError(
                f"{message:g} is no message of the channel {self._subject.channel!r}",
                "a person's device makes one of their reward, which never leaves it",
            )

    def view(self) -> View:
        """Return what was shown and answered, NaN for a missing answer; all of it is public."""
        shown = np.array(self._shown).reshape(-1, 3)
        return View(
            public={
                "points": shown[:, 0].astype(np.int64),
                "centres": shown[:, 1],
                "clips": shown[:, 2],
                "answers": np.array(self._answers),
            }
        )
