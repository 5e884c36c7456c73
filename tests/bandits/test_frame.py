"""The table of the frame says what the bandits' courses and derivations say."""

from fractions import Fraction
from itertools import pairwise

import pytest

from audits.subjects.catalogue import entries, example_values
from bandits.learning import frame
from dpaccount.noise.receipt import NoNoise
from dpaccount.proof.derivation import write

ENTRIES = {entry.name: entry for entry in entries() if entry.layer == "bandits"}


def made(name):
    """Return a small bandit with some noise, so that none is calibrated."""
    parameters = ENTRIES[name].parameters()
    small = {"rounds": 200, "sigma": Fraction(8), "law": "gaussian", "delta": Fraction(1, 10**6)}
    small |= {"candidates": 2, "surface": "styblinski-tang-20"}
    if name != "logged-policy":
        small |= {"actions": 3, "contexts": 3}
    known = {key: value for key, value in small.items() if key in parameters}
    return ENTRIES[name].made_by(**example_values(ENTRIES[name].made_by) | known)


def stream_of(steps):
    """Return how sums are released, by the rules of a derivation."""
    rules = {step["rule"] for step in steps}
    if rules & {"exponential", "permute_and_flip"}:
        return frame.SCORES
    if rules & {"factorised", "buffered"}:
        return frame.ROWS
    if "local" in rules:
        return frame.MESSAGES
    if "assume_tree" in rules:
        return frame.TREES
    (covers,) = [step["with"]["covers"] for step in steps if step["rule"] == "assume_covers"]
    ordered = sorted(covers)
    apart = all(one[1] < other[0] for one, other in pairwise(ordered))
    return frame.APART if apart else frame.TREES


def domain_of(subject):
    """Return who brings what is played, by a course over nobody."""
    if not hasattr(subject, "course"):
        return frame.ARMS if hasattr(subject, "arms") else frame.CELLS
    course = subject.course(NoNoise(), 0)
    if course.context is None:
        return frame.BROUGHT if hasattr(subject, "dimension") else frame.GRID
    return frame.CELLS if hasattr(subject, "contexts") else frame.BROUGHT


def test_every_bandit_has_its_point():
    assert set(frame.BANDITS) == set(ENTRIES) - {"po-curator"}


@pytest.mark.parametrize("name", frame.BANDITS)
def test_domain_and_stream_are_those_of_the_code(name):
    subject, point = made(name), frame.BANDITS[name]
    assert point.stream == stream_of(write(subject.proof(Fraction(1, 10**6))))
    assert point.domain == domain_of(subject)
