"""What private training by noisy gradients costs: DP-SGD with Poisson samples, or samples of fixed size.

One step clips the gradient of every drawn example to ℓ2 norm C, adds them up, and adds Gaussian noise of
standard deviation σC; C drops out (Abadi et al. 2016).  Under add-remove one example more moves the sum by C;
one that is replaced moves it by 2C where it is drawn, from −C to C against a batch without it.

>>> run = Training(examples=60000, batch=256, sigma="1.1", steps=steps_of(60, 60000, 256))
>>> run.steps, run.epsilon(1e-5)
(14063, 2.381689727 (±9e-10))
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibrate import Calibration
from dpaccount.accounting.calibrate_plan import Unknown, settle
from dpaccount.accounting.ftrl import FtrlTraining, check_batches, record
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, as_exact, exact_argument, formatted, shown
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.work_budget import PROFILE, allowance
from dpaccount.plan.event_base import Real, Spelled
from dpaccount.plan.events import (
    Gaussian,
    Plan,
    PoissonReplaced,
    PoissonSubsampled,
    SampledWithoutReplacement,
)
from dpaccount.relation import Relation

POISSON, FIXED = "poisson", "fixed-size"
SAMPLINGS = (POISSON, FIXED)
USUAL: Any = ""  #: the relation that a sampling is counted under where none is named
POINTS = 60  #: of a curve over steps


def steps_of(epochs: Exact, examples: int, batch: int) -> int:
    """Return the steps that so many passes over the examples take, rounded up: ⌈epochs·examples/batch⌉."""
    passes = exact_argument("epochs", epochs)
    if type(examples) is not int or type(batch) is not int or examples < 1 or batch < 1:
        raise InputError("examples or batch are out of range", "give whole numbers of at least 1")
    if passes <= 0:
        raise InputError(f"{shown(passes)} epochs are out of range", "there must be more than 0")
    return math.ceil(passes * examples / batch)


@record
class Training:
    """So many `steps` on samples of `batch` of the `examples`, with noise multiplier `sigma`.

    `sampling` is ``poisson``, every example with probability batch/examples in every step, counted under
    add-remove unless `relation` says replace-one; or ``fixed-size``, batch different examples drawn afresh in
    every step, under replace-one.
    """

    examples: int
    batch: int
    sigma: Real
    steps: int
    sampling: str = POISSON
    relation: Spelled[Relation, Relation | str] = USUAL

    def __post_init__(self) -> None:
        """Refuse what is no training run."""
        check_batches(self.examples, self.batch, self.steps)
        if self.sampling not in SAMPLINGS:
            raise InputError(f"unknown sampling {self.sampling!r}", f"known here: {', '.join(SAMPLINGS)}")
        object.__setattr__(self, "sigma", exact_argument("sigma", self.sigma))
        usual = Relation.ADD_REMOVE if self.sampling == POISSON else Relation.REPLACE_ONE
        if self.relation not in ("", *Relation):
            raise InputError(f"unknown relation {self.relation!r}", f"known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation or usual))
        if self.sampling == FIXED and self.relation != usual:
            raise InputError(
                "samples of fixed size are counted under replace-one", "add-remove takes poisson"
            )

    @property
    def rate(self) -> Fraction:
        """Return the part of the examples in an (expected) batch."""
        return Fraction(self.batch, self.examples)

    def plan(self, steps: int | None = None) -> Plan:
        """Return the plan of all steps, or of the first ones."""
        count = self.steps if steps is None else steps
        if self.sampling == POISSON:
            noise = Gaussian(sigma=self.sigma)
            drawn = PoissonSubsampled if self.relation == Relation.ADD_REMOVE else PoissonReplaced
            return Plan(self.relation, drawn(rate=self.rate, of=noise, count=count))
        noise = Gaussian(sigma=self.sigma, sensitivity=2)
        fixed = SampledWithoutReplacement(size=self.batch, population=self.examples, of=noise, count=count)
        return Plan(self.relation, fixed)

    def epsilon(self, delta: Exact) -> Enclosure:
        """Return the ε of the whole run at this δ."""
        return Accountant(self.plan()).epsilon(delta)

    def described(self) -> dict[str, Any]:
        """Return what the run is beside noise and steps."""
        return {"rate": f"{self.batch}/{self.examples}", "sampling": self.sampling}

    def shuffled(self, delta: Exact) -> Enclosure:
        """Return an ε for batches of a shuffled pass, where one example is replaced.

        Every example is in one batch of each pass; nothing is gained from chance, so that each pass is one
        release of Gaussian noise in which a replaced example moves a sum by 2C.  It holds for any order, and
        where a last batch that is not full is left out.
        """
        passes = math.ceil(Fraction(self.steps, self.examples // self.batch))
        noise = Gaussian(sigma=self.sigma, sensitivity=2, count=passes)
        return Accountant(Plan(Relation.REPLACE_ONE, noise)).epsilon(delta)

    def curve(self, delta: Exact, points: int = POINTS) -> list[tuple[int, Enclosure]]:
        """Return ε after evenly spaced numbers of steps, the last one all; transforms are shared.

        ε never falls with steps: an upper end holds for fewer steps too.
        """
        if points < 1:
            raise InputError("a curve has at least one point", "ask for more")
        counts = sorted({max(1, self.steps * j // points) for j in range(1, points + 1)})
        with allowance(PROFILE), shared():
            found = [Accountant(self.plan(count)).epsilon(delta) for count in counts]
        lowest: list[tuple[int, Enclosure]] = []
        for count, bounds in zip(reversed(counts), reversed(found), strict=True):
            upper = min(bounds.upper, lowest[-1][1].upper) if lowest else bounds.upper
            lowest.append((count, Enclosure(bounds.lower, upper)))
        return lowest[::-1]

    def statement(self, delta: Exact) -> str:
        """Return the sentences to put into a paper: what is private, how it was sampled, and what is not."""
        share = as_exact(delta)
        cost = formatted(self.epsilon(delta).upper, ".4g", up=True)
        replaced = self.relation == Relation.REPLACE_ONE
        moved = ("replacing" if replaced else "adding or removing") + " one training example"
        if self.sampling == POISSON:
            how = (
                f"every step draws each example independently with probability {self.batch}/{self.examples}"
                f" (Poisson samples, {self.batch} expected)"
            )
        else:
            how = f"every step draws {self.batch} of {self.examples} examples afresh, without replacement"
        loose = formatted(self.shuffled(delta).upper, ".4g", up=True)
        return (
            f"Training is ({cost}, {shown(share)})-differentially private with respect to {moved}. This holds"
            f" where {how}, gradients are clipped in l2 example by example, Gaussian noise of"
            f" {shown(self.sigma)} times the clipping norm is added to their sum, and there are"
            f" {self.steps:,} steps. Epsilon is an upper bound, rounded up. It is not a bound for batches of"
            f" a shuffled pass over the data: for these, epsilon is at most {loose} where one example is"
            " replaced. Choosing hyper-parameters on the same data is not counted."
        )


def least_sigma(run: "Training | FtrlTraining", epsilon: Exact, delta: Exact) -> Calibration:
    """Return the least noise multiplier with which a run is proved to have (epsilon, delta)."""

    def plan(sigma: Fraction) -> Plan:
        return replace(run, sigma=sigma).plan()

    unknown = Unknown("sigma", "sigma", plan, falls=True)
    return settle(unknown, exact_argument("epsilon", epsilon), exact_argument("delta", delta))


def curve_csv(run: Training, points: Sequence[tuple[int, Enclosure]]) -> str:
    """Return a curve over steps as a table: steps, epochs (rounded), and both ends of ε."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["steps", "epochs", "epsilon_lower", "epsilon_upper"])
    for steps, bounds in points:
        ends = bounds.as_json()
        table.writerow([steps, round(float(steps * run.rate), 4), ends["lower"], ends["upper"]])
    return out.getvalue()


def curve_svg(points: Sequence[tuple[int, Enclosure]], delta: Exact) -> str:
    """Draw a curve over steps; the band between the bounds is filled."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "dpaccount"  # the same input draws the same file
    from matplotlib import pyplot as plt

    if any(bounds.upper == math.inf for _, bounds in points):
        raise InputError("an infinite epsilon cannot be drawn", "ask for a .csv file")
    figure, axes = plt.subplots(figsize=(6, 4))
    steps = [count for count, _ in points]
    upper = [bounds.upper_float for _, bounds in points]
    axes.fill_between(steps, [bounds.lower_float or 0.0 for _, bounds in points], upper, alpha=0.4)
    axes.plot(steps, upper)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("steps")
    axes.set_ylabel(f"ε at δ = {shown(as_exact(delta))}")
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    return out.getvalue()
