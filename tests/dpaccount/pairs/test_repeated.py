"""The best of a random number of runs: enumerated laws, the published bounds, and what is refused."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import (
    Accountant,
    Approximate,
    DominatingPair,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Repeated,
    Zcdp,
)
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.repeated import RepeatedBound
from dpaccount.plan.plan_file import read_plan
from tests.looped import looped

TIMES = (0.0, 0.2, 0.7, 1.5)
WAYS = [{"shape": 0}, {"shape": "0.5"}, {"shape": 1}, {"shape": 3}, {"runs": "poisson"}]
PAIRS = [
    ((0.5, 0.3, 0.2), (0.3, 0.3, 0.4)),
    ((0.45, 0.05, 0.4, 0.1), (0.5, 0.05, 0.05, 0.4)),
    ((0.001, 0.999), (0.002, 0.998)),
    ((0.9, 0.1), (0.1, 0.9)),
]


def plan(of, relation="replace-one", **more):
    return Accountant(Plan(relation, Repeated(of=of, **more)))


def generating(mean, way):
    """The generating function of the number of runs, in floats, γ by bisection of its mean."""
    if "runs" in way:
        return lambda x: math.exp(mean * (x - 1))
    eta = float(Fraction(way["shape"]))

    def mean_at(gamma):
        if eta == 0:
            return (1 / gamma - 1) / math.log(1 / gamma)
        return eta * (1 - gamma) / (gamma * (1 - gamma**eta))

    low, high = 1e-12, 1 - 1e-12
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if mean_at(middle) > mean else (low, middle)
    if eta == 0:
        return lambda x: math.log(1 - (1 - low) * x) / math.log(low)
    return lambda x: ((1 - (1 - low) * x) ** -eta - 1) / (low**-eta - 1)


def best(law, f):
    """The law of the best run, results in rising order; last, that there is none."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    return np.array([*np.diff([f(x) for x in below]), f(0.0)])


def cost(there, back, t):
    return max(float(np.maximum(a - math.exp(t) * b, 0).sum()) for a, b in ((there, back), (back, there)))


def given(p, q):
    return DominatingPair(p=[str(x) for x in p], q=[str(x) for x in q])


def bound(of, mean, way):
    """The curve above, of one release."""
    shape = None if "runs" in way else Fraction(way["shape"])
    inner = composition_of([(of, 1)])
    curve = RepeatedBound(inner, Fraction(str(mean)), shape).curve(64)
    return lambda t: float(curve(Fraction(t)).upper())


@looped("way", WAYS)
def test_no_law_of_runs_costs_more_than_its_bound(way):
    """Every order of a few results, several means, both directions; the program of the law is another one."""
    for p, q in PAIRS:
        for mean in (0.3, 2, 30) if "runs" in way else (1.5, 30):
            curve, f = bound(given(p, q), mean, way), generating(mean, way)
            for order in itertools.permutations(range(len(p))):
                laws = [best(np.array(law)[list(order)], f) for law in (p, q)]
                for t in TIMES:
                    assert cost(*laws, t) <= curve(t) + 1e-9


def test_the_enumeration_sees_a_number_of_runs_that_is_not_counted():
    """Of 30 runs on average the best costs more than what is proved of about one."""
    (p, q), f = PAIRS[0], generating(30, {"shape": 1})
    worst = max(cost(*(best(np.array(law)[::way], f) for law in (p, q)), 0.7) for way in (1, -1))
    assert worst > bound(given(p, q), "1.01", {"shape": 1})(0.7)


@looped("shape", ["0", "0.5", "1", "2", "5"])
def test_pure_releases_cost_two_and_the_shape_times_as_much(shape):
    """dp_accounting's test_repeat_select_pure_negative_binomial; Corollary 3 of Papernot & Steinke."""
    bound = plan(Pure(epsilon=1), mean=1000, shape=shape)
    assert bound.epsilon(0).upper == 2 + Fraction(shape)


@looped("rho", [0.01, 1.0, 10.0])
@looped("shape", ["0", "0.5", "1", "5"])
def test_gaussian_runs_cost_no_more_than_is_published(rho, shape):
    """dp_accounting's test_repeat_select_gaussian_negative_binomial: its D_α at every order from its formula's on."""
    bound = RepeatedBound(composition_of([(Zcdp(rho=rho), 1)]), Fraction(10), Fraction(shape))
    with precision(128):
        x = float(bound.rare)
        if rho > x:
            return
        moved = (1 + float(Fraction(shape))) * (2 * math.sqrt(rho * x) - rho)
        first = 1 + math.sqrt(math.log(10) / rho)
        for order in (first, first + 1, 100.0):
            published = rho * order + moved + math.log(10) / (order - 1)
            assert float(bound.renyi(Fraction(order))) == pytest.approx(published, rel=1e-6) or (
                float(bound.renyi(Fraction(order))) < published
            )


@looped("sigma", [0.1, 1, 10])
def test_one_run_costs_what_a_run_costs(sigma):
    """dp_accounting's test_repeat_select_trivial."""
    alone = Accountant(Plan("add-remove", Gaussian(sigma=sigma))).epsilon("1e-5")
    assert plan(Gaussian(sigma=sigma), "add-remove", mean=1).epsilon("1e-5") == alone


@looped("case", [(1, 1), (0.1, 2), (10, 10), (0.001, 100), (2, 1000)])
def test_poisson_runs_cost_no_more_than_is_published(case):
    """dp_accounting's test_repeat_and_select_pure_poisson: the same D_α at α = 1 + 1/(e^ε − 1), and a pure bound."""
    epsilon, mean = case
    bound = RepeatedBound(composition_of([(Laplace(scale=1 / Fraction(epsilon)), 1)]), Fraction(mean), None)
    order = 1 + 1 / math.expm1(epsilon)
    inner = epsilon + math.log1p(math.expm1((1 - 2 * order) * epsilon) * (order - 1) / (2 * order - 1)) / (
        order - 1
    )
    published = inner + math.log(mean) * math.expm1(epsilon)
    with precision(128):
        assert float(bound.renyi(Fraction(order))) <= published * (1 + 1e-6) + 1e-9
        assert float(bound.ceiling()) == pytest.approx(epsilon + mean * math.tanh(epsilon / 2))


@looped("way", WAYS)
def test_more_runs_and_costlier_ones_cost_more(way):
    at, some = (0.3, 1), bound(Laplace(scale=2), 4, way)
    for more in (bound(Laplace(scale=2), 5, way), bound(Laplace(scale="1.5"), 4, way)):
        assert all(more(t) >= some(t) for t in at)
    once = Accountant(Plan("add-remove", Laplace(scale=2)))
    assert all(some(t) >= once.delta(t).lower for t in at)


@pytest.mark.slow
def test_tuning_a_training_run_costs_about_twice_as_much():
    """MNIST, 60 epochs: ε 2.3817 alone; lattices of two releases are above those of one."""
    run = PoissonSubsampled(rate="256/60000", of=Gaussian(sigma="1.1"), count=14063)
    found = plan(run, "add-remove", mean=10).epsilon("1e-5")
    assert found.lower is None
    assert 2.3817 < found.upper < 4.8
    assert plan(run, "add-remove", mean=10, count=2).epsilon("1e-5").upper > found.upper


def test_failures_are_counted_as_often_as_there_are_runs():
    bound = plan(Approximate(epsilon="0.1", delta="1e-6"), mean=10)
    assert Fraction(10, 10**6) <= bound.delta(5).upper <= Fraction(11, 10**6)


@looped("event, said", [
    ({"mean": "1/2"}, "mean = 1/2 is out of range; it must be at least 1"),
    ({"mean": 0, "runs": "poisson"}, "mean"),
    ({}, "mean"),
    ({"mean": 3, "runs": "zipf"}, "zipf"),
    ({"mean": 3, "shape": -1}, "shape"),
])  # fmt: skip
def test_a_number_of_runs_without_a_mean_is_refused_in_a_sentence(event, said):
    document = {"schema": "dpaccount/events/1", "relation": "add-remove"}
    document["events"] = [{"event": "repeated", "of": {"event": "gaussian", "sigma": 1}, **event}]
    with pytest.raises(InputError) as refused:
        read_plan(parse_json(json.dumps(document), "plan.json"))
    assert said.partition(" ")[0] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_groups_are_those_of_a_run():
    event = Repeated(of=Gaussian(sigma=2), mean=3)
    assert event.for_group(2) == Repeated(of=Gaussian(sigma=2, sensitivity=2), mean=3)
    assert Composition.of(RepeatedBound(composition_of([(event.of, 1)]), Fraction(3), Fraction(1))).upper
    assert plan(RandomizedResponse(epsilon=1), mean=3).epsilon(0).upper == 3
