"""The true hockey-stick divergence, by enumeration, is never above the proof: all neighbours of small data.

Masses are balls; what lies beyond the enumerated box is added to the divergence.  A mechanism's noise
has its law from the receipt, so a scale that were read wrongly would show here.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_poly, ctx

from audits.hypothesis_tests.replay import Recorder
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point
from mechanisms.binary_tree import BinaryTree
from mechanisms.clipped_mean import ClippedMean
from mechanisms.count import Count
from mechanisms.count_by_group import CountByGroup
from mechanisms.exponential import Exponential
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.honaker_tree import HonakerTree
from mechanisms.k_norm import KNorm
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.laplace_vector import LaplaceVector
from mechanisms.linear_queries import LinearQueries
from mechanisms.local_mean import LocalMean
from mechanisms.permute_and_flip import PermuteAndFlip
from mechanisms.quantile import Quantile
from mechanisms.quantiles import Quantiles
from mechanisms.randomised_response import RandomisedResponse
from mechanisms.sparse_vector import SparseVector
from mechanisms.stable_histogram import StableHistogram
from mechanisms.variance import Variance
from tests.depth import deep

F = Fraction
REACH = 9  #: deviations of enumerated Gaussian noise; of Laplace noise twice as many scales
BITS = 192


def exact(value):
    return arb(value.numerator) / value.denominator if isinstance(value, F) else arb(value)


def line(kind, scale):
    """Return ({offset: mass}, missing): one coordinate's noise, and a bound on what is left out."""
    reach = int(REACH * scale * (1 if kind == "gaussian" else 4)) + 2

    def power(x):
        return -(arb(x) ** 2) / (2 * arb(scale) ** 2) if kind == "gaussian" else -arb(abs(x)) / arb(scale)

    weights = {x: power(x).exp() for x in range(-reach, reach + 1)}
    # both tails fall at least as fast as the last ratio
    last = power(reach + 1).exp()
    tail = 2 * last / (1 - (power(reach + 2) - power(reach + 1)).exp())
    total = sum(weights.values(), arb(0)) + tail.union(arb(0))
    return {x: w / total for x, w in weights.items()}, (tail / total).upper()


def choice(law, scores):
    """Return {candidate: mass} of the exponential mechanism or of permute-and-flip."""
    chance = [((arb(int(s)) - arb(int(max(scores)))) / arb(law.scale)).exp() for s in scores]
    if law.kind == "exponential":
        return {i: c / sum(chance, arb(0)) for i, c in enumerate(chance)}
    chances = {}
    for i, own in enumerate(chance):
        others = arb_poly([1])
        for j, other in enumerate(chance):
            if j != i:
                others *= arb_poly([1, -other])
        chances[i] = own * others.integral()(arb(1))
    return chances


def above(law, numbers):
    """Return ({answers: mass}, missing) of a sparse vector, summed over the noisy threshold."""
    noise, missing = line("laplace", law.threshold)
    each, lost = line("laplace", law.scale)
    order = sorted(each)
    upper, run = {}, arb(0)
    for x in reversed(order):
        run += each[x]
        upper[x] = run

    def passing(level):
        return upper[min(max(level, order[0]), order[-1])] if level <= order[-1] else arb(0)

    chances = {}
    for threshold, mass in noise.items():
        for answers in itertools.product((0, 1), repeat=len(numbers)):
            shown, chance, positive = [], mass, 0
            for answer, number in zip(answers, numbers, strict=True):
                if positive >= law.limit:
                    shown.append(-1)
                    continue
                p = passing(threshold - int(number))
                chance *= p if answer else 1 - p
                positive += answer
                shown.append(answer)
            stopped = [i for i, v in enumerate(shown) if v == -1]
            if all(answers[i] == 0 for i in stopped):
                key = tuple(shown)
                chances[key] = chances.get(key, arb(0)) + chance
    return chances, missing + (len(numbers) + 1) * lost


def shown(law, count):
    """Return ({shown count: mass}, missing) of one cell of a stable histogram."""
    if count == 0:
        return {0: arb(1)}, arb(0)
    noise, missing = line("laplace", law.scale)
    chances = {0: arb(0)}
    for x, mass in noise.items():
        visible = count + x if count + x >= law.threshold else 0
        chances[visible] = chances.get(visible, arb(0)) + mass
    return chances, missing


def factors_of(law, here, there):
    """Yield (left masses, right masses, missing) for independent parts of a release that differ."""
    match law.kind:
        case "exponential" | "permute-and-flip":
            yield choice(law, here), choice(law, there), arb(0)
        case "sparse-vector":
            (left, lost), (right, _) = above(law, here), above(law, there)
            yield left, right, lost
        case "table":
            for a, b in zip(here.ravel(), there.ravel(), strict=True):
                yield (
                    dict(enumerate(map(exact, law.table[a]))),
                    dict(enumerate(map(exact, law.table[b]))),
                    arb(0),
                )
        case "stable-histogram":
            for a, b in zip(here, there, strict=True):
                if a != b:
                    (left, lost), (right, more) = shown(law, int(a)), shown(law, int(b))
                    yield left, right, lost + more
        case "k-norm":
            yield ball_noise(law, [int(v) for v in there - here])
        case kind:
            entries = [(int(a), int(b), law.scale) for a, b in zip(here.ravel(), there.ravel(), strict=True)]
            if kind == "symmetric":
                rows, columns = np.triu_indices(len(here))
                wide = float(np.nextafter(np.sqrt(2) * law.scale, np.inf))
                entries = [
                    (int(here[i, j]), int(there[i, j]), wide if i == j else law.scale)
                    for i, j in zip(rows, columns, strict=True)
                ]
            for a, b, scale in entries:
                if a != b:
                    noise, lost = line("gaussian" if kind == "symmetric" else kind, scale)
                    yield noise, {x + b - a: mass for x, mass in noise.items()}, lost


def ball_noise(law, move):
    """Return (left, right, missing) of K-norm noise in two dimensions, moved by `move`."""
    reach = int(45 * law.scale)
    box = list(itertools.product(range(-reach, reach + 1), repeat=2))
    weights = {v: (-(arb(v[0] ** 2 + v[1] ** 2).sqrt()) / arb(law.scale)).exp() for v in box}
    # beyond the box ‖v‖ ≥ max|v_i| = m: at most 8m points with weight e^(−m/s) each; Σ_{m>R} 8m e^(−m/s)
    ratio = (-1 / arb(law.scale)).exp()
    tail = 8 * ratio ** (reach + 1) * (reach + 1 - reach * ratio) / (1 - ratio) ** 2
    total = sum(weights.values(), arb(0)) + tail.union(arb(0))
    left = {v: w / total for v, w in weights.items()}
    right = {(v[0] + move[0], v[1] + move[1]): w for v, w in left.items()}
    return left, right, (tail / total).upper()


def divergence(parts, epsilon):
    """Return an upper bound on Σ (P − e^ε Q)₊ over the product of independent parts."""
    joint, lost = [(arb(1), arb(1))], arb(0)
    for left, right, missing in parts:
        zero = arb(0)
        joint = [(p * a, q * right.get(x, zero)) for p, q in joint for x, a in left.items()]
        lost += missing
    factor = exact(epsilon).exp()
    total = arb(0)
    for p, q in joint:
        gap = p - factor * q
        total += gap.upper() if gap.upper() > 0 else arb(0)
    return total + lost


def pairs_of(subject, records):
    """Yield the private values of all neighbouring data sets whose rows are among `records`."""
    rows = subject.domain().rows
    for row in itertools.product(records, repeat=rows):
        data = np.array(row, dtype=float)
        for i in range(rows):
            if subject.relation == ADD_REMOVE:
                yield data, np.delete(data, i, axis=0)
            else:
                for other in records:
                    if tuple(other) != tuple(row[i]):
                        swapped = data.copy()
                        swapped[i] = other
                        yield data, swapped


def private_values(subject, theorem, data):
    recorder = Recorder(rehearse(theorem, Rehearsal(0)))
    subject.play(data, recorder, 0)
    return recorder.exact


NEAR = F(9, 8)  #: a radius just above 1, so that ±1 are on the coarsest grid
UNIT = [(0.0,), (0.5,), (1.0,), (7.0,)]
VOTES = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0)]
CELLS = [(-1.0,), (0.0,), (1.0,)]
KEYS = [(-1.0, -1.0), (0.0, -1.0), (0.0, 1.0), (1.0, 1.0), (1.0, 2.0)]
PLANE = [(3.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (0.6, -0.8)]
CASES = {
    "laplace": (LaplaceSum(low=0, high=1, rows=2, bits=1, scale=F(2)), UNIT, (0,)),
    "laplace-add-remove": (LaplaceSum(low=0, high=1, rows=2, bits=1, scale=F(2), relation=ADD_REMOVE), UNIT, (0,)),
    "laplace-odd-scale": (LaplaceSum(low=0, high=1, rows=2, bits=0, scale=F(7, 3)), UNIT, (0,)),
    "laplace-vector": (LaplaceVector(low=0, high=1, rows=1, columns=2, bits=0, scale=F(3, 2)), [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], (0,)),
    "mean": (ClippedMean(low=0, high=1, rows=2, bits=2, scale=F(1), relation=ADD_REMOVE), UNIT, (0,)),
    "gaussian": (GaussianSum(rows=2, columns=1, bits=0, sigma=F(2), radius=NEAR), [(0.0,), (1.0,), (-1.0,)], (1e-3, 1e-6)),
    "gaussian-fine": (GaussianSum(rows=1, columns=1, bits=5, sigma=F(4), radius=NEAR), [(0.0,), (1.0,), (-1.0,)], (1e-3, 1e-2)),
    "gaussian-plane": (GaussianSum(rows=1, columns=2, bits=1, sigma=F(2), radius=NEAR), PLANE, (1e-3,)),
    "histogram": (Histogram(rows=2, cells=2, sigma=F(3, 2)), CELLS, (1e-2, 1e-6)),
    "histogram-add-remove": (Histogram(rows=2, cells=2, sigma=F(1), relation=ADD_REMOVE), CELLS, (1e-2, 1e-6)),
    "count": (Count(rows=2, scale=F(3, 2)), CELLS, (0,)),
    "count-gaussian": (Count(rows=2, scale=F(3, 2), law="gaussian", relation=ADD_REMOVE), CELLS, (1e-2,)),
    "groups": (CountByGroup(rows=2, cells=2, scale=F(3, 2)), CELLS, (0,)),
    "groups-add-remove": (CountByGroup(rows=2, cells=2, scale=F(3, 2), relation=ADD_REMOVE), CELLS, (0,)),
    "groups-gaussian": (CountByGroup(rows=2, cells=3, scale=F(1), law="gaussian"), [*CELLS, (2.0,)], (1e-2, 1e-6)),
    "quantiles": (Quantiles(low=0, high=1, rows=2, levels=1, scale=F(3, 2)), UNIT, (0,)),
    "quantiles-two": (Quantiles(low=0, high=1, rows=1, levels=2, scale=F(2), relation=ADD_REMOVE), UNIT, (0,)),
    "quantiles-gaussian": (Quantiles(low=0, high=1, rows=1, levels=2, scale=F(1), law="gaussian", relation=ADD_REMOVE), UNIT, (1e-2,)),
    "variance": (Variance(low=0, high=1, rows=1, steps=1, sigma=F(1)), UNIT, (1e-2,)),
    "linear-queries": (LinearQueries(rows=1, cells=2, sigma=F(2), workload="prefix"), CELLS, (1e-3,)),
    "exponential": (Exponential(rows=2, candidates=3), VOTES, (0, 1e-3, 1e-1)),
    "exponential-add-remove": (Exponential(rows=2, candidates=3, relation=ADD_REMOVE), VOTES, (0, 1e-2)),
    "permute-and-flip": (PermuteAndFlip(rows=2, candidates=3, rate=F(1)), VOTES, (0, 1e-2)),
    "quantile": (Quantile(low=0, high=1, rows=3, candidates=4, rate=F(2, 3)), UNIT, (0, 1e-2)),
    "randomised-response": (RandomisedResponse(rows=2, cells=3, epsilon=F(3, 2)), [*CELLS, (2.0,)], (0, 1e-2)),
    "duchi": (LocalMean(low=-1, high=1, rows=1, steps=3), [(-1.0,), (0.0,), (0.4,), (1.0,)], (0, 1e-2)),
    "piecewise": (LocalMean(low=-1, high=1, rows=1, steps=3, channel="piecewise", epsilon=F(2)), [(-1.0,), (0.4,), (1.0,)], (0, 1e-2)),
    "hybrid": (LocalMean(low=-1, high=1, rows=1, steps=3, channel="hybrid", epsilon=F(2)), [(-1.0,), (0.4,), (1.0,)], (0, 1e-2)),
    "sparse-vector": (SparseVector(rows=2, questions=3, threshold=1, limit=1, threshold_scale=F(1), scale=F(2)), VOTES, (0,)),
    "sparse-vector-two": (
        SparseVector(rows=1, questions=3, threshold=1, limit=2, threshold_scale=F(1), scale=F(1), relation=ADD_REMOVE), VOTES, (0,),
    ),
    "stable-histogram": (StableHistogram(rows=3, cells=2, scale=F(1), threshold=4), CELLS, (F(1, 20),)),
    "stable-keys": (StableHistogram(rows=2, cells=2, keys=2, scale=F(2), threshold=6), KEYS, (F(1, 10),)),
    "stable-replaced": (StableHistogram(rows=2, cells=2, scale=F(1), threshold=5, relation=REPLACE_ONE), CELLS, (F(1, 5),)),
    "k-norm": (KNorm(rows=1, columns=2, bits=0, rate=F(1), radius=NEAR), PLANE, (0,)),
    "tree": (BinaryTree(rounds=2, bits=0, sigma=F(2), radius=NEAR), [(0.0,), (1.0,), (-1.0,)], (1e-2,)),
    "honaker": (HonakerTree(rounds=2, bits=0, sigma=F(2), radius=NEAR), [(0.0,), (1.0,), (-1.0,)], (1e-2,)),
}  # fmt: skip


TIGHT = [
    *(
        "quantiles",
        "quantiles-two",
        "quantiles-gaussian",
        "count",
        "count-gaussian",
        "groups",
        "groups-add-remove",
        "groups-gaussian",
    ),
    *("laplace", "laplace-add-remove", "laplace-odd-scale", "laplace-vector", "mean", "histogram"),
    *("histogram-add-remove", "permute-and-flip", "randomised-response", "duchi", "piecewise", "hybrid"),
]


def worst_divergence(subject, records, theorem, epsilon):
    """Return the largest divergence over all neighbours among `records`, at ε."""
    noise, seen, worst = Proved(theorem).laws, set(), arb(0)
    for left, right in pairs_of(subject, records):
        here, there = (private_values(subject, theorem, data) for data in (left, right))
        assert here.keys() == there.keys()
        moved = [part for part in here if not np.array_equal(here[part], there[part])]
        key = tuple((part, here[part].tobytes(), there[part].tobytes()) for part in moved)
        if not moved or key in seen:
            continue
        seen.add(key)
        for a, b in ((here, there), (there, here)):
            parts = [each for part in moved for each in factors_of(noise[part[0]], a[part], b[part])]
            worst = worst.max(divergence(parts, epsilon))
    assert seen, "no neighbours differ"
    return worst


@deep
@pytest.mark.parametrize("name", CASES)
def test_the_true_divergence_is_at_most_the_proof(name):
    assert_proved(*CASES[name])


def assert_proved(subject, records, deltas):
    with ctx.workprec(BITS):
        for delta in map(F, deltas):
            theorem = subject.proof(delta)
            epsilon, granted = point(theorem)
            worst = worst_divergence(subject, records, theorem, epsilon)
            # what the enumerated boxes leave out was added to the divergence
            assert worst <= exact(granted) + arb(10) ** -15, f"{worst} at δ = {float(delta)}"


@deep
@pytest.mark.parametrize("name", TIGHT)
def test_two_per_cent_less_would_be_false(name):
    """Tight proofs: so the enumeration would notice a mechanism that costs slightly more."""
    subject, records, deltas = CASES[name]
    with ctx.workprec(BITS):
        theorem = subject.proof(F(deltas[0]))
        epsilon, granted = point(theorem)
        less = epsilon * F(98, 100)
        assert worst_divergence(subject, records, theorem, less) > exact(granted) * 1.01 + arb(10) ** -6
