"""The options of `audit` and `sensitivity`, parsed at once to the questions that they ask."""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from audits.cli.options import File, Flag, NoCode, Number, Numbers, Whole, cores, number, one_of, whole
from dpaccount.errors import InputError
from dpaccount.exact import shown

if TYPE_CHECKING:
    from audits.datasets.shape import Described
    from audits.sensitivity.search import DeclaredSensitivity
    from audits.tasks.messages import Audit, Sensitivity

RELATIONS = one_of("replace-one", "add-remove", "bounded-row")
DTYPES = one_of("float", "int")
Shape = Annotated[str, Parameter(metavar="ROWS[,COLUMNS]")]
Data = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="JSON|FILE")]


@dataclass(frozen=True)
class AuditOptions:
    """What `audit` may be told beside a subject's name.

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1.
    epsilon
        The claimed epsilon, at least 0; wins over the claim's.
    delta
        The claimed delta, from 0 to 1 (default 0, or the claim's).
    trials
        Runs on the pair under attack (default 20000).
    confidence
        Of the lower bound (default 0.95).
    seed
        What all of it follows from (default 1).
    seconds
        Limit on the time of all runs (default 60 for code of your own): slow code gets fewer, and the answer
        says so.
    jobs
        Processes (default: the number of cores); the result does not depend on it.
    relation
        Of your own function: replace-one (default), add-remove, or bounded-row with --radius.
    radius
        How far a row moves, where the relation is bounded-row.
    shape
        Of your own function's data: ROWS or ROWS,COLUMNS.
    low
        The least value of every entry: a number, or one for each column with commas.
    high
        The largest value of every entry: a number, or one for each column with commas.
    dtype
        float (default) or int.
    columns
        Of your own function of a table, not --shape: a TOML file with rows, columns, and id, max_rows, as.
    left
        A dataset of your own function, in JSON or in a JSON file: no search for others.
    right
        Its neighbour.
    early
        Stop at the first refutation; the lower bound is then just above the claim.
    no_code
        Refuse subjects that are not catalogued.
    """

    claim: File | None = None
    epsilon: Number = None
    delta: Number = None
    trials: Whole = None
    confidence: Number = None
    seed: Whole = None
    seconds: Number = None
    jobs: Whole = None
    relation: Annotated[str, RELATIONS] | None = None
    radius: Number = None
    shape: Shape | None = None
    low: Numbers = None
    high: Numbers = None
    dtype: Annotated[str, DTYPES] | None = None
    columns: File | None = None
    left: Data | None = None
    right: Data | None = None
    early: Flag = False
    no_code: NoCode = False

    def question(self, subject: str | None) -> "Audit":
        """Return what is asked of a subject, or of the claim in a file; the options win.

        Raises `InputError` for what is missing or wrong, or does not go together.
        """
        from msgspec.structs import replace as changed

        trials, seed = whole(self.trials, "--trials", 10, 10**7), whole(self.seed, "--seed", 0)
        seconds = time_limit(self.seconds)
        if (subject is None) == (self.claim is None):
            raise InputError("give either a subject's name or --claim CLAIM.toml")
        epsilon, delta = self._promise()
        confidence = self._confidence()
        asked = self._of_file(self.claim) if subject is None else self._of_name(subject, epsilon)
        effort = _said(trials=trials, confidence=confidence, seconds=seconds, seed=seed)
        return changed(
            asked,
            **_said(epsilon=epsilon, delta=delta, relation=self.relation, seconds=seconds),
            plan=replace(asked.plan, **effort),
            early=self.early,
            jobs=whole(self.jobs, "--jobs") or cores(),
            allow_code=not self.no_code,
        )

    def _promise(self) -> tuple[Fraction | None, Fraction | None]:
        epsilon, delta = number(self.epsilon, "--epsilon"), number(self.delta, "--delta")
        if epsilon is not None and epsilon < 0:
            raise InputError(f"--epsilon is {shown(epsilon)}", "it must be at least 0")
        if delta is not None and not 0 <= delta <= 1:
            raise InputError(f"--delta is {shown(delta)}", "it must be at least 0 and at most 1")
        return epsilon, delta

    def _confidence(self) -> Fraction | None:
        confidence = number(self.confidence, "--confidence")
        if confidence is not None and not 0 < confidence < 1:
            raise InputError(f"--confidence is {shown(confidence)}", "it lies strictly between 0 and 1")
        return confidence

    def _of_file(self, file: Path | None) -> "Audit":
        """Return the attack on the claim in a file, which describes its data itself."""
        from audits.claim import read_claim
        from audits.tasks.messages import attack_on

        array = (self.relation, self.radius, self.shape, self.low, self.high, self.dtype)
        if any(option is not None for option in (*array, self.columns, self.left, self.right)):
            raise InputError(
                "--relation, --radius, --shape, --low, --high, --dtype, --columns, --left, --right go with a"
                " subject's name"
            )
        return attack_on(read_claim(Path(str(file))))

    def _of_name(self, subject: str, epsilon: Fraction | None) -> "Audit":
        """Return the attack on a subject that is named, with the data that the options describe."""
        from audits.claim import RELATIONS, AuditPlan
        from audits.tasks.messages import Audit

        if epsilon is None:
            raise InputError("--epsilon is missing", "give the claimed ε of the subject")
        array = (self.radius, self.shape, self.low, self.high, self.dtype)
        described = any(option is not None for option in (*array, self.columns, self.left, self.right))
        if ":" not in subject and described:
            raise InputError(
                f"{subject} has data of its own",
                "leave --shape, --low, --high, --dtype, --columns, --left, --right out",
            )
        if self.relation is not None and self.relation not in RELATIONS:
            raise InputError(f"--relation is {self.relation[:70]!r}", f"known: {', '.join(RELATIONS)}")
        return Audit(subject, epsilon, Fraction(0), AuditPlan(), data=data_of(self))


def _said(**options: Any) -> dict[str, Any]:
    """Return the options that say something."""
    return {name: value for name, value in options.items() if value is not None}


def time_limit(text: str | None) -> Fraction | None:
    """Return the limit on the time of all runs, in seconds."""
    limit = number(text, "--seconds")
    if limit is not None and not 0 < limit <= 10**7:
        raise InputError(f"--seconds is {text}", "a number above 0 and at most 10000000 belongs here")
    return limit


def data_of(options: "AuditOptions | SensitivityOptions") -> "Described | None":
    """Return what the data look like, where the options say it: a class needs none of them.

    Raises `InputError` for what is wrong or does not go together.
    """
    from audits.datasets.described import read_columns_file, with_pair
    from audits.datasets.shape import option_shape

    radius, relation = number(options.radius, "--radius"), options.relation or "replace-one"
    array = (options.shape, options.low, options.high, options.dtype, options.radius)
    if options.columns is not None:
        if any(option is not None for option in array):
            raise InputError(
                "--columns describes a table", "leave --shape, --low, --high, --dtype, --radius out"
            )
        data = read_columns_file(options.columns, relation)
        if options.left is None and options.right is None:
            return data
        return with_pair(data.shape, options.left, options.right)
    if options.shape is None or options.low is None or options.high is None:
        return None
    kind = options.dtype or "float"
    shape = option_shape(options.shape, options.low, options.high, kind, relation, radius)
    return with_pair(shape, options.left, options.right)


@dataclass(frozen=True)
class SensitivityOptions:
    """What `sensitivity` may be told beside a query's name.

    Parameters
    ----------
    norm
        l1, l2 or linf.
    bound
        The declared sensitivity.
    shape
        ROWS or ROWS,COLUMNS.
    low
        The least value of every entry: a number, or one for each column with commas.
    high
        The largest value of every entry: a number, or one for each column with commas.
    relation
        replace-one (default), add-remove, or bounded-row with --radius.
    radius
        How far a row moves, where the relation is bounded-row.
    dtype
        float (default) or int.
    columns
        In place of --shape: a TOML file with rows, columns, and id, max_rows, as.
    left
        A dataset, in JSON or in a JSON file: no search for others.
    right
        Its neighbour.
    seed
        What all of it follows from (default 1).
    jobs
        Processes (default 1); the result does not depend on it.
    seconds
        Limit on the time of all runs of your own code (default 60).
    prove
        If nothing is found, prove the bound by interval branch and bound; exit 3 where that is undecided.
    no_code
        Refuse subjects that are not catalogued.
    """

    norm: Annotated[str, one_of("l1", "l2", "linf")] | None = None
    bound: Number = None
    shape: Shape | None = None
    low: Numbers = None
    high: Numbers = None
    relation: Annotated[str, RELATIONS] | None = None
    radius: Number = None
    dtype: Annotated[str, DTYPES] | None = None
    columns: File | None = None
    left: Data | None = None
    right: Data | None = None
    seed: Whole = None
    seconds: Number = None
    jobs: Whole = None
    prove: Flag = False
    no_code: NoCode = False

    def question(self, target: str) -> "Sensitivity":
        """Return what is asked of a query, or of a class, which declares its bounds itself.

        Raises `InputError` for what is missing or wrong, or does not go together.
        """
        from msgspec.structs import replace as changed

        from audits.tasks.messages import Sensitivity

        effort = _said(seed=whole(self.seed, "--seed", 0), seconds=time_limit(self.seconds))
        asked = Sensitivity(target, prove=self.prove, allow_code=not self.no_code, **effort)
        array = (self.shape, self.low, self.high, self.relation, self.radius, self.dtype)
        data = (*array, self.columns, self.left, self.right)
        described = any(option is not None for option in (self.norm, self.bound, *data))
        if ":" in target and described:
            return changed(asked, declared=self._declared(), jobs=whole(self.jobs, "--jobs") or 1)
        if self.prove or described:
            raise InputError(
                f"{target[:70]} declares its bounds itself", "leave --norm, --bound, … --prove out"
            )
        return asked

    def _declared(self) -> "DeclaredSensitivity":
        from audits.sensitivity.search import declared_of

        return declared_of(self.norm, number(self.bound, "--bound"), data_of(self))
