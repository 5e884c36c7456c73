"""A theorem that is written and read again is the same, inferred anew; nothing else is read."""

import copy
import json

import pytest

from dpaccount import proof
from dpaccount.checker.documents import BROKEN
from dpaccount.errors import RuleError
from dpaccount.noise.proved import Proved
from dpaccount.proof import theorem
from tests.dpaccount.ledger.conftest import approximate, discrete_gaussian, histogram, pure
from tests.dpaccount.ledger.test_once import stream
from tests.looped import looped

THEOREMS = [pure("1/3"), approximate(1, "1/1000"), discrete_gaussian(7), histogram(), stream(5)]
THEOREMS += [proof.to_zcdp(THEOREMS[0]), proof.compose(*(proof.to_zcdp(pure(1, key=key)) for key in "ab"))]


@looped("theorem", THEOREMS)
def test_what_is_written_is_read_as_the_same_theorem(theorem):
    read = proof.read(json.loads(json.dumps(proof.write(theorem))))
    assert (read.conclusion, read.digest) == (theorem.conclusion, theorem.digest)
    assert proof.write(read) == proof.write(theorem)
    assert proof.hypotheses(read) == proof.hypotheses(theorem)
    assert {**Proved(read).leaves} == {**Proved(theorem).leaves}


def test_rules_go_on_from_what_was_read():
    read = proof.read(proof.write(pure("1/3")))
    assert proof.to_zcdp(read).digest == proof.to_zcdp(pure("1/3")).digest


@pytest.mark.parametrize("member", ["rule", "from", "with", "gives", "digest"])
def test_a_step_that_was_changed_is_refused(member):
    steps = proof.write(approximate(1, "1/1000"))
    for place in range(len(steps)):
        for value in (None, "x", [], {}, [0], 7, copy.deepcopy(steps[place - 1][member])):
            other = copy.deepcopy(steps)
            other[place][member] = value
            if other != steps:
                with pytest.raises(RuleError):
                    proof.read(other)
        other = copy.deepcopy(steps)
        del other[place][member]
        with pytest.raises(RuleError):
            proof.read(other)


@looped("steps", [None, [], {}, "x", [None], [[]], [{}], [1]])
def test_what_is_no_derivation_is_refused(steps):
    with pytest.raises(RuleError):
        proof.read(steps)


@looped("broken", BROKEN)
def test_a_value_on_which_the_checker_breaks_is_refused_as_one_of_a_wrong_shape(broken, monkeypatch):
    def step(*_):
        raise broken("what is this?")

    monkeypatch.setattr(theorem, "_step", lambda: step)
    with pytest.raises(RuleError, match=f"wrong shape .{broken.__name__}: .*what is this"):
        theorem.inferred("to_zcdp", THEOREMS[0])
