"""What is assumed has one form, and says no more than it holds."""

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped


@looped(**of("hypotheses", HONEST))
def test_a_hypothesis_is_about_its_query_and_rests_on_nothing(program, case):
    """What is assumed of one query says so; of another it is another hypothesis, and no premise makes it."""
    rule, premises, given, gives = case
    assert premises == []
    other = PROGRAMS[program](rule, premises, {**given, "query": "other", "because": "another reason"})
    assert other == [gives[0], "other", *gives[2:]]


@looped(**of("hypotheses", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@looped(**of("hypotheses", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@looped(**of("hypotheses", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
