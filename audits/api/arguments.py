"""Validate typed arguments and build requests, for the command line, Python and the pytest plugin.

Numbers are exact, data are documents (`Place`).  `named` writes an argument's name as the caller
does: ``trials`` in Python, ``--trials`` on the command line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from audits.api.cores import cores
from audits.api.requests import Audit, OneRunAudit, SamplesAudit, Sensitivity, TraceRequest, attack_on
from audits.claim import RELATIONS, AuditPlan, read_claim, spelled
from audits.datasets.bases import Pair
from audits.datasets.described import paired, read_data
from audits.datasets.shape import ARRAY, Described, array_shape
from audits.sensitivity.search import NORMS, DeclaredSensitivity
from audits.tradeoff import (
    EventClaim,
    MuClaim,
    PointClaim,
    Points,
    RenyiClaim,
    RhoClaim,
    curve_of_plan,
    curve_of_points,
    renyi_claim,
)
from dpaccount.documents import Place, check_output, parse_toml, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import as_exact, exact_argument, shown, whole_argument
from dpaccount.plan.events import Plan

Named = Callable[[str], str]
Terms = Mapping[str, Place]  #: shape, low, high, dtype, or columns; and a pair left, right

DATA = (*ARRAY, "columns", "left", "right")
MAX_TRIALS, MAX_SECONDS = 10**7, 10**7
USUAL = AuditPlan()
#: what has no meaning where results were drawn elsewhere
OF_RUNS = ("claim", "trials", "seconds", "jobs", "relation", "radius", "early", "python", "command", "keep")


@dataclass(frozen=True)
class Arguments:
    """The arguments of `audit`, `trace` and `sensitivity`; None means the default, or the claim's value.

    `epsilon` ≥ 0 and 0 ≤ `delta` ≤ 1 are the claim, or one of `rho` ≥ 0 (zCDP), `mu` ≥ 0 (Gaussian DP),
    `points` (ε, δ) that all hold, `renyi` points (order > 1, ε), and `plan`, whose privacy curve it is.
    Of `trace`, `sensitivity` limits every input of noise; of a query, `bound` is its sensitivity in a
    `norm`, which `prove` asks for.  At most `trials` runs (10 to 10⁷) and
    `seconds` of processor time are spent on the pair under attack; 0 < `confidence` < 1 is that of
    the lower bound; `early` stops at the first refutation of a function.  It runs in the interpreter
    `python`; `command` is a program in place of a subject.  Runs of either are kept in the file `keep`,
    from which the same arguments go on; `certificate` is the file of a certificate.
    `relation`, `radius` and `terms` describe a plain function's data.
    """

    claim: Path | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu: Fraction | None = None
    points: Points | None = None
    renyi: Points | None = None
    plan: Plan | None = None
    sensitivity: Fraction | None = None
    norm: str | None = None
    bound: Fraction | None = None
    prove: bool = False
    trials: Fraction | None = None
    confidence: Fraction | None = None
    seed: Fraction | None = None
    seconds: Fraction | None = None
    jobs: Fraction | None = None
    relation: str | None = None
    radius: Fraction | None = None
    terms: Terms = field(default_factory=dict)
    early: bool = False
    allow_code: bool = True
    python: str | None = None
    command: str | None = None
    keep: Path | None = None
    certificate: Path | None = None
    named: Named = str

    @classmethod
    def read(cls, said: Mapping[str, Any], named: Named = str) -> "Arguments":
        """Return the arguments that a mapping gives by name; numbers may be texts or Python numbers.

        Raises `InputError` for what is no number.
        """
        given = dict[str, Any]()
        for each in fields(cls):
            value = said.get(each.name)
            if value is not None and each.type == Fraction | None:
                value = exact_argument(named(each.name), value)
            elif value is not None and each.type == Points | None:
                value = tuple(tuple(exact_argument(named(each.name), one) for one in pair) for pair in value)
            given |= {} if value is None else {each.name: value}
        return cls(**{**given, "named": named})

    def request(self, subject: str | None) -> Audit:
        """Return the request to attack a named subject, or the claim; arguments override the claim.

        Raises `InputError` for arguments that are missing, out of range, or inconsistent.
        """
        named = self.named
        if sum(each is not None for each in (subject, self.claim, self.command)) != 1:
            others = f"{named('claim')} CLAIM.toml or {named('command')}"
            raise InputError(f"give either a subject's name, {others}")
        subject = None if subject is None else spelled(subject)
        own = self.command is not None or subject is None or ":" in subject
        if self.python is not None and (self.command is not None or not own):
            raise InputError(f"{named('python')} runs a function", "name it, such as clinic:noisy_count")
        if self.certificate is not None:
            what = f"{named('certificate')} is of results drawn elsewhere"
            raise InputError(what, f"give {named('samples')}, or run certify")
        if self.keep is not None and not own:
            raise InputError(f"{named('keep')} keeps the runs of your own function", "leave it out")
        subject = self.command if subject is None else subject
        self._check_ranges()
        # Options are checked before a claim is read, so a wrong one is reported even if the file is wrong.
        curve = self._curve()
        request = self._of_claim() if subject is None else self._of_subject(subject)
        return changed(
            request,
            **given_only(
                epsilon=self.epsilon,
                delta=self.delta,
                relation=self._relation(),
                seconds=self.seconds,
                curve=curve,
            ),
            plan=self._effort(request.plan),
            early=self.early,
            jobs=whole_argument(named("jobs"), self.jobs) or cores(),
            allow_code=self.allow_code,
            python=self.python,
            command=self.command,
            keep=self.keep,
        )

    def samples(self, left: Path, right: Path) -> SamplesAudit:
        """Return the request to compare two files of results, with a certificate of a claim in a file."""
        check_output(self.certificate, left, right, self.claim)
        if self.certificate is not None and self.claim is None:
            what = f"{self.named('certificate')} is about a claim in a file"
            raise InputError(what, f"give {self.named('claim')} CLAIM.toml")
        if self.claim is not None:
            return self._samples_of_claim(left, right, self.claim)
        self._check_only_claim("samples")
        curve, point = self._curve_claimed()
        return SamplesAudit(left, right, point.epsilon, point.delta, self._effort(), curve)

    def _samples_of_claim(self, left: Path, right: Path, file: Path) -> SamplesAudit:
        replace(self, claim=None, certificate=None)._check_only_claim("samples")
        self._curve()
        for name in ("epsilon", "delta"):
            if getattr(self, name) is not None:
                what = f"{self.named('claim')} says {self.named(name)}"
                raise InputError(what, f"leave {self.named(name)} out")
        claim = read_claim(file)
        claim.check_in_force()
        promise, plan = claim.guarantee, self._effort(claim.audit)
        return SamplesAudit(
            left, right, promise.epsilon, promise.delta, plan, claim=claim, certificate=self.certificate
        )

    def one_run(self, file: Path) -> OneRunAudit:
        """Return the request to audit one run by the scores of its canaries."""
        check_output(self.certificate, file)
        self._check_only_claim("one-run")
        curve, point = self._curve_claimed()
        if isinstance(curve, RhoClaim | RenyiClaim):
            name = self.named("rho" if self.renyi is None else "renyi")
            raise InputError(f"no bound on {name} is known from one run", "claim mu, or epsilon and delta")
        return OneRunAudit(
            file, point if curve is None else curve, self._effort(), self.plan, self.certificate
        )

    def trace(self, function: str) -> TraceRequest:
        """Return the request to trace a function's calls for noise."""
        from audits.trace.findings import planned_noise

        self._check_ranges()
        named, events = self.named, self.plan
        claimed = any(each is not None for each in (self.epsilon, self.mu, self.sensitivity))
        if not claimed and events is None:
            others = f"{named('mu')}, {named('sensitivity')} or {named('plan')}"
            raise InputError(f"{named('epsilon')} is missing", f"give what is claimed, or {others}")
        if events is not None:
            planned_noise(events)
            if claimed:
                raise InputError(f"{named('plan')} says what is claimed", "leave the other claims out")
        data = described(self.terms, self._relation(), self.radius, named)
        if data is None:
            array = ", ".join(map(named, DATA[:3]))
            raise InputError(f"{function[:70]} has no data", f"describe them by {array}")
        delta, plan = self.delta or Fraction(0), self._effort()
        return TraceRequest(
            function, data, self.epsilon, delta, self.mu, plan, self.sensitivity, self.allow_code, events
        )

    def query(self, target: str) -> Sensitivity:
        """Return the request to test a query's declared sensitivity, or those that a class declares."""
        self._check_ranges()
        named, plan, target = self.named, self._effort(), spelled(target)
        request = Sensitivity(target, None, plan.seed, plan.seconds, self.prove, allow_code=self.allow_code)
        if self.python is not None and self.prove:
            what = f"{named('prove')} reads the code in this interpreter"
            raise InputError(what, f"leave {named('prove')} or {named('python')} out")
        scalars = (self.norm, self.bound, self.relation, self.radius)
        declares = bool(self.terms) or any(value is not None for value in scalars)
        if ":" in target and declares:
            data = described(self.terms, self.relation, self.radius, named)
            declared = declared_sensitivity(self.norm, self.bound, data, named)
            jobs = whole_argument(named("jobs"), self.jobs) or 1
            return changed(request, declared=declared, jobs=jobs, python=self.python)
        declaration = f"{named('norm')}, {named('bound')}"
        if self.python is not None:
            what = f"{named('python')} runs a query of your own"
            raise InputError(what, f"give {declaration} and its data")
        if self.prove or declares:
            right = f"leave {declaration}, … {named('prove')} out"
            raise InputError(f"{target[:70]} declares its bounds itself", right)
        return request

    def _check_only_claim(self, option: str) -> None:
        """Refuse arguments that have no meaning where nothing is run; check the claim's ranges."""
        said = {**{name: getattr(self, name) for name in OF_RUNS}, **self.terms}
        for name in (name for name, value in said.items() if value is not None and value is not False):
            raise InputError(
                f"{self.named(option)} runs nothing",
                f"leave {self.named('stop-early' if name == 'early' else name)} out",
            )
        self._check_ranges()

    def _check_ranges(self) -> None:
        named = self.named
        for name in ("epsilon", "rho", "mu", "sensitivity"):
            check_range(getattr(self, name), named(name), "at least 0", lambda value: value >= 0)
        check_range(self.delta, named("delta"), "at least 0 and at most 1", lambda value: 0 <= value <= 1)
        check_range(self.confidence, named("confidence"), "above 0 and below 1", lambda value: 0 < value < 1)
        if self.seconds is not None and not 0 < self.seconds <= MAX_SECONDS:
            right = f"give a number above 0 and at most {MAX_SECONDS}"
            raise InputError(f"{named('seconds')} is {shown(self.seconds)}", right)

    def _effort(self, usual: AuditPlan = USUAL) -> AuditPlan:
        """Return the usual effort of an attack, overridden by the arguments that are given."""
        given = given_only(
            trials=whole_argument(self.named("trials"), self.trials, 10, MAX_TRIALS),
            confidence=self.confidence,
            seconds=self.seconds,
            seed=whole_argument(self.named("seed"), self.seed, 0),
        )
        return replace(usual, **given)

    def _curve_claimed(self) -> tuple[EventClaim | None, PointClaim]:
        """Return the claimed curve, if it is no point, and the point; a file states neither."""
        curve = self._curve()
        if curve is None and self.epsilon is None:
            raise InputError(f"{self.named('epsilon')} is missing", "say what is claimed")
        return curve, PointClaim(self.epsilon or Fraction(0), self.delta or Fraction(0))

    def _curve(self) -> EventClaim | None:
        """Return the claim of ρ, μ, points or a plan; None for a claim of (ε, δ)."""
        named = self.named
        given = [name for name in ("rho", "mu", "points", "renyi", "plan") if getattr(self, name) is not None]
        points = [name for name in ("epsilon", "delta") if getattr(self, name) is not None]
        if len(given) > 1 or (given and (points or self.claim is not None)):
            several = [*given, *points, *(["claim"] if self.claim is not None else [])]
            raise InputError(
                f"{' and '.join(map(named, several))} are different claims", "audit one claim at a time"
            )
        if given and self.early:
            raise InputError(
                f"{named('stop-early')} bets on epsilon and delta", f"leave it out with {named(given[0])}"
            )
        if self.mu is not None:
            return MuClaim(self.mu)
        if self.rho is not None:
            return RhoClaim(self.rho)
        if self.points is not None:
            return curve_of_points(self.points, named("points"))
        if self.renyi is not None:
            return renyi_claim(self.renyi, named("renyi"))
        return None if self.plan is None else curve_of_plan(self.plan)

    def _relation(self) -> str | None:
        """Return the relation, which a plan states as well."""
        if self.plan is None:
            return self.relation
        of_plan = self.plan.relation.value
        if self.relation not in (None, of_plan):
            raise InputError(
                f"{self.named('plan')} is under {of_plan}", f"leave {self.named('relation')} out"
            )
        return of_plan

    def _of_claim(self) -> Audit:
        """Return the attack on the claim in a file; the claim describes the data."""
        if self.terms or self.relation is not None or self.radius is not None:
            names = ", ".join(map(self.named, ("relation", "radius", *DATA)))
            raise InputError("a claim describes its data", f"leave {names} out")
        return attack_on(read_claim(Path(str(self.claim))))

    def _of_subject(self, subject: str) -> Audit:
        """Return the attack on a named subject, with the data that the arguments describe."""
        named = self.named
        if self.epsilon is None and self._curve() is None:
            raise InputError(f"{named('epsilon')} is missing", "give the claimed ε of the subject")
        if self.command is not None and not self.terms:
            raise InputError("a program needs data", f"describe them by {', '.join(map(named, DATA[:4]))}")
        if self.command is None and ":" not in subject and (self.terms or self.radius is not None):
            names = ", ".join(map(named, ("radius", *DATA)))
            raise InputError(f"{subject} has data of its own", f"leave {names} out")
        if self.relation is not None and self.relation not in RELATIONS:
            raise InputError(
                f"{named('relation')} is {self.relation[:70]!r}", f"known: {', '.join(RELATIONS)}"
            )
        data = described(self.terms, self._relation(), self.radius, named)
        return Audit(subject, self.epsilon or Fraction(0), Fraction(0), AuditPlan(), data=data)


def declared_sensitivity(
    norm: str | None, bound: Fraction | None, data: Described | None, named: Named = str
) -> DeclaredSensitivity:
    """Return a declared sensitivity; raises `InputError` if a part is missing or out of range."""
    array = f"{named('shape')}, {named('low')}, {named('high')} (or {named('columns')})"
    given = {named("norm"): norm, named("bound"): bound, array: data}
    missing = [name for name, value in given.items() if value is None]
    if norm is None or bound is None or data is None:
        raise InputError(f"{missing[0]} is missing", f"a query needs {', '.join(given)}")
    if norm not in NORMS:
        raise InputError(f"{named('norm')} is {norm[:70]!r}", f"known: {', '.join(NORMS)}")
    if bound < 0:
        raise InputError(f"{named('bound')} is {shown(bound)}", "a sensitivity is at least 0")
    pair = None if data.pair is None else Pair(*data.pair, "the pair that is given")
    return DeclaredSensitivity(norm, bound, data.shape, pair)


# ------------------------------------------------------------------ data


def described(
    terms: Terms, relation: str | None, radius: Fraction | None, named: Named = str
) -> Described | None:
    """Return the data that `terms` describe; None if they are empty, as for a class.

    Raises `InputError` for terms that are invalid or inconsistent.
    """
    relation = relation or "replace-one"
    if "columns" in terms:
        if radius is not None or any(key in terms for key in ARRAY):
            names = ", ".join(map(named, (*ARRAY, "radius")))
            raise InputError(f"{named('columns')} describes a table", f"leave {names} out")
        data = read_data(terms["columns"], relation, None)
    elif all(key in terms for key in ("shape", "low", "high")):
        data = Described(array_shape(terms, relation, radius))
    else:
        return None
    sides = [terms[key] for key in ("left", "right") if key in terms]
    if len(sides) == 1:
        raise InputError(
            "a pair has two sides", f"give both {named('left')} and {named('right')}, or neither"
        )
    return paired(data.shape, *sides) if sides else data


def terms_of(values: Mapping[str, object], named: Named = str) -> dict[str, Place]:
    """Convert Python values that describe data to documents; a number as `shape` to a list.

    `columns` is a document, as in a claim's ``[subject.data]``, or the path of a TOML file with it.
    """
    plain = {key: value for key, value in values.items() if key != "columns"}
    terms = {key: Place(document_of(value), named(key)) for key, value in plain.items()}
    columns = values.get("columns")
    if isinstance(columns, str | Path):
        terms["columns"] = parse_toml(read_bytes(Path(columns)), str(columns))
    elif columns is not None:
        terms["columns"] = Place(document_of(columns), named("columns"))
    shape = terms.get("shape")
    if shape is not None and not isinstance(shape.value, list):
        terms["shape"] = replace(shape, value=[shape.value])
    return terms


def document_of(value: Any) -> Any:
    """Convert a Python value to a document value: numbers exact, arrays and tuples as lists."""
    if isinstance(value, np.ndarray):
        return document_of(value.tolist())
    if isinstance(value, dict):
        return {str(key): document_of(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [document_of(member) for member in value]
    return value if isinstance(value, bool | str) or value is None else as_exact(value)


# ------------------------------------------------------------------ numbers


def check_range(value: Fraction | None, name: str, right: str, within: Callable[[Fraction], bool]) -> None:
    """Raise `InputError` for a number that is given and not `within` its range, which `right` describes."""
    if value is not None and not within(value):
        raise InputError(f"{name} is {shown(value)}", f"it must be {right}")


def given_only(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}
