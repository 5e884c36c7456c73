"""Queries of a patients' table that move by more than their authors thought, each beside its sound twin.

All get the data frame of examples/pandas_function.  `BOUNDS` are what the authors declared for one patient.
"""

import numpy as np

PATIENTS = 30
CITIES = ["north", "south", "other"]


def mean_age(df):
    """Sum over first visits, missing ages as 40."""
    return df.drop_duplicates("patient")["age"].fillna(40).clip(0, 110).sum()


def mean_of_known_ages(df):
    """Planted: rows with missing ages are dropped, and the rest is shown as a mean (in sums of thirty)."""
    known = df.drop_duplicates("patient")["age"].dropna().clip(0, 110)
    return PATIENTS * known.mean() if len(known) else 0.0


def mean_of_all_rows(df):
    """Planted: the number of rows, which is private, divides (in sums of thirty)."""
    return PATIENTS * df["age"].fillna(40).clip(0, 110).sum() / max(len(df), 1)


def two_visits(df):
    """Sum over two visits of each patient."""
    return df.groupby("patient").head(2)["cost"].fillna(0).clip(0, 100).round().sum()


def two_visits_a_city(df):
    """Planted: visits are bounded after grouping, two of each patient in each city."""
    return df.groupby(["patient", "city"], dropna=False).head(2)["cost"].fillna(0).clip(0, 100).round().sum()


def visits_in_a_sample(df):
    """Planted: which visits count is drawn from all of them, so one patient's rows move those of others."""
    return df.sample(n=min(20, len(df)), random_state=0)["cost"].fillna(0).clip(0, 100).round().sum()


def by_patient(df):
    """Each patient's own slot, in the order of their names, which is public."""
    return df.groupby("patient")["cost"].sum().clip(0, 100).round().to_numpy()


def by_first_visit(df):
    """Planted: slots in the order of first visits, so that a patient who comes earlier moves others."""
    return df.groupby("patient", sort=False)["cost"].sum().clip(0, 100).round().to_numpy()


def by_city(df):
    """Visits by city, two of each patient."""
    city = df.groupby("patient").head(2)["city"]
    return city.where(city.isin(CITIES), "other").value_counts().reindex(CITIES, fill_value=0)


def by_city_met(df):
    """Planted: only cities that somebody visited are there."""
    return df.groupby("patient").head(2)["city"].value_counts()


#: the ℓ1 bound that is declared, and whether it holds
BOUNDS = {
    "mean_age": (110, True),
    "mean_of_known_ages": (110, False),
    "mean_of_all_rows": (110, False),
    "two_visits": (200, True),
    "two_visits_a_city": (200, False),
    "visits_in_a_sample": (200, False),
    "by_patient": (100, True),
    "by_first_visit": (100, False),
    "by_city": (4, True),
    "by_city_met": (4, False),
}


def _noisy(query):
    bound = BOUNDS[query.__name__][0]

    def release(df, rng):
        """Show the query on a grid with two-sided geometric noise: epsilon = 1 if the bound holds."""
        found = query(df)
        stop = 1 - np.exp(-1 / bound)
        size = np.shape(found)
        drawn = rng.geometric(stop, size) - rng.geometric(stop, size)
        return {"released": np.floor(found) + drawn} if not size else np.floor(found) + drawn

    return release


noisy_mean_age = _noisy(mean_age)
noisy_mean_of_known_ages = _noisy(mean_of_known_ages)
noisy_mean_of_all_rows = _noisy(mean_of_all_rows)
noisy_two_visits = _noisy(two_visits)
noisy_two_visits_a_city = _noisy(two_visits_a_city)
noisy_visits_in_a_sample = _noisy(visits_in_a_sample)
noisy_by_patient = _noisy(by_patient)
noisy_by_first_visit = _noisy(by_first_visit)
noisy_by_city = _noisy(by_city)
noisy_by_city_met = _noisy(by_city_met)
