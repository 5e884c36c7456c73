"""Local bandits through the whole of `certify`: correct channels pass, each twin loses what it breaks."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import pytest

from audits.certificate.document import unsealed
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.subjects.catalogue import subject_made, subject_of
from dpaccount.errors import InputError
from tests.depth import deep
from tests.loading import import_subject

PLANTED = Path(__file__).parents[1] / "planted"
FILE = "local_reward_twins"

CLAIM = """
schema = "dpaccount/claim/1"
name = "local"

[guarantee]
model = "local"
unit = "one person's reward at every point"
relation = "replace-one"
epsilon = 1.0
delta = 0.0

[subject]
use = "{use}"

[subject.parameters]
rounds = 6
points = 4
bound = 1
noise_bound = 1
{more}

[audit]
trials = 1000
"""


def planted():
    spec = importlib.util.spec_from_file_location(FILE, PLANTED / f"{FILE}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SMALL


TWINS = planted()


def claimed(folder, use, **more):
    text = "\n".join(
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}"
        for name, value in more.items()
    )
    file = folder / "claim.toml"
    file.write_text(CLAIM.format(use=use, more=text))
    return read_claim(file)


def refuted(certificate):
    return {entry.rule for entry in certificate.sensitivity if entry.status == "refuted"}


@deep
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_twin_is_refuted_by_the_hypothesis_that_it_loses(twin, tmp_path):
    """False alarms do not enter: a counterexample is exact."""
    own = {name: TWINS[twin][name] for name in ("channel", "rewards_within") if name in TWINS[twin]}
    claim = claimed(tmp_path, f"{FILE}:{twin.__name__}", **own)
    certificate, _ = certify(
        claim, subject_made(claim, import_subject(claim.use, [str(PLANTED)])), AuditBudget(quick=True)
    )
    assert certificate.verdict == "REFUTED"
    assert refuted(certificate) & twin.loses


@deep
@pytest.mark.statistical(0.05)  # that a correct claim is refuted
@pytest.mark.parametrize(
    ("use", "more"),
    [
        ("local-posterior", {"channel": "duchi"}),
        ("local-posterior", {"channel": "laplace"}),
        ("local-posterior", {"channel": "hybrid", "kernel": "matern-5/2"}),
        ("ldp-ctl-gp-ucb", {"rewards_within": 2}),
    ],
)
def test_a_correct_channel_is_certified(use, more, tmp_path):
    claim = claimed(tmp_path, use, **more)
    certificate, _ = certify(claim, subject_of(claim), AuditBudget(quick=True))
    assert certificate.verdict == "CERTIFIED"
    published = "The subject's status is 'published'."
    assert (published in unsealed(certificate)["hazards"]) == (use == "ldp-ctl-gp-ucb")


@deep
def test_the_published_channel_is_refuted_by_name_where_the_claim_says_that_rewards_reach_beyond(tmp_path):
    claim = claimed(tmp_path, "ldp-ctl-gp-ucb", rewards_within=2.5)
    certificate, _ = certify(claim, subject_of(claim), AuditBudget(quick=True))
    assert certificate.verdict == "REFUTED"
    assert [e.query for e in certificate.sensitivity if e.status == "refuted"] == ["reward-within-B-plus-R"]


@deep
@pytest.mark.statistical(0.05)  # that a correct claim is refuted
def test_the_example_is_certified(root):
    claim = read_claim(root / "examples" / "local_optimisation" / "claim.toml")
    certificate, _ = certify(claim, subject_of(claim), AuditBudget(quick=True))
    assert certificate.verdict == "CERTIFIED"


@pytest.mark.parametrize(
    ("use", "more", "said"),
    [
        ("local-posterior", {"epsilon": 31}, "epsilon in"),
        ("local-posterior", {"epsilon": 0}, "epsilon in"),
        ("local-posterior", {"privacy": "none"}, "nothing is proved"),
        ("ldp-ctl-gp-ucb", {}, "rewards_within"),
        ("ldp-ctl-gp-ucb", {"rewards_within": -1}, "rewards_within > 0"),
    ],
)
def test_a_claim_that_makes_no_sense_is_one_sentence(use, more, said, tmp_path):
    claim = claimed(tmp_path, use, **more)
    with pytest.raises(InputError, match=said):
        subject_of(claim).proof(Fraction(0))


@pytest.mark.parametrize("name", ["bound", "noise_bound"])
def test_a_claim_without_its_public_bounds_is_refused(name, tmp_path):
    file = tmp_path / "claim.toml"
    file.write_text(CLAIM.format(use="local-posterior", more="").replace(f"\n{name} = 1", ""))
    with pytest.raises(InputError, match=name):
        subject_of(read_claim(file))
