"""A point is refuted where two neighbours are distinguished better than it allows."""

from fractions import Fraction

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped

F = Fraction


REFUTED = [case for case in HONEST if case[0] == "refute"]


@looped("program", PROGRAMS)
@looped("case", REFUTED)
def test_a_point_that_holds_is_not_refuted(program, case):
    """A pair that refutes a point refutes smaller ones, and δ = 1 always holds."""
    rule, premises, given, gives = case
    less = {"epsilon": given["epsilon"], "delta": str(F(given["delta"]) / 2)}
    assert PROGRAMS[program](rule, premises, less) == [*gives[:3], less["delta"], *gives[4:]]
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](rule, premises, {**given, "delta": "1"})


@looped(**of("refutations", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@looped(**of("refutations", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@looped(**of("refutations", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
