"""How far a unit moves a factor in several rounds, beside every pattern and every sign; and runs by DP-FTRL."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import cli
from dpaccount.accounting import training
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.training import FtrlTraining, least_sigma
from dpaccount.checker import documents
from dpaccount.checker.sensitivity import stretch
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.closed import gaussian, toeplitz
from dpaccount.plan.events import DpFtrl, Gaussian, Plan
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep, examples
from tests.looped import looped

SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 4), st.integers(1, 4))
WEIGHTS = st.lists(st.integers(-4, 4), min_size=1, max_size=7)


def patterns(rounds, k, b):
    for size in range(1, k + 1):
        for found in itertools.combinations(range(rounds), size):
            if all(y - x >= b for x, y in itertools.pairwise(found)):
                yield found


def largest(matrix, k, b):
    """Return the largest square over all patterns and all signs, exactly."""
    columns = [[Fraction(x) for x in column] for column in zip(*matrix, strict=True)]
    found = Fraction(0)
    for pattern in patterns(len(columns), k, b):
        for signs in itertools.product((1, -1), repeat=len(pattern)):
            row = [
                sum(s * columns[i][r] for s, i in zip(signs, pattern, strict=True))
                for r in range(len(matrix))
            ]
            found = max(found, sum(x * x for x in row))
    return found


def banded(coefficients, rounds):
    c = [*coefficients, *([0] * rounds)]
    return [[c[i - j] if i >= j else 0 for j in range(rounds)] for i in range(rounds)]


def nodes(rounds):
    """Return the complete nodes of a binary tree, a row each."""
    return [
        [int(start <= j < start + (1 << level)) for j in range(rounds)]
        for level in range(rounds.bit_length())
        for start in range(0, rounds >> level << level, 1 << level)
    ]


@deep
@examples(40, 40)
@given(SHAPES)
def test_trees(shape):
    rounds, k, b = shape
    low, high = toeplitz.tree_squared_sensitivity(rounds, k, b)
    truth = largest(nodes(rounds), k, b)
    assert low <= truth <= high
    if b in (1, 2, 4):
        assert low == high


@deep
@pytest.mark.parametrize(("rounds", "k", "b"), [(16, 4, 3), (21, 4, 5), (13, 3, 5)])
def test_larger_trees(rounds, k, b):
    """No entry is negative, so equal signs are worst."""
    sums = [sum(sum(row[i] for i in p) ** 2 for row in nodes(rounds)) for p in patterns(rounds, k, b)]
    low, high = toeplitz.tree_squared_sensitivity(rounds, k, b)
    assert low <= max(sums) <= high


@deep
@examples(40, 40)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 9), st.integers(1, 12))
def test_the_square_root_and_its_bands(rounds, k, b, bands):
    weights = [Fraction(1)]
    for n in range(rounds - 1):
        weights.append(weights[-1] * (2 * n + 1) / (2 * n + 2))
    for low_high, kept in (
        (toeplitz.sqrt_toeplitz_squared_sensitivity(rounds, k, b), weights),
        (toeplitz.sqrt_toeplitz_squared_sensitivity(rounds, k, b, bands), weights[:bands]),
    ):
        truth = toeplitz.toeplitz_squared_sensitivity(kept, rounds, k, b)[0]
        assert low_high[0] <= truth <= low_high[1]
        assert low_high[1] - low_high[0] < Fraction(1, 10**40)


@deep
@examples(60, 60)
@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 9))
def test_more_rounds_and_less_apart_move_no_less(rounds, k, b):
    for of in (toeplitz.sqrt_toeplitz_squared_sensitivity, toeplitz.tree_squared_sensitivity):
        here = of(rounds, k, b)
        for more in (of(rounds + 1, k, b), of(rounds, k + 1, b), of(rounds, k, max(1, b - 1))):
            assert here[0] <= more[1]
    assert toeplitz.tree_squared_sensitivity(rounds, k, 1) == (toeplitz.tree_squares(rounds, k),) * 2
    low, high = toeplitz.group_squares(rounds, k)
    found = toeplitz.sqrt_toeplitz_squared_sensitivity(rounds, k, 1)
    assert found[0] <= high
    assert low <= found[1]


@deep
@examples(150, 150)
@given(SHAPES, WEIGHTS, st.integers(0, 10**6))
def test_both_programs_bound_every_pattern_alike(shape, weights, seed):
    """Accountant and checker: Toeplitz factors of both signs, and dense ones; never below the truth."""
    rounds, k, b = shape
    times = toeplitz.most_participations(rounds, k, b)
    rng = np.random.default_rng(seed)
    dense = [rng.integers(-3, 4, t + 1).tolist() for t in range(rounds)]
    square = [[*row, *[0] * (rounds - len(row))] for row in dense]
    for rows, matrix in (([weights], banded(weights, rounds)), (dense, square)):
        truth = largest(matrix, k, b)
        bound = stretch(rows, rounds, times, b)
        assert truth <= bound <= times**2 * max(sum(row[j] ** 2 for row in matrix) for j in range(rounds))
        if times <= 2 and rows is dense:
            assert bound <= 2 * truth
    for row in (weights, sorted(map(abs, weights), reverse=True)):
        low, high = toeplitz.toeplitz_squared_sensitivity([Fraction(w, 3) for w in row], rounds, k, b)
        assert low <= Fraction(largest(banded(row, rounds), k, b), 9) <= high
        falling = all(x >= y >= 0 for x, y in itertools.pairwise([*row[:rounds], 0]))
        assert high == (low if falling else Fraction(stretch([row], rounds, times, b), 9))


@looped("length", [1, 2, 3, 4])
def test_short_factors_in_many_rounds(length):
    """More rounds than the factor is long: what two lags do not reach costs nothing."""
    weights = [3, -2, 2, 1][:length]
    for k, b in itertools.product(range(1, 7), range(1, 5)):
        times = toeplitz.most_participations(16, k, b)
        bound = stretch([weights], 16, times, b)
        assert bound <= times**2 * sum(w * w for w in weights)
        if b >= length:
            assert bound == times * sum(w * w for w in weights)


def test_columns_that_do_not_meet_are_added_up():
    """The identity in four rounds is four, not sixteen; alternating signs that cancel are not added up."""
    identity = [[0] * t + [1] for t in range(12)]
    assert stretch(identity, 12, 4, 3) == 4
    assert stretch([[1]], 12, 4, 3) == 4
    assert stretch([[1, -1, 1, -1]], 12, 2, 1) == 2 * 4 + 2 * 3
    assert stretch([[1, 1, 1, -1]], 12, 2, 2) == 2 * 4 + 2 * 1  # 1 - 1 cancels but for a prefix


@deep
def test_long_factors_cost_little_time():
    """2,048 coefficients and every count of participations: some seconds at most, by the checker's budget."""
    rng = np.random.default_rng(1)
    row = rng.integers(-9, 10, 2048).tolist()
    for times, b in ((2048, 1), (40, 50), (2, 1000)):
        documents.Work.spent = 0
        assert stretch([row], 2048, times, b)


def test_columns_that_meet_are_not_added_up_as_if_they_did_not():
    """A twin that takes k single columns: right for bands no wider than the separation, too low beyond."""
    single = toeplitz.sqrt_toeplitz_squared_sensitivity(100, 1, 1, 10)[1]
    apart, meeting = (toeplitz.sqrt_toeplitz_squared_sensitivity(100, 5, b, 10)[0] for b in (10, 5))
    assert abs(apart - 5 * single) < Fraction(1, 10**30)
    assert meeting > 5 * single


def test_a_gaussian_of_a_movement_not_known_closely_is_enclosed_closely():
    low, high = gaussian.epsilon(
        Fraction(1, 10**5), (Fraction(85, 400), Fraction(87, 400)), Fraction(1, 10**9)
    )
    ends = [
        gaussian.epsilon(Fraction(1, 10**5), (m, m), Fraction(1, 10**9))
        for m in (Fraction(85, 400), Fraction(87, 400))
    ]
    assert (low, high) == (ends[0][0], ends[1][1])


# ------------------------------------------------------------------ the event


def cost(event, relation="add-remove"):
    return Accountant(Plan(relation, event)).epsilon("1e-5")


def test_one_identity_row_is_a_gaussian_a_round():
    """One band is no factor at all: k rounds of Gaussian noise."""
    plain = DpFtrl(rounds=50, sigma=3, participations=4, separation=2, mechanism="banded-toeplitz")
    assert float(cost(plain).upper) == pytest.approx(float(cost(Gaussian(sigma=3, count=4)).upper), rel=1e-12)
    own = DpFtrl(rounds=50, sigma=3, participations=4, separation=2, mechanism="toeplitz", coefficients=[1])
    assert cost(own) == cost(Gaussian(sigma=3, count=4))


def test_the_event_is_a_gaussian_of_its_movement():
    event = DpFtrl(rounds=20, sigma=5, participations=3, separation=4, sensitivity=2)
    low, high = event.movement()
    assert (low, high) == tuple(x * Fraction(4, 25) for x in toeplitz.tree_squared_sensitivity(20, 3, 4))
    assert event.mu_squared() == high
    assert event.zcdp() == high / 2
    assert event.for_group(3).movement() == (9 * low, 9 * high)


@looped(
    "wrong",
    [
        {"mechanism": "honaker"},
        {"coefficients": [1, 2]},
        {"mechanism": "toeplitz"},
        {"bands": 3},
        {"participations": 0},
        {"separation": 0},
        {"mechanism": "sqrt-toeplitz", "rounds": 1 << 19},
        {"participations": 1 << 15, "rounds": 1 << 20},
    ],
)
def test_what_is_no_release_is_refused(wrong):
    with pytest.raises(InputError):
        DpFtrl(**{"rounds": 20, "sigma": 5, "participations": 3, "separation": 4, **wrong})


def test_a_file_is_read_back():
    plan = Plan(
        "add-remove",
        [
            DpFtrl(rounds=20, sigma=5, participations=3, separation=4, cover=(1, 9)),
            DpFtrl(
                rounds=9,
                sigma=5,
                participations=3,
                separation=4,
                mechanism="toeplitz",
                coefficients=[1, "-1/3"],
            ),
        ],
    )
    assert read_plan(parse_json(plan.to_json(), "plan.json")) == plan


# ------------------------------------------------------------------ runs


def test_passes_in_a_fixed_order():
    run = FtrlTraining(examples=1000, batch=300, sigma=4, steps=10)
    assert (run.participations, run.separation) == (4, 3)
    assert run.plan().events[0].sensitivity == 1
    replaced = FtrlTraining(1000, 300, 4, 10, relation="replace-one")
    assert replaced.epsilon("1e-5") == FtrlTraining(1000, 300, 2, 10).epsilon("1e-5")
    assert "replacing one training example" in replaced.statement("1e-5")
    assert "at most 4 of 10 steps, each at least 3 steps after" in run.statement("1e-5")


@deep
@pytest.mark.parametrize("mechanism", training.MECHANISMS)
def test_the_noise_of_a_target_is_the_least(mechanism):
    run = FtrlTraining(1000, 100, 4, 30, mechanism, bands=5 if mechanism == "banded-toeplitz" else 1)
    found = least_sigma(run, 2, "1e-5")
    assert found.bounds.upper <= 2
    less = found.value * (1 - Fraction(1, 10**6))
    again = FtrlTraining(1000, 100, less, 30, mechanism, bands=run.bands)
    assert again.epsilon("1e-5").upper > 2


WORDS = ["sgd", "--examples", "1000", "--batch", "100", "--delta", "1e-5", "--steps", "30", "--json"]


def test_the_command(capsys, tmp_path):
    more = ["--mechanism", "banded-toeplitz", "--bands", "5", "--participations", "2", "--separation", "12"]
    assert cli.run([*WORDS, "--sigma", "4", *more, "--events", str(tmp_path / "run.json")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mechanism"], found["participations"], found["separation"]) == ("banded-toeplitz", 2, 12)
    assert (found["bands"], found["relation"]) == (5, "add-remove")
    assert "shuffled_epsilon" not in found
    assert cli.run(["account", str(tmp_path / "run.json"), "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == found["epsilon"]


@pytest.mark.parametrize(
    "words",
    [
        "--sigma 4 --participations 3",
        "--sigma 4 --mechanism tree --bands 3",
        "--sigma 4 --mechanism tree --sampling fixed-size",
        "--sigma 4 --mechanism tree --separation 0",
        "--sigma 4 --mechanism tree --curve curve.svg",
        "--sigma 4 --mechanism honaker",
    ],
)
def test_a_wrong_request_is_one_line(words, capsys):
    assert cli.run([*WORDS, *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
