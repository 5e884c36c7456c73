"""Sums of places: each operation keeps both bounds, exactly, and adds no more than what is rounded."""

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.accounting import allocated
from dpaccount.checker.accounting.allocated import PlaceLimits, PlaceWeights
from dpaccount.checker.accounting.measures import UpperMeasure
from dpaccount.checker.documents import Work
from dpaccount.checker.intervals import Interval

DIGITS = 2
SCALE = 10**DIGITS
LIMITS = PlaceLimits(Fraction(1, 2), DIGITS, 3, 5)


@pytest.fixture(autouse=True)
def _unlimited():
    Work.begin(10**9)


def run(rng):
    return rng.randint(0, 9), [rng.choice([0, 1, 1, 2, 3, 8, 21]) for _ in range(rng.randint(1, 6))]


def weights(rng):
    runs = {e: run(rng) for e in rng.sample(range(4), rng.randint(1, 3))}
    return PlaceWeights(rng.choice([0, 9, 70]), runs, rng.choice([0, 3]))


def places(a):
    return [(0, a.zero)] + [
        (first + k << e, w) for e, (first, ws) in a.runs.items() for k, w in enumerate(ws)
    ]


def above(listed, x, lost=0):
    return lost + sum(w * max(0, s - x) for s, w in listed)


def below(listed, x):
    return sum(w * max(0, x - s) for s, w in listed)


def keeps(before, after, *, lost=(0, 0), ways=(True, True), more=0):
    """No bound falls at any place, and the whole weight grows by `more` at most."""
    for x in range(-3, 3 + max(s for s, _ in [*before, *after])):
        assert not ways[0] or above(after, x, lost[1]) >= above(before, x, lost[0])
        assert not ways[1] or below(after, x) >= below(before, x)
    assert sum(w for _, w in after) <= sum(w for _, w in before) + more


def cases(many=40):
    return (random.Random(seed) for seed in range(many))


def test_halving_and_merging_keep_both_bounds():
    for rng in cases():
        a, b = run(rng), run(rng)
        spread = [(2 * (first + k), w) for first, ws in [allocated.halved(a)] for k, w in enumerate(ws)]
        once = [(a[0] + k, w) for k, w in enumerate(a[1])]
        keeps(once, spread, more=sum(s % 2 and w % 2 for s, w in once))  # halves that are rounded up
        assert sum(s * w for s, w in once) <= sum(s * w for s, w in spread)
        first, ws = allocated.merged(a, b)
        assert first + len(ws) == max(low + len(inside) for low, inside in (a, b))
        found = {first + k: w for k, w in enumerate(ws)}
        for s in range(20):
            held = sum(r[1][s - r[0]] for r in (a, b) if 0 <= s - r[0] < len(r[1]))
            assert found.get(s, 0) == held
    assert allocated.merged(allocated.EMPTY, (3, [1])) == allocated.merged((3, [1]), (0, [])) == (3, [1])
    assert allocated.halved((4, [2, 3, 8])) == (2, [4, 10])


def test_settling_keeps_both_bounds_and_the_form():
    for rng in cases():
        a, bits = weights(rng), rng.choice([1, 2, 3, 5])
        found = allocated.settled(a.zero, a.runs, a.lost, bits)
        assert (found.zero, found.lost) == (a.zero, a.lost)
        keeps(places(a), places(found), more=8 * len(places(a)))
        assert all(first + len(ws) <= (1 << bits) + 1 for first, ws in found.runs.values())
    whole = PlaceWeights(0, {0: (0, [1, 2, 3])}, 0)
    assert allocated.settled(0, whole.runs, 0, 5) == whole


def test_a_sum_is_above_the_sum_and_near():
    for rng in cases(8):
        a, b = weights(rng), weights(rng)
        for one, two in ((a, b), (a, a)):
            exact = [(s + t, Fraction(v * w, SCALE)) for s, v in places(one) for t, w in places(two)]
            lost = two.lost + Fraction(sum(w for _, w in places(two)) * one.lost, SCALE)
            found = allocated.together(one, two, LIMITS, 9)
            keeps(exact, places(found), lost=(lost, found.lost), more=3 * len(places(found)) + 30)
            assert lost <= found.lost < lost + 1


def test_what_is_moved_keeps_the_bound_of_its_direction_and_is_little():
    for rng in cases():
        a, copies = weights(rng), rng.choice([1, 4])
        gone = allocated.shortened(a, LIMITS, copies, back=False)
        lost = (2 * a.lost, 2 * gone.lost)  # in units of places, which are halves
        keeps(places(a), places(gone), lost=lost, ways=(True, False))
        assert gone.lost <= a.lost + 2 * LIMITS.right * copies
        gone = allocated.shortened(a, LIMITS, copies, back=True)
        keeps(places(a), places(gone), ways=(False, True))
        assert gone.zero <= a.zero + LIMITS.right * copies
        assert gone.lost == a.lost


def test_runs_that_overlap_move_nothing_up():
    """A coarse run may lie below a fine one: its weight is not moved to that one's last place."""
    a = PlaceWeights(0, {0: (6, [SCALE]), 1: (1, [2, 1])}, 0)
    gone = allocated.shortened(a, LIMITS, 1, back=True)
    keeps(places(a), places(gone), ways=(False, True))


def test_what_a_measure_lacks_of_one_lies_at_zero():
    """All of P at odds 2: half of Q is missing. What is lost has odds 0 where the unit is added."""
    i, unit = Interval(20), PlaceLimits(Fraction(1), DIGITS, 0, 0)
    inner = UpperMeasure([(Decimal(2), Decimal(1))], Decimal(0))
    found = allocated.placed(i, inner, unit, 4, back=False)
    assert (found.zero, found.runs[0][1][2 - found.runs[0][0]], found.lost) == (50, 50, 0)
    inner = UpperMeasure([(Decimal("0.5"), Decimal("0.75"))], Decimal("0.25"))
    found = allocated.placed(i, inner, unit, 4, back=True)
    assert (found.zero, found.runs[0][1][2 - found.runs[0][0]], found.lost) == (25, 75, 0)
    found = allocated.placed(i, inner, unit, 4, back=False)
    assert found.lost == 25


def test_so_many_copies_are_summed():
    once = PlaceWeights(0, {0: (1, [SCALE])}, 0)
    for steps in range(1, 20):
        bits = [6] * (steps.bit_length() - 1)
        found = allocated.summed(once, steps, PlaceLimits(Fraction(1), DIGITS, 0, 0), bits, back=False)
        assert [(s, w) for s, w in places(found) if w] == [(steps, SCALE)]
        with pytest.raises(Rejected, match="each doubling"):
            allocated.summed(once, steps, LIMITS, [*bits, 6], back=False)


def test_places_too_far_apart_or_too_many_are_refused():
    for first in (allocated.MAX_WEIGHTS - 1, allocated.MAX_WEIGHTS):
        with pytest.raises(Rejected, match="more places"):
            allocated.merged((0, [1]), (first, [1]))
    with pytest.raises(Rejected, match="too far apart"):
        allocated.settled(0, {0: (1 << (allocated.MAX_OCTAVES + 5), [SCALE])}, 0, 2)
