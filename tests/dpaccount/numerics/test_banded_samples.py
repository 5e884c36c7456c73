"""Factors that are written out, and banded ones on cyclic Poisson samples: no pattern and no unit costs more."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting.accountant import Accountant
from dpaccount.checker.sensitivity import stretch
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.closed import toeplitz
from dpaccount.plan.events import BandedPoisson, DpFtrl, Gaussian, Plan, PoissonSubsampled, Sequence
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep, examples
from tests.dpaccount.numerics.test_participations import SHAPES, banded, largest


def lower(rng, rounds, bands=None):
    """A random lower-triangular factor, row by row up to the diagonal."""
    wide = bands or rounds
    return [[int(rng.integers(-3, 4)) if i - j < wide else 0 for j in range(i + 1)] for i in range(rounds)]


@examples(80)
@given(SHAPES, st.integers(0, 10**6), st.sampled_from([1, 3]))
def test_matrices_beside_every_pattern_and_sign(shape, seed, scale):
    rounds, k, b = shape
    rows = lower(np.random.default_rng(seed), rounds)
    event = DpFtrl(
        rounds=rounds,
        sigma=2 * scale,
        participations=k,
        separation=b,
        mechanism="matrix",
        rows=[[Fraction(x, scale) for x in row] for row in rows],
    )
    square = [[*row, *[0] * (rounds - len(row))] for row in rows]
    truth = Fraction(largest(square, k, b), (2 * scale * scale) ** 2)
    low, high = event.movement()
    assert low <= truth <= high
    bound = stretch(rows, rounds, toeplitz.most_participations(rounds, k, b), b)
    assert high == Fraction(bound, (2 * scale * scale) ** 2)


@examples(60)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 10**6))
def test_turns_of_a_banded_factor_have_their_longest_columns(rounds, parts, seed):
    rows = lower(np.random.default_rng(seed), rounds, parts)
    columns = [sum(row[j] ** 2 for row in rows[j:]) for j in range(rounds)]
    event = BandedPoisson(rounds=rounds, sigma=1, rate="1/3", parts=parts, rows=rows)
    turns, attained = event.squares()
    longest = [max(columns[k : k + parts]) for k in range(0, rounds, parts)]
    assert sorted(turns.elements()) == sorted(longest)
    assert attained is any(columns[part::parts] == longest for part in range(parts))
    weights = [abs(x) for x in rows[-1][::-1][:parts]]
    written = banded(weights, rounds)
    same = BandedPoisson(
        rounds=rounds, sigma=1, rate="1/3", parts=parts, rows=[row[: i + 1] for i, row in enumerate(written)]
    )
    by_weights = BandedPoisson(rounds=rounds, sigma=1, rate="1/3", parts=parts, coefficients=weights)
    assert by_weights.squares() == same.squares() == (same.squares()[0], True)


def sampled_law(rows, moves, rate, grid):
    """Return the law of C·g + Z on a grid, where each move g_i of its round is there with probability `rate`."""
    law = 0
    for there in itertools.product((0, 1), repeat=len(moves)):
        chance = np.prod([rate if bit else 1 - rate for bit in there])
        shift = [
            sum(bit * g * (row[i] if i < len(row) else 0) for bit, (i, g) in zip(there, moves, strict=True))
            for row in rows
        ]
        noise = [np.exp(-((grid - at) ** 2) / 2) / np.sqrt(2 * np.pi) for at in shift]
        law = law + chance * np.einsum("i,j,k->ijk", *noise)
    return law * (grid[1] - grid[0]) ** 3


@deep
@examples(10, 10)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([0.2, 0.6]),
    st.sampled_from([0.0, 0.4]),
)
def test_no_unit_of_a_banded_factor_costs_more_than_its_samples(seed, parts, rate, t):
    """Three rounds by quadrature: any part, moves of either sign; removed, and added."""
    rng = np.random.default_rng(seed)
    rows = [[x / 2 for x in row] for row in lower(rng, 3, parts)]
    grid = np.linspace(-9, 9, 73)
    event = BandedPoisson(rounds=3, sigma=1, rate=str(rate), parts=parts, rows=rows)
    most = Accountant(Plan("add-remove", event)).delta(str(t), "1e-2").upper
    for part in range(parts):
        moves = [(i, rng.choice([-1, 1, 0.5])) for i in range(part, 3, parts)]
        laws = sampled_law(rows, moves, rate, grid), sampled_law(rows, [], rate, grid)
        for p, q in (laws, laws[::-1]):
            assert np.maximum(p - np.exp(t) * q, 0).sum() <= float(most) + 2e-3


@deep
def test_banded_samples_are_samples_of_gaussian_noise():
    """Turns that are cut short cost less; at rate 1 they are what rounds cost that are a band apart."""
    terms = {"sigma": 3, "rate": "1/5", "parts": 2, "coefficients": [2, 1]}
    one, two = (Accountant(BandedPoisson(rounds=n, **terms)).epsilon("1e-5") for n in (7, 8))
    noise = Gaussian(sigma=3, sensitivity=1)
    for bounds, last in ((one, 4), (two, 5)):
        samples = [PoissonSubsampled(rate="1/5", of=Sequence(of=[noise] * n)) for n in (5, 5, 5, last)]
        assert bounds == Accountant(Plan("add-remove", samples)).epsilon("1e-5")
    assert one.upper < two.lower
    whole = Accountant(BandedPoisson(rounds=7, **(terms | {"rate": 1}))).gdp()
    apart = DpFtrl(
        rounds=7, sigma=3, participations=4, separation=2, mechanism="toeplitz", coefficients=[2, 1]
    )
    assert whole == apart.mu_squared() == Fraction(19, 9)
    assert Accountant(BandedPoisson(rounds=7, **(terms | {"rate": 0}))).epsilon("1e-5").upper == 0


def test_the_first_bands_of_a_square_root():
    event = BandedPoisson(rounds=100, sigma=1, rate="1/5", parts=3)
    weights = [Fraction(1), Fraction(1, 2), Fraction(3, 8)]
    assert event.squares()[0] == {sum(w * w for w in weights): 33, Fraction(1): 1}
    same = BandedPoisson(rounds=100, sigma=1, rate="1/5", parts=3, coefficients=weights)
    assert event.squares() == same.squares()


def test_a_part_fewer_than_bands_would_cost_more():
    """Why it is refused: rounds whose columns meet move more than their columns do one by one."""
    rows = [[1], [1, 1]]
    with pytest.raises(InputError, match="2 bands, and there are 1 parts"):
        BandedPoisson(rounds=2, sigma=1, rate=1, parts=1, rows=rows)
    columns = [sum(row[j] ** 2 for row in rows[j:]) for j in range(2)]
    meeting = DpFtrl(rounds=2, sigma=1, participations=2, separation=1, mechanism="matrix", rows=rows)
    assert meeting.movement()[0] == 5 > sum(columns)


@deep
def test_a_unit_with_no_part_that_has_all_longest_columns_has_no_lower_end():
    rows = [[2], [0, 1], [0, 0, 1], [0, 0, 0, 2]]
    bounds = Accountant(BandedPoisson(rounds=4, sigma=1, rate="1/5", parts=2, rows=rows)).epsilon("1e-5")
    assert bounds.lower is None


def test_groups_of_banded_samples_are_chains():
    """Two units may be in different parts, whose rounds meet in some rows."""
    event = BandedPoisson(rounds=2, sigma=2, rate="1/5", parts=2)
    plan = Plan("add-remove", event)
    found = Accountant(plan, 2).worst_epsilon("1e-5", "1e-2")
    assert found.method.startswith("group chain")
    assert found.bounds.upper > Accountant(plan).epsilon("1e-5").upper


WRONG = [
    {"parts": 0},
    {"rate": 2},
    {"coefficients": [1, 1, 1]},
    {"coefficients": [1], "rows": [[1], [0, 1]]},
    {"rows": [[1]]},
    {"rows": [[1, 0], [0, 1]]},
    {"rows": [[1], [0, "x"]]},
    {"rounds": 3, "rows": [[1], [0, 1], [1, 0, 1]]},
    {"parts": 4097},
    {"coefficients": [1] + [0] * 4096},
    {"coefficients": 1},
    {"coefficients": "12"},
    {"rows": 1},
    {"rows": [1, [1, 1]]},
    {"rows": ["1", "11"]},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_banded_sample_is_refused(wrong):
    with pytest.raises(InputError):
        BandedPoisson(**({"rounds": 2, "sigma": 1, "rate": "1/5", "parts": 2} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"rows": [[1]]}, {"mechanism": "tree"}, {"rows": ()}, {"coefficients": [1]}]
)
def test_what_is_no_matrix_is_refused(wrong):
    terms = {"rounds": 2, "sigma": 1, "participations": 1, "separation": 1, "rows": [[1], [1, 1]]}
    with pytest.raises(InputError):
        DpFtrl(**(terms | {"mechanism": "matrix"} | wrong))


@pytest.mark.parametrize("name", ["coefficients", "rows"])
def test_an_empty_list_in_a_file_is_no_default(name):
    """√Toeplitz is meant where the key is missing; the checker reads no empty factor either."""
    event = (
        '{"event": "banded_poisson", "rounds": 2, "sigma": 1, "rate": 0.2, "parts": 2, "' + name + '": []}'
    )
    text = '{"schema": "dpaccount/events/1", "relation": "add-remove", "events": [' + event + "]}"
    with pytest.raises(InputError, match="empty list; leave it out"):
        read_plan(parse_json(text.encode(), "plan"))


def test_matrices_and_banded_samples_in_a_file():
    rows = [[1], ["1/3", -2]]
    plan = Plan(
        "add-remove",
        [
            BandedPoisson(rounds=2, sigma=2, rate="1/5", parts=2, rows=rows, count=3),
            DpFtrl(rounds=2, sigma=2, participations=2, separation=1, mechanism="matrix", rows=rows),
        ],
    )
    assert read_plan(parse_json(plan.to_json(), "plan.json")) == plan
    broken = plan.to_json().replace('"parts": 2', '"parts": 1')
    with pytest.raises(InputError, match="2 bands"):
        read_plan(parse_json(broken, "plan.json"))
