"""Bounded range and single Rényi orders: upper bounds that lie just above values computed another way."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, fmpz

from dpaccount.accounting import account
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import calibrate
from dpaccount.accounting.methods import upper
from dpaccount.accounting.methods.answer import EpsilonAt
from dpaccount.numerics.closed import bounded_range, renyi, single_order
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.events import (
    BoundedRange,
    Exponential,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Rdp,
    Relation,
    Zcdp,
)
from tests.depth import deep
from tests.looped import looped


def replaced(*events):
    return Accountant(Plan(Relation.REPLACE_ONE, events))


# ------------------------------------------------------------------ bounded range


def one(eta, eps):
    """δ₁ of one η-BR mechanism, by its closed form (floats)."""
    inside = (np.exp(eta / 2) - np.exp(np.clip(eps, -eta, eta) / 2)) ** 2 / np.expm1(eta)
    return np.where(eps >= eta, 0.0, np.where(eps <= -eta, -np.expm1(eps), inside))


def more(curve, eta, eps, points=1501):
    """Return the sup over t of p·δ(ε − t) + (1 − p)·δ(ε − t + η) on a fine grid of t: below the truth by its square."""
    t = np.linspace(0, eta, points)
    leave = np.expm1(t) / np.expm1(eta)
    return max((1 - leave) * curve(eps - t) + leave * curve(eps - t + eta))


@deep
def test_the_single_curve_is_the_supremum_over_intervals():
    """By mpmath: for every ε the largest E(1 − e^{ε−L})₊ over t lies at t = (η + ε)/2."""
    eta = mpmath.mpf(1)
    for eps in (mpmath.mpf("0.1"), mpmath.mpf("0.7")):

        def of(t, eps=eps):
            p = (mpmath.exp(eta) - mpmath.exp(t)) / (mpmath.exp(eta) - 1)
            return p * max(0, 1 - mpmath.exp(eps - t)) + (1 - p) * max(0, 1 - mpmath.exp(eps - t + eta))

        best = max(of(eta * j / 4000) for j in range(4001))
        exact = bounded_range.single_delta(Fraction(1), Fraction(str(eps)))
        assert best <= float(exact) + 1e-15
        assert float(exact) - best < 1e-7
        assert abs(bounded_range.single_epsilon(Fraction(1), exact) - Fraction(str(eps))) < Fraction(1, 10**9)


@deep
@pytest.mark.parametrize("eps", [0.0, 0.2, 0.9, 1.6])
def test_two_adaptive_mechanisms(eps):
    exact = more(lambda x: one(1.0, x), 1.0, eps, 20001)
    found = float(account.delta(_total(1, 2), Fraction(str(eps)), Fraction(1, 10**6)).bounds.upper)
    assert exact - 1e-12 <= found <= exact * 1.0005


@deep
def test_three_adaptive_mechanisms():
    def two(values):
        return np.array([more(lambda x: one(0.5, x), 0.5, value) for value in values])

    exact = more(two, 0.5, 0.4, 301)
    found = float(account.delta(_total("0.5", 3), Fraction(2, 5), Fraction(1, 10**6)).bounds.upper)
    assert exact - 1e-9 <= found <= exact * 1.001


def _total(eta, count):
    from dpaccount.pairs.of_events import composition_of

    return composition_of([(BoundedRange(eta=eta), count)])


def fixed_delta(eta: Fraction, count: int, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return an enclosure of the largest δ(ε) of `count` η-BR mechanisms fixed beforehand: NON-ADAPTIVE only.

    max over ℓ of F_ℓ(t_ℓ), F_ℓ(t) = Σ_{i≤ℓ} C(k,i) p^{k−i}(1 − p)^i (1 − e^{ε−kt+iη}), at its stationary
    point t_ℓ = (ε + (ℓ+1)η)/(k+1), at most η (Dong, Durfee & Rogers 2020, section 5). The queries may not
    depend on answers: for adaptive ones the truth may be larger.
    """
    if eta == 0:
        return Fraction(0), Fraction(0)
    with precision(bounded_range.RANGE_BITS + 2 * count):
        found = [_terms(eta, count, epsilon, last) for last in range(count + 1)]
        low = max(floor_of(value) for value in found)
        high = max(ceil_of(value) for value in found)
    return max(Fraction(0), low), min(Fraction(1), max(Fraction(0), high))


def _terms(eta: Fraction, count: int, epsilon: Fraction, last: int) -> arb:
    """Return F_ℓ(t_ℓ) for ℓ = last."""
    t = min(eta, (epsilon + (last + 1) * eta) / (count + 1))
    p = ball(t).exp() * ball(eta - t).expm1() / ball(eta).expm1()
    found = arb(0)
    for i in range(last + 1):
        weight = arb(fmpz(math.comb(count, i))) * p ** (count - i) * (1 - p) ** i
        found -= weight * ball(epsilon - count * t + i * eta).expm1()
    return found


@deep
def test_adaptive_choice_costs_more():
    """Two mechanisms, η = 1, ε = 0.2: 0.23654 with adaptive choice, 0.22986 without (both published to five digits)."""
    fixed = fixed_delta(Fraction(1), 2, Fraction(1, 5))
    assert Fraction("0.2298655") < fixed[0] <= fixed[1] < Fraction("0.2298656")
    adaptive = bounded_range.Adaptive(Fraction(1), 2, Fraction(2), 1024).delta(Fraction(1, 5))
    assert Fraction("0.236535") <= adaptive <= Fraction("0.236545")


@looped(("count", "eps"), [(1, 0.3), (2, 0.2), (3, 0.5), (6, 0.5)])
def test_fixed_beforehand_by_brute_force(count, eps):
    """Equal intervals are best (checked for k = 2 over pairs too), at one of k + 1 stationary points."""

    def of(places):
        losses = {0.0: 1.0}
        for t in places:
            p = (math.exp(1) - math.exp(t)) / math.expm1(1)
            new = {}
            for loss, mass in losses.items():
                for step, chance in ((t, p), (t - 1, 1 - p)):
                    new[loss + step] = new.get(loss + step, 0.0) + mass * chance
            losses = new
        return sum(mass * -math.expm1(eps - loss) for loss, mass in losses.items() if loss > eps)

    best = max(of([j / 2000] * count) for j in range(2001))
    low, high = fixed_delta(Fraction(1), count, Fraction(str(eps)))
    assert high - low < Fraction(1, 10**30)
    assert best <= float(high) + 1e-12 <= best + 1e-6
    if count == 2:
        assert max(of([i / 100, j / 100]) for i in range(101) for j in range(i + 1)) <= float(high) + 1e-12


def test_coarse_tables_stay_above(monkeypatch):
    """Few cells make the term between the cells' ends the largest error: without it the bound is broken."""
    exact = more(lambda x: one(1.0, x), 1.0, 0.2, 20001)
    assert all(
        float(bounded_range.Adaptive(Fraction(1), 2, Fraction(2), n).delta(Fraction(1, 5))) > exact
        for n in (1, 2, 5)
    )

    class Bare(bounded_range.Adaptive):
        def _prepare(self, eta, cells):
            super()._prepare(eta, cells)
            self.bend = [0.0] * cells

    assert float(Bare(Fraction(1), 1, Fraction(1), 1).delta(Fraction(1, 5))) < float(one(1.0, 0.2))


@deep
def test_short_tables_stay_above():
    """A table that ends early keeps its last value: an upper bound, whatever the reach was."""
    whole = bounded_range.Adaptive(Fraction(1), 4, Fraction(4), 512)  # within 1e-6 of the truth
    short = bounded_range.Adaptive(Fraction(1), 4, Fraction(1), 32)
    for eps in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(2)):
        assert short.delta(eps) >= whole.delta(eps) - Fraction(1, 10**6)
    assert short.epsilon(Fraction(1, 10**6)) is None
    assert whole.epsilon(Fraction(1)) == 0


@deep
@pytest.mark.parametrize("count", [1, 2, 10, 100, 3000, 10**12])
def test_bounded_range_of_any_count(count):
    event = BoundedRange(eta=Fraction(1, 2 * math.isqrt(count)), count=count)
    both = replaced(event)
    found = both.worst_epsilon("1e-6")
    assert found.bounds.lower is None
    smooth = renyi.epsilon(lambda order: ball(order * event.eta**2 * count / 8), Fraction(1, 10**6))
    assert found.bounds.upper <= min(smooth, count * event.eta)
    if count >= 10:  # a Gaussian of the same mean and deviation costs about as much
        assert found.bounds.upper > replaced(Gaussian(sigma=2 / event.eta, count=count)).epsilon(
            "1e-6"
        ).lower * Fraction(9, 10)
    back = both.delta(found.bounds.upper).upper
    assert back <= Fraction(1, 10**6) * Fraction(1001, 1000)


@deep
@pytest.mark.parametrize("count", [1, 3])
def test_exponential_mechanisms_calibrate(count):
    found = calibrate("exponential", Fraction(1), Fraction(1, 10**6), count=count)
    again = replaced(Exponential(epsilon=found.text, count=count)).epsilon("1e-6").upper
    more_noisy = replaced(Exponential(epsilon=found.value * (1 + Fraction(1, 10**6)), count=count)).epsilon(
        "1e-6"
    )
    assert again <= 1 < more_noisy.upper


# ------------------------------------------------------------------ one Rényi order


def bernoulli(order, p, q):
    """exp((α − 1)·D_α) of Bernoulli(p) against Bernoulli(q)."""
    return p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)


@pytest.mark.parametrize(("order", "tau", "eps"), [(2, 0.1, 0.5), (8, 1.0, 1.0), (1.5, 0.5, 2.0)])
@deep
def test_no_bernoulli_pair_exceeds_it_and_one_attains_it(order, tau, eps):
    """By a search over all pairs (p, q) with mpmath: the largest p − e^ε q with D_α ≤ τ."""
    mpmath.mp.dps = 60
    alpha = Fraction(str(order))
    found = single_order.delta(alpha, ball(Fraction(str(tau))), Fraction(str(eps)), Fraction(1))
    best = 0.0
    for step in range(1, 400):
        p = mpmath.mpf(step) / 400
        low, high = mpmath.mpf(0), p  # D_α falls as q rises to p: the least q with D_α ≤ τ
        for _ in range(60):
            q = (low + high) / 2
            if mpmath.log(bernoulli(order, p, q)) <= (order - 1) * tau:
                high = q
            else:
                low = q
        best = max(best, float(p - mpmath.exp(eps) * high))
    assert best <= float(found) * (1 + 1e-6)
    assert float(found) <= best * 1.001


@deep
def test_never_looser_than_the_general_conversion():
    for order, tau in (
        (Fraction(11, 10), Fraction(1, 10)),
        (Fraction(8), Fraction(1)),
        (Fraction(64), Fraction(1)),
    ):
        general = renyi.epsilon(
            lambda a, order=order, tau=tau: ball(tau) if a == order else None, Fraction(1, 10**5), [order]
        )
        found = replaced(Rdp(points=((order, tau),))).worst_epsilon("1e-5")
        assert found.bounds.upper <= general
        just_above = found.bounds.upper + Fraction(1, 10**9)
        assert single_order.excludes(order, ball(tau), just_above, Fraction(1, 10**5))


def test_a_bound_of_the_gaussian_holds_for_the_gaussian():
    """The Rényi curve of σ = 1 at some orders: the bound lies above the exact ε, and zCDP is no tighter."""
    points = tuple((Fraction(a), Fraction(a, 2)) for a in (2, 4, 6, 8))
    exact = replaced(Gaussian(sigma=1)).epsilon("1e-5").lower
    assert (
        exact
        < replaced(Rdp(points=points)).epsilon("1e-5").upper
        < replaced(Zcdp(rho="0.5")).epsilon("1e-5").upper * Fraction(101, 100)
    )


def test_identical_outputs_cost_nothing():
    assert replaced(Rdp(points=((Fraction(3), Fraction(0)),))).epsilon("1e-9").upper < Fraction(1, 10**6)


# ------------------------------------------------------------------ Rényi points beside known pairs

GAP, COARSE = "1e-3", "1e-2"
ALL_ORDERS = [Fraction(x) for x in ("1.1", "1.25", "1.5", *map(str, (2, 3, 4, 6, 8, 12, 16, 24, 32, 64)))]


def points_of(sigma, orders=ALL_ORDERS):
    """The Rényi divergences of Gaussian noise at these orders."""
    return Rdp(points=[(a, a / (2 * Fraction(sigma) ** 2)) for a in orders])


BESIDE = {
    "Gaussian": (Relation.REPLACE_ONE, Gaussian(sigma=5)),
    "Laplace": (Relation.REPLACE_ONE, Laplace(scale=4)),
    "sampled": (Relation.ADD_REMOVE, PoissonSubsampled(rate="1/10", of=Gaussian(sigma=1))),
}


@deep
@pytest.mark.parametrize(
    ("name", "count"),
    [("Gaussian", 1), ("Laplace", 3), ("sampled", 6)],
)
def test_points_beside_a_pair_cost_no_less_than_the_noise_that_has_them(name, count):
    """Nor more than one sum in Rényi divergences, which is what they cost before they met a pair's curve."""
    relation, event = BESIDE[name]
    exact = Accountant(Plan(relation, [event * count, Gaussian(sigma=4) * count]))
    truth = exact.epsilon("1e-6")
    mixed = Accountant(Plan(relation, [event * count, points_of(4) * count]))
    found = mixed.worst_epsilon("1e-6", GAP)
    assert truth.lower <= found.bounds.upper < 1.1 * float(truth.upper)
    assert found.bounds.lower is None
    assert name != "Gaussian" or found.method == "dominating pairs"
    rest = account.epsilon(composition_of([(points_of(4), count)]), Fraction(1, 10**6), Fraction(GAP))
    assert rest.bounds.upper < found.bounds.upper  # a part costs less than the whole
    at = Fraction(round(found.bounds.upper, 1))
    assert mixed.delta(at, "1e-2").upper >= exact.delta(at).lower


@deep
def test_points_given_several_times_are_one_sum():
    """Ten events are the event of ten times the divergences, whatever their orders are listed like."""
    beside = Gaussian(sigma=3)
    whole = Rdp(points=[(a, 10 * bound) for a, bound in points_of(9).points])
    turned = Rdp(points=points_of(9).points[::-1])
    costs = [
        replaced(beside, *parts).epsilon("1e-6", COARSE).upper
        for parts in ([whole], [points_of(9) * 4, turned * 6])
    ]
    assert abs(costs[0] - costs[1]) < 5 * Fraction(GAP)
    total = composition_of([(points_of(9), 10), (beside, 1)])
    apart = upper.by_curves(total, EpsilonAt(Fraction(1, 10**6), Fraction(COARSE)))
    assert costs[1] < apart.upper * Fraction(999, 1000)  # ten curves lose ten times by conversion


@deep
def test_more_points_never_cost_more_and_a_larger_divergence_never_less():
    few, delta = [Fraction(2), Fraction(8)], "1e-5"
    costs = [
        replaced(Gaussian(sigma=2), points_of(4, orders) * 2, points_of(5, few)).epsilon(delta, COARSE).upper
        for orders in (few, [*few, Fraction(4), Fraction(30)])
    ]
    assert costs[0] >= costs[1]
    louder = replaced(Gaussian(sigma=2), points_of(3, few) * 2, points_of(5, few)).epsilon(delta, COARSE)
    assert louder.upper > costs[0]


@deep
def test_high_orders_alone_are_composed_as_curves_where_that_is_better():
    """At one high order a bound is nearly pure ε, and many of these cost less than their sum."""
    high = Rdp(points=[(10**6, "1/10")])
    total = composition_of([(high, 200), (Laplace(scale=10), 1)])
    found = account.epsilon(total, Fraction(1, 10**5), Fraction(1, 100)).bounds.upper
    summed = upper.by_sum(total, EpsilonAt(Fraction(1, 10**5), Fraction(1, 100))).upper
    assert found <= upper.by_curves(total, EpsilonAt(Fraction(1, 10**5), Fraction(1, 100))).upper
    assert found <= summed


def test_a_twin_that_forgets_the_count_of_points_is_too_cheap():
    truth = replaced(Gaussian(sigma=5), Gaussian(sigma=4, count=4)).epsilon("1e-6")
    assert replaced(Gaussian(sigma=5), points_of(4)).epsilon("1e-6", "1e-2").upper < truth.lower
