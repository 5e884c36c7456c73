"""Private values: misuse raises with a way out, row-wise maps keep units, release checks before it charges."""

import copy
import doctest
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.ledger import Ledger, init
from mechanisms.clipped_mean import ClippedMean
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.laplace_vector import LaplaceVector
from mechanisms.local_mean import LocalMean
from mechanisms.quantile import Quantile
from mechanisms.subject import private
from mechanisms.subject.private import Private, release
from tests.depth import deep
from tests.looped import looped

MISUSES = {
    "print": str,
    "repr": repr,
    "format": lambda p: f"{p:>3}",
    "compare": lambda p: p == 3,
    "order": lambda p: p < 3,
    "truth": bool,
    "hash": hash,
    "index": lambda p: p[0],
    "iterate": list,
    "length": len,
    "contains": lambda p: 1.0 in p,
    "array": np.asarray,
    "ufunc": np.exp,
    "mean": np.mean,
    "float": float,
    "int": int,
    "add": lambda p: p + 1,
    "add-array": lambda p: np.ones(3) + p,
    "scale": lambda p: 2 * p,
    "product": lambda p: p @ np.ones(3),
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "assign": lambda p: p.__setitem__(0, 1),
}


@looped("misuse", MISUSES.values())
def test_misuse_raises_and_names_the_way_out(misuse):
    with pytest.raises(InputError, match="release"):
        misuse(Private([[1.0], [2.0], [3.0]]))


def test_the_documented_example_is_true():
    assert doctest.testmod(private, raise_on_error=True).failed == 0


@pytest.fixture
def ledger(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="row", relation="replace-one", measure="pure")
    with Ledger.open(url) as opened:
        yield opened


def test_a_release_is_charged_once_and_refused_where_no_budget_is_left(ledger):
    values, total = (
        Private(np.linspace(0, 1, 20)),
        LaplaceSum(low=0, high=1, rows=20, scale=Fraction(5, 4)),
    )  # ε = 0.8
    shown = release(total, values, ledger, "sum").public["sum"]
    assert abs(shown[0] - 10) < 60
    with pytest.raises(BudgetError):
        release(total, values, ledger, "again")
    assert ledger.show()["entries"] == 1


def test_what_is_no_table_of_numbers_is_refused_without_showing_it():
    for rows in (["secret"], [[1.0], [2.0, 3.0]], np.zeros((2, 2, 2)), object()):
        with pytest.raises(InputError) as refused:
            Private(rows)
        assert "secret" not in str(refused.value)
        assert refused.value.__cause__ is None


def test_other_values_are_not_released(ledger):
    with pytest.raises(InputError, match="wrap"):
        release(LaplaceSum(low=0, high=1, rows=2), np.zeros((2, 1)), ledger, "raw")
    assert ledger.show()["entries"] == 0


def test_later_changes_of_the_source_do_not_reach_the_wrapped_rows(ledger):
    rows = np.zeros((5, 1))
    values = Private(rows)
    rows[:] = 1.0
    assert abs(release(LaplaceSum(low=0, high=1, rows=5), values, ledger, "sum").public["sum"][0]) < 100
    assert (values._rows == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        values._rows[0] = 1


def test_rowwise_maps_see_one_row_clip_and_keep_the_number_of_rows():
    seen = []

    def change(row):
        seen.append(row.copy())
        row[:] = 99  # its own copy
        return [row.sum(), np.nan, np.inf]

    changed = Private([[1.0], [2.0]]).rowwise(change, -1, 5, columns=3)
    assert [row.tolist() for row in seen[-2:]] == [[1.0], [2.0]]  # rows made up to try it come first
    assert changed._rows.tolist() == [[5.0, 0.0, 5.0], [5.0, 0.0, 5.0]]
    assert isinstance(changed, Private)


def test_rowwise_errors_say_nothing_of_the_row():
    def fails(row):
        raise ValueError(f"bad value {row[0]}")

    with pytest.raises(InputError) as refused:
        Private([[12345.0]]).rowwise(fails, 0, 1)
    assert "12345" not in str(refused.value)
    assert refused.value.__suppress_context__
    with pytest.raises(InputError, match="one length"):
        Private([[1.0], [2.0]]).rowwise(lambda row: [0.0] * int(row[0]), 0, 1)
    with pytest.raises(InputError, match="order"):
        Private([[1.0]]).rowwise(lambda row: row, 1, 0)
    with pytest.raises(InputError, match="columns"):
        Private([[1.0]]).rowwise(lambda row: [1, 2], 0, 1)
    for missing in (np.nan, np.inf):
        with pytest.raises(InputError, match="finite"):
            Private([[1.0]]).rowwise(lambda row: row, 0, 1, missing=missing)


def test_a_row_that_the_function_fails_on_takes_a_public_constant():
    def picky(row):
        if row[0] > 2:
            raise ValueError(f"bad value {row[0]}")
        return [row[0]] * (2 if row[0] == 2 else 1)

    changed = Private([1.0, 2.0, 3.0, np.nan]).rowwise(picky, 0, 9, missing=7)
    assert changed._rows.tolist() == [[1.0], [7.0], [7.0], [7.0]]


FUNCTIONS = {
    "identity": lambda row: row,
    "logarithm": lambda row: math.log(row[0]),
    "picky": lambda row: {0.0: 1, 1.0: 2, 0.5: 3}[row[0]],
    "lengths": lambda row: [0.0] * int(1 + (row[0] > 5)),
    "text": lambda row: "no" if row[0] > 3 else 1,
    "nothing": lambda row: None,
    "raises": lambda row: 1 / 0,
    "wrong": lambda row, more: row,
    "leaves": lambda row: sys.exit() if row[0] > 50 else row,
}
CELLS = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 5.5, 51.0, np.nan, np.inf, -np.inf, 1e308]))


@deep
@pytest.mark.parametrize("name", FUNCTIONS)
@given(rows=st.lists(CELLS, max_size=4), other=CELLS)
def test_whether_a_row_wise_function_is_refused_does_not_depend_on_the_rows(name, rows, other):
    """Neighbours under either relation are refused with one message, or neither is."""

    def answer(values):
        try:
            mapped = Private(np.array(values).reshape(-1, 1)).rowwise(FUNCTIONS[name], 0, 100, missing=50)
        except InputError as refused:
            return str(refused)
        assert ((mapped._rows >= 0) & (mapped._rows <= 100)).all()
        return mapped._rows.shape[1]

    assert answer([*rows, 3.0]) == answer([*rows, other]) == answer([other, *rows, other])


@pytest.mark.parametrize("columns", [1, 3])
def test_no_rows_at_all_are_data_like_any_other(tmp_path, columns):
    url = f"sqlite:///{tmp_path}/any.db"
    init(url, epsilon=10, delta=0, unit="row", relation="add-remove", measure="pure")
    total = LaplaceVector(low=0, high=1, columns=columns, relation="add-remove", scale=Fraction(9))
    with Ledger.open(url) as opened:
        for rows in (np.zeros((0, 2)), np.ones((1, 2)), [], [[1.0, 2.0]]):
            mapped = Private(rows).rowwise(lambda row: [row[-1]] * columns, 0, 1, columns=columns)
            assert release(total, mapped, opened, "try").public["sums"].shape == (columns,)
        for rows in ([], np.zeros((0, 5)), np.ones((2, columns))):
            assert release(total, Private(rows), opened, "raw").public["sums"].shape == (columns,)


@pytest.mark.parametrize(
    ("mechanism", "low", "high", "fine"),
    [
        (ClippedMean(low=0, high=1, rows=4), 0, 100, False),
        (ClippedMean(low=0, high=100, rows=4, scale=100), 0, 100, True),
        (ClippedMean(low=Fraction("0.1"), high=1, rows=4), Fraction("0.1"), 1, True),
        (LaplaceSum(low=0, high=1, rows=4), 0, Fraction(1, 2), False),
        (LaplaceSum(low=-1, high=1, rows=4), 0, 1, False),
        (Quantile(low=0, high=1, rows=4), 0, 100, False),
        (LocalMean(low=-1, high=1, rows=4), 0, 1, False),
        (GaussianSum(rows=4, columns=1), 0, 100, False),
        (GaussianSum(rows=4, columns=1), 0, 1, True),
        (Histogram(rows=4), 0, 4, True),
        (Histogram(rows=4), 0, 100, False),
    ],
)
def test_bounds_that_are_not_the_mechanisms_are_refused(tmp_path, mechanism, low, high, fine):
    """Clipped twice a mean of ages would come out as 0.99, without a word."""
    url = f"sqlite:///{tmp_path}/bounds.db"
    millionth = Fraction(1, 10**6)
    budget = {"epsilon": 20, "delta": millionth, "measure": "approximate"}
    init(url, **budget, unit="row", relation="replace-one")
    ages = Private([31.0, 64.0, 47.0, 22.0]).rowwise(lambda row: row, low, high)
    with Ledger.open(url) as opened:
        if fine:
            release(mechanism, ages, opened, "bounds", millionth)
        else:
            with pytest.raises(InputError, match="same bounds"):
                release(mechanism, ages, opened, "bounds", millionth)
        assert opened.show()["entries"] == fine


@looped("made_by", [ClippedMean, LaplaceSum, LaplaceVector, LocalMean, Quantile])
def test_bounds_have_no_silent_default(made_by):
    with pytest.raises(TypeError, match="low"):
        made_by()
    assert made_by(low=0, high=1).domain().low < (0.0,)


def test_a_mean_of_mapped_rows_is_released(tmp_path):
    url = f"sqlite:///{tmp_path}/mean.db"
    init(url, epsilon=10, delta=0, unit="row", relation="replace-one", measure="pure")
    ages = Private(np.full((200, 1), 42.0)).rowwise(lambda row: row / 100, 0, 1)
    with Ledger.open(url) as opened:
        shown = release(
            ClippedMean(low=0, high=1, rows=200, scale=Fraction(1, 5)), ages, opened, "mean age", key="k"
        )
    assert shown.public["mean"][0] == pytest.approx(0.42, abs=0.1)  # 100 scales of the noise


def refusal_of(mechanism, rows, ledger, cover):
    with pytest.raises(InputError) as refused:
        release(mechanism, Private(np.ones(rows)), ledger, "sum", cover=cover)
    return str(refused.value)


def test_a_release_is_charged_to_as_many_units_as_it_may_read(ledger):
    total = LaplaceSum(low=Fraction(0), high=Fraction(1), rows=4, scale=Fraction(2))
    for cover in ((1, 1), (7, 9), (4, 6)):
        assert "cover at least 4" in refusal_of(total, 4, ledger, cover)
    release(total, Private(np.ones(4)), ledger, "sum", cover=(1, 4))
    release(total, Private(np.ones(4)), ledger, "sum", cover=(1, 9))
    assert ledger.show()["entries"] == 2
    with pytest.raises(BudgetError):
        release(total, Private(np.ones(4)), ledger, "sum", cover=(4, 7))


def test_a_cover_does_not_tell_the_private_number_of_rows(tmp_path):
    """Under add-remove the limit must be covered, and the message is the same for any number of rows."""
    url = f"sqlite:///{tmp_path}/private.db"
    init(url, epsilon=10, delta=0, unit="row", relation="add-remove", measure="pure")
    mean = ClippedMean(low=Fraction(0), high=Fraction(1), rows=6, scale=Fraction(2), relation="add-remove")
    with Ledger.open(url) as ledger:
        assert len({refusal_of(mean, rows, ledger, (1, 5)) for rows in range(7)}) == 1
        for rows in range(7):
            release(mean, Private(np.ones(rows)[:, None]), ledger, "mean", cover=(1 + 6 * rows, 6 + 6 * rows))
