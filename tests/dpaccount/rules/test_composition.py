"""Parts together are as private as their costs add up to; views show what was paid for."""

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS


@pytest.mark.parametrize(**of("composition", HONEST))
def test_what_a_rule_gives(program, case):
    rule, found, given, gives = case
    assert PROGRAMS[program](rule, found, given) == gives


@pytest.mark.parametrize(**of("composition", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@pytest.mark.parametrize(**of("composition", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
