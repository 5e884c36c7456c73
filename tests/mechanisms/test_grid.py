from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpaccount.errors import InputError
from mechanisms.shared.grid import clipped, in_ball, step

anything = st.floats(allow_nan=True, allow_infinity=True)


@given(arrays(np.float64, 5, elements=anything), st.integers(0, 30))
def test_clipped_values_lie_in_the_interval_exactly(values, bits):
    low, high = Fraction(-1, 3), Fraction(5, 7)
    for unit in clipped(values, low, high, bits):
        assert low <= int(unit) * step(bits) <= high


@given(
    arrays(np.float64, (3, 4), elements=anything),
    st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7)]),
    st.integers(0, 25),
)
def test_rows_lie_in_the_ball_exactly(rows, radius, bits):
    for row in in_ball(rows, radius, bits):
        assert sum(int(v) ** 2 for v in row) <= (radius * 2**bits) ** 2


def test_values_inside_are_kept_to_the_grid():
    assert clipped(np.array([0.25, -0.75, 0.3]), Fraction(-1), Fraction(1), 2).tolist() == [1, -3, 1]
    assert in_ball(np.array([[0.6, 0.0]]), Fraction(1), 4).tolist() == [[9, 0]]


def test_ranges_without_grid_points_or_beyond_integers_are_refused():
    with pytest.raises(InputError, match="finer"):
        clipped(np.zeros(1), Fraction(1, 3), Fraction(2, 5), 1)
    with pytest.raises(InputError, match="coarser"):
        clipped(np.zeros(1), Fraction(0), Fraction(2**40), 40)
