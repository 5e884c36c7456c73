"""How well the actions of other users distinguish one record under Lemma 2 of Dubey 2021.

*Nothing beyond the repair's bound.*  Actions read Σ̃ and ũ, never the noisy y² corner that makes the
released matrices fail for large B; so joint privacy holds with the smaller sensitivity
(`dubey-lemma2-actions`), whatever the decision sets.

*The strongest design we know.*  One scalar feature φ(x) = x on [−1, 1] (the linear kernel).  The person of
round 1 has φ = 1 and reward B or −B; all others have reward 0 and a decision set {c, −1}.  The action is then
a threshold test on ũ: it is c iff (1 + c)ũ/V > (1 − c)β/√V, and at c = 1 the sign of ũ.  After 2^j rounds the
prefix is a single node, so these actions are independent; in between the same node shows with more noise.

For c = 1 the first action of every block is a bit, P(+) = Φ(B/σ) against Φ(−B/σ), whatever Σ̃ is as long as
V > 0 (the algorithm asks for a positive definite V, and is run with the shift that provides it).  The person
of round 2, if φ = 1 is their only choice, moves every later ũ by their own reward −τ, which makes the test
one against τ: P(+) = Φ((B − τ)/σ) against Φ(−(B + τ)/σ), |τ| ≤ B.  That all of k bits are + bounds ε from
below, exactly: `sure_epsilon`.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.special import log_ndtr

from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.published_noise import lemma3_spectrum
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import accurate, ball, floor_of
from dpaccount.proof import JOINT, Theorem, assume_view, billboard
from papers.claims.claim_check import Cost, PaperClaim
from papers.claims.derivations import LikelyEvent, lower, settled, telling_event, upper
from papers.claims.dubey import rank_one
from papers.claims.dubey.joint import WITH_RHO, Lemma, gaussian_finding, lemma, met, releases, tree
from papers.claims.enclosures import enclose, of, root
from papers.claims.parameters import Values
from papers.claims.sampling import attack

Bits = NDArray[np.bool_]
SEEN = 64  #: rounds that are simulated; later ones would only add to the bound
SHIFT_FAILURE = 0.1  #: of Lemma 3's shift
RUNS = 40_000
LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)  #: thresholds that are tried, in units of σ


def lemma2_actions(p: Values) -> Cost:
    """Definition 6: what the actions of the others show of Lemma 2 is Σ and u only, never the corner.

    The entries of the noisy matrix without its corner are a release of their own, with the same noise,
    and by the billboard rule (Hsu et al. 2014) joint privacy costs at most theirs.  The lower end is
    what the signs of ũ surely show.
    """
    numbers = lemma(p)
    cost = gaussian_finding(
        p,
        rank_one.without_corner(numbers.clip2),
        tree(int(p["T"]) - 1),
        numbers.variance,
        observer="the actions of all other users (joint)",
        attack="one scalar feature; others have reward 0 and choose from {1, -1}, after 1, 2, 4, ... rounds;"
        " or round 2 has the choice {1} only and reward -tau, and the others choose after 2, 4, ... rounds",
    )
    tests = best_tests(p)
    top = cost.epsilon.upper if cost.epsilon else Fraction(0)
    loss = cost.loss_delta.upper if cost.loss_delta else Fraction(1)
    return replace(
        cost,
        epsilon=Enclosure(sure_epsilon(p), top),
        loss_delta=Enclosure(None, loss),
        witness={**cost.witness, "tau_over_C": str(tests.share), "event": tests.event().as_json()},
        proof=lambda: _proof(p, numbers),
        refutation=lambda: _refutation(p, tests),
    )


def _proof(p: Values, numbers: Lemma) -> Theorem:
    """Return the billboard theorem; the variance is rounded down to a short fraction, the clip up."""
    reward = upper(root(numbers.clip2)) if numbers.clip2.upper else Fraction(0)
    noisy = releases(p, reward, lower(numbers.variance))
    view = assume_view(
        "actions", "others", "an action reads the released sums and its user's own decision set"
    )
    return billboard(settled(noisy, p["alpha"], p["beta"]), view)


def _refutation(p: Values, tests: "Tests") -> Theorem:
    """Return the theorem that these actions refute joint privacy."""
    because = "all of these tests say +, one for each independent node"
    return telling_event("actions", tests.event(), (p["alpha"], p["beta"]), because, JOINT)


@dataclass(frozen=True)
class Tests:
    """Threshold tests on independent nodes: how many, at τ = share·m, m = C/σ."""

    bits: int
    share: Fraction
    margin: Enclosure  #: m

    def probability(self, side: int) -> arb:
        """Return the probability that all tests give +, in the world of reward C (side 1) or −C (side −1)."""
        at = of(self.margin) * ball(self.share - side)
        return ((at / arb(2).sqrt()).erfc() / 2) ** self.bits

    def event(self) -> LikelyEvent:
        """Return the event in short numbers: Φ((1 − share)m) rounded down, Φ(−(1 + share)m) up."""
        near = (1 - self.share) * lower(self.margin) if self.share < 1 else Fraction(0)
        return LikelyEvent("normal", (near, -(1 + self.share) * lower(self.margin)), self.bits, self.bits)


def best_tests(p: Values) -> Tests:
    """Return the number of bits and the τ ∈ [0, m] that show most (τ > 0 leaves out the bit of round 2).

    The search is in floats; what is shown is computed in balls.
    """
    numbers, beta = lemma(p), p["beta"]
    margin = root(enclose(lambda: of(numbers.clip2) / of(numbers.variance)))
    bits = min(met(int(p["T"]) - 1), SEEN)
    m, best = float(margin.upper), (0.0, 0, Fraction(0))
    # τ > 0 costs the bit of round 2, and makes + rarer in both worlds, but far more so in the second.
    for share in range(201):
        tau = Fraction(share, 200)
        for k in range(1, bits + (share == 0)):
            best = max(best, (_float_gain(m, m * share / 200, k, float(beta)), k, tau))
    return Tests(best[1], best[2], margin)


def sure_epsilon(p: Values) -> Fraction:
    """Return an ε that threshold tests after 1, 2, 4, … rounds surely show at δ = β.

    It is ln((p^k − β)/q^k), p = Φ(m − τ), q = Φ(−m − τ), at the best tests; 0 where none shows anything.
    """
    tests, beta = best_tests(p), p["beta"]

    def shown() -> arb:
        gain = tests.probability(1) - ball(beta)
        return (gain / tests.probability(-1)).log() if gain > 0 else arb(0)

    return max(Fraction(0), floor_of(accurate(shown, 60))) if tests.bits else Fraction(0)


def _float_gain(m: float, tau: float, bits: int, beta: float) -> float:
    power = math.exp(bits * float(log_ndtr(m - tau))) - beta
    return math.log(power) - bits * float(log_ndtr(-m - tau)) if power > 0 else 0.0


def observe(p: Values, reward: float, level: float, runs: int, rng: np.random.Generator) -> Bits:
    """Return [runs, rounds − 1]: whether each later user's action is c, in the world of this first reward.

    `p`: the claim's parameters; `reward`: what the first person is paid, in this world.
    `level`: the threshold on ũ over σ at the typical V; 0 means c = 1.
    `runs`: independent simulations, whose noise `rng` draws.
    """
    numbers, rounds = lemma(p), min(int(p["T"]), SEEN)
    sigma = math.sqrt(numbers.variance.upper)
    moved = lemma3_spectrum(sigma, int(p["T"]), 1, SHIFT_FAILURE).least
    width = math.sqrt(numbers.clip2.upper * (3 * moved + 1))  # B√(λ_max + 1), a part of Theorem 1's β
    slope = level * sigma / (width * math.sqrt(moved + 1))  # (1 − c)/(1 + c)
    c = (1 - slope) / (1 + slope)
    noise: dict[tuple[int, int], tuple[Floats, Floats]] = {}
    gram, actions = np.ones(runs), np.zeros((runs, rounds - 1), dtype=bool)
    for t in range(1, rounds):
        total_u, total_v = np.full(runs, reward), gram + moved
        for node in _prefix(t):
            if node not in noise:  # off the diagonal variance σ², on it 2σ²
                noise[node] = rng.normal(0, sigma, runs), rng.normal(0, math.sqrt(2) * sigma, runs)
            total_u, total_v = total_u + noise[node][0], total_v + noise[node][1]
        v = np.maximum(total_v, 1.0)
        actions[:, t - 1] = (1 + c) * total_u / v > (1 - c) * width / np.sqrt(v)
        gram = gram + np.where(actions[:, t - 1], c * c, 1.0)
    return actions


def _prefix(rounds: int) -> list[tuple[int, int]]:
    """Return the nodes (start, length) of a prefix of the rounds, one per binary digit."""
    nodes, start = [], 0
    for level in reversed(range(rounds.bit_length())):
        if rounds >> level & 1:
            nodes.append((start, 1 << level))
            start += 1 << level
    return nodes


def scores(held: Bits, out: Bits, train: int) -> tuple[Floats, Floats]:
    """Return log-likelihood ratios of the actions: one term per block [2^j, 2^{j+1}), which share no noise.

    Within a block the first action and the number of c's are kept; their laws are learned on the first
    `train` runs of both worlds.
    """
    totals = [np.zeros(len(held)), np.zeros(len(out))]
    start = 1
    while start <= held.shape[1]:
        keys = [_summary(world[:, start - 1 : 2 * start - 1]) for world in (held, out)]
        size = max(int(key.max()) for key in keys) + 1
        counts = [np.bincount(key[:train], minlength=size) + 0.5 for key in keys]
        ratio = np.log(counts[0]) - np.log(counts[1])
        totals = [total + ratio[key] for total, key in zip(totals, keys, strict=True)]
        start *= 2
    return totals[0], totals[1]


def _summary(block: Bits) -> Integers:
    return 2 * block.sum(axis=1) + block[:, 0]


def action_attack(p: Values, seed: int, runs: int = RUNS) -> dict[str, Any]:
    """Try each threshold on training runs, then certify the best one on fresh runs."""
    rng = np.random.default_rng(seed)
    reward = math.sqrt(lemma(p).clip2.upper)
    tried = [(_tried(p, reward, level, runs // 4, rng)["epsilon_lower"], level) for level in LEVELS]
    # The threshold is chosen on runs of its own: chosen on those it is judged by, it would seem too good.
    level = max(tried)[1]
    return {
        "attack": "threshold tests by the others' decision sets",
        "users_seen": min(int(p["T"]), SEEN) - 1,
        "threshold_over_sigma": level,
        **_tried(p, reward, level, runs, rng),
        "sure_epsilon_lower": float(sure_epsilon(p)),
    }


def _tried(p: Values, reward: float, level: float, runs: int, rng: np.random.Generator) -> dict[str, Any]:
    held, out = (observe(p, y, level, runs, rng) for y in (reward, -reward))
    left, right = scores(held, out, runs // 2)
    return attack(left, right, p["alpha"], p["beta"])


CLAIMS = (PaperClaim("dubey-lemma2-actions", WITH_RHO, lemma2_actions, action_attack),)
