"""Value of another policy from a log, by clipped weights: importance sampling, or doubly robust.

A record says its reward y in [0, 1], the chance p that the logging policy had of the logged action,
the chance q that the other policy gives it, and, of a public model, the predicted reward r of that
action and m, the mean of its predictions over the other policy.  Its weight is w = min(q/p, c).  It
adds (w(2y − 1), w − c) or, with a model, (m − ½ + w(y − r), w − c).  The first number is at most w, or
w + ½, in size, so both lie in a ball of radius c, or c + ½: the sum of weights costs no more noise.

With right chances E[w] ≤ 1 and E[wy] ≤ V ≤ 1 − E[w(1 − y)], whatever was clipped and also where the
log lacks actions; a model's estimate is off by 1 − E[w] at most.  Intervals are built from these.

Horvitz & Thompson 1952 (weights), Swaminathan & Joachims 2015 (self-normalised), Dudík, Langford &
Li 2011 (doubly robust), Ionides 2008 (clipped weights).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import ClassVar, Final, Self

import numpy as np

from bandits.learning.contextual import Calibrated
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import target
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.numerics.bisection import bisect
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, assume_covers, linear, nodes
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Domain, Rows, View, shown
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import NUMERIC_KINDS, Table
from mechanisms.table.rows import Reading

RECORD: Final = ("the reward", "its chance", "that of the other policy")  #: columns of a row
MODEL: Final = ("the predicted reward", "the expected one")  #: and with a model
MISSING: Final = (0.5, 0.0, 0.0, 0.5, 0.5)  #: in place of NaN: without a chance, a weight of 0
LARGEST_CAP: Final = 1000
REPORTED: Final = Fraction(19, 20)  #: level of a report's interval


@dataclass(frozen=True)
class PolicyValue(Calibrated):
    """Estimate what a policy would earn a person, from a log of `rows` records of another policy.

    A row is (reward, chance, target), with a `model` also (predicted, expected); weights are clipped
    to `cap`.  `sigma` is the noise of a sum; left out, the least that is proved to meet (`epsilon`,
    `delta`).
    """

    source: ClassVar[str] = "Horvitz & Thompson 1952; Dudík, Langford & Li 2011; sensitivity is ours"

    rows: int = 1000
    cap: Fraction = Fraction(10)
    model: bool = False

    def __post_init__(self) -> None:
        if type(self.rows) is not int or not 1 <= self.rows <= 10**8:
            raise InputError(f"rows is {self.rows}", "it is a whole number in 1 ... 100000000")
        if not isinstance(self.cap, Fraction) or not Fraction(1, 100) <= self.cap <= LARGEST_CAP:
            raise InputError(f"cap is {str(self.cap)[:40]}", f"it lies in 0.01 ... {LARGEST_CAP}")
        self.check_sigma()
        target(self.epsilon, self.delta)
        grid.room(self.rows * self.radius + 16 * self.noise_scale, CONTRIBUTION_BITS)

    @classmethod
    def on_table(cls, table: Table, parameters: Place, promise: Promise) -> tuple[Self, Reading]:
        """Return the estimate on a declared table, with the least noise that meets the claim."""
        if promise.relation != REPLACE_ONE:
            raise parameters.wrong("a record is replaced", 'the relation must be "replace-one"')
        if table.max_rows > 1:
            raise parameters.wrong("it takes one row a person", "let one row of a person count")
        given = parameters.table(("columns",), ("cap",))
        named = list(given["columns"].items())
        if len(named) not in (len(RECORD), len(RECORD + MODEL)):
            right = f"name {', '.join(RECORD)}, and with a model {' and '.join(MODEL)}"
            raise given["columns"].wrong(f"found {len(named)} columns", right)
        columns = [table.column(each.text()) for each in named]
        for each, column in zip(named, columns, strict=True):
            if column.kind not in (*NUMERIC_KINDS, "boolean"):
                raise each.wrong(f"{column.name} is a {column.kind}", "give a column of numbers")
            if not 0 <= column.bounds[0] <= column.bounds[1] <= 1:
                raise each.wrong(f"{column.name} leaves [0, 1]", "give low and high in it, and scale cells")
        for each, column in zip(named[1:3], columns[1:3], strict=True):
            if column.default:  # else a record without a chance would weigh as one with a small one
                why = f"a missing {column.name} counts as {column.default:g}"
                raise each.wrong(why, "let it count as 0: low = 0, and no other missing")
        names = tuple(column.name for column in columns)
        if len(set(names)) < len(names):
            raise given["columns"].wrong("a column is named twice", "give each its own")
        chosen = {"cap": given["cap"].number()} if "cap" in given else {}
        promised = {"epsilon": promise.epsilon, "delta": promise.delta}
        with parameters.placing():
            subject = cls(rows=table.rows, model=len(named) > len(RECORD), **promised, **chosen)
        return subject, Reading(names, lambda codes: codes, subject.domain().nothing, {"columns": names})

    @property
    def radius(self) -> Fraction:
        """Return the most that a record adds, from the middle of what it may add."""
        return self.cap + Fraction(1, 2) * self.model

    def domain(self) -> Domain:
        """Return rows beyond what is clipped; NaN counts as ½, or as no chance.

        A prediction that lacks has no weight; without their mean, all predictions of a context are ½.
        """
        columns = len(MISSING) if self.model else len(RECORD)
        return Domain(self.rows, (-1.0,) * columns, (2.0,) * columns, (False,) * columns, MISSING[:columns])

    def proof(self, delta: Fraction) -> Theorem:
        """Two sums of contributions in a ball, with Gaussian noise."""
        return shown(self._sums(self.noise_scale, delta), "policy-value")

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        inside = linear(assume_ball("sums", self.radius, REPLACE_ONE, "movement"))
        once = assume_covers("sums", [(1, self.rows)], "movement")
        step = grid.step(CONTRIBUTION_BITS)
        return gaussian(inside, sigma, step, 2, "sums", delta, lambda one: nodes(one, once))

    def weights(self, data: Rows) -> Floats:
        """Return every record's min(q/p, `cap`); 0 where it has no chance p above 0."""
        chance, other = np.clip(data[:, 1], 0.0, 1.0), np.clip(data[:, 2], 0.0, 1.0)
        cap = float(self.cap)
        known = chance * cap > other  # else the quotient is clipped, and may overflow
        return np.where(known, other / np.where(known, chance, 1.0), np.where(chance > 0, cap, 0.0))

    def contributions(self, data: Rows) -> Integers:
        """Return what every record adds, in grid units."""
        lost = np.isnan(data)
        kept = np.where(lost, self.domain().nothing, data)
        weight = self.weights(kept)
        if self.model:  # ½ is a prediction only if it is also the mean, of the same context
            weight = np.where(lost[:, 3] & ~lost[:, 4], 0.0, weight)
            kept[:, 3] = np.where(lost[:, 4], 0.5, kept[:, 3])
        reward = np.clip(kept[:, 0], 0.0, 1.0)
        # Both stay in a ball of radius c, as w² + (w − c)² ≤ c²: where one number is large, the other is not.
        first = weight * (2 * reward - 1)
        if self.model:
            predicted, expected = np.clip(kept[:, 3:5], 0.0, 1.0).T
            first = expected - 0.5 + weight * (reward - predicted)
        return grid.in_ball(
            np.column_stack([first, weight - float(self.cap)]), self.radius, CONTRIBUTION_BITS
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release both noisy sums."""
        released = noise.noisy("sums", 0, self.contributions(data).sum(axis=0))
        return View(public={"sums": released * np.float64(grid.step(CONTRIBUTION_BITS))})

    def accuracy(self, view: View, level: Fraction = REPORTED) -> dict[str, object]:
        """Return intervals of both sums, by noise alone."""
        shown, of = view.public["sums"], "the sums of the records' contributions"
        return {"sums": accuracy.sums("gaussian", shown, self.noise_scale, CONTRIBUTION_BITS, level, of)}

    # -------------------------------------------------------------- what the sums say

    def report(self, view: View) -> dict[str, object]:
        """Return estimates, and an interval of the value for noise, sampling and clipping together.

        Records are independent draws from one law, with the chances that they say.  `mean_weight` is
        1 but for clipping and for actions that the log lacks; chances that are shown to be wrong (in
        error for 5 % of true logs at most) get a `warning` and no value.
        """
        missed = confidence.missed(REPORTED)
        # Half of the error is for the noise; the bounds for sampling share the rest.
        within = self.accuracy(view, 1 - missed / 2)["sums"]
        low, high = (np.array(within[end]) for end in ("low", "high"))  # type: ignore[index]
        apart = 2 * self.rows * 2.0**-CONTRIBUTION_BITS  # truncated to the grid
        low, high, cap = low - apart, high + apart, float(self.cap)
        first, weight = (float(each) for each in view.public["sums"])
        weight += cap * self.rows
        lightest = low[1] + cap * self.rows
        least = self._below(lightest, missed / 8)  # of E[w]
        report: dict[str, object] = {"mean_weight": weight / self.rows, "level": float(REPORTED)}
        report["sums"] = view.public["sums"].tolist()
        if not self.model:
            ends = (
                self._below((low[0] + lightest) / 2, missed / 8),
                1 - self._below((lightest - high[0]) / 2, missed / 8),
            )
            report["value"] = float(np.clip((first / weight + 1) / 2, 0, 1)) if weight > 0 else None
            report["unnormalised"] = (first + weight) / 2 / self.rows
        else:
            sampled = confidence.bounded_mean(1 + 2 * cap, 0.5 + sqrt(cap), self.rows, missed / 4)
            reach = sampled + max(1 - least, 0.0)
            ends = (0.5 + low[0] / self.rows - reach, 0.5 + high[0] / self.rows + reach)
            report["value"] = float(np.clip(0.5 + first / self.rows, 0, 1))
        if least > 1 or ends[0] > min(ends[1], 1.0) or ends[1] < 0:
            why = "no value fits, or weights are above 1 on average: the declared chances are wrong"
            return {**report, "value": None, "unnormalised": None, "warning": why}
        return {**report, "low": max(ends[0], 0.0), "high": min(ends[1], 1.0)}

    def _below(self, total: float, missed: Fraction) -> float:
        """Return a lower bound of the mean of what adds up to `total`, each number in [0, `cap`].

        Chernoff's: n·kl(x̄, u) ≤ ln(1/missed), kl that of coins, for numbers in [0, 1].
        """
        cap = float(self.cap)
        mean = min(max(total / (self.rows * cap), 0.0), 1.0)
        rare = (log(missed.denominator) - log(missed.numerator)) / self.rows

        def near(u: float) -> bool:
            apart = mean * log(mean / u) if u else 0.0
            apart += (1 - mean) * log((1 - mean) / (1 - u)) if mean < 1 else 0.0
            return apart <= rare * (1 + 1e-9) + 1e-12  # so that rounding widens the interval

        return bisect(near, 0.0, mean, 60)[0] * cap
