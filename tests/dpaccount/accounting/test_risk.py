"""What an attacker learns at most: against closed forms, enumeration, and points that were not asked for."""

import math
import random
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.risk import REPORTED_RATES as RATES
from dpaccount.accounting.risk import risk_of
from dpaccount.accounting.training import sgd
from dpaccount.errors import InputError
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import ball
from dpaccount.plan.events import (
    Approximate,
    DominatingPair,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    RandomAllocation,
    RandomizedResponse,
    Zcdp,
)
from tests.depth import deep
from tests.looped import looped

F = Fraction
LAW = NormalDist()
SAMPLE = PoissonSubsampled(rate="0.02", of=Gaussian(sigma=1), count=100)
PLANS = {
    "laplace": Laplace(scale=1, count=3),
    "pure": Pure(epsilon=1),
    "response": RandomizedResponse(epsilon=1, k=4, count=2),
    "mixed": [Laplace(scale=2), Gaussian(sigma=2)],
    "sampled": SAMPLE,
    "sampled laplace": PoissonSubsampled(rate="0.1", of=Laplace(scale=1), count=30),
    "failing": [Gaussian(sigma=2), Approximate(epsilon="0.1", delta="1e-9")],
}


@pytest.mark.parametrize("mu", [F(1, 10), F(1), F(3)])
def test_gaussian_noise_has_its_closed_forms(mu):
    risk = Accountant(Gaussian(sigma=1 / mu)).risk()
    m = float(mu)
    assert risk.mu.lower <= mu <= risk.mu.upper <= mu * F(1002, 1000)
    assert risk.mu.lower >= mu * F(998, 1000)
    assert float(risk.advantage.upper) == pytest.approx(2 * LAW.cdf(m / 2) - 1, rel=1e-9)
    for rate in RATES:
        exact = LAW.cdf(LAW.inv_cdf(float(rate)) + m)
        assert exact <= float(risk.true_positives(rate)) * (1 + 1e-12) <= exact * 1.0005
        assert float(risk.belief(rate)) == pytest.approx(exact / (exact + float(rate)), rel=1e-3)
    assert LAW.cdf(LAW.inv_cdf(0.03) + m) <= float(risk.true_positives("0.03")) * (1 + 1e-12)


@looped("sigma", ["0.02", "0.05", "1", "50"])
def test_the_mu_of_gaussian_noise_is_its_own(sigma):
    risk = Accountant(Gaussian(sigma=sigma)).risk()
    assert float(risk.mu.upper) == pytest.approx(1 / float(sigma), rel=1e-12)
    assert risk.mu.upper - F("4e-8") < risk.mu.lower <= 1 / F(sigma) <= risk.mu.upper


@looped("event", [Laplace(scale=1), Pure(epsilon=2), Gaussian(sigma=2), Zcdp(rho=0, xi=1)])
def test_no_risk_lies_above_what_the_own_numbers_say(event):
    """Also at rates that were not asked for."""
    whole = Accountant(event, 2)
    risk, loss, square = whole.risk("1e-6", ["0.1"]), whole.pure(), whole.gdp()
    assert risk.mu.upper**2 <= square * (1 + F(1, 10**20))
    for rate in ("1e-6", "0.02", "0.1", "0.7"):
        found = float(risk.true_positives(rate)) * (1 - 1e-12)
        assert found <= LAW.cdf(LAW.inv_cdf(float(rate)) + math.sqrt(square))
        if loss is not None:
            a, x = float(rate), math.exp(float(loss))
            assert found <= min(a * x, 1 - (1 - a) / x)


def best_attack(p, q, rate):
    """Return the largest chance of a set under p, its outcomes taken whole or in part, whose chance under q is `rate`."""
    power, left = 0.0, rate
    for a, b in sorted(
        zip(p, q, strict=True), key=lambda pair: -pair[0] / pair[1] if pair[1] else float("-inf")
    ):
        if b <= left:
            power, left = power + a, left - b
        else:
            return power + a * left / b
    return power


def best_line(p, q, rate):
    """Return the least bound by a line of the larger of both directions' curves, on a fine grid of e^ε."""
    heights = []
    for k in range(1001):
        x = 1 + k * max(max(a / b, b / a) for a, b in zip(p, q, strict=True)) / 1000
        delta = max(
            sum(max(a - x * b, 0) for a, b in zip(one, other, strict=True)) for one, other in ((p, q), (q, p))
        )
        heights += [delta + x * rate, 1 - (1 - delta - rate) / x]
    return min(heights)


@pytest.mark.parametrize("seed", range(12))
def test_no_attack_does_better_and_no_line_is_much_lower(seed):
    rng = random.Random(seed)
    laws = []
    for _ in range(2):
        weights = [rng.randint(1, 20) for _ in range(3)]
        laws.append([F(weight, sum(weights)) for weight in weights])
    risk = Accountant(Plan("add-remove", DominatingPair(p=laws[0], q=laws[1], count=2))).risk()
    p, q = ([float(a * b) for a, b in product(law, repeat=2)] for law in laws)
    for rate in (*RATES, F(1, 3)):
        exact, bound = (
            max(best_attack(p, q, float(rate)), best_attack(q, p, float(rate))),
            risk.true_positives(rate),
        )
        assert exact <= float(bound) * (1 + 1e-12)
        assert rate not in RATES or bound <= best_line(p, q, float(rate)) * 1.001
    apart = sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
    assert float(risk.advantage.upper) == pytest.approx(apart, rel=1e-9)


@deep
@pytest.mark.parametrize("name", PLANS)
def test_the_curve_lies_below_the_gaussian_and_its_distance(name, depth):
    """At points that the search did not ask for; and a smaller μ would be too small at one that it did."""
    whole, distance = Accountant(PLANS[name]), F(1, 10**6)
    risk = whole.risk(distance)
    rng, square = random.Random(f"{name} {depth.seed()}"), risk.mu.upper**2
    for _ in range(20):
        at = F(rng.uniform(0, 4 * float(risk.mu.upper)))
        assert ball(whole.delta(at).lower) <= ball(distance) + gaussian.delta(at, (square, square))
    less = (risk.mu.lower * F(999, 1000)) ** 2
    refuted = [
        ball(point.delta.lower - distance) > gaussian.delta(point.epsilon, (less, less))
        for point in risk.points
    ]
    assert any(refuted)
    assert risk.mu.upper <= risk.mu.lower * F(102, 100)


@deep
def test_a_part_is_no_riskier_than_the_whole():
    for few, more in ((SAMPLE, [SAMPLE, Laplace(scale=5)]), (Pure(epsilon=1), Pure(epsilon=1, count=2))):
        part, whole = (Accountant(Plan("add-remove", plan)).risk() for plan in (few, more))
        assert part.mu.lower <= whole.mu.upper
        assert part.advantage.lower <= whole.advantage.upper
        for rate in RATES:
            assert part.true_positives(rate) <= whole.true_positives(rate) * F(1001, 1000)


@deep
def test_a_run_of_sampled_steps_has_a_useful_mu():
    """The plan whose μ without a distance is 107.8: that of 14,063 releases on everybody."""
    whole = Accountant(sgd(60000, 256, epochs=60, sigma="1.1").plan())
    assert (whole.gdp(), whole.zcdp()) == (None, None)
    risk = whole.risk()
    assert risk.distance == F(1, 10**8)
    assert F("0.5886") < risk.mu.lower < risk.mu.upper < F("0.59")
    assert F("0.22446") < risk.advantage.lower < risk.advantage.upper < F("0.22448")
    bounds = [100 * float(risk.true_positives(rate)) for rate in RATES]
    assert bounds == pytest.approx([0.6051, 4.0206, 23.962], rel=1e-4)
    assert risk.sentence() == (
        "An attack with a false-positive rate of 1 % has a true-positive rate of at most 4.03 %, and its alarm"
        " turns even odds into a belief of at most 80.1 %. No attack has an advantage (the difference of the two"
        " rates) above 0.225. But for a distance of 1e-08, this is 0.589-Gaussian differential privacy."
    )


def test_samples_have_no_mu_of_releases_on_everybody():
    for event in (
        SAMPLE,
        RandomAllocation(steps=10, of=Gaussian(sigma=1)),
        PoissonSubsampled(rate="0.5", of=SAMPLE),
    ):
        whole = Accountant([event, Laplace(scale=1)])
        assert (whole.gdp(), whole.zcdp()) == (None, None)
    everybody = PoissonSubsampled(rate=1, of=Gaussian(sigma=1))
    assert Accountant(everybody).gdp() == 1
    rare = PoissonSubsampled(rate="0.1", of=Pure(epsilon=1))
    assert Accountant(rare).gdp() < Accountant(Pure(epsilon=1)).gdp()


def test_what_always_leaks_has_no_mu_and_nothing_has_none():
    leaking = Accountant(Approximate(epsilon=1, delta="1e-6")).risk()
    assert leaking.mu is None
    assert "Gaussian" not in leaking.sentence()
    assert leaking.true_positives("0.01") >= F(1, 10**6)
    nothing = Accountant(Pure(epsilon=0)).risk()
    assert (nothing.mu.upper, nothing.advantage.upper) == (0, 0)
    for rate in RATES:
        assert rate <= nothing.true_positives(rate) <= rate * (1 + F(1, 10**20))


@looped("nines", [15, 16, 17, 18, 30, 300])
def test_a_rate_of_almost_one_has_a_power_of_at_least_that(nines):
    rate = 1 - F(1, 10**nines)
    for event in (Gaussian(sigma=1), Gaussian(sigma=1000)):
        assert rate <= Accountant(event).risk().true_positives(rate) <= 1


def test_bounds_of_upper_ends_alone_have_no_lower_one():
    class Known:
        def epsilon(self, delta, gap):
            found = Accountant(Gaussian(sigma=1)).epsilon(delta, gap)
            return type(found)(None, found.upper, found.accountant)

        def delta(self, epsilon, gap):
            found = Accountant(Gaussian(sigma=1)).delta(epsilon, gap)
            return type(found)(None, found.upper, found.accountant)

    risk = risk_of(Known())
    assert risk.mu.lower is None
    assert 1 <= risk.mu.upper < F("1.002")


@pytest.mark.parametrize(
    ("sigma", "rate", "slack"),
    [
        ("1", "0.7", 1e-5),
        ("0.3", "0.1", 1e-4),
        ("10", "1e-12", 2e-2),
        ("1", "1e-30", 2e-2),
        ("1", "0.999999", 1e-6),
    ],
)
def test_any_rate_that_is_asked_for_is_close(sigma, rate, slack):
    """Where δ(0) and the rate exceed 1, too: there the second line bounds."""
    exact = math.erfc(-(LAW.inv_cdf(float(rate)) + 1 / float(sigma)) / math.sqrt(2)) / 2
    bound = float(Accountant(Gaussian(sigma=sigma)).risk(rates=[rate]).true_positives(rate))
    assert exact * (1 - 1e-9) <= bound <= exact * (1 + slack) + 1e-8 * (sigma == "1")


def test_no_plan_is_too_quiet_or_too_loud():
    quiet = Accountant(Gaussian(sigma="1e20")).risk()
    assert quiet.mu.upper == 0
    for sigma in ("1e150", "1e200"):
        assert Accountant(Gaussian(sigma=sigma)).risk("1e-300", ["0.5"]).mu.upper < F(1, 10**7)
    loud = Accountant(Gaussian(sigma="0.01")).risk()
    assert (round(loud.mu.upper, 12), loud.advantage.upper) == (100, 1)
    for rate in ("1e-320", "1e-400"):
        assert LAW.cdf(-30) < Accountant(Gaussian(sigma=1)).risk(rates=[rate]).true_positives(rate) < F(2, 5)
    whole = Accountant(RandomizedResponse(epsilon=1))
    assert whole.risk(whole.delta(0).upper * (1 - F(1, 10**30))).mu.upper < F(1, 10**7)


def test_rates_are_asked_for_in_any_order():
    whole = Accountant(Laplace(scale=1, count=3))
    assert whole.risk(rates=["0.1", "0.001"]) == whole.risk(rates=["0.001", "0.1", "0.1"])


def test_belief_is_that_of_bayes():
    risk = Accountant(Gaussian(sigma=1)).risk()
    rate, prior = F(1, 100), F(1, 50)
    caught = risk.true_positives(rate)
    assert risk.belief(rate, prior) == prior * caught / (prior * caught + (1 - prior) * rate)
    assert risk.belief(rate, prior) < risk.belief(rate)
    assert risk.belief(0, prior) == 1  # noise without a bound on its losses: an alarm that is never false


def test_what_is_out_of_range_is_refused():
    whole = Accountant(Pure(epsilon=1))
    for distance in (0, 1, "-1", "1.5"):
        with pytest.raises(InputError, match="a distance"):
            whole.risk(distance)
    for rate in (0, 1):
        with pytest.raises(InputError, match="a false-positive rate"):
            whole.risk(rates=[rate])
    risk = whole.risk()
    with pytest.raises(InputError, match="prior"):
        risk.belief("0.1", 1)
    with pytest.raises(InputError, match="false-alarm rate"):
        risk.true_positives(2)
