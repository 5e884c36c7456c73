"""What every mechanism and bandit declares of itself, and how it is run."""

from mechanisms.subject.declaration import (
    EXAMPLE,
    Domain,
    Rows,
    Subject,
    View,
    known_relation,
    shown,
    shown_to_all,
    wide,
)

__all__ = [
    "EXAMPLE",
    "Domain",
    "Rows",
    "Subject",
    "View",
    "known_relation",
    "shown",
    "shown_to_all",
    "wide",
]
