"""Dubey 2021, local privacy: one user's message (φφᵀ + N, yφ + n) of Lemma 5.

N has independent entries of variance σ_X² on and above the diagonal, n of variance σ_u², so
μ² = (‖A‖_F² + ‖diag A‖²)/(2σ_X²) + ‖yφ − y′φ′‖²/σ_u², A = φφᵀ − φ′φ′ᵀ.

*The supremum.*  With norms p, q ≤ 1 and c = φ·φ′: ‖diag A‖² ≤ ‖A‖_F² = p⁴ + q⁴ − 2c², and
‖yφ − y′φ′‖² ≤ B²(p² + q² + 2|c|), so μ² ≤ 2(1 − s²)/σ_X² + 2B²(1 + s)/σ_u² at p = q = 1, s = |c|.  With
the published variances it is (α²/8)[2(1 − s²)/a + 2(1 + s)/b], a = ln(5/(2β)), b = ln(5/β), largest at
s = a/(2b) < 1/2.  φ = (cos θ, sin θ), φ′ = (sin θ, cos θ), sin 2θ = s, y = −y′ = B reach it: A is diagonal
then.  One feature alone (or φ = φ′) leaves the reward's part, 4B²/σ_u².
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from audits.claims.certified import (
    enclose,
    exactly,
    gaussian_delta,
    gaussian_epsilon,
    log,
    of,
    permitted_mu2,
    ratio,
    root,
)
from audits.claims.claim_check import Claim, Finding, Noise, Parameter, at_least, positive, probability
from dpaccount.exact import Enclosure
from dpaccount.numerics.balls import ball


@dataclass(frozen=True)
class Message:
    """The published variances, and ln(5/(2β)), ln(5/β)."""

    x: Enclosure
    u: Enclosure
    a: Enclosure
    b: Enclosure


def message(p: dict[str, Any]) -> Message:
    """Return σ_X² = 8 ln(5/(2β))/α² and σ_u² = 8 B² ln(5/β)/α² (rewards within [−B, B], ρ = 0)."""
    alpha, beta, reward = p["alpha"], p["beta"], p["B"]
    a, b = enclose(lambda: log(5 / (2 * beta))), enclose(lambda: log(5 / beta))
    x = enclose(lambda: 8 * of(a) / ball(alpha**2))
    u = enclose(lambda: 8 * ball(reward**2) * of(b) / ball(alpha**2)) if reward else exactly(0)
    return Message(x, u, a, b)


def lemma5(p: dict[str, Any]) -> Finding:
    """Both parts of one message together: the supremum of the sum of squares."""
    sent = message(p)
    if not p["B"]:
        return _finding(p, enclose(lambda: 2 / of(sent.x)), None, 1, similarity=0.0)
    s = enclose(lambda: of(sent.a) / (2 * of(sent.b)))

    def square() -> arb:
        at = of(s)
        return ball(p["alpha"] ** 2) / 4 * ((1 - at**2) / of(sent.a) + (1 + at) / of(sent.b))

    return _finding(p, enclose(square), None, 1, similarity=float(s.upper))


def same_features(p: dict[str, Any]) -> Finding:
    """Compare the message at φ = φ′, B against −B: a lower bound on the claim's cost for any features."""
    found = reward_part(p, Fraction(1))
    return Finding(**{**vars(found), "covers_all": False})


def matrix_part(p: dict[str, Any]) -> Finding:
    """φφᵀ + N alone against (α/2, β/2): the sensitivity in this metric is √2, at e₁ and e₂ (published: 1)."""
    sent = message(p)
    moved = exactly(2)
    return _finding(p, enclose(lambda: 2 / of(sent.x)), (moved, sent.x), 2, similarity=0.0)


def reward_part(p: dict[str, Any], share: Fraction = Fraction(2)) -> Finding:
    """yφ + n alone against (α/2, β/2): the sensitivity is 2B, at φ = φ′ and y = −y′ (published: B)."""
    sent = message(p)
    moved = exactly(4 * p["B"] ** 2)
    return _finding(
        p, enclose(lambda: 4 * ball(p["B"] ** 2) / of(sent.u)), (moved, sent.u), share, similarity=1.0
    )


def _finding(
    p: dict[str, Any],
    mu2: Enclosure,
    part: tuple[Enclosure, Enclosure] | None,
    share: Fraction | int,
    similarity: float,
) -> Finding:
    """Compare μ² with (α/share, β/share); `part` holds one noise's squared shift and variance."""
    alpha, beta = p["alpha"] / share, p["beta"] / share
    allowed = permitted_mu2(alpha, beta)
    noise = None
    if part is not None:
        moved, variance = part
        noise = Noise(root(variance), root(enclose(lambda: of(moved) / of(allowed))))
    return Finding(
        claimed=(alpha, beta),
        delta=beta,
        epsilon=gaussian_epsilon(mu2, beta),
        loss_delta=gaussian_delta(mu2, alpha),
        mu=root(mu2),
        noise=noise,
        factor=ratio(root(allowed), root(mu2)),
        witness={
            "neighbours": "one message: unit features with this |inner product|, phi = (cos t, sin t) and"
            " phi' = (sin t, cos t); rewards B and -B",
            "phi_dot_phi": similarity,
            "y": float(p["B"]),
            "y_prime": -float(p["B"]),
            "statistic": "log-likelihood ratio of the two noisy parts: Gaussian, mean apart by mu",
        },
    )


MESSAGE: dict[str, Parameter] = {"alpha": positive("1"), "beta": probability("0.1"), "B": at_least(0, "1")}
PARTS: dict[str, Parameter] = {**MESSAGE, "B": positive("1")}

CLAIMS = (
    Claim(
        "dubey-lemma5", "Dubey 2021, Lemma 5", "one message is (alpha, beta)-locally private", MESSAGE, lemma5
    ),
    Claim(
        "dubey-lemma5-same",
        "Dubey 2021, Lemma 5",
        "the same at equal features, the cost of this pair",
        PARTS,
        same_features,
    ),
    Claim(
        "dubey-lemma5-matrix",
        "Dubey 2021, Lemma 5, proof",
        "the noisy matrix alone is (alpha/2, beta/2)-private",
        MESSAGE,
        matrix_part,
    ),
    Claim(
        "dubey-lemma5-reward",
        "Dubey 2021, Lemma 5, proof",
        "the noisy y phi alone is (alpha/2, beta/2)-private",
        PARTS,
        reward_part,
    ),
)
