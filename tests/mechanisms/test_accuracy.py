"""Every interval that a mechanism gives for its noise contains the exact value as often as it says.

The noise is drawn with the law that the proof demands, so a scale that is not the proved one is seen too.
Where intervals are sound but wide (stated bounds instead of exact tails), data are as bad as they can be.
"""

import json
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.datasets.bases import dataset
from audits.subjects.catalogue import example_values
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE
from mechanisms.continual.prefix_sums import PrefixSums
from mechanisms.exponential import Exponential
from mechanisms.histogram import Histogram
from mechanisms.linear_queries import WORKLOADS, LinearQueries
from mechanisms.local_mean import LocalMean
from mechanisms.noisy_statistics import EXAMPLES
from mechanisms.permute_and_flip import PermuteAndFlip
from mechanisms.quantile import Quantile
from mechanisms.quantiles import BRANCHES, Quantiles
from mechanisms.randomised_response import RandomisedResponse
from mechanisms.shared import confidence, grid
from mechanisms.sparse_vector import SparseVector
from mechanisms.stable_histogram import StableHistogram
from mechanisms.statistics.estimates import below_ends
from mechanisms.subject import READS, released
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.catalogued import mechanisms

F = Fraction
LEVEL = F(19, 20)
DELTA = F(1, 20)
ALARM = 1e-9  # how often a true level is called false, for each case
NAMES = {entry.name: entry.made_by for entry in mechanisms()}


# ------------------------------------------------------------------ what the intervals are of


def exact(subject, data, view):  # noqa: PLR0911
    """Return what every interval of a view is about: what would be shown without noise, or as `of` says."""
    public = view.public
    if "centres" in public:
        return {"counts": np.bincount(subject.query(data), minlength=len(subject.table))}
    if "map" in public:
        rows = grid.in_ball(data, subject.radius, subject.bits) * 2.0**-subject.bits
        return {"rows": rows @ public["map"]}
    match subject:
        case Exponential() | PermuteAndFlip():
            totals = subject.query(data)
            return {"choice": [totals.max() - totals[public["choice"][0]]]}
        case Quantile():
            scores, places = subject.query(data), subject.places() * float(grid.step(subject.bits))
            chosen = int(np.flatnonzero(places == public["quantile"][0])[0])
            return {"quantile": [(scores.max() - scores[chosen]) / subject._denominator]}
        case Quantiles():
            below = below_ends(subject.query(data), BRANCHES, subject.levels)
            first = [int((below >= rank * len(data)).argmax()) for rank in subject.wanted]
            return {"quantiles": subject.ends[first], "ranks": below}
        case SparseVector():
            return {"answers": subject.query(data) + subject.threshold}
        case Histogram():
            return {"counts": subject.query(data)}
        case StableHistogram():
            counts, shown = subject.query(data), public["cells"]
            return {"counts": counts[shown], "others": np.delete(counts, shown)}
        case RandomisedResponse():
            return {"counts": np.bincount(subject.query(data), minlength=subject.cells)}
        case LocalMean():
            middle, half = (subject.low + subject.high) / 2, (subject.high - subject.low) / 2
            places = subject.query(data) / subject.steps - 1
            return {"mean": float(middle) + float(half) * places.mean()}
        case PrefixSums():
            values = grid.in_ball(data, subject.radius, subject.bits) * float(grid.step(subject.bits))
            return {"prefix-sums": values.cumsum(axis=0)}
    return dict(subject.play(data, NoNoise(), 0).public)


# ------------------------------------------------------------------ cases


#: Parameters with which few rows are enough for intervals to have ends.
OWN = {
    "sparse-vector": {"threshold": 10, "threshold_scale": F(1, 2), "scale": F(1)},
    "quantile": {"rows": 60},
    "stable-histogram": {"rows": 60, "cells": 3, "threshold": 8},
    "count-by-group": {"cells": 5},
    "quantiles": {"levels": 2},
    "local-mean": {"rows": 5, "steps": 3},
    # its intervals hold together for each statistic (tests/mechanisms/statistics has several)
    "noisy-statistics": {"statistics": EXAMPLES[:1], "scales": (F(8),)},
}

#: Parts of views that estimate nothing, or are public.
WITHOUT = {
    "answers",
    "cells",
    "projected",
    "count",
    "coefficients",
    "centres",
    "map",
    "rows/count",
    "average/sum",
}


def parameters(made_by):
    return {field.name for field in fields(made_by)}


def example(name, **more):
    """Return a catalogued mechanism with few rows."""
    small = {"rows": 20, "rounds": 6}
    chosen = {k: v for k, v in small.items() if k in parameters(NAMES[name])} | OWN.get(name, {})
    return NAMES[name](**{**example_values(NAMES[name]), **chosen, **more})


def catalogue():
    """Yield every mechanism, with both relations where it has them, and what else its intervals depend on."""
    for name, made_by in NAMES.items():
        yield name, example(name)
        if "law" in parameters(made_by):
            yield f"{name}-gaussian", example(name, law="gaussian")
        if "relation" in parameters(made_by):
            yield f"{name}-add-remove", example(name, relation=ADD_REMOVE)
    yield "stable-histogram-keys", StableHistogram(rows=20, cells=3, keys=3, threshold=8)
    yield "second-moments-bounds", example("second-moments", bounds="0 1; -20 300; 5 6", relation=ADD_REMOVE)
    yield "histogram-threshold", Histogram(rows=20, threshold=6, sigma=F(2))
    yield "histogram-coarse", Histogram(rows=20, sigma=F(1, 2))
    yield "stable-histogram-shown", StableHistogram(rows=20, cells=2, threshold=3, scale=F(1, 2))
    yield from ((f"linear-{each}", LinearQueries(rows=20, workload=each)) for each in WORKLOADS)
    yield from ((f"local-{each}", example("local-mean", channel=each)) for each in ("piecewise", "hybrid"))
    yield "permute-and-flip-two", PermuteAndFlip(rows=20, candidates=2)
    yield "laplace-coarse", example("laplace-sum", bits=0, scale=F(2))


CASES = dict(catalogue())
every, every_quickly = pytest.mark.parametrize("name", CASES), looped("name", CASES)


def hardest(subject, data, share):
    """Return data whose every other candidate or count is just beyond `share` of the interval, if it has such."""
    if not isinstance(subject, Exponential | PermuteAndFlip | Quantile | SparseVector):
        return data
    view = subject.play(data, rehearse(subject.proof(DELTA), Rehearsal(0)), 0)
    (claimed,) = subject.accuracy(view, LEVEL).values()
    if isinstance(subject, SparseVector):  # all just too low to pass
        reach = subject.threshold - min(claimed["low"]) if 1 in view.public["answers"] else 7
        below = np.arange(len(data)) < subject.threshold - int(reach * share) - 1
        return np.repeat(below[:, None], subject.questions, axis=1).astype(float)
    gap = int(claimed["high"][0] * share) + 1
    if isinstance(subject, Quantile):
        half = len(data) // 2
        middle = float(subject.low + subject.high) / 2
        near = float(subject.high - subject.low) / 100
        groups = [
            (subject.low, half - gap),
            (middle - near, gap),
            (middle + near, gap),
            (subject.high, half - gap),
        ]
        return np.repeat([float(place) for place, _ in groups], [many for _, many in groups])[:, None]
    votes = np.zeros((len(data), subject.candidates))
    votes[:, 0] = np.arange(len(data)) < gap
    return votes


@dataclass(frozen=True)
class Count:
    """How many rehearsals there were, and in how many some interval missed."""

    runs: int
    missed: int

    def believable(self, level):
        """Return whether this many misses occur with a probability above `ALARM` at this level."""
        return stats.binom.sf(self.missed - 1, self.runs, float(1 - level)) >= ALARM


def rehearsals(subject, data, seeds, share=1.0):
    """Rehearse; count the runs with a number outside its interval, made `share` as wide."""
    proved, missed = Proved(subject.proof(DELTA)), 0
    for seed in seeds:
        view = subject.play(data, rehearse(proved, Rehearsal(seed)), seed)
        claimed, truth = subject.accuracy(view, LEVEL), exact(subject, data, view)
        assert claimed.keys() <= truth.keys()
        assert view.public.keys() - claimed.keys() <= WITHOUT
        missed += any(outside(claimed[part], truth[part], share) for part in claimed)
    return Count(len(seeds), missed)


def outside(claimed, truth, share):
    low, high = (np.array(claimed[end], dtype=float) for end in ("low", "high"))
    fixed = low if np.all(low == 0) else (low + high) / 2  # of a choice the least is 0 for sure
    low, high = fixed + (low - fixed) * share, fixed + (high - fixed) * share
    return bool(((np.asarray(truth) < low) | (np.asarray(truth) > high)).any())


# ------------------------------------------------------------------ the intervals


@deep
@pytest.mark.statistical(1e-9)
@every
def test_intervals_hold_as_often_as_they_say(name, depth):
    subject = CASES[name]
    data = hardest(subject, dataset(subject.domain(), "uniform", 7), 1.0)
    seeds = [depth.seed(run) for run in range(10_000)]
    assert rehearsals(subject, data, seeds).believable(LEVEL)


#: Sound bounds, not tails: half as wide they are still as good as they say, a quarter is not.
WIDE = ("sparse", "clipped-mean-add-remove", "randomised", "local", "stable-histogram")


@deep
@every
def test_narrower_intervals_do_not(name):
    """Broken twins of all intervals, half as wide (or a quarter, where they are wide): each is seen."""
    subject, share = CASES[name], 1 / 4 if name.startswith(WIDE) else 1 / 2
    data = hardest(subject, dataset(subject.domain(), "uniform", 7), share)
    assert not rehearsals(subject, data, range(2000), share).believable(LEVEL)


@looped("name", ["laplace-sum", "gaussian-sum", "histogram", "binary-tree", "exponential"])
def test_a_quarter_is_seen_at_once(name):
    data = hardest(CASES[name], dataset(CASES[name].domain(), "uniform", 7), 1 / 4)
    assert not rehearsals(CASES[name], data, range(100), 1 / 4).believable(LEVEL)


@every_quickly
def test_what_is_read_and_reported_is_said_in_plain_values(name):
    subject = CASES[name]
    data = dataset(subject.domain(), "uniform", 1)
    view = subject.play(data, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    claimed = subject.accuracy(view)
    assert subject.reads in READS
    assert json.loads(json.dumps(claimed)) == claimed
    assert json.loads(json.dumps(released(view))) == released(view)
    for part, each in claimed.items():
        assert each["level"] == 0.95
        assert set(each) == {"low", "high", "level", "of"}
        if part in view.public:
            assert np.shape(each["low"]) == np.shape(each["high"]) == view.public[part].shape
    for level in (0, 1, F(3, 2)):
        with pytest.raises(InputError, match="level"):
            subject.accuracy(view, level)


@every_quickly
def test_a_higher_level_is_never_narrower(name):
    subject = CASES[name]
    view = subject.play(
        dataset(subject.domain(), "uniform", 1), rehearse(subject.proof(DELTA), Rehearsal(1)), 0
    )
    widths = []
    for level in (F(1, 2), LEVEL, F(999, 1000)):
        intervals = subject.accuracy(view, level).values()
        widths.append(sum(np.sum(np.subtract(each["high"], each["low"])) for each in intervals))
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


# ------------------------------------------------------------------ tails


@looped("scale", [0.25, 1.0, 7 / 3, 40.5])
@looped("alpha", [F(1, 2), F(1, 20), F(1, 10**7)])
def test_tails_are_the_least_that_hold(scale, alpha):
    reach = int(60 * scale * np.sqrt(scale)) + 60
    x = np.arange(-reach, reach + 1)
    for weights, found in (
        (np.exp(-np.abs(x) / scale), confidence.laplace(scale, alpha)),
        (np.exp(-(x**2) / (2 * scale**2)), confidence.gaussian(scale, alpha)),
    ):
        chances = weights / weights.sum()
        assert chances[np.abs(x) > found].sum() <= float(alpha) * (1 + 1e-9)
        assert found == 0 or chances[np.abs(x) > found - 1].sum() > float(alpha)


def test_a_wide_gaussian_is_one_step_off_at_most():
    summed, alpha = confidence.gaussian(1024.0, F(1, 20)), F(1, 20)
    normal = int(np.ceil(stats.norm.isf(0.025) * 1024))
    assert summed <= confidence.gaussian(np.nextafter(1024.0, 2000), alpha) <= normal + 1
    assert normal - 1 <= summed


def test_tails_rarer_than_any_double_are_known():
    rare, scale = F(1, 10**330), 2.5
    for reach in (confidence.laplace(scale, rare), confidence.gaussian(scale, rare)):
        assert reach < 10**4
    x = confidence.gaussian(scale, rare)
    assert (x + 1) ** 2 / (2 * scale**2) > 330 * np.log(10) - 2 > (x - 1) ** 2 / (2 * scale**2)
    assert confidence.gaussian(5000.0, rare) > 5000 * 38
