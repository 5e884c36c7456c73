"""A statement is restated as a weaker one only."""

from fractions import Fraction

import pytest

from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, of
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped

F = Fraction


POINTS = [case for case in HONEST if case[0] == "to_approximate" and case[2]["delta"] != "0"]


@looped("program", PROGRAMS)
@looped("case", POINTS)
def test_a_point_is_refused_somewhere_below_every_one_that_holds(program, case):
    """Larger ε and δ follow too; with ε and δ a thousandth of them nothing does, whatever the order."""
    rule, premises, given, _ = case
    for factor in (1, 2, 5):
        more = {"epsilon": str(F(given["epsilon"]) * factor), "delta": given["delta"]}
        assert PROGRAMS[program](rule, premises, {**given, **more})
    for name in ("epsilon", "delta"):
        less = {"epsilon": "1/1000", "delta": "1/1000000", name: "0"}
        with pytest.raises(REFUSALS[program]):
            PROGRAMS[program](rule, premises, {**given, **less})


@looped(**of("conversions", HONEST))
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@looped(**of("conversions", TRUE))
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@looped(**of("conversions", FALSE))
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)
