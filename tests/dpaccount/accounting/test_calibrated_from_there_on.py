"""The least noise from which on a target holds, the same by an event's name, in a file, and by a function."""

import json
import random
from fractions import Fraction

import pytest

from dpaccount import Accountant, DiscreteGaussian, Gaussian, Plan, PoissonSubsampled, calibrate
from dpaccount.accounting.calibration.calibrate import settle
from dpaccount.accounting.calibration.parameters import NAMED
from dpaccount.accounting.calibration.unknown import unknown_in
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.plan.events import VOCABULARY
from tests.depth import deep


def by_every_route(name, epsilon, delta, **fixed):
    """Return what is found by name, in a file, and by a function."""
    key, falls = NAMED[name].key, NAMED[name].falls
    event = {"event": name, key: "?", **fixed}
    text = json.dumps({"schema": "dpaccount/events/1", "relation": "replace-one", "events": [event]})
    by_function = calibrate(
        lambda value: VOCABULARY[name](**{key: value, **fixed}), epsilon, delta, grows=not falls
    )
    sought = settle(unknown_in(parse_json(text.encode(), "plan.json")), Fraction(epsilon), Fraction(delta))
    return [calibrate(name, epsilon, delta, **fixed).text, sought.text, by_function.text]


def beyond(value, cost, epsilon, points=120, reach=3.0):
    """Say that all noise on a grid from a value on meets ε, the smallest steps first."""
    for k in range(points):
        noise = value * Fraction(reach ** ((k / points) ** 2))
        assert cost(noise).lower <= Fraction(epsilon), (value, noise)


@deep
def test_more_noise_never_breaks_what_was_found():
    """By two routes .7034 was found, by others .6123, which .65 and .69 break."""
    found = by_every_route("discrete_gaussian", 16, "1e-5", sensitivity=2)
    assert len(set(found)) == 1
    assert found[0].startswith("0.70337847")


@deep
@pytest.mark.parametrize("seed", range(6))
def test_discrete_noise_from_there_on(seed):
    """At random targets; and a little less noise than was found does not do, or its neighbours above do not."""
    rng = random.Random(seed)
    moved, count = rng.choice([1, 2, 3]), rng.choice([1, 1, 2])
    epsilon = Fraction(round(moved * count * rng.choice([0.3, 0.7, 1.2, 2, 5, 9]) * rng.uniform(0.8, 1.2), 3))
    delta = Fraction(10) ** -rng.choice([1, 2, 5, 8])
    found = by_every_route("discrete_gaussian", epsilon, delta, sensitivity=moved, count=count)
    assert len(set(found)) == 1

    def cost(noise):
        return Accountant(DiscreteGaussian(sigma=noise, sensitivity=moved, count=count)).epsilon(delta)

    beyond(Fraction(found[0]), cost, epsilon)
    assert cost(Fraction(found[0]) * (1 - Fraction(1, 10**6))).upper > epsilon


@deep
def test_sampled_discrete_noise_from_there_on():
    def plan(noise):
        return Plan(
            "add-remove", PoissonSubsampled(rate="0.9", of=DiscreteGaussian(sigma=noise, sensitivity=2))
        )

    found = calibrate(plan, 16, "1e-5")
    beyond(found.value, lambda noise: Accountant(plan(noise)).epsilon("1e-5"), 16)


@deep
def test_discrete_noise_for_a_group_from_there_on():
    """Of two units; zCDP of one of them is met long before."""

    def cost(noise):
        return Accountant(DiscreteGaussian(sigma=noise), group=2).epsilon("1e-5")

    found = calibrate(lambda noise: DiscreteGaussian(sigma=noise), 16, "1e-5", group=2)
    both = calibrate("discrete_gaussian", 16, "1e-5", sensitivity=2)
    assert abs(found.value / both.value - 1) < Fraction(1, 10**10)
    beyond(found.value, cost, 16)


@deep(quick_every=6)
@pytest.mark.parametrize("name", ["gaussian", "laplace", "discrete_laplace", "pure", "zcdp", "gdp"])
def test_every_route_finds_the_same(name):
    for epsilon, delta in (("1.5", "1e-6"), ("12", "1e-3")):
        assert len(set(by_every_route(name, epsilon, delta, count=3))) == 1


@pytest.mark.parametrize("bend", [2, 5, 60])
def test_a_function_whose_cost_rises_again_is_refused(bend):
    first = calibrate("gaussian", 1, "1e-6").value
    with pytest.raises(InputError, match=r"the cost is not monotone|no noise meets"):
        calibrate(lambda x: Gaussian(sigma=x if x < bend * first else first / 2), 1, "1e-6")
