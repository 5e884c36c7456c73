"""Rules about one draw of noise beyond plain sums: each bound against the laws themselves, and its refusals."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
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
    Contribution,
    NearGdp,
    Pure,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_covers,
    assume_each,
    assume_points,
    assume_range,
    assume_rank_one,
    assume_rare,
    assume_rounds,
    assume_split,
    buffered,
    centred,
    compose,
    despite,
    exponential,
    factorised,
    fine_gaussian,
    finite,
    gaussian,
    group,
    joint,
    k_norm,
    laplace,
    linear,
    local,
    mixture,
    nodes,
    parallel,
    partition,
    sparse_vector,
    stable_histogram,
    to_approximate,
)
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


def test_fine_gaussian_takes_the_distance_that_it_can_verify():
    least = bound(2) * 3
    theorem = fine_gaussian(ball(), F(4), ONE, 3, least + F(1, 10**9), "k")
    assert theorem.conclusion.curve == NearGdp(F(1, 4), least + F(1, 10**9))
    refuses(fine_gaussian, ball(), F(4), ONE, 3, least - F(1, 10**9), "k", match="too small")
    refuses(fine_gaussian, ball(), F(99, 100), ONE, 1, ONE, "k", match="coarser")
    refuses(fine_gaussian, ball(), F(4), ONE, 0, ONE, "k", match="at least 1")
    refuses(fine_gaussian, ball(), F(4), F(0), 1, ONE, "k", match="grid")
    refuses(fine_gaussian, linear(assume_clipped("q", F(0), ONE, REPLACE_ONE, "t")), F(4), ONE, 1, ONE, "k")
    matrix = linear(assume_rank_one("m", ONE, REPLACE_ONE, "t"))
    assert fine_gaussian(matrix, F(4), ONE, 3, ONE, "k").conclusion.curve == NearGdp(ONE, ONE)


@looped("s", [1, 2, 4])
@looped("epsilon", ["0", "0.1", "0.5", "1", "2", "4"])
def test_the_near_curve_is_above_the_exact_one_on_coarse_grids(s, epsilon):
    """One release moved by one step: the exact curve of the integers against GDP and the distance."""
    near = NearGdp(F(1, s * s), bound(s))
    exact = lattice_delta(F(s * s), (1,), 1, F(epsilon), 128)
    assert delta_ball(near, F(epsilon), 128) > exact


def test_distances_add_over_the_releases_that_read_a_unit_and_over_groups():
    leaf = fine_gaussian(ball(), F(10**8), ONE, 1, F(1, 10**9), "k")
    both = nodes(leaf, assume_covers("q", [(1, 2), (2, 3), (4, 9)], "t"))
    assert both.conclusion.curve == NearGdp(F(2, 10**8), F(2, 10**9))
    assert group(both, 3).conclusion.curve == NearGdp(F(18, 10**8), F(6, 10**9))
    point = to_approximate(both, F(1, 1000), F(1, 10**7))
    assert point.conclusion.curve == Approximate(F(1, 1000), F(1, 10**7))
    refuses(to_approximate, both, ONE, F(2, 10**9) * 3)  # (1 + e)·distance alone is more


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


def test_bounded_range_is_converted_exactly():
    leaf = exponential(assume_range("q", ONE, REPLACE_ONE, "t"), ONE, "k")
    least = (math.exp(0.5) - math.exp(0.1)) ** 2 / math.expm1(1)
    to_approximate(leaf, F(1, 5), F(math.ceil(least * 10**9), 10**9))
    refuses(to_approximate, leaf, F(1, 5), F(math.floor(least * 10**9), 10**9))


# ------------------------------------------------------------------ factorised streams


def dense(coefficients, rounds):
    matrix = np.zeros((rounds, rounds))
    for lag, c in enumerate(coefficients[:rounds]):
        matrix += np.diag([float(c)] * (rounds - lag), -lag)
    return matrix


def worst_movement(matrix, times, apart):
    """The largest ‖Σ ± C e_i‖² over signs and over up to `times` rounds, `apart` or more from one another."""
    rounds, best = matrix.shape[1], 0.0
    for count in range(1, times + 1):
        for chosen in itertools.combinations(range(rounds), count):
            if all(b - a >= apart for a, b in itertools.pairwise(chosen)):
                for signs in itertools.product((1, -1), repeat=count):
                    best = max(best, float(np.sum((matrix[:, chosen] @ np.array(signs)) ** 2)))
    return best


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    coefficients=st.lists(st.integers(-9, 9), min_size=1, max_size=6),
    rounds=st.integers(1, 6),
    times=st.integers(1, 3),
    apart=st.integers(1, 3),
)
def test_toeplitz_streams_move_at_most_so_far(coefficients, rounds, times, apart):
    theorem = factorised(ball(), rounds, [coefficients], 2, times, apart)
    square = float(theorem.conclusion.bound) * 16
    assert worst_movement(dense(coefficients, rounds), times, apart) <= square * (1 + 1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), rounds=st.integers(2, 5), times=st.integers(1, 3))
def test_other_matrices_move_at_most_so_far(data, rounds, times):
    rows = [[data.draw(st.integers(-9, 9)) for _ in range(i + 1)] for i in range(rounds)]
    theorem = factorised(ball(), rounds, rows, 0, times)
    matrix = np.array([row + [0] * (rounds - len(row)) for row in rows], dtype=float)
    assert worst_movement(matrix, times, 1) <= float(theorem.conclusion.bound) * (1 + 1e-12)
    if times == 1:
        assert float(theorem.conclusion.bound) == max((matrix**2).sum(axis=0))


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


def test_no_coefficient_lies_above_the_diagonal():
    refuses(factorised, ball(), 2, [[1], [1, 2, 3]], match="ends at its diagonal")


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


@settings(max_examples=60, deadline=None, derandomize=True)
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


def test_several_rounds_of_one_unit_are_another_relation():
    theorem = gaussian(factorised(ball(), 9, [[1, 1]], 0, 3, 2), ONE, "k")
    assert theorem.conclusion.relation == "replace-one, 3 rounds 2 apart"
    assert theorem.conclusion.curve.mu_squared == 6  # three columns of length √2 that do not overlap
    once = gaussian(factorised(ball(), 2, [[1, 1]], 0, 3, 2), ONE, "k")  # there is room for one, or another
    assert once.conclusion.relation == "replace-one"  # of which nothing needs to be promised
    assert once.conclusion.curve.mu_squared == 2


def test_a_unit_that_may_enter_any_one_round_pays_for_what_it_added_and_for_what_it_adds():
    """Over all rounds and vectors of both neighbours; of vectors that are all alike no plain sum would move."""
    matrix = [[1], [2, 3], [-1, 1, 2]]
    columns = [[1, 2, -1], [0, 3, 1], [0, 0, 2]]
    for points in ([(2,)], [(2,), (-2,)], [(1,), (2,)], [(0,), (1,)]):
        sums = linear(assume_points("q", points, REPLACE_ONE, "t"))
        moves = [
            sum((a * u - b * v) ** 2 for a, b in zip(columns[i], columns[j], strict=True))
            for i in range(3)
            for j in range(3)
            for (u,) in points
            for (v,) in points
        ]
        free = factorised(sums, 3, matrix, participations=2, separation=3).conclusion
        assert max(moves) <= free.bound == 4 * 10 * max(u * u for (u,) in points)
        assert free.relation == "replace-one"
        assert (max(moves) == free.bound) == ((-2,) in points)
    fixed = factorised(linear(assume_points("q", [(2,)], REPLACE_ONE, "t")), 3, matrix).conclusion
    assert fixed.bound == 0  # what the twin would say, in which a unit stays in its round


def test_what_may_enter_any_round_is_a_plain_sum_of_a_ball_or_points():
    person = assume_rank_one("q", ONE, REPLACE_ONE, "t")
    free = {"participations": 2, "separation": 3}
    refuses(
        factorised, linear(assume_clipped("q", F(0), ONE, REPLACE_ONE, "t")), 3, [[1]], **free, match="l2"
    )
    refuses(factorised, joint(person, ONE), 3, [[1]], **free, match="not what the query sums")
    refuses(
        buffered, ball(), assume_rounds("q", 3, "t", 2, 3), 2, [(1, 1)], 1, ONE, F(100), match="one round"
    )


# ------------------------------------------------------------------ tables


def response(chance, symbols):
    other = (1 - chance) / (symbols - 1)
    return [[chance if i == j else other for j in range(symbols)] for i in range(symbols)]


def answers(symbols, relation=REPLACE_ONE):
    return assume_points("q", [(i,) for i in range(symbols)], relation, "t")


@looped(("chance", "symbols"), [(F(3, 4), 2), (F(3, 5), 4), (F(1, 4), 4)])
def test_randomised_response_is_a_table(chance, symbols):
    ratio = max(F(1), chance * (symbols - 1) / (1 - chance))
    epsilon = F(math.ceil(math.log(ratio) * 10**12), 10**12)
    theorem = finite(answers(symbols), response(chance, symbols), epsilon, "k")
    assert theorem.conclusion.curve == Pure(epsilon)
    if ratio > 1:
        refuses(
            finite,
            answers(symbols),
            response(chance, symbols),
            epsilon - F(2, 10**12),
            "k",
            match="too small",
        )


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


# ------------------------------------------------------------------ K-norm noise


def test_k_norm_noise_pays_rate_times_bound():
    query = ball(F(3, 2))  # moves by at most 3
    assert k_norm(query, F(1, 4), F(3), F(1, 64), "k").conclusion.curve == Pure(F(3, 4))
    refuses(k_norm, query, F(1, 4), F(299, 100), F(1, 64), "k", match="below")


# ------------------------------------------------------------------ partitions by value


def cell(query, relation, epsilon=ONE, low=NOTHING):
    contribution = assume_clipped(query, low, ONE, relation, "t")
    return laplace(linear(contribution), 1 / epsilon, ONE, query)


def test_a_record_pays_for_the_cell_it_enters():
    split = assume_split("table", ["a", "b"], "t")
    fact = partition(split, cell("a", ADD_REMOVE), cell("b", ADD_REMOVE, HALF)).conclusion
    assert (fact.subject, fact.curve, fact.relation) == ("table", Pure(ONE), ADD_REMOVE)


def test_a_replaced_record_may_leave_one_cell_and_enter_another():
    names = ("a", "b", "c")
    split = assume_split("table", names, "t")
    sizes = (ONE, F(3, 4), HALF)
    entering = [cell(n, ADD_REMOVE, e) for n, e in zip(names, sizes, strict=True)]
    inside = [cell(n, REPLACE_ONE, e) for n, e in zip(names, sizes, strict=True)]
    fact = partition(split, *inside, *entering).conclusion
    assert (fact.curve, fact.relation) == (Pure(F(7, 4)), REPLACE_ONE)
    signed = {
        relation: [cell(n, relation, e, -ONE) for n, e in zip(names, sizes, strict=True)]
        for relation in (REPLACE_ONE, ADD_REMOVE)
    }
    worse = partition(split, *signed[REPLACE_ONE], *signed[ADD_REMOVE]).conclusion
    assert worse.curve == Pure(F(2))  # a change in one cell


def test_claiming_the_worst_cell_under_replace_one_would_be_false():
    """(1, 0) for two cells of add-remove cost 1: leaving one and entering the other has δ(1) = .338."""
    pair = [(F(math.e), F(1)), (F(1), F(math.e))]
    laws = [(a / (a + b), b / (a + b)) for a, b in pair]
    moved = sum(
        max(0.0, float(p) - math.e * float(q))
        for p, q in (
            (x * y, z * w)
            for (x, z), (y, w) in itertools.product(zip(laws[0], laws[1], strict=True), repeat=2)
        )
    )
    assert moved == pytest.approx(0.338, abs=5e-4)
    whole = partition(
        assume_split("t", ["a", "b"], "t"), *(cell(n, r) for r in (REPLACE_ONE, ADD_REMOVE) for n in "ab")
    )
    refuses(to_approximate, whole, ONE, F(337, 1000))


def test_groups_of_records_come_after_a_partition():
    split = assume_split("table", ["a", "b"], "t")
    refuses(partition, split, group(cell("a", ADD_REMOVE), 2), cell("b", ADD_REMOVE), match="come first")


# ------------------------------------------------------------------ where constants come from


def test_constants_from_the_data_void_the_proof():
    fact = assume_clipped("q", F(0), ONE, REPLACE_ONE, "t", source="coin").conclusion
    assert isinstance(fact, Contribution)
    assert fact.source == "coin"
    for source in ("coin", "dp-output"):
        linear(assume_clipped("q", F(0), ONE, REPLACE_ONE, "t", source=source))
        linear(assume_ball("q", ONE, REPLACE_ONE, "t", source=source))
        linear(assume_rank_one("q", ONE, REPLACE_ONE, "t", source=source))
        linear(assume_points("q", [(1,)], REPLACE_ONE, "t", source=source))
    for source in ("data", "", "private"):
        refuses(assume_clipped, "q", F(0), ONE, REPLACE_ONE, "t", source=source, match="void a proof")
        refuses(assume_ball, "q", ONE, REPLACE_ONE, "t", source=source, match="void a proof")
        refuses(assume_rank_one, "q", ONE, REPLACE_ONE, "t", source=source, match="void a proof")
        refuses(assume_points, "q", [(1,)], REPLACE_ONE, "t", source=source, match="void a proof")


# ------------------------------------------------------------------ what must not be stacked


def test_a_transformed_query_is_not_transformed_again():
    """Each of these would bound what it does not: the second rule would read the first one's rows as raw."""
    once, stream = centred(ball(), 2), factorised(ball(), 4, [[1, 1]])
    for again in (once, stream):
        refuses(centred, again, 2, match="transformed already")
        refuses(factorised, again, 4, [[1]], match="transformed already")
        refuses(k_norm, again, ONE, F(9), ONE, "k", match="not transformed")  # rows are drawn apart
        leaf = gaussian(again, ONE, "k")
        refuses(nodes, leaf, assume_covers("q", [(1, 9)], "t"), match="already")
        refuses(local, leaf, assume_covers("q", [(1, 1), (2, 2)], "t"), match="already")
        mixed = compose(leaf, gaussian(ball(), ONE, "m"))
        refuses(nodes, mixed, assume_covers("q + q", [(1, 9)], "t"), match="already")
    read = nodes(gaussian(ball(), ONE, "k"), assume_covers("q", [(1, 5)], "t"))
    refuses(nodes, read, assume_covers("q", [(6, 9)], "t"), match="already")


def test_a_departure_may_read_anyone():
    point = to_approximate(cell("q", REPLACE_ONE), ONE, F(0))
    rare = despite(point, assume_rare("q", "distance", F(1, 1000), "t"), F(1, 100))
    refuses(nodes, rare, assume_covers("q", [(1, 1), (2, 2)], "t"), match="already")
    part = to_approximate(nodes(cell("b", REPLACE_ONE), assume_covers("b", [(5, 6)], "t")), ONE, F(0))
    refuses(parallel, rare, part, match="overlap")


def test_rounds_further_apart_are_another_relation_than_rounds_side_by_side():
    far, near = (factorised(ball(), 8, [[1] * 8], 0, 2, apart) for apart in (4, 1))
    assert far.conclusion.bound < near.conclusion.bound
    refuses(compose, gaussian(far, ONE, "a"), gaussian(near, ONE, "b"), match="relation")


def test_a_partition_is_about_its_cells_each_once():
    split = assume_split("table", ["a", "b"], "t")
    a = cell("a", ADD_REMOVE)
    refuses(partition, split, a, match="not about the cells")
    refuses(partition, split, a, a, match="not about the cells")


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
