"""Answers to people of a session and to outside modelers, as they are printed with ``--json``.

A member that is `Absent` by default is left out where it does not apply; what is not `Closed` may have
more members.
"""

from typing import Any

from msgspec import UNSET

from dpaccount.schemas.fields import Absent, Closed, Count, Positive


class TicketAnswer(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/ticket/1"):
    """An action for a person; `clipped` counts the context's numbers that were out of range."""

    ticket: Count
    action: Any
    slots: Count
    releasable: bool
    name: str | Absent = UNSET
    clipped: Positive | Absent = UNSET


class Told(Closed, frozen=True, tag_field="schema", tag="dpaccount/told/1"):
    """Whether a reward counts."""

    ticket: Count | None
    counts: bool


class SessionError(Closed, frozen=True, tag_field="schema", tag="dpaccount/session-error/1"):
    """Why a line of a session was refused."""

    error: str


class PublicSession(Closed, frozen=True, tag_field="schema", tag="dpaccount/session/1"):
    """The end of a session: what is public."""

    people: Count
    slots: Count
    releasable: bool
    public: dict[str, Any]


class Query(Closed, frozen=True, tag_field="schema", tag="dpaccount/query/1"):
    """The row that the modeler asks for next."""

    index: Count
    answered: Count


class Answered(Closed, frozen=True, tag_field="schema", tag="dpaccount/answered/1"):
    """The row that was answered."""

    index: Count
    answered: Count
