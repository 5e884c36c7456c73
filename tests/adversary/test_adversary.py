"""Careless authors: every class of this folder gets the verdict that it names.

Each is tried in a fork: what its class or module keeps must not meet the next test.
"""

import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from audits.certificate.document import refused_by_checker
from audits.certificate.make import Effort, certify, silent
from audits.claim import read_claim
from audits.sandbox.fork import apart
from audits.subjects.code import import_subject
from audits.tasks.messages import attack_on
from audits.tasks.on_subject import audit_subject
from dpaccount.errors import InputError

HERE = Path(__file__).parent
QUICK = {"LargestFirst"}  #: the others are slow


def authors():
    shared = import_subject("careless:Author", [str(HERE)])
    for file in sorted(HERE.glob("careless_*.py")):
        import_subject(f"{file.stem}:Author", [str(HERE)])
        module = sys.modules[file.stem]
        for name, made_by in inspect.getmembers(module, inspect.isclass):
            if issubclass(made_by, shared) and made_by.__module__ == file.stem:
                marks = () if name in QUICK else (pytest.mark.slow,)
                yield pytest.param(made_by, id=name, marks=marks)


def answer(made_by):
    """Return the verdict, the certificate or None, and everything that was said."""
    claim = read_claim(HERE / "claim.toml")
    use = f"{made_by.__module__}:{made_by.__name__}"
    written = {**claim.written, "subject": {"use": use}}
    try:
        found, _ = certify(replace(claim, use=use, written=written), made_by(), Effort())
        certificate = found.as_json()
    except InputError as error:
        return "wrong request", None, str(error)
    said = [entry["counterexample"] for entry in certificate["sensitivity"]]
    return certificate["verdict"], certificate, f"{said} {certificate['hazards']}"


def audited(claim, made_by):
    """Return the answer of `audit`, None for a wrong request."""
    try:
        return audit_subject(attack_on(claim), made_by(), Effort(), silent)
    except InputError:
        return None


@pytest.mark.parametrize("made_by", list(authors()))
@pytest.mark.slow
def test_each_author_gets_the_verdict_that_the_class_names(made_by):
    """Seeded; a sound class would be refuted by chance with probability at most .05, and is not."""
    verdict, certificate, said = apart(lambda: answer(made_by))
    assert (verdict, made_by.why in said) == (made_by.verdict, True), said
    if certificate is not None:
        assert refused_by_checker(certificate) is None


def test_the_threat_model_names_files_and_classes_that_are_there(root):
    text = (root / "docs" / "threat-model.md").read_text()
    here = {made.id for made in authors()} | {file.name for file in HERE.glob("*.py")}
    tests = {str(file.relative_to(root)) for file in (root / "tests").rglob("*.py")}
    names = {name for name in re.findall(r"`([\w/]+\.py|[A-Z]\w+)`", text) if name[:4] != "play"}
    known = here | tests | {name.rpartition("/")[2] for name in tests}
    assert {"RarePlace", "careless_state.py", "tests/audits/evidence/test_playing.py"} <= names
    assert names <= known, names - known


@pytest.mark.parametrize("made_by", list(authors()))
@pytest.mark.slow
def test_the_audit_of_each_author_is_green_only_where_what_is_shown_was_measured(made_by):
    """Seeded; a sound class would be refuted by chance with probability at most .05, and is not."""
    claim = read_claim(HERE / "claim.toml")
    claim = replace(claim, audit=replace(claim.audit, trials=400))
    found = apart(lambda: audited(claim, made_by))
    if made_by.verdict == "wrong request":
        assert found is None
        return
    findings = found["witness"]["findings"]
    broken = [said for said in findings if said.startswith("assume_")]
    unseen = any(said.startswith("assume_view") for said in broken)
    assert bool(broken) == (made_by.verdict == "REFUTED")  # what `certify` refutes is said
    assert unseen <= (found["verdict"] in ("REFUTED", "NOT ATTACKED")), findings
    if not broken:
        assert found["verdict"] == "NOT REFUTED"
