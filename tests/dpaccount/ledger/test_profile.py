"""Step functions over units against one number per unit."""

from hypothesis import given
from hypothesis import strategies as st

from dpaccount.ledger.balances.step_functions import plus, read, spent_on, total, written, zero

UNITS = 12
amounts = st.tuples(st.fractions(0, 2, max_denominator=6), st.fractions(0, 1, max_denominator=4))
covers = st.one_of(
    st.none(),
    st.tuples(st.integers(1, UNITS), st.integers(1, UNITS)).map(lambda ends: (min(ends), max(ends))),
)
charges = st.lists(st.tuples(covers, amounts), max_size=12)


def at(steps, unit):
    """Return what a function is at one unit."""
    return next((level for first, level in reversed(steps) if first <= unit), zero(2))


@given(charges)
def test_totals_agree_with_a_number_per_unit(parts):
    steps = total([spent_on(cover, spent) for cover, spent in parts], 2)
    for unit in range(1, UNITS + 3):
        expected = zero(2)
        for cover, spent in parts:
            if cover is None or cover[0] <= unit <= cover[1]:
                expected = plus(expected, spent)
        assert at(steps, unit) == expected


@given(amounts)
def test_text_is_read_back(spent):
    assert read(written(spent), 2) == spent


def test_text_has_one_spelling():
    endless = ("1e999999999 0", "1e-999999999 0")  # as fractions they would take all memory
    odd = (
        "1/2 0 0",
        "1/2",
        "2/4 0",
        "0.5 0",
        "-1 0",
        "1/2  0",
        "+1 0",
        " 1 0",
        "1/0 0",
        "x 0",
        "1_0 0",
        "٣ 0",
    )
    for text in (*odd, *endless):
        try:
            read(text, 2)
        except (ValueError, ZeroDivisionError):
            continue
        raise AssertionError(text)
