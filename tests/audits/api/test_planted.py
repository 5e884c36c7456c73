"""Every audit must catch its broken twin, and leave the correct subject alone."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from audits.attack.white_box import AttackPlan, Target, attack, targets
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.hypothesis_tests.search import gather
from dpaccount.noise.proved import Proved
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.laplace_sum import LaplaceSum
from tests.depth import deep
from tests.loading import on_path

with on_path([str(Path(__file__).parents[2] / "planted")]):
    from broken_sums import DELTA, Counter, HalfNoise, Lucky, Raises, ShowsOwn, Unclipped

PLANTED = Path(__file__).parents[2] / "planted"


def broken(subject, seed=1):
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=80, seed=seed, files=[])
    return {entry.rule for entry in found if entry.status == "refuted"}


@deep
@pytest.mark.parametrize(
    ("subject", "rules"),
    [
        (ShowsOwn(rows=5), {"assume_view"}),
        (Unclipped(low=0, high=1, rows=5), {"assume_clipped"}),
        (HalfNoise(low=0, high=1, rows=5), {"assume_clipped"}),
        (Counter(rows=5), {"assume_view"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_planted_mechanisms_lose_the_right_hypothesis(subject, rules):
    assert broken(subject) == rules


@deep
def test_code_that_raises_on_some_data_is_a_finding():
    assert broken(Raises(rows=5)) == {"assume_ball", "assume_numbers", "assume_view"}


@deep
@pytest.mark.parametrize(
    "subject",
    [LaplaceSum(low=0, high=1, rows=5), GaussianSum(rows=5)],
)
def test_correct_ones_lose_none(subject, depth):
    assert broken(subject, depth.seed(1)) == set()


@deep
def test_a_hypothesis_without_a_test_is_not_evidence():
    subject = Lucky(low=0, high=1, rows=5)
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=10, seed=1, files=[])
    assert {entry.rule: entry.status for entry in found}["assume_rare"] == "untested"
    claim = read_claim(PLANTED / "plain.toml")
    promise = replace(claim.guarantee, model="central", epsilon=Fraction(1), delta=DELTA)
    claim = replace(claim, guarantee=promise, audit=replace(claim.audit, trials=100))
    certificate, _ = certify(claim, subject, AuditBudget())
    assert certificate.verdict == "UNPROVEN"


# ------------------------------------------------------------------ the attack on conclusions


@deep
@pytest.mark.statistical(1e-3)  # the true claim is refuted
def test_the_attack_refutes_a_false_claim_and_not_a_true_one():
    subject = LaplaceSum(low=0, high=1, rows=3, scale=Fraction(1))  # ε = 1 exactly
    theorem = subject.proof(Fraction(0))
    _, suspect = gather(subject, Proved(theorem), examples=60, seed=1, files=[])

    def refuted(epsilon):
        points = [Target("claim", epsilon, Fraction(0))]
        outcome = attack(
            subject, Proved(theorem), points, suspect, AttackPlan(3000, Fraction(1, 1000), seed=2)
        )
        return any(bound.epsilon_lower > target.limit for target, bound in outcome.results)

    assert refuted(Fraction(1, 2))
    assert not refuted(Fraction(1))


@deep
def test_the_result_does_not_depend_on_the_number_of_jobs(depth):
    subject = LaplaceSum(low=0, high=1, rows=3)
    theorem = subject.proof(DELTA)
    _, suspect = gather(subject, Proved(theorem), examples=20, seed=1, files=[])
    points = targets(Proved(theorem), Fraction(1), DELTA, 1)
    one, two = (
        attack(
            subject,
            Proved(theorem),
            points,
            suspect,
            AttackPlan(1100, Fraction(1, 20), seed=depth.seed(2), jobs=jobs),
        )
        for jobs in (1, 2)
    )
    assert one.results == two.results


@deep
@pytest.mark.statistical(0.05)  # one sound claim
def test_a_profile_point_refutes_a_proof_with_half_the_noise():
    """The claim (ε, δ) survives 2,000 runs; total variation does not."""
    honest = LaplaceSum(low=0, high=1, rows=3, scale=Fraction(1))
    theorem = replace(honest, scale=Fraction(2)).proof(Fraction(0))  # asserts ε = ½
    _, suspect = gather(honest, Proved(honest.proof(Fraction(0))), examples=40, seed=1, files=[])
    points = targets(Proved(theorem), Fraction(5), Fraction(0), 1)
    outcome = attack(
        honest, Proved(honest.proof(Fraction(0))), points, suspect, AttackPlan(2000, Fraction(1, 20), seed=3)
    )
    beaten = {target.of for target, bound in outcome.results if bound.epsilon_lower > target.limit}
    assert beaten == {"proof"}
