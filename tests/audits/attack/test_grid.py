"""The second verdict on rounded results, and how a refuted claim stands under the other relation."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audits.api.functions import audit
from audits.attack.black_box import attack
from audits.attack.runs import Challenge, silent
from audits.datasets.bases import Pair
from audits.sandbox.outcomes import of_value
from audits.scores.grid import RoundingGrid
from audits.subjects.code import Code
from tests.depth import deep

STEPS = 24


def raw(data, rng):
    """Laplace noise on a number: sound with ε = 1 on a grid, and 0 has all low bits where 1 has none."""
    return float(data[0] + rng.laplace())


def coarse(data, rng):
    """Half of the noise that ε = 1 needs, on a grid of its own."""
    return float(np.round((data[0] + rng.laplace() / 4) * 256) / 256)


def counted(data, rng):
    """Geometric noise for a count of ones and zeros, which moves by two under replace-one."""
    keep = 1 - np.exp(-1.0)
    ones = [int((np.asarray(data) == k).sum()) for k in (0, 1)]
    return [n + int(rng.geometric(keep)) - int(rng.geometric(keep)) for n in ones]


def attacked(in_process, name, trials=4000, seed=1):
    crew = in_process(Code(f"{__name__}:{name}", ()), seconds=10**6)
    pair = Pair(np.array([0.0]), np.array([1.0]), "given")
    plan = Challenge(Fraction(1), Fraction(0), trials, Fraction(1, 20), seed)
    return attack(crew, [pair], plan, silent)


@deep
def test_low_bits_are_gone_on_the_grid_and_the_rest_of_the_noise_is_not(in_process):
    found = attacked(in_process, "raw")
    assert found.verdict(Fraction(1)) == "REFUTED"
    assert "lowest set bit" in (found.cause or found.score)
    assert found.on_grid is not None
    assert 0.4 < found.on_grid.reached.epsilon_lower <= 1


@deep
def test_what_is_wrong_beside_low_bits_is_wrong_on_the_grid_too(in_process):
    found = attacked(in_process, "coarse")
    assert found.on_grid is not None
    assert found.on_grid.reached.epsilon_lower > 1


@deep
def test_nothing_is_said_of_a_grid_where_the_claim_stands_or_all_is_whole(in_process):
    assert attacked(in_process, "counted").on_grid is None  # the pair's first record is all it has: ε = 2


@deep
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=5), st.integers(-40, 40))
def test_a_grid_is_a_grid(numbers, exponent):
    """Every finite number that is rounded is a multiple of the step, near it, and zeros have one sign."""
    grid = RoundingGrid(np.full(len(numbers), float(exponent)))
    before = of_value(numbers)
    after = grid.rounded([before])[0]
    assert (after.structure, after.labels) == (before.structure, before.labels)
    for x, y in zip(before.numbers, after.numbers, strict=True):
        if np.isfinite(x) and abs(x) < 2.0**50:
            assert y / 2.0**exponent == round(y / 2.0**exponent)
            assert abs(x - y) <= 2.0**exponent / 2
            assert y != 0 or not np.signbit(y)
    kept = RoundingGrid(np.full(len(numbers), np.nan)).rounded([before])[0]
    assert kept.key() == before.key()


@deep
def test_the_verdict_on_the_grid_keeps_its_error(in_process):
    """Laplace noise that is sound but for its bits: at most as many of 60 accused on the grid as stated."""
    from scipy.stats import binom

    wrong = sum(
        found.on_grid is not None and found.on_grid.reached.epsilon_lower > 1
        for found in (attacked(in_process, "raw", 1200, seed) for seed in range(60))
    )
    assert wrong <= binom.ppf(0.999, 60, 0.05)


@deep
def test_a_refuted_claim_says_how_it_stands_under_the_other_relation(in_process):
    asked = {"epsilon": 1, "shape": [6], "low": 0, "high": 1, "dtype": "int", "trials": 3000}
    found = audit(f"{__name__}:counted", **asked)
    assert found["verdict"] == "REFUTED"
    assert found["other_relation"]["relation"] == "add-remove"
    assert found["other_relation"]["verdict"] == "NOT REFUTED"
    sound = audit(f"{__name__}:counted", **asked, relation="add-remove")
    assert sound["verdict"] == "NOT REFUTED"
    assert "other_relation" not in sound
