"""The audit of user code, and the attack on a function, which a certificate records too."""

from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec.structs import replace as changed

from audits.api.on_code.data import check_reaches, data_asked
from audits.api.on_code.processes import code_named, crew_of, kind_of, program
from audits.api.requests import Audit, Stopped, Task, done_by
from audits.api.verdicts import explained, measured, not_attacked, on_grid
from audits.attack.black_box import Attempt, attack
from audits.attack.confirmation import level_shown
from audits.attack.pair_search import Stuck
from audits.attack.runs import MIN_RUNS, Challenge, Progress
from audits.datasets.bases import Pair
from audits.datasets.named_pairs import walk
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Described, Shape
from audits.sandbox.crew import Crew, Tally
from audits.tradeoff import CurveClaim
from dpaccount.errors import InputError
from dpaccount.relation import ADD_REMOVE, REPLACE_ONE
from dpaccount.schemas.results import AttackWitness, AuditAnswer, OtherRelation


def audit_code(question: Audit, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit` on user code, without its seconds."""
    folder = Path.cwd() if question.claim is None else question.claim.parent
    code = program(question) or code_named(question.use, folder, allow_code=question.allow_code)
    if question.python is not None:
        code = replace(code, python=question.python)
    with crew_of(code, question) as crew:
        if kind_of(crew) == "function":
            data = data_asked(question)
            if question.python is not None:
                check_reaches(data.shape)
            answer = audit_function(crew, question, data, progress)
            has_other = data.shape.relation in (REPLACE_ONE, ADD_REMOVE) and data.pair is None
            plan = isinstance(question.curve, CurveClaim)  # its events are of one relation
            if answer.refuted and has_other and not plan and not question.early:
                other = _under_the_other(crew, question, data, progress)
                return changed(answer, other_relation=other)
            return answer
        if question.keep is not None:
            raise InputError(f"{question.use} is a class", "only runs of a function are kept")
        try:
            # classes declare their data
            task = Task(changed(question, data=None), code.folders, float(question.plan.seconds))
            return msgspec.convert(done_by(crew.first, task, progress), AuditAnswer)
        except Stopped as stopped:
            if not stopped.silent:
                raise InputError(f"{question.use} cannot be attacked: {stopped}", "mend it") from None
            return not_attacked(question, str(stopped))


def audit_function(crew: Crew, question: Audit, data: Described, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit` on a function, without its seconds."""
    try:
        attempt = attack_function(crew, question, data, progress, for_certificate=False)
    except Stuck as stuck:
        return not_attacked(question, str(stuck))
    cut = f"; {attempt.cut}" if attempt.cut else ""
    witness = explained(attempt, data.shape)
    answer = measured(
        question,
        attempt.reached,
        attempt.leaked,
        runs=attempt.runs,
        attack=f"black box: {attempt.cause or attempt.score}{cut}",
        witness=witness,
        in_time=attempt.in_time,
    )
    if not answer.refuted:
        findings = [*witness.findings, *crew.unmet(data.shape.relation)]
        answer = changed(answer, witness=changed(witness, findings=findings))
    if attempt.on_grid is None:
        return answer
    return changed(answer, on_grid=on_grid(question, attempt.on_grid))


def _under_the_other(crew: Crew, question: Audit, data: Described, progress: Progress) -> OtherRelation:
    """Return the verdict on a refuted claim under the other relation, from half as many runs at most.

    It is no evidence for or against the claim itself, and its bound has its own risk.
    """
    relation = ADD_REMOVE if data.shape.relation == REPLACE_ONE else REPLACE_ONE
    other = Described(replace(data.shape, relation=relation))
    less = replace(question.plan, trials=max(question.plan.trials // 2, MIN_RUNS))
    crew.tally = Tally()
    progress(f"the same claim under {relation}")
    try:
        attempt = attack_function(crew, changed(question, plan=less), other, progress, for_certificate=False)
    except (Stuck, InputError):
        return OtherRelation(relation, "NOT ATTACKED", 0.0)
    bounds, whole = (attempt.reached, attempt.leaked), attempt.in_time
    answer = measured(question, *bounds, runs=0, attack="", witness=AttackWitness(), in_time=whole)
    return OtherRelation(relation, answer.verdict, level_shown(attempt.reached, question.curve))


def attack_function(
    crew: Crew, question: Audit, data: Described, progress: Progress, *, for_certificate: bool
) -> Attempt:
    """Attack a function's claim on the given pair, or on the worst one found."""
    plan = question.plan
    crew.layout = data.shape.layout
    given = None if data.pair is None else [Pair(*data.pair, "the pair in the claim")]
    pairs = given or candidates(data.shape, plan.seed)
    challenge = Challenge(
        question.epsilon,
        question.delta,
        plan.trials,
        1 - plan.confidence,
        plan.seed,
        for_certificate=for_certificate,
        early=question.early,
        curve=question.curve,
    )
    walked = walk(data.shape, plan.seed) if isinstance(data.shape, Shape) and data.pair is None else ()
    return attack(crew, pairs, challenge, progress, walked)
