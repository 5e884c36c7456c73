"""What a refutation names as its cause is what shows it by itself: values before sums, bits last."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.pair_search import judge_of
from audits.attack.runs import Challenge
from audits.sandbox.outcomes import aligned, of_error, of_value
from audits.scores.causes import cause
from audits.scores.learned_scores import best_score
from tests.depth import deep, examples

CHALLENGE = Challenge(Fraction(1), Fraction(0), 4000, Fraction(1, 20), 1)
RUNS = 200


def caused(left, right):
    def outcome(value):
        return of_error(value) if isinstance(value, Exception) else of_value(value)

    sides = enumerate((left, right))
    outcomes = [[outcome(make(np.random.default_rng([k, at]))) for k in range(RUNS)] for at, make in sides]
    judge = judge_of(CHALLENGE, 1000)
    return cause(best_score(*outcomes, judge), *outcomes, judge)


def test_a_value_without_noise_is_named_before_the_bits_that_show_it_too():
    said = caused(
        lambda r: {"mean": r.normal(), "slope": 0.5}, lambda r: {"mean": r.normal(), "slope": 1 / 3}
    )
    assert said == (
        "result['slope'] is 0.5 in 100 of 100 training runs on the left, in 0 of 100 on the right"
    )


def test_one_entry_of_several_is_named():
    left, right = ({"mean": 0.0, "var": [1.0, shift]} for shift in (1.0, 9.0))
    noisy = [
        lambda r, v=v: {"mean": r.normal(), "var": [r.normal() + x for x in v["var"]]} for v in (left, right)
    ]
    assert caused(*noisy) == "result['var'][1] is smaller on the left"


def test_kinds_and_texts_are_spelled_out():
    assert "'float64[2]' in 100 of 100" in caused(lambda r: r.normal(size=2), lambda r: r.normal(size=3))
    assert "the text is 'yes' in 100 of 100" in caused(lambda _: "yes", lambda _: "no")
    assert "is 'float' in 100 of 100" in caused(lambda _: 1.0, lambda _: ValueError("x"))


def test_bits_are_named_where_nothing_else_shows_the_leak():
    def left(r):
        return float(r.laplace())

    def right(r):
        return float(np.round(r.laplace() * 2**20) / 2**20)

    assert caused(left, right) == "the lowest set bit of entry 0 differs"


@deep
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_nothing_is_named_that_does_not_show_it_alone(shift):
    """A sum of many small shifts is no single entry's."""
    said = caused(lambda r: r.normal(size=30) + shift, lambda r: r.normal(size=30))
    assert said is None or not said.startswith("entry")


@deep
@examples(30)
@given(st.integers(0, 40), st.integers(0, 2**32), st.integers(1, 4))
def test_a_row_more_changes_no_draw_of_other_rows(rows, seed, steps):
    """With aligned draws; with the usual generator it changes all that is drawn later."""

    def drawn(rng, n):
        return [
            (rng.random(n)[:rows].tolist(), rng.normal(size=3).tolist(), int(rng.integers(9)))
            for _ in range(steps)
        ]

    one, other = (drawn(aligned(np.random.SeedSequence(seed)), n) for n in (rows, rows + 1))
    assert one == other
    assert len({str(step) for step in one}) == steps  # every step has draws of its own
    usual = [drawn(np.random.default_rng(seed), n) for n in (rows, rows + 1)]
    assert usual[0] != usual[1]


def test_draws_within_draws_are_the_same_wherever_the_program_has_them():
    """The numbers were drawn before the lines of the program moved: results that are kept stay the same."""
    one, other = (aligned(np.random.SeedSequence([1])) for _ in range(2))
    assert one.choice(10**6, 3).tolist() == [971227, 333390, 844220]
    assert other.permutation(6).tolist() == [3, 5, 4, 2, 1, 0]


def test_aligned_draws_have_the_law_of_others():
    rng = aligned(np.random.SeedSequence(5))
    values = np.array([rng.random() for _ in range(4000)])
    assert abs(values.mean() - 0.5) < 5 / 12**0.5 / 4000**0.5
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 5 / 4000**0.5
