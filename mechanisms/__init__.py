"""Private mechanisms: one file each, with its query, sensitivity, proof and release.

The names that authors and users of mechanisms need are exported here, imported lazily (PEP 562);
the rules of proof are in `dpaccount.proof`.

>>> from mechanisms import Domain, grid
>>> Domain(2, (0,), (1,), (False,)).rows
2
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaccount.errors import InputError
    from dpaccount.noise.receipt import Noise
    from dpaccount.noise.samplers import Integers
    from mechanisms.shared import accuracy, confidence, grid
    from mechanisms.subject import (
        EXAMPLE,
        Domain,
        Rows,
        Subject,
        Tabular,
        View,
        known_relation,
        released,
        shown,
        shown_to_all,
        wide,
    )
    from mechanisms.subject.private import Private, release

__all__ = [
    "EXAMPLE",
    "Domain",
    "InputError",
    "Integers",
    "Noise",
    "Private",
    "Rows",
    "Subject",
    "Tabular",
    "View",
    "accuracy",
    "confidence",
    "grid",
    "known_relation",
    "release",
    "released",
    "shown",
    "shown_to_all",
    "wide",
]

_MODULES = ("accuracy", "confidence", "grid")  #: modules of `mechanisms.shared`
_HOMES = {
    "InputError": "dpaccount.errors",
    "Integers": "dpaccount.noise.samplers",
    "Noise": "dpaccount.noise.receipt",
    **dict.fromkeys(("Private", "release"), "mechanisms.subject.private"),
}


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it; raises `AttributeError` for any other."""
    if name in _MODULES:
        return import_module(f"mechanisms.shared.{name}")
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "mechanisms.subject")), name)
    raise import_module("dpaccount.errors").no_attribute(__name__, name, [*_MODULES, *__all__])
