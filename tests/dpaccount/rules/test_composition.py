"""Parts together are as private as their costs add up to; views show what was paid for."""

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, amounts, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped


@looped(**of("composition", HONEST))
def test_nothing_together_costs_less_than_one_of_its_parts(program, case):
    """Whatever a rule puts together or shows, no number of its curve is below that of a part."""
    rule, premises, given, _ = case
    whole = PROGRAMS[program](rule, premises, given)
    for part in (fact for fact in premises if fact[0] == "Private" and fact[2][0] != "lattice"):
        assert all(a >= b for a, b in zip(amounts(whole), amounts(part), strict=True))


@looped(**of("composition", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@looped(**of("composition", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@looped(**of("composition", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
