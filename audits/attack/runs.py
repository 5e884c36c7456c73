"""The number of runs of an attack on a function: as requested, or as the time limit allows."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from audits.sandbox.crew import PATIENCE, Crew, Survey, TimeUp
from audits.scores.sketch import WIDE_NUMBERS
from audits.tradeoff import EventClaim

SHARED_SEEDS = (1, 2, 3)  #: seeds of the runs that both sides of a pair make with the same randomness
#: for each search round: pairs kept, pairs per base, runs a side that it adds
SCREENING = ((40, 40, 150), (15, 5, 450), (6, 3, 1200))
SCREENED = 800  #: pairs whose movement is measured
MIN_RUNS = 60  #: requested number of certifying runs
SURVEYED = 250  #: maximum runs a side that choose the features of wide results
WIDE_PAIRS = 8  #: pairs whose features are chosen in a search
TRAIN = 4  #: minimum training runs a side
THIN = 20  #: minimum runs a side with which the search's rounds compare pairs
#: approximate limit on numbers in memory; wide results are compared on fewer runs
MAX_CELLS_IN_MEMORY = 20_000_000

Progress = Callable[[str], None]  #: receives progress messages; those with "K of N" can be timed


def silent(_: str) -> None:
    """Report no progress."""


def progress_counter(what: str, total: int, progress: Progress) -> Callable[[int], None]:
    """Return a function that is called with the number of further runs done and reports their total."""
    done = 0

    def more(runs: int) -> None:
        nonlocal done
        done += runs
        progress(f"{what}: {done} of {total} runs")

    more(0)
    return more


@dataclass(frozen=True)
class Challenge:
    """A claim and the settings of the attack on it.

    The claim is (ε, δ), or the trade-off `curve` if there is one, to be refuted by counts of one event.
    `for_certificate`: the bound must be one that a certificate can contain; `early`: stop at the first
    refutation, by betting.
    """

    epsilon: Fraction
    delta: Fraction
    trials: int
    risk: Fraction
    seed: int
    for_certificate: bool = False
    early: bool = False
    curve: EventClaim | None = None

    @property
    def counts_only(self) -> bool:
        """Return whether the bound must rest on counts of one event."""
        return self.for_certificate or self.curve is not None

    @property
    def bets(self) -> bool:
        """Return whether bets are wanted and known for the claim."""
        return self.early and self.curve is None


@dataclass(frozen=True)
class Runs:
    """Planned runs: `seeds` runs a side on `screened` pairs, search `rounds`, `train` a side, `certify`.

    A round is (pairs kept, pairs per base, further runs a side).
    """

    screened: int
    seeds: int
    rounds: tuple[tuple[int, int, int], ...]
    train: int
    certify: int

    @property
    def cost(self) -> int:
        """Return the total number of runs."""
        compared = sum(pairs * runs for pairs, _, runs in self.rounds)
        return 2 * (self.screened * self.seeds + compared + self.train) + self.certify

    def at_once(self, pairs: int) -> int:
        """Return the maximum runs a side that are compared at a time, for this many pairs."""
        rounds = [min(kept, pairs) * runs for kept, _, runs in self.rounds]
        return max(self.train, min(self.screened, pairs) * self.seeds, *rounds)


def room_for(numbers: int) -> int:
    """Return how many runs a side fit into memory if results have up to `numbers` numbers."""
    return MAX_CELLS_IN_MEMORY // (2 * (1 + numbers))


def survey_for(crew: Crew, seed: int, train: int, pairs: int, pace: float) -> Survey:
    """Return the survey by which wide results of each of the `pairs` are reduced; () if none was wide."""
    if crew.tally.widest <= WIDE_NUMBERS:
        return ()
    begun = crew.seconds_left()  # a generator whose draws are the same on both sides may be far slower
    crew.run([(0, seed, 1, SHARED_SEEDS[0])])
    pace = max(pace, begun - crew.seconds_left())
    fit = int(crew.seconds * PATIENCE / (4 * pace))  # into half the time of one run
    return seed, max(min(train // (2 * pairs), fit, SURVEYED), 2)


def asked_of(challenge: Challenge, pairs: int) -> Runs:
    """Return the requested runs."""
    train, certify = max(challenge.trials // 6, MIN_RUNS), max(challenge.trials * 2 // 3, MIN_RUNS)
    if pairs == 1:
        return Runs(0, 0, (), train, certify)
    scale = min(1.0, max(challenge.trials / 10_000, 0.2))
    return Runs(SCREENED, len(SHARED_SEEDS), _thinned(scale), train, certify)


def _thinned(scale: float) -> tuple[tuple[int, int, int], ...]:
    return tuple((kept, of_base, max(int(runs * scale), THIN)) for kept, of_base, runs in SCREENING)


def runs_within(most: int, challenge: Challenge, pairs: int) -> Runs:
    """Return the runs that fit into `most`: all requested ones, or fewer, half of them to certify.

    Raises `TimeUp` if there is not enough time for an attack.
    """
    asked = asked_of(challenge, pairs)
    if asked.cost <= most:
        return asked
    # A search that leaves too few runs to certify refutes nothing, however good the pair that it finds.
    half = min(asked.certify, most // 2)
    if pairs == 1:
        train = min(asked.train, max(most // 8, TRAIN))
        certify = min(asked.certify, most - 2 * train)
        if certify < max(half, 1):
            raise TimeUp
        return Runs(0, 0, (), train, certify)
    train = min(asked.train, max((most - half) // 6, TRAIN))
    search = most - half - 2 * train
    if half < 1 or search < 2:
        raise TimeUp
    rounds = _rounds_in(search * 2 // 3)
    left = search - 2 * sum(kept * runs for kept, _, runs in rounds)
    seeds = len(SHARED_SEEDS) if left >= 2 * len(SHARED_SEEDS) * SCREENING[0][0] else 1
    return Runs(min(left // (2 * seeds), SCREENED), seeds, rounds, train, half)


def _rounds_in(runs: int) -> tuple[tuple[int, int, int], ...]:
    """Return search rounds within this many runs: fewer runs a round, then fewer pairs."""
    usual = 2 * sum(kept * each for kept, _, each in SCREENING)
    scaled = _thinned(min(runs / usual, 1.0))
    most = 2 * sum(kept * each for kept, _, each in scaled)
    part = min(1.0, runs / most)
    fewer = ((int(kept * part), max(int(of_base * part), 1), each) for kept, of_base, each in scaled)
    return tuple(round_ for round_ in fewer if round_[0] > 1)
