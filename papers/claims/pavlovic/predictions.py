"""Pavlovic, Salgia & Zhao 2025 (USCA): one prediction by an exponential mechanism.

The score is μ̄(w) = φ(w)ᵀZ̃⁻¹Σφ(w_i)y_i, Z̃ made of the algorithm's own coins, so one record changes one
summand, and by Cauchy–Schwarz |Δμ̄(w)| ≤ (|y| + |y′|) σ̄(w) sup σ̄ ≤ m = 2B sup σ̄².  The exponent is
εμ̄/(2m): log-ratios lie within ε (McSherry & Talwar 2007).

*Tight.*  For the linear kernel on two actions ±1, the scores are ±s, P(1) has log-odds t = εs/m, and a
record B → −B moves t by ε, whatever Z̃ is.  As the other records push t to −∞ the log-ratio tends to ε.
Kernels whose posterior covariance is never negative reach about half.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from bandits.statistics.arrays import Floats
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball
from dpaccount.proof import (
    JOINT,
    REPLACE_ONE,
    Theorem,
    assume_covers,
    assume_range,
    exponential,
    nodes,
    to_approximate,
    to_pure,
    to_zcdp,
)
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import LikelyEvent, lower, settled, telling_event
from papers.claims.enclosures import EXACTLY_ONE, ZERO, enclose, exactly, falling, log, of
from papers.claims.parameters import Exact, Values, at_least, count, positive, probability
from papers.claims.pavlovic import bounded_range

LINEAR = "linear kernel, actions +1 and -1, one reward B against -B, all others -B"


def theorem73(p: Values) -> Cost:
    """Theorem 7.3, the supremum of σ̄² certified: exactly ε, in the limit of the linear kernel."""
    epsilon = p["epsilon"]
    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=exactly(epsilon),
        loss_delta=ZERO,
        factor=EXACTLY_ONE,
        proof=lambda: to_pure(_prediction(epsilon)),
        witness={
            "neighbours": LINEAR,
            "log_odds": -30,
            "log_ratio": float(_difference(Fraction(-30), -30 - epsilon).upper),
            "statistic": "whether +1 is chosen",
        },
    )


def multi(p: Values) -> Cost:
    """Theorem 7.3 at J contexts: is the predictor still ε-private?  J predictions of bounded range ε each.

    The linear kernel ignores the context, so the J predictions are J draws of one two-action choice.
    """
    epsilon, delta, uses = p["epsilon"], p["delta"], int(p["J"])
    votes = _votes(epsilon, uses, delta)
    return Cost(
        claimed=(epsilon, delta),
        epsilon=bounded_range.epsilon(epsilon, uses, delta),
        loss_delta=bounded_range.delta(epsilon, uses, epsilon),
        factor=_permitted(epsilon, delta, uses),
        proof=lambda: _predictions_proof(epsilon, uses, delta),
        refutation=lambda: _refutation(votes, epsilon, delta),
        witness={
            "neighbours": LINEAR,
            "statistic": "how many of the J predictions are +1",
            "event": votes.as_json(),
            "pure": float(uses * epsilon),
        },
    )


def _prediction(epsilon: Fraction) -> Theorem:
    """One exponential mechanism: scores in units of m move within [−1, 1], the exponent is ε/2 of them."""
    scores = assume_range("prediction", Fraction(2), REPLACE_ONE, "m bounds every movement of the scores")
    return exponential(scores, epsilon / 2, "prediction")


def _predictions_proof(epsilon: Fraction, uses: int, delta: Fraction) -> Theorem:
    """Sum the zCDP of every prediction, all of them on the same records; one alone is ε-private."""
    if uses == 1:
        alone = to_pure(_prediction(epsilon))
        return alone if delta == 0 else to_approximate(alone, epsilon, delta)
    uses_of_all = assume_covers("prediction", [(1, 1)] * uses, "each prediction reads every record")
    return settled(nodes(to_zcdp(_prediction(epsilon)), uses_of_all), epsilon, delta)


def _votes(epsilon: Fraction, uses: int, delta: Fraction) -> LikelyEvent:
    """Return how many of the predictions are +1, at the best log-odds t and threshold.

    More than `bounded_range.COUNTED` predictions reveal at least as much as that many; at δ = 0 two do.
    """
    if delta == 0 or uses == 1:
        return _choice(epsilon, min(uses, 2))
    count = min(uses, bounded_range.COUNTED)
    odds, least = bounded_range.best_event(epsilon, count, delta)
    return LikelyEvent("logistic", (odds, odds - epsilon), count, least)


def _choice(moved: Fraction, times: int = 1) -> LikelyEvent:
    """Return the event that +1 is chosen (each time) where it is rare: log-odds −40 against −40 − `moved`."""
    return LikelyEvent("logistic", (Fraction(-40), -40 - moved), times, times)


def _refutation(event: LikelyEvent, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Theorem:
    return telling_event("predictions", event, (epsilon, delta), "what others see of the predictions", JOINT)


def _permitted(epsilon: Fraction, delta: Fraction, uses: int) -> Enclosure:
    """Return the largest ε₀ per prediction that this accounting permits, over ε."""
    if uses == 1 and delta == 0:
        return EXACTLY_ONE
    if delta == 0:
        return exactly(Fraction(1, uses))

    def cost(scale: Fraction) -> arb:
        return ball(bounded_range.epsilon_upper(epsilon / scale, uses, delta))

    scale = falling(cost, epsilon)
    return enclose(lambda: 1 / of(scale))


def clip(p: Values) -> Cost:
    """Remark on Assumption 2.7: clip at C = B + R ln(T/δ), while the exponent keeps B: ε C/B, exactly.

    δ at ε is the largest of two-action pairs, (e^{η/2} − e^{ε/2})²/(e^η − 1), η = εC/B.
    """
    epsilon, reward = p["epsilon"], p["B"]
    clipped = (
        enclose(lambda: ball(reward) + ball(p["R"]) * log(p["T"] / p["delta"])) if p["R"] else exactly(reward)
    )

    def eta() -> arb:
        return ball(epsilon) * of(clipped) / ball(reward)

    cost = enclose(eta) if p["R"] else exactly(epsilon)
    chosen = _choice(lower(cost))
    loss = ZERO
    if p["R"]:
        loss = enclose(lambda: ((eta() / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / eta().expm1())
    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=cost,
        loss_delta=loss,
        noise=Scales(exactly(reward), clipped),
        factor=enclose(lambda: ball(reward) / of(clipped)),
        proof=lambda: to_pure(_prediction(epsilon)),  # R = 0: nothing is clipped further out
        refutation=lambda: _refutation(chosen, epsilon),
        witness={
            "neighbours": LINEAR.replace("B", "C"),
            "clipped_at": float(clipped.upper),
            "statistic": "whether +1 is chosen",
            "event": chosen.as_json(),
        },
    )


def grid(p: Values) -> Cost:
    """Algorithm 1, the supremum on a grid that holds the nodes of Z, a kernel of vanishing lengthscale.

    With `copies` of each node, σ̄² is K/(copies + Kτ) on the grid and 1/τ off it: the ratio is
    1 + copies/(Kτ).  Records off the grid move the score there by 2Bσ̄² and nowhere else, so the range
    is m_true, and the log-ratio tends to half the ratio times ε as actions become many (with negative
    covariances, as the linear kernel has, up to twice that).
    """
    epsilon, gap = p["epsilon"], 1 + p["copies"] / p["ridge"]
    chosen = _choice(epsilon * gap / 2)
    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=exactly(epsilon * gap / 2),
        factor=exactly(1 / gap),
        refutation=lambda: _refutation(chosen, epsilon),
        witness={
            "neighbours": "one reward B against -B at an action between the grid's nodes",
            "supremum_over_grid_value": float(gap),
            "statistic": "whether that action is chosen, among many",
            "event": chosen.as_json(),
        },
        covers_all=False,
    )


def observed(p: Values) -> Cost:
    """Assumption 2.10 without fresh contexts: of observed ones, a record moves Z̃, and so every summand.

    Linear kernel on φ = x·c, actions ±1, K = τ = 1, rewards ±1.  All but one of `records` people with context
    (1, 0) and `records` with (7/25, 24/25) have reward 1; one more has (1, 0), or else (0, 1), and reward −1.
    The scale m is 2 max σ̄² over these three contexts; all numbers up to the logarithm are rational.
    """
    epsilon, size = p["epsilon"], p["records"]
    here, there, other = (
        (Fraction(1), Fraction(0)),
        (Fraction(7, 25), Fraction(24, 25)),
        (Fraction(0), Fraction(1)),
    )
    directions = (here, there, other)
    crowd = ((here, size - 1, 1), (there, size, 1))
    worlds = [(*crowd, (moved, Fraction(1), -1)) for moved in (here, other)]
    odds = [[_odds(world, seen, directions) for seen in directions] for world in worlds]
    pairs = [
        (sign * left * epsilon, sign * right * epsilon)
        for left, right in zip(*odds, strict=True)
        for sign in (1, -1)
    ]
    left, right = max(pairs, key=lambda pair: abs(float(_difference(*pair).upper)))
    cost = _difference(left, right)
    if cost.lower is not None and cost.lower < 0:
        left, right = right, left
        cost = _difference(left, right)
    worst = LikelyEvent("logistic", (left, right))
    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=Enclosure(max(cost.lower or 0, Fraction(0)), cost.upper),
        refutation=lambda: _refutation(worst, epsilon),
        witness={
            "neighbours": "one record, reward -1, of context (1, 0) against (0, 1)",
            "log_odds": [float(left), float(right)],
            "statistic": "whether +1 is chosen at the worst of the three contexts",
            "event": worst.as_json(),
        },
        covers_all=False,
    )


Direction = tuple[Fraction, Fraction]


def _odds(
    world: tuple[tuple[Direction, Fraction, int], ...], seen: Direction, domain: tuple[Direction, ...]
) -> Fraction:
    """Return s/m at context `seen`: the log-odds of +1 over ε."""
    xx = 1 + sum(n * c[0] * c[0] for c, n, _ in world)
    xy = sum(n * c[0] * c[1] for c, n, _ in world)
    yy = 1 + sum(n * c[1] * c[1] for c, n, _ in world)
    rewards = tuple(sum(n * y * c[i] for c, n, y in world) for i in (0, 1))
    determinant = xx * yy - xy * xy

    def form(a: tuple[Fraction | int, ...], b: tuple[Fraction | int, ...]) -> Fraction:
        return Fraction(a[0] * (yy * b[0] - xy * b[1]) + a[1] * (xx * b[1] - xy * b[0])) / determinant

    return form(seen, rewards) / (2 * max(form(c, c) for c in domain))


def _difference(left: Fraction, right: Fraction) -> Enclosure:
    """Return ln σ(left) − ln σ(right)."""
    return enclose(lambda: (1 + ball(-right).exp()).log() - (1 + ball(-left).exp()).log())


def scale(p: Values) -> Cost:
    """Lemma 7.1: the printed bound 81F²γ_T/(13T) for sup σ̄² fails with probability δ over the coins.

    Given that it holds, ε; in all (ε, δ), not ε (a bad event of the coins adds its probability to δ).
    """
    return Cost(
        claimed=(p["epsilon"], Fraction(0)),
        delta=p["delta"],
        epsilon=Enclosure(None, p["epsilon"]),
        loss_delta=Enclosure(None, p["delta"]),
        witness={"statistic": "upper bound: (epsilon, delta), delta over the coins of Z"},
        covers_all=False,
    )


# ------------------------------------------------------------------ runs


def grid_supremum(p: Values, _: int) -> dict[str, Any]:
    """Compute σ̄² of the Matérn-1/2 kernel on a grid that holds Z's nodes, and between its points."""
    nodes, lengthscale = np.arange(41.0), 0.01
    copies, ridge = float(p["copies"]), float(p["ridge"])
    kernel = np.exp(-np.abs(nodes[:, None] - nodes[None, :]) / lengthscale) * copies

    def variance(points: Floats) -> Floats:
        cross = np.exp(-np.abs(points[:, None] - nodes[None, :]) / lengthscale)
        gain = np.linalg.solve(kernel + ridge * np.eye(len(nodes)), copies * cross.T)
        return 1 - (cross * gain.T).sum(axis=1)

    on, off = float(variance(nodes).max()), float(variance(nodes[:-1] + 0.5).max())
    return {
        "attack": "sigma^2 between the grid's points over its maximum on the grid",
        "supremum_over_grid_value": off / on,
        "refuted": off / on > 2,
    }


def observed_contexts(p: Values, _: int) -> dict[str, Any]:
    """Run the predictor in its kernel form on both datasets, with observed contexts for fresh ones."""
    size = min(int(p["records"]), 1000)
    here, there, other = np.array([1.0, 0.0]), np.array([0.28, 0.96]), np.array([0.0, 1.0])
    crowd = [*[here] * (size - 1), *[there] * size]
    rewards = np.append(np.ones(len(crowd)), -1.0)
    logs = []
    for moved in (here, other):
        seen = np.array([*crowd, moved])
        gain = np.linalg.inv(seen @ seen.T + np.eye(len(seen)))
        asked = np.array([here, there, other])
        cross = asked @ seen.T
        variance = 1 - (cross @ gain * cross).sum(axis=1)
        score = (cross - cross @ gain @ (seen @ seen.T)) @ rewards
        odds = float(p["epsilon"]) * score / (2 * variance.max())
        logs.append(np.concatenate([-np.logaddexp(0, -odds), -np.logaddexp(0, odds)]))
    ratio = float(np.abs(logs[0] - logs[1]).max())
    return {
        "attack": "exact probabilities of both actions at three contexts",
        "records": 2 * size,
        "log_ratio": ratio,
        "refuted": ratio > p["epsilon"],
    }


EPSILON = positive("1")

CLAIMS = (
    PaperClaim("pavlovic-theorem73", {"epsilon": EPSILON}, theorem73),
    PaperClaim(
        "pavlovic-multi",
        {
            "epsilon": EPSILON,
            "J": count(10, most=10**12),
            "delta": Exact(Fraction("1e-6"), least=Fraction(0), below=Fraction(1)),
        },
        multi,
    ),
    PaperClaim(
        "pavlovic-clip",
        {
            "epsilon": EPSILON,
            "B": positive("1"),
            "R": at_least(0, "0.5"),
            "T": count(1000),
            "delta": probability("0.01"),
        },
        clip,
    ),
    PaperClaim(
        "pavlovic-grid",
        {"epsilon": EPSILON, "copies": count(1), "ridge": positive("0.01")},
        grid,
        grid_supremum,
    ),
    PaperClaim(
        "pavlovic-observed", {"epsilon": EPSILON, "records": count(1000)}, observed, observed_contexts
    ),
    PaperClaim("pavlovic-scale", {"epsilon": EPSILON, "delta": probability("0.01")}, scale),
)
