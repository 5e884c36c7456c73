"""A point is refuted where two neighbours are distinguished better than it allows."""

from fractions import Fraction

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS

F = Fraction


REFUTED = [case for case in HONEST if case[0] == "refute"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("case", REFUTED, ids=lambda case: case[1][0][2])
def test_a_point_that_holds_is_not_refuted(program, case):
    """A pair that refutes a point refutes smaller ones, and δ = 1 always holds."""
    rule, premises, given, gives = case
    less = {"epsilon": given["epsilon"], "delta": str(F(given["delta"]) / 2)}
    assert PROGRAMS[program](rule, premises, less) == [*gives[:3], less["delta"], *gives[4:]]
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](rule, premises, {**given, "delta": "1"})


@pytest.mark.parametrize(**of("refutations", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@pytest.mark.parametrize(**of("refutations", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@pytest.mark.parametrize(**of("refutations", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
