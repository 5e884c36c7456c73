"""Private values: misuse raises with a way out, row-wise maps keep units, release checks before it charges."""

import copy
import doctest
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.ledger import Ledger, init
from mechanisms import private
from mechanisms.clipped_mean import ClippedMean
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.private import Private, release

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


@pytest.mark.parametrize("misuse", MISUSES.values(), ids=MISUSES.keys())
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
    values, total = Private(np.linspace(0, 1, 20)), LaplaceSum(low=0, high=1, rows=20, scale=Fraction(5, 4))  # ε = 0.8
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

    changed = Private([[1.0], [2.0]]).rowwise(change, -1, 5)
    assert [row.tolist() for row in seen] == [[1.0], [2.0]]
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


def test_a_mean_of_mapped_rows_is_released(tmp_path):
    url = f"sqlite:///{tmp_path}/mean.db"
    init(url, epsilon=10, delta=0, unit="row", relation="replace-one", measure="pure")
    ages = Private(np.full((200, 1), 42.0)).rowwise(lambda row: row / 100, 0, 1)
    with Ledger.open(url) as opened:
        shown = release(ClippedMean(low=0, high=1, rows=200, scale=Fraction(1, 5)), ages, opened, "mean age", key="k")
    assert shown.public["mean"][0] == pytest.approx(0.42, abs=0.1)  # 100 scales of the noise
