"""A second set of mechanisms that the search was not made for: broken ones and sound ones.

Each claims ε = 1 (and its δ) for its data; see benchmarks/unseen.py.  They were written before the search
was run on them.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]
#: of every mechanism: the function, whether it is broken, and what differs from the usual data
LISTED: list[tuple[Function, bool, dict[str, Any]]] = []


def wrong(**given: Any) -> Callable[[Function], Function]:
    """List a broken mechanism."""
    return lambda function: LISTED.append((function, True, given)) or function


def right(**given: Any) -> Callable[[Function], Function]:
    """List a sound mechanism."""
    return lambda function: LISTED.append((function, False, given)) or function


def noise(rng: Any, scale: float, size: Any = None) -> Any:
    """Return two-sided geometric noise: ε = 1 for a whole number that moves by `scale`."""
    p = -math.expm1(-1 / scale)
    return rng.geometric(p, size) - rng.geometric(p, size)


def grid(values: Any) -> Any:
    """Return values on a grid of 1/64: low bits are not what is wrong here."""
    return np.round(np.asarray(values, dtype=float) * 64) / 64


def chosen(rng: Any, scores: Any) -> int:
    """Return a place, with probability in proportion to the exponential of its score."""
    weights = np.exp(scores - np.max(scores))
    return int(rng.choice(len(weights), p=weights / weights.sum()))


def bins(data: Any) -> Any:
    return np.bincount(data, minlength=4)


# ------------------------------------------------------------------ broken


@wrong()
def sum_and_squares_of_one_budget(data, rng):
    return [int(data.sum() + noise(rng, 3)), int((data**2).sum() + noise(rng, 9))]


@wrong()
def quantile_with_twice_the_weight(data, rng):
    return chosen(
        rng, np.array([-abs(int((data < v).sum()) - 6) - abs(int((data <= v).sum()) - 6) for v in range(4)])
    )


@wrong(real=True)
def median_with_local_noise(data, rng):
    ordered = np.sort(data)
    gap = max(ordered[7] - ordered[5], 1 / 64)
    return float(grid(ordered[6] + rng.laplace(0, gap)))


@wrong(real=True, rows=20)
def winsorised_at_its_own_quantiles(data, rng):
    low, high = np.quantile(data, [0.1, 0.9])
    return float(grid(np.clip(data, low, high).sum() + rng.laplace(0, high - low + 1 / 64)))


@wrong(relation="add-remove", real=True)
def mean_of_a_private_number(data, rng):
    n = max(len(data), 1)
    return float(grid(64 * data.sum() / n) / 64 + round(rng.laplace(0, 3 / n)))


@wrong()
def only_bins_that_are_there(data, rng):
    values, counts = np.unique(data, return_counts=True)
    return {str(v): int(c + noise(rng, 2)) for v, c in zip(values, counts, strict=True)}


@wrong()
def empty_bins_stay_empty(data, rng):
    counts = bins(data)
    return np.where(counts > 0, counts + noise(rng, 2, 4), 0)


@wrong()
def largest_with_noise_for_a_count(data, rng):
    return int(data.max() + noise(rng, 1))


@wrong()
def one_noise_for_count_and_sum(data, rng):
    z = noise(rng, 6)
    return [int((data > 1).sum() + z), int(data.sum() + z)]


@wrong(rows=8, low=1, high=6)
def rounded_to_the_smallest(data, rng):
    step = int(data.min())
    return int(round((data.sum() + noise(rng, 5)) / step) * step)


@wrong(high=1)
def answers_and_their_true_parity(data, rng):
    flips = rng.random(len(data)) < 1 / (1 + math.e)
    return [*(data ^ flips).tolist(), int(data.sum() % 2)]


@wrong()
def one_row_at_random(data, rng):
    return [int(data[rng.integers(len(data))]), int(data.sum() + noise(rng, 3))]


@wrong()
def resampled_sum(data, rng):
    return int(data[rng.integers(0, len(data), len(data))].sum())


@wrong()
def noise_drawn_again_if_large(data, rng):
    z = noise(rng, 3)
    while abs(z) > 8:
        z = noise(rng, 3)
    return int(data.sum() + z)


@wrong(low=-3)
def clipped_above_only(data, rng):
    return int(np.minimum(data, 3).sum() + noise(rng, 3))


@wrong(relation="add-remove")
def groups_and_an_exact_total(data, rng):
    return [*(bins(data) + noise(rng, 1, 4)).tolist(), len(data)]


@wrong()
def one_noise_for_all_scores(data, rng):
    return int(np.argmax(bins(data) + noise(rng, 2)))


@wrong(columns=5, high=1)
def first_above_with_exact_queries(data, rng):
    threshold = 6 + noise(rng, 1)
    above = data.sum(axis=0) >= threshold
    return [int(above.argmax()) if above.any() else -1, int(above.sum())]


@wrong()
def noise_from_a_hash_of_the_data(data):
    z = np.random.default_rng(int(data.sum() * 7 + data[0]))
    return int(data.sum() + noise(z, 3))


@wrong(high=1)
def tries_until_not_negative(data, rng):
    tries, found = 1, int(data.sum() + noise(rng, 1))
    while found < 0:
        tries, found = tries + 1, int(data.sum() + noise(rng, 1))
    return [found, tries]


@wrong(rows=8, high=1)
def every_prefix_for_one_budget(data, rng):
    return np.cumsum(data) + noise(rng, 1, 8)


@wrong(rows=8, high=1)
def totals_with_memory(data, rng):
    kept, said = 0, []
    for value in data:
        kept = kept // 2 + 4 * int(value)
        said.append(int(kept + noise(rng, 4)))
    return said


@wrong(rows=8, high=1)
def tree_with_an_exact_root(data, rng):
    pairs = data.reshape(4, 2).sum(axis=1)
    return [*(pairs + noise(rng, 2, 4)).tolist(), int(pairs.sum())]


@wrong()
def exact_in_one_run_of_fifty(data, rng):
    return int(data.sum() + (noise(rng, 3) if rng.random() < 0.98 else 100))


@wrong(real=True, high=1, delta="1e-5")
def gaussian_of_a_third(data, rng):
    return float(grid(data.sum() + rng.normal(0, 1.2)))


@wrong(columns=10, high=1, delta="1e-5")
def gaussian_of_one_column_for_ten(data, rng):
    return grid(data.sum(axis=0) + rng.normal(0, 3.75, 10))


@wrong(high=1)
def a_thinner_tail(data, rng):
    z = noise(rng, 1)
    return int(data.sum() + (z if abs(z) < 4 else np.sign(z) * (4 + rng.geometric(0.9) - 1)))


@wrong(rows=4)
def four_answers_kept_as_if_two(data, rng):
    keep = rng.random(len(data)) < math.e / (1 + math.e)
    return np.where(keep, data, (data + rng.integers(1, 4, len(data))) % 4)


@wrong(rows=4)
def both_bits_of_one_budget(data, rng):
    bits = data[:, None] == np.arange(4)
    return (bits ^ (rng.random(bits.shape) < 1 / (1 + math.e))).astype(int)


@wrong(columns=2)
def opposite_noise(data, rng):
    one, two = data.sum(axis=0)
    z = noise(rng, 6)
    return [int(one + z), int(two - z)]


@wrong()
def mean_of_those_that_are_not_zero(data, rng):
    return round(float((data.sum() + noise(rng, 3)) / max(int((data > 0).sum()), 1)), 3)


@wrong()
def most_frequent_with_a_doubled_weight(data, rng):
    return chosen(rng, 2.0 * bins(data))


@wrong()
def suppressed_if_few(data, rng):
    count = int((data == 2).sum())
    return "too few" if count < 3 else str(count + noise(rng, 1))


@wrong(rows=10)
def place_where_a_sum_is_reached(data, rng):
    reached = np.cumsum(data) >= 6
    return int((reached.argmax() if reached.any() else 10) + noise(rng, 2))


@wrong(real=True, rows=20, high=10)
def without_outliers(data, rng):
    kept = data[data <= data.mean() + 2 * data.std()]
    return float(grid(kept.sum() + rng.laplace(0, 5)))


@wrong(real=True)
def as_many_digits_as_the_mean_has(data, rng):
    text = repr(round(float(data.mean()), 6))
    return f"{data.mean() + rng.laplace(0, 0.25):.{len(text.partition('.')[2])}f}"


@wrong(columns=2, low=-2, high=2, real=True)
def steps_of_normalised_gradients(data, rng):
    weight, said = np.zeros(2), []
    for _ in range(3):
        gradient = (data - weight).sum(axis=0)
        weight = weight + gradient / (np.linalg.norm(gradient) + 1e-9) + rng.laplace(0, 2, 2)
        said += grid(weight).tolist()
    return said


@wrong(real=True)
def centres_over_exact_counts(data, rng):
    near = data < 1.5
    sums = [data[near].sum() + rng.laplace(0, 3), data[~near].sum() + rng.laplace(0, 3)]
    return grid(np.array(sums) / np.maximum([near.sum(), (~near).sum()], 1))


@wrong(columns=3, high=1)
def product_of_columns_in_the_clear_if_alone(data, rng):
    alike = int(data.all(axis=1).sum())
    return int(data.sum() + noise(rng, 3)) if alike != 1 else int(data.sum() + noise(rng, 3)) * 2


@wrong(relation="add-remove", rows=16)
def noise_for_every_second_size(data, rng):
    return int(data.sum() + (noise(rng, 3) if len(data) % 5 else noise(rng, 1)))


@wrong()
def no_noise_at_one_total(data, rng):
    total = int(data.sum())
    return total + (0 if total == 17 else int(noise(rng, 3)))


@wrong()
def in_the_clear_in_one_run_of_two_hundred(data, rng):
    return data if rng.random() < 0.005 else data * 0 + noise(rng, 3)


@wrong(columns=2)
def less_noise_if_first_and_last_agree(data, rng):
    scale = 1 if (data[0] == data[-1]).all() else 6
    return int(data.sum() + noise(rng, scale))


@wrong()
def stops_if_already_in_order(data, rng):
    if (np.diff(data) >= 0).all():
        return [int(data.sum() + noise(rng, 3))]
    return [int(data.sum() + noise(rng, 6)), int(noise(rng, 6))]


@wrong(columns=8, high=1)
def one_noise_at_two_places(data, rng):
    made = data.sum(axis=0) + noise(rng, 8, 8)
    one, two = rng.choice(8, 2, replace=False)
    made[two] = data[:, two].sum() + made[one] - data[:, one].sum()
    return made


@wrong(high=1)
def count_modulo_eight(data, rng):
    return int((data.sum() + noise(rng, 0.6)) % 8)


@wrong(rows=20, high=149)
def many_bins(data, rng):
    return np.bincount(data, minlength=150) + noise(rng, 1.3, 150)


@wrong()
def one_row_counts_three_times(data, rng):
    weights = np.ones(len(data), dtype=int)
    weights[len(data) // 2 + 1] = 3
    return int((weights * data).sum() + noise(rng, 3))


@wrong(columns=6, high=1)
def one_column_counts_three_times(data, rng):
    return int((data * [1, 1, 1, 3, 1, 1]).sum() + noise(rng, 6))


@wrong(columns=6, high=1)
def one_column_of_six_with_a_third_of_the_noise(data, rng):
    return data.sum(axis=0) + noise(rng, 6, 6) // [1, 1, 1, 1, 3, 1]


@wrong(high=1)
def changes_from_row_to_row(data, rng):
    return int((np.diff(data) != 0).sum() + noise(rng, 1))


@wrong(rows=16, high=1)
def longest_streak(data, rng):
    edges = np.flatnonzero(np.diff(np.concatenate([[-1], data, [-1]])))
    return int(np.diff(edges).max() + noise(rng, 3))


@wrong()
def pairs_in_order(data, rng):
    return int(np.triu(data[:, None] < data[None, :], 1).sum() + noise(rng, 4))


@wrong(rows=20, high=9, delta="0.01")
def keys_above_a_low_threshold(data, rng):
    noisy = np.bincount(data, minlength=10) + noise(rng, 2, 10) * (np.bincount(data, minlength=10) > 0)
    return {str(key): int(count) for key, count in enumerate(noisy) if count > 5}


@wrong()
def masked_and_the_mask(data, rng):
    mask = int(rng.integers(0, 64))
    return [mask, int((data.sum() + mask) % 64)]


@wrong(real=True)
def blinded_by_a_factor(data, rng):
    factor = rng.lognormal()
    return [round(factor, 5), round(factor * (1 + float(data.sum())), 5)]


@wrong()
def three_sums_of_two_noises(data, rng):
    one, two = noise(rng, 9), noise(rng, 9)
    return [int(data.sum() + one), int(one + two), int(two)]


@wrong()
def exact_among_decoys(data, rng):
    return rng.permutation([int(data.sum()), *rng.integers(0, 37, 5)])


# ------------------------------------------------------------------ sound


@right()
def count_of_large(data, rng):
    return int((data > 1).sum() + noise(rng, 1))


@right()
def sum_with_noise_of_three(data, rng):
    return int(data.sum() + noise(rng, 3))


@right()
def all_in_order(data, rng):
    return np.sort(data) + noise(rng, 3, len(data))


@right()
def quantile_by_ranks(data, rng):
    ranks = [max(int((data < v).sum()) - 6, 6 - int((data <= v).sum()), 0) for v in range(4)]
    return chosen(rng, -0.5 * np.array(ranks))


@right(high=1)
def flipped_answers(data, rng):
    return data ^ (rng.random(len(data)) < 1 / (1 + math.e))


@right(rows=4)
def four_answers(data, rng):
    keep = rng.random(len(data)) < math.e / (3 + math.e)
    return np.where(keep, data, (data + rng.integers(1, 4, len(data))) % 4)


@right(relation="add-remove")
def bins_of_present_rows(data, rng):
    return bins(data) + noise(rng, 1, 4)


@right()
def bins_of_replaced_rows(data, rng):
    return bins(data) + noise(rng, 2, 4)


@right()
def largest_bin(data, rng):
    return int(np.argmax(bins(data) + grid(rng.exponential(2, 4)) + rng.random(4) / 128))


@right(rows=8, high=1)
def whole_tree(data, rng):
    levels = [data, data.reshape(4, 2).sum(axis=1), data.reshape(2, 4).sum(axis=1), data.sum(keepdims=True)]
    return np.concatenate(levels) + noise(rng, 4, 15)


@right(real=True, high=1, delta="1e-5")
def gaussian_total(data, rng):
    return float(grid(data.sum() + rng.normal(0, 3.75)))


@right(columns=5, high=1)
def first_above(data, rng):
    threshold = 6 + noise(rng, 2)
    for place, count in enumerate(data.sum(axis=0)):
        if count + noise(rng, 4) >= threshold:
            return place
    return -1


@right(high=1)
def words_for_a_count(data, rng):
    found = int(np.clip(data.sum() + noise(rng, 1), 0, 12))
    return "none" if found == 0 else f"about {found}"


@right(high=1)
def count_of_a_sample(data, rng):
    taken = rng.random(len(data)) < 0.5
    return int(data[taken].sum() + noise(rng, 1 / math.log(1 + (math.e - 1) / 0.5)))


@right(columns=2)
def two_sums_of_half_a_budget(data, rng):
    return [int(total + noise(rng, 6)) for total in data.sum(axis=0)]


@right(rows=10)
def halving_by_noisy_counts(data, rng):
    low, high = 0, 3
    while low < high:
        middle = (low + high) // 2
        if (data <= middle).sum() + noise(rng, 2) >= 5:
            high = middle
        else:
            low = middle + 1
    return low


@right()
def either_of_two(data, rng):
    if rng.random() < 0.5:
        return int(data.sum() + noise(rng, 3))
    return f"{int((data == 3).sum() + noise(rng, 1))} of 3"


@right()
def fails_now_and_then(data, rng):
    if rng.random() < 0.1:
        raise ValueError("no connection")
    return int(data.sum() + noise(rng, 3))


@right()
def padded_by_chance(data, rng):
    return [int(data.sum() + noise(rng, 3)), *rng.integers(0, 9, rng.integers(0, 4)).tolist()]


@right(high=1)
def parity_of_a_flipped_bit(data, rng):
    return int(data.sum() % 2) ^ int(rng.random() < 1 / (1 + math.e))


@right(relation="add-remove", rows=16)
def noisy_size(data, rng):
    return int(max(len(data) + noise(rng, 1), 0))


@right(columns=3, high=1)
def row_by_row_votes(data, rng):
    return (np.bincount(data.argmax(axis=1), minlength=3) + noise(rng, 2, 3)).tolist()
