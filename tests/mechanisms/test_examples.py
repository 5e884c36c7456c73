"""Every mechanism has an example claim, which it meets; the deep part certifies each."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.subjects.calibrated import noise_of
from audits.subjects.catalogue import subject_of
from dpaccount.proof import point
from tests.depth import deep
from tests.mechanisms.catalogued import OF_BANDITS, mechanisms

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMES = [entry.name for entry in mechanisms()]


def test_there_is_an_example_for_every_mechanism_and_no_other():
    assert sorted(file.stem for file in EXAMPLES.glob("mechanisms/*.toml")) == sorted({*NAMES} - OF_BANDITS)


def example(name):
    return EXAMPLES / ("outsourced" if name in OF_BANDITS else "mechanisms") / f"{name}.toml"


def claimed(name):
    claim = read_claim(example(name))
    return claim, subject_of(claim)


@deep(quick_every=2)
@pytest.mark.parametrize("name", NAMES)
def test_the_proof_meets_the_claim_and_not_much_less_would(name):
    claim, subject = claimed(name)
    promise, theorem = claim.guarantee, subject.proof(claim.guarantee.delta)
    epsilon, delta = point(theorem)
    assert (claim.name, claim.use) == (name, name)
    assert delta <= promise.delta
    assert epsilon <= promise.epsilon <= epsilon + Fraction(1, 500)
    assert (theorem.conclusion.relation, theorem.conclusion.observer) == (promise.neighbours, promise.model)


@deep
@pytest.mark.statistical(0.05)  # that a correct claim is refuted
@pytest.mark.parametrize("name", NAMES)
def test_it_is_certified(name):
    certificate, _ = certify(*claimed(name), AuditBudget(quick=True))
    assert certificate.verdict == "CERTIFIED"


@deep
@pytest.mark.parametrize("name", ["laplace-sum", "randomised-response", "sqrt-toeplitz"])
def test_half_the_claimed_epsilon_is_not_certified(name, tmp_path):
    file = Path(shutil.copy(example(name), tmp_path))
    claim, _ = claimed(name)
    written = f"epsilon = {float(claim.guarantee.epsilon)}"
    assert written in file.read_text()
    subject = subject_of(claim)
    parameters = claim.parameters.value if claim.parameters else {}
    key = noise_of(type(subject)) or ("epsilon" if hasattr(subject, "epsilon") else None)
    text = file.read_text().replace(written, f"epsilon = {float(claim.guarantee.epsilon) / 2}")
    if key is not None and key not in parameters:  # else the noise would follow from the smaller claim
        head = "[subject.parameters]\n"
        assert head in text
        text = text.replace(head, f"{head}{key} = {float(getattr(subject, key))}\n")
    file.write_text(text)
    claim = read_claim(file)
    certificate, _ = certify(claim, subject_of(claim), AuditBudget(quick=True))
    assert certificate.verdict in ("UNPROVEN", "REFUTED")
