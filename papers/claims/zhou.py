"""Zhou & Tan: local privacy of rewards by Laplace noise of scale 2(B + R)/ε.

Rewards f(x) + η with |f| ≤ B (k(x, x) ≤ 1) and |η| ≤ R span 2(B + R), so one message costs exactly ε at δ = 0
(Dwork et al. 2006).  Truncating messages afterwards (ATA, TGP) is post-processing, and free.  Scales are
in units of rewards; for repeated messages in units of 2(B + R).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from scipy.stats import binom

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.closed import laplace as curve
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.numerics.intervals import ball
from dpaccount.plan.events import Laplace, Plan
from dpaccount.proof import (
    LOCAL,
    REPLACE_ONE,
    Theorem,
    assume_clipped,
    assume_covers,
    laplace,
    linear,
    local,
    to_gdp,
)
from dpaccount.relation import Relation
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import LikelyEvent, noisy_pair, settled, telling_event
from papers.claims.enclosures import EXACTLY_ONE, ZERO, ceiling, enclose, exactly, falling, log, of
from papers.claims.parameters import Exact, Values, Word, at_least, count, positive, probability
from papers.claims.sampling import TRIALS, attack

GAP = Fraction(1, 10**10)
MESSAGE_QUERY = "message"


def ctl(p: Values) -> Cost:
    """Lemma 1, CTL is ε-LDP: one reward within B + R, Laplace noise of scale 2(B + R)/ε."""
    epsilon, reach = p["epsilon"], p["B"] + p["R"]
    if reach == 0:
        raise InputError("B and R are both 0, so there is nothing to hide", "give B + R above 0")
    scale = exactly(2 * reach / epsilon)
    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=exactly(epsilon),
        loss_delta=ZERO,
        noise=Scales(scale, scale),
        factor=EXACTLY_ONE,
        proof=lambda: _messages_proof(reach, 2 * reach / epsilon, 1),
        witness={
            "neighbours": "one reward, B + R against -(B + R)",
            "y": float(reach),
            "y_prime": -float(reach),
            "statistic": "the message; its likelihood ratio is e^epsilon wherever it exceeds B + R",
            "total_variation": float(enclose(lambda: -(ball(-epsilon / 2)).expm1()).upper),
        },
    )


def moma(p: Values) -> Cost:
    """Algorithm 3: each point is played k = ⌈24 ln(4eT/δ)⌉ times, for k users or k times for the same one.

    Distinct users pay ε each (parallel).  A user who answers k times pays for k messages that move
    together: k ε at δ = 0, the exact curve of k Laplace pairs at δ > 0.
    """
    epsilon, delta = p["epsilon"], p["delta"]
    replays = ceiling(lambda: 24 * (1 + log(4 * p["T"] / p["regret_delta"])))
    times = replays if p.words["users"] == "same" else 1
    cost, loss = cost_of_messages(epsilon, times, delta), _loss(1 / epsilon, times, epsilon)
    votes = _votes(epsilon, times, delta)
    scale, needed = exactly(1 / epsilon), _least_scale(epsilon, delta, times)
    return Cost(
        claimed=(epsilon, delta),
        epsilon=cost,
        loss_delta=loss,
        noise=Scales(scale, needed),
        factor=enclose(lambda: of(scale) / of(needed)),
        proof=lambda: _messages_proof(Fraction(1, 2), 1 / epsilon, times, delta),
        refutation=lambda: telling_event(
            "messages", votes, (epsilon, delta), "messages of one user beyond a threshold", LOCAL
        ),
        witness={
            "neighbours": "one user, all rewards B + R against all -(B + R)",
            "replays": replays,
            "messages_of_one_user": times,
            "event": votes.as_json(),
            **_by_orders(epsilon, times, delta),
            "statistic": "sum of |message + B + R| - |message - B - R|",
            "noise_unit": "2(B + R)",
        },
    )


def unbounded(p: Values) -> Cost:
    """§4.5: noise without a bound, scale 2(B + R)/ε, at two rewards D apart.

    Exact curve of the pair: δ(x) = 1 − e^{(x − D/b)/2} below D/b (Balle, Barthe & Gaboardi 2018); as D
    grows it tends to 1, so no δ below 1 is worst-case.  Clipping to ±(B + R) gives ε, with no δ at all.
    """
    epsilon, reach, distance = p["epsilon"], p["B"] + p["R"], p["distance"]
    if reach == 0:
        raise InputError("B and R are both 0, so there is no noise", "give B + R above 0")
    scale, needed = exactly(2 * reach / epsilon), exactly(distance / epsilon)
    loss, point = distance * epsilon / (2 * reach), (epsilon, Fraction(0))

    def refutation() -> Theorem:
        pair, law = ([distance], [Fraction(0)]), ("laplace", 2 * reach / epsilon)
        return noisy_pair("vector", pair, None, law, point, "no message is clipped", LOCAL)

    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=exactly(loss),
        loss_delta=_loss(1 / loss, 1, epsilon),
        noise=Scales(scale, needed),
        factor=exactly(2 * reach / distance),
        proof=lambda: _messages_proof(distance / 2, 2 * reach / epsilon, 1),
        refutation=refutation,
        witness={
            "neighbours": "two rewards this far apart",
            "distance": float(distance),
            "statistic": "the message",
            "scope": "rewards this far apart; the cost grows without bound with the distance",
        },
    )


def distributional(p: Values) -> Cost:
    """§4.5 over the law of the noise: p is the probability that one user's |η| exceeds R.

    Given that both rewards lie within B + R, one message is ε-private; so P(M ∈ S) ≤ e^ε P(M′ ∈ S)·P(good)/
    P(good′) + p.  Equal noise laws cancel the ratio; else it is at most 1/(1 − p).  This is a statement
    about random rewards (a hypothesis on the data), not differential privacy.
    """
    epsilon, tail = p["epsilon"], p["p"]
    extra = ZERO if p.words["laws"] == "same" else enclose(lambda: -(ball(-tail)).log1p())
    upper = enclose(lambda: ball(epsilon) + of(extra)).upper if extra.upper else epsilon
    return Cost(
        claimed=(epsilon, tail),
        epsilon=Enclosure(None, upper),
        witness={"statistic": "upper bound over the law of the rewards", "scope": "distributional"},
    )


# ------------------------------------------------------------------ k messages of one user


def cost_of_messages(epsilon: Fraction, times: int, delta: Fraction) -> Enclosure:
    """Return the exact ε at `delta` of `times` Laplace messages of ε each."""
    if delta == 0:
        return exactly(times * epsilon)
    if times == 1:
        return enclose(lambda: (ball(epsilon) + 2 * (-ball(delta)).log1p()).max(ball(0)))
    return Accountant(_plan(1 / epsilon, times)).epsilon(delta, GAP)


def _loss(scale: Fraction, times: int, epsilon: Fraction) -> Enclosure:
    """Return the exact δ at ε of `times` Laplace messages at `scale` (of a range of 1)."""
    if times / scale <= epsilon:
        return ZERO
    if times == 1:
        return enclose(lambda: curve.delta_single(epsilon, 1 / scale))
    return Accountant(_plan(scale, times)).delta(epsilon, GAP)


def _least_scale(epsilon: Fraction, delta: Fraction, times: int) -> Enclosure:
    """Return the least scale at which `times` messages are (ε, δ)-private."""
    if delta == 0:
        return exactly(times / epsilon)
    if times == 1:  # 1 − e^{(ε − 1/b)/2} = δ
        return enclose(lambda: 1 / (ball(epsilon) - 2 * (-ball(delta)).log1p()))
    return falling(lambda scale: of(_loss(scale, times, epsilon)), delta)


def _by_orders(epsilon: Fraction, times: int, delta: Fraction) -> dict[str, float]:
    """Return the ε that Rényi orders prove (Mironov 2017), for comparison with the exact one."""
    if times == 1 or delta == 0:
        return {}

    def divergence(order: Fraction) -> arb:  # of one message, ln[αe^{(α−1)ε} + (α−1)e^{−αε}]/(2α−1) over α−1
        a, eps = ball(order), ball(epsilon)
        sum_of = a * ((a - 1) * eps).exp() + (a - 1) * (-a * eps).exp()
        return times * (sum_of / (2 * a - 1)).log() / (a - 1)

    epsilon_bound = renyi.epsilon(divergence, delta)
    return {} if epsilon_bound is None else {"renyi_epsilon": float(epsilon_bound)}


def _votes(epsilon: Fraction, times: int, delta: Fraction) -> LikelyEvent:
    """Return an event that distinguishes the rewards by the number of messages beyond a threshold.

    At δ = 0 all of them beyond the first reward; else the best number beyond the middle.
    """
    if delta == 0:
        return LikelyEvent("laplace", (Fraction(0), epsilon), times, times)
    near, far = 1 - math.exp(-float(epsilon) / 2) / 2, math.exp(-float(epsilon) / 2) / 2
    k, weight = np.arange(times), math.exp(min(float(epsilon), 700))
    least = 1 + int(np.argmax(binom.sf(k, times, near) - weight * binom.sf(k, times, far)))
    return LikelyEvent("laplace", (-epsilon / 2, epsilon / 2), times, least)


def _plan(scale: Fraction, times: int) -> Plan:
    return Plan(Relation.REPLACE_ONE, (Laplace(scale=scale, count=times),))


def _messages_proof(reach: Fraction, scale: Fraction, times: int, delta: Fraction = Fraction(0)) -> Theorem:
    """Clip, Laplace noise, as many messages as one user sends, local.

    Several messages at δ > 0 compose by Gaussian DP (Dong et al. 2022), a little above the exact curve.
    """
    reward = assume_clipped(
        MESSAGE_QUERY, -reach, reach, REPLACE_ONE, "rewards are clipped to public constants"
    )
    sent = assume_covers(MESSAGE_QUERY, [(1, 1)] * times, "how often the user answers")
    message = laplace(linear(reward), scale, None, MESSAGE_QUERY)
    if delta == 0:
        return local(message, sent)
    if times > 1:
        message = to_gdp(message, mu_squared(2 * reach / scale))
    return settled(local(message, sent), 2 * reach / scale, delta)


# ------------------------------------------------------------------ runs


def replayed(p: Values, seed: int, *, scale: float | None = None) -> dict[str, Any]:
    """Query one user as often as the claim states, with Laplace noise on a range of 1.

    The likelihood ratio of a message is e^{2·clip/scale}; clipping makes ties exact, where the same sum
    of absolute values would separate the worlds by its rounding.
    """
    rng = np.random.default_rng(seed)
    replays = math.ceil(24 * (1 + math.log(4 * float(p["T"]) / float(p["regret_delta"]))))
    times = replays if p.words["users"] == "same" else 1
    width = 1 / float(p["epsilon"]) if scale is None else scale
    trials, scores = TRIALS if times <= 1000 else TRIALS // 10, []
    for reward in (0.5, -0.5):
        total = np.zeros(trials)
        for _ in range(times):
            total += np.clip(reward + rng.laplace(0, width, trials), -0.5, 0.5)
        scores.append(total)
    return {
        "attack": "all messages of one user",
        "replays": times,
        **attack(scores[0], scores[1], p["epsilon"], p["delta"]),
    }


def far_rewards(p: Values, seed: int) -> dict[str, Any]:
    """Send two rewards this far apart; at a δ of half the exact one, so that chance does not decide."""
    rng = np.random.default_rng(seed)
    scale, distance = 2 * float(p["B"] + p["R"]) / float(p["epsilon"]), float(p["distance"])
    scores = [reward + rng.laplace(0, scale, TRIALS) for reward in (distance, 0.0)]
    loss = max(0.0, -math.expm1((float(p["epsilon"]) - distance / scale) / 2))
    return {"attack": "one message", **attack(scores[0], scores[1], p["epsilon"], Fraction(loss / 2))}


EPSILON = positive("1")
BOUNDS = {"B": at_least(0, "1"), "R": at_least(0, "1")}

CLAIMS = (
    PaperClaim("zhou-ctl", {"epsilon": EPSILON, **BOUNDS}, ctl),
    PaperClaim(
        "zhou-moma",
        {
            "epsilon": EPSILON,
            "T": count(10_000),
            "regret_delta": Exact(Fraction(1, 100), above=Fraction(0), most=Fraction(1)),
            "delta": Exact(Fraction(0), least=Fraction(0), below=Fraction(1)),
            "users": Word(("distinct", "same")),
        },
        moma,
        replayed,
    ),
    PaperClaim(
        "zhou-unbounded", {"epsilon": EPSILON, **BOUNDS, "distance": positive("12")}, unbounded, far_rewards
    ),
    PaperClaim(
        "zhou-unbounded-distributional",
        {"epsilon": EPSILON, "p": probability("0.01"), "laws": Word(("same", "different"))},
        distributional,
    ),
)
