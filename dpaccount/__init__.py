"""Privacy accounting with rigorous enclosures, a proof kernel, its checker and a durable ledger.

The names below are what most programs need.  A name is imported when it is first asked for (PEP 562), so that
``import dpaccount`` costs nothing.

>>> from dpaccount import Accountant, Gaussian, Laplace, Plan
>>> cost = Accountant([Gaussian(sigma=4, count=10), Laplace(scale="2.5")])
>>> cost.epsilon(1e-5)
3.626671765 (±8e-10)
>>> f"{cost.delta(2):.3e}"  # rounded up
'7.713e-3'
>>> print(Plan("replace-one", Gaussian(sigma=1.5)) * 3 + Laplace(scale=10))
replace-one
  count  event     parameters  units
      3  gaussian  sigma 1.5   all
      1  laplace   scale 10    all

Numbers are exact: text is a decimal or a fraction (``"1.1"``, ``"256/60000"``), as in files and on the
command line, and a float is the decimal that it prints as.  The kinds of events are in `dpaccount.events`
and, each by its name, here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpaccount_packages import install as _install

if TYPE_CHECKING:
    from dpaccount.accounting.accountant import Accountant
    from dpaccount.accounting.calibration.calibrate import calibrate
    from dpaccount.accounting.filters import Filter, Odometer
    from dpaccount.accounting.measures import Measure
    from dpaccount.accounting.training import sgd
    from dpaccount.errors import DpaccountError
    from dpaccount.exact import Enclosure
    from dpaccount.ledger.ledger import Ledger
    from dpaccount.plan import events
    from dpaccount.plan.events import *
    from dpaccount.plan.plan_file import read_events
    from dpaccount.relation import Relation

_install()  # from here on the packages beside this one are found

__version__ = "0.1.0"
__all__ = [
    "Accountant",
    "Approximate",
    "BallsInBins",
    "BandedPoisson",
    "BoundedRange",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DominatingPair",
    "DpFtrl",
    "DpaccountError",
    "Enclosure",
    "Exponential",
    "Filter",
    "Gaussian",
    "GaussianMixture",
    "Gdp",
    "Laplace",
    "Ledger",
    "MatrixFactorisation",
    "Measure",
    "Odometer",
    "PermuteAndFlip",
    "Plan",
    "PoissonExamples",
    "PoissonReplaced",
    "PoissonSubsampled",
    "Private",
    "Pure",
    "RandomAllocation",
    "RandomizedResponse",
    "Rdp",
    "Relation",
    "Repeated",
    "SampledWithoutReplacement",
    "Sequence",
    "Session",
    "Shuffled",
    "ShuffledResponse",
    "Study",
    "Table",
    "Tree",
    "TruncatedPoisson",
    "TruncatedReplaced",
    "Zcdp",
    "audit",
    "calibrate",
    "certify",
    "check",
    "events",
    "read_events",
    "release",
    "release_file",
    "sgd",
    "sql",
]

_HOMES = {
    "Accountant": "dpaccount.accounting.accountant",
    "DpaccountError": "dpaccount.errors",
    "Enclosure": "dpaccount.exact",
    "Filter": "dpaccount.accounting.filters",
    "Ledger": "dpaccount.ledger.ledger",
    "Measure": "dpaccount.accounting.measures",
    "Odometer": "dpaccount.accounting.filters",
    "Relation": "dpaccount.relation",
    "calibrate": "dpaccount.accounting.calibration.calibrate",
    "read_events": "dpaccount.plan.plan_file",
    "sgd": "dpaccount.accounting.training",
    # these stand above all else, which imports nothing of them: they are found by name when asked for
    **dict.fromkeys(("audit", "certify", "check", "release_file"), "audits.api.functions"),
    **dict.fromkeys(("Session", "Study", "Table", "sql"), "audits.study"),
    **dict.fromkeys(("Private", "release"), "mechanisms.subject.private"),
}


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it; raises `AttributeError` for any other."""
    if name == "events":
        return import_module("dpaccount.plan.events")
    if name in __all__:
        home = _HOMES.get(name, "dpaccount.plan.events")
        if not home.startswith("dpaccount"):
            import_module("dpaccount_packages").need()
        return getattr(import_module(home), name)
    raise import_module("dpaccount.errors").no_attribute(__name__, name, __all__)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "__version__"])
