"""Whether a mechanism class runs at all: one that never does is a wrong request, and no finding.

Asked after the property tests, where all of them fail: no run before them may leave state behind.
"""

import numpy as np

from audits.channels import ReplayError, record
from audits.neighbours import BASES, dataset
from dpaccount.errors import DpaccountError, InputError
from dpaccount.kernel import Theorem
from dpaccount.ledger.receipt import rehearse
from dpaccount.noise import Rehearsal
from mechanisms.playing import fresh
from mechanisms.subject import Subject

SEEDS = 3  #: runs on each made-up dataset


def runs_at_all(subject: Subject, theorem: Theorem) -> None:
    """Run on made-up datasets until one run shows something; raises `InputError` where none does."""
    wrong: list[str] = []
    for base in BASES:
        for seed in range(SEEDS):
            try:
                rows = np.array(dataset(subject.domain(), base, seed))
                record(fresh(subject), rows, rehearse(theorem, Rehearsal(seed)), seed)
            except (ReplayError, DpaccountError):
                return  # it asks for what its proof does not pay for: the tests of its hypotheses judge that
            except (Exception, SystemExit) as error:  # whatever it raises, the user should see
                wrong.append(f"{type(error).__name__}: {error}")
            else:
                return
    raise InputError(
        f"{type(subject).__name__} raises {wrong[0]} on every run ({len(wrong)} runs, the first is shown);"
        " mend it"
    )
