"""Every published bandit on local rewards goes the way of `dpaccount certify`: local DP of one person."""

from pathlib import Path

import pytest

from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.subjects.catalogue import subject_made, subject_of
from tests.depth import deep
from tests.loading import import_subject

PLANTED = Path(__file__).parents[1] / "planted"

CLAIM = """\
schema = "dpaccount/claim/1"
name = "small"

[guarantee]
model = "local"
unit = "one person's rewards"
relation = "replace-one"
epsilon = {epsilon}

[subject]
use = "{use}"

[subject.parameters]
rounds = 6
points = 4
bound = 1
noise_bound = 1
channel = "{channel}"
{more}

[audit]
trials = 500
"""


def verdict(folder, use, channel="duchi", more="", epsilon=1.0):
    file = folder / "claim.toml"
    file.write_text(CLAIM.format(use=use, channel=channel, more=more, epsilon=epsilon))
    claim = read_claim(file)
    certificate, _ = certify(claim, subject_of(claim), AuditBudget(quick=True))
    if use == "ldp-moma-gp-ucb":
        assert any("replays of an epoch" in said for said in certificate.hazards)
    return certificate.verdict


@deep
@pytest.mark.statistical(0.05)  # that a correct claim is refuted
@pytest.mark.parametrize("channel", ["duchi", "laplace"])
@pytest.mark.parametrize("use", ["ldp-tgp-ucb", "ldp-ata-gp-ucb", "ldp-moma-gp-ucb"])
def test_it_is_certified(tmp_path, use, channel):
    assert verdict(tmp_path, use, channel) == "CERTIFIED"


@deep
@pytest.mark.statistical(0.1)  # of two correct claims
def test_a_person_who_answers_all_replays_is_certified_at_k_epsilon_only(tmp_path):
    same = 'people = 3\nusers = "same"'
    assert verdict(tmp_path, "ldp-moma-gp-ucb", more=same, epsilon=3.0) == "CERTIFIED"
    assert verdict(tmp_path, "ldp-moma-gp-ucb", more=same, epsilon=1.0) in ("UNPROVEN", "REFUTED")
    assert verdict(tmp_path, "ldp-moma-gp-ucb", more="people = 3") == "CERTIFIED"


@deep
@pytest.mark.parametrize(
    ("twin", "channel", "more", "loses"),
    [
        ("SamePersonReplayed", "duchi", "people = 3", "assume_covers"),
        ("OneDrawAnEpoch", "laplace", "people = 3", "assume_view"),
        ("TruncatedBeforeTheChannel", "laplace", "", "assume_clipped"),
        ("TruncatedByTheReward", "duchi", "", "assume_view"),
    ],
)
def test_a_twin_is_refuted_by_the_hypothesis_that_it_loses(tmp_path, twin, channel, more, loses):
    """A counterexample is exact: no false alarm enters."""
    file = tmp_path / "claim.toml"
    use = f"published_bandit_twins:{twin}"
    file.write_text(CLAIM.format(use=use, channel=channel, more=more, epsilon=1.0))
    claim = read_claim(file)
    certificate, _ = certify(
        claim, subject_made(claim, import_subject(claim.use, [str(PLANTED)])), AuditBudget(quick=True)
    )
    assert certificate.verdict == "REFUTED"
    assert loses in {entry.rule for entry in certificate.sensitivity if entry.status == "refuted"}
