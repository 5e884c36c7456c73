"""Releases of a clinic's table, written as for any data frame; each claims ε = 1 for one patient of thirty.

Noise is two-sided geometric on whole numbers, for floating-point noise shows what it hides in its low bits.
"""

import numpy as np

PATIENTS = 30
CITIES = ["north", "south", "other"]


def noise(rng, scale, size=None):
    """Return whole numbers with P(k) proportional to exp(-|k| / scale)."""
    stop = 1 - np.exp(-1 / scale)
    return rng.geometric(stop, size) - rng.geometric(stop, size)


def mean_age(df, rng):
    """Mean of first visits' ages, missing ones as 40: the sum moves by at most 110, the number is public."""
    first = df.drop_duplicates("patient")
    total = first["age"].fillna(40).clip(0, 110).round().sum()
    return (int(total) + noise(rng, 110)) / PATIENTS


def visits_by_city(df, rng):
    """Visits by city, two of each patient: replacing them takes two from cells and gives two to others."""
    kept = df.groupby("patient").head(2)
    known = kept["city"].where(kept["city"].isin(CITIES), "other")  # so are missing ones
    counts = known.value_counts().reindex(CITIES, fill_value=0)
    return counts + noise(rng, 4, len(CITIES))


def spending(df):
    """Sum of what two visits of each patient cost, up to 100 each; the noise is its own."""
    kept = df.groupby("patient").head(2)
    total = kept["cost"].fillna(0).clip(0, 100).round().sum()
    return {"total": int(total) + int(noise(np.random.default_rng(), 200))}
