"""Proof: theorems `hypotheses ⊢ conclusion`, and their rules.

A rule takes theorems and a witness, asks `dpaccount.checker` what follows, and returns it as a theorem; or
it raises `RuleError` with what the checker says.  So each rule is stated once in Python, in the checker's
families of the same names, and once in Coq, where it is proved.  Numbers are exact fractions; inequalities
are decided by intervals rounded outward, or refused.

Trusted: the checker alone.  What stands here builds steps, and `search` proposes witnesses.  Guards against
made-up theorems stop accidents only: a written `derivation` is inferred again by whoever reads it.
R0 … R22, and sources: docs/rules.md; docs/proofs.md.
"""

from dpaccount.checker.curves import (
    Approximate,
    BoundedRange,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Pure,
    Renyi,
    Zcdp,
)
from dpaccount.checker.facts import (
    ANYONE,
    Apart,
    Choice,
    Contribution,
    Covered,
    Judgement,
    Lipschitz,
    Numbers,
    Persons,
    Private,
    Rare,
    Refuted,
    Rounds,
    Shifts,
    Split,
    Stable,
    View,
)
from dpaccount.checker.facts import Units as Cover
from dpaccount.relation import ADD_REMOVE, CENTRAL, JOINT, LOCAL, RELATIONS, REPLACE_ONE, bounded_row

from .rules import *
from .theorem import Theorem
