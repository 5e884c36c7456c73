"""Careless authors: every class of this folder gets the verdict that it names.

Each is tried in a fork: what its class or module keeps must not meet the next test.
"""

import importlib
import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import to_builtins

from audits.api.on_subject import audit_subject
from audits.api.requests import attack_on
from audits.certificate.document import refused_by_checker, unsealed
from audits.certificate.make import AuditBudget, certify, silent
from audits.claim import as_written, read_claim
from audits.sandbox.fork import in_fork
from dpaccount.errors import InputError
from tests.depth import deep, parts
from tests.loading import on_path

HERE = Path(__file__).parent


def authors():
    for file in sorted(HERE.glob("careless_*.py")):
        with on_path([str(HERE)]):
            module = importlib.import_module(file.stem)
        for name, made_by in inspect.getmembers(module, inspect.isclass):
            if hasattr(made_by, "promise") and made_by.__module__ == file.stem and name[0] != "_":
                yield pytest.param(made_by, id=name)


def claim_of(made_by):
    """Return the claim of an author's class: that of the folder, with what the class promises else."""
    claim = read_claim(HERE / "claim.toml")
    use, promise = f"{made_by.__module__}:{made_by.__name__}", made_by.promise
    written = {**claim.written["guarantee"], **{name: as_written(each) for name, each in promise.items()}}
    return replace(
        claim,
        use=use,
        guarantee=replace(claim.guarantee, **promise),
        written={**claim.written, "subject": {"use": use}, "guarantee": written},
    )


def answer(made_by):
    """Return the verdict, the certificate or None, and everything that was said."""
    try:
        found, _ = certify(claim_of(made_by), made_by(), AuditBudget())
        certificate = unsealed(found)
    except InputError as error:
        return "wrong request", None, str(error)
    said = [entry["counterexample"] for entry in certificate["sensitivity"]]
    return certificate["verdict"], certificate, f"{said} {certificate['hazards']}"


def audited(claim, made_by):
    """Return the answer of `audit`, None for a wrong request."""
    try:
        return to_builtins(audit_subject(attack_on(claim), made_by(), AuditBudget(), silent))
    except InputError:
        return None


@pytest.mark.parametrize("made_by", list(authors()))
@deep
def test_each_author_gets_the_verdict_that_the_class_names(made_by):
    """Seeded; a sound class would be refuted by chance with probability at most .05, and is not."""
    verdict, certificate, said = in_fork(lambda: answer(made_by))
    assert (verdict, made_by.why in said) == (made_by.verdict, True), said
    if certificate is not None:
        assert refused_by_checker(certificate) is None


def test_the_threat_model_names_files_and_classes_that_are_there(root):
    text = (root / "docs" / "threat-model.md").read_text()
    here = {made.id for made in authors()} | {file.name for file in HERE.glob("*.py")}
    tests = {str(file.relative_to(root)) for file in (root / "tests").rglob("*.py")}
    names = {name for name in re.findall(r"`([\w/]+\.py|[A-Z]\w+)`", text) if name[:4] != "play"}
    known = here | tests | {name.rpartition("/")[2] for name in tests}
    assert {"RarePlace", "careless_state.py", "tests/audits/hypothesis_tests/test_playing.py"} <= names
    assert names <= known, names - known


@deep
@parts(20)  # what `certify` finds `audit` finds too: of each of these items three authors at a time
def test_the_audit_of_an_author_is_green_only_where_what_is_shown_was_measured(depth):
    """Seeded; a sound class would be refuted by chance with probability at most .05, and is not."""
    for made_by in depth.drawn([row.values[0] for row in authors()], 3):
        try:
            audit_is_green_only_where_measured(made_by)
        except AssertionError as error:
            error.add_note(f"author: {made_by.__name__}")
            raise


def audit_is_green_only_where_measured(made_by):
    claim = claim_of(made_by)
    found = in_fork(lambda: audited(claim, made_by))
    if made_by.verdict == "wrong request":
        assert found is None
        return
    findings = found["witness"]["findings"]
    broken = [said for said in findings if said.startswith("assume_")]
    unseen = any(said.startswith("assume_view") for said in broken)
    assert bool(broken) == (made_by.verdict == "REFUTED")  # what `certify` refutes is said
    assert unseen <= (found["verdict"] in ("REFUTED", "NOT ATTACKED")), findings
    if not broken:  # no run of the attack shows more than its power, so a larger claim is not attacked
        within = found["epsilon_power"] > claim.guarantee.epsilon
        assert found["verdict"] == ("NOT REFUTED" if within else "NOT ATTACKED")
