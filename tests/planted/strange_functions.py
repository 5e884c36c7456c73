"""Functions that are not in the catalogue: mistakes in shapes of result and code that people write, and twins."""

import math
import time

import numpy as np


def noise(rng, epsilon=1.0, size=None):
    """Return two-sided geometric noise, ε for a count."""
    p = 1 - math.exp(-epsilon)
    drawn = rng.geometric(p, size) - rng.geometric(p, size)
    return int(drawn) if size is None else drawn


# ------------------------------------------------------------------ broken; each claims ε = 1 under replace-one


def early_exit(data, rng):
    """Return nothing as soon as a rare value is there."""
    return None if (data == 7).any() else int((data > 3).sum()) + noise(rng)


def key_of_dict(data, rng):
    """Name the release after the data."""
    return {("big" if data.max() >= 9 else "small"): int((data > 4).sum()) + noise(rng)}


def length(data, rng):
    """Return as many numbers as there are large records."""
    return [noise(rng) for _ in range(int((data > 4).sum()))]


def mark_in_text(data, rng):
    """Mark some releases on the first record."""
    return f"{int((data > 4).sum()) + noise(rng)}" + ("!" if data[0] > 4 and rng.random() < 0.3 else "")


def sorted_in_place(data, rng):
    """Sort the caller's data, and show the largest with noise for a count."""
    data.sort()
    return int(data[-1]) + noise(rng)


def seed_of_data(data, rng):
    """Draw noise from a generator that the data seed."""
    return int(data.sum()) + noise(np.random.default_rng(int(data.sum())))


def fails_at_five(data, rng):
    """Fail for one value of the sum."""
    return int(1 / abs(data.sum() - 5) > 2) + noise(rng) if data.sum() != 5 else int("five")


def absent_number(data, rng):
    """Return NaN now and then where a record is 0."""
    return float("nan") if data.min() == 0 and rng.random() < 0.1 else float((data > 4).sum() + noise(rng))


def rare_kind(data, rng):
    """Wrap a release in a list now and then, where three records are the highest."""
    noisy = int(data.sum()) + noise(rng, 1 / 9)
    return [noisy] if rng.random() < 0.04 and (data == 9).sum() >= 3 else noisy


def squared_deviations(data, rng):
    """Calibrate a sum of squared deviations to a quarter of the range squared (right: more)."""
    return round(float(((data - data.mean()) ** 2).sum())) + noise(rng, 4 / 81)


# ------------------------------------------------------------------ sound and tight


def none_if_few(data, rng):
    """Hide small noisy counts."""
    shown = int((data > 4).sum()) + noise(rng)
    return None if shown < 3 else shown


def names_the_sum(data, rng):
    """Fail where the noisy sum is negative, and say for which exact one."""
    shown = int(data.sum()) + noise(rng, 1 / 9)
    if shown < 0:
        raise ValueError(f"negative for {int(data.sum())}")
    return shown


def fails_if_many(data, rng):
    """Fail on large noisy counts."""
    shown = int((data > 4).sum()) + noise(rng)
    if shown > 5:
        raise ValueError("many")
    return shown


def two_halves(data, rng):
    """Release two counts of different people."""
    return {"a": int((data[:4] > 4).sum()) + noise(rng), "b": int((data[4:] > 4).sum()) + noise(rng)}


def noisy_length(data, rng):
    """Return as many ones as a noisy count says."""
    return [1] * max(int((data > 4).sum()) + noise(rng), 0)


def sorted_count(data, rng):
    """Sort the caller's data, and show a noisy count."""
    data.sort()
    return int((data > 4).sum()) + noise(rng)


def text(data, rng):
    """Write a noisy count in words."""
    return f"about {int((data > 4).sum()) + noise(rng)}"


# ------------------------------------------------------------------ noise that does not follow the seed


def by_the_clock(data):
    """Count with noise from a generator that seeds itself by the day, as a program of its own may."""
    return int((data > 4).sum()) + noise(np.random.default_rng(int(time.time()) // 86_400))


def unvaried(data, rng):
    """Count, and that is all."""
    return int((data > 4).sum())
