"""Certification of a mechanism class: claim → proof → property tests → attack → verdict → certificate."""

from dataclasses import dataclass
from fractions import Fraction

from msgspec import convert
from msgspec.structs import replace

from audits.attack.runs import Progress, silent
from audits.attack.white_box import Attacked, AttackPlan, attack, targets
from audits.certificate.document import (
    accepted,
    audited,
    certificate_of,
    describe_subject,
    refused_by_checker,
    unsealed,
    untested,
)
from audits.claim import AuditPlan, Claim
from audits.consistency.hazards import NO_TEST
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.judge import WorstPair, describe, refuted_by
from audits.hypothesis_tests.search import EXAMPLES, gather, search
from audits.hypothesis_tests.smoke_test import (
    FAMILY,
    SOME_PAIRS,
    check_size,
    late_in_session,
    member_of,
    of_few_rows,
    runs_at_all,
    with_late,
)
from audits.sandbox.data_guard import access
from audits.sandbox.private_data import digests_in, rows_of
from audits.subjects import catalogue, sources
from audits.subjects.catalogue import BoundClaim
from audits.subjects.marks import MARKS, NOT_RECORDED, constants_of
from dpaccount.checker.documents import brief
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import shown
from dpaccount.noise.proved import Proved
from dpaccount.proof import Theorem
from dpaccount.relation import radius_of
from dpaccount.schemas.certificate import AttackedPair, AuditResult, Draft, Evidence
from mechanisms.subject import Rows, Subject
from mechanisms.subject.isolation import fresh
from mechanisms.table.database import DatabaseTable
from mechanisms.table.user_level import named


@dataclass(frozen=True)
class AuditBudget:
    """How much work goes into the attack; `quick` reduces the runs tenfold.

    `seconds` is a time limit for the attack, which reduces slow runs; None: no limit.  Worker processes
    import a user's class from `folders`; `counted` receives progress messages.  With `refuse`, as in the
    claim, nothing is proved of code with lines that no test covers.
    """

    quick: bool = False
    jobs: int = 1
    seconds: float | None = None
    folders: tuple[str, ...] = ()
    counted: Progress = silent
    refuse: bool = False

    def planned(self, trials: int, plan: AuditPlan) -> AttackPlan:
        """Return the plan of an attack with `trials` runs on each side."""
        risk = 1 - plan.confidence
        return AttackPlan(trials, risk, plan.seed, self.jobs, self.seconds, self.folders, self.counted)


def certify(
    claim: Claim, subject: Subject, effort: AuditBudget, progress: Progress = silent
) -> tuple[Draft, Proved | None]:
    """Return the certificate, made without any private data, and the proof (None: there is none).

    The same claim, code and seed give the same verdict and numbers, unless the time limit cut the
    attack, as its report then says.
    """
    claim.check_in_force()
    _check_radius(claim, subject)
    progress("proof")
    proved = proof_of(claim, subject)
    if isinstance(proved, str):
        return certificate_of(claim, describe_subject(claim, subject), None, proved), None
    progress("property tests of the assumptions")
    few, some = _instances(claim, subject)
    about = proved if some is None else Proved(few.proof(claim.guarantee.delta))
    evidence, suspect = _tested(claim, few, about)
    if some is not None:
        evidence = _with_larger_member(claim, some, proved, evidence)
    progress("audit")
    trials, promise = trials_of(claim, effort, evidence), claim.guarantee
    aims = targets(about, promise.epsilon, promise.delta, suspect.pair.unit)
    outcome = attack(few, about, aims, suspect, effort.planned(trials, claim.audit))
    report = _report(claim, outcome, effort, trials)
    evidence = refuted_by(evidence, outcome.failing)
    uncovered, lines = sources.uncovered(type(named(subject))), unmet(subject)
    notes = (
        *lines,
        *suspect.notes,
        *uncovered,
        *untested(outcome),
        *_warnings(subject),
        *([] if some is None else [FAMILY.format(SOME_PAIRS, some.domain().rows)]),
    )
    described = describe_subject(claim, subject)
    other = _replaced(claim, subject)
    certificate = certificate_of(claim, described, proved, None, evidence, report, notes, other)
    late = late_in_session(fresh(few), about) if certificate.verdict == "CERTIFIED" else None
    if late is not None:
        return certificate_of(claim, described, None, late), None
    open_ = [each for each in lines if each.startswith(NO_TEST)]
    if open_ and (effort.refuse or claim.audit.refuse) and certificate.verdict == "CERTIFIED":
        return certificate_of(claim, described, None, f"refused: {open_[0]}", notes=notes), None
    refusal = refused_by_checker(unsealed(certificate))
    if refusal is None:
        return certificate, proved
    # a proof counts only if the checker confirms it
    reason = f"the independent checker does not confirm it ({refusal})"
    return certificate_of(claim, described, None, reason), None


def unmet(subject: Subject) -> list[str]:
    """Return what no test met of the code of a user's class, in sentences."""
    own = named(subject)
    if not MARKS.known:
        return [] if catalogue.is_catalogued(type(own)) else [NOT_RECORDED]
    fixed = constants_of(own, subject.relation)
    return MARKS.in_words(MARKS.missed(fixed, type(own).__mro__))


def _warnings(subject: Subject) -> tuple[str, ...]:
    """Return a subject's warnings for its certificate."""
    warnings = getattr(subject, "warnings", ())
    if not isinstance(warnings, tuple) or not all(isinstance(each, str) for each in warnings):
        raise InputError(f"the warnings of {type(subject).__name__} are no tuple of texts", "make them one")
    return warnings


def _check_radius(claim: Claim, subject: Subject) -> None:
    """Refuse a claim whose radius is below the subject's: pairs would not be its neighbours."""
    allowed, moves = claim.guarantee.radius, radius_of(subject.relation)
    if allowed is not None and (moves is None or moves > allowed):
        raise InputError(
            f"{claim.use} is about {subject.relation}, the claim about {claim.guarantee.neighbours}",
            "say that as the guarantee's relation",
            claim.path,
        )


def proof_of(claim: Claim, subject: Subject) -> Proved | str:
    """Return the subject's theorem, or the reason why there is none."""
    try:
        theorem = subject.proof(claim.guarantee.delta)
    except RuleError as error:
        return str(error)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a user's subject may raise anything
        return f"its proof raises {type(error).__name__}: {error}"
    if not isinstance(theorem, Theorem):
        return f"its proof gives {type(theorem).__name__}, not a Theorem"
    proved = Proved(theorem)
    try:
        _ = proved.point
    except RuleError as error:
        return str(error)
    name = catalogue.name_of(type(named(subject)))
    shown = proved.views
    if not any(view.query == name for view in shown):
        fault = f"shows what {brief(shown[0].query)} does" if shown else "does not say what is shown"
        return f"its proof {fault}; end it with one view of {name}, as shown_to_all(…, {name!r}, delta) does"
    return proved


def _replaced(claim: Claim, subject: Subject) -> Proved | None:
    """Return the subject's theorem for a replaced row, for a claim with a radius."""
    prove = getattr(subject, "replaced", None)
    if claim.guarantee.radius is None or prove is None:
        return None
    try:
        proved = Proved(prove(claim.guarantee.delta))
        _ = proved.point
    except RuleError:
        return None
    return proved


def _tested(claim: Claim, subject: Subject, proved: Proved) -> tuple[list[Evidence], WorstPair]:
    """Return the evidence on the hypotheses of a proof, and the pair to attack."""
    check_size(subject)
    files = sources.modules_of(type(named(subject)))
    given, seed = example_tables(claim, subject), claim.audit.seed
    evidence, suspect = gather(subject, proved, examples=EXAMPLES, seed=seed, files=files, given=given)
    if all(entry.status == "refuted" for entry in evidence):
        runs_at_all(subject, proved)
    return [accepted(entry, claim) for entry in evidence], suspect


def _instances(claim: Claim, subject: Subject) -> tuple[Subject, Subject | None]:
    """Return the subject for tests and attack, and a larger member of its family if that is a small member.

    A claim that names an example table is tested with its own subject.
    """
    members = None if claim.examples is not None else member_of(subject, claim.guarantee.delta)
    if members is None:
        few = of_few_rows(subject, claim.guarantee.delta)
        return (few if claim.examples is not None else with_late(few, claim.guarantee.delta)), None
    few, some = members
    return (few, None) if few.domain().rows == subject.domain().rows else (few, some)


def _with_larger_member(
    claim: Claim, some: Subject, proved: Proved, evidence: list[Evidence]
) -> list[Evidence]:
    """Return a small member's evidence combined with tests of a larger one, for the claim's hypotheses."""
    about = Proved(some.proof(claim.guarantee.delta))
    judges = [check_of(about, each)[0] for each in about.hypotheses]
    seen = search(some, about, judges, examples=SOME_PAIRS, seed=claim.audit.seed).require_runs(some)
    entries = []
    for place, (entry, each) in enumerate(zip(evidence, proved.hypotheses, strict=True)):
        # The worse of both members is kept: the larger one can only add to what is found.
        failing = entry.counterexample or seen.failing[place]
        status = entry.status if failing is None else "refuted"
        count, worst = entry.examples + seen.count, str(max(Fraction(entry.worst), seen.worst[place]))
        known = {"step": each.digest, "value": check_of(proved, each)[1], "examples": count, "worst": worst}
        entries.append(replace(entry, **known, counterexample=failing, status=status))
    return entries


def example_tables(claim: Claim, subject: Subject) -> list[Rows]:
    """Return the example table that a claim names, if any, read like its data.

    Raises `InputError` for the private data file or a copy of it, since witnesses quote example rows.
    """
    if claim.examples is None:
        return []
    with access():  # of a database's table there is no file that could be the examples
        file = None if isinstance(claim.data_file, DatabaseTable) else claim.data_file
        private = {} if file is None or claim.public_data else digests_in(file)
        own = digests_in(claim.examples) if private else {}
        if set(private.values()) & set(own.values()):  # one file under two names, too
            raise InputError(
                "this is the private data", "name examples that are public or made up", claim.examples
            )
    return [rows_of(BoundClaim.of(claim, subject), claim.examples)]


def trials_of(claim: Claim, effort: AuditBudget, evidence: list[Evidence]) -> int:
    """Return the runs a world: half the trials, fewer with --quick or a refuted hypothesis."""
    trials, short = claim.audit.trials // 2, any(entry.status == "refuted" for entry in evidence)
    return max(trials // (10 if effort.quick else 1) // (10 if short else 1), 30)


def _report(claim: Claim, outcome: Attacked, effort: AuditBudget, asked: int) -> AuditResult:
    suspect = outcome.suspect
    points = [audited(*result, "log-likelihood ratio") for result in outcome.results]
    pair = describe(suspect.pair, suspect.coins, "the neighbouring pair under attack")
    trials = outcome.trials
    cut = f"; cut by time: {2 * trials} of {2 * asked} runs" if trials < asked else ""
    return AuditResult(
        attack=f"white-box log-likelihood ratio of the releases of the running code, Clopper-Pearson{cut}",
        trials=2 * outcome.trials,
        quick=effort.quick,
        confidence=shown(claim.audit.confidence),
        epsilon_lower=points[0].epsilon_lower,
        distance=suspect.distance,
        points=points,
        witness=convert(pair, AttackedPair, from_attributes=True),
    )
