"""Whether a charge fits, and what is answered of it."""

import math
from dataclasses import dataclass, field
from functools import cached_property

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError
from dpaccount.exact import Enclosure, printed, shown
from dpaccount.ledger import spending
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import Budget
from dpaccount.ledger.entries import KeyTakenError, record, same_charge
from dpaccount.ledger.storage.group import Job
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.totals import Totals
from dpaccount.ledger.tree import SpentTree

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
    """Charges decided one after another in one transaction; the totals after the last are stored once."""

    def __init__(self, rows: Rows, totals: Totals, budget: Budget) -> None:
        self.totals = totals
        self._rows, self._budget = rows, budget
        self._nodes: dict[int, str | None] = {}

    def decide(self, request: Request, key: str | None, *, dry_run: bool = False) -> Charge:
        """Accept a request, refuse it with its reason, or find that its key has charged it before.

        Raises `KeyTakenError` where the key belongs to a different charge.
        """
        known = None if key is None else self._rows.keyed(key)
        if known is not None:
            return self._answer(request, same_charge(self._rows, known, request).number, known=True)
        tree = SpentTree(self.totals.root, self._node)
        tree.charge(request.steps or [])
        reason = refusal(self._budget, request, tree)
        if dry_run:
            return self._answer(request, None, reason)
        made = record(self._rows, self.totals, request, key, tree, reason)
        if reason is None:
            self._nodes.update(tree.changed)
        root = tree.root if reason is None else self.totals.root
        self.totals = Totals.known(made, self._budget.width, root)
        return self._answer(request, made.number, reason)

    def taken(self, request: Request, error: KeyTakenError) -> Charge:
        """Return the answer where the key belongs to a different charge."""
        return self._answer(request, None, str(error))

    def store(self) -> Totals:
        """Store the tree of what was accepted; return the totals."""
        self._rows.put(self._nodes)
        return self.totals

    def _node(self, node: int) -> object:
        return self._nodes[node] if node in self._nodes else self._rows.node(node)

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

    def _stands(self, rows: Rows) -> bool:
        """Say whether what was made for it stands in the chain: a digest is salted, and nobody else's."""
        made = [one for one in self.charges if one.entry is not None and not one.known]
        if not made or made[-1].entry is None:
            return False
        entry = rows.entry(made[-1].entry)
        return entry is not None and entry.digest == made[-1].head


def refusal(budget: Budget, request: Request, after: SpentTree) -> str | None:
    """Return why a charge, after which the totals would be `after`, is refused; None where it fits."""
    if request.steps is None:
        able = " or ".join(request.takers)
        right = f"a ledger in {able} takes it" if able else "prove it at one (ε, δ) and use approximate"
        return f"the charge has no bound in this ledger's measure, {budget.measure.name} ({right})"
    found = after.beyond(budget.fits, SOUGHT)
    if found is None:
        return None
    unit, total = found
    names = zip(budget.measure.amounts, total, strict=True)
    sums = ", ".join(f"{name} {printed(amount, up=True)}" for name, amount in names)
    epsilon = printed(budget.measure.enclosure(total, budget.delta).upper, up=True)
    at = f"ε {epsilon} at δ {shown(budget.delta)} ({sums})"
    return f"the charge would bring unit {unit} to {at}, beyond the budget's ε {shown(budget.epsilon)}"
