"""Dubey 2021: single steps of the proofs, each compared with the exact number or a counterexample.

They check whether a step holds, not whether the claim built on it does.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb, fmpz, fmpz_poly

from bandits.statistics.published_noise import nodes_published
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball, floor_of
from dpaccount.proof import Theorem, assume_tree
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import LikelyEvent, telling_event
from papers.claims.dubey import rank_one
from papers.claims.dubey.joint import QUERY, met
from papers.claims.dubey.rank_one import full_statistics
from papers.claims.enclosures import EXACTLY_ONE, INFINITE, enclose, exactly, log, of, ratio, root
from papers.claims.parameters import Values, at_least, count, positive, probability


def sensitivity(p: Values) -> Cost:
    """Lemma 2's proof: √2(1 + B²), the ball's sensitivity (whitened: 1 + B²), against the exact supremum."""
    b2 = exactly(p["B"] ** 2)
    movement = rank_one.with_corner(b2)
    published, exact = root(rank_one.ball_bound(b2)), root(movement.square)
    witness = {**movement.pair(), "statistic": "Frobenius norm of vv' - ww'", "without_corner": _without(b2)}
    witness["whitened"] = {  # over √2, as the noise's metric has it
        "published_ball": float(enclose(lambda: 1 + of(b2)).upper),
        "exact": float(enclose(lambda: of(exact) / arb(2).sqrt()).upper),
        "without_corner": _without(b2) / math.sqrt(2),
    }
    return _step(published, exact, witness, lambda: full_statistics(QUERY, p["B"]))


def _without(b2: Enclosure) -> float:
    return float(root(rank_one.without_corner(b2).square).upper)


def touched(p: Values) -> Cost:
    """Lemma 2: n = 1 + ⌈log₂T⌉ nodes against ⌊log₂(T − 1)⌋ + 1, both as √n, with which the noise grows."""
    rounds = int(p["T"])
    published, exact = nodes_published(rounds), met(rounds - 1)
    pair = root(exactly(published)), root(exactly(exact))
    witness = {"published": published, "server_reads": exact, "with_final_sum": met(rounds)}
    return _step(*pair, witness, lambda: assume_tree(QUERY, rounds - 1, "fresh noise for every node"))


def chain(p: Values) -> Cost:
    """Lemma 2's proof composes n nodes of δ = β/2 each: nβ/2 leaves nothing of β for the slack term."""
    levels = nodes_published(int(p["T"]))
    # With two nodes this is β itself, and the slack term of advanced composition decides.
    spent = exactly(levels * p["beta"] / 2)
    witness = {
        "nodes": levels,
        "statistic": "n beta/2 of the nodes alone, against beta; advanced composition adds more",
        "step": {"of": "chain", "nodes": levels, "delta_of_each": str(p["beta"] / 2), "beta": str(p["beta"])},
    }
    return Cost((None, p["beta"]), witness, loss_delta=spent, holds=False)


def chernoff(p: Values) -> Cost:
    """P(some y_t² > B² + 2ρ² ln(8T/β)) for y_t ~ N(B, ρ²), T independent rounds: claimed at most β/4.

    Lemma 2's proof drops the cross term 2Bρ√(2 ln): |y| ≤ B + ρ√(2 ln(8T/β)) has the probability claimed.
    """
    rounds, reward, rho = int(p["T"]), p["B"], p["rho"]

    def failure(edge: arb) -> arb:
        scale = ball(rho) * arb(2).sqrt()
        tail = (((edge - ball(reward)) / scale).erfc() + ((edge + ball(reward)) / scale).erfc()) / 2
        return -(rounds * (-tail).log1p()).expm1()

    def deviation() -> arb:
        return 2 * ball(rho**2) * log(8 * rounds / p["beta"])

    risk = enclose(lambda: failure((ball(reward**2) + deviation()).sqrt()))
    risk = Enclosure(risk.lower, min(risk.upper, Fraction(1)))
    right = enclose(lambda: failure(ball(reward) + deviation().sqrt()))
    witness = {
        "statistic": "probability that some reward leaves the interval, rewards N(B, rho^2)",
        "with_cross_term": float(right.upper),
        "step": {"of": "chernoff", **{key: str(p[key]) for key in ("B", "rho", "T", "beta")}},
    }
    limit = p["beta"] / 4
    holds = True if risk.upper <= limit else False if risk.lower is not None and risk.lower > limit else None
    return Cost((None, limit), witness, loss_delta=risk, holds=holds)


def weights(p: Values) -> Cost:
    """Definition 4's quadrature weights at the zeros of H_m: ‖φ‖² is their sum, which should be 1.

    Printed: 2^{m−1/2} m! √π/(m² H_{m−1}(ξ)), negative at some zeros.  Gauss–Hermite: 2^{m−1} m! √π/(m²
    H_{m−1}(ξ)²), over √π.
    """
    m = int(p["nodes"])
    below, whole = fmpz_poly([1]), fmpz_poly([0, 2])
    for k in range(1, m):  # H_{k+1} = 2x H_k - 2k H_{k-1}
        below, whole = whole, fmpz_poly([0, 2]) * whole - 2 * k * below
    roots = [zero.real for zero, _ in whole.complex_roots()]
    size = arb(fmpz(math.factorial(m))) * arb.pi().sqrt() / m**2
    printed = [arb(2) ** m / arb(2).sqrt() * size / _at(below, zero) for zero in roots]
    right = [arb(2) ** (m - 1) * size / _at(below, zero) ** 2 / arb.pi().sqrt() for zero in roots]
    witness: dict[str, Any] = {
        "least_printed_weight": min(float(w.mid()) for w in printed),
        "sum_of_printed_weights": round(float(sum(printed, arb(0)).mid()), 9),
        "sum_of_right_weights": float(sum(right, arb(0)).mid()),
        "statistic": "a negative weight has no square root, so the printed feature does not exist",
    }
    near = floor_of(roots[printed.index(min(printed, key=lambda w: float(w.mid())))])
    ends = near - Fraction(1, 2**40), near + Fraction(1, 2**40)
    witness["step"] = {"of": "weights", "nodes": m, "node_between": [str(end) for end in map(_short, ends)]}
    negative = any(bool(w < 0) for w in printed)
    return Cost((None, None), witness, holds=not negative)


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**50), 2**50)


def _at(polynomial: fmpz_poly, point: arb) -> arb:
    total = arb(0)
    for coefficient in reversed(polynomial.coeffs()):
        total = total * point + coefficient
    return total


def marginals(_: Values) -> Cost:
    """Lemma 4's sketch bounds outputs one by one; a₁ = r, a₂ = r ⊕ b shows that this is not enough.

    Each action is a fair coin whatever the private bit b is, and a₁ ⊕ a₂ = b.  The lemma itself holds if
    Definition 7 means that the user's one message is locally private: all else post-processes it.
    """
    witness = {
        "neighbours": "a private bit b = 0 or 1",
        "statistic": "a1 xor a2, which is b; each action alone is a fair coin",
        "scope": "the sketch, not the lemma",
        "event": LikelyEvent("certain").as_json(),
    }
    point, because = (Fraction(0), Fraction(0)), "a1 xor a2 is the private bit"
    refutation = partial(telling_event, "actions", LikelyEvent("certain"), point, because)
    return Cost(point, witness, INFINITE, EXACTLY_ONE, refutation=refutation)


def _step(
    published: Enclosure, exact: Enclosure, witness: dict[str, Any], proof: Callable[[], Theorem]
) -> Cost:
    noise, factor = Scales(published, exact), ratio(published, exact)
    return Cost((None, None), witness, noise=noise, factor=factor, proof=proof, holds=True)


CLAIMS = (
    PaperClaim("dubey-sensitivity", {"B": at_least(0, "5")}, sensitivity),
    PaperClaim("dubey-nodes", {"T": count(1024, least=2)}, touched),
    PaperClaim("dubey-lemma2-chain", {"beta": probability("0.1"), "T": count(1024, least=2)}, chain),
    PaperClaim(
        "dubey-chernoff",
        {
            "B": at_least(0, "1"),
            "rho": positive("0.5"),
            "T": count(1024, least=1, most=10**15),
            "beta": probability("0.1"),
        },
        chernoff,
    ),
    PaperClaim("dubey-definition4", {"nodes": count(4, least=2, most=60)}, weights),
    PaperClaim("dubey-lemma4-sketch", {}, marginals),
)
