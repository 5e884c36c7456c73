"""The noise of each statistic is the least that its sensitivity, enumerated over small domains, allows."""

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm as normal

from dpaccount.proof import ADD_REMOVE, REPLACE_ONE
from dpaccount.proof.derivation import point
from mechanisms.count_by_group import CountByGroup
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.draws import cut
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from mechanisms.table.user_level import named
from tests.looped import looped

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
    *(Statistic("s", w, X, by=by) for w in ("mean", "variance") for by in ((), (ONE,), (SEEN,))),
    *(Statistic("s", w, X, **SOME) for w in ("sum", "mean", "variance")),
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
