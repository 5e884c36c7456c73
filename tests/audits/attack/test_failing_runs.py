"""A run that fails is no score, unless the code under attack failed by itself: what the machine lacks refutes nothing."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from audits.attack import white_box
from audits.attack.white_box import World
from audits.datasets.bases import Pair
from dpaccount.noise.proved import Proved
from dpaccount.work.run import TaskError
from mechanisms.laplace_sum import LaplaceSum


@dataclass(frozen=True)
class Users(LaplaceSum):
    """A user's class: a subclass of ours, defined elsewhere."""


LEFT, RIGHT = np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]])
PAIR = Pair(LEFT, RIGHT, "made up", unit=1)
OURS, THEIRS = LaplaceSum(low=0, high=1), Users(low=0, high=1)
PROVED = Proved(OURS.proof(Fraction(0)))
WHERE = ("record", "replay")  #: the run itself, and its repetition on the neighbour


def world(subject):
    return World(subject, PAIR, 3)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("error", [MemoryError, OSError, PermissionError, ConnectionError])
@pytest.mark.parametrize("subject", [OURS, THEIRS], ids=["ours", "theirs"])
def test_what_the_machine_lacks_is_no_score(where, error, subject, monkeypatch):
    def fails(*_):
        raise error("no room")

    monkeypatch.setattr(white_box, where, fails)
    with pytest.raises(error):
        world(subject).score(PROVED, white_box._sampler(world(subject), 1, 0))
    with pytest.raises(TaskError, match=error.__name__):
        white_box.scores([world(subject)], PROVED, [range(3)], 1)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("error", [ValueError, RuntimeError, SystemExit])
def test_an_exception_of_a_users_code_is_no_information_and_one_of_ours_ends_the_attack(
    where, error, monkeypatch
):
    def fails(*_):
        raise error("odd data")

    monkeypatch.setattr(white_box, where, fails)
    assert world(THEIRS).score(PROVED, white_box._sampler(world(THEIRS), 1, 0))[:2] == (0.0, 0.0)
    with pytest.raises(error):
        world(OURS).score(PROVED, white_box._sampler(world(OURS), 1, 0))


def test_runs_that_do_not_fail_have_scores():
    (found,) = white_box.scores([world(OURS)], PROVED, [range(40)], 1)
    assert found.shape == (40, 3)
    assert len(np.unique(found[:, 0])) > 1
    (theirs,) = white_box.scores([world(THEIRS)], PROVED, [range(40)], 1)
    assert found.tobytes() == theirs.tobytes()
