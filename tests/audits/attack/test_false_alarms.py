"""How often sound functions are accused, the search for a pair included: at most the stated error."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from audits.attack.black_box import attack
from audits.attack.runs import Challenge, silent
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Shape
from audits.subjects.code import Code

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
        count += found.refuted(Fraction(1))
    return count


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_tight_function_is_accused_at_most_as_often_as_stated(in_process, relation):
    """Randomised response uses its whole budget, so every luck of the search would show."""
    assert accused(in_process, "keeps_or_lies", relation) <= binom.ppf(0.999, ATTACKS, float(RISK))
