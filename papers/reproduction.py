"""What is reproduced: the cells of a paper's table or figure, how each is run, what is made of its runs.

A cell plays one trial for each seed, and each gives one number a round.  Its `Summary` turns the trials'
rounds into curves, whose last values are the trials' results: a row has their mean (`value`), median and
standard error.  It is `CUMULATIVE_REGRET` by default; where a round's number is the result so far
(simple regret after this query), take `LAST_ROUND`; where it is an error of its own, `MEAN_SO_FAR`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from audits.attack.runs import Progress, silent
from bandits.selection.forecasts import Selection
from bandits.selection.rehearsals import proved
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal

Play = Callable[[int], Floats]  #: seed ↦ a number for every round; picklable
#: the trials' seeds, and what their rounds gave [trials, rounds] ↦ further keys of the row
Details = Callable[[Sequence[int], Floats], dict[str, object]]


#: the name of a paper's claim, and the settings of its verdict
Claim = tuple[str, dict[str, Fraction | str]]


@dataclass(frozen=True)
class Summary:
    """How rounds become results: `curves` keeps the shape [trials, rounds]; its last column counts."""

    name: str
    curves: Callable[[Floats], Floats]
    decimals: int = 6


#: its rows call the value `regret` too
CUMULATIVE_REGRET = Summary("cumulative regret", partial(np.cumsum, axis=1), decimals=2)
LAST_ROUND = Summary("simple regret", np.asarray)
MEAN_SO_FAR = Summary(
    "mean error so far", lambda runs: np.cumsum(runs, axis=1) / np.arange(1, runs.shape[1] + 1)
)


@dataclass(frozen=True)
class Cell:
    """One number of a table or curve of a figure: what is run, and what the paper prints.

    `details` is called once, after all trials, and returns the row's additional entries.  Without `like`
    the printed number is of other data or of another quantity, and no ratio to it is formed.
    """

    row: dict[str, Any]
    play: Play
    published: float | None = None
    subject: Any = None  #: whose proof the cell carries; None: not private
    claim: Claim | None = None  #: the paper's claim on its own calibration
    summary: Summary = CUMULATIVE_REGRET
    details: Details | None = None
    like: bool = True
    delta: Fraction | None = None  #: at which the subject is proved; None: its own


class TrialWorld:
    """People of a trial, and what a bandit's choices for them cost; a world of an experiment's file.

    People follow from the trial's seed alone, so that all bandits meet the same: differences between them
    are paired.  Subclasses are frozen dataclasses; their fields, except `rounds`, are keys of the file.
    """

    serves: ClassVar[type[Any] | tuple[type[Any], ...]]  #: the bandits' classes
    summary: ClassVar[Summary] = CUMULATIVE_REGRET
    #: what is in no catalogue, by name: functions of the world, a trial's seed and parameters, or classes
    other_choices: ClassVar[dict[str, Callable[..., Any]]] = {}

    rounds: int

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return the parameters of a class of bandits that follow from this world, or more: its fields."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @property
    def row(self) -> dict[str, object]:
        """Return what a reproduction's rows may say of this world."""
        return {}

    def chosen(self, made_by: type[Any], parameters: dict[str, object]) -> dict[str, object]:
        """Return parameters with what this world chooses of those left out."""
        return parameters

    def rehearsed(self, epsilon: Fraction, delta: Fraction, trials: int | None = None) -> Selection:
        """Return the bandit of least regret in public rehearsals of worlds like this one.

        `trials`: rehearsals of each bandit at most (`bandits.selection.rehearsals.stages`).
        """
        raise InputError("there are no rehearsals of this world", "name an algorithm")

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return the regret of every round of one trial."""
        raise NotImplementedError

    def by_chance(self, seed: int) -> Floats:
        """Return the regret that every round of uniform choices is expected to have."""
        raise NotImplementedError

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return a reproduction's further entries of a bandit's row, of regrets [trials, rounds]."""
        return {}


def trial(world: TrialWorld, bandit: Any | None, seed: int) -> Floats:
    """Return the regret of every round of one trial; without a bandit, that of uniform choices."""
    return world.by_chance(seed) if bandit is None else world.regrets(bandit, seed)


@dataclass(frozen=True)
class Sentence:
    """A paper's statement on a table or figure, whether these rows confirm it, and the numbers.

    `confirmed` is None where they decide neither for it nor against.
    """

    said: str
    where: str
    confirmed: bool | None
    numbers: str


#: all rows ↦ judgements on the paper's sentences
Judge = Callable[[list[dict[str, Any]]], list[Sentence]]


class MakeCells(Protocol):
    """Makes a table's or figure's cells; what is chosen by rehearsals is chosen then."""

    def __call__(
        self, rounds: int, /, *, trials: int | None = None, progress: Progress = silent
    ) -> list[Cell]:
        """Return the cells of `rounds`; `trials`: rehearsals of each bandit at most, None: all."""
        ...


@dataclass(frozen=True)
class Reproduction:
    """A table or figure, how it is made by default, and what the paper leaves open."""

    name: str
    source: str
    trials: int
    rounds: int
    assumed: tuple[str, ...]
    cells: MakeCells
    sentences: Judge | None = None


def noise_of(subject: Any, seed: int, delta: Fraction | None = None) -> Any:
    """Return rehearsal noise for one run of a subject, proved at `delta`, by default its own."""
    # Its own stream: noise is independent of the seed's world and coins.
    return rehearse(proved(subject, delta), Rehearsal(np.random.SeedSequence([seed, 1])))
