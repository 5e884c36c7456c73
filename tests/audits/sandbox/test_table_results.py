"""Results that are tables of pandas or Polars: whatever changes in one is seen, or it is refused."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow

from audits.datasets.forms import Given
from audits.sandbox.outcomes import (
    Ending,
    of_value,
    pack_outcome,
    run_outcome,
    takes_generator,
    unpack_outcome,
)
from audits.sensitivity.search import movement
from tests.looped import looped

SERIES = pd.Series([1.0, 2.0], index=["north", "south"], name="cost")
FRAME = pd.DataFrame({"age": [3, 4], "city": ["north", None]})
HIDDEN = pd.Series([1, 2], dtype="Int64")
HIDDEN_TOO = pd.Series(pd.arrays.IntegerArray(np.array([1, 9]), np.array([False, True])))
DAYS = pd.date_range("2020-01-01", periods=3)
RANKS = pd.Series(["low", "high"], dtype=pd.CategoricalDtype(["low", "high"], ordered=True))
SPENT = pd.Series(pd.arrays.IntegerArray(np.array([1, 8]), np.array([False, True])))


def attributed(series):
    """Return the same with something beside its cells."""
    series = series.copy()
    series.attrs["secret"] = 3
    return series


@looped(
    ("one", "other"),
    [
        (SERIES, SERIES.add([0, 1e-9])),
        (SERIES, SERIES.rename("price")),
        (SERIES, SERIES.rename_axis("city")),
        (SERIES, SERIES[::-1]),
        (SERIES, SERIES.set_axis(["north", "West"])),
        (SERIES, SERIES.astype("float32")),
        (SERIES, SERIES.astype("str")),
        (SERIES, attributed(SERIES)),
        (SERIES, SERIES.to_frame()),
        (SERIES, SERIES.to_dict()),
        (SERIES, SERIES.where([True, False])),
        (FRAME, FRAME.rename(columns={"age": "years"})),
        (FRAME, FRAME.set_index("city")),
        (FRAME, FRAME.assign(age=[3, 5])),
        (FRAME, FRAME[["city", "age"]]),
        (FRAME, FRAME.iloc[:1]),
        (FRAME.iloc[:0], FRAME.iloc[:0].astype({"age": "float64"})),
        (HIDDEN_TOO, SPENT),  # what stands under a mask
        (HIDDEN_TOO, HIDDEN),
        (
            FRAME["city"].astype("category"),
            pd.Series(["north", None], dtype=pd.CategoricalDtype(["north", "west"])),
        ),
        (FRAME.groupby(["city", "age"]).size(), FRAME.groupby(["city", "age"]).size().iloc[:0]),
        (pd.Index([1, 2]), pd.Index([1, 3])),
        (pd.to_datetime(pd.Series(["2020-01-01"])), pd.to_datetime(pd.Series(["2020-01-02"]))),
        (pl.from_pandas(SERIES), pl.from_pandas(SERIES + 1)),
        (pl.Series("a", [1, None]), pl.Series("a", [1, 2])),
        (pl.Series("a", [1.0]), pl.Series("b", [1.0])),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.0]})),
        (pl.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"b": [2], "a": [1]})),
        (pd.NA, None),
        (DAYS.to_series(), DAYS.to_series().set_axis(pd.DatetimeIndex(DAYS.to_numpy()))),  # `freq`
        (DAYS, DAYS._with_freq(None)),
        (RANKS, RANKS.cat.as_unordered()),
        (RANKS, RANKS.cat.add_categories(["unseen"])),
        (RANKS.to_frame(), RANKS.cat.as_unordered().to_frame()),
        (pd.CategoricalIndex(RANKS), pd.CategoricalIndex(RANKS.cat.as_unordered())),
        (pl.Series("a", [1, 2]), pl.Series("a", [1, 2]).set_sorted()),
        (pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": pl.Series([1, 2]).set_sorted()})),
        (pl.Series("a", [1, 2]), pl.concat([pl.Series("a", [1]), pl.Series("a", [2])], rechunk=False)),
        (pl.Series(["x"], dtype=pl.Enum(["x"])), pl.Series(["x"], dtype=pl.Enum(["x", "unseen"]))),
    ],
)
def test_what_differs_is_seen_and_travels(one, other):
    left, right = of_value({"a": one}), of_value({"a": other})
    assert left.ending is Ending.VALUE
    assert left.key() != right.key()
    assert left.key() == of_value({"a": one}).key()
    back = unpack_outcome(
        [part if not isinstance(part, tuple) else list(part) for part in pack_outcome(left)]
    )
    assert back.key() == left.key()
    assert (back.names, back.titles) == (left.names, left.titles)


@looped(
    "value",
    [
        pd.Series([1], dtype=pd.ArrowDtype(pyarrow.int64())),
        pd.Timestamp("2020-01-01"),
        pd.Series(["2020-01-01"]).astype("datetime64[ns, UTC]"),
        pd.Series([object()]),
        pl.DataFrame({"a": [1]}).lazy(),
        FRAME.groupby("city"),
    ],
)
def test_what_cannot_be_read_whole_is_opaque(value):
    assert of_value(value).ending is Ending.OPAQUE
    assert of_value([1.0, {"a": value}]).ending is Ending.OPAQUE


def test_an_attribute_of_its_own_makes_a_table_opaque():
    series = SERIES.copy()
    object.__setattr__(series, "hidden", 3)
    assert of_value(series).ending is Ending.OPAQUE


def test_entries_have_their_keys():
    found = of_value({"mean": SERIES, "city": "north", "all": [1, {"n": np.array([2.0, 3.0])}]})
    assert found.names == (
        "['mean']['north']",
        "['mean']['south']",
        "['all'][0]",
        "['all'][1]['n'][0]",
        "['all'][1]['n'][1]",
    )
    assert found.titles == ("['city']",)
    assert of_value([1.0, "text"]).names == ()
    assert len(found.names) == len(found.numbers)


def test_a_query_moves_by_what_its_cells_move():
    one, other = of_value(SERIES), of_value(pd.Series([1, 5], index=["north", "south"], name="cost"))
    assert movement(one, other, "l1") == (3.0, "")
    assert movement(one, of_value(SERIES[:1]), "l1")[0] == np.inf


# ------------------------------------------------------------------ whose noise


class Callable:
    """A release that is an object."""

    __hash__ = None

    def __call__(self, data):
        return 1


def keyword(data, *, epsilon=1.0):
    return 1


@looped(
    ("function", "takes"),
    [
        (lambda data, rng: 1, True),
        (lambda data, rng=None: 1, True),
        (lambda data, generator: 1, True),
        (lambda data: 1, False),
        (lambda data, epsilon=1.0: 1, False),
        (keyword, False),
        (lambda *given: 1, True),
        (partial(lambda data, rng, epsilon: 1, epsilon=1), True),
        (partial(lambda epsilon, data: 1, 1), False),
        (Callable(), False),
    ],
)
def test_a_function_that_requires_the_data_alone_gets_them_alone(function, takes):
    assert takes_generator(function) is takes
    assert not run_outcome(function, Given(np.zeros(2)), [1, 2]).failed


def test_global_generators_have_another_seed_in_every_run():
    import random

    def draws(data):
        return [random.random(), float(np.random.random())]  # noqa: NPY002

    runs = [run_outcome(draws, Given(np.zeros(1)), [7, 2, n]) for n in range(50)]
    again = [run_outcome(draws, Given(np.zeros(1)), [7, 2, n]) for n in range(50)]
    assert [run.key() for run in runs] == [run.key() for run in again]
    assert len({run.key() for run in runs}) == 50
    values = np.array([run.numbers for run in runs])
    assert len(np.unique(values)) == 100
    assert abs(np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]) < 0.5
