"""How far claims of Dubey 2021 hold: the largest reward of Lemma 2, the largest α of Lemma 5.

*Lemma 2.*  μ² is levels·D(B)²/(2σ²) with σ² ∝ 1 + B², and D(B)²/(1 + B²) grows with B without bound
(2(1 + B²) up to B = 1, then the larger of 8B² and h(b), divided by 1 + B²); so it holds up to one reward.
*Lemma 5.*  μ is proportional to α.  The crossing is looked for between 10⁻⁶ and 10⁴; at its ends the
verdict is proved, and beyond it at the upper end only.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from bandits.statistics.published_noise import nodes_published
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball
from papers.claims.claim_check import LOOSE, REFUTED, SOUND, Check, Cost, PaperClaim
from papers.claims.dubey import joint, local, rank_one
from papers.claims.dubey.joint import met
from papers.claims.enclosures import EXACTLY_ONE, INFINITE, enclose, exactly, log, of, permitted_mu2
from papers.claims.parameters import Values, Word, count, positive, probability

HALVINGS = 44  #: halvings, to about twelve digits


def crossing(holds: Callable[[Fraction], bool | None], low: Fraction, high: Fraction) -> Enclosure:
    """Return [low, high] with `holds` surely true at one end and surely false at the other."""
    for _ in range(HALVINGS):
        middle = ((low + high) / 2).limit_denominator(10**15)
        held = holds(middle)
        if held is None or not low < middle < high:
            break
        low, high = (middle, high) if held else (low, middle)
    return Enclosure(low, high)


def largest_reward(p: Values) -> Cost:
    """Find the reward up to which Lemma 2, as its proof reads, holds."""
    alpha, beta, rounds = p["alpha"], p["beta"], int(p["T"])
    published, exact = nodes_published(rounds), met(rounds - 1)
    allowed = permitted_mu2(alpha, beta)
    # D²/(1 + B²) may be at most this
    most = enclose(lambda: of(allowed) * 32 * published * log(10 / beta) ** 2 / (exact * ball(alpha**2)))

    def holds(reward: Fraction) -> bool | None:
        square = rank_one.with_corner(exactly(reward**2)).square
        if square.upper <= Fraction(most.lower or 0) * (1 + reward**2):
            return True
        return False if Fraction(square.lower or 0) > Fraction(most.upper) * (1 + reward**2) else None

    high = Fraction(1)
    while holds(high) is not False:
        high *= 2
        if high > 10**60:
            raise InputError("Lemma 2 holds up to rewards of 1e60 at least", "give less extreme parameters")
    bracket = crossing(holds, Fraction(0), high)
    beyond = joint.lemma2(Values({**p, "B": 2 * Fraction(bracket.upper), "rho": Fraction(0)}))
    return Cost(
        claimed=(alpha, beta),
        epsilon=INFINITE,
        loss_delta=EXACTLY_ONE,
        refutation=beyond.refutation,
        witness={
            "largest_B": [float(bracket.lower or 0), float(bracket.upper)],
            "neighbours": "those of dubey-lemma2 at twice that reward",
            "statistic": joint.STATISTIC,
        },
    )


LIMIT_PARTS: dict[str, Check] = {
    "joint": local.lemma5,
    "matrix": local.matrix_part,
    "reward": local.reward_part,
    "same": lambda p: replace(local.same_features(p), covers_all=True),
}


def largest_alpha(p: Values) -> Cost:
    """Find the α up to which Lemma 5, or one part of its proof, holds (rewards only scale its noise)."""
    check = LIMIT_PARTS[p.words["part"]]

    def at(alpha: Fraction) -> Values:
        return Values({"alpha": alpha, "beta": p["beta"], "B": Fraction(1)})

    def holds(alpha: Fraction) -> bool | None:
        verdict = check(at(alpha)).verdict
        return True if verdict in (SOUND, LOOSE) else False if verdict == REFUTED else None

    low, high = Fraction(1, 10**6), Fraction(10**4)
    if holds(high) is not False:
        raise InputError("Lemma 5 is not refuted at alpha = 1e4", "give a smaller beta")
    bracket = crossing(holds, low, high) if holds(low) else Enclosure(Fraction(0), low)
    beyond = check(at(high))
    return Cost(
        claimed=beyond.claimed,
        epsilon=beyond.epsilon,
        loss_delta=beyond.loss_delta,
        refutation=beyond.refutation,
        witness={
            "largest_alpha": [float(bracket.lower or 0), float(bracket.upper)],
            "scope": f"refuted here at alpha = {float(high):g}",
            "statistic": beyond.witness["statistic"],
        },
    )


CLAIMS = (
    PaperClaim(
        "dubey-lemma2-rewards",
        {"alpha": positive("1"), "beta": probability("0.1"), "T": count(1024, least=2)},
        largest_reward,
    ),
    PaperClaim(
        "dubey-lemma5-alphas",
        {"beta": probability("0.1"), "part": Word(("joint", "matrix", "reward", "same"))},
        largest_alpha,
    ),
)
