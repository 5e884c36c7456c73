"""Planted: bandits whose people answer through a local channel, each broken in one place."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.ldp_ctl_gp_ucb import LdpCtlGpUcb
from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.channels import KEY, LAPLACE_GRID_BITS, laplace_answer
from bandits.local_privacy.learner import Question
from dpaccount.proof import (
    REPLACE_ONE,
    assume_clipped,
    assume_covers,
    assume_view,
    laplace,
    linear,
    local,
    local_view,
)
from dpaccount.proof.search import approximate
from mechanisms.subject import View, wide


@dataclass(frozen=True)
class HalfScale(LocalPosterior):
    """Laplace noise of scale 1/ε for numbers in [−1, 1]: as if two of them were at most 1 apart."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def _messages(self, delta):
        number = assume_clipped("half", Fraction(-1, 2), Fraction(1, 2), REPLACE_ONE, "movement")
        own = assume_covers("half", [(i, i) for i in range(1, self.rounds + 1)], "movement")
        message = local(
            laplace(linear(number), 1 / self.epsilon, Fraction(1, 2**LAPLACE_GRID_BITS), KEY), own
        )
        return local_view(
            approximate(message, delta), assume_view("local-reward-twins", "everyone", "replay")
        )


@dataclass(frozen=True)
class ClipAfterNoise(LocalPosterior):
    """Noise first, then the clip."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def message(self, noise, slot, shown, reward, coin):
        _, centre, clip = shown.tolist()
        return float(np.clip(laplace_answer(noise, slot, (reward - centre) / clip, coin), -1, 1))


@dataclass(frozen=True)
class TruncatedReward(LocalPosterior):
    """Truncates where a robust estimator would, at a growing b, and has not capped the reward before."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def message(self, noise, slot, shown, reward, coin):
        _, centre, clip = shown.tolist()
        b = 2 * (slot + 1) ** 0.5
        return laplace_answer(noise, slot, float(np.clip((reward - centre) / clip, -b, b)), coin)


@dataclass(frozen=True)
class RewardsBeyond(LdpCtlGpUcb):
    """The channel as printed, for rewards that are not within B + R."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def domain(self):
        return wide(self.rounds, self.points, 2 * self.reach)


def _served(subject, data, noise, coins, asked):
    """Play with a question that `asked` makes of the one that the learner asks and of the own reward."""
    learner, tosses, shown = subject.learner(coins), np.random.default_rng((coins, 1)), []
    for slot, row in enumerate(data):
        question = learner.ask()
        question = asked(question, float(row[question.point]))
        one = np.array([question.point, question.centre, question.clip])
        answer = subject.message(noise, slot, one, float(row[question.point]), tosses.random())
        spread = subject.noise_scale * question.clip**2
        learner.tell(question.point, question.centre + question.clip * answer, spread)
        shown.append([*one, answer])
    return View(public={"shown": np.array(shown)})


@dataclass(frozen=True)
class OwnClip(LocalPosterior):
    """C is computed from the person's own reward, so that nothing is ever clipped."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def play(self, data, noise, coins):
        def asked(question: Question, reward):
            return replace(question, clip=max(question.clip, 2 * abs(reward - question.centre)))

        return _served(self, data, noise, coins, asked)


@dataclass(frozen=True)
class OwnCentre(LocalPosterior):
    """μ includes the person's own reward, as if the posterior were updated before it is asked."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def play(self, data, noise, coins):
        def asked(question: Question, reward):
            return replace(question, centre=0.9 * question.centre + 0.1 * reward)

        return _served(self, data, noise, coins, asked)


@dataclass(frozen=True)
class BoundFromData(LocalPosterior):
    """B is the largest reward among those that are to be protected."""

    loses: ClassVar[set[str]] = {"assume_covers", "assume_view"}

    def play(self, data, noise, coins):
        known = replace(self, bound=Fraction(float(np.abs(data).max())))
        return LocalPosterior.play(known, data, noise, coins)


TINY = {"rounds": 6, "points": 4, "bound": Fraction(1), "noise_bound": Fraction(1)}
LAPLACE = {**TINY, "channel": "laplace"}
SMALL = {
    HalfScale: LAPLACE,
    ClipAfterNoise: LAPLACE,
    TruncatedReward: LAPLACE,
    RewardsBeyond: {**LAPLACE, "rewards_within": Fraction(2)},
    OwnClip: TINY,
    OwnCentre: TINY,
    BoundFromData: TINY,
}
