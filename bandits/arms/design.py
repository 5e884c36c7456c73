"""The parameters of `arm-phases`: who is in which block of people, and what its sums cost."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from bandits.arms.beliefs import ApartBelief, ArmBelief, LinearBelief, MixedBelief
from bandits.arms.sums import ArmSums
from bandits.learning.arrivals import Answered, with_delays
from bandits.learning.contextual import SEVERAL, Calibrated, together
from bandits.learning.shuffled_bits import ShuffledBits
from bandits.space.points import Space
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of, target
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from dpaccount.errors import InputError
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_rounds,
    compose,
    factorised,
    laplace,
    linear,
    nodes,
    stream_l1,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import Domain, shown

if TYPE_CHECKING:
    from bandits.arms.adversary import AgainstAdversary

LAWS: Final = ("laplace", "gaussian", "shuffled")
FOR_REGRET: Final = ("thompson", "imed")
INDICES: Final = (*FOR_REGRET, "elimination", "top-two", "adversarial")
BELIEFS: Final = ("apart", "linear", "mixed")
MOST_MIXED: Final = 256  #: arms of a mixed belief, which holds a covariance of them for every model
#: of a block over the people before it, if the first block has fewer; the second for the best arm
BLOCK_GROWTH, BEST_GROWTH = Fraction(1, 32), Fraction(1, 24)
WORTH, BEST_WORTH = 6.0, 30.0  #: deviations of the noise that the first block has people for
#: people of a block times ε, against an adversary: τv is least, and the bound is about 2τ√(2KBv)
LEAST_NOISY = 2.31
SMALLEST, LARGEST = Fraction(1, 2**20), 10**6  #: of ε and σ


@dataclass(frozen=True)
class ArmDesign(Calibrated):
    """What is public of a run before it begins; the fields are those of `ArmPhases`."""

    within: ClassVar[float] = 0.5  #: deviations of both arms that one is behind if "elimination" drops it

    rounds: int = 1024
    arms: int = 10
    block: int = 1
    index: str = "thompson"
    law: str = "laplace"
    delta: Fraction = Fraction(0)
    space: Space | None = None
    level: Fraction = Fraction(19, 20)
    memory: int | None = None
    belief: str = "apart"
    delays: bool = False
    counts: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self._check_belief()
        if self.space is not None:
            self.space.counts(self, "arms", len(self.space))
        if not all(type(number) is int for number in (self.rounds, self.arms, self.block)):
            raise InputError("rounds, arms and block are whole numbers")
        if not 2 <= self.arms <= 1000 or not 2 * self.arms <= self.rounds <= 10**7:
            raise InputError(
                f"arms is {self.arms} and rounds is {self.rounds}",
                "needed 2 ... 1000 arms and twice as many rounds, at most 10000000",
            )
        if not 1 <= self.block <= self.rounds:
            raise InputError(f"block is {self.block}", f"it lies in 1 ... {self.rounds}")
        if self.memory is not None and not (type(self.memory) is int and 1 <= self.memory <= 10**7):
            raise InputError(f"memory is {str(self.memory)[:40]}", "it lies in 1 ... 10000000")
        if self.memory is not None and self.index == "top-two":
            raise InputError("top-two looks for one best arm", "leave memory out")
        one_of("index", self.index, INDICES)
        if type(self.delays) is not bool:
            raise InputError(f"delays is {str(self.delays)[:40]}", "it is true or false")
        if self.delays and not self.takes_late:
            raise InputError("this bandit takes no late answers", "leave delays out")
        fits = isinstance(self.counts, Fraction) and (self.counts == 0 or SMALLEST <= self.counts < 1)
        if not fits or (self.counts and not (self.takes_late and self.law == "laplace")):
            right = "it is a fraction, a share of ε below 1, with Laplace noise where late answers count"
            raise InputError(f"counts is {str(self.counts)[:40]}", right)
        if not isinstance(self.level, Fraction) or not 0 < self.level <= 1:
            raise InputError(f"level is {str(self.level)[:40]}", "it is above 0, at most 1")
        self._check_noise()

    def _check_belief(self) -> None:
        one_of("belief", self.belief, BELIEFS)
        if self.space is not None and not isinstance(self.space, Space):
            raise InputError("space is no public points", "give bandits.space.reading.of_table(points)")
        if self.space is None and self.belief != "apart":
            right = "give a space, whose points are the arms"
            raise InputError(f"a {self.belief} belief is about points", right)
        if self.space is not None and self.belief == "mixed" and len(self.space) > MOST_MIXED:
            right = f"at most {MOST_MIXED}, or a linear one"
            raise InputError(f"a mixed belief in {len(self.space)} arms is slow", right)

    def _check_noise(self) -> None:
        one_of("law", self.law, LAWS)
        plain = self.law == "laplace" and self.belief == "apart" and self.memory is None
        if self.index == "adversarial" and not plain:
            right = 'law "laplace", belief "apart" and no memory'
            raise InputError("the theorem of adversarial rewards is of Laplace noise and arms apart", right)
        for name in ("epsilon", "delta", "sigma"):
            number, smallest = getattr(self, name), 0 if name == "delta" else SMALLEST
            fits = isinstance(number, Fraction) and smallest <= number <= LARGEST
            if not fits and (name, number) != ("sigma", None):
                right = f"it is a fraction in {float(smallest):.2g} ... {LARGEST}"
                raise InputError(f"{name} is {str(number)[:40]}", right)
        if self.sigma is not None and self.law != "gaussian":
            raise InputError("sigma is of Gaussian noise", "other noise follows epsilon")
        if self.law != "laplace" or self.delta:  # with Laplace noise, δ may be 0
            target(self.epsilon, self.delta)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return the scale 1/ε of Laplace noise; σ of Gaussian noise, given or calibrated; bits have none."""
        if self.law == "shuffled":
            raise InputError("shuffled bits have no noise of one scale", "ask for bits.truth")
        return 1 / (self.epsilon * (1 - self.counts)) if self.law == "laplace" else super().noise_scale

    @cached_property
    def noise_deviation(self) -> float:
        """Return the standard deviation of a block's noise, in rewards; of bits, about a first block's."""
        if self.law == "shuffled":
            return sqrt(-2 * log(self.delta)) / float(self.epsilon)
        return float(self.noise_scale) * (sqrt(2) if self.law == "laplace" else 1)

    @cached_property
    def bits(self) -> ShuffledBits:
        """Return the bits that devices send: private enough among those of the smallest block."""
        fewest = min(last - first + 1 for first, last in self.blocks())
        return ShuffledBits(self.epsilon, self.delta, fewest)

    @property
    def _points(self) -> Space | None:
        """Return the points of which means are a function; None where arms are apart."""
        return None if self.belief == "apart" else self.space

    def prior(self) -> ArmBelief:
        """Return the prior of the arms' means."""
        if self._points is None:
            return ApartBelief(self.arms)
        return (MixedBelief if self.belief == "mixed" else LinearBelief)(self._points)

    @property
    def takes_late(self) -> bool:
        """Return whether an answer that is late enters the next block of its arm.

        Not if a shuffler shows a block's bits, as their number is seen; nor in a search for the best arm,
        whose error is of people who have all answered; nor where rewards are adversarial, as an estimate is
        weighed by its own block's chance.
        """
        return self.law != "shuffled" and self.index not in ("top-two", "adversarial")

    @property
    def one_mean(self) -> bool:
        """Return whether an arm is taken to have one mean, in the whole run."""
        return self.memory is None and self.index != "adversarial"

    @property
    def against_adversary(self) -> "AgainstAdversary":
        """Return the rates of the index "adversarial", and what its expected regret is at most.

        Raises `InputError` for any other, of which that is not proved.
        """
        if self.index != "adversarial":
            raise InputError(f"of index {self.index} no regret is proved", 'take "adversarial"')
        from bandits.arms.adversary import AgainstAdversary  # late: few runs have an adversary

        return AgainstAdversary(self.arms, self.rounds, self.first, float(self.noise_scale))

    def member(self, rounds: int) -> Self:
        """Return this bandit on at most `rounds` people, who may be late, but on several blocks of them."""
        same = self.block if self.law != "shuffled" else self.bits.size  # which its noise follows
        fewest = max(SEVERAL * same, 2 * self.arms)
        rounds = min(self.rounds, max(rounds, fewest))
        return replace(self, rounds=rounds, block=same, delays=self.takes_late)

    # -------------------------------------------------------------- who is in which block

    @cached_property
    def first(self) -> int:
        """Return how many people the first block has, and every later one at least."""
        if self.index == "adversarial":
            return min(max(ceil(LEAST_NOISY * self.noise_scale), self.block), self.rounds)
        worth = BEST_WORTH if self.index == "top-two" else WORTH
        # As large as the noise asks for, but never so large that the run ends before every unknown mean is
        # tried twice.
        first = min(worth * self.noise_deviation, self.rounds / (2 * self.unknown))
        return max(ceil(first), self.block, 2 if self.law == "shuffled" else 1)

    @property
    def unknown(self) -> int:
        """Return how many numbers all means follow from: those of arms, or of a linear function."""
        return self.arms if self._points is None else min(self.arms, self._points.dimension + 1)

    @property
    def growth(self) -> Fraction:
        """Return a block's size over the people before it, at most."""
        return BEST_GROWTH if self.index == "top-two" else BLOCK_GROWTH

    def size(self, before: int, people: int) -> int:
        """Return the size of a block after `before` people, of whom its arm has had `people`."""
        if self.index == "adversarial":
            return self.first
        if self.memory is not None:
            before = min(before, self.memory)
        most = int(self.growth * before)
        # A block tells of other arms too where means are linear, and has a proved error in a search.
        apart = self._points is None and self.index != "top-two"
        return max(self.first, min(most, people // 2) if apart else most)

    @property
    def most_sums(self) -> int:
        """Return how many sums a run releases at most: of blocks, and one of late answers for each arm."""
        return ceil(self.rounds / self.block) + self.arms

    def blocks(self) -> list[Cover]:
        """Return the people [first, last] of every block of shuffled bits: fixed before the run."""
        covers = list[Cover]()
        for begin, end in self._together(self.first, self.growth):
            few = covers and end - begin + 1 < self.first
            covers.append((covers.pop()[0] if few else begin, end))  # no block has fewer bits than the first
        return covers

    def _together(self, size: int, growth: Fraction) -> list[Cover]:
        if self.memory is None:
            return together(self.rounds, size, growth)
        begun = together(min(self.memory, self.rounds), size, growth)
        size, before = max(last - first + 1 for first, last in begun), begun[-1][1]
        later = together(self.rounds - before, size)
        return begun + [(first + before, last + before) for first, last in later]

    def domain(self) -> Domain:
        """Return one row per person: what each arm would pay, in [0, 1], NaN as ½; with `delays`, when."""
        arms = self.arms
        plain = Domain(self.rounds, (0.0,) * arms, (1.0,) * arms, (False,) * arms, (0.5,) * arms)
        return with_delays(plain) if self.delays else plain

    def proof(self, delta: Fraction) -> Theorem:
        """One clipped number a person, in one sum, whichever; everyone sees arms and sums."""
        if self.law == "gaussian":
            return shown(self._sums(self.noise_scale, delta), "arm-phases")
        if self.law == "shuffled":
            blocks = assume_covers("block", self.blocks(), "movement")
            return shown(nodes(self.bits.leaf("block", delta), blocks), "arm-phases")
        parts = [self._numbers("block", self.most_sums, self.noise_scale, grid.step(CONTRIBUTION_BITS))]
        if self.counts:
            parts.append(self._numbers("answers", self.arms, 1 / (self.epsilon * self.counts), HALF))
        return shown(approximate(compose(*parts) if self.counts else parts[0], delta), "arm-phases")

    def _numbers(self, name: str, sums: int, scale: Fraction, step: Fraction) -> Theorem:
        """Return the theorem of sums, of which a number in [−½, ½] of every person enters one."""
        person = assume_clipped(name, -HALF, HALF, REPLACE_ONE, "movement")
        return laplace(stream_l1(person, self._entered(name, sums)), scale, step, name)

    def _entered(self, name: str, sums: int) -> Theorem:
        """Return that a person enters one sum at most, which earlier releases and the own delay choose."""
        return assume_rounds(name, sums, "movement", 2, sums)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        """Return the theorem of Gaussian noise."""
        inside = linear(assume_ball("block", HALF, REPLACE_ONE, "movement"))
        query = factorised(inside, self._entered("block", self.most_sums), [[1]])
        step, sums = grid.step(CONTRIBUTION_BITS), self.most_sums
        return gaussian(query, sigma, step, sums, "block", delta, unchanged)

    def added(self, rewards: Floats, answered: Answered) -> Integers:
        """Return the exact sum of clip(y, 0, 1) − ½, one number in grid units; no answer adds 0."""
        paid = np.where(answered & ~np.isnan(rewards), rewards, 0.5) - 0.5
        return grid.clipped(paid[:, None], -HALF, HALF, CONTRIBUTION_BITS).sum(axis=0)

    @property
    def statement(self) -> ArmSums:
        """Return what the noise of sums is, by which they say something of the means."""
        bits = self.bits if self.law == "shuffled" else None
        return ArmSums(self.arms, self.law, 0.0 if bits else float(self.noise_scale), bits)

    def seen(self, people: int, slots: int, released: float) -> tuple[float, int]:
        """Return the noisy sum of the `people` rewards (or bits) of a block, and how many noises it has."""
        if self.law != "shuffled":
            return released / 2.0**CONTRIBUTION_BITS + people / 2, 1
        coins = slots - people
        return released - coins / 2, coins
