"""What is read of a theorem that is written down: its digest, and the point it ends in."""

from fractions import Fraction

import pytest

from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import RuleError
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_ball,
    assume_clipped,
    assume_filter,
    gaussian,
    laplace,
    linear,
    point,
    to_approximate,
    write,
)
from tests.looped import looped

F = Fraction


def sum_of(query="q"):
    return linear(assume_clipped(query, F(0), F(1), REPLACE_ONE, "test"))


def noisy(variance=4) -> Theorem:
    ball = linear(assume_ball("q", F(1, 2), REPLACE_ONE, "test"))
    return to_approximate(gaussian(ball, F(variance), "k"), F(2), F(1, 10))


def test_the_digest_is_that_of_the_last_step():
    """It changes with whatever the derivation rests on, and with nothing else."""
    theorem = noisy()
    steps = write(theorem)
    assert len(steps) == 4
    assert theorem.digest == steps[-1]["digest"] == noisy().digest
    for part, step in zip((theorem.premises[0], theorem.premises[0].premises[0]), steps[2:0:-1], strict=True):
        assert part.digest == step["digest"]
    assert noisy(5).digest != theorem.digest
    assume = sum_of().premises[0]
    assert assume.digest == write(assume)[0]["digest"]


def test_the_point_of_a_theorem_is_what_it_proves():
    assert point(noisy()) == (F(2), F(1, 10))
    assert point(laplace(sum_of(), F(2), F(1, 10), "k")) == (F(1, 2), 0)
    assert point(assume_filter("q", "approximate", [F(1), F(1, 7)], REPLACE_ONE, "test")) == (1, F(1, 7))


@looped("theorem", [sum_of(), noisy().premises[0], sum_of().premises[0]])
def test_no_point_is_read_of_another_statement(theorem):
    with pytest.raises(RuleError, match="needed a statement at"):
        point(theorem)


def keyed(key):
    ball = linear(assume_ball("q", F(1, 2), REPLACE_ONE, "test"))
    return gaussian(ball, F(4), key)


@looped("length", [0, 1, 199, 200])
def test_a_key_is_a_short_text_that_the_checker_takes(length):
    steps = write(keyed("k" * length))
    assert check_derivation(steps)[-1][0] == "Private"


@looped("key", ["k" * 201, 7, None, b"k", ("k",), ["k"]])
def test_no_other_key_is_drawn(key):
    with pytest.raises(RuleError, match=r"should (be text|hold)|more than 200 characters|must be exact"):
        keyed(key)
