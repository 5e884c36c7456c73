"""A claim bound to the class of its subject: what a release carries from its data to its report."""

from dataclasses import dataclass
from functools import cached_property

from audits.claim import Claim
from audits.subjects.catalogue import on_table, subject_made
from mechanisms.subject import Subject
from mechanisms.table.rows import Reading
from mechanisms.table.user_level import named


@dataclass(frozen=True)
class BoundClaim:
    """A claim and the class that its subject is made by."""

    claim: Claim
    made_by: type

    @classmethod
    def of(cls, claim: Claim, subject: Subject) -> "BoundClaim":
        """Return the claim bound to the class of its subject, or of the mechanism below one for persons."""
        return cls(claim, type(named(subject)))

    def subject(self) -> Subject:
        """Return a new instance, made from the claim.

        Never one that was used before: the instance that is proved never sees the file, and the one that
        reports sees only the view, so that no state of an instance can carry data to a report.
        """
        return subject_made(self.claim, self.made_by)

    @cached_property
    def reading(self) -> Reading:
        """Return how the mechanism reads the claim's table; it follows from declarations alone."""
        return on_table(self.claim, self.made_by)[1]

    def __getstate__(self) -> dict[str, object]:
        """Return what travels to a worker, which makes the rest again: readers of columns are closures."""
        return {"claim": self.claim, "made_by": self.made_by}
