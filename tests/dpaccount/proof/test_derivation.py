"""What is read of a theorem that is written down: its digest, and the point it ends in."""

from fractions import Fraction

import pytest

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
    to_approximate,
)
from dpaccount.proof.derivation import digest_of, point, write

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
    assert digest_of(theorem) == steps[-1]["digest"] == digest_of(noisy())
    for part, step in zip((theorem.premises[0], theorem.premises[0].premises[0]), steps[2:0:-1], strict=True):
        assert digest_of(part) == step["digest"]
    assert digest_of(noisy(5)) != digest_of(theorem)
    assume = sum_of().premises[0]
    assert digest_of(assume) == write(assume)[0]["digest"]


def test_the_point_of_a_theorem_is_what_it_proves():
    assert point(noisy()) == (F(2), F(1, 10))
    assert point(laplace(sum_of(), F(2), F(1, 10), "k")) == (F(1, 2), 0)
    assert point(assume_filter("q", "approximate", [F(1), F(1, 7)], REPLACE_ONE, "test")) == (1, F(1, 7))


@pytest.mark.parametrize("theorem", [sum_of(), noisy().premises[0], sum_of().premises[0]], ids=repr)
def test_no_point_is_read_of_another_statement(theorem):
    with pytest.raises(RuleError, match="needed a statement at"):
        point(theorem)
