"""The best of a random number of runs: enumerated laws of the best, in both directions, against every bound.

The laws are exact but for the rounding of 400 bits, ties fall as outcomes are listed, and the best of K runs is
made by hand from probabilities of K, cut off where less than 10^−30 is left, which is added to the curve.
"""

import itertools
import math
import random
from fractions import Fraction

import pytest
from mpmath import mp, mpf

import dpaccount as dp
from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.events import DominatingPair, Repeated
from tests.depth import deep
from tests.looped import looped

F = Fraction
LAWS = [
    *({"mean": mean} for mean in (F(1, 100), F(9, 10), F(1), F(20))),
    *(
        {"shape": shape, "gamma": gamma}
        for shape in (F(-1, 2), F(0), F(1), F(3))
        for gamma in (F(1, 5), F(3, 5))
    ),
]
ORDERS = (F(11, 10), F(5))
MANY = 4000  #: runs at most


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def numbers_of_runs(shape=1, gamma=0, mean=0):
    """P(K = k) for k = 0, 1, …: by ratios of neighbours, never by a generating function."""
    shape, gamma, mean = F(shape), F(gamma), F(mean)
    if mean:
        masses = [mp.exp(-mpf(mean.numerator) / mean.denominator)]
        ratios = (mpf(mean.numerator) / mean.denominator / k for k in range(1, MANY))
    else:
        eta, rest = mpf(shape.numerator) / shape.denominator, 1 - mpf(gamma.numerator) / gamma.denominator
        first = rest / -mp.log1p(-rest) if not eta else eta * rest / ((1 - rest) ** -eta - 1)
        masses, ratios = [mpf(0), first], (rest * (eta + k - 1) / k for k in range(2, MANY))
    for ratio in ratios:
        masses.append(masses[-1] * ratio)
        if masses[-1] < mpf(10) ** -30 and len(masses) > 60:
            break
    return masses


def law_of_best(once, runs):
    """The law of nothing at all, and of the best outcome: of k runs it is at most the i-th with P(≤ i)^k."""
    below, found = [mpf(0)], [runs[0]]
    for p in once:
        below.append(below[-1] + mpf(p.numerator) / p.denominator)
    at = [sum((mass * x**k for k, mass in enumerate(runs) if k), mpf(0)) for x in below]
    return found + [high - low for low, high in itertools.pairwise(at)]


def drawn(seed):
    """Two laws on 2 to 4 outcomes, at random or with bounded odds, the best one anywhere."""
    rng = random.Random(seed)
    size = rng.choice([2, 3, 4])
    weights = [rng.choice([0, 1, 5, 100, rng.randint(1, 1000)]) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    p = [F(w, sum(weights)) for w in weights]
    other = (
        [x * F(rng.randint(5, 40), 10) for x in p]
        if rng.random() < 0.6
        else [F(rng.randint(0, 9)) for _ in p]
    )
    q = [x / sum(other) for x in other] if sum(other) else p
    if rng.random() < 0.5:  # the more telling, the better
        pairs = sorted(zip(p, q, strict=True), key=lambda each: each[0] / each[1] if each[1] else F(10**9))
        p, q = zip(*pairs, strict=True)
    return tuple(p), tuple(q)


def hockey_stick(p, q, epsilon):
    return sum((max(a - mp.exp(epsilon) * b, mpf(0)) for a, b in zip(p, q, strict=True)), mpf(0))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: "-".join(map(str, law.values())))
def test_no_enumerated_best_costs_more_than_the_bounds(law):
    """Curve, largest loss and Rényi divergences of five mechanisms, either dataset first."""
    runs = numbers_of_runs(**law)
    assert abs(sum(runs) - 1) < mpf(10) ** -25
    closest = mpf(0)
    for seed in range(5):
        p, q = drawn(f"{law}{seed}")
        best = Accountant(Repeated(of=DominatingPair(p=p, q=q), **law))
        a, b = law_of_best(p, runs), law_of_best(q, runs)
        for here, there in ((a, b), (b, a)):
            for at in ("0", "0.7"):
                found, truth = best.delta(at).upper, hockey_stick(here, there, mpf(at))
                assert truth <= mpf(found.numerator) / found.denominator + mpf(10) ** -24
                closest = max(closest, truth / max(mpf(float(found)), mpf(10) ** -9))
            for order in ORDERS:
                s = mpf(order.numerator) / order.denominator - 1
                bound = best.renyi(order).upper
                if bound != math.inf:
                    moment = sum(
                        (x * (x / y) ** s for x, y in zip(here, there, strict=True) if x > mpf(10) ** -24),
                        mpf(0),
                    )
                    assert mp.log(moment) / s <= mpf(float(bound)) + mpf(10) ** -12
            most = best.epsilon(0).upper
            if most != math.inf:
                assert hockey_stick(here, there, mpf(float(most))) < mpf(10) ** -12
    assert closest > 0.3  # some mechanism comes near


@looped("mean", ["1e-3", "1/9", "1/4"])
def test_few_runs_cost_what_they_reveal_and_never_less(mean):
    """Theorem 6 of arXiv 2110.03620 gives a negative divergence here: K = 0 is likely, and tells nothing."""
    once = dp.Pure(epsilon=1)
    best = Accountant(Repeated(of=once, mean=mean))
    assert 0 < best.delta("0.5").upper < Accountant(once).delta("0.5").upper
    assert 0 < best.renyi(2).upper < Accountant(once).renyi(2).upper
    nothing = Accountant(Repeated(of=dp.Pure(epsilon=0), mean=mean))
    assert nothing.epsilon("1e-9").upper == nothing.renyi(2).upper == 0


@looped(
    ("shape", "gamma", "inner"),
    [(s, g, e) for s in (0, "1/2", 1, 5) for g in ("1/1000", "1/9") for e in (1, "1/5")],
)
def test_pure_losses_grow_by_the_weight(shape, gamma, inner):
    """(2 + η)ε (Papernot & Steinke 2021, Corollary 3), attained as γ falls; the weight is solved in closed form."""
    kappa, e = float(F(gamma) / (1 - F(gamma))), math.exp(F(inner))
    c = math.log1p((e - 1) / (1 + kappa * (e + 1)))  # of randomised response, which dominates
    found = float(Accountant(Repeated(of=dp.Pure(epsilon=inner), shape=shape, gamma=gamma)).epsilon(0).upper)
    assert found == pytest.approx(float(F(inner)) + (1 + float(F(shape))) * c, rel=1e-4)
    assert found <= (2 + float(F(shape))) * float(F(inner))


@looped(
    ("rho", "gamma", "shape"),
    [(r, g, s) for r, g in (("0.01", "0.01"), ("1", "0.1"), ("0.01005", "0.99")) for s in (0, "1/2", 1, 5)],
)
def test_renyi_of_gaussian_runs_is_never_above_dp_accounting(rho, gamma, shape):
    """`test_repeat_select_gaussian_negative_binomial`: their values by Corollary 4, for ρ ≤ −ln γ."""
    of = dp.Gaussian(sigma=Fraction(math.sqrt(0.5 / float(rho))))
    best, r, g, eta = (
        Accountant(Repeated(of=of, gamma=gamma, shape=shape)),
        float(rho),
        float(gamma),
        float(F(shape)),
    )
    mean = (1 / g - 1) / -math.log(g) if not eta else eta * (1 / g - 1) / (1 - g**eta)
    for order in ("1.1", 2, 10, 100):
        s = float(order) - 1
        theirs = r * float(order) + math.log(mean) / s  # their Theorem 2 at the best λ̂
        theirs += (1 + eta) * (2 * math.sqrt(-r * math.log(g)) - r)
        assert r * float(order) < float(best.renyi(order).upper) <= theirs + 1e-6


@looped(("sigma", "mean"), [(1, 1), (1, 1000), (1000, 1), (1000, 10**9), ("1/2", 20)])
def test_renyi_of_poisson_numbers_is_never_above_dp_accounting(sigma, mean):
    """`test_repeat_and_select_gaussian_poisson`: Theorem 6, where the mean is 1 or more."""
    best, s = Accountant(Repeated(of=dp.Gaussian(sigma=sigma), mean=mean)), float(F(sigma))
    for order in (F(3, 2), 4, 64):
        e = math.log1p(1 / float(order - 1))
        share = math.erfc((e * s - 0.5 / s) / math.sqrt(2)) / 2
        share -= math.exp(e) * math.erfc((e * s + 0.5 / s) / math.sqrt(2)) / 2
        theirs = float(order) / (2 * s * s) + mean * share + math.log(mean) / float(order - 1)
        assert float(best.renyi(order).upper) <= theirs * (1 + 1e-9) + 1e-9


def epsilon(delta="1e-5", of=None, **law):
    return float(Accountant(Repeated(of=of or dp.Gaussian(sigma=2), **law)).epsilon(delta).upper)


def test_costs_rise_with_runs_with_shape_and_with_what_one_run_costs():
    for grown in (
        [epsilon(gamma=gamma) for gamma in ("0.999999", "1/2", "1/20", "1/1000")],
        [epsilon(gamma="1/9", shape=shape) for shape in ("-9/10", "-1/2", 0, "1/1000", 1, 4)],
        [epsilon(mean=mean) for mean in ("1/100", 1, 4, 20, 90)],
        [epsilon(gamma="1/9", of=dp.Gaussian(sigma=sigma)) for sigma in (9, 3, 1)],
        [epsilon(delta=delta, gamma="1/9") for delta in ("1e-3", "1e-6", "1e-30")],
    ):
        assert grown == sorted(grown)
        assert len(set(grown)) == len(grown)
    assert epsilon(gamma="0.999999") == pytest.approx(
        float(Accountant(dp.Gaussian(sigma=2)).epsilon("1e-5")), abs=1e-3
    )


@looped("of", [dp.Pure(epsilon=0), dp.Gaussian(sigma=1, sensitivity=0)])
def test_runs_that_cost_nothing_cost_nothing(of):
    assert epsilon(of=of, gamma="1/20") == epsilon(of=of, mean=20) == 0


def test_a_delta_is_at_most_1():
    assert Accountant(Repeated(of=dp.Gaussian(sigma="0.01"), gamma="1e-20")).delta(0).upper <= 1


def test_failures_are_those_of_the_best_and_larger_plans_hold_it():
    failing = Repeated(of=dp.Sequence(of=(dp.Pure(epsilon=1),)), gamma="1/20")
    alone = Repeated(of=dp.events.Approximate(epsilon=1, delta="1e-7"), gamma="1/20")
    assert 1 < epsilon(of=alone.of, gamma="1/20") < 3  # 20 runs fail with probability 2e-6 at most
    assert Accountant(alone).epsilon("1.9e-6").upper == math.inf
    assert Accountant(alone).delta(0).upper < 1
    both = Accountant([alone, dp.Laplace(scale=4)]).epsilon("1e-5")
    assert both.lower is None
    assert 1.25 < both.upper < 3.3
    assert Accountant(failing).epsilon(0).upper <= 3
    assert Accountant(failing, group=2).epsilon("1e-3").upper < 13
    assert Accountant(Repeated(of=alone, mean=2)).epsilon("1e-4").upper < 6


@looped(
    "law",
    [
        {},
        {"gamma": 0},
        {"gamma": 1},
        {"mean": 0},
        {"mean": 2, "gamma": "1/2"},
        {"gamma": "1/2", "shape": -1},
        {"mean": 2, "shape": 2},
    ],
)
def test_what_is_no_law_with_a_mean_is_refused(law):
    with pytest.raises(InputError, match="no law of a number of runs"):
        Repeated(of=dp.Pure(epsilon=1), **law)


@looped("law", [{"mean": -3}, {"gamma": "-1/2"}, {"gamma": 2}, {"gamma": "1/2", "shape": -2}])
def test_numbers_out_of_range_are_refused(law):
    with pytest.raises(InputError, match="out of range"):
        Repeated(of=dp.Pure(epsilon=1), **law)


@deep
def test_a_tuned_run_counts_the_choice_and_says_so():
    run = dp.sgd(6000, 60, steps=20, sigma=2, tried=20)
    once = dp.sgd(6000, 60, steps=20, sigma=2)
    assert run.plan().events[0].of == once.plan().events[0]
    assert once.epsilon("1e-5").upper < run.epsilon("1e-5").upper
    assert run.epsilon("1e-5").lower is None
    assert "geometric of mean 20" in run.statement("1e-5")
    assert "is not counted" not in run.statement("1e-5")
    with pytest.raises(InputError, match="a mean of 0"):
        dp.sgd(6000, 60, steps=20, sigma=2, tried="1/2")


@looped("gamma", ["1e-300", "1e-6", "1/2"])
def test_a_curve_lies_within_the_pure_bound(gamma):
    """Beyond the largest loss of one run no weight is left to look for, however seldom runs end."""
    for epsilon in ("0.001", "1"):
        account = Accountant(Repeated(of=dp.Pure(epsilon=epsilon), gamma=gamma))
        assert account.epsilon(0).upper <= account.pure() * Fraction(10001, 10000)
