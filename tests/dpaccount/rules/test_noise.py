"""A draw is as private as its curve says, and needs the scale that its curve says."""

from fractions import Fraction

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, amounts, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped

F = Fraction


SCALES = {"scale": F(9, 10), "variance": F(9, 10), "threshold": F(9, 10), "rate": F(11, 10)}


@looped(**of("noise", HONEST))
def test_no_noise_of_a_smaller_scale_is_as_private(program, case):
    """A tenth less noise is refused, or its curve is larger in some number and smaller in none."""
    rule, premises, given, gives = case
    for name in [n for n in SCALES if isinstance(given.get(n), str) and rule != "lattice_gaussian"]:
        less = {**given, name: str(F(given[name]) * SCALES[name])}
        try:
            curve = amounts(PROGRAMS[program](rule, premises, less))
        except REFUSALS[program]:
            continue
        assert all(a >= b for a, b in zip(curve, amounts(gives), strict=True))
        assert curve != amounts(gives)


@looped(**of("noise", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@looped(**of("noise", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@looped(**of("noise", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
