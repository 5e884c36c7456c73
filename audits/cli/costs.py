"""`account`, `calibrate`, `sgd` and `import`: costs of events and training, and plans of other libraries."""

import json
import math
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from msgspec.structs import replace as changed

from audits.cli.options import (
    File,
    Json,
    Number,
    Source,
    Whole,
    lines,
    number,
    one_of,
    required,
    say,
    show,
    source,
    whole,
)
from dpaccount.documents import atomically, check_output, parse_json
from dpaccount.errors import InputError
from dpaccount.exact import printed, shown

if TYPE_CHECKING:
    from dpaccount.accounting.risk_targets import RiskTarget
    from dpaccount.accounting.training import FtrlTraining, Training


def account(  # noqa: PLR0913 - options
    events: Source,
    *,
    delta: Number = None,
    epsilon: Number = None,
    order: Number = None,
    gap: Number = None,
    group: Whole = None,
    risk: bool = False,
    profile: File | None = None,
    certificate: File | None = None,
    work: Number = None,
    json_: Json = False,
) -> int:
    """Compute the cost of a sequence of events: epsilon at DELTA, or delta at EPSILON.

    Example: `dpaccount account events.json --delta 1e-5`

    Parameters
    ----------
    events
        A JSON file of schema dpaccount/events/1, or - for standard input.
    delta
        From 0 to 1: compute epsilon at this delta.
    epsilon
        At least 0: compute delta at this epsilon.
    order
        Above 1: compute the Renyi divergence at this order.
    gap
        Tighten until upper - lower is at most this (relative above epsilon 1; relative for delta).
    group
        Protect any group of this many units (default 1).
    risk
        Also say what an attacker learns at most: true-positive rates, advantage, and a Gaussian mu.
    profile
        Also write delta(epsilon) to this .csv or .svg file.
    certificate
        Also write a certificate, from which dpaccount check re-derives an upper bound on the answer.
    work
        Do at most this many times the usual work before a simpler bound is given (default 1).
    """
    from dpaccount.accounting.accountant import Accountant
    from dpaccount.accounting.answers import account_answer, risk_fields
    from dpaccount.plan.plan_file import read_plan

    for output in (profile, certificate):
        check_output(output, events)
    place = parse_json(source(events), events)
    share, loss, units = number(delta, "--delta"), number(epsilon, "--epsilon"), whole(group, "--group")
    alpha = number(order, "--order")
    # Refused before the work: a summary has no one bound that could be confirmed.
    if certificate is not None and (share is None) == (loss is None):
        raise InputError("a certificate answers one question", "give --delta or --epsilon")
    with _work(work):
        width = number(gap, "--gap")
        answer = account_answer(place, delta=share, epsilon=loss, order=alpha, gap=width, group=units)
        if risk:
            answer["risk"] = risk_fields(Accountant(read_plan(place), units or 1), share)
        if profile is not None:
            from dpaccount.accounting.profile import write_profile

            write_profile(Accountant(read_plan(place), units or 1), profile)
    document = None
    if certificate is not None:
        from audits.accounts import certificate as account

        asked = "epsilon" if loss is None else "delta"
        document = account.certificate(
            place.value, answer[asked], delta=share, epsilon=loss, group=units or 1
        )
        account.write(certificate, document)
        answer[asked] = document["tight"]
        answer["confirmed"] = document["confirmed"]
    show(answer, json_, costs)
    _remark_on_gap(answer, width, relative=loss is not None)
    return confirming(document)


def confirming(document: Mapping[str, Any] | None) -> int:
    """Return the exit code after a certificate, if one was written: 3 where it confirms nothing."""
    return 3 if document is not None and document["confirmed"]["upper"] is None else 0


def _remark_on_gap(answer: dict[str, Any], gap: Fraction | None, *, relative: bool) -> None:
    """Say on standard error where an answer is wider than it was asked to be, as far as doubles show.

    It is valid all the same.
    """
    asked = answer.get("epsilons", [answer])
    for enclosure in asked if gap is not None else ():
        ends = enclosure["delta" if relative else "epsilon"]
        lower, upper = ends["lower"], ends["upper"]
        at = "" if enclosure is answer else f" at delta {enclosure['delta']}"
        if lower is None:
            say(f"note: --gap does not apply{at}: no lower end is known")
            continue
        if lower == upper:
            continue
        width = float(upper) - float(lower)  # of the printed ends, each rounded outward
        most = float(gap or 0) * (float(upper) if relative else max(1.0, float(upper)))
        if math.isinf(width) or width > most + 2 * math.ulp(float(upper)):
            say(f"note: --gap is not reached{at}: upper - lower is {width:.2g}; --work allows for more work")


@dataclass(frozen=True)
class RiskOptions:
    """In place of a target epsilon: a bound on what an attacker learns."""

    target_mu: Number = None
    """Instead: the most mu of a Gaussian above the curve, but for a distance of 1e-8."""
    target_advantage: Number = None
    """Instead: the most advantage of any attack, the true- minus the false-positive rate."""
    target_tpr: Number = None
    """Instead: the most true-positive rate of any attack at false-positive rate --at-fpr (default 0.01)."""
    at_fpr: Annotated[Number, Parameter(show=False)] = None
    """The false-positive rate of --target-tpr."""

    def target(self) -> "RiskTarget | None":
        """Return the target; None where none is given."""
        from dpaccount.accounting.risk_targets import RiskTarget

        texts = {"mu": self.target_mu, "advantage": self.target_advantage, "tpr": self.target_tpr}
        given = [f"--target-{name}" for name, text in texts.items() if text is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are given", "give one of them")
        if self.at_fpr is not None and given != ["--target-tpr"]:
            raise InputError("--at-fpr belongs to --target-tpr", "give both, or neither")
        if not given:
            return None
        mu, advantage, caught = (number(text, f"--target-{name}") for name, text in texts.items())
        return RiskTarget.read(
            mu=mu, advantage=advantage, true_positives=caught, at=number(self.at_fpr, "--at-fpr")
        )


NO_TARGET = RiskOptions()


def calibrate(  # noqa: PLR0913 - options
    event: Annotated[str, Parameter(allow_leading_hyphen=True)],
    *,
    epsilon: Number = None,
    delta: Number = None,
    risk: Annotated[RiskOptions, Parameter(name="*")] = NO_TARGET,
    sensitivity: Number = None,
    count: Whole = None,
    rounds: Whole = None,
    certificate: File | None = None,
    work: Number = None,
    json_: Json = False,
) -> int:
    """Find the least noise of an EVENT, or the number written "?" in a file, that meets a target.

    Example: `dpaccount calibrate gaussian --epsilon 1 --delta 1e-6 --count 4`

    For a file, `dpaccount calibrate plan.json --epsilon 1 --delta 1e-6`, where one number is "?".

    Parameters
    ----------
    event
        An event of `account` that has a scale: gaussian, laplace, tree, matrix_factorisation, ...; or a file
        of events, or - for standard input, with one "?".
    epsilon
        The target, at least 0, at this delta.
    delta
        From 0 to 1.
    sensitivity
        How far neighbours move the value (default 1).
    count
        How many releases share the budget (default 1).
    rounds
        For tree and matrix_factorisation: the rounds of the stream.
    certificate
        Also write a certificate, from which dpaccount check re-derives an upper bound on the cost.
    work
        Do at most this many times the usual work before a simpler bound is given (default 1).
    """
    from msgspec import UNSET, convert
    from msgspec.structs import asdict

    from dpaccount.accounting.answers import calibration_answer
    from dpaccount.accounting.calibration.parameters import NAMED
    from dpaccount.accounting.calibration.unknown import named, unknown_in
    from dpaccount.schemas.fields import Confirmed

    wanted = risk.target()
    if wanted is None:
        target, share = required(epsilon, "--epsilon"), required(delta, "--delta")
    elif (epsilon, delta, certificate) == (None, None, None):
        target = share = Fraction(0)
    else:
        raise InputError("--epsilon, --delta and --certificate belong to another target", "leave them out")
    if event == "-" or event.endswith(".json") or (event not in NAMED and Path(event).is_file()):
        if (sensitivity, count, rounds) != (None, None, None):
            raise InputError("the file states --sensitivity, --count and --rounds", "leave them out")
        check_output(certificate, event)
        unknown = unknown_in(parse_json(source(event), event))
    else:
        moved, times = number(sensitivity, "--sensitivity"), whole(count, "--count") or 1
        stream = whole(rounds, "--rounds")
        unknown = named(event, Fraction(1) if moved is None else moved, times, stream)
    with _work(work):
        answer = calibration_answer(unknown, wanted, epsilon=target, delta=share)
    document = None
    if certificate is not None and answer.proved is not UNSET:
        from audits.accounts import certificate as account

        plan, tight = unknown.make(Fraction(answer.value)).as_json(), asdict(answer.proved.epsilon)
        document = account.certificate(plan, tight, delta=share)
        account.write(certificate, document)
        answer = changed(answer, confirmed=convert(document["confirmed"], Confirmed))
    show(answer, json_, costs)
    return confirming(document)


def costs(answer: dict[str, Any]) -> str:
    """Return an answer on costs as aligned lines, with the sentence of a risk, and of an infinite ε."""
    shown = {**answer, "risk": answer["risk"]["sentence"]} if "risk" in answer else dict(answer)
    asked = answer.get("epsilons", [answer])
    endless = [each["delta"] for each in asked if each.get("epsilon") == {"lower": "inf", "upper": "inf"}]
    if endless:
        shown["guarantee"] = f"none at delta {', '.join(endless)}: epsilon is infinite"
    return lines(shown)


def _work(text: Number) -> AbstractContextManager[None]:
    """Return the block in which every limit of work is multiplied by `--work`."""
    from dpaccount.numerics.work_budget import MOST_FACTOR, raised

    factor = number(text, "--work")
    if factor is not None and not 0 < factor <= MOST_FACTOR:
        raise InputError("--work is out of range", f"it must be above 0 and at most {MOST_FACTOR:,}")
    return raised(1.0 if factor is None else float(factor))


FTRL = ("participations", "separation", "bands")  #: options that belong to --mechanism


@dataclass(frozen=True)
class TrainingOptions:
    """What a training run is."""

    examples: Whole = None
    """How many training examples there are: a whole number, public."""
    batch: Annotated[Whole, Parameter(alias="--batch-size")] = None
    """The (expected) size of a batch: a whole number."""
    delta: Number = None
    """A number in (0, 1), such as 1e-5."""
    sigma: Annotated[Number, Parameter(alias="--noise-multiplier")] = None
    """The noise multiplier: the noise's standard deviation over the clipping norm."""
    target_epsilon: Number = None
    """Instead of --sigma: find the least noise multiplier that is proved to have this epsilon."""
    epochs: Number = None
    """Passes over the examples; steps are rounded up."""
    steps: Whole = None
    """Instead of --epochs: the exact number of steps."""
    sampling: Annotated[str, one_of("poisson", "random-allocation", "shuffle", "without-replacement")] = (
        "poisson"
    )
    """poisson (each example independently), random-allocation (one step of every pass), shuffle, or
    without-replacement (fresh samples of fixed size)."""
    sample_rate: Annotated[Number, Parameter(show=False)] = None  # another spelling of --batch
    """Instead of --batch: the batch size divided by the number of examples."""
    relation: Annotated[str | None, one_of("add-remove", "replace-one")] = None
    """add-remove (one example more or less; usual for poisson and random-allocation) or replace-one."""
    examples_per_user: Whole = None
    """For poisson: protect whole users, each with at most this many examples."""
    tried: Number = None
    """The mean number of runs, drawn from the geometric law, of which only the best is shown."""
    mechanism: Annotated[str | None, one_of("tree", "sqrt-toeplitz", "banded-toeplitz")] = None
    """Instead of --sampling: DP-FTRL by a tree, sqrt-toeplitz or banded-toeplitz (see --bands)."""
    participations: Whole = None
    """For DP-FTRL: the most times that an example participates (default: that of passes in a fixed
    order)."""
    separation: Whole = None
    """For DP-FTRL: the fewest steps between participations (default: those of a pass)."""
    bands: Whole = None
    """For banded-toeplitz: the number of diagonals."""

    def share(self) -> Fraction:
        """Return δ."""
        share = required(self.delta, "--delta")
        if not 0 < share < 1:
            raise InputError(f"--delta is {shown(share)}", "it lies strictly between 0 and 1")
        return share

    def run(self, wanted: "RiskTarget | None") -> "Training | FtrlTraining":
        """Return the run, with the noise that is given or that a target needs."""
        from dpaccount.accounting.risk_targets import settle_risk
        from dpaccount.accounting.training import Training, least_sigma, steps_of, unknown_sigma

        noise, target = number(self.sigma, "--sigma"), number(self.target_epsilon, "--target-epsilon")
        if [noise, target, wanted].count(None) != 2:
            wrong = "not one of --sigma and the targets is given"
            raise InputError(wrong, "give one: --sigma, --target-epsilon, -mu, -advantage or -tpr")
        everyone, drawn = self._sizes()
        passes, steps = number(self.epochs, "--epochs"), whole(self.steps, "--steps")
        if passes is not None and steps is None:
            steps = steps_of(passes, everyone, drawn, self.sampling)
        elif passes is not None or steps is None:
            raise InputError("give either --epochs or --steps")
        # Any noise will do for a target: the least is sought below.
        spread = 1 if noise is None else noise
        run = self._factored(everyone, drawn, spread, steps)
        if run is None:
            held = whole(self.examples_per_user, "--examples-per-user") or 1
            tried = 1 if self.tried is None else required(self.tried, "--tried")
            run = Training(everyone, drawn, spread, steps, self.sampling, self.relation or "", held, tried)
        if wanted is not None:
            return replace(run, sigma=settle_risk(unknown_sigma(run), wanted).value)
        return run if target is None else replace(run, sigma=least_sigma(run, target, self.share()).value)

    def _sizes(self) -> tuple[int, int]:
        """Return how many examples there are, and how many are in a batch."""
        everyone, drawn = whole(self.examples, "--examples"), whole(self.batch, "--batch")
        rate = number(self.sample_rate, "--sample-rate")
        if drawn is not None and rate is not None:
            raise InputError("--batch and --sample-rate are both given", "leave one out")
        if everyone is not None and rate is not None:
            if not 0 < rate <= 1 or (rate * everyone).denominator != 1:
                raise InputError(
                    f"--sample-rate {shown(rate)} of {everyone} examples is no whole batch",
                    "give a fraction such as 256/60000, or --batch",
                )
            drawn = int(rate * everyone)
        if everyone is None or drawn is None:
            raise InputError("--examples and --batch are needed", "give whole numbers")
        return everyone, drawn

    def _factored(
        self, everyone: int, drawn: int, noise: Fraction | int, steps: int
    ) -> "Training | FtrlTraining | None":
        """Return the run by DP-FTRL; None where no mechanism is named."""
        from dpaccount.accounting.training import FtrlTraining

        wholes = {name: whole(getattr(self, name), f"--{name}") for name in FTRL}
        given = {name: value for name, value in wholes.items() if value is not None}
        if self.mechanism is None and given:
            raise InputError(f"--{next(iter(given))} belongs to --mechanism", "name one")
        if self.mechanism is None:
            return None
        if self.examples_per_user is not None:
            raise InputError("--examples-per-user and --mechanism are both given", "leave one out")
        if self.tried is not None:
            raise InputError("--tried and --mechanism are both given", "leave one out")
        if self.sampling != "poisson":
            raise InputError("--sampling and --mechanism are both given", "DP-FTRL takes no samples")
        relation = self.relation or "add-remove"
        return FtrlTraining(everyone, drawn, noise, steps, self.mechanism, relation=relation, **given)


NOTHING_SAID = TrainingOptions()


def sgd(
    *,
    options: Annotated[TrainingOptions, Parameter(name="*")] = NOTHING_SAID,
    risk: Annotated[RiskOptions, Parameter(name="*")] = NO_TARGET,
    curve: File | None = None,
    events: File | None = None,
    certificate: File | None = None,
    json_: Json = False,
) -> int:
    """Compute the cost of DP-SGD, or the least noise for a target epsilon.

    Example: `dpaccount sgd --examples 60000 --batch 256 --sigma 1.1 --epochs 60 --delta 1e-5`

    It also prints the statement to put into a paper.

    Parameters
    ----------
    curve
        Also write epsilon over steps to this .csv or .svg file.
    events
        Also write the run as a file of events, for `account` and `ledger charge`.
    certificate
        Also write a certificate, from which dpaccount check re-derives an upper bound on epsilon.
    """
    from msgspec import convert

    from dpaccount.accounting.accountant import Accountant
    from dpaccount.accounting.answers import risk_fields
    from dpaccount.accounting.training import Training
    from dpaccount.schemas.costs import CorrelatedRun, RiskAnswer, SgdRun

    share, wanted = options.share(), risk.target()
    if wanted is not None:  # at the distance of what is printed
        wanted = replace(wanted, distance=share / 1000)
    run = options.run(wanted)
    bounds = run.epsilon(share)
    learned = risk_fields(Accountant(run.plan()), share, None if wanted is None else wanted.at)
    sentence = run.statement(share, bounds, learned["sentence"])
    common = {
        "sigma": shown(run.sigma),
        "steps": run.steps,
        **run.described(),
        "relation": run.relation.value,
        "delta": shown(share),
        "epsilon": bounds.as_json(),
        "risk": convert(learned, RiskAnswer),
        "statement": sentence,
    }
    answer: SgdRun | CorrelatedRun
    if isinstance(run, Training):
        shuffled = printed(run.shuffled(share).upper, up=True)
        answer = SgdRun(**common, shuffled_epsilon=shuffled)
    else:
        answer = CorrelatedRun(**common)
    if curve is not None and not isinstance(run, Training):
        raise InputError("--curve is drawn of samples", "leave it out where a --mechanism is named")
    if curve is not None and isinstance(run, Training):
        _draw(run, share, curve)
    if events is not None:
        _write("--events", events, run.plan().to_json() + "\n")
    document = None
    if certificate is not None:
        from audits.accounts import certificate as account

        document = account.certificate(run.plan().as_json(), bounds.as_json(), delta=share)
        account.write(certificate, document)
        statement = answer.statement + account.confirming(document)
        answer = changed(answer, confirmed=document["confirmed"], statement=statement)
    show(answer, json_, costs)
    return confirming(document)


def _draw(run: "Training", delta: Fraction, path: Path) -> None:
    from dpaccount.accounting.training import curve_csv, curve_svg

    kind = path.suffix.lower()
    if kind not in (".csv", ".svg"):
        raise InputError(f"--curve {path}: unknown kind {kind!r}", "use a name ending in .csv or .svg")
    points = run.curve(delta)
    _write("--curve", path, curve_csv(run, points) if kind == ".csv" else curve_svg(points, delta))


def _write(option: str, path: Path, text: str) -> None:
    try:
        atomically(path, text)
    except OSError as error:
        raise InputError(
            f"{option} {path}: {error.strerror}", "give a path in a writable directory"
        ) from None


def import_plan(
    kind: Annotated[str, one_of("opacus", "dp-event", "opendp", "events", "script")],
    file: Source = "-",
    *,
    relation: Annotated[str, one_of("add-remove", "replace-one")] = "add-remove",
) -> int:
    """Convert another library's file into a file of events.

    Example: `dpaccount import opacus history.json > events.json`

    `dpaccount import script` prints a Python script that writes dp_accounting's DpEvents for
    `import dp-event` and loads them again; `import events plan.json` prints a plan of ours as a tree for it.

    Parameters
    ----------
    kind
        opacus (an accountant's history or state_dict as JSON), dp-event, opendp (what its serialize wrote),
        events, or script.
    file
        The file, or - for standard input.
    relation
        For a dp-event: add-remove, the default of dp_accounting, or replace-one.
    """
    from importlib.resources import files

    from dpaccount.plan.foreign import READERS, dp_event_tree, to_dp_event
    from dpaccount.plan.plan_file import read_plan
    from dpaccount.relation import Relation

    if kind != "dp-event" and relation != Relation.ADD_REMOVE:
        raise InputError("--relation goes with dp-event", f"leave it out: {kind} keeps its own relation")
    if kind == "script":
        sys.stdout.write((files("audits") / "scripts" / "dp_event_script.txt").read_text(encoding="utf-8"))
        return 0
    place = parse_json(source(file), file)
    if kind == "events":
        answer = to_dp_event(read_plan(place))
    elif kind == "dp-event":
        answer = dp_event_tree(place, Relation(relation)).as_json()
    else:
        answer = READERS[kind](place).as_json()
    if kind == "opacus":
        say("note: this assumes Poisson samples; with poisson_sampling=False, the plan's cost is no bound")
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0
