"""MABWiser's `predict` and `partial_fit` over a session that offers everybody the same points.

>>> from fractions import Fraction
>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from bandits.arm_phases import ArmPhases
>>> from bandits.learning.session import Session
>>> from bandits.space.reading import of_table
>>> bandit = ArmPhases(rounds=500, epsilon=Fraction(1), space=of_table(["plain", "photos", "reviews"]))
>>> with TemporaryDirectory() as folder, Session.rehearse(bandit, Path(folder) / "state", seed=1) as session:
...     mab = FitPredict(session)
...     arms = [mab.predict() for person in range(3)]
...     mab.partial_fit(arms, [1, 0, 1])
3

A decision is the text of the arm, and remembers its ticket.  A reward is told to that ticket, not to an arm:
by the arm alone nobody could see that a person is counted twice.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NoReturn, SupportsFloat

from bandits.learning.session import Session, Ticket
from dpaccount.errors import InputError


class ShownArm(str):
    """The name of the arm that one person was shown; `ticket` is that person's number, from 1."""

    ticket: int = 0  #: of none
    run: str = ""


class FitPredict:
    """Show arms by `predict`, and learn from people's answers by `partial_fit`.

    The session is paid for when it is opened.  `arms` are the names of its points, as texts.  Raises
    `InputError` for a session that does not offer everybody the same points, or takes devices' messages.
    """

    def __init__(self, session: Session) -> None:
        self.arms = list(session.points.names)
        self._session = session

    def predict(self, contexts: object = None, *, offered: Sequence[str] | None = None) -> ShownArm:
        """Return the arm of the next person, who is another one at every call; of those `offered`, if any.

        What is offered is public.  Raises `InputError` for contexts, as `Session.ask` does where no slot is
        left, and for an unknown arm; then no slot is taken.
        """
        _without(contexts)
        return self._named(self._session.ask(offered))

    def shown(self, ticket: int) -> ShownArm:
        """Return again what `predict` returned for a ticket; raises `InputError` if it was never issued."""
        return self._named(self._session.ticket(ticket))

    def partial_fit(
        self, decisions: Iterable[str], rewards: Iterable[SupportsFloat | None], contexts: object = None
    ) -> int:
        """Record a reward for every decision that `predict` returned; return how many count.

        Rewards are clamped to the bandit's range, NaN is taken as it says, and None is a person who will not
        answer.  Raises `InputError`, recording nothing, for contexts, for a decision without its ticket, for
        one that has its answer, and for what is no number; never by how large a reward is.
        """
        _without(contexts)
        try:
            told = [None if reward is None else _number(reward) for reward in rewards]
            shown = [*decisions]
        except (TypeError, ValueError):
            right = "give a list of decisions, and one of numbers, None for no answer"
            raise InputError("these are no decisions with their rewards", right) from None
        tickets = [self._ticket(decision) for decision in shown]
        if len(tickets) != len(told):
            raise InputError(f"found {len(tickets)} decisions and {len(told)} rewards", "give one for each")
        # All are checked before any is recorded: else a repeated call would be refused for its first half.
        answered = [number for number in tickets if self._session.answered(number)]
        if answered or len(set(tickets)) < len(tickets):
            twice = answered[0] if answered else max(tickets, key=tickets.count)
            raise InputError(f"ticket {twice} would have two answers", "a person answers once: leave it out")
        return sum(self._session.tell(number, reward) for number, reward in zip(tickets, told, strict=True))

    def fit(self, *_: object, **__: object) -> NoReturn:
        """Raise `InputError`: a run cannot learn again from the rewards it has, nor from another's log."""
        raise InputError(
            "fit would count rewards again, or take those of arms that this run did not choose",
            "give new answers to partial_fit, and a log to arm-means or policy-value",
        )

    def predict_expectations(self, *_: object, **__: object) -> NoReturn:
        """Raise `InputError`: a mean needs a release, and its error."""
        raise InputError(
            "expectations are not known without a release",
            "end the run, and read them from what that shows: by_arm(session.result()) of arm-phases",
        )

    def _named(self, ticket: Ticket) -> ShownArm:
        shown = ShownArm(self._session.name_of(ticket))
        shown.ticket, shown.run = ticket.number, self._session.run
        return shown

    def _ticket(self, decision: object) -> int:
        if not isinstance(decision, ShownArm):
            right = "give what predict returned, in a list, or mab.shown(ticket)"
            raise InputError("a decision has lost its ticket", right)
        if decision.run != self._session.run or self.shown(decision.ticket) != decision:
            raise InputError(f"ticket {decision.ticket} is of another run", "give decisions of this one")
        return decision.ticket


def _number(reward: SupportsFloat) -> float:
    try:
        return float(reward)
    except OverflowError:  # a whole number beyond all doubles is clamped like any other
        return inf if reward > 0 else -inf  # type: ignore[operator]


def _without(contexts: object) -> None:
    if contexts is not None:
        raise InputError("these arms are shown without contexts", "use a session of a contextual bandit")
