"""Whether a mechanism class runs at all: one that never does is a wrong request, and no finding.

So is one that shows no value: there is nothing to compare.  Asked after the property tests, where all of
them fail: no run before them may leave state behind.
"""

import numpy as np
from numpy.typing import NDArray

from audits.datasets.bases import BASES, dataset
from audits.evidence.replay import ReplayError, record
from dpaccount.errors import DpaccountError, InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Theorem
from mechanisms.subject import Subject, View
from mechanisms.subject.playing import fresh

SEEDS = 3  #: runs on each made-up dataset
NO_VALUE = "shows no value, but for NaN or None"


def runs_at_all(subject: Subject, theorem: Theorem) -> None:
    """Run on made-up datasets until one run shows a value; raises `InputError` where none does."""
    wrong: list[str] = []
    for base in BASES:
        for seed in range(SEEDS):
            try:
                rows = np.array(dataset(subject.domain(), base, seed))
                run = record(fresh(subject), rows, rehearse(theorem, Rehearsal(seed)), seed)
            except (ReplayError, DpaccountError):
                return  # it asks for what its proof does not pay for: the tests of its hypotheses judge that
            except (Exception, SystemExit) as error:  # whatever it raises, the user should see
                wrong.append(f"raises {type(error).__name__}: {error}")
            else:
                if not void(run.view) or run.hidden:
                    return
                wrong.append(NO_VALUE)
    raise InputError(
        f"{type(subject).__name__} {wrong[0]} on every run ({len(wrong)} runs, the first is shown); mend it"
    )


def void(view: View) -> bool:
    """Say whether a view shows no value: no array, or NaN, None and no times alone.

    An empty array is a value: its shape is shown.
    """
    return all(_void(array) for array in (*view.own.values(), *view.public.values()))


def _void(array: NDArray[np.generic]) -> bool:
    if array.dtype.kind == "O":
        return array.size > 0 and all(each is None or each != each for each in array.ravel().tolist())  # noqa: PLR0124
    return array.size > 0 and array.dtype.kind in "fcmM" and bool(np.isnan(array).all())
