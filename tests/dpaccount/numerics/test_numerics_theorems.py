"""The closed-form theorems against values computed another way; they lie above the exact cost."""

import math
from fractions import Fraction

import mpmath
import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.numerics import theorems
from dpaccount.plan.events import Approximate, BoundedRange, Plan, Pure, Relation, Zcdp
from tests.looped import looped

DELTA = Fraction(1, 10**6)


def exact(*events):
    return Accountant(Plan(Relation.REPLACE_ONE, events)).epsilon(DELTA)


def close(found, value, digits=12):
    """Say whether an upper bound is the value written, which may be off in its last place, rounded up."""
    exact, slack = Fraction(value), Fraction(1, 10**digits)
    return exact * (1 - Fraction(1, 10**14)) <= found <= exact * (1 + slack) + slack


def test_basic_adds():
    assert theorems.basic([(Fraction(1, 10), Fraction(1, 100))] * 3) == (Fraction(3, 10), Fraction(3, 100))
    assert theorems.basic([(Fraction(1), Fraction(3, 4))] * 2) == (2, 1)
    assert theorems.basic([]) == (0, 0)


def test_advanced():
    """By hand: ε = 0.1, k = 200, δ′ = 1e-6: 0.1√(400 ln 1e6) + 20(e^0.1 − 1)."""
    found, delta = theorems.advanced(Fraction(1, 10), Fraction(1, 10**9), 200, DELTA)
    mpmath.mp.dps = 60
    assert close(found, str(mpmath.sqrt(400 * mpmath.log(10**6)) / 10 + 20 * mpmath.expm1(mpmath.mpf("0.1"))))
    assert delta == DELTA + Fraction(200, 10**9)
    assert found > exact(Pure(epsilon="0.1", count=200)).upper
    with pytest.raises(InputError, match="slack"):
        theorems.advanced(Fraction(1), Fraction(0), 1, Fraction(0))


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
def test_optimal_lies_between_the_listed_points(epsilon, delta, k):
    """The published theorem lists ε on a grid of 2ε; the least listed one is at most 2ε above the optimum."""
    low, high = theorems.optimal([(Fraction(epsilon), Fraction(delta), k)], Fraction(1, 10**4))
    least = float(min(kairouz(epsilon, delta, k, 1e-4))[0])
    assert low <= high
    assert least - 2 * float(Fraction(epsilon)) < float(low)
    assert float(high) <= least + 1e-12
    both = Accountant(Plan(Relation.REPLACE_ONE, (Approximate(epsilon=epsilon, delta=delta, count=k),)))
    assert low <= both.epsilon("1e-4").upper
    assert both.epsilon("1e-4").lower <= high


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

    low, high = theorems.optimal([(loss, Fraction(0), 1) for loss in losses], Fraction(1, 1000))
    assert delta(mpmath.mpf(low.numerator) / low.denominator) >= mpmath.mpf("0.001") * (
        1 - mpmath.mpf(10) ** -12
    )
    assert delta(mpmath.mpf(high.numerator) / high.denominator) <= mpmath.mpf("0.001")
    long = theorems.optimal([(Fraction(i, 100), Fraction(0), 1) for i in range(1, 61)], DELTA)
    assert long[0] <= Fraction("14.26071870751814629233310") <= long[1]


def test_optimal_at_the_ends():
    assert theorems.optimal([(Fraction(1), Fraction(1, 10), 1)], Fraction(1, 100)) == (0, None)
    assert theorems.optimal([(Fraction(1, 2), Fraction(1, 10), 2)], Fraction(19, 100)) == (1, 1)
    assert theorems.optimal([], Fraction(1, 2)) == (0, 0)


def test_zcdp_and_gdp():
    """ρ = ½: the optimum over orders, by mpmath's minimiser, is 4.728386984943 at δ = 1e-5."""
    assert close(theorems.zcdp(Fraction(1, 2), Fraction(1, 10**5)), "4.72838698494", 9)
    simple = 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))  # Bun & Steinke 2016, Proposition 1.3
    assert simple > theorems.zcdp(Fraction(1, 2), Fraction(1, 10**5))
    assert close(theorems.gdp(Fraction(1), Fraction(1, 10**5)), "4.377178095681224627650116")
    assert exact(Zcdp(rho="0.5")).upper == theorems.zcdp(Fraction(1, 2), DELTA)


def test_renyi():
    """Order 5.5, τ = 2.75, δ = 1e-5: the optimal conversion gives 4.72892333812, the general one 4.7289243."""
    assert close(theorems.rdp(Fraction(11, 2), Fraction(11, 4), Fraction(1, 10**5)), "4.72892333812", 9)
    assert theorems.rdp(Fraction(2), Fraction(0), DELTA) < Fraction(1, 10**6)


def test_bounded_range():
    """By hand: 100·0.1²/8 + 0.1√(100 ln(1e6)/2); account is tighter."""
    found = theorems.bounded_range(Fraction(1, 10), 100, DELTA)
    assert close(found, str(0.125 + 0.1 * math.sqrt(50 * math.log(1e6))))
    assert exact(BoundedRange(eta="0.1", count=100)).upper <= found
    assert theorems.bounded_range(Fraction(1, 10), 2, DELTA) == Fraction(1, 5)


def test_groups():
    epsilon, delta = theorems.group(Fraction(1, 2), DELTA, 3)
    assert epsilon == Fraction(3, 2)
    assert close(delta, str(1e-6 * math.expm1(1.5) / math.expm1(0.5)), 12)
    assert close(theorems.group(Fraction(0), DELTA, 4)[1], 4 * DELTA)
    assert theorems.group(Fraction(9), Fraction(1, 10), 9)[1] == 1


def test_sampling():
    epsilon, delta = theorems.sampled(Fraction(1), Fraction(1, 100), Fraction(1, 10))
    assert close(epsilon, str(math.log1p(0.1 * math.expm1(1))), 12)
    assert delta == Fraction(1, 1000)
    assert theorems.sampled(Fraction(1), Fraction(1, 100), Fraction(1))[0] >= 1
    assert theorems.sampled(Fraction(1), Fraction(1, 100), Fraction(0)) == (0, 0)
    assert theorems.sampled(Fraction(10**6), Fraction(0), Fraction(1, 2))[0] < 10**6
    with pytest.raises(InputError, match="rate"):
        theorems.sampled(Fraction(1), Fraction(0), Fraction(2))


def shuffled_responses(epsilon, users, target):
    """The exact ε of `users` shuffled binary randomised responses: the sum is all that is seen (floats)."""
    flip = 1 / (1 + math.exp(epsilon))
    rest = [math.comb(users - 1, j) * flip**j * (1 - flip) ** (users - 1 - j) for j in range(users)]
    one = [0.0, *rest]
    zero = [*rest, 0.0]
    mine = [flip * a + (1 - flip) * b for a, b in zip(one, zero, strict=True)]
    other = [(1 - flip) * a + flip * b for a, b in zip(one, zero, strict=True)]
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        over = max(
            sum(max(0.0, p - math.exp(middle) * q) for p, q in zip(a, b, strict=True))
            for a, b in ((mine, other), (other, mine))
        )
        low, high = (low, middle) if over <= target else (middle, high)
    return high


@looped("epsilon", [0.5, 1.0, 2.0])
def test_shuffling_covers_shuffled_randomised_response(epsilon):
    found = theorems.shuffled(Fraction(str(epsilon)), 900, Fraction(1, 10**4))
    assert shuffled_responses(epsilon, 900, 1e-4) < found < Fraction(str(epsilon))


ONE, NONE = Fraction(1), Fraction(0)
NONSENSE = [
    (theorems.shuffled, (-ONE, 100, DELTA)),
    (theorems.shuffled, (-Fraction(10**400), 100, DELTA)),
    (theorems.shuffled, (ONE, 0, DELTA)),
    (theorems.shuffled, (ONE, -5, DELTA)),
    (theorems.shuffled, (ONE, 1.5, DELTA)),
    (theorems.shuffled, (ONE, True, DELTA)),
    (theorems.shuffled, (ONE, 100, NONE)),
    (theorems.shuffled, (ONE, 100, Fraction(2))),
    (theorems.basic, ([(ONE, NONE), (-ONE, NONE)],)),
    (theorems.basic, ([(ONE, -DELTA)],)),
    (theorems.advanced, (-ONE, NONE, 3, DELTA)),
    (theorems.advanced, (ONE, -DELTA, 3, DELTA)),
    (theorems.advanced, (ONE, NONE, -3, DELTA)),
    (theorems.advanced, (ONE, NONE, 3, NONE)),
    (theorems.optimal, ([(-ONE, NONE, 2)], DELTA)),
    (theorems.optimal, ([(ONE, -DELTA, 2)], DELTA)),
    (theorems.optimal, ([(ONE, NONE, -2)], DELTA)),
    (theorems.optimal, ([(ONE, NONE, 2)], Fraction(2))),
    (theorems.zcdp, (-ONE, DELTA)),
    (theorems.zcdp, (ONE, NONE)),
    (theorems.zcdp, (ONE, Fraction(2))),
    (theorems.rdp, (Fraction(2), -ONE, DELTA)),
    (theorems.rdp, (ONE, ONE, DELTA)),
    (theorems.rdp, (Fraction(2), ONE, Fraction(2))),
    (theorems.gdp, (-ONE, DELTA)),
    (theorems.gdp, (ONE, Fraction(2))),
    (theorems.bounded_range, (-ONE, 3, DELTA)),
    (theorems.bounded_range, (ONE, -3, DELTA)),
    (theorems.bounded_range, (ONE, 3, NONE)),
    (theorems.group, (-ONE, DELTA, 3)),
    (theorems.group, (ONE, -DELTA, 3)),
    (theorems.group, (ONE, DELTA, 0)),
    (theorems.sampled, (-ONE, DELTA, Fraction(1, 2))),
    (theorems.sampled, (ONE, -DELTA, Fraction(1, 2))),
    (theorems.sampled, (ONE, DELTA, Fraction(2))),
]


@looped(("rule", "given"), NONSENSE)
def test_what_is_no_loss_chance_or_count_is_refused(rule, given):
    with pytest.raises(InputError, match=r"it must be (above|at least|a whole number)"):
        rule(*given)


def test_shuffling_never_costs_more_than_no_shuffling_and_more_users_cost_no_more():
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(5)):
        found = [theorems.shuffled(epsilon, users, DELTA) for users in (1, 10, 10**3, 10**4, 10**6, 10**9)]
        assert found == sorted(found, reverse=True)
        assert epsilon == found[0]
        assert min(found) >= 0


def test_shuffling_by_hand():
    """With n = 10⁶, ε = 1, δ = 1e-6: ln(1 + (e − 1)(4√(2 ln 4e6)/√((e + 1)1e6) + 4e-6))."""
    value = math.log1p(
        math.expm1(1) * (4 * math.sqrt(2 * math.log(4e6)) / math.sqrt((math.e + 1) * 1e6) + 4e-6)
    )
    assert close(theorems.shuffled(Fraction(1), 10**6, DELTA), str(value), 10)
    assert theorems.shuffled(Fraction(1), 10, DELTA) == 1  # too few users: no amplification
    assert theorems.shuffled(Fraction(20), 10**6, DELTA) == 20
