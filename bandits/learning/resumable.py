"""A bandit's run that can be stopped anywhere and resumed: releases in a ledger, a state file beside it.

What a learner knows is a function of people's records, public coins and what was released.  So nothing
else is saved: every release is charged, drawn and kept in the ledger before the learner reads it, and a run
that starts again plays the same rounds, reads back what was kept and charges and draws only what is new.
What was drawn and not kept may have been seen: it is refused, never drawn again.

The state file names the run: bandit, parameters, coins, proof, stream and what was released.  It holds no
record and no secret.  Each release is a charge of its own, in zero-concentrated DP and over the rounds that
it reads: that may be composed adaptively, but costs more than the proof of the whole does.
"""

import json
import secrets
from collections.abc import Hashable
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpaccount.documents import atomically, canonical
from dpaccount.errors import InputError
from dpaccount.ledger.chain import digest
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise.receipt import Receipt
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Cover, Covered, Theorem, discrete_gaussian, linear
from dpaccount.proof.derivation import digest_of, walk
from mechanisms.subject import Rows, Subject, View
from mechanisms.subject.durable import kept_release, rounds_of

SCHEMA = "dpaccount/bandit-state/1"
KEYS = {"schema", "subject", "parameters", "coins", "proof", "stream", "released"}


def play(subject: Subject, data: Rows, ledger: Ledger, file: Path, coins: int = 0) -> View:
    """Begin the run that `file` names, or take it up again; return all that it shows.

    `data` has every person's record, those of earlier rounds unchanged.  Raises `InputError`, before any
    charge, for data of a wrong shape and for a state file that is damaged, of another version, of another
    bandit, parameter, coin or ledger; `RefusedError` where no budget is left, and `ReceiptError` for a
    release that was drawn by a run that ended before it was kept.
    """
    domain = subject.domain()
    domain.admit(data, subject.relation)
    return subject.play(domain.clamped(data), KeptReleases(subject, ledger, file, coins), coins)


class KeptReleases:
    """Noise for one run of one bandit, from a ledger that keeps each release under its own key."""

    def __init__(self, subject: Subject, ledger: Ledger, file: Path, coins: int) -> None:
        self._theorem = subject.proof(Fraction(getattr(subject, "delta", Fraction(1, 10**6))))
        self._leaves = _each(self._theorem)
        self._ledger, self._file = ledger, file
        ours = _configuration(subject, self._theorem, coins)
        if file.exists():
            self._state = _read(file)
            _same(self._state, ours)
            missing = [place for place in self._state["released"] if ledger.release(place) is None]
            if missing:
                raise InputError(f"this ledger lacks {missing[0]}; give the ledger that the run began with")
        else:
            self._state = {**ours, "stream": secrets.token_hex(8), "released": []}
            self._write()

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the kept release of a part, or charge, draw and keep it now."""
        return self._release(key, part, values)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Do so with symmetric noise."""
        return self._release(key, part, matrix, symmetric=True)

    def _release(self, key: str, part: Hashable, exact: Integers, *, symmetric: bool = False) -> Integers:
        def draw(receipt: Receipt) -> Integers:
            return (receipt.noisy_symmetric if symmetric else receipt.noisy)(key, part, exact)

        place, name = f"{self._state['stream']}/{key}/{part}", self._state["subject"]
        leaf, covers = self._leaves[key]
        cover = _cover(covers, part)
        value = kept_release(self._ledger, place, name, leaf, cover, exact.shape, draw, "run")
        if place not in self._state["released"]:
            self._state["released"].append(place)
            self._write()
        return value

    def _write(self) -> None:
        body = {key: value for key, value in self._state.items() if key != "digest"}
        atomically(self._file, canonical(body | {"digest": digest(body)}).decode())


# ------------------------------------------------------------------ what is charged


def _each(theorem: Theorem) -> dict[str, tuple[Theorem, Theorem]]:
    """Return, by key, the proof of one release in zCDP and the covers that say which rounds it reads."""
    found = {}
    for part in walk(theorem):
        covers = [premise for premise in part.premises if isinstance(premise.conclusion, Covered)]
        for leaf in part.premises if covers else ():
            if "key" in leaf.witness:
                found[leaf.witness["key"]] = _one(leaf), covers[0]
    if not found:
        raise InputError("releases that are proved together cannot be kept one by one; use a tree or phases")
    return found


def _one(leaf: Theorem) -> Theorem:
    """Return a leaf's Gaussian noise as zCDP: of the same law, which the receipt draws."""
    query = leaf.premises[0]
    if leaf.rule == "lattice_gaussian":
        query = linear(query.premises[0])
    grid = Fraction(leaf.witness.get("grid", 1))
    return discrete_gaussian(query, Fraction(leaf.witness["variance"]), grid, leaf.witness["key"])


def _cover(covers: Theorem, part: Any) -> Cover:
    """Return the rounds of a node of a tree, or of the release of this number."""
    if covers.rule == "assume_tree":
        return rounds_of(part)
    first, last = covers.witness["covers"][part]
    return first, last


# ------------------------------------------------------------------ the state file


def _configuration(subject: Subject, theorem: Theorem, coins: int) -> dict[str, Any]:
    parameters = {item.name: str(getattr(subject, item.name)) for item in fields(subject)}  # type: ignore[arg-type]
    return {
        "schema": SCHEMA,
        "subject": type(subject).__name__,
        "parameters": parameters,
        "coins": coins,
        "proof": digest_of(theorem),
    }


def _read(file: Path) -> dict[str, Any]:
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = None
    damaged = f"the state file {file.name} is damaged; restore it, or begin a new run in another"
    if not isinstance(state, dict):
        raise InputError(damaged)
    found = str(state.get("schema"))[:40]
    if found != SCHEMA:
        raise InputError(f"the state file {file.name} is of version {found!r}; this program reads {SCHEMA}")
    body = {key: value for key, value in state.items() if key != "digest"}
    if set(body) != KEYS or state.get("digest") != digest(body):
        raise InputError(damaged)
    return state


def _same(state: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuse a state of another run, naming the first thing that differs."""
    for key in ("subject", "coins"):
        if state[key] != ours[key]:
            raise InputError(f"the state is of another run: {key} is {state[key]}, here it is {ours[key]}")
    for name, value in ours["parameters"].items():
        known = state["parameters"].get(name)
        if known != value:
            raise InputError(f"the state is of another run: {name} is {known}, here it is {value}")
    if state["proof"] != ours["proof"]:
        raise InputError("the state is of another run: its proof differs, as noise or features have changed")
