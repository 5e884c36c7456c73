"""Every rule: what it gives, and that it refuses when a side condition is false."""

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount import checker
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import RuleError
from dpaccount.noise.leaves import leaves
from dpaccount.proof import (
    REPLACE_ONE,
    Private,
    Pure,
    Theorem,
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_points,
    assume_range,
    assume_rank_one,
    assume_tree,
    differences,
    discrete_gaussian,
    exponential,
    gaussian,
    hypotheses,
    joint,
    laplace,
    lattice_gaussian,
    linear,
    nodes,
    theorem,
    to_approximate,
    walk,
    write,
)
from tests.depth import deep, examples
from tests.dpaccount.proof.said import refuses
from tests.looped import looped

F = Fraction
ZERO, HALF, ONE, NINE = F(0), F(1, 2), F(1), F(9)


def clipped(relation=REPLACE_ONE, low=ZERO, high=ONE, query="q"):
    return assume_clipped(query, low, high, relation, "test")


def pure(epsilon=ONE, query="q", relation=REPLACE_ONE):
    return laplace(linear(clipped(relation, query=query)), 1 / epsilon, None, f"key-{query}")


def gdp(mu_squared=ONE, query="q"):
    return gaussian(linear(assume_ball(query, F(1, 2), REPLACE_ONE, "test")), 1 / mu_squared, f"key-{query}")


def zcdp(rho=HALF, query="q"):
    return discrete_gaussian(
        linear(assume_ball(query, F(1, 2), REPLACE_ONE, "t")), 1 / (2 * rho), F(1, 8), f"key-{query}"
    )


def lattice(variance=NINE, query="q"):
    points = assume_points(query, [(0, 0), (1, 0), (0, 1)], REPLACE_ONE, "test")
    return lattice_gaussian(differences(points), variance, f"key-{query}")


def ranged(eta=ONE, query="q"):
    return exponential(assume_range(query, eta, REPLACE_ONE, "t"), ONE, f"key-{query}")


def point(epsilon=ONE, delta=ZERO, query="q"):
    return to_approximate(pure(epsilon, query), epsilon, delta)


# ------------------------------------------------------------------ hypotheses and sensitivity


def rank_one_without_corner(v, y):
    whole = np.append(v, y)
    matrix = np.outer(whole, whole)
    matrix[-1, -1] = 0
    return matrix


@looped("reward", [F(0), F(1, 2), F(9, 10), ONE, F(3, 2), F(5)])
def test_rank_one_bound_holds_and_is_attained(reward):
    """Independent search: random vectors of norms up to 1, at and off the boundary."""
    bound = float(linear(assume_rank_one("q", reward, REPLACE_ONE, "t")).conclusion.bound)
    rng = np.random.default_rng(5)
    b = float(reward)
    best = 0.0
    for _ in range(4000):
        v, w = rng.normal(size=(2, 2))
        v, w = v / np.linalg.norm(v), w / np.linalg.norm(w)
        if rng.random() < 0.3:
            v, w = v * rng.random(), w * rng.random()
        y, z = rng.choice([-b, b, b * rng.uniform(-1, 1)], 2)
        best = max(
            best, float(np.linalg.norm(rank_one_without_corner(v, y) - rank_one_without_corner(w, z)) ** 2)
        )
    cosine = min(b * b, 1.0)
    v, w = np.array([1.0, 0.0]), np.array([cosine, np.sqrt(1 - cosine**2)])
    attained = np.linalg.norm(rank_one_without_corner(v, b) - rank_one_without_corner(w, -b)) ** 2
    assert best <= bound * (1 + 1e-12)
    assert attained == pytest.approx(bound, rel=1e-12)


@examples(100, 200)
@given(st.integers(1, 3000))
@deep
def test_a_tree_is_the_sum_of_its_nodes(rounds):
    levels = rounds.bit_length()
    for most in {1, (levels + 1) // 2, levels}:
        fact = assume_tree("q", rounds, "t", most).conclusion
        every = [(k * 2**j + 1, (k + 1) * 2**j) for j in range(most) for k in range(rounds // 2**j)]
        assert fact == assume_covers("q", every, "t").conclusion
    assert assume_tree("q", rounds, "t").conclusion == assume_tree("q", rounds, "t", levels).conclusion


def test_a_premise_is_a_theorem():
    refuses(linear, "not a theorem", match="Theorem")


# ------------------------------------------------------------------ noise


@looped(("b", "x", "u"), [("1", "1", "1"), ("1/2", "3", "1/2"), ("3", "1", "2"), ("2", "1/5", "7")])
def test_joint_noise_bounds_the_sum_and_is_attained(b, x, u):
    """Random pairs of vectors, norms and rewards never exceed it; the worst cosine attains it."""
    b, x, u = F(b), F(x), F(u)
    theorem = gaussian(joint(assume_rank_one("q", b, REPLACE_ONE, "t"), x / u), x, "k")
    bound = float(theorem.conclusion.curve.mu_squared)

    def length(v, y, w, z):
        a = np.outer(v, v) - np.outer(w, w)
        matrix = (np.linalg.norm(a) ** 2 + (np.diag(a) ** 2).sum()) / (2 * float(x))
        return matrix + np.linalg.norm(v * y - w * z) ** 2 / float(u)

    rng = np.random.default_rng(1)
    for _ in range(3000):
        v, w = rng.normal(size=(2, 2))
        v, w = (s / np.linalg.norm(s) * rng.random() ** rng.choice([0, 1]) for s in (v, w))
        assert length(v, rng.uniform(-1, 1) * float(b), w, rng.choice([-1, 1]) * float(b)) <= bound * (
            1 + 1e-12
        )
    half = np.arccos(min(1.0, float(b * b * x / (2 * u)))) / 2  # A is diagonal for vectors mirrored at 45°
    v, w = (np.array([np.cos(np.pi / 4 + s * half), np.sin(np.pi / 4 + s * half)]) for s in (1, -1))
    assert length(v, float(b), w, -float(b)) == pytest.approx(bound, rel=1e-12)


def test_numbers_that_no_derivation_could_hold_are_refused():
    """A number has at most 1,000 characters, given or inferred."""
    for longest in (F(10**1000 - 1), F(10**498, 10**499 + 1)):
        assert assume_clipped("q", F(0), longest, REPLACE_ONE, "t").conclusion.high == longest
    for longer in (F(10**1000), F(10**499, 10**499 + 1)):
        refuses(assume_clipped, "q", F(0), longer, REPLACE_ONE, "t", match="exact number")
    assert linear(assume_ball("q", F(10**499), REPLACE_ONE, "t")).conclusion.bound == F(4 * 10**998)
    refuses(assume_ball, "q", F(10**500), REPLACE_ONE, "t", match="more characters")
    quiet = linear(assume_clipped("q", F(0), F(10**500), REPLACE_ONE, "t"))
    refuses(laplace, quiet, F(1, 10**500), None, "k", match="more characters")


def test_what_breaks_the_checker_is_refused_in_a_sentence(monkeypatch):
    def broken(*_):
        raise ValueError("no such thing")

    monkeypatch.setattr(theorem, "_step", lambda: broken)
    refuses(clipped, match=r"assume_clipped: a value has the wrong shape \(ValueError: no such thing\)")


# ------------------------------------------------------------------ forgery


def test_theorems_cannot_be_made_changed_copied_or_sent():
    theorem = pure()
    for seal in ((), (object(),)):
        with pytest.raises(RuleError, match="comes from a rule"):
            Theorem("rule", (), {}, theorem.known, *seal)
    with pytest.raises(RuleError):
        dataclasses.replace(theorem, rule="other")
    with pytest.raises(AttributeError):
        theorem.rule = "other"
    with pytest.raises(AttributeError):
        del theorem.rule
    with pytest.raises(RuleError):
        copy.copy(theorem)
    with pytest.raises(RuleError):
        pickle.dumps(theorem)
    with pytest.raises(RuleError):
        type("Fake", (Theorem,), {})


def test_a_theorem_keeps_the_witness_that_proved_it():
    covers = [[1, 2], [3, 4]]
    theorem = nodes(lattice(), assume_covers("q", covers, "t"))
    before = theorem.digest
    covers[0][1] = 9
    steps = write(theorem)
    for step in steps:
        step["with"].clear()
    (statement,) = [h.statement for h in hypotheses(theorem) if h.rule == "assume_covers"]
    statement["covers"][0][0] = 7
    for part in walk(theorem):
        with pytest.raises(TypeError):
            part.witness["query"] = "other"
    with pytest.raises(TypeError):
        theorem.premises[1].witness["covers"][0][0] = 8
    assert theorem.digest == before


def test_a_forced_theorem_is_caught_by_the_checker():
    forged = object.__new__(Theorem)
    known = pure().known._replace(fact=Private("q", Pure(F(0)), REPLACE_ONE, "central"))
    fields = {"known": known, "rule": "laplace", "witness": {"scale": "1", "key": "k"}}
    for name, value in {**fields, "premises": (linear(clipped()),)}.items():
        object.__setattr__(forged, name, value)
    with pytest.raises(checker.Rejected, match="step 2"):
        check_derivation(write(forged))


# ------------------------------------------------------------------ written derivations


def test_leaves_and_hypotheses_are_read_off_the_proof():
    theorem = nodes(lattice(), assume_covers("q", [(1, 2), (3, 4), (1, 4)], "t"))
    (leaf,) = leaves(theorem)
    assert (leaf.key, leaf.rule, leaf.draws) == ("key-q", "lattice_gaussian", 3)
    assert [h.rule for h in hypotheses(theorem)] == ["assume_points", "assume_covers"]
