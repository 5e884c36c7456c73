"""A theorem read once, for all who run code on it: what it says, rests on, and pays for.

Thousands of runs are made on one theorem.  What of its derivation they need is read when it is first
asked for and kept; whatever cannot be read raises then, as it would if read anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dpaccount.cached import cached_property
from dpaccount.errors import ReceiptError
from dpaccount.noise import leaves as paid
from dpaccount.noise.laws import Law, held, law
from dpaccount.noise.leaves import Leaf
from dpaccount.proof import Private, Theorem
from dpaccount.proof import derivation as written
from dpaccount.proof.derivation import Hypothesis

ENTERED = ("assume_rounds", "assume_tree", "assume_covers")  #: rules that say which unit is in which release


@dataclass(frozen=True)
class Proved:
    """A theorem and what follows from it alone."""

    theorem: Theorem

    @cached_property
    def point(self) -> tuple[Fraction, Fraction]:
        """Return (ε, δ); raises `RuleError` for a theorem that ends in no point."""
        return written.point(self.theorem)

    @property
    def relation(self) -> str | None:
        """Return the relation of the datasets that it is about; None where it is not about privacy."""
        fact = self.theorem.conclusion
        return fact.relation if isinstance(fact, Private) else None

    @property
    def units(self) -> tuple[int, int] | None:
        """Return the first and last unit that it reads; None where it names none."""
        fact = self.theorem.conclusion
        return fact.units if isinstance(fact, Private) else None

    @cached_property
    def parts(self) -> tuple[Theorem, ...]:
        """Return every theorem that it rests on, premises first and itself last, each once."""
        return tuple(written.walk(self.theorem))

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """Return its derivation as a certificate holds it."""
        return written.write(self.theorem)

    @cached_property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return what the code must do for it to apply, each once, in the order of the derivation."""
        return tuple(written.hypotheses(self.theorem))

    @property
    def covers_late(self) -> bool:
        """Return whether units may choose the rounds that they enter, as by late answers.

        Every hypothesis on who enters what must be `assume_rounds` with `participations`.
        """
        entered = [each for each in self.hypotheses if each.rule in ENTERED]
        return bool(entered) and all("participations" in each.statement for each in entered)

    @cached_property
    def leaves(self) -> Mapping[str, Leaf]:
        """Return the noise that it pays for, by key; raises `ReceiptError` where two leaves share one."""
        found: dict[str, Leaf] = {}
        for leaf in paid.leaves(self.theorem):
            if leaf.key in found:
                raise ReceiptError(f"two leaves share the key {leaf.key!r}; give each leaf its own")
            found[leaf.key] = leaf
        return MappingProxyType(found)

    @cached_property
    def draws(self) -> int:
        """Return how many releases it pays for in all."""
        return sum(leaf.draws for leaf in self.leaves.values())

    @cached_property
    def laws(self) -> Mapping[str, Law]:
        """Return the law of every leaf, by key; raises `ReceiptError` where no exact sampler has it."""
        return MappingProxyType({key: held(law(leaf), key) for key, leaf in self.leaves.items()})
