"""A sampler for Optuna whose points come from a private session; needs the extra `optuna`.

A trial is a person.  Optuna keeps in clear what an objective returns, and prints it.  So the reward goes to
the session, and a trial ends without a value, which Optuna calls pruned: it then refuses `study.best_value`,
where a constant would make the first trial the best.  What trials are shown, when they ran and which failed
stays in clear.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from optuna import Study, Trial, TrialPruned
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bandits.learning.session import Session, Ticket
from bandits.space.reading import CALLED, of_table
from dpaccount.errors import InputError

POINT: Final = "point"  #: the parameter where points have only names


class PointSampler(BaseSampler):  # type: ignore[misc]  # mypy skips optuna
    """Suggest the points that a `session` shows: `study.optimize(sampler.private(objective), n_trials)`.

    `points` is the table that the bandit's space was made of by `of_table`: a parameter for each column but
    `name`, or the one parameter `point` for a list of names.  Raises `InputError` if they are others, and as
    `Session.points` does.
    """

    def __init__(self, session: Session, points: Any) -> None:
        space, given = session.points, of_table(points)
        if (space.names, space.coordinates) != (given.names, given.coordinates):
            raise InputError("these are not the session's points", "give the table that its space is made of")
        if not isinstance(points, Mapping) and not hasattr(points, "columns"):
            points = {POINT: points}
        names = [name for name in getattr(points, "columns", points) if str(name).strip() != CALLED]
        self._columns = {str(name): list(points[name]) for name in names}
        self._session, self._names = session, space.names
        #: by a trial; the study is kept too, so that no other one has its identity meanwhile
        self._tickets: dict[tuple[int, int], tuple[Study, Ticket]] = {}
        self._private: set[tuple[int, int]] = set()  #: trials whose rewards went to the session

    def private(self, objective: Callable[[Trial], float | None]) -> Callable[[Trial], NoReturn]:
        """Return an objective that gives the reward of `objective` to the session, and nothing to Optuna."""

        def told(trial: Trial) -> NoReturn:
            self._private.add(_key(trial.study, trial.number))
            self.tell(trial, objective(trial))
            raise TrialPruned("its reward went to the session")

        return told

    def tell(self, trial: Trial, reward: float | None) -> bool:
        """Record a trial's reward, the larger the better, or None for no answer; return whether it counts.

        Where you call `study.ask` yourself, end the trial by `study.tell(trial, state=TrialState.PRUNED)`.
        Raises `InputError` as `Session.tell` does, for a trial of another sampler, and for one that was made
        with other parameters than the session's.
        """
        ticket = self._ticket(trial.study, trial.number)
        point = self._point(ticket)
        if any(point.get(name) != value for name, value in trial.params.items()):
            raise InputError(f"trial {trial.number} has other parameters than it was shown", "enqueue none")
        self._private.add(_key(trial.study, trial.number))
        return self._session.tell(ticket, reward)

    # -------------------------------------------------------------- what Optuna calls

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Take the next slot; refuses, before that, what the session could not serve."""
        if study.directions != [StudyDirection.MAXIMIZE]:
            raise InputError("a session looks for the largest reward", 'create a study with "maximize"')
        if "fixed_params" in trial.system_attrs:
            raise InputError("the session chooses every point", "enqueue no trial")
        self._tickets[_key(study, trial.number)] = study, self._session.ask()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return nothing: parameters are read one by one from the trial's point."""
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: object) -> dict[str, object]:
        """Return nothing, too."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a parameter of the trial's point; raises `InputError` where its range lacks that."""
        point = self._point(self._ticket(study, trial.number))
        if param_name not in point:
            raise InputError(f"no point has {param_name[:40]!r}", f"known: {', '.join(point)[:200]}")
        value = point[param_name]
        try:
            inside = param_distribution._contains(param_distribution.to_internal_repr(value))
        except ValueError:
            inside = False
        if not inside:
            raise InputError(f"{param_name} does not take {str(value)[:40]!r}", "suggest all points' values")
        return value

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Refuse a trial that told Optuna anything but its parameters, or may have: failures are printed."""
        failed = state == TrialState.FAIL and _key(study, trial.number) not in self._private
        if values is None and not failed and not trial.intermediate_values and not trial.user_attrs:
            return
        if isinstance(values, list):  # the very list that Optuna stores, and prints, after this error
            values[:] = [0.0] * len(values)
        raise InputError(
            f"trial {trial.number} tells Optuna a value, a report or an attribute, which it keeps in clear",
            "delete this study, and give it sampler.private(objective), which returns the reward only",
        )

    def _ticket(self, study: Study, number: int) -> Ticket:
        try:
            return self._tickets[_key(study, number)][1]
        except KeyError:
            raise InputError(f"trial {number} is of another sampler", "tell the session") from None

    def _point(self, ticket: Ticket) -> Mapping[str, Any]:
        place = self._names.index(self._session.name_of(ticket) or "")
        return {name: cells[place] for name, cells in self._columns.items()}


def _key(study: Study, number: int) -> tuple[int, int]:
    """Return what tells a trial from those of all other studies, also of the same name."""
    return id(study._storage), study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
