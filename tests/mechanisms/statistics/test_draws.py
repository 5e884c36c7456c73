"""What a row adds to the draws of a statistic: exact sums, and no more than the proof says it moves them."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm as normal

from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point
from mechanisms.count_by_group import CountByGroup
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.draws import BITS, BRANCHES, LEVELS, cut, draws
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from mechanisms.table.user_level import named
from tests.depth import deep, examples
from tests.looped import looped
from tests.mechanisms.statistics.tables import (
    BOUNDS,
    PERS,
    WARD,
    coded,
    groups,
    plain,
    statistics,
    study,
    value,
)


def parts(subject, rows):
    """Return the sums of each draw, as Python's integers."""
    return [part.astype(object) for part in cut(subject.draws, subject.query(np.array(rows, dtype=float)))]


def square(numbers):
    return sum(int(number) ** 2 for number in numbers)


@deep
@given(st.data())
def test_a_row_moves_no_draw_further_than_is_proved(data):
    """Come or gone: by `norm`; replaced, or of nothing: by `reach`; with `cells` and `interval`, in ℓ1."""
    what, _ = data.draw(statistics())
    subject = study(what)
    first, second = (data.draw(coded(subject.columns, most=1)) for _ in range(2))
    sums = zip(subject.draws, parts(subject, first), parts(subject, second), strict=True)
    for draw, one, other in sums:
        grid = 2 ** subject._bits(draw)
        for alone in (one, other):
            assert square(alone) <= (draw.norm * grid) ** 2
        assert square(one - other) <= (draw.reach * grid) ** 2
        if draw.cells:
            assert sum(abs(one)) <= draw.cells * grid
            assert sum(abs(one - other)) <= 2 * draw.cells * grid
        if draw.l1 is not None:
            assert max(sum(abs(one)), sum(abs(other))) <= draw.l1[0] * grid
            assert sum(abs(one - other)) <= draw.l1[1] * grid
        if draw.interval is not None:
            low, high = draw.interval
            assert low * grid <= one[0] <= high * grid
            assert low <= 0 <= high  # a row that does not count adds 0


@looped("kind", ["sum", "mean", "ratio", "variance", "stddev", "regression"])
def test_the_l1_norm_of_sums_is_attained(kind):
    """A twin that assumes a hundredth less assumes too little; and so it is where a row changes its group."""
    x = value(Fraction(-2), Fraction(2))
    other = (
        {"on": (x.__class__("y", "number", Fraction(0), Fraction(1)),)}
        if kind == "regression"
        else {"by": (WARD,), **({"per": PERS[0]} if kind == "ratio" else {})}
    )
    subject = study(Statistic("s", kind, x, **other))
    draw = subject.draws[0]
    ends = [(0, 1) if column is WARD else column.bounds for column in subject.columns]
    each = [parts(subject, [[1.0, *corner]])[0] for corner in product(*ends)]
    assert max(sum(abs(one)) for one in each) >= draw.l1[0] * 2**BITS * Fraction(99, 100)
    if other.get("by"):
        far = max(sum(abs(one - two)) for one, two in product(each, each))
        assert far >= draw.l1[1] * 2**BITS * Fraction(99, 100)


@examples(50)
@given(st.data())
def test_rows_add_up(data):
    """So that what one row moves in an empty table it moves in any other, and batches do not matter."""
    what, _ = data.draw(statistics())
    subject = study(what)
    first, second = (data.draw(coded(subject.columns)) for _ in range(2))
    both = subject.query(np.concatenate([first, second]))
    assert (both == subject.query(first) + subject.query(second)).all()
    assert (both == sum(subject.query(row[None]) for row in np.concatenate([first, second]))).all()


@deep
@examples(50, 50)
@given(st.data())
def test_sums_are_those_of_exact_numbers(data):
    what, holds = data.draw(statistics())
    subject = study(what, data.draw(st.sampled_from(["gaussian", "laplace"])))
    rows = data.draw(coded(subject.columns))
    here = groups(what, holds, plain(rows, subject.columns))
    for draw, sums in zip(subject.draws, parts(subject, rows), strict=True):
        wanted = [number for numbers in oracle(what, draw, here) for number in numbers]
        assert len(wanted) == len(sums) == draw.size
        near = 0 if draw.cells else Fraction(1001, 1000 * 2**BITS) * max(len(rows), 1)
        grid = 2 ** subject._bits(draw)
        assert all(abs(Fraction(int(a), grid) - b) <= near for a, b in zip(sums, wanted, strict=True))


def oracle(what, draw, here):
    """Return what each group adds, one list after another in the order of a draw's numbers."""
    name = draw.key.rpartition("/")[2]
    if what.what in ("median", "quantile"):
        return [levels(what, rows) for rows in here]
    if what.what in ("histogram", "top"):
        return [cells(what, rows) for rows in here]
    if name == "count":
        return [[len(rows)] for rows in here]
    if what.what in ("sum", "ratio"):
        column = what.per if name == "per" else what.column
        most = max(abs(Fraction(end)) for end in column.bounds)
        return [[sum(row[column.name] or 0 for row in rows) / most] for rows in here]
    z = [[scaled(what.column, row) for row in rows] for rows in here]
    if what.what == "mean":
        return [[sum(each)] for each in z]
    if what.what in ("variance", "stddev"):
        eight = Fraction(8, 5)
        return [[sum(each)] for each in z] + [
            [sum(eight * (n * n - Fraction(1, 2)) for n in each)] for each in z
        ]
    phi = [[*(scaled(each, row) for each in what.on), scaled(what.column, row), 1] for row in here[0]]
    size = len(what.on) + 2
    return [[sum(f[a] * f[b] for f in phi) / Fraction(size) for a in range(size) for b in range(a, size)]]


def scaled(column, row):
    low, high = map(Fraction, column.bounds)
    return (row[column.name] - low) / (high - low) * 2 - 1


def levels(what, rows):
    low, high = map(Fraction, what.column.bounds)
    counts = []
    for level in range(1, LEVELS + 1):
        many = BRANCHES**level
        places = [min(float((row["x"] - low) / (high - low)) * many // 1, many - 1) for row in rows]
        counts += [places.count(k) for k in range(many)]
    return counts


def cells(what, rows):
    column = what.column
    if not what.bins:
        return [sum(row[column.name] == k for row in rows) for k in range(4)]
    _, middle, _ = (Fraction(float(edge)) for edge in what.bins)
    there = [row["x"] for row in rows if row["x"] is not None]
    return [sum(x < middle for x in there), sum(x >= middle for x in there)]


@examples(50)
@given(st.data())
def test_rows_that_do_not_count_add_nothing(data):
    """Rows of nothing, and of a value of `by` that is not declared."""
    what, _ = data.draw(statistics())
    subject = study(what)
    rows = data.draw(coded(subject.columns))
    away = rows.copy()
    away[:, 0] = 0
    assert not subject.query(away).any()
    if WARD in what.by:
        rows[:, 1 + [column.name for column in subject.columns].index("ward")] = -1
        assert not subject.query(rows).any()


@examples(15)
@given(
    st.lists(st.floats() | st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300]), min_size=2, max_size=2)
)
@example([np.nan, 1e308])
def test_no_cell_is_beyond_its_bounds_whatever_it_holds(numbers):
    """The table's reader bounds codes; a mechanism that is run on others clamps them all the same."""
    for kind in ("sum", "mean", "variance", "stddev", "median"):
        for low, high in BOUNDS:
            subject = study(Statistic("s", kind, value(low, high)))
            for number in numbers:
                sums = parts(subject, [[1.0, number]])
                assert all(
                    square(part) <= (draw.norm * 2**BITS) ** 2
                    for draw, part in zip(subject.draws, sums, strict=True)
                )


@examples(20)
@given(st.data())
def test_no_two_draws_share_a_key(data):
    """Names have no stroke, so that the keys of two statistics differ where their names do."""
    whats = [data.draw(statistics())[0] for _ in range(3)]
    from dataclasses import replace

    names = data.draw(
        st.lists(
            st.sampled_from(["a", "a b", "a.count", "count", "a=b"]), min_size=3, max_size=3, unique=True
        )
    )
    keys = [
        draw.key
        for name, what in zip(names, whats, strict=True)
        for draw in draws(replace(what, name=name), known=False)
    ]
    assert len(set(keys)) == len(keys)


def test_sums_of_a_billion_rows_have_room():
    """Half of the 64 bits are left for noise."""
    rows = 10**9
    for kind in ("sum", "mean", "variance", "stddev", "median"):
        subject = study(Statistic("s", kind, value(Fraction(-1), Fraction(10**15))), rows=rows)
        largest = max(draw.norm for draw in subject.draws) * rows * 2**BITS
        assert 2 * largest < 2**62


@looped(("low", "high"), BOUNDS)
def test_replaced_by_a_row_of_nothing(low, high):
    """Where a person has fewer rows than may count, rows of nothing take their places."""
    for kind in ("sum", "mean", "variance"):
        subject = study(Statistic("s", kind, value(low, high)), relation=REPLACE_ONE)
        nothing = np.array([subject.domain().nothing])
        for end in (low, high):
            moved = parts(subject, [[1.0, float(end)]])
            for draw, one, other in zip(subject.draws, moved, parts(subject, nothing), strict=True):
                assert square(one - other) <= (draw.reach * 2**BITS) ** 2


X, Y = (Column(name, "number", Fraction(-2), Fraction(2)) for name in "xy")
HIGH = Column("h", "number", Fraction(1), Fraction(2))
SEEN, ONE = Column("b", "boolean"), Column("one", "category", values=("a",))
CITY = Column("city", "category", values=("n", "s"))
SOME = {"where": "b", "declared": (SEEN,)}
KINDS = (
    Statistic("s", "count"),
    Statistic("s", "count", **SOME),
    *(Statistic("s", "count", by=by) for by in ((ONE,), (SEEN,), (CITY, SEEN))),
    *(Statistic("s", "histogram", of) for of in (ONE, SEEN)),
    Statistic("s", "histogram", X, bins=(Fraction(-1), Fraction(1))),
    Statistic("s", "histogram", ONE, by=(SEEN,)),
    Statistic("s", "top", ONE, k=1),
    *(Statistic("s", "sum", of, by=by) for of in (X, HIGH) for by in ((), (ONE,), (SEEN,))),
    *(Statistic("s", w, X, by=by) for w in ("mean", "variance", "stddev") for by in ((), (ONE,), (SEEN,))),
    *(Statistic("s", w, X, **SOME) for w in ("sum", "mean", "variance", "stddev")),
    *(Statistic("s", "ratio", of, by=by, per=HIGH) for of in (X, SEEN) for by in ((), (ONE,), (CITY,))),
    Statistic("s", "median", X),
    *(Statistic("s", "regression", X, on=on) for on in ((Y,), (Y, SEEN))),
)
DELTA = Fraction(1, 10**6)
#: σ of Gaussian noise for ε = 1 and δ, of what moves by 1 (Balle & Wang 2018)
SIGMA = brentq(lambda s: normal.cdf(0.5 / s - s) - np.e * normal.cdf(-0.5 / s - s) - float(DELTA), 1, 10)


def values(column, *, many):
    """Return codes of a column: the ends and points between, or every cell and none."""
    low, high = column.bounds
    if column.kind == "number":
        return np.linspace(low, high, 5 if many else 65)
    return np.arange(low - (column.kind == "category"), high + 1)


def attained(study, norm):
    """Return how far a row that comes, and one that is replaced, moves each draw, in its units."""
    many = sum(column.kind == "number" for column in study.columns) > 1
    codes = [[1.0, *each] for each in product(*(values(column, many=many) for column in study.columns))]
    rows = np.array([[0.0, *codes[0][1:]], *codes])
    sums = np.array([study.query(row[None]) for row in rows]).astype(float)
    found = []
    for draw, part in zip(
        study.draws, zip(*(cut(study.draws, row) for row in sums), strict=True), strict=True
    ):
        each = np.unique(np.array(part), axis=0) / 2.0 ** study._bits(draw)
        far = max(np.linalg.norm(each - one, norm, axis=1).max() for one in each)
        found.append((np.linalg.norm(each, norm, axis=1).max(), far))
    return found


@deep
@looped("rows_of_one", [1, 3])
@looped("law", ["laplace", "gaussian"])
@looped("relation", [ADD_REMOVE, REPLACE_ONE])
@looped("what", KINDS)
def test_the_noise_is_the_least_that_the_sensitivity_allows(what, relation, law, rows_of_one):
    """Of each draw, which gets an equal part of the total; no pair is at the bound of three numbers' products."""
    promise = Promise(relation, Fraction(1), Fraction(0) if law == "laplace" else DELTA)
    study = named(planned((what,), 60, rows_of_one, promise, law)[0])
    unit = 1.0 if law == "laplace" else SIGMA
    parts = len(study.draws) ** (1.0 if law == "laplace" else 0.5)
    moves = attained(study, 1 if law == "laplace" else 2)
    for draw, scale, each in zip(study.draws, study.scales, moves, strict=True):
        least = each[relation == REPLACE_ONE] * unit * parts * rows_of_one
        odd = law == "gaussian" and what.what == "regression" and relation == REPLACE_ONE
        assert least * (1 - 1e-6) <= float(scale) <= least * (1.07 if odd else 1.002), draw.key


@looped("law", ["laplace", "gaussian"])
@looped("cells", [1, 2, 3])
def test_counts_by_group_cost_what_a_row_moves(cells, law):
    """One group moves by 1 where several move by 2; found by all rows."""
    subject = CountByGroup(law, Fraction(2), 60, REPLACE_ONE, cells)
    each = np.array([subject.query(np.array([[float(at)]])) for at in range(-1, cells + 1)])
    far = max(np.abs(one - two).sum() for one, two in product(each, each))
    if law == "laplace":
        assert point(subject.proof(Fraction(0)))[0] == Fraction(int(far), 2)
    else:
        of_one = point(CountByGroup(law, Fraction(2), 60, ADD_REMOVE, 1).proof(DELTA))[0]
        assert (point(subject.proof(DELTA))[0] == of_one) == (far == 1)
