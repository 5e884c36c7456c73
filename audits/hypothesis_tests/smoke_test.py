"""Smoke test: a mechanism class that never runs is an input error, not a refutation.

So is one without any output value, since there is nothing to compare.  It runs after the property tests,
if all of them fail: a run before them could leave state behind.  Only the size of the data is checked
before.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.datasets.bases import BASES, dataset
from audits.hypothesis_tests.replay import ReplayError, record
from audits.subjects.catalogue import is_catalogued
from dpaccount.errors import DpaccountError, InputError, RuleError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import write
from mechanisms.subject import Subject, View
from mechanisms.subject.isolation import fresh
from mechanisms.table.user_level import ByPerson, named

#: witnesses that depend on the number of units, rounds and releases, and so differ within a family
SIZES = {
    *("rounds", "separation", "ends", "covers", "levels", "most", "matrix", "pairs"),
    *("variance", "coordinates", "distance", "epsilon"),
}
MAX_DATASET_NUMBERS = 5_000_000  #: of one synthetic dataset
FEW_NUMBERS, LEAST_ROWS = 50_000, 8  #: above which a smaller dataset, of this size, replaces a sum's
FAMILY = "{} more pairs were tested on {} units."
FEW_UNITS, SOME_UNITS, SOME_PAIRS = 64, 2000, 4  #: units of the two members; pairs of the larger one
SEEDS = 3  #: runs on each synthetic dataset
NO_VALUE = "shows no value, but for NaN or None"


def check_size(subject: Subject) -> None:
    """Raise `InputError` for domains whose synthetic data would not fit into memory."""
    try:
        domain = subject.domain()
    except (Exception, SystemExit) as error:
        raise InputError(f"the subject's domain raises {type(error).__name__}: {error}", "fix it") from None
    if domain.rows * len(domain.low) > MAX_DATASET_NUMBERS:
        most = MAX_DATASET_NUMBERS // len(domain.low)
        raise InputError(
            f"{domain.rows} units of {len(domain.low)} numbers are too many to test",
            f"units times numbers are at most {MAX_DATASET_NUMBERS}: here at most {most} units",
        )


def of_few_rows(subject: Subject, delta: Fraction) -> Subject:
    """Return a subject with fewer rows, if it has many and each adds its own part.

    Only for catalogued mechanisms, in which a row's contribution does not depend on the number of rows.  The
    proofs at `delta` must be equal, step by step; otherwise the subject is returned unchanged.
    """
    mechanism, domain = named(subject), subject.domain()
    width = len(domain.low)
    sums = getattr(mechanism, "by_row", False) and is_catalogued(type(mechanism))
    if domain.rows * width <= FEW_NUMBERS or not sums:
        return subject
    few: Any = max(LEAST_ROWS, FEW_NUMBERS // width)
    smaller: Any = replace(subject, rows=few)  # type: ignore[type-var]  # subjects are dataclasses
    if isinstance(subject, ByPerson):
        smaller = replace(smaller, mechanism=replace(subject.mechanism, rows=few * subject.max_rows))
    try:
        # Equal proofs step by step: what depends on the number of rows would show in a witness.
        same = write(smaller.proof(delta)) == write(subject.proof(delta))
    except RuleError:
        same = False
    return smaller if same and replace(smaller.domain(), rows=domain.rows) == domain else subject


def member_of(subject: Subject, delta: Fraction) -> tuple[Subject, Subject] | None:
    """Return two members of a catalogued subject's family: small for all tests, larger for some pairs.

    Their data contain more than the subject's own, such as when people answer.  None if the subject has
    no `member`, or if the proofs at `delta` differ in more than `SIZES` (for the same size, at all).
    """
    member = getattr(subject, "member", None)
    if member is None or not is_catalogued(type(named(subject))):
        return None
    few, some, own = (member(units) for units in (FEW_UNITS, SOME_UNITS, subject.domain().rows))
    try:
        steps = [write(each.proof(delta)) for each in (subject, own, few, some)]
    except RuleError:
        return None
    alike = steps[0] == steps[1] and all(family_of(each) == family_of(steps[0]) for each in steps[2:])
    return (few, some) if alike else None


def with_late(subject: Subject, delta: Fraction) -> Subject:
    """Return the subject with `delays` set, whose records say when people answer, if its proof covers that.

    The proof at `delta` must be the same; otherwise the subject is returned unchanged.
    """
    if getattr(subject, "delays", None) is not False:
        return subject
    try:
        late: Any = replace(subject, delays=True)  # type: ignore[type-var]  # subjects are dataclasses
        proved = Proved(subject.proof(delta))
        return late if proved.covers_late and write(late.proof(delta)) == proved.steps else subject
    except Exception:  # of a user's class
        return subject


def late_in_session(subject: Subject, proved: Proved) -> str | None:
    """Return why proof or tests do not cover late answers to sessions of `subject`, or None.

    Catalogued bandits are reviewed instead, and a note says what tests lack.
    """
    if not hasattr(subject, "course") or is_catalogued(type(named(subject))):
        return None
    if proved.covers_late:
        how = "give it a field `delays` like moment-gp-ucb's, and no examples"
        tested = getattr(subject, "delays", None) is True
        return None if tested else f"its sessions count late answers, and no test had any: {how}"
    try:
        takes = subject.course(rehearse(proved, Rehearsal(0)), 0).takes_late
    except (Exception, SystemExit) as error:
        return f"its course raises {type(error).__name__}: {error}"
    return "its course takes late answers, which its proof does not cover" if takes else None


def family_of(steps: list[dict[str, Any]]) -> list[Any]:
    """Return the steps of a derivation without the witnesses in `SIZES`."""
    return [
        (step["rule"], step["from"], {name: what for name, what in step["with"].items() if name not in SIZES})
        for step in steps
    ]


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
        f"{type(subject).__name__} {wrong[0]} on every run ({len(wrong)} runs, the first is shown)", "fix it"
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
