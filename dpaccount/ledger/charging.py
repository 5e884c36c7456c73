"""Whether a charge fits, and what is answered of it."""

import json
import math
import time
from dataclasses import dataclass, field
from functools import partial

from dpaccount.accounting.measures import Amounts
from dpaccount.cached import cached_property
from dpaccount.errors import BudgetError
from dpaccount.exact import Enclosure, printed, shown
from dpaccount.ledger import spending
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import Budget
from dpaccount.ledger.chain import CHARGE, RESERVATION
from dpaccount.ledger.entries import KeyTakenError, accepted, refused, said, said_of, same_charge
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.changes import Facts
from dpaccount.ledger.state.state import State
from dpaccount.ledger.storage.group import Job
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.totals import Totals
from dpaccount.ledger.tree import Opened, marks_of, read_by, remember

SOUGHT = 4096  #: nodes of the tree that are looked at for a unit that cannot pay


@dataclass(frozen=True)
class Charge:
    """A decided charge: its entry (None: a dry run), the head after it, and what it spends at the worst unit.

    `spends` is None where the measure has no bound.  `reason` says why it is refused, and `known`
    whether its key had charged it before.
    """

    entry: int | None
    head: str
    spends: Amounts | None
    budget: Budget
    reason: str | None = None
    known: bool = False

    @cached_property
    def epsilon(self) -> Enclosure:
        """Return the charge's own ε at the budget's δ."""
        if self.spends is None:
            return Enclosure(None, math.inf)
        return self.budget.measure.enclosure(self.spends, self.budget.delta)


class RefusedError(BudgetError):
    """A charge was refused; `charge` holds the refusal's entry and what was asked for."""

    def __init__(self, message: str, charge: Charge) -> None:
        super().__init__(message)
        self.charge = charge


class Batch:
    """Charges decided one after another in one transaction; the state after the last is stored once."""

    def __init__(self, rows: Rows, totals: Totals, budget: Budget) -> None:
        self.totals = totals
        self._rows, self._budget = rows, budget
        self._nodes: dict[int, str | None] = {}
        self._gone: list[tuple[int, int]] = []
        self._opened: dict[int, Opened] = {}

    def decide(self, request: Request, key: str | None, *, dry_run: bool = False) -> Charge:
        """Accept a request, refuse it with its reason, or find that its key has charged it before.

        Raises `KeyTakenError` where the key belongs to a different charge.
        """
        known = None if key is None else self._rows.keyed(key)
        if known is not None:
            return self._answer(request, same_charge(self._rows, known, request).number, known=True)
        state, facts = self.totals.state(self._node, self._opened), said_of(request, self._rows.stamp)
        reason = self._tried(state, request, facts)
        if dry_run:
            return self._answer(request, None, reason)
        if reason is not None:
            made = refused(self._rows, self.totals, facts, key, reason)
        elif request.parts is None:
            made = self._rows.append(CHARGE, accepted(facts, request), state.text, key=key)
        else:
            state, body = self.totals.state(self._node, self._opened), accepted(facts, request)
            self._reserve(state, body)
            made = self._rows.append(RESERVATION, body, state.text, key=key)
        if reason is None:
            self._take(state)
        self.totals = self.totals.next(made)
        return self._answer(request, made.number, reason)

    def _tried(self, state: State, request: Request, facts: Facts) -> str | None:
        """Let a request change the state as a charge does; return why it is refused, None where it fits."""
        if request.steps is None:
            able = " or ".join(request.takers)
            right = f"a ledger in {able} takes it" if able else "prove it at one (ε, δ) and use approximate"
            return f"the charge has no bound in this ledger's measure, {self._budget.measure.name} ({right})"
        changes.charged(state, facts, [request.steps], partial(said, self._rows))
        return refusal(changes.over(state, self._budget, facts.get("scope"), SOUGHT))

    def _reserve(self, state: State, body: str) -> None:
        number = self.totals.at.number + 1

        def bodies(which: int) -> str:
            return body if which == number else said(self._rows, which)

        changes.apply(state, self._budget, RESERVATION, json.loads(body), number, bodies)

    def _take(self, state: State) -> None:
        """Take over what a state has changed."""
        for low, high in state.gone:
            self._nodes = {place: text for place, text in self._nodes.items() if not low <= place <= high}
        self._gone += state.gone
        self._nodes.update(state.changed)

    def taken(self, request: Request, error: KeyTakenError) -> Charge:
        """Return the answer where the key belongs to a different charge."""
        return self._answer(request, None, str(error))

    def store(self) -> Totals:
        """Store the state after what was accepted; return the totals."""
        for low, high in self._gone:
            self._rows.drop(low, high)
        self._rows.put(self._nodes)
        remember(self._opened, self.totals.state(self._node).life.height)
        return self.totals

    def _node(self, node: int) -> object:
        if node in self._nodes:
            return self._nodes[node]
        dropped = self._gone and any(low <= node <= high for low, high in self._gone)
        return None if dropped else self._rows.node(node)

    def _answer(
        self, request: Request, number: int | None, reason: str | None = None, *, known: bool = False
    ) -> Charge:
        steps, head = request.steps, self.totals.at.digest
        spends = None if steps is None else spending.most(steps, self._budget.width)
        return Charge(number, head, spends, self._budget, reason, known)


@dataclass(eq=False)
class ToCharge(Job):
    """What one thread asks to charge, requests with their keys, and the answers.

    A key of a different charge is an error where it `raises`, and an answer elsewhere.
    """

    requests: list[tuple[Request, str | None]]
    raises: bool
    charges: list[Charge] = field(default_factory=list)

    @property
    def asked(self) -> float:
        """Return when the last of them was asked for: all were priced by then."""
        return max((request.asked for request, _ in self.requests), default=time.monotonic())

    def decide(self, batch: Batch, rows: Rows) -> None:
        """Decide all in a transaction, unless one that was interrupted was committed with them."""
        if self._stands(rows):
            return
        self.charges, self.error = [], None
        for request, key in self.requests:
            try:
                self.charges.append(batch.decide(request, key))
            except KeyTakenError as error:
                if self.raises:
                    self.error = error
                else:
                    self.charges.append(batch.taken(request, error))

    def nodes(self, before: Totals) -> set[int]:
        """Return the nodes of the totals that deciding will read, as far as these totals tell."""
        wide, state = before.width, before.state(lambda _: None)
        marks = [mark for request, _ in self.requests for mark in marks_of(request.steps or [], wide)[1]]
        return read_by(marks, state.life.height)

    def _stands(self, rows: Rows) -> bool:
        """Say whether what was made for it stands in the chain: a digest is salted, and nobody else's."""
        made = [one for one in self.charges if one.entry is not None and not one.known]
        if not made or made[-1].entry is None:
            return False
        entry = rows.entry(made[-1].entry)
        return entry is not None and entry.digest == made[-1].head


def refusal(over: changes.Over | None) -> str | None:
    """Return why a charge is refused after which this would be over its limits; None where nothing is."""
    if over is None:
        return None
    scope, budget, unit, total = over
    names = zip(budget.measure.amounts, total, strict=True)
    sums = ", ".join(f"{name} {printed(amount, up=True)}" for name, amount in names)
    epsilon = printed(budget.measure.enclosure(total, budget.delta).upper, up=True)
    at = f"ε {epsilon} at δ {shown(budget.delta)} ({sums})"
    limit = shown(budget.epsilon)
    beyond = f"the budget's ε {limit}" if scope is None else f"the ε {limit} of the scope {scope}"
    return f"the charge would bring unit {unit} to {at}, beyond {beyond}"
