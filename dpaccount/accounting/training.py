"""The cost of private training with noisy gradients: DP-SGD by how batches are drawn, and DP-FTRL.

One step clips the gradient of every drawn example to ℓ2 norm C, adds them up, and adds Gaussian
noise of standard deviation σC; C drops out (Abadi et al. 2016).  Under add-remove, one more example
moves the sum by C; a replaced one moves it by 2C where it is drawn, from −C to C relative to a
batch without it.

>>> run = Training(examples=60000, batch=256, sigma="1.1", steps=steps_of(60, 60000, 256))
>>> run.steps, run.epsilon(1e-5)
(14063, 2.381689727 (±9e-10))

In training by noisy prefix sums (DP-FTRL) the sums go through a factor (a binary tree, or a Toeplitz
matrix) and get independent noise (Kairouz et al. 2021; Denisov et al. 2022; Choquette-Choo et al. 2023).
Nothing is gained from chance, so batches may be those of a fixed order; what counts is how often an example
takes part, and how far apart.

>>> run = FtrlTraining(examples=60000, batch=256, sigma=20, steps=1170, mechanism="sqrt-toeplitz")
>>> run.participations, run.separation
(5, 234)

Runs on the same data add up: ``Accountant(first + second)``, or ``Accountant([first, second])``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import Calibration, settle
from dpaccount.accounting.calibration.unknown import Unknown
from dpaccount.accounting.profile import svg_of
from dpaccount.documents import csv_text
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, as_exact, exact_argument, formatted, shown
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.work_budget import PROFILE, allowance
from dpaccount.plan.event_base import ONE, Event, Real, Spelled, record
from dpaccount.plan.events import (
    DpFtrl,
    Gaussian,
    Plan,
    PoissonExamples,
    PoissonReplaced,
    PoissonSubsampled,
    RandomAllocation,
    Repeated,
    SampledWithoutReplacement,
)
from dpaccount.relation import Relation, adjacency

POISSON, ALLOCATION, SHUFFLE, FIXED = "poisson", "random-allocation", "shuffle", "without-replacement"
#: How batches are drawn, and where the bound is proved.
SOURCES = {
    POISSON: "Poisson samples: Abadi et al. 2016; Zhu, Dong & Wang 2022; replace-one: docs/numerics.md",
    ALLOCATION: "random allocation: Chua et al. 2024; Feldman & Shenfeld 2025 (arXiv 2502.08202)",
    SHUFFLE: (
        "upper end: passes in any fixed order, and joint convexity over orders; lower end: examples all of"
        " whose gradients are alike but one, which is random allocation (Chua et al. 2024)"
    ),
    FIXED: (
        "upper end: Balle, Barthe & Gaboardi 2018 in both directions (Lebeda et al. 2024); lower end: a batch"
        " whose other gradients are all opposite, which is a Poisson sample with twice the movement"
    ),
}
SAMPLINGS = tuple(SOURCES)
OLD_NAMES = {"fixed-size": FIXED}  #: of samplings
USUAL: Any = ""  #: the relation that a sampling is counted under where none is named
MECHANISMS = ("tree", "sqrt-toeplitz", "banded-toeplitz")  #: of DP-FTRL
ADD_REMOVE: Any = Relation.ADD_REMOVE
POINTS = 60  #: of a curve over steps


def check_batches(examples: int, batch: int, steps: int) -> None:
    """Refuse numbers that are those of no training run, with `InputError`."""
    for name, value in (("examples", examples), ("batch", batch), ("steps", steps)):
        if type(value) is not int or not 1 <= value < 1 << 63:
            raise InputError(f"{name} is out of range", "give a whole number from 1 to 2^63")
    if batch > examples:
        raise InputError("the batch exceeds the examples", "a batch is some of them")


NOT_COUNTED = "The choice of hyperparameters on the same data is not counted."


def stated(
    cost: Enclosure, delta: Exact, moved: str, holds: str, more: str, learned: str, choice: str = NOT_COUNTED
) -> str:
    """Return the sentences for a paper: what is private, under which conditions, and what is not counted."""
    epsilon, share = formatted(cost.upper, ".4g", up=True), shown(as_exact(delta))
    learned = f"{learned} " if learned else ""
    return (
        f"Training is ({epsilon}, {share})-differentially private with respect to {moved}. This holds if"
        f" {holds}. Epsilon is an upper bound, rounded up. {learned}{more} {choice}"
    )


def one_example(relation: Relation) -> str:
    """Return the change of the training data that is hidden."""
    done = "replacing" if relation == Relation.REPLACE_ONE else "adding or removing"
    return f"{done} one training example"


def steps_of(epochs: Exact, examples: int, batch: int, sampling: str = POISSON) -> int:
    """Return the steps that `epochs` passes over the examples take, rounded up: ⌈epochs·examples/batch⌉.

    Random allocation and shuffled passes, of ⌊examples/batch⌋ steps each, are counted whole.
    """
    passes = exact_argument("epochs", epochs)
    if type(examples) is not int or type(batch) is not int or examples < 1 or batch < 1:
        raise InputError("examples or batch are out of range", "give whole numbers of at least 1")
    if passes <= 0:
        raise InputError(f"{shown(passes)} epochs are out of range", "there must be more than 0")
    if sampling in (ALLOCATION, SHUFFLE):
        if passes.denominator != 1:
            raise InputError(f"{shown(passes)} epochs are not whole", f"{sampling} takes whole passes")
        return int(passes) * (examples // batch)
    return math.ceil(passes * examples / batch)


class AddedRun:
    """A run to which others, plans and events can be added: together they are one plan."""

    def plan(self) -> Plan:
        """Return the plan of the run."""
        raise NotImplementedError

    def __add__(self, more: "Plan | AddedRun | Event") -> Plan:
        """Return the plan of this and more, under the same relation."""
        return self.plan() + more


@record(frozen=True)
class Training(AddedRun):
    """A run of `steps` on samples of `batch` of the `examples`, with noise multiplier `sigma`.

    `sampling` is

    - ``poisson``: every example with probability batch/examples in every step;
    - ``random-allocation``: in every pass of ⌊examples/batch⌋ steps every example takes part in one of them,
      drawn uniformly by itself;
    - ``shuffle``: in every pass ⌊examples/batch⌋ consecutive parts of a freshly shuffled order hold all
      examples; under add-remove an example that is removed leaves its place empty;
    - ``without-replacement``: batch different examples, drawn afresh in every step.

    The first two are counted under add-remove, the other two under replace-one, unless `relation` says
    otherwise; of the four, poisson and shuffle are known under both.

    Where a user has up to `examples_per_user` examples, poisson under add-remove protects whole users.

    `tried`, above 1: the mean of the number of runs, drawn from the geometric law, of which only the best is
    shown (`dpaccount.Repeated`).
    """

    examples: int
    batch: int
    sigma: Real
    steps: int
    sampling: str = POISSON
    relation: Spelled[Relation, Relation | str] = USUAL
    examples_per_user: int = 1
    tried: Real = ONE

    def __post_init__(self) -> None:
        """Refuse what is no training run."""
        check_batches(self.examples, self.batch, self.steps)
        object.__setattr__(self, "sampling", OLD_NAMES.get(self.sampling, self.sampling))
        if self.sampling not in SAMPLINGS:
            raise InputError(f"unknown sampling {self.sampling!r}", f"known here: {', '.join(SAMPLINGS)}")
        object.__setattr__(self, "sigma", exact_argument("sigma", self.sigma))
        usual = Relation.ADD_REMOVE if self.sampling in (POISSON, ALLOCATION) else Relation.REPLACE_ONE
        if self.relation not in ("", *Relation):
            raise InputError(f"unknown relation {self.relation!r}", f"known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation or usual))
        if self.sampling in (ALLOCATION, FIXED) and self.relation != usual:
            raise InputError(
                f"{self.sampling} is counted under {usual}", f"{self.relation} takes poisson or shuffle"
            )
        held, poisson = self.examples_per_user, (POISSON, Relation.ADD_REMOVE)
        if held != 1 and (self.sampling, self.relation) != poisson:
            wrong = f"several examples per user are not counted for {self.sampling} under {self.relation}"
            raise InputError(wrong, "use poisson under add-remove")
        if type(held) is not int or not 1 <= held <= self.examples:
            raise InputError(f"examples per user: {held} is out of range", "give a whole number from 1")
        if self.sampling in (ALLOCATION, SHUFFLE) and self.steps % self.pass_steps:
            complete = self.steps // self.pass_steps * self.pass_steps
            raise InputError(
                f"{self.steps} steps are no whole passes of {self.pass_steps}",
                f"use {complete + self.pass_steps}" + (f" or {complete}" if complete else ""),
            )
        object.__setattr__(self, "tried", exact_argument("tried", self.tried))
        if self.tried < 1:
            raise InputError(f"a mean of {shown(self.tried)} runs is out of range", "it is 1 or more")

    @property
    def pass_steps(self) -> int:
        """Return how many full batches there are in one pass."""
        return self.examples // self.batch

    @property
    def passes(self) -> int:
        """Return how many passes the steps take, the last one rounded up."""
        return -(-self.steps // self.pass_steps)

    @property
    def rate(self) -> Fraction:
        """Return the fraction of the examples in an (expected) batch."""
        return Fraction(self.batch, self.examples)

    def plan(self, steps: int | None = None) -> Plan:
        """Return the plan of all steps, or of the first ones, in each run that is tried."""
        return self._best(self._one_run(self.steps if steps is None else steps))

    def _best(self, once: Plan) -> Plan:
        """Return the plan of the best of all runs."""
        if self.tried == 1:
            return once
        (run,) = once.events  # the choice is among whole runs
        return Plan(once.relation, Repeated(of=run, gamma=1 / self.tried))

    def _one_run(self, count: int) -> Plan:
        if self.sampling == POISSON:
            noise, held = Gaussian(sigma=self.sigma), self.examples_per_user
            drawn = PoissonSubsampled if self.relation == Relation.ADD_REMOVE else PoissonReplaced
            one = drawn(rate=self.rate, of=noise, count=count)
            many = PoissonExamples(rate=self.rate, examples=held, of=noise, count=count)
            return Plan(self.relation, one if held == 1 else many)
        if self.sampling == ALLOCATION:
            return self._allocated(1, count)
        noise = Gaussian(sigma=self.sigma, sensitivity=2)
        if self.sampling == SHUFFLE:
            moved = 2 if self.relation == Relation.REPLACE_ONE else 1
            passes = -(-count // self.pass_steps)
            return Plan(self.relation, Gaussian(sigma=self.sigma, sensitivity=moved, count=passes))
        fixed = SampledWithoutReplacement(size=self.batch, population=self.examples, of=noise, count=count)
        return Plan(self.relation, fixed)

    def _allocated(self, moved: int, steps: int) -> Plan:
        """Return random allocation in whole passes, where an example moves a sum by `moved` norms."""
        noise = Gaussian(sigma=self.sigma, sensitivity=moved)
        event = RandomAllocation(steps=self.pass_steps, of=noise, count=-(-steps // self.pass_steps))
        return Plan(Relation.ADD_REMOVE, event)

    def least_plan(self, steps: int) -> Plan | None:
        """Return a plan that costs no more than the run, if only an upper bound of the run is known.

        Let all gradients but one be −g, |g| = C. A replaced example, g instead of −g, moves its batch by 2C
        and no other one: under shuffle that is random allocation (of batches of unequal sizes, once the steps
        of a pass are permuted at random), under without-replacement a Poisson sample.
        Under add-remove the other gradients are 0, and the example moves its batch by C.
        """
        if self.sampling == SHUFFLE:
            return self._allocated(2 if self.relation == Relation.REPLACE_ONE else 1, steps)
        if self.sampling == FIXED:
            noise = Gaussian(sigma=self.sigma, sensitivity=2)
            drawn = PoissonSubsampled(rate=self.rate, of=noise, count=steps)
            return Plan(Relation.ADD_REMOVE, drawn)
        return None

    def epsilon(self, delta: Exact, steps: int | None = None) -> Enclosure:
        """Return the ε of the whole run, or of the first steps, at this δ."""
        count = self.steps if steps is None else steps
        bounds, least = Accountant(self.plan(count)).epsilon(delta), self.least_plan(count)
        if least is None or self.tried != 1:
            return bounds
        return Enclosure(Accountant(least).epsilon(delta).lower, bounds.upper)

    def described(self) -> dict[str, Any]:
        """Return the run's parameters other than noise and steps."""
        held = self.examples_per_user
        users = {} if held == 1 else {"examples_per_user": held}
        source = SOURCES[self.sampling] + ("; users: Charles et al. 2024 (arXiv 2407.07737)" if users else "")
        drawn = {"rate": f"{self.batch}/{self.examples}", "sampling": self.sampling}
        tuned = {} if self.tried == 1 else {"tried": shown(self.tried)}
        return {**drawn, **users, **tuned, "source": source}

    def shuffled(self, delta: Exact) -> Enclosure:
        """Return an ε for batches of a shuffled pass if one example is replaced.

        Every example is in one batch of each pass; amplification is not used, so each pass is one
        release of Gaussian noise in which a replaced example moves a sum by 2C, and k examples of a
        user by 2kC. It holds for any order, and if a last, incomplete batch is left out.
        """
        noise = Gaussian(sigma=self.sigma, sensitivity=2 * self.examples_per_user, count=self.passes)
        return Accountant(self._best(Plan(Relation.REPLACE_ONE, noise))).epsilon(delta)

    def curve(self, delta: Exact, points: int = POINTS) -> list[tuple[int, Enclosure]]:
        """Return ε after evenly spaced numbers of steps, the last one all; transforms are shared.

        ε never falls with steps, so an upper end also holds for fewer steps.
        """
        if points < 1:
            raise InputError("a curve has at least one point", "ask for more")
        unit = self.pass_steps if self.sampling in (ALLOCATION, SHUFFLE) else 1
        last = self.steps // unit
        counts = sorted({unit * max(1, last * j // points) for j in range(1, points + 1)})
        with allowance(PROFILE), shared():
            found = [self.epsilon(delta, count) for count in counts]
        lowest: list[tuple[int, Enclosure]] = []
        for count, bounds in zip(reversed(counts), reversed(found), strict=True):
            upper = min(bounds.upper, lowest[-1][1].upper) if lowest else bounds.upper
            lowest.append((count, Enclosure(bounds.lower, upper)))
        return lowest[::-1]

    def statement(self, delta: Exact, bounds: Enclosure | None = None, learned: str = "") -> str:
        """Return the sentences to put into a paper: what is private, how it was sampled, and what is not.

        `bounds` are those of `epsilon(delta)`, if they are known; `learned` is a sentence of `Risk`.
        """
        moved, replaced = one_example(self.relation), self.relation == Relation.REPLACE_ONE
        if self.examples_per_user > 1:
            moved = f"adding or removing one user with up to {self.examples_per_user} training examples"
        how = {
            POISSON: (
                f"every step draws each example independently with probability {self.batch}/{self.examples}"
                f" (Poisson sampling, {self.batch} expected)"
            ),
            ALLOCATION: (
                f"in each of {self.passes:,} passes, every example takes part in one of"
                f" {self.pass_steps:,} steps, which it draws uniformly and independently of the others"
                " (random allocation)"
            ),
            SHUFFLE: (
                f"in each of {self.passes:,} passes, every example is in one of {self.pass_steps:,} batches,"
                " which are consecutive parts of a freshly shuffled order"
                + ("" if replaced else ", where a removed example leaves its place empty")
            ),
            FIXED: f"every step draws {self.batch} of {self.examples} examples afresh, without replacement",
        }[self.sampling]
        holds = (
            f"{how}, gradients are clipped in l2 per example, Gaussian noise of {shown(self.sigma)} times the"
            f" clipping norm is added to their sum, and there are {self.steps:,} steps"
        )
        more = self._other_loops(as_exact(delta))
        alone = "Of several such runs, their number geometric of mean"
        choice = NOT_COUNTED if self.tried == 1 else f"{alone} {shown(self.tried)}, the best is shown alone."
        return stated(bounds or self.epsilon(delta), delta, moved, holds, more, learned, choice)

    def _other_loops(self, delta: Fraction) -> str:
        """Return what holds for a shuffled pass, or how to do better than one."""
        # Many training loops shuffle while their accountant assumes Poisson samples (Chua et al. 2024), so
        # the sentences say what that costs.
        if self.sampling != SHUFFLE:
            loose = formatted(self.shuffled(delta).upper, ".4g", up=True)
            whose = "example is" if self.examples_per_user == 1 else "user is"
            return (
                "It is not a bound for batches of a shuffled pass over the data: for these, epsilon is at"
                f" most {loose} if one {whose} replaced."
            )
        allocated = Accountant(self._best(self._allocated(1, self.steps)))
        better = formatted(allocated.epsilon(delta).upper, ".4g", up=True)
        return (
            f"If instead every example draws one of the {self.pass_steps:,} steps of each pass independently,"
            f" so that batches vary in size (random allocation), epsilon is at most {better} with respect to"
            " adding or removing one training example."
        )


@record(frozen=True)
class FtrlTraining(AddedRun):
    """`steps` steps on batches whose order does not depend on the data, released by `mechanism`.

    An example takes part at most `participations` times, at least `separation` steps apart.  Where 0 stands
    they are those of passes in one fixed order, whose last batch is left out if it is not full.
    """

    examples: int
    batch: int
    sigma: Real
    steps: int
    mechanism: str = "tree"
    participations: int = 0
    separation: int = 0
    bands: int = 1
    relation: Spelled[Relation, Relation | str] = ADD_REMOVE

    def __post_init__(self) -> None:
        """Refuse what is no training run, and fill in what a fixed order says."""
        check_batches(self.examples, self.batch, self.steps)
        if self.mechanism not in MECHANISMS:
            raise InputError(f"unknown mechanism {self.mechanism!r}", f"known here: {', '.join(MECHANISMS)}")
        if self.relation not in list(Relation):
            raise InputError(f"unknown relation {self.relation!r}", f"known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "sigma", exact_argument("sigma", self.sigma))
        object.__setattr__(self, "separation", self.separation or self.examples // self.batch)
        most = -(-self.steps // self.separation) if self.separation > 0 else 1
        object.__setattr__(self, "participations", self.participations or most)
        # Built once here, so that what the event refuses is refused now and not at the first question.
        self.plan()

    def plan(self) -> Plan:
        """Return the plan of all steps; an example that is replaced moves a sum by two clipping norms."""
        event = DpFtrl(
            rounds=self.steps,
            sigma=self.sigma,
            participations=self.participations,
            separation=self.separation,
            sensitivity=adjacency(self.relation).contributions,
            mechanism=self.mechanism,
            bands=self.bands,
        )
        return Plan(self.relation, event)

    def epsilon(self, delta: Exact) -> Enclosure:
        """Return the ε of the whole run at this δ."""
        return Accountant(self.plan()).epsilon(delta)

    def described(self) -> dict[str, Any]:
        """Return the run's parameters other than noise and steps."""
        banded = {"bands": self.bands} if self.mechanism == "banded-toeplitz" else {}
        times = {"participations": self.participations, "separation": self.separation}
        return {"mechanism": self.mechanism, **banded, **times}

    def statement(self, delta: Exact, bounds: Enclosure | None = None, learned: str = "") -> str:
        """Return the sentences to put into a paper: what is private, and what must hold of the batches."""
        bands = f" of {self.bands} bands" if self.mechanism == "banded-toeplitz" else ""
        replaced = self.relation == Relation.REPLACE_ONE
        gone = "" if replaced else " (the batches of the others do not change)"
        holds = (
            f"each example takes part in at most {self.participations} of {self.steps:,} steps, each at least"
            f" {self.separation} steps after its last one, in an order that does not depend on the data,"
            " gradients are clipped in l2 per example, and their sums are released by the"
            f" {self.mechanism} mechanism{bands} with independent Gaussian noise of {shown(self.sigma)} times"
            " the clipping norm"
        )
        more = "No amplification by sampling is used."
        moved = one_example(self.relation) + gone
        return stated(bounds or self.epsilon(delta), delta, moved, holds, more, learned)


def unknown_sigma(run: Training | FtrlTraining) -> Unknown:
    """Return the noise multiplier of a run as an unknown number."""

    def plan(sigma: Fraction) -> Plan:
        return replace(run, sigma=sigma).plan()

    return Unknown("sigma", "sigma", plan, falls=True)


def least_sigma(run: Training | FtrlTraining, epsilon: Exact, delta: Exact) -> Calibration:
    """Return the least noise multiplier with which a run is proved to have (epsilon, delta)."""
    target, share = exact_argument("epsilon", epsilon), exact_argument("delta", delta)
    return settle(unknown_sigma(run), target, share)


def sgd(  # noqa: PLR0913 - what a run is
    examples: int,
    batch: int,
    *,
    epochs: Exact | None = None,
    steps: int | None = None,
    sigma: Exact | None = None,
    target_epsilon: Exact | None = None,
    delta: Exact | None = None,
    sampling: str = POISSON,
    relation: str = USUAL,
    examples_per_user: int = 1,
    tried: Exact = 1,
) -> Training:
    """Return a run of DP-SGD with the given noise, or with the noise that a target needs.

    `examples`: how many there are; `batch`: how many of them a step samples, on average.
    `epochs`: passes over the examples, from which steps are rounded up; or `steps`, at least 1.
    `sigma`: the noise multiplier, above 0: the noise's deviation over the clipping norm.
    `target_epsilon`, `delta`: in place of `sigma`, what the least noise is found for; δ in [0, 1).
    `sampling`, `relation`, `examples_per_user`, `tried`: as in `Training`.

    Raises `InputError` for numbers of no training run.

    >>> run = sgd(60000, 256, epochs=60, sigma=1.1)
    >>> run.epsilon(1e-5)
    2.381689727 (±9e-10)
    """
    if (epochs is None) == (steps is None):
        raise InputError("epochs and steps are both given, or neither", "give one of them")
    if (sigma is None) == (target_epsilon is None) or (target_epsilon is None) != (delta is None):
        raise InputError("the noise is not given once", "give sigma alone, or target_epsilon and delta")
    if steps is None and epochs is not None:
        steps = steps_of(epochs, examples, batch, sampling)
    spread: Any = 1 if sigma is None else sigma
    run = Training(examples, batch, spread, steps or 0, sampling, relation, examples_per_user, tried)
    if target_epsilon is None or delta is None:
        return run
    return replace(run, sigma=least_sigma(run, target_epsilon, delta).value)


def curve_csv(run: Training, points: Sequence[tuple[int, Enclosure]]) -> str:
    """Return a curve over steps as a table: steps, epochs (rounded), and both ends of ε."""
    rows = (
        (steps, round(float(steps * run.rate), 4), *bounds.as_json().values()) for steps, bounds in points
    )
    return csv_text([("steps", "epochs", "epsilon_lower", "epsilon_upper"), *rows])


def curve_svg(points: Sequence[tuple[int, Enclosure]], delta: Exact) -> str:
    """Draw a curve over steps; the band between the bounds is filled."""
    if any(bounds.upper == math.inf for _, bounds in points):
        raise InputError("an infinite epsilon cannot be drawn", "ask for a .csv file")
    steps = [count for count, _ in points]
    upper = [bounds.upper_float for _, bounds in points]

    def draw(axes: Any) -> None:
        axes.fill_between(steps, [bounds.lower_float or 0.0 for _, bounds in points], upper, alpha=0.4)
        axes.plot(steps, upper)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("steps")
        axes.set_ylabel(f"ε at δ = {shown(as_exact(delta))}")

    return svg_of(draw)
