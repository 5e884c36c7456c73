"""What a run that may be stopped anywhere is released by: parts of one charge, or a rehearsal of them.

The proof of the whole run is charged once, before anything is drawn, and every release is a part of that
charge (`dpaccount.ledger.streamed_receipt`): also rows of a factorisation, of which only all together have
a proof.
"""

import hashlib
from collections.abc import Hashable
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from bandits.statistics.arrays import Integers
from dpaccount.accounting.measures import Measure
from dpaccount.documents import canonical
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.streamed_receipt import ResumableReceipt
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Private, Theorem, compose, discrete_gaussian, linear, local, nodes, parallel
from dpaccount.work.journal import Journal, Line
from mechanisms.subject import Subject

SECURE = "secure"
SAME_COST = ("billboard", "post_process", "local_view", "to_approximate")  #: rules that only restate a cost
COMBINED = {"nodes": nodes, "local": local, "compose": compose, "parallel": parallel}


def proof_of(subject: Subject, delta: Fraction | None = None) -> Theorem:
    """Return the theorem of a whole run at `delta`, or at the subject's own (10⁻⁶ without one)."""
    return subject.proof(Fraction(getattr(subject, "delta", Fraction(1, 10**6))) if delta is None else delta)


def charged(journal: Journal, theorem: Theorem, ledger: Ledger, scope: str | None = None) -> "Kept":
    """Charge the proof of the run that a state file names, once, and return its noise, kept part by part.

    It must fit `scope`, too, which a run keeps (`LedgerError` for another).  A ledger in zero-concentrated
    DP is charged what the same noise costs there.  Raises `InputError`, before any charge, where the run was
    charged to another ledger, and as `Ledger.charge` does: `RefusedError` if no budget is left,
    `InputError` for another relation or an unknown scope.  `InputError` too where the ledger keeps
    releases that do not follow from this state file: of two histories under one charge, whose slots are not
    the same people, a person could be in both.
    """
    head, events = journal.head, journal.events
    stream, paid = str(head["stream"]), any("charged" in event for event in events)
    if paid and not ledger.run_state(stream).charged:
        raise InputError("this ledger has no charge of the run", "give the ledger that the run began with")
    theorem = payable(theorem, ledger.budget.measure)
    parts = ledger.charge_in_parts(theorem, str(head["subject"]), None, stream, journal.last, scope=scope)
    released = max((event["released"] for event in events if "released" in event), default=0)
    if len(parts) < released:
        raise InputError(
            f"this ledger keeps {len(parts)} releases of {released} that the run made:"
            " an older copy, which would spend again",
            "give the newest",
        )
    if not journal.holds(parts.after):
        raise InputError(
            "this ledger keeps releases that were made after lines which the state file lacks:"
            " it is an old copy, or one that was gone on with elsewhere",
            "restore the latest",
        )
    if not paid:
        journal.append({"charged": parts.entry})
    return Kept(parts, journal)


class Kept(Noise):
    """Noise from parts of a charge; each new one is noted in the state file after the ledger keeps it."""

    releasable = True

    def __init__(self, parts: ResumableReceipt, journal: Journal) -> None:
        self._parts, self._journal, self._noted = parts, journal, len(parts)

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        value: Integers = getattr(self._parts, how)(key, part, values)
        # The ledger first: after a crash between the two, the release is there to be read back. The other way
        # round, the state file would count one that was never paid for.
        if len(self._parts) > self._noted:
            self._noted = len(self._parts)
            self._journal.append({"released": self._noted})
        return value


def payable(theorem: Theorem, measure: Measure) -> Theorem:
    """Return a theorem about the same noise that has a bound in `measure`, or else the theorem itself."""
    if _bounded(theorem, measure):
        return theorem
    other = in_zcdp(theorem)
    return other if other is not None and _bounded(other, measure) else theorem


def _bounded(theorem: Theorem, measure: Measure) -> bool:
    fact = theorem.conclusion
    return isinstance(fact, Private) and measure.of_curve(fact.curve) is not None


def in_zcdp(theorem: Theorem) -> Theorem | None:
    """Return what all Gaussian releases of a theorem cost in zero-concentrated DP; None for other noise."""
    if theorem.rule in SAME_COST:
        return in_zcdp(theorem.premises[0])
    if "key" in theorem.witness:
        return _gaussian(theorem)
    rule: Any = COMBINED.get(theorem.rule)
    if rule is None:
        return None
    parts = [in_zcdp(one) if isinstance(one.conclusion, Private) else one for one in theorem.premises]
    return None if any(part is None for part in parts) else rule(*parts)


def _gaussian(leaf: Theorem) -> Theorem | None:
    """Return a leaf's noise as zCDP: of the same law, which the receipt draws."""
    if "variance" not in leaf.witness:
        return None
    query = leaf.premises[0]
    if leaf.rule == "lattice_gaussian":
        query = linear(query.premises[0])
    grid = Fraction(leaf.witness.get("grid", 1))
    return discrete_gaussian(query, Fraction(leaf.witness["variance"]), grid, leaf.witness["key"])


class Rehearsed(Noise):
    """Rehearsal noise whose every part has a seed of its own: the same however often it is drawn."""

    releasable = False

    def __init__(self, theorem: Theorem, seed: int) -> None:
        self._proved, self._seed = Proved(theorem), seed

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        name = hashlib.sha256(canonical([self._seed, key, repr(part)])).digest()
        sampler = Rehearsal(np.random.SeedSequence(int.from_bytes(name)))
        return getattr(rehearse(self._proved, sampler), how)(key, part, values)


# ------------------------------------------------------------------ which run it is


def configuration(subject: Subject, theorem: Theorem, coins: int, noise: str, serves: str) -> Line:
    """Return what a state file says of its run: with anything else in it, it is another run's.

    `serves` is a dataset or arrivals: of two such runs under one charge a person could be in both.  Raises
    `InputError` for coins that seed nothing.
    """
    if type(coins) is not int or coins < 0:  # else found out by the run itself, when it is paid for
        raise InputError(f"coins is {coins!r}", "give a whole number, at least 0")
    parameters = {item.name: str(getattr(subject, item.name)) for item in fields(subject)}  # type: ignore[arg-type]
    return {
        "subject": type(subject).__name__,
        "parameters": parameters,
        "serves": serves,
        "coins": coins,
        "noise": noise,
        "proof": theorem.digest,
    }


def same_run(head: Line, ours: Line) -> None:
    """Refuse a state of another run, naming the first thing that differs; raises `InputError`."""
    for name in ("subject", "serves", "coins", "noise"):
        _same(name, head.get(name), ours[name])
    known = head.get("parameters")
    for name, value in ours["parameters"].items():
        _same(name, known.get(name) if isinstance(known, dict) else None, value)
    if head.get("proof") != ours["proof"]:
        raise InputError("the state is of another run: its proof differs, as noise or features have changed")


def _same(name: str, known: object, here: object) -> None:
    if known != here:
        raise InputError(f"the state is of another run: {name} is {known}, here it is {here}")
