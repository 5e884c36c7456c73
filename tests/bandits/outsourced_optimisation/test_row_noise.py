"""The noise of rows is chosen by its variance, from public numbers, and meets its promise."""

import math
from fractions import Fraction

import pytest

from bandits.outsourced_optimisation.row_noise import choose
from dpaccount.errors import InputError
from dpaccount.proof import point
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.k_norm import KNorm
from tests.depth import deep
from tests.looped import looped

F = Fraction
DELTA, UNIT, RADIUS = F(1, 10**5), F(1), F(25)
MADE = {"k-norm": KNorm, "gaussian-rows": GaussianRows}


def exponential(power):
    return F(math.floor(math.exp(power) * 10**6), 10**6)


@deep(quick_every=2)
@pytest.mark.parametrize(("power", "columns"), [(1.1, 2), (1.1, 16), (1.1, 17), (2.9, 3), (2.9, 40)])
@pytest.mark.parametrize("unit", [UNIT, F(0)])
def test_what_is_chosen_meets_the_promise_and_wastes_little(power, columns, unit):
    epsilon = exponential(power)
    found = choose(columns, epsilon, DELTA, unit, RADIUS)
    made = MADE[found.subject](**found.parameters, unit=unit, radius=RADIUS, columns=columns, rows=1)
    cost = point(made.proof(F(0) if found.subject == "k-norm" else DELTA))[0]
    assert epsilon * F(99, 100) <= cost <= epsilon
    assert f"d = {columns}" in found.because


@deep
def test_the_crossing_is_where_variances_cross():
    """(d + 1)/ε² against σ²: 17 columns at e^1.1; at e^2.9 it would be 32, beyond what K-norm is drawn for."""
    for power, crossing in ((1.1, 17), (2.9, 17)):
        chosen = [
            choose(d, exponential(power), DELTA, UNIT, RADIUS).subject for d in (crossing - 1, crossing)
        ]
        assert chosen == ["k-norm", "gaussian-rows"]
    at, beyond = (choose(d, exponential(2.9), DELTA, UNIT, RADIUS).because for d in (30, 33))
    assert "at most 16 columns" in at
    assert "at most 16 columns" not in beyond


def test_published_deviations_come_out():
    """√3/e^1.1 = .577 off the grid and σ = 1.3889, each within the grid's share."""
    small = choose(2, exponential(1.1), DELTA, UNIT, RADIUS)
    assert small.deviation == pytest.approx(
        math.sqrt(3) / math.exp(1.1) * (1 + math.sqrt(2) / 4096), rel=1e-5
    )
    wide = choose(20, exponential(1.1), DELTA, UNIT, RADIUS)
    assert 1.38889 < wide.deviation < 1.38889 * 1.0011  # by a part in 2^10, as it is sought


def test_without_delta_there_is_k_norm_noise_only():
    assert choose(16, F(1), F(0), UNIT, RADIUS).subject == "k-norm"
    with pytest.raises(InputError, match="at most 16 columns"):
        choose(17, F(1), F(0), UNIT, RADIUS)


@looped(
    "bad",
    [{"epsilon": F(0)}, {"delta": F(1)}, {"delta": F(-1)}, {"columns": 0}, {"radius": F(0)}, {"unit": F(-1)}],
)
def test_numbers_out_of_range_are_refused(bad):
    given = {"columns": 2, "epsilon": F(1), "delta": DELTA, "unit": UNIT, "radius": RADIUS, **bad}
    with pytest.raises(InputError, match="needed"):
        choose(**given)
