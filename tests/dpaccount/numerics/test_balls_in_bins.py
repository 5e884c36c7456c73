"""Banded factors on bins that are drawn once: beside random allocation, and the true laws of few rounds."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount import Accountant, BallsInBins, Gaussian, Plan, PoissonSubsampled, RandomAllocation, Sequence
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep, examples
from tests.dpaccount.numerics.test_banded_samples import lower


def answers(event):
    account = Accountant(Plan("add-remove", event))
    return account.epsilon("1e-5"), account.delta("0.5")


@deep
def test_the_identity_is_random_allocation_to_the_last_digit():
    found = answers(BallsInBins(rounds=12, sigma=3, bins=4))
    assert found == answers(RandomAllocation(steps=4, of=Gaussian(sigma=3) * 3))
    assert found[0].upper - found[0].lower < Fraction(1, 10**6)
    one = answers(BallsInBins(rounds=5, sigma=3, bins=1, sensitivity=2))
    for answer, plain in zip(one, answers(Gaussian(sigma=3, sensitivity=2) * 5), strict=True):
        assert answer.lower == plain.lower
        assert abs(answer.upper - plain.upper) < Fraction(1, 10**15)  # its own μ may bound it, too


@examples(80)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 10**6))
def test_bins_have_their_columns_and_some_share_no_row(rounds, bins, seed):
    bins, rng = min(rounds, bins), np.random.default_rng(seed)
    rows = lower(rng, rounds, int(rng.integers(1, bins + 1)))
    square = np.array([[*row, *[0] * (rounds - len(row))] for row in rows])
    event = BallsInBins(rounds=rounds, sigma=1, bins=bins, rows=rows)
    sums = [int((square[:, j::bins] ** 2).sum()) for j in range(bins)]
    assert event.squares() == (min(sums), max(sums))
    apart = bins // event.steps()
    for start in range(bins):
        picked = [(start + k * apart) % bins for k in range(event.steps())]
        rounds_of = [i for j in picked for i in range(j, rounds, bins)]
        assert (np.count_nonzero(square[:, rounds_of], axis=1) <= 1).all()
    column = [abs(x) for x in rows[-1][::-1][:bins]]
    by_weights = BallsInBins(rounds=rounds, sigma=1, bins=bins, coefficients=column)
    written = [[column[i - j] if i - j < len(column) else 0 for j in range(i + 1)] for i in range(rounds)]
    same = BallsInBins(rounds=rounds, sigma=1, bins=bins, rows=written)
    assert by_weights.squares() == same.squares()
    assert by_weights.steps() == same.steps()


def costs(rows, bins, moves, t):
    """δ(t) of three rounds by the trapezoid rule, removed and added; `moves` holds each round's gradient."""
    grid = np.linspace(-10, 10, 81)
    there, none = 0, np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
    for j in range(bins):
        shift = [sum(row[i] * moves[i] for i in range(j, len(row), bins)) for row in rows]
        noise = [np.exp(-((grid - at) ** 2) / 2) / math.sqrt(2 * math.pi) for at in shift]
        there = there + np.einsum("i,j,k->ijk", *noise) / bins
    gone, cell = np.einsum("i,j,k->ijk", none, none, none), (grid[1] - grid[0]) ** 3
    return [float(np.maximum(p - math.exp(t) * q, 0).sum() * cell) for p, q in ((there, gone), (gone, there))]


SLOW = [(2, 1, 1), (3, 3, 2), (3, 1, 3), (3, 2, 4)]
CASES = [(2, 2, 0), *(pytest.param(*case, marks=deep) for case in SLOW)]


@pytest.mark.parametrize(("bins", "width", "seed"), CASES)
def test_three_rounds_beside_their_true_laws(bins, width, seed):
    """No gradients cost more than the upper end; where there is a lower end, equal ones cost it."""
    rng, t = np.random.default_rng(seed), 0.3
    rows = [[abs(x) / 3 for x in row] for row in lower(rng, 3, width)]
    rows = [[*row[:-1], row[-1] + 0.25] for row in rows]
    exact = [[Fraction(x).limit_denominator(1200) for x in row] for row in rows]
    event = BallsInBins(rounds=3, sigma=1, bins=bins, rows=exact)
    found = Accountant(Plan("add-remove", event)).delta(str(t), "1e-2")
    equal = max(costs(rows, bins, [1, 1, 1], t))
    assert float(found.lower or 0) <= equal + 1e-3
    for moves in itertools.product((-1, 0.5, 1), repeat=3):
        assert max(costs(rows, bins, moves, t)) <= float(found.upper) + 1e-3
    negative = [[x if k % 2 else -x for k, x in enumerate(row)] for row in exact]
    assert answers(BallsInBins(rounds=3, sigma=1, bins=bins, rows=negative)) == answers(event)


def test_ignoring_that_bins_share_rows_would_be_too_little():
    """Why p bands leave ⌊bins/p⌋ steps: equal gradients cost more than an allocation to all bins."""
    rows, t = [[1], [1, 1], [0, 1, 1]], 0.3
    event = BallsInBins(rounds=3, sigma=1, bins=2, rows=rows)
    allocated = Accountant(Plan("add-remove", RandomAllocation(steps=2, of=Gaussian(sigma=1) * 3)))
    truth = max(costs(rows, 2, [1, 1, 1], t))
    assert truth > float(allocated.delta(str(t)).upper)
    assert truth <= float(Accountant(Plan("add-remove", event)).delta(str(t), "1e-2").upper)


GIVEN = {"event": "balls_in_bins", "rounds": 4, "sigma": 1, "bins": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coefficients": [1, 1, 1]}, "3 bands, and there are 2 bins"),
        ({"rows": [[1], [0, 1], [1, 0, 1], [0, 0, 0, 1]]}, "3 bands, and there are 2 bins"),
        ({"bins": 5}, "more bins than rounds"),
        ({"bins": 0}, "bins"),
        ({"coefficients": [1], "rows": [[1]]}, "rows"),
        ({"rate": "0.1"}, "rate"),
    ],
)
def test_what_has_no_bound_is_refused(change, message):
    text = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [GIVEN | change]}
    with pytest.raises(InputError, match=message):
        read_plan(parse_json(json.dumps(text), "plan"))


def test_bins_are_not_sampled_again_or_replaced():
    event = BallsInBins(rounds=4, sigma=1, bins=2)
    for inside in (lambda: PoissonSubsampled(rate="0.1", of=event), lambda: Sequence(of=[event])):
        with pytest.raises(InputError, match="balls_in_bins is inside another event"):
            inside()
    with pytest.raises(InputError, match="counted under add-remove"):
        Plan("replace-one", event)
