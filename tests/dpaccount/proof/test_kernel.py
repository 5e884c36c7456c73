"""Every rule: what it gives, and that it refuses when a side condition is false."""

import copy
import dataclasses
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount import checker
from dpaccount.checker import derivation, sensitivity
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import RuleError
from dpaccount.noise.leaves import leaves
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    Gdp,
    Private,
    Pure,
    Stable,
    Theorem,
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_filter,
    assume_points,
    assume_range,
    assume_rank_one,
    assume_rare,
    assume_tree,
    assume_view,
    billboard,
    centred,
    compose,
    despite,
    differences,
    discrete_gaussian,
    exponential,
    gaussian,
    group,
    joint,
    laplace,
    lattice_gaussian,
    linear,
    local,
    local_view,
    mixture,
    nodes,
    parallel,
    permute_and_flip,
    post_process,
    replace_one,
    to_approximate,
    to_gdp,
    to_pure,
    to_renyi,
    to_zcdp,
)
from dpaccount.proof.derivation import hypotheses, walk, write
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


@looped("reward", [F(1, 2), ONE, F(3, 2), F(2), F("2.3548"), F(3), F(5), F(40)])
def test_outer_products_with_corner(reward):
    """The supremum by a dense independent search, then one part in 1e6 above and below it."""
    b = float(reward)
    t = np.linspace(0, b, 2_000_001)
    best = ((1 + b * b) ** 2 + (1 + t * t) ** 2 - 2 * np.maximum(b * t - 1, 0) ** 2).max()
    outer = assume_rank_one("q", reward, REPLACE_ONE, "t", "outer")
    if reward <= 1:
        assert float(linear(outer).conclusion.bound) == pytest.approx(best)
        return
    above, below = F(best) * (1 + F(1, 10**6)), F(best) * (1 - F(1, 10**6))
    theorem = linear(outer, above)
    assert theorem.conclusion == Stable("q", "frobenius-squared", above, REPLACE_ONE)
    refuses(linear, outer, below, match="too small")
    refuses(linear, outer, match="a bound is stated")
    assert float(sensitivity.outer_supremum(reward)) == pytest.approx(best, rel=1e-9)


@given(st.integers(1, 3000))
@pytest.mark.slow
def test_a_tree_is_the_sum_of_its_nodes(rounds):
    levels = rounds.bit_length()
    for most in {1, (levels + 1) // 2, levels}:
        fact = assume_tree("q", rounds, "t", most).conclusion
        every = [(k * 2**j + 1, (k + 1) * 2**j) for j in range(most) for k in range(rounds // 2**j)]
        assert fact == assume_covers("q", every, "t").conclusion
    assert assume_tree("q", rounds, "t").conclusion == assume_tree("q", rounds, "t", levels).conclusion


@looped(
    ("rule", "arguments"),
    [
        (assume_clipped, ("q", 0.0, F(1), REPLACE_ONE, "t")),
        (assume_ball, ("q", 1.0, REPLACE_ONE, "t")),
        (assume_rank_one, ("q", 1.0, REPLACE_ONE, "t")),
        (assume_covers, ("q", [(1.0, 3)], "t")),
        (assume_filter, ("q", "pure", [1.0], REPLACE_ONE, "t")),
    ],
)
def test_hypotheses_of_floats_are_refused(rule, arguments):
    refuses(rule, *arguments)


def test_sensitivity_rules_want_contributions():
    refuses(linear, pure(), match="needed premises .'Contribution'")
    refuses(linear, "not a theorem", match="Theorem")
    refuses(differences, clipped(), match="finite set of integer points")


def test_centring_shortens_a_replaced_row():
    ball = linear(assume_ball("q", ONE, REPLACE_ONE, "t"))
    theorem = centred(ball, 4)
    assert theorem.conclusion.bound == 3
    x = np.random.default_rng(0).normal(size=(4, 3))
    y = x.copy()
    y[1] = 7
    moved = np.linalg.norm((x - x.mean(axis=0)) - (y - y.mean(axis=0))) ** 2
    assert moved == pytest.approx(np.linalg.norm(x - y) ** 2 * 3 / 4)
    refuses(centred, linear(assume_ball("q", ONE, ADD_REMOVE, "t")), 4, match="must stay")
    refuses(centred, linear(clipped()), 4, match="l2")
    for rows in (0, 2.0, True):
        refuses(centred, ball, rows, match="integer|exact")


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


def test_joint_noise_refuses():
    person = assume_rank_one("q", ONE, REPLACE_ONE, "t")
    for bad in (ZERO, -ONE, 1.0):
        refuses(joint, person, bad, match="weight")
    outer = assume_rank_one("q", ONE, REPLACE_ONE, "t", "outer")
    refuses(joint, outer, ONE, match="without corner")
    refuses(joint, linear(person), ONE, match="needed premises")


@looped("bad", [F(0), F(-1), 1.0, None])
def test_noise_needs_an_exact_positive_scale(bad):
    ball = linear(assume_ball("q", ONE, REPLACE_ONE, "t"))
    refuses(laplace, linear(clipped()), bad, None, "k")
    refuses(gaussian, ball, bad, "k")
    refuses(discrete_gaussian, ball, bad, ONE, "k")
    refuses(discrete_gaussian, ball, ONE, bad, "k")
    refuses(gaussian, linear(assume_rank_one("q", ONE, REPLACE_ONE, "t")), bad, "k")
    refuses(lattice_gaussian, differences(assume_points("q", [(0,), (1,)], REPLACE_ONE, "t")), bad, "k")
    if bad is not None:
        refuses(laplace, linear(clipped()), ONE, bad, "k")


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


def test_noise_needs_its_own_norm():
    l1, l2 = linear(clipped()), linear(assume_ball("q", ONE, REPLACE_ONE, "t"))
    refuses(laplace, l2, ONE, None, "k", match="l1")
    refuses(gaussian, l1, ONE, "k", match="l2")
    refuses(discrete_gaussian, l1, ONE, ONE, "k", match="l2")
    refuses(lattice_gaussian, l2, ONE, "k", match="needed premises")


# ------------------------------------------------------------------ composition


def test_composition_refuses_mixtures():
    refuses(compose, match="needed premises")
    refuses(compose, pure(), gdp(query="r"), match="measure")
    refuses(compose, pure(), pure(relation=ADD_REMOVE), match="relation")
    refuses(compose, pure(), billboard(pure(), assume_view("v", "others", "t")), match="observer")
    refuses(compose, lattice(), lattice(), match="lattice")
    refuses(compose, ranged(), ranged(), match="bounded range")
    refuses(compose, to_renyi(zcdp(), [F(2)]), to_renyi(zcdp(), [F(3)]), match="different orders")
    refuses(compose, linear(clipped()), match="needed premises")


def test_nodes_refuse_covers_of_another_query_and_other_observers():
    refuses(nodes, pure(), assume_covers("r", [(1, 2)], "t"), match="the covers are of 'r'")
    refuses(nodes, pure(), clipped(), match="needed premises")
    seen = billboard(pure(), assume_view("q", "others", "t"))
    refuses(nodes, seen, assume_covers("q", [(1, 2)], "t"), match="centrally")


def test_parallel_parts_are_of_disjoint_units():
    left = nodes(pure(ONE), assume_covers("q", [(1, 4)], "t"))
    refuses(parallel, left, nodes(pure(ONE, "r"), assume_covers("r", [(4, 9)], "t")), match="overlap")
    refuses(parallel, left, pure(ONE, "r"), match="which units")
    refuses(parallel, nodes(lattice(), assume_covers("q", [(1, 4)], "t")), match="nor ordered")


# ------------------------------------------------------------------ observers


def singles(query="q"):
    return assume_covers(query, [(1, 1), (2, 2), (3, 3), (2, 2)], "t")


def test_observers_need_central_releases_and_the_right_audience():
    everyone, others = (assume_view("subject", audience, "t") for audience in ("everyone", "others"))
    joint = billboard(pure(), others)
    refuses(post_process, joint, everyone, match="central statement")
    refuses(billboard, joint, others, match="central statement")
    refuses(post_process, pure(), others, match="everyone")
    refuses(billboard, pure(), everyone, match="others")
    for rule in (post_process, billboard):
        refuses(rule, pure(), clipped(), match="needed premises")
    refuses(assume_view, "q", "nobody", "t", match="audience")


def test_local_messages_read_one_person():
    refuses(local, pure(), assume_covers("q", [(1, 1), (2, 3)], "t"), match="one unit only")
    refuses(local, pure(), assume_tree("q", 4, "t"), match="one unit only")
    refuses(local, pure(query="r"), singles(), match="the covers are of 'q'")
    refuses(local, pure(relation=ADD_REMOVE), singles(), match="replaced")
    refuses(local, pure(), assume_view("q", "others", "t"), match="needed premises")
    refuses(local_view, pure(), assume_view("q", "others", "t"), match="local statement")
    refuses(local_view, local(pure(), singles()), clipped(), match="needed premises")


# ------------------------------------------------------------------ conversions


def test_conversions_to_other_measures():
    refuses(to_zcdp, zcdp(), match="imply")
    refuses(to_zcdp, to_approximate(pure(), ONE, F(0)), match="imply")


def test_pure_to_gdp_is_tight():
    with mpmath.workdps(30):
        exact = F(str(-2 * mpmath.sqrt(2) * mpmath.erfinv(2 / (1 + mpmath.e) - 1)))
    above, below = (exact + F(1, 10**12)) ** 2, (exact - F(1, 10**12)) ** 2
    assert to_gdp(pure(ONE), above).conclusion.curve == Gdp(above)
    refuses(to_gdp, pure(ONE), below, match="too small")
    chosen = exponential(assume_range("r", ONE, REPLACE_ONE, "t"), F(2), "r")
    assert to_gdp(chosen, above).conclusion.curve == Gdp(above)
    refuses(to_gdp, chosen, below, match="too small")
    refuses(to_gdp, pure(ONE), F(-1), match="negative")
    refuses(to_gdp, zcdp(), F(100), match="only pure DP")
    refuses(to_gdp, to_approximate(pure(), ONE, F(1, 10)), F(100), match="only pure DP")


def test_points_are_accepted_just_above_the_truth_and_refused_just_below():
    delta = F("1e-5")
    assert to_approximate(gdp(), F("4.3771780957"), delta).conclusion.curve.epsilon == F("4.3771780957")
    refuses(to_approximate, gdp(), F("4.3771780956"), delta)
    refuses(to_approximate, pure(), F("0.99997"), delta)
    assert to_approximate(pure(), F("0.99999"), delta)
    best, order = F("4.72839"), F("5.43")  # ρ = ½: the exact optimum is 4.72838698…
    assert to_approximate(zcdp(), best, delta, order)
    refuses(to_approximate, zcdp(), F("4.728"), delta, order)


def test_points_refuse_bad_parameters():
    refuses(to_approximate, pure(), F(-1), F(0), match="at least 0")
    refuses(to_approximate, pure(), ONE, F(2), match="delta")
    refuses(to_approximate, pure(), 1.0, F(0), match="exact")
    refuses(to_approximate, zcdp(), F(9), F("1e-5"), match="order")
    refuses(to_approximate, zcdp(), F(9), F("1e-5"), ONE, match="order > 1")
    refuses(to_approximate, zcdp(), F(9), F(0), F(2), match="delta > 0")
    refuses(to_approximate, to_approximate(pure(), ONE, F(1, 10)), ONE, F(1, 20))


def test_bounded_range_and_renyi():
    refuses(to_pure, pure(), match="bounded range")
    refuses(to_renyi, pure(), [F(2)], match="zCDP")
    refuses(to_renyi, zcdp(), [2.0])
    for rule in (exponential, permute_and_flip):
        refuses(rule, assume_range("q", ONE, REPLACE_ONE, "t"), 1.0, "k")
    refuses(exponential, linear(clipped()), ONE, "k", match="range")
    refuses(permute_and_flip, linear(clipped()), ONE, "k", match="range")
    refuses(nodes, ranged(), assume_covers("q", [(1, 2), (2, 3)], "t"), match="bounded range")
    assert to_approximate(ranged(), ONE, ZERO)
    refuses(to_approximate, ranged(), ONE - F(1, 10**12), ZERO)


def test_renyi_points_are_converted_at_a_listed_order():
    renyi = to_renyi(zcdp(), [F(2), F("5.43")])
    assert to_approximate(renyi, F("4.72839"), F("1e-5"), F("5.43"))
    refuses(to_approximate, renyi, F("4.728"), F("1e-5"), F("5.43"))
    refuses(to_approximate, renyi, F(9), F("1e-5"), F(3), match="listed orders")
    refuses(to_approximate, renyi, F(9), F("1e-5"), match="an order belongs to")


def test_groups():
    some = point(ONE, F(1, 100))
    exact = F(1, 100) * (1 + F(str(mpmath.e)) + F(str(mpmath.e**2)))
    assert group(some, 3, exact + F(1, 10**12)).conclusion.curve.epsilon == 3
    refuses(group, some, 3, exact - F(1, 10**12), match="does not cover")
    assert group(point(ZERO + F(1, 10**9), F(1, 10)), 2, F(21, 100))
    refuses(group, lattice(), 2, match="no group rule")
    for size in (1, 0, 2.0, True):
        refuses(group, pure(), size, match="integer|exact")


def test_add_remove_twice_is_replace_one():
    removed = pure(relation=ADD_REMOVE)
    refuses(replace_one, group(removed, 3), match="groups of 2")
    refuses(replace_one, removed, match="groups of 2")
    refuses(replace_one, group(pure(), 2), match="groups of 2")


def test_mixtures_are_of_one_measure():
    refuses(mixture, pure(), gdp(query="r"), match="measure")
    refuses(mixture, lattice(), match="nor ordered")


def test_rare_departures_cost_their_probability():
    bad = assume_rare("q", "event", F(1, 10), "t")
    refuses(despite, point(), bad, F(9, 100), match="cover")
    near = assume_rare("q", "distance", F(1, 10), "t")
    assert despite(point(), near, F("0.3719")).conclusion.curve.delta == F("0.3719")
    refuses(despite, point(), near, F("0.3718"), match="cover")
    refuses(despite, pure(), bad, ONE, match=r"only \(epsilon, delta\)")
    refuses(despite, point(), clipped(), ONE, match="needed")
    refuses(despite, point(query="r"), bad, ONE, match="not of 'r'")
    refuses(despite, point(), bad, F(2), match="above 1")
    refuses(assume_rare, "q", "event", 0.1, "t")


def test_what_breaks_the_checker_is_refused_in_a_sentence():
    def broken(*_):
        raise ValueError("no such thing")

    honest, derivation.step = derivation.step, broken
    try:
        refuses(clipped, match=r"assume_clipped: a value has the wrong shape \(ValueError: no such thing\)")
    finally:
        derivation.step = honest


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
