"""Smoke test: a mechanism class that never runs is an input error, not a refutation.

So is one without any output value: there is nothing to compare.  It runs after the property tests,
if all of them fail, since no run before them may leave state behind.  Only the size of the data is
checked before.
"""

import numpy as np
from numpy.typing import NDArray

from audits.datasets.bases import BASES, dataset
from audits.hypothesis_tests.replay import ReplayError, record
from dpaccount.errors import DpaccountError, InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.subject import Subject, View
from mechanisms.subject.isolation import fresh

MAX_DATASET_NUMBERS = 5_000_000  #: of one synthetic dataset
SEEDS = 3  #: runs on each synthetic dataset
NO_VALUE = "shows no value, but for NaN or None"


def check_size(subject: Subject) -> None:
    """Refuse domains whose synthetic data would not fit into memory."""
    try:
        domain = subject.domain()
    except (Exception, SystemExit) as error:
        raise InputError(f"the subject's domain raises {type(error).__name__}: {error}", "mend it") from None
    if domain.rows * len(domain.low) > MAX_DATASET_NUMBERS:
        raise InputError(f"{domain.rows} rows of {len(domain.low)} numbers are too many to test", "use fewer")


def runs_at_all(subject: Subject, proved: Proved) -> None:
    """Run on synthetic datasets until a run outputs a value; raises `InputError` if none does."""
    wrong: list[str] = []
    for base in BASES:
        for seed in range(SEEDS):
            try:
                rows = np.array(dataset(subject.domain(), base, seed))
                run = record(fresh(subject), rows, rehearse(proved, Rehearsal(seed)), seed)
            except (ReplayError, DpaccountError):
                return  # noise that its proof does not cover: judged by hypothesis tests
            except (Exception, SystemExit) as error:  # show any exception to the user
                wrong.append(f"raises {type(error).__name__}: {error}")
            else:
                if not void(run.view) or run.hidden:
                    return
                wrong.append(NO_VALUE)
    raise InputError(
        f"{type(subject).__name__} {wrong[0]} on every run ({len(wrong)} runs, the first is shown)", "mend it"
    )


def void(view: View) -> bool:
    """Return whether a view has no value: no array, or only NaN, None and NaT.

    An empty array is a value: its shape is shown.
    """
    return all(_void(array) for array in (*view.own.values(), *view.public.values()))


def _void(array: NDArray[np.generic]) -> bool:
    if array.dtype.kind == "O":
        return array.size > 0 and all(each is None or each != each for each in array.ravel().tolist())  # noqa: PLR0124
    return array.size > 0 and array.dtype.kind in "fcmM" and bool(np.isnan(array).all())
