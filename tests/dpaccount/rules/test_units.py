"""Rows and persons: a statement about the one is never taken for one about the other, by any rule."""

import copy
import json
from fractions import Fraction as F  # noqa: N817

import pytest

from dpaccount.checker.__main__ import main
from dpaccount.checker.derivation import apply
from dpaccount.checker.documents import Work
from dpaccount.checker.facts import RULES, fact_of
from dpaccount.checker.relation import OF_PERSONS
from dpaccount.errors import RuleError
from dpaccount.proof import (
    REPLACE_ONE,
    assume_clipped,
    assume_persons,
    compose,
    group,
    laplace,
    linear,
    persons,
    write,
)
from tests.dpaccount.checker.made import step
from tests.dpaccount.rules.asked import REFUSED
from tests.dpaccount.rules.cases import HONEST
from tests.looped import looped

READING = [case for case in HONEST if any(fact[0] == "Private" for fact in case[1])]
#: what every rule with a statement about privacy among its premises does with one about persons
REFUSES = {"nodes", "local", "parallel", "partition", "persons", "within"}  # covers, cells, groups: of rows
KEEPS = {case[0] for case in READING} - REFUSES


def inferred(rule, premises, given):
    """The relation of what follows."""
    Work.begin()
    return apply(rule, list(map(fact_of, premises)), given).relation


def of_persons(fact):
    """Return the same statement about persons."""
    word, comma, groups = fact[3].partition(", groups of ")
    return [*fact[:3], f"{word}{OF_PERSONS}{comma}{groups}", *fact[4:]]


def test_every_rule_on_privacy_is_decided():
    assert {case[0] for case in READING} == {name for name, found in RULES.items() if reads_privacy(found)}
    assert {case[0] for case in READING} > REFUSES


def reads_privacy(declared):
    return "Private" in {getattr(kind, "__name__", "") for kind in declared.premises}


@looped(("rule", "premises", "given"), [case[:3] for case in READING])
def test_what_a_rule_gives_of_persons_is_of_persons(rule, premises, given):
    places = [at for at, fact in enumerate(premises) if fact[0] == "Private"]
    every = [of_persons(fact) if at in places else fact for at, fact in enumerate(premises)]
    gives = inferred(rule, premises, given)
    assert (OF_PERSONS in gives) == (rule == "persons")
    if rule in KEEPS:
        assert inferred(rule, every, given) == of_persons([None] * 3 + [gives])[3]
    else:
        with pytest.raises(REFUSED):
            inferred(rule, every, given)
    for at in places if len(places) > 1 else ():  # rows beside persons
        mixed = copy.copy(premises)
        mixed[at] = every[at]
        with pytest.raises(REFUSED):
            inferred(rule, mixed, given)


def count(name, epsilon=F(1, 10)):
    return laplace(
        linear(assume_clipped(name, F(0), F(1), REPLACE_ONE, "t")), 1 / epsilon, F(1), f"key of {name}"
    )


def of_five_rows(part):
    most = assume_persons(part.conclusion.subject, REPLACE_ONE, REPLACE_ONE, 5, "t")
    return persons(group(part, 5), most)


def test_a_person_is_no_row_beside_which_rows_stand(tmp_path, capsys):
    """Five rows of a person at 1/10 each in two counts cost 1, not 1/2 + 1/10."""
    whole = of_five_rows(count("a"))
    with pytest.raises(RuleError, match="share one relation, found replace-one, replace-one of persons"):
        compose(whole, count("b"))
    steps = write(whole)
    end = len(steps) - 1
    for new in write(count("b")):
        step(steps, new["rule"], [len(steps) - 1] * len(new["from"]), **new["with"])
    step(steps, "compose", [end, len(steps) - 1])
    file = tmp_path / "mixed.json"
    file.write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": steps}))
    assert main([str(file), "--derivation"]) == 1
    said = capsys.readouterr().out
    assert said == (
        f"invalid: step {len(steps) - 1} (compose): "
        "premises should share one relation, found replace-one, replace-one of persons\n"
    )


def test_a_person_has_no_persons():
    with pytest.raises(RuleError, match="replace-one of persons, groups of 5"):
        of_five_rows(of_five_rows(count("a")))


def test_persons_compose_with_persons_and_are_written_with_the_same_word():
    both = compose(of_five_rows(count("a")), of_five_rows(count("b")))
    assert both.conclusion.relation == f"{REPLACE_ONE}{OF_PERSONS}"
    assert both.conclusion.curve.epsilon == 1
    assert write(both)[-1]["gives"] == ["Private", "a + b", ["pure", "1"], "replace-one", "central", None]
