"""Requests about a mechanism class, in the process that runs its code: certify, attack, test bounds."""

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import asdict
from msgspec.structs import replace as changed

from audits.api.requests import Audit, Certify, CertifyResult, Sensitivity, Task
from audits.api.verdicts import measured
from audits.attack.confirmation import could_show, exceeds
from audits.attack.rules import Planner, plan_event, plan_known_guess, plan_known_threshold
from audits.attack.runs import Progress
from audits.attack.white_box import Attacked, Target, attack
from audits.certificate import release
from audits.certificate.document import read_policy, seal, unsealed, violations
from audits.certificate.make import AuditBudget, certify, example_tables, unmet
from audits.certificate.release import find_run
from audits.claim import AuditPlan, Claim, read_claim
from audits.hypothesis_tests.judge import WorstPair, describe, refuted_by
from audits.hypothesis_tests.search import EXAMPLES, gather
from audits.hypothesis_tests.smoke_test import check_size, runs_at_all
from audits.sandbox.private_data import on_files
from audits.sandbox.table_parts import trust_hazards
from audits.subjects import catalogue
from audits.subjects.sources import digest_of_code, modules_of
from dpaccount.documents import canonical
from dpaccount.errors import DpaccountError, InputError, RuleError
from dpaccount.noise.proved import Proved
from dpaccount.schemas.certificate import Evidence
from dpaccount.schemas.results import AttackWitness, AuditAnswer, SensitivityAnswer
from mechanisms.subject import Subject
from mechanisms.table.user_level import named

LEAST_RUNS = 30  #: minimum number of runs on each side in an attack on a class
DELTAS = (Fraction(0), Fraction(1, 10**6))  #: tried in order for a proof if no δ is claimed


# ------------------------------------------------------------------ certify


def certify_subject(
    question: Certify, claim: Claim, subject: Subject, effort: AuditBudget, progress: Progress
) -> CertifyResult:
    """Certify a claim; for a release, run it on its data if it is certified and the policy is met."""
    policy = None if question.policy is None else read_policy(question.policy)
    broken = partial(violations, policy, claim.guarantee)
    if claim.data_file is not None and claim.table is None:
        on_files(claim, subject)
    # A kept release is found before anything is proved, and printed again at no cost.
    identified = release.identify(claim, subject, question.work) if question.release else None
    run = None if identified is None else find_run(identified, again=question.again)
    kept = None if run is None else run.certificate
    if run is not None and not run.again and question.held not in (None, (kept or {}).get("digest")):
        what = "the folder for the output holds another release, which is not replaced"
        raise InputError(what, "name another --out, or charge a new one by --new-release", claim.path)
    if kept is not None:
        other = kept["subject"]["code"] != digest_of_code(type(named(subject)))
        return CertifyResult(kept, reprinted=True, broken=broken(kept["verdict"]), other_code=other)
    if run is not None:
        run = replace(run, release=release.read(run.release, subject, question.work, progress))
    refuse = policy is not None and policy.refuse
    certificate, proved = certify(claim, subject, replace(effort, refuse=refuse), progress)
    wrong = broken(certificate.verdict)
    if run is not None and proved is not None and certificate.verdict == "CERTIFIED" and not wrong:
        if hazards := trust_hazards(claim, question.work):
            certificate = changed(certificate, hazards=[*certificate.hazards, *hazards])
        progress("release")
        return CertifyResult(*release.make(run, proved, certificate))
    return CertifyResult(seal(unsealed(certificate)), broken=wrong)


# ------------------------------------------------------------------ audit


def subject_asked(question: Audit, made_by: type) -> Subject:
    """Return an instance with the claim file's parameters; without one, with example values."""
    if question.claim is None:
        return catalogue.make(made_by, None, examples=True)
    return catalogue.subject_made(read_claim(question.claim), made_by)


def audit_subject(question: Audit, subject: Subject, effort: AuditBudget, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit` on a mechanism class, without its seconds."""
    check_size(subject)
    plan = question.plan
    deltas = (question.delta,) if question.curve is None else DELTAS
    fault = f"{question.use} has no proof to draw noise from at this δ"
    proved = _first_proof(subject, deltas, fault, "try another δ")
    progress("search for the worst neighbouring pair")
    given = [] if question.claim is None else example_tables(read_claim(question.claim), subject)
    evidence, suspect = gather(subject, proved, examples=EXAMPLES, seed=plan.seed, files=[], given=given)
    if all(entry.status == "refuted" for entry in evidence):
        runs_at_all(subject, proved)
    progress("attack")
    outcome = _attacked(question, subject, proved, suspect, effort)
    evidence = refuted_by(evidence, outcome.failing)
    unseen = unmeasured(evidence, suspect)
    refuted = [entry for entry in evidence if entry.rule != "assume_view" and entry.status == "refuted"]
    broken = [f"{entry.name}: {_wrong(entry)}" for entry in refuted]
    bound, epsilon, curve = outcome.results[0][1], question.epsilon, question.curve
    leaked = bound if unseen else could_show(bound, partial(exceeds, epsilon=epsilon, curve=curve))
    pair = describe(suspect.pair, suspect.coins, "the neighbouring pair under attack")
    answer = measured(
        question,
        bound,
        leaked,
        runs=2 * outcome.trials,
        attack="white box: log-likelihood ratio of the releases",
        witness=AttackWitness(
            **asdict(pair),
            event=bound.sentence(),
            findings=[*unseen, *broken, *suspect.notes, *unmet(subject)],
        ),
    )
    return with_cut_noted(answer, plan)


def _first_proof(subject: Subject, deltas: Sequence[Fraction], fault: str, advice: str) -> Proved:
    """Return the proof at the first δ that has one; raises `InputError` with `fault` if none has."""
    for delta in deltas:
        try:
            return Proved(subject.proof(delta))
        except RuleError as error:
            why = error
    raise InputError(f"{fault}: {why}", advice)


def _attacked(
    question: Audit, subject: Subject, proved: Proved, suspect: WorstPair, effort: AuditBudget
) -> Attacked:
    target = Target("claim", question.epsilon, question.delta)
    plan = effort.planned(max(question.plan.trials // 2, LEAST_RUNS), question.plan)
    curve = question.curve
    planners: tuple[Planner, ...] = (plan_known_threshold, plan_known_guess)
    if curve is not None:
        planners = (
            lambda left, right, _, risk, runs: plan_event(left, right, curve.lowers, risk, runs, known=True),
        )
    return attack(subject, proved, [target], suspect, plan, planners=planners, curve=curve)


def with_cut_noted(answer: AuditAnswer, plan: AuditPlan) -> AuditAnswer:
    """Return a class's answer, with a note if the time limit reduced the requested runs."""
    asked = max(plan.trials // 2, LEAST_RUNS) * 2
    if answer.refuted or answer.trials >= asked:
        return answer
    cut = f"{answer.attack}; cut by time: {answer.trials} of {asked} runs"
    return changed(answer, attack=cut, verdict="NOT ATTACKED")


def unmeasured(evidence: list[Evidence], suspect: WorstPair) -> list[str]:
    """Return why a score of the releases does not measure the output; empty if it does.

    It does if there are releases and the output is a function of them.
    """
    views = [entry for entry in evidence if entry.rule == "assume_view"]
    wrong = [f"{entry.name}: {_wrong(entry)}" for entry in views if entry.status != "tested"]
    if not views:
        wrong.append("the proof does not say what is shown; end it with a view and post_process")
    if not suspect.drawn:
        wrong.append("no run draws noise, so there is no release to score")
    return wrong


def _wrong(entry: Evidence) -> str:
    return "no test is known" if entry.counterexample is None else str(entry.counterexample.wrong)


# ------------------------------------------------------------------ sensitivity


def declared_answer(question: Sensitivity, subject: Subject) -> SensitivityAnswer:
    """Return the answer of `dpaccount sensitivity` on a class, with its own data and its own bounds.

    `hypotheses` lists every declared one as in a certificate; the other entries are those of the
    refuted one, else of the first.  `worst` is the largest observed change, in the ℓ2 norm.
    """
    check_size(subject)
    fault = f"{question.use} has no proof, so it declares no sensitivity"
    proved = _first_proof(subject, DELTAS, fault, "give its parameters")
    files = modules_of(type(subject))
    evidence, _ = gather(subject, proved, examples=EXAMPLES, seed=question.seed, files=files)
    if all(each.status == "refuted" for each in evidence):
        runs_at_all(subject, proved)
    tested = [each for each in evidence if each.status != "untested"]
    if not tested:
        raise InputError(
            f"{question.use} declares no sensitivity that a test is known for", "name another subject"
        )
    worst = next((each for each in tested if each.status == "refuted"), tested[0])
    shows = worst.counterexample
    return SensitivityAnswer(
        bound=worst.value,
        worst=math.sqrt(Fraction(worst.worst)),
        refuted=worst.status == "refuted",
        left=None if shows is None else shows.left,
        right=None if shows is None else shows.right,
        examples=worst.examples,
        rounding=None,
        hypotheses=evidence,
    )


# ------------------------------------------------------------------ in the process of a user's class


def perform(made_by: type, document: bytes, answer: Callable[[list[object]], None]) -> None:
    """Run a task on the class: report progress, then the result or one error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            task = msgspec.msgpack.decode(document, type=Task, dec_hook=lambda kind, text: kind(text))
            result = _result(made_by, task, lambda what: answer(["progress", what]))
    except DpaccountError as error:
        answer(["error", error.exit_code, str(error)])
    else:
        answer(["done", msgspec.json.encode(result)])


def _result(made_by: type, task: Task, progress: Callable[[str], None]) -> Any:
    asked = task.question
    if isinstance(asked, Certify):
        claim = read_claim(asked.claim)
        if canonical(claim.written) != task.claim:
            raise InputError("changed since it was read", "give the command again", asked.claim)
        subject = catalogue.subject_made(claim, made_by)
        effort = AuditBudget(asked.quick, asked.jobs, task.seconds, task.folders)
        return certify_subject(asked, claim, subject, effort, progress)
    if isinstance(asked, Audit):
        effort = AuditBudget(jobs=asked.jobs, seconds=task.seconds, folders=task.folders)
        return audit_subject(asked, subject_asked(asked, made_by), effort, progress)
    return declared_answer(asked, catalogue.make(made_by, None, examples=True))
