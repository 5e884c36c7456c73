"""Requests about results that were drawn elsewhere: two samples, or the canaries of one training run."""

import json
from collections.abc import Mapping
from fractions import Fraction

from msgspec import UNSET
from msgspec.structs import replace

from audits.api.requests import OneRunAudit, SamplesAudit
from audits.api.verdicts import measured
from audits.attack.runs import Challenge, Progress
from audits.attack.white_box import Target
from audits.certificate.document import audited, certificate_of, refused_by_checker, seal, unsealed
from audits.claim import Claim
from audits.consistency.hazards import ELSEWHERE
from audits.one_run.audit import audit_canaries
from audits.one_run.canaries import COINS, REPLACED, REVERSED, read_canaries
from audits.one_run.certificate import write_certificate
from audits.one_run.healthy import healthy, sentence
from audits.samples.reading import read_samples
from audits.samples.two_samples import Compared, compare
from audits.subjects.code import Code
from audits.tradeoff import CurveClaim, MuClaim, PointClaim
from dpaccount.documents import atomically, writing
from dpaccount.errors import InputError
from dpaccount.exact import shown, to_digits
from dpaccount.relation import REPLACE_ONE
from dpaccount.schemas.certificate import AttackedPair, AuditResult, DescribedSubject
from dpaccount.schemas.results import AttackWitness, AuditAnswer


def audit_one_run(question: OneRunAudit, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit-one-run`, without its seconds."""
    plan, claim = question.plan, question.claim
    canaries = read_canaries(question.file)
    included, scores = canaries.included, canaries.scores
    one_run = audit_canaries(included, scores, claim, plan.confidence, plan.seed)
    if question.certificate is not None:
        write_certificate(question.certificate, one_run, canaries, plan.confidence, plan.seed)
    progress(f"simulating runs as claimed with {len(scores)} canaries")
    risk = float(1 - plan.confidence)
    expected = healthy(included, scores, one_run, question.events, risk, plan.seed)
    point = claim if isinstance(claim, PointClaim) else PointClaim(Fraction(0))
    replaced = question.events is not None and question.events.relation == REPLACE_ONE
    pure = one_run
    if claim is not point:
        pure = audit_canaries(included, scores, point, plan.confidence, plan.seed)
    answer = AuditAnswer(
        verdict=one_run.verdict,
        epsilon_lower=pure.lower,
        epsilon_power=pure.power,
        delta=shown(point.delta),
        confidence=shown(plan.confidence),
        trials=len(scores),
        runs=1,
        attack="one run: canaries guessed from their scores, by their highest and lowest",
        refuted=one_run.verdict == "REFUTED",
        witness=AttackWitness(
            canaries={"file": question.file.name, "sha256": canaries.digest, "count": len(scores)},
            event=one_run.best.sentence(),
            findings=[
                COINS,
                *([REPLACED] if replaced else []),
                *([REVERSED] if one_run.seems_reversed else []),
                *([] if expected is None else [sentence(expected, claim)]),
            ],
        ),
        healthy=UNSET if expected is None else expected,
    )
    if isinstance(claim, MuClaim):
        return replace(answer, mu_lower=one_run.lower, mu_power=one_run.power)
    if isinstance(claim, CurveClaim):
        return replace(answer, excess_lower=one_run.lower, excess_power=one_run.power)
    return answer


def audit_samples(question: SamplesAudit, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit-samples`, without its seconds."""
    plan = question.plan
    left, right = read_samples(question.left, question.right)
    runs = len(left.results) + len(right.results)
    progress(f"comparing {runs} results")
    risk = 1 - plan.confidence
    challenge = Challenge(
        question.epsilon, question.delta, runs, risk, plan.seed, for_certificate=True, curve=question.curve
    )
    compared = compare(left, right, challenge)
    samples = {"left": left.described(), "right": right.described()}
    answer = measured(
        question,
        compared.reached,
        compared.leaked,
        runs=runs,
        attack=f"{ELSEWHERE}: {compared.score}, Clopper-Pearson on the other results",
        witness=AttackWitness(
            samples=samples,
            event=compared.reached.sentence(),
            score=compared.score,
            findings=[*compared.findings],
        ),
    )
    if question.claim is not None and question.certificate is not None:
        document = _certificate(question, question.claim, compared, samples, answer)
        with writing(question.certificate.parent):
            atomically(question.certificate, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return answer


def _certificate(
    question: SamplesAudit,
    claim: Claim,
    compared: Compared,
    samples: Mapping[str, object],
    answer: AuditAnswer,
) -> Mapping[str, object]:
    """Return the sealed certificate of a claim about code that was not run here."""
    target = Target("claim", question.epsilon, question.delta)
    report = AuditResult(
        attack=answer.attack,
        trials=answer.trials,
        quick=False,
        confidence=shown(question.plan.confidence),
        epsilon_lower=compared.reached.epsilon_lower,
        points=[audited(target, compared.reached, compared.score)],
        witness=AttackedPair(
            left=samples["left"],
            right=samples["right"],
            event=compared.reached.sentence(),
            score=compared.score,
        ),
    )
    name = Code(claim.use, ()).name if ":" in claim.use else claim.use
    given = claim.written["subject"].get("parameters", {})
    subject = DescribedSubject(name, claim.use, ELSEWHERE, "unproved", given, None)
    reason = f"{ELSEWHERE} have no proof"
    if compared.leaked.epsilon_lower <= question.epsilon:
        most = to_digits(compared.leaked.epsilon_lower, up=True, digits=4)
        reason += f", and {answer.trials} results could have shown no more than ε = {most}"
    document = unsealed(certificate_of(claim, subject, None, reason, report=report))
    # Only counts that the checker confirms may stand in a certificate that anybody can check.
    refusal = refused_by_checker(document)
    if refusal is not None:
        raise InputError(f"the checker does not confirm the counts ({refusal})", "give other results")
    return seal(document)
