"""Results of more than 10,000 numbers: their features, how they are chosen, and what audits then show."""

import json
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from audits.attack.black_box import attack
from audits.attack.pair_search import Screen, _compared
from audits.attack.runs import Challenge, silent, survey_for
from audits.datasets.bases import Pair
from audits.samples.kept_runs import KeepingCrew, kept_runs
from audits.sandbox.crew import PATIENCE, Crew
from audits.sandbox.outcomes import ALIGNED, of_value
from audits.scores.sketch import DIRECTION, FEATURES, KEPT_ENTRIES, SHARED, WIDE_NUMBERS, surveyed, unguided
from audits.subjects.code import Code
from tests.audits.attack.test_linear_scores import shown
from tests.conftest import ROOT
from tests.depth import deep

WIDE_MODULE = """
import numpy as np
N = {width}
SHIFT = np.random.default_rng(5).choice([-.8, .8], N) / np.sqrt(N)
def sound(data, rng):
    return 100 + data.sum() * SHIFT + rng.normal(size=N)
def a_tenth(data, rng):
    return 100 + data.sum() * SHIFT + rng.normal(size=N) / 10
def missing_at_one(data, rng):
    x = data.sum() * SHIFT + rng.normal(size=N)
    x[N // 3] = data.sum() * SHIFT[N // 3]
    return x
def noise_of_one_side(data, rng):
    x = rng.normal(size=N)
    x[N // 3] *= 1 + 20 * data.sum()
    return x
def seldom_wide(data, rng):
    return rng.normal(size=N if rng.random() < .02 else 50)
"""
GIVEN_PAIR = Pair(np.zeros((1, 1)), np.ones((1, 1)), "given")
TRUE = 3.41  #: ε of a Gaussian shift of .8 at δ = 1e-5


def attacked(folder, name, trials, *, width=WIDE_NUMBERS + 1, seconds=60.0, jobs=1, kept=None):
    (folder / "wide_results.py").write_text(WIDE_MODULE.format(width=width))
    challenge = Challenge(Fraction(4), Fraction(1, 10**5), trials, Fraction(1, 1000), seed=3)
    code = Code(f"wide_results:{name}", (str(folder),))
    crew = (
        Crew(code, seconds=seconds, jobs=jobs) if kept is None else KeepingCrew(code, kept, seconds=seconds)
    )
    with crew:
        return attack(crew, [GIVEN_PAIR], challenge, silent)


@given(st.integers(0, 2**32), st.integers(FEATURES, 300), st.booleans(), st.booleans())
def test_features_are_those_of_the_whole_result(seed, width, peaked, odd):
    rng = np.random.default_rng(seed)
    scale = 4.0 if peaked else 1.0
    sketch = surveyed(lambda side, n: of_value(side + scale * rng.normal(size=width)), 3, width)
    x = np.round(rng.normal(size=width), 1)
    if odd:
        x[rng.integers(width)], x[rng.integers(width)] = np.nan, np.inf
    reduced = sketch.of(of_value(x))
    assert len(reduced.numbers) == len(set(reduced.names)) == FEATURES
    assert reduced.width == width
    assert np.array_equal(reduced.numbers[KEPT_ENTRIES], x[sketch.entries], equal_nan=True)
    finite = np.isfinite(x)
    x = np.where(finite, x, sketch.middle)
    off, ratio = x - sketch.middle, sketch.moved / sketch.spread
    if sketch.peaked:
        off, ratio = np.clip(off, -abs(sketch.moved) / 2, abs(sketch.moved) / 2), np.sign(sketch.moved)
    whole = [
        (off * ratio / sketch.spread).sum(),
        x.sum(),
        (x * x).sum(),
        (((x - sketch.middle) / sketch.spread) ** 2).sum(),
        x.max(),
        x.min(),
        (x == 0).sum(),
    ]
    shown = reduced.numbers[KEPT_ENTRIES.stop : KEPT_ENTRIES.stop + len(whole)]
    assert np.allclose(shown, whole, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert reduced.numbers[KEPT_ENTRIES.stop + len(SHARED) - 1] == (~finite).sum()
    assert SHARED[int(DIRECTION.argmax()) - KEPT_ENTRIES.stop] == "the direction in which the entries move"


def test_a_survey_finds_what_moves_and_whose_spread_differs():
    width = 500

    def run(side, seed):
        noise = np.random.default_rng(seed).normal(size=width)
        noise[7] = 0
        noise[8] *= 0.01
        noise[9] *= 1 + 9 * side
        return of_value(100 + noise + 0.1 * side)

    sketch = surveyed(run, 60, width)
    assert set(sketch.entries[:2].tolist()) == {7, 8}
    assert 9 in sketch.entries
    others = np.delete(np.arange(width), [7, 8, 9])
    assert np.allclose(sketch.moved[others], -0.1, atol=1e-5)
    assert not sketch.peaked
    assert sketch.spread.min() > 0


def test_entries_that_are_not_finite_hide_no_others():
    def run(side, seed):
        noise = np.random.default_rng([seed, side]).normal(size=400)
        noise[:3] = np.nan, np.inf, seed or -np.inf
        return of_value(noise + side)

    sketch = surveyed(run, 30, 400)
    held, out = (sketch.of(run(side, 99)).numbers for side in (0, 1))
    assert np.isfinite(np.delete(held, KEPT_ENTRIES)).all()
    assert held @ DIRECTION > out @ DIRECTION


@pytest.mark.parametrize("noise", ["normal", "uniform", "laplace"])
def test_medians_are_used_where_they_are_better(noise):
    def run(side, seed):
        return of_value(side + getattr(np.random.default_rng(seed), noise)(size=2000))

    assert surveyed(run, 40, 2000).peaked == (noise == "laplace")


def test_a_survey_without_results_of_this_width_knows_nothing():
    assert surveyed(lambda *_: of_value("none"), 5, 400) is unguided(400)
    assert surveyed(lambda side, n: of_value(np.ones(400 + (n > 0))), 5, 400) is unguided(400)


def test_where_widths_vary_a_survey_is_short():
    made = []

    def run(side, seed):
        made.append(seed)
        return of_value(np.ones(400 + seed))

    assert surveyed(run, 250, 900) is unguided(900)
    assert len(made) < 20


def test_medians_of_large_numbers_are_used():
    """Single precision would be wrong by up to 32,768 there."""

    def run(side, seed):
        return of_value(1e12 + 0.1 * side + np.random.default_rng(seed).laplace(size=2000))

    sketch = surveyed(run, 40, 2000)
    held, out = ([sketch.of(run(side, n)).numbers @ DIRECTION for n in range(50, 70)] for side in (0, 1))
    assert sketch.peaked
    assert np.mean(held) - np.mean(out) > 2 * np.std(held)


@deep
def test_no_mechanism_shows_more_than_its_epsilon():
    """Bounds at risk .05 from 20 sound mechanisms: at most 5 are wrong, but with probability 4e-4."""
    wrong, width = 0, 60
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])

        def run(side, n, seed=seed):
            return of_value(side + np.random.default_rng([seed, n]).laplace(0, 60.0, size=width))

        sketch = surveyed(run, 10, width)
        runs = (
            [sketch.of(of_value(side + rng.laplace(0, 60.0, size=width))) for _ in range(240)]
            for side in (0, 1)
        )
        wrong += shown(*runs, DIRECTION) > 1
    assert binom.sf(5, 20, 0.05) < 4e-4
    assert wrong <= 5


@deep
@pytest.mark.parametrize("name", ["sound", "a_tenth", "missing_at_one", "noise_of_one_side"])
def test_broken_functions_with_wide_results_are_refuted(tmp_path, name):
    found = attacked(tmp_path, name, 3000 if name == "noise_of_one_side" else 900)
    assert (found.verdict(Fraction(4)) == "REFUTED") == (name != "sound")
    assert "reduced to" in found.cut
    if name == "missing_at_one":
        assert f"entry {(WIDE_NUMBERS + 1) // 3} " in found.cause


class SlowAligned:
    """A crew of which a run with the same draws on both sides takes a second, and others no time."""

    seconds, left, hurried = 60.0, 60.0, False
    tally = SimpleNamespace(widest=20_000)

    def seconds_left(self):
        return self.left

    def set_datasets(self, datasets):
        pass

    def run(self, plays):
        self.left -= sum(words[1] == ALIGNED for _, *words in plays)
        return [of_value(0.0)] * len(plays)


def test_surveys_fit_into_the_time_of_a_run():
    _, runs = survey_for(SlowAligned(), 1, 500, 1, pace=1e-3)
    assert 2 <= 2 * runs <= 60 * PATIENCE


def test_results_just_below_the_limit_take_their_own_room(tmp_path):
    """A crew of 9,000 and of 10,001 numbers holds rows of 9,000, not of features alone."""
    (tmp_path / "two_widths.py").write_text(
        "import numpy as np\ndef f(data, rng):\n    return np.zeros(9000 + 1001 * int(data.sum()))\n"
    )
    with Crew(Code("two_widths:f", (str(tmp_path),)), seconds=60.0) as crew:
        crew.survey = ()
        crew.set_datasets([GIVEN_PAIR.left, GIVEN_PAIR.right])
        crew.run([(1, 1)])
        assert (crew.tally.widest, crew.tally.held) == (10_001, FEATURES)
        crew.run([(0, 1)])
        assert (crew.tally.widest, crew.tally.held) == (10_001, 9000)


def test_a_search_leaves_time_to_attack():
    crew, pairs = SlowAligned(), [GIVEN_PAIR] * 100
    assert len(_compared(crew, pairs, 1, Screen(len(pairs), (1, 2)), [])) < len(pairs)
    assert crew.hurried
    assert crew.left > 10


@deep
def test_reduced_results_are_named_where_the_first_runs_had_none(tmp_path):
    """Seed 3 gives a narrow result in all runs before the search, so there is no survey."""
    assert "reduced to 46 features" in attacked(tmp_path, "seldom_wide", 700).cut


@deep
def test_processes_and_kept_runs_do_not_change_the_answer(tmp_path):
    alone = attacked(tmp_path, "sound", 700)
    assert attacked(tmp_path, "sound", 700, jobs=2).reached == alone.reached
    for _ in range(2):  # the second time, all runs are taken from the file
        kept = kept_runs(tmp_path / "kept", {"claim": "4"})
        assert attacked(tmp_path, "sound", 700, kept=kept).reached == alone.reached
    assert (tmp_path / "kept").stat().st_size < 2_000_000  # features alone are kept


MILLION = """
import json, re, resource, sys
from fractions import Fraction
from pathlib import Path
from tests.audits.attack.test_wide_results import attacked
found = attacked(Path(sys.argv[1]), sys.argv[2], 1400, width=10**6, seconds=300.0)  # of 1,200 3.92 is the most
own = int(re.search("VmHWM: *([0-9]+) kB", Path("/proc/self/status").read_text().replace("\t", " "))[1])
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(json.dumps([found.verdict(Fraction(4)) == "REFUTED", found.reached.epsilon_lower, peak]))
"""


@deep
@pytest.mark.parametrize("name", ["sound", "missing_at_one"])
def test_a_million_numbers(tmp_path, name):
    """In a process of its own: its most memory (kilobytes; `ru_maxrss` begins with the parent's) is the audit's."""
    words = [sys.executable, "-c", MILLION, str(tmp_path), name]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    refuted, lower, peak = json.loads(done.stdout.splitlines()[-1])
    assert refuted == (name != "sound")
    assert 0 < lower < (TRUE if name == "sound" else np.inf)
    assert peak < 500_000


def test_one_seed_shows_which_entry_has_no_noise(tmp_path):
    """Else every pair that moves anything looks alike where slow code leaves room for one seed."""
    (tmp_path / "one_seed.py").write_text(
        "import numpy as np\n"
        "def f(data, rng):\n"
        "    noise = rng.laplace(0, 2, 6)\n"
        "    noise[3] = 0\n"
        "    return np.bincount(data.astype(int), minlength=6) + noise\n"
    )
    pairs = [Pair(np.array([0.0, 5.0]), np.array([float(k), 5.0]), "given") for k in range(1, 5)]
    with Crew(Code("one_seed:f", (str(tmp_path),)), seconds=60.0) as crew:
        compared = _compared(crew, pairs, 1, Screen(len(pairs), (1,)), [])
    assert max(compared, key=lambda each: each.moved).pair is pairs[2]
    assert len({round(each.moved, 6) for each in compared}) > 1
