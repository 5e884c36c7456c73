"""Planted: private bandits, each broken in one place; every class must lose the hypotheses it names."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.function_release import FunctionRelease
from bandits.jdp_gp_ucb import JdpBelief, JdpGpUcb
from bandits.local_gp_ucb import LocalGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import CONTRIBUTION_BITS, WEIGHTS, PhasedPosterior
from bandits.phased_posterior import Learner as BatchLearner
from bandits.phased_regression import PhasedRegression
from bandits.surface_gp_ucb import SurfaceGpUcb
from bandits.usca import Usca
from dpaccount.proof import (
    REPLACE_ONE,
    assume_covers,
    assume_rank_one,
    assume_view,
    billboard,
    discrete_gaussian,
    linear,
    nodes,
)
from dpaccount.proof.search import approximate
from mechanisms.subject import Domain, View
from mechanisms.symmetric_gaussian import FEATURE_BITS, STEP


class _Unclipped(BatchLearner):
    def contributions(self, rewards):
        predicted = (self._phi @ self._mean)[self._point_of] if self._told else 0.0
        residual = (rewards - predicted) / self._clip
        return (
            np.trunc(self._directions[self._point_of] * residual[:, None] * 2.0**CONTRIBUTION_BITS)
            .astype(np.int64)
            .sum(0)
        )


@dataclass(frozen=True)
class UnclippedReward(PhasedPosterior):
    """Residuals enter the batch sum as they are."""

    loses: ClassVar[set[str]] = {"assume_ball"}

    def play(self, data, noise, coins):
        return _batches(
            self, _Unclipped(self.model, float(self.noise_scale), self.rounds, coins), data, noise
        )


def _batches(subject, learner, data, noise):
    covers = subject.covers()
    for number, (first, last) in enumerate(covers):
        points = learner.ask(first - 1, last, final=number == len(covers) - 1)
        rewards = subject.world.value(points) + data[first - 1 : last, 0]
        released = noise.noisy(
            "batch", number, learner.contributions(rewards, np.ones(len(rewards), dtype=np.bool_))
        )
        learner.tell(released / 2.0**CONTRIBUTION_BITS)
    return View(public={"mean": learner._mean})


@dataclass(frozen=True)
class RawFeatures(JdpGpUcb):
    """The reward enters the next action without noise."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def play(self, data, noise, coins):
        shown = super().play(data, noise, coins)
        best = data[:, -self.candidates :].mean(axis=1) > 0.5
        return View(own={"action": shown.own["action"] + np.roll(best, 1)})


@dataclass(frozen=True)
class PrefixRows(PhasedPosterior):
    """Releases prefix sums over batches, where the noise is for rows of a factor."""

    loses: ClassVar[set[str]] = {"assume_rounds"}

    def course(self, noise, coins):
        made = super().course(noise, coins)
        made._rows.weights = np.tril(np.full_like(made._rows.weights, 2**WEIGHTS))
        return made


@dataclass(frozen=True)
class SharedBorder(PhasedPosterior):
    """The last person of every batch enters the next one too."""

    loses: ClassVar[set[str]] = {"assume_ball", "assume_rounds", "assume_covers"}

    def course(self, noise, coins):
        made = super().course(noise, coins)
        whole, carried = made._learner.contributions, [0]

        def contributions(rewards, answered):
            others = answered & (np.arange(len(answered)) < len(answered) - 1)
            before, total = carried[0], whole(rewards, answered)
            carried[0] = total - whole(rewards, others)
            return total + before

        made._learner.contributions = contributions
        return made


class _OwnPoints(BatchLearner):
    """Plays the point that each person brings, a context of their own."""

    brought = None

    def ask(self, start, stop, *, final):
        chosen = (self.brought[start:stop, None] % len(self._model.groups[0])).astype(np.int64)
        self._point_of = np.arange(len(chosen))
        self._aim(chosen, np.ones(len(chosen)))
        return chosen


@dataclass(frozen=True)
class PrivateContexts(PhasedPosterior):
    """Takes points from people's records, where the proof needs public ones: φ̄ moves every direction."""

    loses: ClassVar[set[str]] = {"assume_ball", "assume_covers"}

    def domain(self):
        return Domain(self.rounds, (-4.0, 0.0), (4.0, 624.0), (False, True))

    def play(self, data, noise, coins):
        learner = _OwnPoints(self.model, float(self.noise_scale), self.rounds, coins)
        learner.brought = data[:, 1]
        return _batches(self, learner, data, noise)


@dataclass(frozen=True)
class Uncentred(PhasedGpUcb):
    """Clips rewards to [0, 1] and forgets to centre them: twice the declared reach."""

    loses: ClassVar[set[str]] = {"assume_ball"}

    def learner(self, noise):
        made = super().learner(noise)

        def contribution(features, reward):
            y = min(max(reward, 0), 1)
            return np.trunc(made.belief.directions(features) * y * 2.0**20).astype(np.int64)

        made.belief.contribution = contribution
        return made


@dataclass(frozen=True)
class LeafCalibratedTree(DoublingGpUcb):
    """Every node is declared to read its newest person only, so that one leaf's noise seems enough."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    def proof(self, delta):
        person = assume_rank_one("statistics", Fraction(1, 2), REPLACE_ONE, "movement")
        newest = [(last, last) for _, last in self.releases]
        node = discrete_gaussian(linear(person), self.noise_scale**2, STEP, "sums")
        whole = nodes(node, assume_covers("statistics", newest, "movement"))
        view = assume_view("leaf-calibrated-tree", "others", "replay")
        return billboard(approximate(whole, delta), view)


@dataclass(frozen=True)
class PrivateShift(JdpGpUcb):
    """Shifts by the least eigenvalue of the noise itself, which the release does not show."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def learner(self, noise):
        made = super().learner(noise)
        made.belief = _Shifting(self)
        return made


class _Shifting(JdpBelief):
    def __init__(self, subject):
        super().__init__(subject)
        self._exact = np.zeros((self._size, self._size))

    def contribution(self, features, reward):
        self._exact += np.outer(features, features)
        return super().contribution(features, reward)

    def learn(self, released, people):
        noise = released[: self._size, : self._size] / 2.0 ** (2 * FEATURE_BITS) - self._exact
        least = np.linalg.eigvalsh(noise)[0]
        self._shift = lambda _: max(-least, 0)
        super().learn(released, people)


@dataclass(frozen=True)
class TwoMessages(LocalGpUcb):
    """A client that answers for the person before too."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    def play(self, data, noise, coins):
        mixed = data.copy()
        mixed[1:, -self.candidates :] = (data[1:, -self.candidates :] + data[:-1, -self.candidates :]) / 2
        return super().play(mixed, noise, coins)


@dataclass(frozen=True)
class LeafCalibratedSurface(SurfaceGpUcb):
    """The same of a tree over batches: every node is declared to read one person only."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    def covers(self):
        return [(last, last) for _, last in super().covers()]


# ------------------------------------------------------------------ the same fault in every variant


class _Wrapped:
    """Noise that a faulty learner misuses; `fault` gets what may be released and what must not be."""

    def __init__(self, noise, fault):
        self._noise, self._fault = noise, fault

    def noisy(self, key, part, values):
        return self._fault(lambda exact: self._noise.noisy(key, part, exact), values)

    def noisy_symmetric(self, key, part, matrix):
        return self._fault(lambda exact: self._noise.noisy_symmetric(key, part, exact), matrix)


def _raw():
    """Draw the noise that is paid for, and learn from the sums without it."""

    def fault(draw, exact):
        draw(exact)
        return exact

    return fault


def _reused():
    """Use one draw for all releases, as the authors' public code does: differences are exact."""
    drawn = {}

    def fault(draw, exact):
        released = draw(exact)
        return exact + drawn.setdefault(exact.shape, released - exact)

    return fault


def _twice():
    """Let everybody's statistics be twice as long as declared, as if rewards were not clipped or centred."""
    return lambda draw, exact: draw(2 * exact)


FAULTS = {
    "Raw": (_raw, {"assume_view"}),
    "Reused": (_reused, {"assume_view"}),
    "Twice": (_twice, {"assume_ball", "assume_rank_one", "assume_range"}),
}

CONTEXTUAL = {"rounds": 12, "candidates": 3, "nodes_per_axis": 2, "sigma": Fraction(2)}
VARIANTS = {
    MomentGpUcb: {**CONTEXTUAL, "size": 6, "nodes_per_axis": 3},
    PhasedGpUcb: {**CONTEXTUAL, "rounds": 70, "size": 4, "sigma": Fraction(1)},
    JdpGpUcb: CONTEXTUAL,
    PhasedRegression: {**CONTEXTUAL, "first": 2, "per_learner": 1},
    DoublingGpUcb: CONTEXTUAL,
    LocalGpUcb: CONTEXTUAL,
    PhasedPosterior: {"rounds": 150, "sigma": Fraction(1)},
    SurfaceGpUcb: {"rounds": 60, "batch": 10, "nodes_per_axis": 2, "sigma": Fraction(2)},
    FunctionRelease: {"rounds": 24, "served": 2, "actions": 2, "contexts": 2, "sigma": Fraction(1, 8)},
    Usca: {"rounds": 8, "predictions": 3, "actions": 3, "contexts": 3},
}


def _faulty(name, made, loses, variant):
    def play(self, data, noise, coins):
        return variant.play(self, data, _Wrapped(noise, made()), coins)

    return type(f"{name}{variant.__name__}", (variant,), {"play": play, "loses": loses})


SMALL = {
    PrefixRows: {"rounds": 400, "sigma": Fraction(1), "stream": "correlated"},
    UnclippedReward: {"rounds": 40, "sigma": Fraction(1)},
    RawFeatures: {"rounds": 6, "candidates": 2, "nodes_per_axis": 2},
    PrivateContexts: {"rounds": 40, "sigma": Fraction(1)},
    Uncentred: {"rounds": 40, "candidates": 2, "size": 16, "nodes_per_axis": 4},
    LeafCalibratedTree: {
        "rounds": 12,
        "candidates": 3,
        "nodes_per_axis": 2,
        "sigma": Fraction(2),
        "mode": "carry",
    },
    LeafCalibratedSurface: {"rounds": 60, "batch": 10, "error": Fraction(1, 2), "sigma": Fraction(2)},
    PrivateShift: {
        "rounds": 30,
        "candidates": 12,
        "nodes_per_axis": 2,
        "sigma": Fraction(1, 4),
        "width": Fraction(1),
    },
    TwoMessages: {"rounds": 10, "candidates": 2, "nodes_per_axis": 2, "sigma": Fraction(1)},
}
SMALL |= {
    _faulty(name, made, loses, variant): parameters
    for name, (made, loses) in FAULTS.items()
    for variant, parameters in VARIANTS.items()
    if (name, variant)
    != ("Twice", Usca)  # pays for twice as much as moves; `usca_twin.LooseClip` is four times
}
