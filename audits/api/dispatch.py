"""Decides whether a request runs in this process or in a separate one.

Catalogued classes are trusted and run here.  User code, and catalogued functions, which exist
to be attacked, run in other processes.
"""

from contextlib import nullcontext

from audits.api import on_subject
from audits.api.on_code.audit import audit_code
from audits.api.on_code.certify import certify_code
from audits.api.on_code.sensitivity import code_sensitivity
from audits.api.on_results import audit_one_run, audit_samples
from audits.api.requests import Audit, Certify, CertifyResult, OneRunAudit, SamplesAudit, Sensitivity
from audits.attack.runs import Progress
from audits.certificate.make import AuditBudget
from audits.claim import Claim, read_claim
from audits.sandbox.private_data import on_disk
from audits.sensitivity.search import Search
from audits.subjects import catalogue
from audits.subjects.catalogue import function_named
from dpaccount.errors import InputError
from dpaccount.schemas.results import AuditAnswer, SensitivityAnswer


def certify(question: Certify, progress: Progress, claim: Claim | None = None) -> CertifyResult:
    """Answer `dpaccount certify`; `claim` takes the place of the one in the request's file."""
    claim = claim or read_claim(question.claim)
    if runs_apart(claim.use):
        return certify_code(question, claim, progress)
    effort = AuditBudget(question.quick, question.jobs, counted=progress)
    subject = catalogue.subject_of(claim)
    with on_disk(claim) if question.release else nullcontext(claim) as one_reading:
        return on_subject.certify_subject(question, one_reading, subject, effort, progress)


def audit(question: Audit | SamplesAudit | OneRunAudit, progress: Progress) -> AuditAnswer:
    """Answer `dpaccount audit`, without its seconds."""
    if isinstance(question, SamplesAudit):
        return audit_samples(question, progress)
    if isinstance(question, OneRunAudit):
        return audit_one_run(question, progress)
    if question.command is not None or runs_apart(question.use):
        return audit_code(question, progress)
    subject = on_subject.subject_asked(question, catalogue.find(question.use).made_by)
    if question.relation not in (None, subject.relation):
        raise InputError(f"{question.use} is about {subject.relation}", "say that as --relation")
    limit = None if question.seconds is None else float(question.seconds)
    effort = AuditBudget(jobs=question.jobs, seconds=limit, counted=progress)
    return on_subject.audit_subject(question, subject, effort, progress)


def sensitivity(question: Sensitivity) -> Search | SensitivityAnswer:
    """Answer `dpaccount sensitivity` for a query, or for all bounds that a class declares."""
    if question.declared is not None or ":" in question.use:
        return code_sensitivity(question)
    made_by = catalogue.find(question.use).made_by
    return on_subject.declared_answer(question, catalogue.make(made_by, None, examples=True))


def runs_apart(use: str) -> bool:
    """Return whether a name refers to code that runs in a separate process."""
    return ":" in use or function_named(use) is not None
