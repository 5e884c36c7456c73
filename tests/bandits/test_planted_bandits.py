"""Every planted bandit loses the hypotheses that it breaks, read off the running code; the sound ones none."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import pytest

from audits.evidence.checks import check_of
from audits.evidence.search import search
from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.local_gp_ucb import LocalGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.noise.proved import Proved
from dpaccount.proof.derivation import hypotheses

DELTA = Fraction(1, 10**6)


def _twins():
    file = Path(__file__).parent.parent / "planted" / "bandit_twins.py"
    spec = importlib.util.spec_from_file_location("bandit_twins", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SMALL


TWINS = _twins()


def broken(subject, examples=25):
    """Return the rules of the hypotheses with a counterexample, without shrinking them."""
    theorem = subject.proof(DELTA)
    tested = hypotheses(theorem)
    seen = search(
        subject,
        Proved(theorem),
        [check_of(Proved(theorem), each)[0] for each in tested],
        examples=examples,
        seed=1,
    )
    return {each.rule for each, failing in zip(tested, seen.failing, strict=True) if failing is not None}


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_planted_bandit_is_refuted(twin):
    """Most fall within 25 examples; what Hypothesis tries varies a little with the modules that are loaded."""
    assert any(broken(twin(**TWINS[twin]), examples) & twin.loses for examples in (25, 150, 1000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        PhasedPosterior(rounds=40, sigma=Fraction(1)),
        SurfaceGpUcb(rounds=60, batch=10, nodes_per_axis=2),
        SurfaceGpUcb(rounds=60, batch=10, nodes_per_axis=2, calibration="published"),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3, stream="honaker"),
        JdpGpUcb(rounds=12, candidates=3, nodes_per_axis=2),
        JdpGpUcb(rounds=12, candidates=3, nodes_per_axis=2, calibration="published", stream="honaker"),
        PhasedGpUcb(rounds=40, candidates=2, size=6, nodes_per_axis=3),
        DoublingGpUcb(rounds=12, candidates=3, nodes_per_axis=2, mode="carry"),
        DoublingGpUcb(rounds=12, candidates=3, nodes_per_axis=2, mode="restart"),
        LocalGpUcb(rounds=10, candidates=2, nodes_per_axis=2),
        LocalGpUcb(rounds=10, candidates=2, nodes_per_axis=2, calibration="published"),
    ],
    ids=repr,
)
def test_the_sound_one_beside_it_loses_nothing(subject):
    assert broken(subject) == set()
