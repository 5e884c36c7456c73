"""How often sound functions are accused, the search for a pair included: at most the stated error."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from audits.attack.black_box import attack
from audits.attack.runs import Challenge, silent
from audits.datasets.bases import Pair
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Shape
from audits.subjects.code import Code
from tests.depth import deep

RISK = Fraction(1, 5)  #: so large that fifty attacks can show a search that leaks into the counts
ATTACKS = 30
PAIRS = 6


def keeps_or_lies(data, rng):
    """Randomised response of the first row with ε = 1, exactly; the others are sampled and not shown."""
    rng.random(len(data))
    told = int(data[0]) if len(data) else 0
    return told if rng.random() < np.e / (1 + np.e) else 1 - told


def accused(in_process, function, relation, trials=600, cost=0.0, seconds=10**6):
    count = 0
    shape = Shape(4, None, (0.0,), (1.0,), True, relation)
    for seed in range(ATTACKS):
        crew = in_process(Code(f"{__name__}:{function}", ()), seconds=seconds)
        crew.cost = cost
        found = attack(
            crew,
            candidates(shape, seed, PAIRS),
            Challenge(Fraction(1), Fraction(0), trials, RISK, seed),
            silent,
        )
        count += found.verdict(Fraction(1)) == "REFUTED"
    return count


@deep
@pytest.mark.statistical(1e-3)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_tight_function_is_accused_at_most_as_often_as_stated(in_process, relation):
    """Randomised response uses its whole budget, so every luck of the search would show."""
    assert accused(in_process, "keeps_or_lies", relation) <= binom.ppf(0.999, ATTACKS, float(RISK))


def slow_if_told(data, rng):
    """The same, and it takes three times as long to say 1."""
    return keeps_or_lies(data, rng)


@pytest.fixture
def timed(in_process, monkeypatch):
    """Let runs cost by what they gave, so that a time limit cuts some results rather than others."""
    made = in_process._chunk

    def chunk(self, worker, plays):
        done = []
        for play in plays:
            one = made(self, worker, [play])
            if not one:
                break
            self.used += 2 * self.cost * float(one[0].numbers.sum())
            done += one
        return done

    monkeypatch.setattr(in_process, "_chunk", chunk)
    return in_process


@deep
@pytest.mark.statistical(1e-3)
def test_a_time_limit_that_cuts_some_results_rather_than_others_accuses_no_more_often(timed):
    """Two minutes, one or three seconds a run: what is cut depends on the results, the error does not."""
    assert accused(timed, "slow_if_told", "replace-one", 20_000, 1.0, 120) <= binom.ppf(
        0.999, ATTACKS, float(RISK)
    )


def leaks(data, rng):
    """Half the noise and twice the sensitivity: ε = 4."""
    keep = 1 - np.exp(-1.0)
    return int(np.sum(data)) + int(rng.geometric(keep)) - int(rng.geometric(keep))


def mean_leaks(data, rng):
    """Continuous noise: ε = 4."""
    return round(float(np.mean(data) + rng.laplace(0, 0.05)), 4)


def last_leaks(data, rng):
    """Only the last row counts: ε = 4."""
    return round(float(data[-1] + rng.laplace()), 3)


@deep
@pytest.mark.parametrize("function", ["leaks", "mean_leaks", "last_leaks"])
@pytest.mark.parametrize(("seconds", "given"), [(60, True), (120, False)])
def test_a_function_of_a_second_is_refuted_in_time(in_process, function, seconds, given):
    """ε = 4 for a claimed 1, two processes of 1.1 seconds a run: in at least 9 of 10 seeds."""
    missed = 0
    shape = Shape(20, None, (0.0,), (4.0,), True, "replace-one")
    one = np.zeros(20, dtype=int)
    one[-1] = 4
    for seed in range(10):
        crew = in_process(Code(f"{__name__}:{function}", ()), seconds=seconds)
        crew.cost = 0.55
        pairs = [Pair(np.zeros(20, dtype=int), one, "given")] if given else candidates(shape, seed)
        found = attack(
            crew, pairs, Challenge(Fraction(1), Fraction(0), 20_000, Fraction(1, 20), seed), silent
        )
        missed += found.verdict(Fraction(1)) != "REFUTED"
    assert missed <= 1


@deep
def test_runs_that_a_loaded_machine_cuts_are_not_held_against_the_attack(in_process, monkeypatch):
    """The machine slows down to half when certifying begins: bets refute with the runs that there are."""
    made = in_process._chunk

    def chunk(self, worker, plays):
        if self.used > 0.45 * self.seconds:
            self.cost = 1.2
        return made(self, worker, plays)

    monkeypatch.setattr(in_process, "_chunk", chunk)
    one = np.zeros(20, dtype=int)
    one[0] = 4
    refuted = 0
    for seed in range(10):
        crew = in_process(Code(f"{__name__}:leaks", ()), seconds=60)
        crew.cost = 0.55
        pair = Pair(np.zeros(20, dtype=int), one, "given")
        found = attack(
            crew, [pair], Challenge(Fraction(1), Fraction(0), 20_000, Fraction(1, 20), seed), silent
        )
        # An attack that time cuts refutes, or says nothing.
        assert found.verdict(Fraction(1)) in ("REFUTED", "NOT ATTACKED")
        refuted += found.verdict(Fraction(1)) == "REFUTED"
    assert refuted >= 5  # none where the runs that were cut counted against it
