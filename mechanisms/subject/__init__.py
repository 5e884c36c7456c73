"""Base protocols of mechanisms and bandits, private values, and isolated runs."""

from mechanisms.subject.declaration import (
    EXAMPLE,
    READS,
    Additive,
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

__all__ = [
    "EXAMPLE",
    "READS",
    "Additive",
    "Domain",
    "Rows",
    "Subject",
    "Tabular",
    "View",
    "known_relation",
    "released",
    "shown",
    "shown_to_all",
    "wide",
]
