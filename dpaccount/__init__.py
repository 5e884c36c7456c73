"""Privacy accounting with rigorous enclosures, a proof kernel, its checker and a durable ledger.

The names below are what most programs need. A name is imported when it is first asked for (PEP 562), so that
``import dpaccount`` costs nothing.

>>> from dpaccount import Accountant, Plan, Relation, events
>>> plan = Plan(Relation.REPLACE_ONE, (events.Gaussian(sigma=4, count=16),))
>>> round(float(Accountant(plan).epsilon("1e-5").upper), 9)
4.377178096
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaccount.accounting.accountant import Accountant
    from dpaccount.accounting.filters import Filter, Odometer
    from dpaccount.accounting.measures import Measure
    from dpaccount.ledger.ledger import Ledger
    from dpaccount.plan import events
    from dpaccount.plan.events import Plan
    from dpaccount.relation import Relation

__version__ = "0.1.0"
__all__ = ["Accountant", "Filter", "Ledger", "Measure", "Odometer", "Plan", "Relation", "events"]

_HOMES = {
    "Accountant": "dpaccount.accounting.accountant",
    "Filter": "dpaccount.accounting.filters",
    "Ledger": "dpaccount.ledger.ledger",
    "Measure": "dpaccount.accounting.measures",
    "Odometer": "dpaccount.accounting.filters",
    "Plan": "dpaccount.plan.events",
    "Relation": "dpaccount.relation",
}


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it; raises `AttributeError` for any other."""
    if name == "events":
        return import_module("dpaccount.plan.events")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dpaccount' has no attribute {name!r}")
