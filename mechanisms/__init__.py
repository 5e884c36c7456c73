"""Private mechanisms: one file each, with its query, sensitivity, proof and release.

What whoever writes or uses one needs is offered here, imported when it is first asked for (PEP 562).

>>> from mechanisms import Domain, grid
>>> Domain(2, (0,), (1,), (False,)).rows
2
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mechanisms.shared import grid
    from mechanisms.subject import Domain, Rows, Subject, View
    from mechanisms.subject.private import Private, release

__all__ = ["Domain", "Private", "Rows", "Subject", "View", "grid", "release"]


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it; raises `AttributeError` for any other."""
    if name == "grid":
        return import_module("mechanisms.shared.grid")
    if name in ("Private", "release"):
        return getattr(import_module("mechanisms.subject.private"), name)
    if name in __all__:
        return getattr(import_module("mechanisms.subject"), name)
    raise AttributeError(f"module 'mechanisms' has no attribute {name!r}")
