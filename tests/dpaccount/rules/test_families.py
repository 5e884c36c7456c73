"""What each family of rules may never do, and every case of the tables.

What is assumed has one form, and says no more than it holds.  A draw is as private as its curve says, and needs
the scale that its curve says.  Parts together are as private as their costs add up to; views show what was paid
for.  A statement is restated as a weaker one only.  A point is refuted where two neighbours are distinguished
better than it allows.  How far a query moves is in `test_sensitivity`.
"""

from fractions import Fraction

import pytest

from dpaccount.checker import Rejected
from tests.dpaccount.rules.asked import REFUSED
from tests.dpaccount.rules.asked import gives as inferred
from tests.dpaccount.rules.cases import FALSE, HONEST, TRUE, amounts, of
from tests.looped import looped

F = Fraction


@looped("case", HONEST)
def test_what_a_rule_gives(case):
    rule, premises, given, gives = case
    assert inferred(rule, premises, given) == gives


@looped("case", TRUE)
def test_true_side_conditions_are_accepted_at_their_edges(case):
    assert inferred(*case)


@looped("case", FALSE)
def test_false_side_conditions_are_refused_in_a_sentence(case):
    with pytest.raises(Rejected):
        inferred(*case)


@looped(**of("hypotheses", HONEST))
def test_a_hypothesis_is_about_its_query_and_rests_on_nothing(case):
    """What is assumed of one query says so; of another it is another hypothesis, and no premise makes it."""
    rule, premises, given, gives = case
    assert premises == []
    other = inferred(rule, premises, {**given, "query": "other", "because": "another reason"})
    assert other == [gives[0], "other", *gives[2:]]


SCALES = {"scale": F(9, 10), "variance": F(9, 10), "threshold": F(9, 10), "rate": F(11, 10)}


@looped(**of("noise", HONEST))
def test_no_noise_of_a_smaller_scale_is_as_private(case):
    """A tenth less noise is refused, or its curve is larger in some number and smaller in none."""
    rule, premises, given, gives = case
    for name in [n for n in SCALES if isinstance(given.get(n), str) and rule != "lattice_gaussian"]:
        less = {**given, name: str(F(given[name]) * SCALES[name])}
        try:
            curve = amounts(inferred(rule, premises, less))
        except REFUSED:
            continue
        assert all(a >= b for a, b in zip(curve, amounts(gives), strict=True))
        assert curve != amounts(gives)


@looped(**of("composition", HONEST))
def test_nothing_together_costs_less_than_one_of_its_parts(case):
    """Whatever a rule puts together or shows, no number of its curve is below that of a part."""
    rule, premises, given, _ = case
    whole = inferred(rule, premises, given)
    for part in (fact for fact in premises if fact[0] == "Private" and fact[2][0] != "lattice"):
        assert all(a >= b for a, b in zip(amounts(whole), amounts(part), strict=True))


@looped("case", [case for case in HONEST if case[0] == "to_approximate" and case[2]["delta"] != "0"])
def test_a_point_is_refused_somewhere_below_every_one_that_holds(case):
    """Larger ε and δ follow too; with ε and δ a thousandth of them nothing does, whatever the order."""
    rule, premises, given, _ = case
    for factor in (1, 2, 5):
        more = {"epsilon": str(F(given["epsilon"]) * factor), "delta": given["delta"]}
        assert inferred(rule, premises, {**given, **more})
    for name in ("epsilon", "delta"):
        less = {"epsilon": "1/1000", "delta": "1/1000000", name: "0"}
        with pytest.raises(REFUSED):
            inferred(rule, premises, {**given, **less})


@looped("case", [case for case in HONEST if case[0] == "refute"])
def test_a_point_that_holds_is_not_refuted(case):
    """A pair that refutes a point refutes smaller ones, and δ = 1 always holds."""
    rule, premises, given, gives = case
    less = {"epsilon": given["epsilon"], "delta": str(F(given["delta"]) / 2)}
    assert inferred(rule, premises, less) == [*gives[:3], less["delta"], *gives[4:]]
    with pytest.raises(REFUSED):
        inferred(rule, premises, {**given, "delta": "1"})
