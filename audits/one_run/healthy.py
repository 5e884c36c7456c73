"""What one run as claimed would show: the claimed mechanism is simulated with as many canaries.

One run cannot refute a large ε, however broken the training is.  But a run that shows far more than
runs of the claimed mechanism do has more signal or less noise than claimed: clipping is missing,
say, or the noise is halved. This is a comparison, not a test: it assumes that the canaries' scores
are independent, and that no score tells more than the mechanism's own release does.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.one_run.audit import GuessRule, OneRun, rules_for
from audits.one_run.guessing import RunClaim, by_score, guess, level_below
from audits.tradeoff import MuClaim, PointClaim, mu_of
from dpaccount.noise.samplers import Floats
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import Gaussian, Plan, PoissonSubsampled
from dpaccount.schemas.results import HealthyRuns

SIMULATIONS = 200
CANARIES_SIMULATED = 20_000_000  #: in all simulations
SPREADS = 3.0  #: standard deviations above the mean from which a finding says so


@dataclass(frozen=True)
class Shift:
    """Scores of canaries: Gaussian noise of variance 1; an included one is moved.

    It is moved by the sum of `steps`: each (shift, rate, count) moves it by `shift` in a number of
    steps that is binomial (`count`, `rate`).  Without steps, ``keep`` is the probability of
    randomised response.
    """

    steps: tuple[tuple[float, float, int], ...] = ()
    keep: float | None = None

    @property
    def mean(self) -> float:
        """Return the mean shift of an included canary."""
        return sum(shift * rate * count for shift, rate, count in self.steps)

    def scores(self, included: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
        """Return one score for each canary."""
        m = len(included)
        if self.keep is not None:
            return np.where(rng.random(m) < self.keep, included, ~included).astype(np.float64)
        scores = rng.normal(size=m)
        for shift, rate, count in self.steps:
            times = rng.binomial(count, rate, m) if rate < 1 else count
            scores = scores + included * (shift * times)
        return scores


def sentence(runs: HealthyRuns, claim: RunClaim) -> str:
    """Describe the comparison in one sentence, in the claim's unit, which is μ for a plan."""
    unit = "ε" if claim.name == "epsilon" else "μ"
    as_claimed = f"a run as claimed shows {unit} ≥ {runs.mean:.2f} ± {runs.deviation:.2f}"
    more = ": look for missing clipping, or for less noise than claimed" if runs.suspicious else ""
    return f"{as_claimed}; this run shows {runs.shown:.2f}{more}"


def shift_of(claim: RunClaim, plan: Plan | None) -> Shift | None:
    """Return how the claimed mechanism moves scores; None if that is not known of a plan.

    Of a plan: Gaussian events, Poisson sampled or not, every canary with its full weight in every
    step, and the score that adds up all steps.  Of (ε, 0): randomised response, of (ε, δ): the
    Gaussian mechanism of this cost.
    """
    if plan is not None:
        return _shift_of_plan(plan)
    if isinstance(claim, MuClaim):
        return Shift(((float(claim.mu), 1.0, 1),))
    if not isinstance(claim, PointClaim):
        return None
    if claim.delta == 0:
        return Shift(keep=1 / (1 + math.exp(-min(float(claim.epsilon), 60.0))))
    return Shift(((mu_of(claim.epsilon, claim.delta, 30)[0], 1.0, 1),))


def _shift_of_plan(plan: Plan) -> Shift | None:
    shifts = []
    for event in plan.events:
        steps = _steps(event, 1.0, event.count)
        if steps is None:
            return None
        shifts += steps
    # the best fixed weights of steps are their expected shifts; noise then has this variance
    weights = [(shift * rate, shift, rate, count) for shift, rate, count in shifts]
    noise = math.sqrt(sum(weight**2 * count for weight, _, _, count in weights))
    if noise == 0:
        return None
    return Shift(tuple((weight * shift / noise, rate, count) for weight, shift, rate, count in weights))


def _steps(event: Event, rate: float, count: int) -> list[tuple[float, float, int]] | None:
    if isinstance(event, Gaussian):
        return [(float(event.sensitivity) / float(event.sigma), rate, count)]
    if isinstance(event, PoissonSubsampled) and rate == 1.0:
        inside = event.of
        return _steps(inside, float(event.rate), count * inside.count)
    return None


def healthy(
    included: NDArray[np.bool_], scores: Floats, one_run: OneRun, plan: Plan | None, risk: float, seed: int
) -> HealthyRuns | None:
    """Return what runs as claimed would show, for comparison; None if the plan's scores are not known.

    The unit is the claim's; for a plan it is μ, by the rules for the Gaussian mechanism of its mean
    shift.
    """
    shift = shift_of(one_run.claim, plan)
    if shift is None:
        return None
    m, claim, rules = len(included), one_run.claim, one_run.rules
    if plan is not None:
        claim = MuClaim(Fraction(f"{shift.mean:.6f}"))
        rules = rules_for(m, claim, risk)
    rng = np.random.default_rng([seed, 17])
    shown = []
    for _ in range(min(SIMULATIONS, max(CANARIES_SIMULATED // m, 20))):
        coins = rng.random(m) < 0.5
        shown.append(_shown(shift.scores(coins, rng), coins, claim, rules))
    mean, deviation = float(np.mean(shown)), float(np.std(shown))
    ours = _shown(scores, included, claim, rules)
    above = float(np.mean([level >= ours for level in shown]))
    return HealthyRuns(mean, deviation, above, ours, above == 0 and ours > mean + SPREADS * deviation)


def _shown(
    scores: Floats, included: NDArray[np.bool_], claim: RunClaim, rules: tuple[GuessRule, ...]
) -> float:
    ordered = by_score(scores, included, 1)
    return max(level_below(guess(ordered, rule.each), claim, rule.risk) for rule in rules)
