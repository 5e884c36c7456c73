"""Functions of unusual shape that are not in the catalogue: broken ones are refuted, sound twins are not."""

from fractions import Fraction

import pytest

from audits.attack.black_box import ALIKE, attack
from audits.attack.runs import Challenge
from audits.datasets.named_pairs import candidates
from audits.datasets.shape import Shape
from audits.sandbox.crew import Crew
from audits.subjects.code import Code

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
]
SOUND = ["none_if_few", "fails_if_many", "two_halves", "noisy_length", "sorted_count", "text"]


def attacked(planted, name, trials, risk):
    with Crew(Code(f"strange_functions:{name}", (str(planted),)), seconds=10**6) as crew:
        plan = Challenge(Fraction(1), Fraction(0), trials, risk, 1)
        return attack(crew, candidates(DATA, 1), plan, lambda _: None)


@pytest.mark.slow
@pytest.mark.statistical  # seeded; a broken one is missed, if the code is right, with probability below .01
@pytest.mark.parametrize("name", BROKEN)
def test_broken_functions_are_refuted(root, name):
    assert attacked(root / "tests" / "planted", name, 3000, Fraction(1, 1000)).refuted(Fraction(1))


@pytest.mark.slow
@pytest.mark.statistical  # seeded; six attacks at level .001: false alarm at most .006
@pytest.mark.parametrize("name", SOUND)
def test_sound_functions_are_left_alone(root, name):
    found = attacked(root / "tests" / "planted", name, 3000, Fraction(1, 1000))
    assert 0.4 < found.reached.epsilon_lower <= 1
    assert ALIKE not in found.findings


@pytest.mark.slow
@pytest.mark.parametrize("name", ["by_the_clock", "unvaried"])
def test_what_repeats_itself_is_not_called_free_of_noise(root, name):
    """Neither of the two varies in a few runs, and only one of them has no noise: nobody can tell which."""
    found = attacked(root / "tests" / "planted", name, 300, Fraction(1, 1000)).findings
    assert ALIKE in found
    assert not any(word in " ".join(found) for word in ("deterministic", "has no noise"))
