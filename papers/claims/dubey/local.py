"""Dubey 2021, local privacy: one user's message (φφᵀ + N, yφ + n) of Lemma 5.

N has independent entries of variance σ_X² on and above the diagonal, n of variance σ_u², so
μ² = (‖A‖_F² + ‖diag A‖²)/(2σ_X²) + ‖yφ − y′φ′‖²/σ_u², A = φφᵀ − φ′φ′ᵀ.

*The supremum.*  With norms p, q ≤ 1 and c = φ·φ′: ‖diag A‖² ≤ ‖A‖_F² = p⁴ + q⁴ − 2c², and
‖yφ − y′φ′‖² ≤ B²(p² + q² + 2|c|), so μ² ≤ 2(1 − s²)/σ_X² + 2B²(1 + s)/σ_u² at p = q = 1, s = |c|.  With
the published variances it is (α²/8)[2(1 − s²)/a + 2(1 + s)/b], a = ln(5/(2β)), b = ln(5/β), largest at
s = a/(2b) < 1/2.  φ = (cos θ, sin θ), φ′ = (sin θ, cos θ), sin 2θ = s, y = −y′ = B reach it: A is diagonal
then.  One feature alone (or φ = φ′) leaves the reward's part, 4B²/σ_u².
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball
from dpaccount.proof import (
    LOCAL,
    REPLACE_ONE,
    Theorem,
    assume_ball,
    assume_covers,
    gaussian,
    joint,
    linear,
    local,
)
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import lower, noisy_pair, settled, upper
from papers.claims.dubey.rank_one import person, unit
from papers.claims.enclosures import (
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
from papers.claims.parameters import Parameter, Values, at_least, positive, probability

MESSAGE_QUERY = "message"


@dataclass(frozen=True)
class Message:
    """The published variances, and ln(5/(2β)), ln(5/β)."""

    x: Enclosure
    u: Enclosure
    a: Enclosure
    b: Enclosure


def message(p: Values) -> Message:
    """Return σ_X² = 8 ln(5/(2β))/α² and σ_u² = 8 B² ln(5/β)/α² (rewards within [−B, B], ρ = 0)."""
    alpha, beta, reward = p["alpha"], p["beta"], p["B"]
    a, b = enclose(lambda: log(5 / (2 * beta))), enclose(lambda: log(5 / beta))
    x = enclose(lambda: 8 * of(a) / ball(alpha**2))
    u = enclose(lambda: 8 * ball(reward**2) * of(b) / ball(alpha**2)) if reward else exactly(0)
    return Message(x, u, a, b)


def lemma5(p: Values) -> Cost:
    """Lemma 5: both parts of one message together, the supremum of the sum of squares."""
    sent, reward = message(p), p["B"]
    if not reward:
        return matrix_part(p, Fraction(1))
    # The joint supremum, not the sum of both parts': e₁ against e₂ moves the matrix most, equal features the
    # reward, and no pair does both.
    s = enclose(lambda: of(sent.a) / (2 * of(sent.b)))

    def square() -> arb:
        at = of(s)
        return ball(p["alpha"] ** 2) / 4 * ((1 - at**2) / of(sent.a) + (1 + at) / of(sent.b))

    def proof() -> Theorem:
        both = gaussian(
            joint(person(MESSAGE_QUERY, reward), lower(sent.x) / lower(sent.u)), lower(sent.x), "message"
        )
        return _sent(both, p["alpha"], p["beta"])

    cost = _finding(p, enclose(square), None, (p["alpha"], p["beta"]), similarity=float(s.upper))
    return replace(cost, proof=proof, refutation=lambda: _joint_refutation(p, sent, float(s.upper)))


def same_features(p: Values) -> Cost:
    """Compare the message at φ = φ′, B against −B: a lower bound on the claim's cost for any features."""
    return replace(reward_part(p, Fraction(1)), covers_all=False)


def matrix_part(p: Values, share: Fraction = Fraction(2)) -> Cost:
    """Lemma 5's proof: φφᵀ + N alone against (α, β)/share, of sensitivity √2, at e₁, e₂ (published: 1)."""
    sent, point = message(p), (p["alpha"] / share, p["beta"] / share)
    cost = _finding(p, enclose(lambda: 2 / of(sent.x)), (exactly(2), sent.x), point, similarity=0.0)

    def proof() -> Theorem:  # with a reward of 0 its part moves nothing, whatever its noise is
        still = person(MESSAGE_QUERY, Fraction(0))
        return _sent(gaussian(joint(still, lower(sent.x)), lower(sent.x), "message"), *point)

    def refutation() -> Theorem:
        pair = [Fraction(v) for v in (1, 0, 0)], [Fraction(v) for v in (0, 0, 1)]
        return _noisy(pair, upper(sent.x), point, "upper triangles of phi phi' at e1 and e2")

    return replace(cost, proof=proof, refutation=refutation)


def reward_part(p: Values, share: Fraction = Fraction(2)) -> Cost:
    """Lemma 5's proof: yφ + n alone against (α, β)/share, of sensitivity 2B at φ = φ′, y = −y′ (there: B)."""
    sent, point, reward = message(p), (p["alpha"] / share, p["beta"] / share), p["B"]
    mu2 = enclose(lambda: 4 * ball(reward**2) / of(sent.u))
    cost = _finding(p, mu2, (exactly(4 * reward**2), sent.u), point, similarity=1.0)

    def proof() -> Theorem:
        inside = assume_ball(
            MESSAGE_QUERY, reward, REPLACE_ONE, "clipped rewards, features of norm at most 1"
        )
        return _sent(gaussian(linear(inside), lower(sent.u), "message"), *point)

    def refutation() -> Theorem:
        return _noisy(([reward], [-reward]), upper(sent.u), point, "y phi at one unit feature, B and -B")

    return replace(cost, proof=proof, refutation=refutation)


def _sent(noisy: Theorem, alpha: Fraction, beta: Fraction) -> Theorem:
    """One message of one user."""
    return settled(local(noisy, assume_covers(MESSAGE_QUERY, [(1, 1)], "one message a user")), alpha, beta)


def _noisy(
    pair: tuple[list[Fraction], list[Fraction]],
    variance: Fraction,
    point: tuple[Fraction, Fraction],
    because: str,
) -> Theorem:
    return noisy_pair("vector", pair, None, ("gaussian", variance), point, because, LOCAL)


def _joint_refutation(p: Values, sent: Message, s: float) -> Theorem:
    """Refute the joint claim by both parts in units of their noise, next to the worst angle.

    φ = (c, d), φ′ = (d, c), c² + d² just below 1 and 2cd near s: the upper triangles differ by (c² − d², 0,
    d² − c²), and yφ − y′φ′ is B(c + d)(1, 1).  Noise that is rounded up only hides more.
    """
    angle = math.asin(s) / 2
    c, d = unit(Fraction(math.cos(angle)))
    x, u = (upper(root(part)) for part in (sent.x, sent.u))
    left = [c * c / x, c * d / x, d * d / x, p["B"] * c / u, p["B"] * d / u]
    right = [d * d / x, c * d / x, c * c / x, -p["B"] * d / u, -p["B"] * c / u]
    text = "upper triangle of phi phi' and y phi in units of their noise, phi = (c, d) or (d, c), y = B or -B"
    return _noisy((left, right), Fraction(1), (p["alpha"], p["beta"]), text)


def _finding(
    p: Values,
    mu2: Enclosure,
    part: tuple[Enclosure, Enclosure] | None,
    point: tuple[Fraction, Fraction],
    similarity: float,
) -> Cost:
    """Compare μ² with (ε, δ) = `point`; `part` holds one noise's squared shift and variance."""
    alpha, beta = point
    allowed = permitted_mu2(alpha, beta)
    noise = None
    if part is not None:
        moved, variance = part
        noise = Scales(root(variance), root(enclose(lambda: of(moved) / of(allowed))))
    return Cost(
        claimed=(alpha, beta),
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
LOCAL_PARTS: dict[str, Parameter] = {**MESSAGE, "B": positive("1")}

CLAIMS = (
    PaperClaim("dubey-lemma5", MESSAGE, lemma5),
    PaperClaim("dubey-lemma5-same", LOCAL_PARTS, same_features),
    PaperClaim("dubey-lemma5-matrix", MESSAGE, matrix_part),
    PaperClaim("dubey-lemma5-reward", LOCAL_PARTS, reward_part),
)
