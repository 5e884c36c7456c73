"""Refutations that run, each with a sound twin that must not be refuted; seeded."""

from fractions import Fraction

import numpy as np
import pytest

from dpaccount.errors import InputError
from dpaccount.numerics.intervals import floor_of
from papers import claims as papers
from papers.claims import zhou
from papers.claims.dubey import actions
from papers.claims.dubey.noisy_tree import noisy_nodes
from papers.claims.kharkovskii import projection
from papers.claims.kharkovskii.chi_square import doubled_variance
from papers.claims.parameters import Values
from tests.depth import deep


def certify(name, seed=1, **settings):
    exact = {k: v if k in ("mode", "users", "laws") else Fraction(v) for k, v in settings.items()}
    return papers.certify_claim(name, exact, seed)


WITH_A_RUN = (
    *("dubey-lemma2", "dubey-lemma2-actions", "dubey-lemma2-unclipped", "dubey-repair"),
    *("zhou-moma", "zhou-unbounded"),
    *("kharkovskii-theorem1", "kharkovskii-branch"),
    *("pavlovic-grid", "pavlovic-observed"),
)


def test_the_claims_with_a_run():
    assert {name for name in papers.names() if papers.find(name).run} == set(WITH_A_RUN)


@deep
def test_every_run_agrees_with_the_verdict():
    """A run refutes nothing that is proved; where it refutes, so does the arithmetic."""
    for name in WITH_A_RUN:
        answer = certify(name)
        assert answer["certified"] is not None
        if answer["certified"]["refuted"]:
            assert answer["verdict"] == "REFUTED", name


def test_claims_without_a_run():
    assert certify("dubey-nodes")["certified"] is None


def test_same_seed_same_numbers():
    assert certify("zhou-unbounded", 3)["certified"] == certify("zhou-unbounded", 3)["certified"]
    assert certify("zhou-unbounded", 3)["certified"] != certify("zhou-unbounded", 4)["certified"]


@deep
def test_column_space_of_the_paper_size():
    seen = certify("kharkovskii-theorem1", n=10_000, d=2, r=10, epsilon="3.004166", delta="1e-5")["certified"]
    assert (seen["n"], seen["d"], seen["releases"], seen["told_apart"]) == (10_000, 2, 40, 40)
    assert seen["largest_residual"] < 1e-13
    assert seen["least_residual_prime"] > 1e-4
    assert seen["least_singular_value"] == pytest.approx(1030.9, abs=0.05)
    assert seen["published_omega"] < seen["least_singular_value"]  # the branch that the paper ran
    assert seen["refuted"]


def test_column_space_tells_nothing_after_noise():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 2))
    other = rows.copy()
    other[0, 0] += 1
    basis = projection.column_basis(rows)
    residual = [
        projection.outside(x + 1.4 * rng.normal(size=x.shape), basis) for x in (rows, other) for _ in range(5)
    ]
    assert min(residual) > 0.1
    assert certify("kharkovskii-theorem1", n=3, d=2)["certified"]["refuted"] is False


@deep
def test_branch_and_lifting_always():
    settings = {"r": Fraction(10), "epsilon": Fraction("3.004166"), "delta": Fraction("1e-5")}
    seen = projection.branch_energy(settings, 1)
    assert seen["refuted"]
    assert floor_of(doubled_variance(Fraction(seen["epsilon_lower"]), 10)) > settings["delta"]
    assert not projection.branch_energy(settings, 1, always=True)["refuted"]


def test_unclipped_reward_and_clipped():
    assert certify("dubey-lemma2-unclipped", y=100)["certified"]["refuted"]
    assert not certify("dubey-lemma2-unclipped", y=1)["certified"]["refuted"]


@deep
def test_noisy_matrices_beyond_the_bound_and_within():
    beyond = certify("dubey-lemma2", alpha=10, beta="0.1", T=1024, B=20)["certified"]
    assert beyond["refuted"]
    assert 10 < beyond["epsilon_lower"] < 35.34
    within = certify("dubey-lemma2", alpha=1, beta="0.1", T=1024, B=5)["certified"]
    assert not within["refuted"]
    repaired = certify("dubey-repair", alpha=1, beta="0.1", T=1024, B=5)["certified"]
    assert 0.6 < repaired["epsilon_lower"] <= 1


def test_symmetric_noise_has_the_law_that_is_accounted():
    rng = np.random.default_rng(1)
    noise = noisy_nodes(np.zeros((3, 3)), 2.0, 1, 40_000, rng)
    assert noise[:, 0, 1].std() == pytest.approx(2, rel=0.03)
    assert noise[:, 0, 0].std() == pytest.approx(2 * 2**0.5, rel=0.03)
    assert np.array_equal(noise, noise.transpose(0, 2, 1))


@deep
def test_same_user_and_distinct_users():
    same = certify("zhou-moma", users="same", delta="1e-6")["certified"]
    assert (same["replays"], same["refuted"]) == (389, True)
    distinct = certify("zhou-moma", users="distinct")["certified"]
    assert (distinct["replays"], distinct["refuted"]) == (1, False)
    numbers = {"epsilon": Fraction(1), "T": Fraction(1000), "regret_delta": Fraction(1), "delta": Fraction(0)}
    same_users = Values(numbers, {"users": "same"})
    enough = zhou.replayed(same_users, 1, scale=224.0)  # k = 224 messages of ε/k each
    assert enough["replays"] == 224
    assert not enough["refuted"]


def test_grid_supremum():
    seen = certify("pavlovic-grid", copies=1, ridge="0.01")["certified"]
    assert seen["supremum_over_grid_value"] == pytest.approx(101, rel=1e-9)
    assert seen["refuted"]
    assert not certify("pavlovic-grid", copies=1, ridge=10)["certified"]["refuted"]


def test_observed_contexts_in_kernel_form():
    answer = certify("pavlovic-observed", records=200)
    assert answer["certified"]["log_ratio"] == pytest.approx(answer["proved"]["epsilon"]["upper"], rel=1e-6)
    assert answer["certified"]["refuted"]


def test_too_extreme_to_run():
    with pytest.raises(InputError, match="too extreme"):
        certify("dubey-lemma2", B=10**200)


SMALL = {
    "alpha": Fraction(10),
    "beta": Fraction(1, 10),
    "T": Fraction(2),
    "B": Fraction(20),
    "rho": Fraction(0),
}


def test_actions_reach_most_of_what_is_proved_and_no_more():
    """T = 2: one action. The proof says at most 0.7103 at δ = 0.1."""
    seen = actions.action_attack(SMALL, 1, runs=40_000)
    upper = papers.claim("dubey-lemma2-actions", SMALL)["proved"]["epsilon"]["upper"]
    assert upper == pytest.approx(0.710303, rel=1e-5)
    assert 0.8 * upper < seen["epsilon_lower"] < upper
    assert not seen["refuted"]


def test_sign_of_the_noisy_sum_is_what_one_action_shows():
    held = actions.observe(SMALL, 20.0, 0.0, 20_000, np.random.default_rng(1))
    assert held.shape == (20_000, 1)
    assert held.mean() == pytest.approx(0.6493, abs=0.015)  # Φ(B/σ), σ = 52.17


@deep
def test_actions_of_many_users():
    settings = {**SMALL, "T": Fraction(64)}
    seen = actions.action_attack(settings, 1, runs=200_000)
    assert 0.65 < seen["epsilon_lower"] < 1.1686
    blind = {**settings, "B": Fraction(1, 1000)}
    assert actions.action_attack(blind, 1, runs=20_000)["epsilon_lower"] < 0.1
