"""Several statistics of one table, from noisy sums: counts, sums, means, quantiles and more, by groups."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import Place
from dpaccount.errors import InputError, RuleError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_l1,
    assume_lipschitz,
    compose,
    fine_gaussian,
    laplace,
    linear,
    moved,
    point,
)
from dpaccount.proof.search import approximate
from dpaccount.relation import adjacency
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import distance
from mechanisms.statistics import calibration, choices, unlisted
from mechanisms.statistics.draws import BITS, Draw, cut, draws, totals
from mechanisms.statistics.estimates import estimate
from mechanisms.statistics.expressions import code_of, sources_of
from mechanisms.statistics.statistic import Statistic, check_names, read_statistic
from mechanisms.subject import Additive, Domain, Rows, Subject, View, known_relation, shown, shown_to_all
from mechanisms.table.bind_columns import Promise
from mechanisms.table.cells import width
from mechanisms.table.columns import Column, Table
from mechanisms.table.rows import Reading
from mechanisms.table.user_level import ByPerson, named

DELTA_WORTH: Final = Fraction(100, 99)  #: how many times as large pure ε must be for δ to be spent
EXAMPLES: Final = (
    Statistic("rows", "count", by=(Column("group", "category", values=("a", "b")),)),
    Statistic("average", "mean", Column("value", "number", Fraction(0), Fraction(10))),
)

Planned = calibration.Planned


@dataclass(frozen=True)
class NoisyStatistics(Additive):
    """Release `statistics` of one table, each from sums with noise of its own.

    `scales` has the noise of every draw, in the units of the draw: with `law` ``gaussian`` its standard
    deviation, with ``laplace`` its scale.  A row is 1 and the codes of the columns that are read, in the
    order of their names; one that begins with 0 is a row of nothing.  Derived columns follow from
    these.  `exact_rows`: whether the number of rows is public, and each is one of these.  Counts of unlisted
    values get discrete Laplace noise and are shown from their threshold on.  A choice's scale is in ranks.
    """

    source: ClassVar[str] = "Dwork et al. 2006; Canonne, Kamath & Steinke 2020; Dong, Roth & Su 2022"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "statistics"
    by_row: ClassVar[bool] = True  # type: ignore[misc, assignment, unused-ignore]

    statistics: tuple[Statistic, ...] = EXAMPLES
    scales: tuple[Fraction, ...] = (Fraction(8), Fraction(8))
    law: str = "gaussian"
    rows: int = 100
    relation: str = REPLACE_ONE
    exact_rows: bool = True
    thresholds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        known_relation(self.relation)
        check_names([each.name for each in self.statistics])
        if self.law not in ("gaussian", "laplace"):
            raise InputError(f"law is {self.law!r}", "known: gaussian, laplace")
        if len(self.scales) != len(self.draws) or min(self.scales) <= 0 or self.rows < 1:
            raise out_of_range(f"one scale > 0 for each of {len(self.draws)} draws, and rows >= 1")
        if len(self.thresholds) != len(self._unlisted) or (self.thresholds and self.law != "gaussian"):
            raise out_of_range("Gaussian noise, and one threshold for each count of unlisted values")
        for draw, scale in zip(self.draws, self.scales, strict=True):
            try:
                grid.room(2 * self.rows + 64 * scale, self._bits(draw))
            except InputError:
                raise InputError(
                    f"{draw.key} has noise of {float(scale):.3g} and {self.rows} rows, too much to add up",
                    "give it a larger share, or let fewer rows of a unit count",
                ) from None

    @classmethod
    def on_table(cls, table: Table, parameters: Place, promise: Promise) -> tuple[Subject, Reading]:
        """Return the study on a declared table, with the least noise that meets a claim's total."""
        given = parameters.table(("statistic",), ("law",))
        known_relation(promise.relation)
        statistics = tuple(read_statistic(each, table) for each in given["statistic"].items())
        law = given["law"].text("gaussian", "laplace") if "law" in given else None
        with parameters.placing():
            subject = planned(statistics, table.rows, table.max_rows, promise, law)[0]
        columns = named(subject).columns  # type: ignore[attr-defined]  # it is a study
        default = (0.0, *(code for column in columns for code in _nothing(column)))

        def encode(codes: Rows) -> Rows:
            return np.hstack([np.ones((len(codes), 1)), codes])

        return subject, Reading(tuple(column.name for column in columns), encode, default)

    # -------------------------------------------------------------- public constants

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the file that are read, in the order of their names."""
        known = {one.name: one for column in self._named for one in sources_of(column)}
        return tuple(known[name] for name in sorted(known))

    @cached_property
    def _named(self) -> tuple[Column, ...]:
        """Return the columns that the statistics name, each once: some are derived."""
        of = ((*what.by, *what.on, *what.declared, what.column, what.per) for what in self.statistics)
        return tuple({column.name: column for some in of for column in some if column is not None}.values())

    @cached_property
    def parts(self) -> tuple[tuple[Draw, ...], ...]:
        """Return the draws of every statistic."""
        return tuple(draws(each, known=self._known(each)) for each in self.statistics)

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """Return all draws, in the order of `scales`."""
        return tuple(draw for part in self.parts for draw in part)

    @property
    def _unlisted(self) -> tuple[Statistic, ...]:
        return tuple(what for what in self.statistics if what.unlisted)

    def threshold(self, what: Statistic) -> int:
        """Return the least noisy count at which an unlisted value is shown."""
        return self.thresholds[self._unlisted.index(what)]

    @property
    def adds_up(self) -> bool:
        """Return whether all cells are listed: else their number is private, and no sum has it."""
        return not self._unlisted

    def _known(self, what: Statistic) -> bool:
        return self.exact_rows and what.is_whole

    def _bits(self, draw: Draw) -> int:
        return draw.bits if self.law == "laplace" or draw.choice else BITS

    def domain(self) -> Domain:
        """Return whether a row is there, then the codes of its cells."""
        each = [column for column in self.columns for _ in _nothing(column)]
        low, high = ((first, *(one.range[k] for one in each)) for k, first in enumerate((0.0, 1.0)))
        default = (0.0, *(code for column in self.columns for code in _nothing(column)))
        return Domain(self.rows, low, high, (True, *(one.kind != "number" for one in each)), default)

    # -------------------------------------------------------------- proof and run

    def proof(self, delta: Fraction) -> Theorem:
        """Compose the draws: their μ² (and distances from Gaussian noise), or their ε.

        That of Laplace noise is pure, unless δ lowers its ε by more than a hundredth.
        Counts of unlisted values are (ε, δ) alone: they get half of δ, or all, in equal
        parts, and their ε is added.
        """
        drawn = [(draw, scale) for draw, scale in zip(self.draws, self.scales, strict=True) if draw.size]
        parts = [self._leaf(draw, scale) for draw, scale in drawn]
        whole = compose(*parts) if len(parts) > 1 else parts[0] if parts else None
        if not self._unlisted:
            law = {"gaussian": (delta,), "laplace": (Fraction(0), delta)}[self.law]
            name, all_draws = "noisy-statistics", cast("Theorem", whole)  # there are some
            pure, *others = [shown_to_all(all_draws, name, each) for each in law]
            better = [each for each in others if point(each)[0] * DELTA_WORTH < point(pure)[0]]
            return better[0] if better else pure
        others = [] if whole is None else [approximate(whole, delta / 2)]
        share = delta / (len(others) + 1) / len(self._unlisted)
        bare = [
            (draw.key, scale) for draw, scale in zip(self.draws, self.scales, strict=True) if not draw.size
        ]
        keyed = [
            unlisted.shown(key, scale, threshold, share, self.relation)
            for (key, scale), threshold in zip(bare, self.thresholds, strict=True)
        ]
        both = [*others, *keyed]
        return shown(compose(*both) if len(both) > 1 else both[0], "noisy-statistics")

    def _leaf(self, draw: Draw, scale: Fraction) -> Theorem:
        """Return the theorem of one draw: how far a row moves it, and its noise."""
        if draw.choice:
            others_noisy = any(other.size and not other.choice for other in self.draws)
            return choices.proof(draw, scale, self.relation, self.law, beside_noise=others_noisy)
        vary, step = adjacency(self.relation).rows_vary, grid.step(self._bits(draw))
        if self.law == "laplace":
            if draw.l1 is not None:
                moves = assume_l1(draw.key, draw.l1[0 if vary else 1], self.relation, "movement")
            elif draw.interval is None:
                moves = linear(assume_cell(draw.key, self.relation, "movement", draw.cells))
            else:
                moves = linear(assume_clipped(draw.key, *draw.interval, self.relation, "movement"))
            return laplace(moves, scale, step, draw.key)
        if vary:
            moves = linear(assume_ball(draw.key, draw.norm, self.relation, "movement"))
        else:  # replacing any row by any other moves the sums by no more than this
            moves = moved(assume_lipschitz(draw.key, Fraction(0), draw.reach, draw.reach, "movement"), None)
        far = distance(scale, step, draw.size)
        return fine_gaussian(moves, scale**2, step, draw.size, far, draw.key)

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        norms = ((Fraction(1) if draw.cells else draw.norm, self._bits(draw)) for draw in self.draws)
        return max(grid.most(*norm) for norm in norms)

    def query(self, data: Rows) -> Integers:
        """Return the exact sums of all draws, one after another, in the units of the noise."""
        codes = self._codes(data)
        sums = [
            totals(what, draw, codes, self._bits(draw))
            for what, part in zip(self.statistics, self.parts, strict=True)
            for draw in part
        ]
        return np.concatenate(sums)

    def _codes(self, data: Rows) -> dict[str, NDArray[Any]]:
        """Return the codes of the rows that are there, by column; of a text those of each row."""
        rows = self.domain().clamped(data)
        rows, at, codes = rows[rows[:, 0] == 1], 1, {}
        for column in self.columns:
            wide = len(_nothing(column))
            codes[column.name] = rows[:, at : at + wide] if column.kind == "text" else rows[:, at]
            at += wide
        codes |= {column.name: code_of(column, codes) for column in self._named}
        return codes or {"": rows[:, 0]}  # a count of all rows reads no column

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release what is shown of `data`: unlisted cells are no totals."""
        unlisted_keys: dict[str, Integers] = {}
        codes = self._codes(data) if self._unlisted else {}
        for what in self._unlisted:
            unlisted_keys[f"{what.name}/keys"] = unlisted.counted(what.spelled(codes))
        return self._published(self.query(data), noise, unlisted_keys)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy sums, and the estimates that follow from them."""
        return self._published(totals, noise, {})

    def _published(self, totals: Integers, noise: Noise, cells: dict[str, Integers]) -> View:
        noisy: dict[str, NDArray[Any]] = {}
        of = [what for what, part in zip(self.statistics, self.parts, strict=True) for _ in part]
        for what, draw, part in zip(of, self.draws, cut(self.draws, totals), strict=True):
            if draw.choice:  # candidates by their number, from the lower bound's 0
                chosen = noise.noisy(draw.key, 0, choices.scores(what, part))
                noisy[draw.key] = chosen.argmax(axis=1).astype(float)
            elif draw.size:
                noisy[draw.key] = noise.noisy(draw.key, 0, part) * float(grid.step(self._bits(draw)))
        texts = {}
        for what in self._unlisted:
            key, exact = f"{what.name}/keys", cells[f"{what.name}/keys"]
            some = noise.noisy_cells(key, 0, exact)
            noisy[key] = some[:, -1]
            texts[f"{what.name}/texts"] = np.array(what.texts(some[:, :-1]), dtype=str)
        ends = self._ends(noisy, Fraction(19, 20))
        return View(public={**noisy, **texts, **{name: each[0] for name, each in ends.items()}})

    def _ends(self, noisy: dict[str, NDArray[Any]], level: Fraction) -> dict[str, Any]:
        intervals: dict[str, Any] = {}
        scales = dict(zip((draw.key for draw in self.draws), self.scales, strict=True))
        for what, part in zip(self.statistics, self.parts, strict=True):
            reach = self.reach(what, part, [scales[draw.key] for draw in part], level)
            sums = [noisy[draw.key] for draw in part]
            intervals[what.name] = estimate(what, sums, reach, self.rows, known=self._known(what))
        return intervals

    def reach(
        self, what: Statistic, part: tuple[Draw, ...], scales: list[Fraction], level: Fraction
    ) -> list[float]:
        """Return how far the noise of each draw of a statistic may be, for all its numbers at once.

        For a quantile, how far that of sums of 0, 1, … counts may be.
        """
        alpha = confidence.missed(level)
        if what.chosen:
            return [choices.ranks(what, scales[0], level)]
        if what.what in ("median", "quantile"):
            return calibration.reach_of_sums(self.law, scales[0], self._bits(part[0]), what.groups, alpha)
        law = "laplace" if what.unlisted else self.law
        return calibration.reach_of_all(law, part, scales, self.rows, alpha)

    def report(self, view: View) -> dict[str, object]:
        """Return the estimates of each statistic, and the unlisted values that are shown."""
        texts = [f"{each.name}/texts" for each in self._unlisted]
        return {name: view.public[name].tolist() for name in (*(s.name for s in self.statistics), *texts)}

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of each statistic, simultaneous for all its numbers; null: none is known."""
        ends = self._ends({draw.key: view.public[draw.key] for draw in self.draws}, level)
        known: dict[str, Any] = {}
        for what, part in zip(self.statistics, self.parts, strict=True):
            of, (low, high) = f"the {what.what} of clipped numbers without noise", ends[what.name][1:]
            known[what.name] = accuracy.interval(_known(low), _known(high), level, of)
            if what.chosen:
                at = self.draws.index(part[0])
                known[what.name]["ranks"] = choices.ranks(what, self.scales[at], level)
        return known


def _nothing(column: Column) -> tuple[float, ...]:
    """Return the codes of a missing cell: several of a text."""
    return (0.0,) * width(column.bytes) if column.kind == "text" else (column.default,)


@lru_cache(maxsize=64)  # a command makes its subject several times
def planned(
    statistics: tuple[Statistic, ...], rows: int, max_rows: int, promise: Promise, law: str | None = None
) -> tuple[Subject, Planned]:
    """Return the study with the least noise that meets a promise, and each statistic with its amount.

    `statistics`: what the study releases.
    `rows`, `max_rows`: units of the table, and the rows of one unit that count.
    `promise`: the (ε, δ) and the relation that all statistics together must meet.
    `law`: "laplace" or "gaussian"; None: the one of narrower intervals.
    Raises `InputError` where no noise meets the promise.
    """
    if law == "gaussian" and promise.delta == 0:
        raise InputError("Gaussian noise is never pure", "give the guarantee a delta > 0, or law = laplace")
    if any(what.unlisted for what in statistics):
        if law == "laplace":
            raise InputError("unlisted values need Gaussian noise", "leave law out")
        return _planned_unlisted(statistics, rows, max_rows, promise)
    calibration.total_amount(promise.epsilon, promise.delta)  # refuses a total that is out of range
    # Laplace noise is narrower for few draws and Gaussian noise for many: where no law is asked for, both are
    # calibrated and their intervals compared.
    both = all(map(calibration.has_pure_width, statistics)) and law is None
    laws = ("gaussian", "laplace") if both else (law or "gaussian",)
    plans, failed = [], []
    for one in laws if promise.delta > 0 else ("laplace",):
        try:
            plans.append(_planned_listed(statistics, rows, max_rows, promise, one, units=rows))
        except InputError as error:
            failed.append(error)
    if not plans:
        raise min(failed, key=lambda error: getattr(error, "times", math.inf))
    return plans[-1] if len(plans) == 1 or calibration.is_narrower(plans[1][1], plans[0][1]) else plans[0]


def _planned_listed(
    statistics: tuple[Statistic, ...], rows: int, max_rows: int, promise: Promise, law: str, *, units: int
) -> tuple[Any, Planned]:
    """Return what `planned` does with one law where cells are listed; there are `units` units in all."""
    relation = promise.relation
    vary = adjacency(relation).rows_vary
    exact = rows * max_rows == units and not vary  # a row is all of a unit

    def study_at(scales: calibration.Scales, of: tuple[Statistic, ...] = statistics) -> Subject:
        study = NoisyStatistics(of, scales, law, rows * max_rows, relation, exact)
        return study if max_rows == 1 else ByPerson(study, rows, max_rows, relation)

    def proved(
        scales: calibration.Scales,
        of: tuple[Statistic, ...] = statistics,
        epsilon: Fraction = promise.epsilon,
    ) -> bool:
        try:
            return point(study_at(scales, of).proof(promise.delta))[0] <= epsilon
        except RuleError:
            return False

    check_names([what.name for what in statistics])
    delta, requests = promise.delta if law == "gaussian" else Fraction(0), []
    for what in statistics:
        part = draws(what, known=exact and what.is_whole)
        moves = tuple(calibration.moved_by(draw, law, vary=vary) * max_rows for draw in part)
        one = calibration.StatisticRequest(what, part, moves, law, rows * max_rows, units, of_one=max_rows)
        if what.epsilon is not None:
            if what.epsilon > promise.epsilon:
                raise InputError(calibration.BEYOND, calibration.LOWER)
            enough = partial(proved, of=(what,), epsilon=what.epsilon)
            alone = calibration.total_amount(what.epsilon, delta)
            one = replace(one, fixed=calibration.least_scales([one], alone, enough)[1][0])
        requests.append(one)
    total = calibration.total_amount(promise.epsilon, delta)
    scales, amounts = calibration.least_scales(requests, total, proved)
    return study_at(scales), tuple(zip(requests, amounts, strict=True))


def _planned_unlisted(
    statistics: tuple[Statistic, ...], rows: int, max_rows: int, promise: Promise
) -> tuple[Subject, Planned]:
    """Return what `planned` does where unlisted values are counted.

    These get their shares of ε, of which the others get the rest, with half of δ.  Where several rows of a
    unit count, all is planned for one row, at the (ε, δ) that groups of them need.
    """
    if promise.delta == 0:
        name = next(what.name for what in statistics if what.unlisted)
        raise InputError(f"{name} counts unlisted values", "give the guarantee a delta > 0")
    if max_rows > 1:
        delta = unlisted.delta_of_row(promise.epsilon, promise.delta, max_rows)
        of_row = Promise(promise.relation, promise.epsilon / max_rows, delta)
        own = tuple(replace(what, epsilon=what.epsilon and what.epsilon / max_rows) for what in statistics)
        study, some = _planned_unlisted_rows(own, rows * max_rows, of_row, rows)
        whole = ByPerson(replace(study, statistics=statistics), rows, max_rows, promise.relation)
        pairs = zip(statistics, some, strict=True)
        parts = tuple((replace(each, what=what, units=rows), n) for what, (each, n) in pairs)
    else:
        whole, parts = _planned_unlisted_rows(statistics, rows, promise, rows)
    if point(whole.proof(promise.delta))[0] > promise.epsilon:
        raise InputError("no noise is proved to meet this total", "give a larger delta")
    return whole, parts


def _planned_unlisted_rows(
    statistics: tuple[Statistic, ...], rows: int, promise: Promise, units: int
) -> tuple[Any, Planned]:
    """Return the study of the rows of `units`, and what each statistic gets of a promise to one row."""
    check_names([what.name for what in statistics])
    calibration.total_amount(promise.epsilon, promise.delta)
    rest = tuple(what for what in statistics if not what.unlisted)
    each = promise.delta / (1 + bool(rest)) / (len(statistics) - len(rest))
    vary, chosen, thresholds = adjacency(promise.relation).rows_vary, {}, []
    for request, amount in calibration.split_keyed(statistics, promise.epsilon, 1 if vary else 2, rows):
        what = request.what
        chosen[what.name] = request.scales(amount), (request, amount)
        thresholds.append(unlisted.least_threshold(chosen[what.name][0][0], each, promise.relation))
    left = promise.epsilon - sum(request.moves[0] / scales[0] for scales, (request, _) in chosen.values())
    if rest:
        some = Promise(promise.relation, left, promise.delta / 2)
        of_rest, pairs = _planned_listed(rest, rows, 1, some, "gaussian", units=units)
        scales = dict(zip((draw.key for draw in of_rest.draws), of_rest.scales, strict=True))
        chosen |= {a.what.name: (tuple(scales[draw.key] for draw in a.draws), (a, n)) for a, n in pairs}
    all_scales = tuple(scale for what in statistics for scale in chosen[what.name][0])
    args = (promise.relation, rows == units and not vary, tuple(thresholds))
    return NoisyStatistics(statistics, all_scales, "gaussian", rows, *args), tuple(
        chosen[what.name][1] for what in statistics
    )


def _known(ends: NDArray[np.float64]) -> NDArray[Any]:
    """Return ends of intervals, None for those that are not known."""
    return np.array([None if np.isnan(end) else float(end) for end in ends], dtype=object)
