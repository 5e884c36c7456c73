"""Requests about user code, which runs in worker processes: this process never imports it.

For a mechanism class the whole request runs in a worker.  Plain functions ``f(data, rng)`` are
attacked from here; they have no proof, so the verdict is REFUTED or UNPROVEN.
"""

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec.structs import replace as changed

from audits.api.requests import (
    Audit,
    Certify,
    CertifyResult,
    Sensitivity,
    Stopped,
    Task,
    attack_on,
    done_by,
)
from audits.api.verdicts import explained, measured, not_attacked, on_grid, witness
from audits.attack.black_box import Attempt, attack
from audits.attack.confirmation import level_shown
from audits.attack.pair_search import Stuck
from audits.attack.runs import MIN_RUNS, Challenge, Progress
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
from audits.claim import Claim, read_claim
from audits.datasets.bases import Pair
from audits.datasets.described import read_data
from audits.datasets.named_pairs import walk
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Described, Neighbourhood, Shape
from audits.samples.kept_runs import KeepingCrew, kept_runs
from audits.samples.task_runs import TaskCrew
from audits.sandbox.crew import Crew, Tally, at_once
from audits.sandbox.foreign import check_command
from audits.sensitivity.search import Search, prove_sensitivity, test_sensitivity
from audits.subjects.catalogue import function_named
from audits.subjects.code import Code, code_of
from audits.subjects.sources import digest_of_files
from audits.tradeoff import CurveClaim
from dpaccount import __version__
from dpaccount.documents import canonical
from dpaccount.errors import InputError, LedgerError
from dpaccount.exact import shown, to_digits
from dpaccount.relation import ADD_REMOVE, REPLACE_ONE
from dpaccount.schemas.certificate import AuditResult, DescribedSubject, Draft
from dpaccount.schemas.results import AttackWitness, AuditAnswer, OtherRelation, SensitivityAnswer
from mechanisms.table.reading import Remote

NO_PROOF = (
    "a plain function has no proof; prove its query with `dpaccount sensitivity --prove` and use a mechanism"
    " of `dpaccount list`, or write a mechanism (docs/add-a-mechanism.md)"
)
# ------------------------------------------------------------------ certify


def certify_code(question: Certify, claim: Claim, progress: Progress) -> CertifyResult:
    """Certify a claim about user code, or about a catalogued function without a proof."""
    code = _code(claim.use, claim.path.parent, allow_code=question.allow_code)
    if isinstance(claim.data_file, Remote):
        what = "data of a URL are for catalogued mechanisms"
        raise InputError(what, "copy them here, where they are kept from your code", claim.path)
    if claim.data_file is not None:
        code = replace(code, guarded=str(claim.data_file))
    seconds = float(claim.audit.seconds)
    policy = None if question.policy is None else read_policy(question.policy)
    with Crew(code, seconds=seconds, jobs=question.jobs) as crew:
        if _kind(crew) == "class":
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
    data, code = _described(claim), crew.code
    asked = attack_on(claim, quick=question.quick)
    try:
        attempt = attack_function(crew, asked, data, progress, for_certificate=True)
    except Stuck as stuck:
        return _unproved(claim, code, f"{NO_PROOF}, and {stuck}")
    report = _report(asked, attempt, data, quick=question.quick)
    unmet = () if report.points[0].beaten else crew.unmet(data.shape.relation)
    draft = _unproved(claim, code, NO_PROOF + power_sentence(attempt, asked), report, attempt.findings)
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
    notes = [f"Finding: {finding}." for finding in findings]
    return certificate_of(claim, _described_code(claim, code), None, reason, report=report, notes=notes)


def _described_code(claim: Claim, code: Code) -> DescribedSubject:
    """Return a certificate's description of user code, or of a catalogued function."""
    catalogued, file = function_named(claim.use), code.file()
    given = claim.written["subject"].get("parameters", {})
    return DescribedSubject(
        name=code.name if ":" in claim.use else claim.use,
        use=claim.use,
        source="code of the claim's author" if catalogued is None else catalogued.source,
        status="unproved" if catalogued is None else catalogued.status,
        parameters={name: str(it) if isinstance(it, float) else it for name, it in given.items()},
        code=None if file is None else digest_of_files([file]),
    )


def _report(question: Audit, attempt: Attempt, data: Described, *, quick: bool) -> AuditResult:
    target = Target("claim", question.epsilon, question.delta)
    return AuditResult(
        attack="black box: a learned score of the results, Clopper-Pearson",
        trials=attempt.runs,
        quick=quick,
        confidence=shown(question.plan.confidence),
        epsilon_lower=attempt.reached.epsilon_lower,
        points=[audited(target, attempt.reached, attempt.score)],
        witness=witness(attempt, data.shape),
    )


def power_sentence(attempt: Attempt, question: Audit) -> str:
    """Return a sentence that the runs were too few, for a certificate's reason; or ""."""
    if attempt.verdict(question.epsilon) != "NOT ATTACKED":
        return ""
    most = to_digits(attempt.power, up=True, digits=4)
    return f", and the attack's {attempt.runs} runs could have shown no more than ε = {most}"


# ------------------------------------------------------------------ audit


def audit_code(question: Audit, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit` on user code, without its seconds."""
    folder = Path.cwd() if question.claim is None else question.claim.parent
    code = _elsewhere(question) or _code(question.use, folder, allow_code=question.allow_code)
    if question.python is not None:
        code = replace(code, python=question.python)
    seconds = float(question.plan.seconds)
    with _crew(code, question, seconds, progress) as crew:
        if _kind(crew) == "function":
            data = _data(question)
            if question.python is not None:
                check_reaches(data.shape)
            answer = audit_function(crew, question, data, progress)
            known = data.shape.relation in (REPLACE_ONE, ADD_REMOVE) and data.pair is None
            plan = isinstance(question.curve, CurveClaim)  # its events are of one relation
            if answer.refuted and known and not plan and not question.early:
                other = _under_the_other(crew, question, data, progress)
                return changed(answer, other_relation=other)
            return answer
        if question.keep is not None:
            raise InputError(f"{question.use} is a class", "only runs of a function are kept")
        try:
            task = Task(changed(question, data=None), code.folders, seconds)  # classes declare their data
            return msgspec.convert(done_by(crew.first, task, progress), AuditAnswer)
        except Stopped as stopped:
            if not stopped.silent:
                raise InputError(f"{question.use} cannot be attacked: {stopped}", "mend it") from None
            return not_attacked(question, str(stopped))


def check_reaches(shape: Neighbourhood) -> None:
    """Raise `InputError` for data frames, which are not sent to another interpreter."""
    if shape.layout is not None and shape.layout.form in ("pandas", "polars"):
        raise InputError(f'as = "{shape.layout.form}" does not reach another interpreter', 'say as = "dict"')


def _data(question: Audit) -> Described:
    """Return the function's data as described by the claim's file, the catalogue or the options."""
    if question.claim is not None:
        return _described(read_claim(question.claim))
    catalogued = function_named(question.use)
    if catalogued is not None:
        return catalogued.on(question.relation or "replace-one")
    return described_by(question.use, question.data)


def described_by(use: str, data: Described | None) -> Described:
    """Return the data that the options describe; raises `InputError` if there is no description."""
    if data is None:
        raise InputError(
            f"{use} is a plain function", "describe its data by --shape, --low, --high (or by --columns FILE)"
        )
    return data


def _described(claim: Claim) -> Described:
    """Return the data of a claim, or of a catalogued function; raises `InputError` if none are declared."""
    catalogued = function_named(claim.use)
    if catalogued is not None:
        if claim.parameters is not None or claim.data_shape is not None:
            raise InputError(f"{claim.use} has data of its own", "leave [subject.data] out", claim.path)
        return catalogued.on(claim.guarantee.relation)
    if claim.parameters is not None:
        raise claim.parameters.wrong("a plain function takes no parameters", "leave this table out")
    if claim.data_file is not None:
        raise InputError(f"{claim.use} reads no data file", "leave [data] out", claim.path)
    if claim.examples is not None:
        raise InputError("examples are for classes", "give a plain function left and right", claim.path)
    if claim.data_shape is None:
        what = f"{claim.use} is a plain function"
        raise InputError(what, "describe its data in [subject.data]", claim.path)
    return read_data(claim.data_shape, claim.guarantee.relation, claim.guarantee.radius)


def audit_function(crew: Crew, question: Audit, data: Described, progress: Progress) -> AuditAnswer:
    """Return the answer of `dpaccount audit` on a function, without its seconds."""
    try:
        attempt = attack_function(crew, question, data, progress, for_certificate=False)
    except Stuck as stuck:
        return not_attacked(question, str(stuck))
    cut = f"; {attempt.cut}" if attempt.cut else ""
    shown = explained(attempt, data.shape)
    answer = measured(
        question,
        attempt.reached,
        attempt.leaked,
        runs=attempt.runs,
        attack=f"black box: {attempt.cause or attempt.score}{cut}",
        witness=shown,
    )
    if not answer.refuted:
        findings = [*shown.findings, *crew.unmet(data.shape.relation)]
        answer = changed(answer, witness=changed(shown, findings=findings))
    if attempt.on_grid is None:
        return answer
    return changed(answer, on_grid=on_grid(question, attempt.on_grid))


def _under_the_other(crew: Crew, question: Audit, data: Described, progress: Progress) -> OtherRelation:
    """Return the verdict on a refuted claim under the other relation, from half as many runs at most.

    It is no evidence for or against the claim itself, and its bound has its own risk.
    """
    relation = ADD_REMOVE if data.shape.relation == REPLACE_ONE else REPLACE_ONE
    shape = replace(data.shape, relation=relation)
    less = replace(question.plan, trials=max(question.plan.trials // 2, MIN_RUNS))
    crew.tally = Tally()
    progress(f"the same claim under {relation}")
    try:
        attempt = attack_function(
            crew, changed(question, plan=less), Described(shape), progress, for_certificate=False
        )
    except (Stuck, InputError):
        return OtherRelation(relation, "NOT ATTACKED", 0.0)
    found = measured(question, attempt.reached, attempt.leaked, runs=0, attack="", witness=AttackWitness())
    return OtherRelation(relation, found.verdict, level_shown(attempt.reached, question.curve))


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


# ------------------------------------------------------------------ sensitivity


def code_sensitivity(question: Sensitivity) -> Search | SensitivityAnswer:
    """Test what a user's query declares, then try to prove it, if requested; or all that a class declares."""
    declared, code = question.declared, code_of(question.use, Path.cwd(), allow_code=question.allow_code)
    if declared is not None and question.python is not None:
        check_reaches(declared.shape)
        code = replace(code, python=question.python)
    seconds = float(question.seconds)
    with Crew(code, seconds=seconds, jobs=question.jobs) as crew:
        if declared is None:
            if crew.kind != "class":
                right = (
                    "say --norm, --bound, --shape, --low and --high, or --columns in place of the last three"
                )
                raise InputError(f"{question.use} is {_called(crew.kind)}", right)
            try:
                done = done_by(crew.first, Task(question, code.folders, seconds), lambda _: None)
            except Stopped as stopped:
                raise InputError(f"{question.use} cannot be tested: {stopped}", "fix it") from None
            return msgspec.convert(done, SensitivityAnswer)
        if crew.kind == "class":
            right = "leave --norm, --bound, --shape, … out"
            raise InputError(f"{question.use} declares its own sensitivities", right)
        if crew.kind != "function":
            right = "name a function of the data that returns numbers"
            raise InputError(f"{question.use} is {_called(crew.kind)}", right)
        search = test_sensitivity(crew, declared, question.seed)
        if question.prove:
            prove_sensitivity(crew, search)
        return search


# ------------------------------------------------------------------ the process


def _code(use: str, folder: Path, *, allow_code: bool) -> Code:
    catalogued = function_named(use)
    return code_of(use, folder, allow_code=allow_code) if catalogued is None else catalogued.code


def _crew(code: Code, question: Audit, seconds: float, progress: Progress) -> Crew:
    """Return processes for the code, whose runs are recorded in a file or run as tasks if requested."""
    if question.tasks:
        return TaskCrew(code.travelling(), seconds=seconds, jobs=question.jobs, progress=progress)
    if question.keep is None:
        return Crew(code, seconds=seconds, jobs=question.jobs)
    plan = question.plan
    claimed = question.curve or (shown(question.epsilon), shown(question.delta))
    asked = {
        "version of this program": __version__,
        "function": question.use,
        "interpreter": str(question.python),
        "code": digest_of_files(code.files()),
        "claim": repr(claimed),
        "seed": str(plan.seed),
        "effort": f"{plan.trials} {shown(plan.confidence)} {shown(plan.seconds)} {question.early}",
        # how many runs there are, and in which blocks, follows from it
        "number of jobs": f"{max(question.jobs, 1)}, of which {at_once(question.jobs)} at once",
    }
    kept = kept_runs(question.keep, asked)
    try:
        return KeepingCrew(code, kept, seconds=seconds, jobs=question.jobs)
    except InputError:
        kept.close()
        raise


def _elsewhere(question: Audit) -> Code | None:
    """Return a program as code, after a notice on standard error that it runs; None if it is a function."""
    if question.command is None:
        return None
    if not question.allow_code:
        raise InputError("a command runs code, and --catalogue-only forbids it", "name a catalogued subject")
    check_command(question.command)
    sys.stderr.write(f"runs {question.command}\n")
    return Code(question.use, (), command=question.command)


def _kind(crew: Crew) -> str:
    if crew.kind not in ("class", "function"):
        raise InputError(
            f"{crew.code.use} is not a class with domain, proof and play, nor a function f(data, rng)",
            "name one of these",
        )
    return crew.kind


def _called(kind: str) -> str:
    """Return the description of a worker's word for a subject, with its article."""
    words = {
        "class": "a class of mechanisms",
        "another class": "a class without proof and play",
        "function": "a function",
    }
    return words.get(kind, f"of type {kind}")
