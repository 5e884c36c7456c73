"""Calibrated noise is enough, and a millionth less is not."""

from fractions import Fraction

import pytest

from dpaccount.answers import calibrate_answer
from dpaccount.calibrate import PARAMETERS, calibrate
from dpaccount.errors import InputError

TIGHT = sorted(set(PARAMETERS) - {"exponential", "bounded_range", "zcdp"})


@pytest.mark.parametrize("name", TIGHT)
def test_least_noise_is_proved_and_least(name):
    rounds = 12 if name in ("tree", "matrix_factorisation") else None
    found = calibrate(name, Fraction(1), Fraction(1, 10**5), rounds=rounds)
    assert found.bounds.upper <= 1
    assert found.bounds.lower >= 1 - Fraction(1, 10**6)
    assert Fraction(found.text) == found.value


def test_known_values():
    assert calibrate_answer("gaussian", epsilon=Fraction(1), delta=Fraction(1, 10**5))["value"].startswith(
        "3.7306316"
    )
    assert calibrate("laplace", Fraction(1), Fraction(0), count=3).value == 3
    many = calibrate("gaussian", Fraction(1), Fraction(1, 10**5), count=10**9, sensitivity=Fraction(2))
    assert abs(float(many.value) / (2 * 10**4.5 * 3.730631634816) - 1) < 1e-9


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("poisson_subsampled", {}, "cannot be calibrated"),
        ("tree", {}, "rounds"),
        ("gaussian", {"rounds": 3}, "no rounds"),
        ("pure", {"sensitivity": Fraction(2)}, "no sensitivity"),
        ("gaussian", {"sensitivity": Fraction(0)}, "costs nothing"),
        ("gaussian", {"delta": Fraction(0)}, "no noise"),
        ("gaussian", {"delta": Fraction(1)}, "out of range"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        calibrate(name, Fraction(1), options.pop("delta", Fraction(1, 10**5)), **options)
