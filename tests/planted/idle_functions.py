"""Functions that give nothing, at all or now and then; as a noisy release (data, rng) and as a query (data)."""

import sys

import numpy as np


def raises(data, rng=None):
    """Raise on every run."""
    raise ValueError("no data")


def exits(data, rng=None):
    """Leave on every run."""
    sys.exit("goodbye")


def raises_lines(data, rng=None):
    """Raise with a text that would change a terminal."""
    raise ValueError("two\nlines \x1b[2J")


def no_result(data, rng=None):
    """Return None."""


def not_a_number(data, rng=None):
    """Return NaN."""
    return float("nan")


def nans(data, rng=None):
    """Return NaN in parts."""
    return {"a": np.full(3, np.nan), "b": None}


def a_thing(data, rng=None):
    """Return what cannot be compared."""
    return object()


def things(data, rng=None):
    """Return several such."""
    return [object(), object()]


def generator(data, rng=None):
    """Return a generator."""
    return (x for x in data)


def nothing_in_turn(data, rng=None):
    """Return None, NaN or nothing, by the data."""
    kind = int(data.sum()) % 3
    if kind == 2:
        raise KeyError("two")
    return None if kind else float("nan")


def wrong_signature(table):
    """Take no generator, and a table."""
    return table["age"].mean()


def wrong_arguments(data, rng, more):
    """Take one argument too many."""
    return 1.0


def hangs(data, rng=None):
    """Never end (stands for it: crews of the tests know the name)."""


def constant(data, rng=None):
    """Return the same number, whatever the data are."""
    return 1.0


def empty(data, rng=None):
    """Return an empty list, which is a result."""
    return []


def leaks(data, rng=None):
    """Return the data in the clear."""
    return data.tolist()


def huge(data, rng=None):
    """Return much, nothing of it from the data."""
    return np.zeros(100_000)


def prints(data, rng=None):
    """Print, and return the same number always."""
    sys.stdout.write("a line\n")
    return 1.0


def raises_on_half(data, rng=None):
    """Raise on half of the runs, whatever the data are; a query raises on no run."""
    if rng is not None and rng.random() < 0.5:
        raise ValueError("unlucky")
    return 1.0


def raises_on_data(data, rng=None):
    """Raise on some runs, and on more where the data say so."""
    if rng is not None and rng.random() < 0.2 + 0.7 * data[0]:
        raise ValueError("unlucky")
    return 1.0


def nan_on_half(data, rng=None):
    """Return NaN on half of the runs, whatever the data are; a query on none."""
    return float("nan") if rng is not None and rng.random() < 0.5 else 1.0


number = 3


class Other:
    """A class that is no mechanism."""

    def __init__(self, data, rng=None):
        """Take what a function would."""
