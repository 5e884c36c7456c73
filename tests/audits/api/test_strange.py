"""Functions of unusual shape that are not in the catalogue: broken ones are refuted, sound twins are not."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.black_box import attack
from audits.attack.pair_search import ALIKE, FINER, KEPT, ComparedPair, Trial, _next_round, _shortlist
from audits.attack.runs import SCREENING, Challenge
from audits.datasets.bases import Pair
from audits.datasets.named_pairs import candidates
from audits.datasets.shape import Shape
from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import of_error, of_value
from audits.subjects.code import Code
from tests.depth import deep, examples

DATA = Shape(8, None, (0.0,), (9.0,), integer=True, relation="replace-one")
BROKEN = [
    "early_exit",
    "key_of_dict",
    "length",
    "mark_in_text",
    "sorted_in_place",
    "seed_of_data",
    "fails_at_five",
    "absent_number",
    "squared_deviations",
    "names_the_sum",
]
SOUND = ["none_if_few", "fails_if_many", "two_halves", "noisy_length", "sorted_count", "text"]


@deep
@pytest.mark.statistical(0.01)  # it is missed
def test_a_kind_of_result_that_is_rare_on_few_pairs_is_not_lost_beside_numbers_that_move(root):
    found = attacked(root / "tests" / "planted", "rare_kind", 5000, Fraction(1, 1000))
    assert found.verdict(Fraction(1)) == "REFUTED"


@cache
def pairs():
    return candidates(DATA, 1)


def tried(odd, promise):
    return Trial(pairs()[0], promise=promise, odd=odd)


@deep
@examples(30)
@given(st.lists(st.tuples(st.floats(0, 9), st.integers(0, 2)), min_size=40, max_size=60), st.randoms())
def test_pairs_that_differ_in_more_than_numbers_are_kept_through_all_rounds(drawn, random):
    """However far the numbers of others move, and however seldom these differ."""
    rare = random.sample(range(len(drawn)), SCREENING[0][0] // KEPT)
    compared = [
        ComparedPair(pair, [], 1, 0.0) if k in rare else ComparedPair(pair, [], 0, moved)
        for k, (pair, (moved, _)) in enumerate(zip(pairs(), drawn, strict=False))
    ]
    new = {each: 1 for each in compared if random.random() < 0.3}
    assert {compared[k] for k in rare} <= set(_shortlist(compared, SCREENING[0][0], new))
    trials = [tried(0, promise) for promise, _ in drawn] + [tried(1 + k, -1.0) for k in range(9)]
    for kept, of_base, _ in SCREENING:
        trials = _next_round(trials, kept, of_base)
        assert sum(trial.odd > 0 for trial in trials) >= min(kept // KEPT, 9)
        assert max(trial.odd for trial in trials) == 9
        assert [trial.promise for trial in trials] == sorted((t.promise for t in trials), reverse=True)


def test_runs_that_fail_on_one_side_alone_are_told_however_few():
    one, other = of_value(1), of_error(ValueError("negative for 7"))
    trial = Trial(candidates(DATA, 1)[0], [one] * 9 + [other], [one] * 10)
    assert trial.unlike_runs == 1
    assert Trial(trial.candidate, trial.left, trial.left).unlike_runs == 0
    assert Trial(trial.candidate, [one] * 3, [of_value(2)] * 3).unlike_runs == 0  # numbers are for scores


def test_a_pair_whose_floats_have_finer_bits_on_one_side_is_kept():
    """Of noise beside 0 a part has bits that the noise beside 1 cannot have; on a grid neither has."""
    noise = np.random.default_rng(1).laplace(0, 1, (3, 200))
    pair = candidates(DATA, 1)[0]

    def trial(left, right, promise):
        return Trial(pair, *([of_value(float(x)) for x in side] for side in (left, right)), promise=promise)

    bare = trial(noise[0], noise[1] + 1.0, -1.0)
    swapped = trial(bare_right := noise[1] + 1.0, noise[0], -1.0)
    assert bare.finer == swapped.finer > 5 * FINER
    assert trial(noise[0], noise[1], 0.0).finer < FINER
    grids = trial(np.round(noise[0] * 64) / 64, np.round(bare_right * 64) / 64, 0.0)
    assert grids.finer < FINER
    others = [trial(noise[0] + 1.0, noise[2] + 1.0, float(k)) for k in range(30)]
    for kept, of_base, _ in SCREENING:
        assert bare in _next_round([*others, bare], kept, of_base)
        assert grids not in _next_round([*others, replace(grids, promise=-1.0)], min(kept, 15), of_base)


def attacked(planted, name, trials, risk, seed=1):
    with Crew(Code(f"strange_functions:{name}", (str(planted),)), seconds=10**6) as crew:
        plan = Challenge(Fraction(1), Fraction(0), trials, risk, seed)
        return attack(crew, candidates(DATA, 1), plan, lambda _: None)


@deep
@pytest.mark.statistical(0.01)  # a broken one is missed
@pytest.mark.parametrize("name", BROKEN)
def test_broken_functions_are_refuted(root, name):
    assert (
        attacked(root / "tests" / "planted", name, 3000, Fraction(1, 1000)).verdict(Fraction(1)) == "REFUTED"
    )


@deep
@pytest.mark.statistical(2e-2)  # eighteen attacks at level .001
@pytest.mark.parametrize("name", SOUND)
def test_sound_functions_are_left_alone(root, name):
    """Of 500 training runs a side one seed in 15 has a rare event that looks better than it is."""
    found = [attacked(root / "tests" / "planted", name, 3000, Fraction(1, 1000), seed) for seed in (1, 2, 3)]
    shown = sorted(each.reached.epsilon_lower for each in found)
    assert 0.4 < shown[1] <= shown[2] <= 1
    assert not any(ALIKE in each.findings for each in found)


@deep
@pytest.mark.parametrize("name", ["by_the_clock", "unvaried"])
def test_what_repeats_itself_is_not_called_free_of_noise(root, name):
    """Neither of the two varies in a few runs, and only one of them has no noise: nobody can tell which."""
    found = attacked(root / "tests" / "planted", name, 300, Fraction(1, 1000)).findings
    assert ALIKE in found
    assert not any(word in " ".join(found) for word in ("deterministic", "has no noise"))


@deep
@pytest.mark.parametrize("chance", [0.01, 0.03, 0.1])
def test_few_results_are_not_called_one(in_process, monkeypatch, chance):
    """Draws from rng, and the first runs agree by chance: only what all runs showed is said of all."""
    crew = in_process(Code(f"{__name__}:seldom", ()), seconds=10**6)
    crew.function = lambda data, rng: int(rng.random() < chance)
    pair = Pair(np.zeros(3), np.ones(3), "given")
    for seed in range(8):
        plan = Challenge(Fraction(1), Fraction(0), 3000, Fraction(1, 20), seed)
        assert ALIKE not in attack(crew, [pair], plan, lambda _: None).findings


def seldom(data, rng):
    """Stand-in for a function that the test replaces."""
    return 0
