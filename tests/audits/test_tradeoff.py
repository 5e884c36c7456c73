"""Claims as trade-off functions: their bounds are bounds, and false claims are refuted by true rates."""

import json
from fractions import Fraction as F  # noqa: N817

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from audits.attack.rules import lower_end, upper_end
from audits.tradeoff import (
    CurveClaim,
    MuClaim,
    RenyiClaim,
    RhoClaim,
    curve_of_plan,
    quantile_beside,
)
from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.events import Gaussian, Laplace, Plan, Zcdp
from tests.depth import deep
from tests.looped import looped

RATES = np.random.default_rng(1).random((60, 2))


def test_quantiles_enclose():
    for p in [1e-300, 1e-12, *RATES[:, 0], 1 - 1e-12]:
        below, above = quantile_beside(p, -1), quantile_beside(p, 1)
        assert below < ndtri(p) < above
        assert above - below < 1e-9


@looped(
    "claim",
    [
        MuClaim(F(1)),
        RhoClaim(F(1)),
        CurveClaim(((F(1), F(1, 100)), (F(2), F(0)))),
        RenyiClaim(((F(2), F(1, 10)), (F(30), F(1)))),
    ],
)
def test_bounds_grow_with_hits_and_fall_with_alarms(claim):
    for hit, alarm in RATES:
        level = claim.lower(hit, alarm)
        assert claim.lower(min(hit * 1.01, 0.999), alarm) >= level
        assert claim.lower(hit, alarm * 0.99) >= level
        planned = claim.lowers(np.array([hit]), np.array([alarm]))[0]
        offset = claim.planned if isinstance(claim, CurveClaim | RenyiClaim) else 0
        assert max(planned - offset, 0) == pytest.approx(level, rel=1e-2, abs=1e-6)


@looped("mu", [0.1, 1.0, 3.0])
def test_events_of_a_gaussian_shift_show_mu_and_no_more(mu):
    cuts = np.linspace(-2, 2 + mu, 9)
    events = [(float(ndtr(mu - cut)), float(ndtr(-cut))) for cut in cuts]
    shown = [MuClaim(F(1)).lower(*event) for event in events]
    assert max(shown) <= mu + 1e-12
    assert min(shown) >= mu - 1e-6
    assert 0.3 * mu**2 / 2 < max(RhoClaim(F(1)).lower(*event) for event in events) <= mu**2 / 2


def test_rho_that_is_true_at_every_epsilon_and_delta_is_refuted():
    # randomised response, ρ a tenth too small: its (ε, δ) all follow from the smaller ρ by the
    # usual conversion
    keep = 0.9
    rho = RhoClaim(F(1)).lower(keep, 1 - keep)
    claimed = F(str(round(0.9 * rho, 9)))
    implied = Accountant(Plan("replace-one", Zcdp(rho=claimed)))
    for epsilon in np.linspace(0, 3, 9):
        true = max(keep - np.exp(epsilon) * (1 - keep), 0.0)
        assert true <= implied.delta(F(str(epsilon))).upper
    claim = RhoClaim(claimed)
    runs = 50_000
    hit = float(lower_end(keep * runs, runs, 0.025))
    alarm = float(upper_end((1 - keep) * runs, runs, 0.025))
    assert claimed < claim.lower(hit, alarm) < rho


def test_a_plan_allows_its_own_events_and_not_those_of_half_its_noise():
    claim = curve_of_plan(Plan("replace-one", Gaussian(sigma=2)))
    for cut in np.linspace(-2, 3, 21):
        assert claim.lower(float(ndtr(0.5 - cut)), float(ndtr(-cut))) == 0
    assert max(claim.lower(float(ndtr(1 - cut)), float(ndtr(-cut))) for cut in np.linspace(-2, 3, 21)) > 0.4
    pure = curve_of_plan(Plan("replace-one", Laplace(scale=1)))
    for cut in np.linspace(-3, 3, 13):
        hit, alarm = (0.5 * np.exp(-abs(cut - at)) for at in (0.5, -0.5))
        hit, alarm = (tail if cut > at else 1 - tail for tail, at in ((hit, 0.5), (alarm, -0.5)))
        assert pure.lower(float(hit) - 1e-12, float(alarm) + 1e-12) == 0
    assert pure.lower(0.73, 0.27) > 0


def test_plans_without_a_usable_curve_are_refused():
    with pytest.raises(InputError, match="costs more than"):
        curve_of_plan(Plan("replace-one", Laplace(scale="0.001")))


def renyi(p, q, order):
    """Return D_α of two-point distributions, a little above."""
    a = float(order)
    return F(
        round(float(np.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)) + 1e-9, 9)
    )


def test_renyi_points_are_those_of_the_event_and_no_more():
    for p, q in ((0.9, 0.1), (0.3, 0.01), (0.99, 0.6)):
        points = [(order, max(renyi(p, q, order), renyi(q, p, order))) for order in (F(3, 2), F(2), F(40))]
        assert RenyiClaim(tuple(points)).lower(p, q) == 0
        for k, (order, epsilon) in enumerate(points):
            less = [*points[:k], (order, epsilon * F(9, 10)), *points[k + 1 :]]
            assert RenyiClaim(tuple(less)).lower(p, q) == pytest.approx(float(epsilon) / 10, rel=1e-5)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_the_error_of_all_claims_is_at_most_the_risk(mu):
    # exactly, over all outcomes of 40 runs a side: tight claims are refuted with probability at
    # most .05
    n, risk = 40, 0.05
    p, q = float(ndtr(mu / 2)), float(ndtr(-mu / 2))
    chances = np.outer(binom.pmf(np.arange(n + 1), n, p), binom.pmf(np.arange(n + 1), n, q))
    claims = [
        MuClaim(F(str(mu))),
        RhoClaim(F(str(round(RhoClaim(F(1)).lower(p, q) + 1e-9, 9)))),
        curve_of_plan(Plan("replace-one", Gaussian(sigma=str(1 / mu)))),
        RenyiClaim(tuple((order, renyi(p, q, order)) for order in (F(2), F(8)))),
    ]
    hits = lower_end(np.arange(n + 1), n, risk / 2)
    alarms = upper_end(np.arange(n + 1), n, risk / 2)
    for claim in claims:
        table = claim.lowers(*(np.ravel(each) for each in np.meshgrid(hits, alarms, indexing="ij")))
        wrong = chances.ravel()[table > claim.planned].sum()
        assert wrong <= risk
        assert wrong > 0


@deep
@pytest.mark.statistical(0.05)  # one sound claim
def test_catalogued_subjects_are_held_against_curves(dpaccount, tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(Plan("replace-one", Gaussian(sigma=1000)).as_json()))
    for words, code in ((["--mu", "3"], 0), (["--mu", ".001"], 1), (["--plan", "plan.json"], 1)):
        found, out, _ = dpaccount("audit", "gaussian-sum", *words, "--trials", "8000", "--json")
        assert found == code, out
        assert json.loads(out)["refuted"] == (code == 1)


@pytest.mark.parametrize(
    "words",
    [
        ["--mu", "1", "--rho", "1"],
        ["--mu", "1", "--delta", "1e-5"],
        ["--rho", "-1"],
        ["--mu", "1", "--stop-early"],
        ["--points", "1:0", "--mu", "1"],
        ["--points", "1"],
        ["--points", "1:1"],
        ["--points", "-1:0"],
        ["--points", ""],
        ["--renyi", "1:1"],
        ["--renyi", "2:-1"],
        ["--renyi", "2:1,8"],
        ["--renyi", "2:x"],
        ["--plan", "absent.json"],
        ["--claim", "claim.toml", "--mu", "1"],
    ],
)
def test_claims_that_do_not_go_together_are_refused(dpaccount, words):
    subject = [] if "--claim" in words else ["gaussian-sum"]
    code, out, err = dpaccount("audit", *subject, *words, "--json")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
