"""Rules about one draw of noise beyond plain sums: each bound against the laws themselves, and its refusals."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import ReceiptError
from dpaccount.noise.leaves import leaves
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.numerics.curves import delta_ball, lattice_delta, range_delta
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    Approximate,
    NearGdp,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_each,
    assume_points,
    assume_rank_one,
    assume_split,
    buffered,
    factorised,
    fine_gaussian,
    gaussian,
    laplace,
    linear,
    mixture,
    partition,
    sparse_vector,
    stable_histogram,
)
from tests.depth import examples
from tests.dpaccount.proof.said import refuses
from tests.looped import looped

F = Fraction
NOTHING, ONE, HALF = F(0), F(1), F(1, 2)


def ball(radius=HALF, query="q"):
    return linear(assume_ball(query, radius, REPLACE_ONE, "t"))


# ------------------------------------------------------------------ fine grids


def total_variation(s):
    """Half of Σ |discrete Gaussian − rounded N(0, s²)| on the integers, to 30 digits."""
    with mpmath.workdps(30):
        s, half = mpmath.mpf(s), mpmath.mpf(1) / 2
        reach, root = int(20 * s) + 20, s * mpmath.sqrt(2)
        weights = [mpmath.exp(-(k**2) / (2 * s**2)) for k in range(reach)]
        mass = weights[0] + 2 * sum(weights[1:])
        rounded = [(mpmath.erf((k + half) / root) - mpmath.erf((k - half) / root)) / 2 for k in range(reach)]
        gaps = [abs(w / mass - r) for w, r in zip(weights, rounded, strict=True)]
        return (gaps[0] + 2 * sum(gaps[1:])) / 2


def bound(s):
    square = F(s) ** 2
    return F(201643, 10**7) / square + F(1573, 10**5) / (square * F(s))


@looped("s", ["1", "1.1", "1.5", "2", "3", "7", "20", "50"])
def test_a_fine_grid_is_this_close_to_rounded_noise(s):
    true = total_variation(s)
    assert true < float(bound(s)) < true + 0.02 / float(s) ** 3


@looped("s", [1, 2, 4])
@looped("epsilon", ["0", "0.1", "0.5", "1", "2", "4"])
def test_the_near_curve_is_above_the_exact_one_on_coarse_grids(s, epsilon):
    """One release moved by one step: the exact curve of the integers against GDP and the distance."""
    near = NearGdp(F(1, s * s), bound(s))
    exact = lattice_delta(F(s * s), (1,), 1, F(epsilon), 128)
    assert delta_ball(near, F(epsilon), 128) > exact


# ------------------------------------------------------------------ bounded range


@looped("eta", ["0.1", "1", "5"])
@looped("part", ["0", "0.3", "0.9", "0.999"])
def test_the_curve_of_bounded_range_is_the_worst_two_point_pair(eta, part):
    eta, epsilon = float(eta), float(eta) * float(part)
    losses = np.linspace(0, eta, 200_001)
    chance = (math.exp(eta) - np.exp(losses)) / math.expm1(eta)
    gains = chance * np.maximum(0, 1 - np.exp(epsilon - losses))
    delta = float(range_delta(F(eta), F(epsilon)))
    assert gains.max() <= delta * (1 + 1e-12)
    assert delta == pytest.approx(gains.max(), rel=1e-6)


# ------------------------------------------------------------------ factorised streams


def test_columns_of_a_large_matrix_are_taken_to_move_alike():
    """Of more than 256 rounds no two columns are compared: two that never meet count as one twice."""
    square = [[0] * i + [1] for i in range(257)]
    assert factorised(ball(), 257, square, 0, 2).conclusion.bound == 4
    assert factorised(ball(), 9, square[:9], 0, 2).conclusion.bound == 2


def test_the_square_root_of_counting_on_a_grid():
    exact = [F(math.comb(2 * k, k), 4**k) for k in range(256)]
    grid = [round(c * 2**20) for c in exact]
    theorem = factorised(ball(), 256, [grid], 20)
    assert float(theorem.conclusion.bound) == pytest.approx(float(sum(c * c for c in exact)), rel=1e-6)
    assert leaves(gaussian(theorem, ONE, "k"))[0].draws == 256  # one release a round
    assert gaussian(theorem, ONE, "k").conclusion.curve.mu_squared == theorem.conclusion.bound


def decayed(stream, pairs, bits):
    """The rows of a stream of integer vectors with buffers, floored once a round."""
    held, rows = [[0] * len(stream[0]) for _ in pairs], []
    for value in stream:
        own = [v << bits for v in value]
        rows.append([o + sum(b[i] for b in held) for i, o in enumerate(own)])
        held = [
            [(decay * old >> bits) + weight * v for old, v in zip(b, value, strict=True)]
            for (weight, decay), b in zip(pairs, held, strict=True)
        ]
    return rows


def moved(stream, other, pairs, bits):
    """The squared distance of the rows of two streams, in grid steps."""
    rows, others = decayed(stream, pairs, bits), decayed(other, pairs, bits)
    return sum((x - y) ** 2 for r, o in zip(rows, others, strict=True) for x, y in zip(r, o, strict=True))


@examples(60)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 15)), max_size=3),
    rounds=st.integers(1, 9),
    width=st.integers(1, 2),
    data=st.data(),
)
def test_buffered_streams_move_at_most_so_far(pairs, rounds, width, data):
    """Coarse steps, where floors matter: random streams and one changed round."""
    small, bits = st.integers(-40, 40), 4
    stream = [[data.draw(small) for _ in range(width)] for _ in range(rounds)]
    other, at = [list(value) for value in stream], data.draw(st.integers(0, rounds - 1))
    other[at] = [data.draw(small) for _ in range(width)]
    before = F(sum((x - y) ** 2 for x, y in zip(stream[at], other[at], strict=True)))
    # contributions of norm r move by 2r: steps are such that the unit ball's movement is `before`
    step = F(1, 2**bits)
    query = linear(assume_points("q", [(0,), (1,)], ADD_REMOVE, "t"))
    assert query.conclusion.bound == 1
    root = math.isqrt(int(before)) + (math.isqrt(int(before)) ** 2 < before)  # rounded up
    if root == 0:
        assert moved(stream, other, pairs, bits) == 0
        return
    column = sum(
        (sum(F(w, 16) * F(d, 16) ** (k - 1) for w, d in pairs) if k else F(1)) ** 2 for k in range(rounds)
    )
    floors = sum((F(16, 16 - d) for _, d in pairs), F(0))
    bound = (math.sqrt(column) + float(floors) / 16 / root * math.sqrt(width * (rounds - 1))) ** 2
    most = F(math.ceil(bound * 10**9 + 1), 10**9)
    theorem = buffered(query, rounds, width, pairs, bits, step / root, most)
    refuses(
        buffered, query, rounds, width, pairs, bits, step / root, most * F(999_999, 10**6), match="too small"
    )
    assert theorem.conclusion.bound == most
    assert F(moved(stream, other, pairs, bits), 4**bits) <= most * root**2


def test_floors_do_move_rows_and_are_needed():
    """λ = ½, one step apart: floors keep the streams one step apart for ever, which exact decay would not."""
    pairs, bits, rounds = [(1, 15)], 4, 200
    worst = max(
        moved([[x]] + [[0]] * (rounds - 1), [[x + 1]] + [[0]] * (rounds - 1), pairs, bits)
        for x in range(-20, 20)
    )
    column = sum((F(1, 16) * F(15, 16) ** (k - 1) if k else F(1)) ** 2 for k in range(rounds))
    assert F(worst, 4**bits) > column  # the exact factor's movement is passed
    query = linear(assume_points("q", [(0,), (1,)], ADD_REMOVE, "t"))
    refuses(buffered, query, rounds, 1, pairs, bits, F(1, 16), F(worst - 1, 4**bits), match="too small")


def test_a_buffered_stream_is_drawn_once_a_round():
    fine = {"rounds": 3, "width": 1, "pairs": [(1, 1)], "bits": 1, "step": F(1, 16), "most": F(8)}
    assert leaves(gaussian(buffered(ball(), **fine), ONE, "k"))[0].draws == 3


# ------------------------------------------------------------------ sparse vectors


def sparse_law(numbers, threshold, scale, limit, top=0):
    """Exact law of the answers of a stream, noise cut where it is negligible (mpmath, integers)."""
    reach = 70

    def laplace_law(b):
        q = mpmath.exp(-mpmath.mpf(1) / b)
        return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + 1)}

    level, noise = laplace_law(threshold), laplace_law(scale)
    tail = {}
    total = mpmath.mpf(0)
    for x in range(reach, -reach - 1, -1):
        total += noise[x]
        tail[x] = total

    def above(need):
        return mpmath.mpf(0) if need > reach else mpmath.mpf(1) if need < -reach else tail[need]

    law = {}
    for rho, weight in level.items():
        states = {(): weight}
        for number in numbers:
            after = {}
            for seen, mass in states.items():
                if sum(seen) >= limit:
                    after[seen] = after.get(seen, 0) + mass
                    continue
                hit = above(top + rho - number)
                after[(*seen, 1)] = after.get((*seen, 1), 0) + mass * hit
                after[(*seen, 0)] = after.get((*seen, 0), 0) + mass * (1 - hit)
            states = after
        for seen, mass in states.items():
            law[seen] = law.get(seen, 0) + mass
    return law


@pytest.mark.parametrize("limit", [1, 2])
def test_sparse_vectors_keep_their_bound_for_every_answer(limit):
    threshold, scale = F(3), F(4)
    theorem = sparse_vector(assume_each("q", ONE, REPLACE_ONE, "t"), threshold, scale, limit, ONE, "k")
    epsilon = theorem.conclusion.curve.epsilon
    assert epsilon == F(1, 3) + 2 * limit * F(1, 4)
    worst = 0
    for moves in itertools.product((-1, 1), repeat=3):
        here = sparse_law((0, 0, 0), threshold, scale, limit)
        there = sparse_law(moves, threshold, scale, limit)
        worst = max(worst, *(abs(mpmath.log(here[s] / there[s])) for s in here))
    assert float(epsilon) / 3 < worst <= float(epsilon)


# ------------------------------------------------------------------ histograms of what is there


@looped("many", [1, 2, 7])
@looped(("scale", "threshold"), [(F(1), 2), (F(2), 15), (F(1, 2), 30)])
def test_a_lone_record_shows_one_of_its_cells_this_rarely(scale, threshold, many):
    with mpmath.workdps(40):
        q = mpmath.exp(-1 / mpmath.mpf(scale.numerator) * scale.denominator)
        shown = sum((1 - q) / (1 + q) * q**x for x in range(threshold - 1, threshold + 400 * int(scale + 1)))
        above = F(int(mpmath.ceil((1 - (1 - shown) ** many) * mpmath.mpf(10) ** 30)), 10**30)
    theorem = stable_histogram(cells(many=many), scale, threshold, above, "k")
    assert theorem.conclusion.curve == Approximate(many / scale, above)
    refuses(
        stable_histogram, cells(many=many), scale, threshold, above - F(2, 10**30), "k", match="threshold"
    )


def cells(relation=ADD_REMOVE, many=1):
    return assume_cell("q", relation, "t", many)


# ------------------------------------------------------------------ receipts


def cell(query, relation, epsilon=ONE, low=NOTHING):
    contribution = assume_clipped(query, low, ONE, relation, "t")
    return laplace(linear(contribution), 1 / epsilon, ONE, query)


def test_of_a_mixture_one_part_is_drawn_and_of_a_partition_one_noise():
    coin = mixture(cell("a", REPLACE_ONE), cell("b", REPLACE_ONE))
    receipt = rehearse(coin, Rehearsal(1))
    receipt.noisy("b", 0, np.zeros(1, dtype=np.int64))
    with pytest.raises(ReceiptError, match="another part of a mixture"):
        receipt.noisy("a", 0, np.zeros(1, dtype=np.int64))

    def stated(relation, scale):
        return laplace(linear(assume_clipped("a", F(0), ONE, relation, "t")), scale, ONE, "one")

    split = assume_split("table", ["a"], "t")
    both = partition(split, stated(REPLACE_ONE, F(2)), stated(ADD_REMOVE, F(2)))
    assert [(leaf.key, leaf.draws) for leaf in leaves(both)] == [("one", 1)]
    other = stated(REPLACE_ONE, F(200)), stated(ADD_REMOVE, F(2))
    refuses(partition, split, *other, match="other noise")


def test_a_distance_is_proved_for_so_many_numbers():
    single = fine_gaussian(ball(), F(10**4), ONE, 2, F(1, 10**5), "k")
    receipt = rehearse(single, Rehearsal(1))
    with pytest.raises(ReceiptError, match="proved for 2 numbers"):
        receipt.noisy("k", 0, np.zeros(3, dtype=np.int64))
    stream = fine_gaussian(factorised(ball(), 4, [[1]]), F(10**4), ONE, 5, F(1, 10**4), "k")
    receipt = rehearse(stream, Rehearsal(1))
    receipt.noisy("k", 0, np.zeros(2, dtype=np.int64))
    receipt.noisy("k", 1, np.zeros(2, dtype=np.int64))
    with pytest.raises(ReceiptError, match="proved for 5 numbers"):
        receipt.noisy("k", 2, np.zeros(2, dtype=np.int64))
    matrix = linear(assume_rank_one("m", HALF, REPLACE_ONE, "t"))
    receipt = rehearse(fine_gaussian(matrix, F(10**4), ONE, 5, F(1, 10**4), "m"), Rehearsal(1))
    with pytest.raises(ReceiptError, match="proved for 5 numbers"):
        receipt.noisy_symmetric("m", 0, np.zeros((3, 3), dtype=np.int64))
