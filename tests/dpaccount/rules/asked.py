"""A rule asked of the checker, as derivations ask it: premises as written, a witness, what follows."""

from dpaccount.checker import Rejected
from dpaccount.checker.derivation import infer
from dpaccount.checker.documents import BROKEN, Work

REFUSED = (Rejected, *BROKEN)  #: what `check_derivation` turns into a rejection


def gives(rule, premises, given):
    """What the checker infers, whose work is counted from here."""
    Work.begin()
    return infer(rule, premises, given)
