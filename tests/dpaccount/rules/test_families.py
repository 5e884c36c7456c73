"""What each family of rules may never do, and every case of the tables, by both programs.

What is assumed has one form, and says no more than it holds.  A draw is as private as its curve says, and needs
the scale that its curve says.  Parts together are as private as their costs add up to; views show what was paid
for.  A statement is restated as a weaker one only.  A point is refuted where two neighbours are distinguished
better than it allows.  How far a query moves is in `test_sensitivity`.
"""

from fractions import Fraction

import pytest

from dpaccount.errors import RuleError
from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, amounts, of, of_the_file
from tests.dpaccount.rules.programs import PROGRAMS, REFUSALS
from tests.looped import looped

F = Fraction
FAMILIES = ("hypotheses", "sensitivity", "noise", "composition", "conversions", "refutations")


def each(table):
    """Return every case of a table for each program, family by family."""
    cases = [case for name in FAMILIES for case in of(name, table)["argvalues"]]
    return looped("program, case", cases)


@each(HONEST)
def test_what_a_rule_gives(program, case):
    rule, premises, given, gives = case
    assert PROGRAMS[program](rule, premises, given) == gives


@each(TRUE)
def test_true_side_conditions_are_accepted_at_their_edges(program, case):
    assert PROGRAMS[program](*case)


@each(FALSE)
def test_false_side_conditions_are_refused(program, case):
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](*case)


def test_the_kernel_refuses_in_a_sentence():
    """But for 46 cases of wrong types, and of rules that there are not."""
    others = []
    for case in (case for case in FALSE if not of_the_file(*case)):
        try:
            PROGRAMS["kernel"](*case)
        except REFUSALS["kernel"] as error:
            others += [] if isinstance(error, RuleError) else [case]
    assert len(others) <= 46, others


@looped(**of("hypotheses", HONEST))
def test_a_hypothesis_is_about_its_query_and_rests_on_nothing(program, case):
    """What is assumed of one query says so; of another it is another hypothesis, and no premise makes it."""
    rule, premises, given, gives = case
    assert premises == []
    other = PROGRAMS[program](rule, premises, {**given, "query": "other", "because": "another reason"})
    assert other == [gives[0], "other", *gives[2:]]


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


@looped(**of("composition", HONEST))
def test_nothing_together_costs_less_than_one_of_its_parts(program, case):
    """Whatever a rule puts together or shows, no number of its curve is below that of a part."""
    rule, premises, given, _ = case
    whole = PROGRAMS[program](rule, premises, given)
    for part in (fact for fact in premises if fact[0] == "Private" and fact[2][0] != "lattice"):
        assert all(a >= b for a, b in zip(amounts(whole), amounts(part), strict=True))


@looped("program", PROGRAMS)
@looped("case", [case for case in HONEST if case[0] == "to_approximate" and case[2]["delta"] != "0"])
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


@looped("program", PROGRAMS)
@looped("case", [case for case in HONEST if case[0] == "refute"])
def test_a_point_that_holds_is_not_refuted(program, case):
    """A pair that refutes a point refutes smaller ones, and δ = 1 always holds."""
    rule, premises, given, gives = case
    less = {"epsilon": given["epsilon"], "delta": str(F(given["delta"]) / 2)}
    assert PROGRAMS[program](rule, premises, less) == [*gives[:3], less["delta"], *gives[4:]]
    with pytest.raises(REFUSALS[program]):
        PROGRAMS[program](rule, premises, {**given, "delta": "1"})
