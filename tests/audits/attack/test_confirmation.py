"""A true claim is refuted once in a thousand audits at most; what is confirmed loses nothing of its bound."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.black_box import CONFIRMING, attack
from audits.attack.confirmation import FALSE_ALARM, judged
from audits.attack.runs import Challenge, silent
from audits.datasets.bases import Pair
from audits.one_run.audit import audit_canaries
from audits.subjects.code import Code
from audits.tradeoff import PointClaim
from tests.depth import deep, parts

P = 1 - np.exp(-1.0)
PAIR = Pair(np.zeros(20, dtype=int), np.array([1] + [0] * 19), "given")
RISK = Fraction(1, 20)


def noisy_count(data, rng):
    """Geometric noise on a count: ε = 1, exactly."""
    return int((data > 0.5).sum() + rng.geometric(P) - rng.geometric(P))


def twice(data, rng):
    """ε = 1.2 for the claimed 1: a first rejection is often in doubt."""
    keep = 1 - np.exp(-1.2)
    return int((data > 0.5).sum() + rng.geometric(keep) - rng.geometric(keep))


def audit(in_process, name, seed, trials=1000, **terms):
    crew = in_process(Code(f"{__name__}:{name}", ()), seconds=10**6)
    return attack(crew, [PAIR], Challenge(Fraction(1), Fraction(0), trials, RISK, seed, **terms), silent)


@given(
    risk=st.fractions(Fraction(1, 10_000), Fraction(1, 2)),
    first=st.floats(0, 1),
    second=st.floats(0, 1),
    points=st.integers(1, 5),
    once=st.booleans(),
)
def test_no_other_door(risk, first, second, points, once):
    """With p-values of both tests: what is refuted lies in sets whose probabilities add up to 1/1000."""
    asked = []

    def shown(p):
        return lambda chance: asked.append(chance) or p <= chance

    refuted = judged(shown(first), bool, risk / points, None if once else shown(second), points=points)
    strong, share = (1 if once else Fraction(1, 2)) * FALSE_ALARM / points, risk / points
    confirming = min(share / 5, strong / share)
    doubtful = not once and share > strong and strong < first <= share
    assert refuted == (first <= min(strong, share) or (doubtful and second <= confirming))
    spent = points * (min(strong, share) + (0 if once else share * confirming))
    assert spent <= min(FALSE_ALARM, 2 * risk)
    assert share <= strong or share * Fraction(4, 5) + confirming <= share  # the confidence is kept


@deep
def test_fresh_runs_decide_where_the_first_are_in_doubt(in_process, monkeypatch):
    """Seen over seeds of a function that is a little worse than claimed: both endings, and both are said."""
    made = []
    whole = in_process.run_in_time
    monkeypatch.setattr(
        in_process, "run_in_time", lambda crew, plays: made.extend(plays) or whole(crew, plays)
    )
    endings, every = set(), {(False, False), (True, True), (True, False), (False, True)}
    for seed in range(60):
        if endings == every:
            return
        made.clear()
        found = audit(in_process, "twice", seed)
        fresh, said = [play for play in made if play[2] == CONFIRMING], "".join(found.findings)
        assert found.runs == len([play for play in made if play[2] in (2, 3, 6, CONFIRMING)])
        assert len(fresh) in (0, 2 * 666)
        refuted = found.verdict(Fraction(1)) == "REFUTED"
        assert not refuted or not said
        assert (f"{len(fresh)} fresh runs do not confirm" in said) == (bool(fresh) and not refuted)
        endings.add((bool(fresh), refuted))
    pytest.fail(f"only {endings}")


@deep
@parts(4)
@pytest.mark.statistical(0.12)  # of 250 more than 1 at 1/1000: .03; more than 17 at .05: .09
def test_a_true_claim_is_refuted_once_in_a_thousand_audits(in_process, depth):
    found = [audit(in_process, "noisy_count", seed) for seed in depth.some(range(1000), 250)]
    refuted = sum(each.verdict(Fraction(1)) == "REFUTED" for each in found)
    doubted = sum("do not confirm" in "".join(each.findings) for each in found)
    assert refuted <= 1
    assert refuted + doubted <= 17


@deep
@parts(2)
@pytest.mark.statistical(0.02)  # of 150 more than 4, where each is confirmed at .01
@pytest.mark.parametrize("terms", [{}, {"for_certificate": True}, {"early": True}])
def test_forced_confirmations_of_a_true_claim_fail(in_process, monkeypatch, terms, depth):
    """Every first rejection is forced, and no strong one counts: fresh runs confirm at most 1 in 100."""

    def forced(at, beyond, risk, fresh=None, **_):
        return at(risk) if fresh is None else fresh(risk / 5)

    monkeypatch.setattr("audits.attack.black_box.judged", forced)
    found = [audit(in_process, "noisy_count", seed, **terms) for seed in depth.some(range(300), 150)]
    assert sum(each.verdict(Fraction(1)) == "REFUTED" for each in found) <= 4


@pytest.mark.statistical(1e-3)  # of 400 more than 3 at 1/1000
def test_results_that_were_drawn_once_are_judged_as_strictly(in_process):
    """Coins that tell the side as often as ε = 1 allows: 5 % of 400 reject at first, 1 in 1000 refute."""
    keep, rng = np.e / (1 + np.e), np.random.default_rng(1)
    refuted = 0
    for seed in range(400):
        coins = rng.random(300) < 0.5
        scores = np.where(rng.random(300) < keep, coins, ~coins) * 1.0
        refuted += audit_canaries(coins, scores, PointClaim(Fraction(1)), seed=seed).verdict == "REFUTED"
    assert refuted <= 3
