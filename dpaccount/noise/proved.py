"""A theorem with lazily computed, cached facts about its derivation: hypotheses, noise, distributions.

Thousands of runs are made on one theorem, so each fact is computed once, on first use; that raises if
the fact does not exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dpaccount import proof
from dpaccount.errors import ReceiptError
from dpaccount.forks import cached_property
from dpaccount.noise import leaves as paid
from dpaccount.noise.laws import Law, checked_width, law_of
from dpaccount.noise.leaves import Leaf
from dpaccount.proof import Hypothesis, Private, Theorem, View
from dpaccount.relation import written_relation

ENTERED = ("assume_rounds", "assume_tree", "assume_covers")  #: rules on which units enter which releases


@dataclass(frozen=True)
class Proved:
    """A theorem and the facts that follow from it alone."""

    theorem: Theorem

    @cached_property
    def point(self) -> tuple[Fraction, Fraction]:
        """Return (ε, δ); raises `RuleError` if the conclusion is not of this form."""
        return proof.point(self.theorem)

    @property
    def relation(self) -> str | None:
        """Return the relation between neighbouring datasets; None if the theorem is not about privacy."""
        fact = self.theorem.conclusion
        return written_relation(fact.relation) if isinstance(fact, Private) else None

    @property
    def units(self) -> tuple[int, int] | None:
        """Return the first and last unit that it reads; None if it names none."""
        fact = self.theorem.conclusion
        return fact.units if isinstance(fact, Private) else None

    @cached_property
    def parts(self) -> tuple[Theorem, ...]:
        """Return all theorems in its derivation, premises first and itself last, each once."""
        return tuple(proof.walk(self.theorem))

    @property
    def views(self) -> list[View]:
        """Return what its derivation says of who sees which output."""
        return [part.conclusion for part in self.parts if isinstance(part.conclusion, View)]

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """Return its derivation in the form of a certificate."""
        return proof.write(self.theorem)

    @cached_property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return the hypotheses about the code, each once, in the order of the derivation."""
        return tuple(proof.hypotheses(self.theorem))

    @property
    def covers_late(self) -> bool:
        """Return whether units may choose the rounds that they enter, for example by answering late.

        Then every hypothesis on which unit enters which release is `assume_rounds` with `participations`.
        """
        entered = [each for each in self.hypotheses if each.rule in ENTERED]
        return bool(entered) and all("participations" in each.statement for each in entered)

    @cached_property
    def leaves(self) -> Mapping[str, Leaf]:
        """Return the noise that it pays for, by key; raises `ReceiptError` if two leaves share a key."""
        found: dict[str, Leaf] = {}
        for leaf in paid.leaves(self.theorem):
            if leaf.key in found:
                raise ReceiptError(f"two leaves share the key {leaf.key!r}; give each leaf its own")
            found[leaf.key] = leaf
        return MappingProxyType(found)

    @cached_property
    def grids(self) -> Mapping[str, Fraction]:
        """Return, for every key, the value of one unit of its integers."""
        return {key: Fraction(leaf.parameters.get("grid", "1")) for key, leaf in self.leaves.items()}

    @cached_property
    def draws(self) -> int:
        """Return the total number of releases that it pays for."""
        return sum(leaf.draws for leaf in self.leaves.values())

    @cached_property
    def laws(self) -> Mapping[str, Law]:
        """Return the noise distributions by key; raises `ReceiptError` if one has no exact sampler."""
        return MappingProxyType({key: checked_width(law_of(leaf), key) for key, leaf in self.leaves.items()})
