"""Which rows of a person count is decided by that person's rows alone, and a person keeps the slot."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.table.rows import bounded, unfolded

ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=14)


def of(rows, most=2):
    owners, codes = [who for who, _ in rows], np.array([[v] for _, v in rows], dtype=float).reshape(-1, 1)
    return bounded([(owners[:5], codes[:5]), (owners[5:], codes[5:])], most, (7.0,))


@given(rows=ROWS, most=st.integers(1, 4))
def test_a_slot_is_a_function_of_its_persons_rows(rows, most):
    order, persons = of(rows, most)
    assert order == sorted({who for who, _ in rows})
    for who, slot in zip(order, persons, strict=True):
        own = [value for other, value in rows if other == who]
        expected = [min(len(own), most), *own[:most], *[7.0] * (most - len(own))]
        assert slot.tolist() == expected


@given(rows=ROWS, other=st.lists(st.integers(0, 9), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_replacing_a_persons_rows_leaves_the_other_slots(rows, other, seed):
    rng = np.random.default_rng(seed)
    rows = [("a", 1), *rows]
    changed = [row for row in rows if row[0] != "a"]
    for value in other:
        changed.insert(int(rng.integers(len(changed) + 1)), ("a", value))
    (order, before), (same, after) = of(rows), of(changed)
    assert order == same
    assert np.array_equal(before[1:], after[1:])


@given(rows=ROWS, most=st.integers(1, 3))
def test_unfolding_gives_back_the_rows_that_count(rows, most):
    order, persons = of(rows, most)
    there, all_places = unfolded(persons, most)
    expected = [v for who in order for v in [value for other, value in rows if other == who][:most]]
    assert all_places[there].ravel().tolist() == expected
    assert len(all_places) == most * len(order)
