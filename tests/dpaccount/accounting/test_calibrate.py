"""Calibrated noise is enough, and a millionth less is not."""

from fractions import Fraction

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import FINE, GAP, calibrate
from dpaccount.accounting.calibration.least_noise import first_met
from dpaccount.accounting.calibration.parameters import CLOSED, NAMED
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.plan.events import VOCABULARY, Plan, Relation
from tests.depth import deep
from tests.looped import looped

LESS = Fraction(1, 10**6)
TARGETS = {
    "ordinary": (1, Fraction(1), Fraction(1, 10**6)),
    "many": (10**9, Fraction(3), Fraction(1, 10**5)),
    "loose": (5, Fraction(10), Fraction(1, 1000)),
    "tight": (3, Fraction(1, 10), Fraction(1, 10**12)),
}

ALIKE = ("bounded_range", "permute_and_flip", "randomized_response")  #: curves of exponential, laplace, pure


def account(name, value, count, delta, rounds):
    """Return ε as `account` would print it by default."""
    shape = {} if rounds is None else {"rounds": rounds}
    event = VOCABULARY[name](**{NAMED[name].key: value, "count": count, **shape})
    return Accountant(Plan(Relation.REPLACE_ONE, (event,))).epsilon(delta)


def test_every_event_with_a_scale_is_known():
    scales = {"sigma", "scale", "epsilon", "eta", "rho", "mu"}
    with_scale = {name for name, kind in VOCABULARY.items() if scales & set(kind.__dataclass_fields__)}
    several = {
        "approximate",
        "dp_ftrl",
        "banded_poisson",
        "balls_in_bins",
        "shuffled",
        "shuffled_response",
        "gaussian_mixture",
    }  # with δ, steps or a population: sought in a file
    assert with_scale - several == set(NAMED)


@looped("power", [1, 2, 7, 40])
@looped("up", [True, False])
def test_a_value_that_meets_the_wider_answer_is_found_in_few_steps_near_the_first(power, up):
    asked = []

    def cost(value, gap=FINE):
        asked.append(gap)
        exact = value ** (-power if up else power)
        return Enclosure(exact, exact + gap)

    value, text, bounds = first_met(cost, Fraction(1), Fraction(1), up=up)
    assert (Fraction(text), cost(value)) == (value, bounds)
    assert cost(value, GAP).upper <= 1
    assert abs(value - 1) < GAP * max(3 / power, 0.3)
    assert len(asked) < 12


@deep
@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for name in sorted(NAMED)
        for target in TARGETS
        if target == "ordinary" or name not in ALIKE
    ],
)
def test_it_is_enough_and_a_millionth_less_is_not(name, target):
    count, epsilon, delta = TARGETS[target]
    rounds = 100 if name in ("tree", "matrix_factorisation") else None
    found = calibrate(name, epsilon, delta, count=count, rounds=rounds)
    assert Fraction(found.text) == found.value
    assert found.bounds.upper <= epsilon
    assert account(name, found.text, count, delta, rounds).upper <= epsilon
    less = found.value * (1 - LESS if NAMED[name].falls else 1 + LESS)
    broken = account(name, less, count, delta, rounds)
    assert (broken.upper if broken.lower is None else broken.lower) > epsilon


@looped(
    ("name", "value"),
    [("laplace", 3), ("discrete_laplace", 3), ("pure", Fraction(1, 3)), ("exponential", Fraction(1, 3))],
)
def test_pure_targets_are_met_exactly(name, value):
    found = calibrate(name, Fraction(1), Fraction(0), count=3)
    assert found.bounds.upper <= 1
    assert abs(found.value - value) < Fraction(1, 10**12)


@deep
@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "count"),
    [
        ("gaussian", "1e-3000", "1e-10", 1),
        ("gaussian", "1", "1e-3000", 1),
        ("gaussian", "1e3000", "1e-10", 1),
        ("laplace", "1", "1e-6", 10**18),
        ("gdp", "1e-100", "1e-5", 10**18),
        ("zcdp", "1e4", "1e-300", 1),
        ("gaussian", "0", "1e-6", 1),
        ("bounded_range", "0", "1e-6", 1),
    ],
)
def test_extremes(name, epsilon, delta, count):
    found = calibrate(name, Fraction(epsilon), Fraction(delta), count=count)
    assert found.value > 0
    assert found.bounds.upper <= Fraction(epsilon)


@looped(
    ("name", "options", "message"),
    [
        ("poisson_subsampled", {}, "cannot be calibrated"),
        ("tree", {}, "rounds"),
        ("gaussian", {"rounds": 3}, "no rounds"),
        ("pure", {"sensitivity": Fraction(2)}, "no sensitivity"),
        ("gaussian", {"sensitivity": Fraction(0)}, "costs nothing"),
        ("gaussian", {"delta": Fraction(0)}, "no noise"),
        ("zcdp", {"delta": Fraction(0)}, "no noise"),
        ("gaussian", {"delta": Fraction(1)}, "out of range"),
        ("gaussian", {"count": 0}, "count"),
        *(
            (name, {"count": (1 << 63) + 1}, "the count is out of range")
            for name in sorted(set(NAMED) - CLOSED)
        ),
        *(("tree", {"rounds": 10**n}, "number of rounds is out of range") for n in (19, 308, 1000, 5000)),
        *(
            ("matrix_factorisation", {"rounds": 10**n}, "number of rounds is out of range")
            for n in (308, 1000)
        ),
    ],
)
def test_what_cannot_be_calibrated_is_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        calibrate(name, Fraction(1), options.pop("delta", Fraction(1, 10**5)), **options)
