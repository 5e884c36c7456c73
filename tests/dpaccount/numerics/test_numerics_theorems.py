"""The accountant against theorems in closed form, and what it takes from them against other arithmetic."""

import math
from fractions import Fraction

import mpmath

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.closed.group_privacy import chained
from dpaccount.numerics.closed.sampling import sampled_loss
from dpaccount.plan.events import Approximate, BoundedRange, Gdp, Plan, Pure, Rdp, Relation, Zcdp
from tests.looped import looped

DELTA = Fraction(1, 10**6)


def exact(*events, delta=DELTA):
    return Accountant(Plan(Relation.REPLACE_ONE, events)).epsilon(delta)


def close(found, value, digits=12):
    """Say whether an upper bound is the value written, which may be off in its last place, rounded up."""
    exact, slack = Fraction(value), Fraction(1, 10**digits)
    return exact * (1 - Fraction(1, 10**14)) <= found <= exact * (1 + slack) + slack


def test_advanced_composition_costs_more():
    """ε = 0.1, k = 200, δ′ = 1e-6: 0.1√(400 ln 1e6) + 20(e^0.1 − 1) (Dwork & Roth 2014, Theorem 3.20)."""
    bound = math.sqrt(400 * math.log(10**6)) / 10 + 20 * math.expm1(0.1)
    assert exact(Pure(epsilon="0.1", count=200)).upper < bound


def kairouz(epsilon, delta, k, slack):
    """Kairouz, Oh & Viswanath: the points (ε_i, δ_i) = ((k − 2i)ε, 1 − (1 − δ)^k(1 − s_i)) that they list."""
    mpmath.mp.dps = 60
    e, grown = mpmath.mpf(epsilon), mpmath.exp(mpmath.mpf(epsilon))
    points = []
    for i in range(k // 2 + 1):
        s = (
            sum(
                mpmath.binomial(k, j) * (mpmath.exp((k - j) * e) - mpmath.exp((k - 2 * i + j) * e))
                for j in range(i)
            )
            / (1 + grown) ** k
        )
        points.append(((k - 2 * i) * e, 1 - (1 - mpmath.mpf(delta)) ** k * (1 - s)))
    return [(eps, at) for eps, at in points if at <= slack]


@looped(("epsilon", "delta", "k"), [("0.1", "0", 30), ("0.5", "1e-7", 12), ("1", "1e-9", 5)])
def test_optimal_composition_lies_between_the_listed_points(epsilon, delta, k):
    """The published theorem lists ε on a grid of 2ε; the least listed one is at most 2ε above the optimum."""
    found = exact(Approximate(epsilon=epsilon, delta=delta, count=k), delta="1e-4")
    least = float(min(kairouz(epsilon, delta, k, 1e-4))[0])
    assert least - 2 * float(Fraction(epsilon)) < float(found.lower)
    assert float(found.lower) <= float(found.upper) <= least * (1 + 1e-9)


def test_unequal_losses_compose_optimally():
    """By exact enumeration of all 2^10 outcomes with rationals of e^(1/100) bounded to 60 digits."""
    mpmath.mp.dps = 60
    losses = [Fraction(i, 100) for i in range(1, 11)]
    x = mpmath.exp(mpmath.mpf(1) / 100)
    masses = {0: mpmath.mpf(1)}
    for loss in losses:
        n = int(loss * 100)
        p = x**n / (1 + x**n)
        new = {}
        for at, mass in masses.items():
            for step, chance in ((n, p), (-n, 1 - p)):
                new[at + step] = new.get(at + step, mpmath.mpf(0)) + mass * chance
        masses = new

    def delta(eps):
        return sum(
            m * (1 - mpmath.exp(eps - mpmath.mpf(at) / 100))
            for at, m in masses.items()
            if mpmath.mpf(at) / 100 > eps
        )

    found = exact(*(Pure(epsilon=loss) for loss in losses), delta="1e-3")
    assert found.upper - found.lower < Fraction(1, 10**6)
    assert delta(mpmath.mpf(found.lower.numerator) / found.lower.denominator) >= mpmath.mpf("0.001") * (
        1 - mpmath.mpf(10) ** -12
    )
    assert delta(mpmath.mpf(found.upper.numerator) / found.upper.denominator) <= mpmath.mpf("0.001")
    long = exact(*(Pure(epsilon=Fraction(i, 100)) for i in range(1, 61)))
    assert long.lower <= Fraction("14.26071870751814629233310") <= long.upper


def test_conversions_of_zcdp_gdp_and_renyi():
    """ρ = ½: the optimum over orders, by mpmath's minimiser; order 5.5: the optimal conversion, not 4.7289243."""
    delta = Fraction(1, 10**5)
    found = exact(Zcdp(rho="0.5"), delta=delta).upper
    assert close(found, "4.72838698494", 9)
    assert found < 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))  # Bun & Steinke 2016, Proposition 1.3
    gdp = exact(Gdp(mu=1), delta=delta)
    assert gdp.lower <= Fraction("4.377178095681224627650116") <= gdp.upper
    assert close(exact(Rdp(points=[("5.5", "2.75")]), delta=delta).upper, "4.72892333812", 9)
    assert exact(Rdp(points=[(2, 0)])).upper < Fraction(1, 10**6)


def test_bounded_range_costs_no_more_than_hoeffding_says():
    """kη²/8 + η√(k ln(1/δ)/2), at most kη (Dong, Durfee & Rogers 2020)."""
    assert exact(BoundedRange(eta="0.1", count=100)).upper <= 0.125 + 0.1 * math.sqrt(50 * math.log(1e6))
    assert exact(BoundedRange(eta="0.1", count=2)).upper <= Fraction(1, 5)


def test_groups():
    assert close(chained(Fraction(1, 2), DELTA, 3), str(1e-6 * math.expm1(1.5) / math.expm1(0.5)), 12)
    assert close(chained(Fraction(0), DELTA, 4), 4 * DELTA)
    assert chained(Fraction(9), Fraction(1, 10), 9) == 1


def test_sampling():
    assert close(sampled_loss(Fraction(1), Fraction(1, 10)), str(math.log1p(0.1 * math.expm1(1))), 12)
    assert sampled_loss(Fraction(1), Fraction(1)) >= 1
    assert sampled_loss(Fraction(1), Fraction(0)) == 0
    assert sampled_loss(Fraction(10**6), Fraction(1, 2)) < 10**6
