"""Tours are of neighbours that a witness can make again, and go where drawn datasets seldom do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.datasets import tours
from audits.datasets.bases import GENERATORS, Exemplified, dataset
from audits.datasets.records import STRATA, about, records, sums
from audits.datasets.tours import UNITS, by_unit, special, star, units, walks
from dpaccount.relation import ADD_REMOVE, REPLACE_ONE
from mechanisms.subject import Domain
from tests.depth import deep, examples
from tests.looped import looped

WIDE = Domain(20, (0.0, -5.0, 0.0), (100.0, 5.0, 9.0), (False, False, True))
RELATIONS = st.sampled_from([REPLACE_ONE, ADD_REMOVE])


def domain_of(rows):
    return Domain(rows, (0.0, -5.0), (10.0, 5.0), (True, False))


def pairs_of(domain, relation, marks):
    unit = (domain.rows + 1) // 2
    some = records(domain, marks, (marks,), ())[:: 37 if domain.rows > 3 else 5]
    yield from star(domain, relation, "uniform", unit, some)
    for base in special(domain, marks):
        yield from by_unit(domain, relation, base, [1, domain.rows])
    for walk in walks(domain, relation, marks):
        yield from walk.step(1)
        yield from walk.step(walk.steps)


@deep
@given(st.integers(1, 12), st.sampled_from([3.0, 7.0]), RELATIONS)
@examples(25)
def test_pairs_of_tours_are_neighbours_and_can_be_made_again(rows, mark, relation):
    domain = domain_of(rows)
    for pair in pairs_of(domain, relation, (mark, 2.0, 99.0)):
        assert domain.contains(pair.left)
        assert domain.contains(pair.right)
        of = Domain(len(pair.left), domain.low, domain.high, domain.integer)
        others = np.delete(dataset(of, pair.base, pair.seed), pair.unit - 1, axis=0)
        assert (np.delete(pair.left, pair.unit - 1, axis=0) == others).all()
        right = pair.right if relation == ADD_REMOVE else np.delete(pair.right, pair.unit - 1, axis=0)
        assert (right == others).all()


@deep
@given(st.integers(1, 9), RELATIONS)
@examples(25)
def test_a_walk_leads_step_by_step_from_its_first_dataset_to_its_last(rows, relation):
    """A step replaces one row at most, or takes the first away; a neighbour of each is judged at every step."""
    for walk in walks(domain_of(rows), relation, (3.0,)):
        for k in range(1, walk.steps + 1):
            before, after = walk.table(k - 1), walk.table(k)
            if walk.leaving:
                assert (before[1:] == after).all()
            else:
                assert (before != after).any(axis=1).sum() <= 1
            assert any((pair.left == before).all() for pair in walk.step(k))


@pytest.mark.parametrize("rows", [UNITS, 5 * UNITS])
def test_the_first_and_the_last_rows_and_those_asked_for_are_changed(rows):
    found = units(Domain(rows, (0.0,), (1.0,), (False,)), {rows // 3})
    assert {1, 2, 3, 4, 6, 8, rows // 3, rows} <= set(found) <= set(range(1, rows + 1))
    assert len(found) <= 3 * UNITS


@looped("high", [1.0, 3.0, 9.0])
def test_whole_numbers_are_as_likely_as_each_other_the_top_one_too(high):
    rows = dataset(Domain(6000, (0.0,), (high,), (True,)), "uniform", 1)[:, 0].astype(int)
    counts = np.bincount(rows, minlength=int(high) + 1)
    assert (np.abs(counts - 6000 / (high + 1)) < 5 * np.sqrt(6000 / (high + 1))).all()
    turn = dataset(Domain(40, (0.0,), (high,), (True,)), "in turn", 1)[:, 0]
    assert (turn == np.arange(40) % (high + 1)).all()


@deep
@given(st.integers(0, 2), st.floats(0, 0.994))
def test_every_band_of_so_many_thousandths_of_a_column_has_a_record(column, start):
    """Alone and among others; of whole numbers all."""
    found = _grid_of_wide()[:, column]
    low, high = WIDE.low[column], WIDE.high[column]
    least = low + (high - low) * start
    if WIDE.integer[column]:
        assert set(found) >= set(range(int(low), int(high) + 1))
    else:
        assert ((found >= least) & (found <= least + 0.006 * (high - low))).any()


def _grid_of_wide(held=[]):  # noqa: B006  # made once
    if not held:
        held.append(records(WIDE, (), (), ()))
    return held[0]


def test_a_column_has_its_grid_while_the_others_are_high():
    found = _grid_of_wide()
    high = (found == np.array(WIDE.high)).all(axis=0, keepdims=True) | (found == np.array(WIDE.high))
    alone = high[:, 1] & high[:, 2]
    assert len(np.unique(found[alone, 0])) >= STRATA // 1.1


@looped("many", [40, 190, 300])
def test_every_number_of_a_table_is_tried(many):
    marks = tuple(float(1000 + 7 * k) for k in range(many))
    domain = Domain(20, (0.0, 0.0), (100.0, 99999.0), (False, True))
    assert {*records(domain, marks, (), ())[:, 1]} >= set(marks)


def test_values_about_a_mark_lie_beside_between_and_at_its_multiples():
    domain = Domain(9, (0.0, 0.0), (10080.0, 50.0), (True, False))
    assert set(range(0, 10081, 1440)) <= set(about(domain, 0, (1440.0, 7.0)))
    real = about(domain, 1, (7.0, 41.2, 41.3))
    assert {1 / 7, 3 / 7, 14.0, np.nextafter(41.2, 0)} <= set(real)
    assert any(41.2 < value < 41.3 for value in real)


@deep
@given(st.tuples(st.integers(2, 99), st.integers(100, 999), st.integers(0, 99)))
def test_a_number_that_a_statement_takes_apart_is_put_together(parts):
    """What has the quotient a and the rest b by m, as a postcode's region and place."""
    a, m, b = map(float, parts)
    domain = Domain(9, (0.0,), (1e5,), (True,))
    assert a * m + b in about(domain, 0, (), (tuple(sorted(parts)),))


@deep
@given(st.integers(0, 30), st.integers(0, 30))
@examples(25)
def test_two_columns_have_the_sum_and_the_difference_that_a_statement_names(one, other):
    domain = Domain(9, (0.0, 0.0, 0.0), (100.0, 30.0, 30.0), (True,) * 3)
    group = tuple(sorted({float(one + other), float(abs(one - other))}))
    found = records(domain, group, (group,), ())[:, 1:]
    wanted = (found.sum(axis=1) == one + other) & (abs(found[:, 0] - found[:, 1]) == abs(one - other))
    assert wanted.any() or len(group) < 2


@deep
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4, unique=True))
@examples(25)
def test_marks_of_one_expression_stand_in_several_columns_at_once(group):
    domain = Domain(9, (0.0,) * 4, (30.0,) * 4, (True,) * 4)
    found = records(domain, (), (tuple(map(float, group)),), ())
    for columns in ([0, 2], [3, 1], [0, 1, 3], [2, 3, 1]):  # drawn: misses one in 10⁵ groups or less
        assert (found[:, columns] == np.array(group[: len(columns)])).all(axis=1).any()


@looped("base", [*GENERATORS, "rising 2 uniform", "falling 0 in turn", "ends 5", "last of 30 high"])
def test_every_base_is_within_the_domain(base):
    assert WIDE.contains(dataset(WIDE, base, 1))


def test_tours_go_over_more_columns_than_an_integer_of_64_bits_has():
    domain = Domain(3, (0.0,) * 100, (1.0,) * 100, (False,) * 100)
    for walk in walks(domain, REPLACE_ONE, (0.5,)):
        for pair in walk.step(walk.steps):
            assert domain.contains(pair.left)
    rows = dataset(domain, f"ends {1 << 99 | 1}", 1)
    assert (rows[:, [0, 99]] == 1).all()
    assert not rows[:, 1:99].any()


def test_rows_are_sorted_and_have_fixed_sums():
    assert (np.diff(dataset(WIDE, "rising 1 uniform", 1)[:, 1]) >= 0).all()
    assert (np.diff(dataset(WIDE, "falling 2 uniform", 1)[:, 2]) <= 0).all()
    assert (np.diff(dataset(WIDE, "falling", 1)[:, 0]) < 0).all()
    for total, free in ((100.0, -1), (7.0, 0), (24.0, 2)):
        held = [column for column in range(3) if column != free]
        base = f"sum {total} {free}"
        assert base in sums(WIDE, (7.0, 24.0))
        assert (dataset(WIDE, base, 1)[:, held].sum(axis=1) == total).all()


@deep
@given(st.integers(1, 30), RELATIONS)
def test_example_tables_are_bases_of_tours(rows, relation):
    table = np.arange(12.0).reshape(4, 3) % 5
    domain = Exemplified.of(Domain(rows, WIDE.low, WIDE.high, WIDE.integer), [table])
    (name,) = tours.examples(domain)
    assert (dataset(domain, name, 1) == np.resize(table, (rows, 3))).all()
    found = {tuple(row) for row in records(domain, (), (), [name]).tolist()}
    assert {tuple(row) for row in np.resize(table, (rows, 3)).tolist()} <= found
    assert any(name in walk.base for walk in walks(domain, relation, ()))
    assert name in special(domain, ())


@pytest.mark.parametrize("mark", [5e-324, 1e-300, 1e-290])
def test_a_column_may_be_beyond_all_multiples_of_a_number_of_the_code(mark):
    domain = Domain(3, (-1e300,), (1.6e9,), (False,))
    assert all(-1e300 <= value <= 1.6e9 for value in about(domain, 0, (mark, 7.0)))
