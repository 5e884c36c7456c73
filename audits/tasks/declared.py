"""The sensitivities that a mechanism class declares in its proof, tested one by one and compared exactly."""

import math
from fractions import Fraction
from typing import Any

from audits.evidence.search import EXAMPLES, gather
from audits.evidence.tries import check_size, runs_at_all
from audits.subjects.sources import modules_of
from dpaccount.errors import InputError, RuleError
from dpaccount.noise.proved import Proved
from mechanisms.subject import Subject

DELTAS = (Fraction(0), Fraction(1, 10**6))  #: a proof for one of these declares the sensitivities


def declared_answer(name: str, subject: Subject, seed: int) -> dict[str, Any]:
    """Return the answer of `dpaccount sensitivity` on a class, with its own data and its own bounds.

    `hypotheses` holds every declared one as a certificate does; the entries beside it are those of the
    refuted one, else of the first.  `worst` is the largest movement seen, in the ℓ2 norm.
    """
    check_size(subject)
    proved = _proved(name, subject)
    found, _ = gather(subject, proved, examples=EXAMPLES, seed=seed, files=modules_of(type(subject)))
    if all(each.status == "refuted" for each in found):
        runs_at_all(subject, proved)
    tested = [each for each in found if each.status != "untested"]
    if not tested:
        raise InputError(f"{name} declares no sensitivity that a test is known for; name another subject")
    worst = next((each for each in tested if each.status == "refuted"), tested[0])
    shows: dict[str, Any] = worst.counterexample or {}
    return {
        "schema": "dpaccount/sensitivity/1",
        "bound": worst.bound,
        "worst": math.sqrt(Fraction(worst.worst)),
        "refuted": worst.status == "refuted",
        "left": shows.get("left"),
        "right": shows.get("right"),
        "examples": worst.examples,
        "rounding": None,
        "hypotheses": [each.as_json() for each in found],
    }


def _proved(name: str, subject: Subject) -> Proved:
    for delta in DELTAS:
        try:
            return Proved(subject.proof(delta))
        except RuleError as error:
            why = error
    raise InputError(f"{name} has no proof, so it declares no sensitivity: {why}; give its parameters")
