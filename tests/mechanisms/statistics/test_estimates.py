"""Intervals hold whenever the noise is within its reach: for any such noise, any table, any statistic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mechanisms.statistics import estimates
from mechanisms.statistics.draws import BRANCHES, LEVELS, cut
from mechanisms.statistics.estimates import below_ends, estimate
from mechanisms.statistics.statistic import Statistic
from tests.depth import deep, examples
from tests.looped import looped
from tests.mechanisms.statistics.tables import (
    AGE,
    PERS,
    SEEN,
    SUMMED,
    coded,
    groups,
    plain,
    statistics,
    study,
    value,
)

METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
    "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf", "interpolated_inverted_cdf", "closest_observation",
)  # fmt: skip
FAR = 1e-13  #: relative: how exactly the truth is computed here, where it is not by exact numbers


def noised(data, subject, rows, reach):
    """Return the sums of a table with noise of any kind within its reach, often at its ends."""
    noisy = []
    for part, far in zip(cut(subject.draws, subject.query(rows)), reach, strict=True):
        seed = data.draw(st.integers(0, 2**32))
        unit = np.random.default_rng(seed).uniform(-1, 1, part.size)
        if data.draw(st.booleans()):
            unit = np.sign(unit)
        noisy.append(part * 2.0**-24 + np.trunc(unit * far * 2.0**24) * 2.0**-24)
    return noisy


@examples(50)
@given(st.data())
def test_intervals_hold_for_all_noise_within_reach(data):
    what, holds = data.draw(statistics(("count", "histogram", "top", *SUMMED)))
    subject = study(what, exact=(exact := data.draw(st.booleans())))
    rows = data.draw(coded(subject.columns, most=12))
    if exact:  # all are there
        rows = rows[rows[:, 0] == 1]
        assume(len(rows))
    known = exact and what.is_whole
    reach = [data.draw(st.sampled_from([0.0, 2.0**-20, 0.3, 2.0, 40.0])) for _ in subject.draws]
    noisy = noised(data, subject, rows, reach)
    middle, low, high = estimate(what, noisy, reach, len(rows) or 1, known=known)
    unknown = np.isnan(low) & np.isnan(high)
    assert np.isfinite(middle).all()
    assert (unknown | ((low <= middle) & (middle <= high))).all()
    assert what.what == "ratio" or not unknown.any()
    power = 2 if what.what == "stddev" else 1  # whose truth is no fraction, but its square is
    for first, last, rows_here in zip(
        low, high, truths(what, groups(what, holds, plain(rows, subject.columns))), strict=True
    ):
        if rows_here is not None and not np.isnan(first):
            assert Fraction(first) ** power <= rows_here <= Fraction(last) ** power


def truths(what, here):
    """Return each number of a statistic exactly, None for those that are not defined."""
    if what.what in ("histogram", "top"):
        edges = [Fraction(float(edge)) for edge in what.bins]
        if not edges:
            return [sum(row["step"] == k for row in rows) for rows in here for k in range(4)]
        cells = [there("x", rows) for rows in here]
        return [sum((x >= edges[1]) == above for x in some) for some in cells for above in (False, True)]
    if what.per is not None:
        pairs = [(sum(there("x", rows)), sum(there(what.per.name, rows))) for rows in here]
        return [total / per if per else None for total, per in pairs]
    return [truth(what, [] if what.column is None else there("x", rows), len(rows)) for rows in here]


def there(name, rows):
    """Return the cells of a column that are not missing."""
    return [row[name] for row in rows if row[name] is not None]


def truth(what, numbers, size):
    if what.what == "count":
        return size
    if what.what == "sum":
        return sum(numbers)
    if not size:
        return None
    mean = sum(numbers) / size
    if what.what == "mean":
        return mean
    return sum((number - mean) ** 2 for number in numbers) / size


@deep
@examples(50, 50)
@given(st.data())
def test_every_definition_of_a_quantile_lies_within(data):
    what, holds = data.draw(statistics(("median", "quantile")))
    subject = study(what)
    rows = data.draw(coded(subject.columns, most=40))
    each = data.draw(st.sampled_from([0.0, 0.02, 0.4]))
    (noisy,) = noised(data, subject, rows, [each])
    ends = estimate(what, [noisy], [each * many for many in range(16)], 100, known=False)
    of_each = [(here, q) for here in groups(what, holds, plain(rows, subject.columns)) for q in what.ranks]
    for middle, low, high, (here, rank) in zip(*ends, of_each, strict=True):
        assert low <= middle <= high
        if numbers := [float(row["x"]) for row in here]:
            for method in data.draw(st.permutations(METHODS))[:3]:
                exact = np.quantile(numbers, float(rank), method=method)
                assert low - FAR * abs(low) <= exact <= high + FAR * abs(high), method


def test_an_interval_of_a_quantile_is_no_wider_than_its_cells():
    """Without noise, of many rows: so that the test above is not passed by the bounds of the column."""
    what = Statistic("s", "median", value(Fraction(0), Fraction(10)))
    subject = study(what, rows=4000)
    rows = np.column_stack([np.ones(4000), np.linspace(0, 10, 4000)])
    (_,), (low,), (high,) = estimate(what, [subject.query(rows) * 2.0**-24], [0.0] * 16, 4000, known=False)
    assert high - low <= 3 * 10 / 1024


@examples(50)
@given(st.data())
def test_regressions_contain_exact_least_squares(data):
    """Where an interval is given; None of it is where the noise may hide the slope."""
    on = data.draw(st.sampled_from([(AGE,), (AGE, SEEN)]))
    what = Statistic("s", "regression", value(Fraction(-33, 10), Fraction(7)), on=on)
    subject = study(what, rows=1000)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    size = data.draw(st.sampled_from([5, 200, 1000]))
    codes = {
        "age": rng.integers(-3, 5, size),
        "seen": rng.integers(0, 2, size),
        "x": rng.uniform(-3.3, 7, size),
    }
    codes["x"] = np.clip(codes["x"] / 4 + codes["age"] * data.draw(st.sampled_from([0, 0.5])), -3.3, 7)
    rows = np.column_stack([np.ones(size), *(codes[column.name] for column in subject.columns)])
    reach = data.draw(st.sampled_from([0.0, 1e-5, 0.01, 1.0]))
    noisy = noised(data, subject, rows, [reach])
    middle, low, high = estimate(what, noisy, [reach], size, known=False)
    features = np.column_stack([*(codes[each.name] for each in on), np.ones(size)])
    assume(np.linalg.matrix_rank(features) == features.shape[1])
    exact = np.linalg.lstsq(features, codes["x"], rcond=None)[0]
    known = ~np.isnan(low)
    assert known.all() or not known.any()
    slack = 1e-9 * (1 + abs(exact))
    assert (low[known] <= (exact + slack)[known]).all()
    assert (high[known] >= (exact - slack)[known]).all()
    assert (np.isnan(low) | ((low <= middle) & (middle <= high))).all()
    if size == 1000 and reach <= 0.01:
        assert known.all()
        assert (high - low < 0.2).all()


@looped("noisy", [3.3, -0.2, 0.0, 1e9 + 0.4])
def test_noise_beyond_its_reach_shows_no_empty_interval(noisy):
    """One of twenty statistics has such noise: its interval misses the truth, but is one."""
    for what in (Statistic("s", "count"), Statistic("s", "mean", value(Fraction(0), Fraction(10)))):
        many = len(study(what).draws)
        middle, low, high = estimate(what, [np.array([noisy])] * many, [0.05] * many, 5, known=False)
        assert low <= middle <= high


@given(st.integers(0, 2**32), st.floats(0, 100), st.floats(0, 1))
def test_wild_noise_of_a_quantile_shows_no_empty_interval(seed, wide, far):
    what = Statistic("s", "median", value(Fraction(0), Fraction(10)))
    noisy = np.random.default_rng(seed).normal(0, wide, 1364)
    middle, low, high = estimate(what, [noisy], [far * many for many in range(16)], 100, known=False)
    assert 0 <= low <= middle <= high <= 10


RANKS = st.lists(
    st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
    min_size=2,
    max_size=5,
    unique=True,
)


@given(st.integers(0, 2**32), RANKS, st.floats(0, 30))
def test_several_quantiles_are_those_of_each_and_rise(seed, ranks, wide):
    """They come from the same noisy counts, by groups: the draws are those of one, and so is the cost."""
    column, group = value(Fraction(0), Fraction(10)), SEEN
    several = Statistic("s", "quantile", column, by=(group,), q=tuple(sorted(ranks)))
    alone = [Statistic("s", "quantile", column, by=(group,), q=(rank,)) for rank in several.q]
    rng = np.random.default_rng(seed)
    codes = np.column_stack([np.ones(60), rng.integers(0, 2, 60), rng.normal(5, 2, 60).clip(0, 10)])
    sums = study(several).query(codes) * 2.0**-24 + rng.normal(0, wide, 2 * 1364)
    reach = [wide * many for many in range(16)]
    found = np.array(estimate(several, [sums], reach, 60, known=False)).reshape(3, 2, -1)
    each = [estimate(what, [sums], reach, 60, known=False) for what in alone]
    assert np.array_equal(found, np.array(each).transpose(1, 2, 0))
    assert (np.diff(found, axis=2) >= 0).all()
    assert study(several).draws == study(alone[0]).draws
    rows = estimates.table(several, [ends.ravel().tolist() for ends in found])
    assert [(row[SEEN.name], Fraction(row["q"])) for row in rows] == [
        (s, q) for s in ("false", "true") for q in several.q
    ]


def test_a_ratio_whose_divisor_may_be_zero_has_no_interval_and_others_have_a_narrow_one():
    """So that the test above is passed neither by ends that are never known nor by wide ones."""
    what = Statistic("s", "ratio", value(Fraction(-10), Fraction(10)), per=PERS[0])
    sums = [np.array([40.0]), np.array([100.0])]
    middle, low, high = estimate(what, sums, [1.0, 1.0], 100, known=False)
    assert middle == pytest.approx(400 / 300)
    assert (low, high) == (pytest.approx(390 / 303), pytest.approx(410 / 297))
    _, low, high = estimate(what, sums, [1.0, 100.0], 100, known=False)
    assert np.isnan([low, high]).all()


def test_a_high_quantile_by_another_definition():
    """Position q(n + 1) − 1 of Weibull's is beyond the numbers on both sides of q(n − 1)."""
    what = Statistic("s", "quantile", value(Fraction(0), Fraction(10)), q=(Fraction(9, 10),))
    subject, numbers = study(what), np.arange(12) * 0.8
    sums = subject.query(np.column_stack([np.ones(12), numbers])) * 2.0**-24
    (_,), (low,), (high,) = estimate(what, [sums], [0.0] * 16, 12, known=False)
    assert low <= np.quantile(numbers, 0.9) <= np.quantile(numbers, 0.9, method="weibull") <= high


def test_ends_are_rounded_outwards_where_bounds_are_far_from_zero():
    """At 10¹⁵ numbers are an eighth apart, and so is an interval that without noise has no width."""
    low, high = Fraction(10**15 - 2), Fraction(10**15 - 1)
    what = Statistic("s", "mean", value(low, high))
    subject, cells = study(what, exact=True), [float(low) + far for far in (0.125, 0.125, 0.25)]
    sums = subject.query(np.array([[1.0, cell] for cell in cells])) * 2.0**-24
    _, (first,), (last,) = estimate(what, [sums], [0.0], 3, known=True)
    assert Fraction(first) <= low + Fraction(1, 6) <= Fraction(last)


@given(st.integers(0, 2**32), st.integers(0, 5))
def test_counts_of_all_levels_are_fitted_by_least_squares(seed, far):
    """On a small tree by numpy's least squares; without noise the counts are as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "BRANCHES", 3)
        patch.setattr(estimates, "LEVELS", 3)
        rng = np.random.default_rng(seed)
        cells = rng.integers(0, 9, 27)
        levels = [np.repeat(np.eye(3**level), 27 // 3**level, axis=1) for level in (1, 2, 3)]
        design = np.concatenate(levels)
        counts = design @ cells + far * rng.normal(size=39)
        right = np.linalg.lstsq(design, counts, rcond=None)[0]
        assert np.allclose(estimates.fitted(counts), np.append(0, right.cumsum()), atol=1e-9)
        if not far:
            assert np.allclose(estimates.fitted(counts), np.append(0, cells.cumsum()), atol=1e-9)


def test_fitted_counts_have_less_noise():
    """By more than a third, on average over the ends of all cells: the noise of what lies below a quantile."""
    cells = sum(BRANCHES**level for level in range(1, LEVELS + 1))
    noise = np.random.default_rng(7).normal(size=(60, cells))
    plain_ = np.abs([below_ends(one, BRANCHES, LEVELS) for one in noise]).mean()
    assert np.abs([estimates.fitted(one) for one in noise]).mean() < 0.65 * plain_
