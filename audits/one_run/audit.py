"""The audit of one run: claim and number of canaries fix the rules before the coins are read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audits.attack.confirmation import judged, verdict_of
from audits.one_run.guessing import Guesses, RunClaim, by_score, falls, guess, least_refuting, level_below
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from dpaccount.numerics.bisection import bisect
from dpaccount.schemas.fields import Audited

MIN_CANARIES = 10
MAX_CANARIES = 10_000_000
MAX_GUESSES = 10_000  #: of one rule
FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  #: of the canaries that are guessed
OTHERS = (0.05, 0.2, 0.5)  #: fractions tried in addition to the planned one
SHARE = 0.75  #: of the risk for the planned rule; the other rules share the rest
LARGE_SHIFT = 3.0  #: of scores, in units of their noise: more is not planned for
LOWERED, STEPS = 0.85, 30  #: by what factor a level out of reach is lowered, how often
BACKWARDS = 1e-6  #: probability of so few right guesses if scores say nothing of the coins
UNFAIR = 1e-9  #: coins at least as uneven as this probability are refused


@dataclass(frozen=True)
class GuessRule:
    """Guess "in" for the `each` highest scores and "out" for the `each` lowest, at a share of the risk."""

    each: int
    risk: float


@dataclass(frozen=True)
class OneRun:
    """The result: `lower` is in the unit of the claim, `power` what these canaries could have shown."""

    claim: RunClaim
    lower: float
    power: float
    best: Guesses
    rules: tuple[GuessRule, ...]

    @property
    def verdict(self) -> Audited:
        """Return REFUTED, NOT REFUTED, or NOT ATTACKED if no scores in this order could refute the claim."""
        return verdict_of(self.lower, 0.0 if self.seems_reversed else self.power, self.claim.level)

    @property
    def seems_reversed(self) -> bool:
        """Return whether included canaries seem to have the lower scores; no bound uses it.

        Without a bound `best` are the guesses of the planned rule.  If scores say nothing of the
        coins, each is right with probability ½: a false alarm has probability `BACKWARDS` at most.
        """
        from scipy.special import bdtr

        return self.lower == 0 and bool(bdtr(self.best.right, self.best.made, 0.5) < BACKWARDS)


def audit_canaries(
    included: Sequence[bool] | NDArray[np.bool_],
    scores: Sequence[float] | Floats,
    claim: RunClaim,
    confidence: Fraction = Fraction(19, 20),
    seed: int = 1,
) -> OneRun:
    """Return the lower bound that the scores of canaries show; higher scores should mean "included".

    It is above the claim only where that is confirmed (`audits.attack.confirmation`).
    Each canary must have been included by its own fair coin, and the scores must follow from what
    the run released.  `seed` breaks ties.  Raises `InputError` for scores that are NaN, unequal
    lengths, fewer than `MIN_CANARIES` canaries, and coins that are not fair.
    """
    coins, values = np.asarray(included), np.asarray(scores, dtype=np.float64)
    check_canaries(coins, values)
    coins = coins.astype(bool)
    ordered, values = by_score(values, coins, seed), np.sort(values)

    def rules_at(risk: Fraction) -> tuple[GuessRule, ...]:
        return rules_for(len(coins), claim, float(risk))

    def at(risk: Fraction) -> OneRun:
        rules = rules_at(risk)
        guesses = [guess(ordered, rule.each) for rule in rules]
        levels = [level_below(each, claim, rule.risk) for each, rule in zip(guesses, rules, strict=True)]
        best = int(np.argmax(levels))
        return OneRun(claim, levels[best], 0.0, guesses[best], rules)

    def could(rules: Sequence[GuessRule]) -> bool:
        level = float(claim.level)
        return any(falls(_most_right(values, rule.each), claim, level, rule.risk) for rule in rules)

    found = judged(at, lambda run: run.lower > claim.level, 1 - confidence)
    return replace(found, power=power(values, judged(rules_at, could, 1 - confidence), claim))


def check_canaries(included: NDArray[np.generic], scores: Floats) -> None:
    """Raise `InputError` for canaries that no bound can rest on."""
    from scipy.special import bdtr

    m = len(included)
    if included.ndim != 1 or scores.ndim != 1 or len(scores) != m:
        raise InputError(f"{m} coins and {len(scores)} scores", "give one coin and one score for each canary")
    if not MIN_CANARIES <= m <= MAX_CANARIES:
        raise InputError(f"{m} canaries", f"give {MIN_CANARIES} to {MAX_CANARIES}")
    wrong = np.flatnonzero((included != 0) & (included != 1))
    if len(wrong):
        raise InputError(f"canary {wrong[0] + 1} has no coin", "included is 0 or 1")
    unknown = np.flatnonzero(np.isnan(scores))
    if len(unknown):
        raise InputError(f"the score of canary {unknown[0] + 1} is NaN", "give every canary a score")
    ins = int(included.astype(bool).sum())
    if ins in (0, m) or 2 * bdtr(min(ins, m - ins), m, 0.5) < UNFAIR:
        raise InputError(
            f"{ins} of {m} canaries are included, which fair coins do not give",
            "include every canary by a fair coin of its own",
        )


@lru_cache(maxsize=64)
def rules_for(canaries: int, claim: RunClaim, risk: float) -> tuple[GuessRule, ...]:
    """Return the rules, by the claim and the number of canaries alone, so that their error is `risk` in all.

    The planned one refutes the claim at the smallest Gaussian shift of the scores; where that is
    out of reach, it refutes a smaller level.
    """
    sizes = sorted({_each(canaries, fraction) for fraction in FRACTIONS})
    level, shift, planned = float(claim.level), np.inf, sizes[0]
    for _ in range(STEPS):
        shift, planned = min(
            (_shift_needed(canaries, each, claim, level, SHARE * risk), each) for each in sizes
        )
        if shift <= LARGE_SHIFT:
            break
        level *= LOWERED
    # The plan supposes that all canaries move alike.  Where a few are remembered, the extremes tell more;
    # where all are a little, the middle does.
    others = sorted({_each(canaries, fraction) for fraction in OTHERS} - {planned})
    if not others:  # with that many canaries every fraction is `MAX_GUESSES`
        return (GuessRule(planned, risk),)
    rest = (1 - SHARE) * risk / len(others)
    return (GuessRule(planned, SHARE * risk), *(GuessRule(each, rest) for each in others))


def _each(canaries: int, fraction: float) -> int:
    return max(min(int(fraction * canaries), MAX_GUESSES) // 2, 1)


def _shift_needed(canaries: int, each: int, claim: RunClaim, level: float, risk: float) -> float:
    """Return the shift at which as many guesses as refute the claim are expected to be right."""
    needed = least_refuting(canaries, 2 * each, claim, level, risk) / (2 * each)
    if needed > 1:
        return np.inf
    return bisect(lambda shift: _accuracy(shift, each / canaries) >= needed, 0.0, 100.0, width=1e-6)[1]


def _accuracy(shift: float, share: float) -> float:
    """Return how often the highest `share` of scores are included ones, which are shifted."""
    from scipy.special import ndtr

    cut, _ = bisect(lambda cut: bool((ndtr(shift - cut) + ndtr(-cut)) / 2 <= share), -50.0, 150.0, width=1e-9)
    ins, outs = float(ndtr(shift - cut)), float(ndtr(-cut))
    return ins / max(ins + outs, 1e-300)


def power(ordered: Floats, rules: Sequence[GuessRule], claim: RunClaim) -> float:
    """Return the level that these rules show if every guess is right, as far as the scores allow.

    Of canaries with one and the same score, some guessed in and some out, the fewer are guessed wrong.
    """
    return max(level_below(_most_right(ordered, rule.each), claim, rule.risk) for rule in rules)


def _most_right(ordered: Floats, each: int) -> Guesses:
    m = len(ordered)
    low, high = ordered[:each], ordered[m - each :]
    tied = min(int((low == high[0]).sum()), int((high == low[-1]).sum()))
    return Guesses(m, 2 * each, 2 * each - tied)
