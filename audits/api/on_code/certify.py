"""The certificate of user code, or of a catalogued function without a proof."""

from dataclasses import replace

import msgspec
from msgspec.structs import replace as changed

from audits.api.on_code.audit import attack_function
from audits.api.on_code.data import data_of
from audits.api.on_code.processes import code_named, kind_of
from audits.api.requests import Certify, CertifyResult, Stopped, Task, attack_on, done_by
from audits.api.verdicts import witness
from audits.attack.pair_search import Stuck
from audits.attack.runs import Progress
from audits.attack.white_box import Target
from audits.certificate.document import (
    audited,
    certificate_of,
    read_policy,
    refused_by_checker,
    seal,
    unsealed,
    violations,
)
from audits.certificate.release import spent_when_stopped
from audits.claim import Claim
from audits.sandbox.crew import Crew
from audits.subjects.catalogue import function_named
from audits.subjects.code import Code
from audits.subjects.sources import digest_of_files
from dpaccount.documents import canonical
from dpaccount.errors import InputError, LedgerError
from dpaccount.exact import shown, to_digits
from dpaccount.schemas.certificate import AuditResult, DescribedSubject, Draft
from mechanisms.table.reading import Remote

NO_PROOF = (
    "a plain function has no proof; prove its query with `dpaccount sensitivity --prove` and use a mechanism"
    " of `dpaccount list`, or write a mechanism (docs/add-a-mechanism.md)"
)


def certify_code(question: Certify, claim: Claim, progress: Progress) -> CertifyResult:
    """Certify a claim about user code, or about a catalogued function without a proof."""
    code = code_named(claim.use, claim.path.parent, allow_code=question.allow_code)
    if isinstance(claim.data_file, Remote):
        what = "data of a URL are for catalogued mechanisms"
        raise InputError(what, "copy them here, where they are kept from your code", claim.path)
    if claim.data_file is not None:
        code = replace(code, guarded=str(claim.data_file))
    seconds = float(claim.audit.seconds)
    policy = None if question.policy is None else read_policy(question.policy)
    with Crew(code, seconds=seconds, jobs=question.jobs) as crew:
        if kind_of(crew) == "class":
            try:
                path = question.claim.absolute()  # code may change the working directory
                task = Task(changed(question, claim=path), code.folders, seconds, canonical(claim.written))
                return msgspec.convert(done_by(crew.first, task, progress), CertifyResult)
            except Stopped as stopped:
                spent = spent_when_stopped(claim) if stopped.phase == "release" else None
                if spent is not None:
                    raise LedgerError(f"{stopped}; {spent}") from None
                draft = _unproved(claim, code, str(stopped))
        else:
            draft = _attacked(crew, claim, question, progress)
    wrong = violations(policy, claim.guarantee, draft.verdict)
    return CertifyResult(seal(unsealed(draft)), broken=wrong)


def _attacked(crew: Crew, claim: Claim, question: Certify, progress: Progress) -> Draft:
    claim.check_in_force()
    data, code, audit = data_of(claim), crew.code, attack_on(claim, quick=question.quick)
    try:
        attempt = attack_function(crew, audit, data, progress, for_certificate=True)
    except Stuck as stuck:
        return _unproved(claim, code, f"{NO_PROOF}, and {stuck}")
    report = AuditResult(
        attack="black box: a learned score of the results, Clopper-Pearson",
        trials=attempt.runs,
        quick=question.quick,
        confidence=shown(audit.plan.confidence),
        epsilon_lower=attempt.reached.epsilon_lower,
        points=[audited(Target("claim", audit.epsilon, audit.delta), attempt.reached, attempt.score)],
        witness=witness(attempt, data.shape),
    )
    reason = NO_PROOF
    if attempt.verdict(audit.epsilon) == "NOT ATTACKED":
        most = to_digits(attempt.power, up=True, digits=4)
        reason += (
            f", and the attack's {attempt.runs} runs could have shown no more than ε = {most}"
            if attempt.in_time
            else f", and time ended the attack after {attempt.runs} runs"
        )
    unmet = () if report.points[0].beaten else crew.unmet(data.shape.relation)
    draft = _unproved(claim, code, reason, report, attempt.findings)
    draft = changed(draft, hazards=[*draft.hazards, *unmet])
    refusal = refused_by_checker(unsealed(draft))
    if refusal is not None:  # only counts that the checker confirms refute the claim
        reason = f"{NO_PROOF}, and the independent checker does not confirm the attack ({refusal})"
        return _unproved(claim, code, reason)
    return draft


def _unproved(
    claim: Claim, code: Code, reason: str, report: AuditResult | None = None, findings: tuple[str, ...] = ()
) -> Draft:
    """Return the certificate of code without a proof: attack, findings, and the `reason`."""
    catalogued, file = function_named(claim.use), code.file()
    parameters = claim.written["subject"].get("parameters", {})
    subject = DescribedSubject(
        name=code.name if ":" in claim.use else claim.use,
        use=claim.use,
        source="code of the claim's author" if catalogued is None else catalogued.source,
        status="unproved" if catalogued is None else catalogued.status,
        parameters={name: str(it) if isinstance(it, float) else it for name, it in parameters.items()},
        code=None if file is None else digest_of_files([file]),
    )
    notes = [f"Finding: {finding}." for finding in findings]
    return certificate_of(claim, subject, None, reason, report=report, notes=notes)
