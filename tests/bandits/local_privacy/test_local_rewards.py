"""The local setting: what people are shown and tell, sessions, refusals."""

from fractions import Fraction

import numpy as np
import pytest

from bandits.learning.session import Session
from bandits.local_privacy.channels import CHANNELS
from bandits.local_privacy.gp_ucb import LdpGpUcb
from bandits.local_privacy.learner import Question
from bandits.local_privacy.subject import RewardCourse, relative
from bandits.selection import forecasts
from bandits.space.points import grid, of_matrix
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from tests.looped import looped

ZERO = Fraction(0)
B = {"bound": Fraction(2), "noise_bound": Fraction(1)}


def small(**more):
    return LdpGpUcb(**{"rounds": 8, "points": 5, **B, **more})


def people(rounds=8, points=5, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(3 * np.linspace(0, 1, points)) + rng.uniform(-1, 1, (rounds, 1))


def run(subject, data, seed=0):
    return subject.play(data, rehearse(subject.proof(ZERO), Rehearsal(seed)), seed).public


def test_only_the_reward_of_the_point_that_was_shown_is_read():
    subject, data = small(), people()
    shown = run(subject, data)
    other = np.full_like(data, 2.0)
    other[np.arange(8), shown["points"]] = data[np.arange(8), shown["points"]]
    assert all(np.array_equal(part, shown[name]) for name, part in run(subject, other).items())


@looped("channel", CHANNELS)
def test_a_reward_of_any_value_is_answered(channel):
    data = people()
    data[:5] = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308])[:, None]
    assert np.isfinite(run(small(channel=channel), data)["answers"]).all()


def test_without_privacy_rewards_are_told_and_nothing_is_proved():
    subject, data = small(privacy="none"), people()
    shown = subject.play(data, NoNoise(), 0).public
    assert np.array_equal(shown["answers"], data[np.arange(8), shown["points"]])
    with pytest.raises(InputError, match="privacy is 'none'"):
        subject.proof(ZERO)


def test_gp_ucb_without_privacy_finds_the_best_point():
    subject = LdpGpUcb(rounds=300, points=20, privacy="none", **B)
    data = people(300, 20)
    late = subject.play(data, NoNoise(), 0).public["points"][200:]
    assert np.abs(late - np.argmax(data[0])).mean() < 2


@looped(
    ("wrong", "said"),
    [
        ({"epsilon": Fraction(0)}, "epsilon"), ({"epsilon": Fraction(31)}, "epsilon"),
        ({"bound": Fraction(-1)}, "bound >= 0"),
        ({"noise_bound": Fraction(-1)}, "noise_bound >= 0"),
        ({"bound": Fraction(0), "noise_bound": Fraction(0)}, "not both 0"),
        ({"channel": "gauss"}, "known: duchi"), ({"privacy": "some"}, "known: local, none"),
        ({"kernel": "linear"}, "known: squared-exponential"), ({"points": 1}, "points"),
        ({"kernel": "delays-by-hour"}, "give points = 41"),
        ({"lengthscale": Fraction(0)}, "length scale"), ({"rounds": 0}, "rounds"),
        ({"width": Fraction(-1)}, "width"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        small(**wrong)


def test_the_bounds_have_no_default():
    with pytest.raises(TypeError, match="bound"):
        LdpGpUcb()


@looped("shown", [(0.0, 0.0), (0.0, np.inf), (0.0, np.nan), (np.nan, 1.0), (np.inf, 1.0)])
def test_a_device_refuses_a_centre_or_clip_that_is_none(shown):
    with pytest.raises(InputError, match="centre"):
        relative(0.5, *shown)


class Asks:
    """A learner that notes what it is told."""

    def __init__(self):
        self.asked, self.told = 0, []

    def ask(self):
        self.asked += 1
        return Question(self.asked % 5, 0.25, 2.0)

    def tell(self, point, value, variance):
        self.told.append((point, value, variance))


def test_who_is_silent_is_passed_over_and_the_next_is_asked_the_same():
    learner, subject = Asks(), small()
    course = RewardCourse(subject, learner)
    first = course.ask()
    course.close(np.zeros(1), np.array([False]))
    assert np.array_equal(course.ask(), first)
    course.close(np.ones(1), np.array([True]))
    assert learner.told == [(1, 2.25, 4 * subject.noise_scale)]
    course.ask()
    assert learner.asked == 2
    assert np.array_equal(course.view().public["answers"], [np.nan, 1.0], equal_nan=True)


def test_a_session_is_the_same_course_as_a_dataset(tmp_path):
    subject, data = small(), people()
    whole = run(subject, data)
    init(
        url := f"sqlite:///{tmp_path}/budget.db",
        epsilon=1,
        delta=0,
        unit="person",
        relation="replace-one",
        measure="pure",
    )
    with Ledger.open(url) as ledger, Session.open(subject, ledger, tmp_path / "state") as session:
        for slot in range(8):
            ticket = session.ask()
            assert ticket.action == [float(whole[name][slot]) for name in ("points", "centres", "clips")]
            session.tell(ticket, whole["answers"][slot])
        ended = session.result().public
        assert ledger.show()["spent"]["epsilon"]["upper"] == 1
    assert all(np.array_equal(part, whole[name]) for name, part in ended.items())


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_session_takes_messages_and_no_reward(channel, tmp_path):
    """All that is told is for everyone, so that a reward which nobody protected is not taken for a message."""
    subject = small(channel=channel)
    message = run(subject, people())["answers"][0]
    with Session.rehearse(subject, tmp_path / "state", seed=0) as session:
        ticket = session.ask()
        with pytest.raises(InputError, match=f"0.73 is no message of the channel '{channel}'"):
            session.tell(ticket, 0.73)
        assert session.pending == [1]
        assert session.tell(ticket, message)
        session.tell(session.ask(), np.nan)
        assert session.result().public["answers"].tolist() == [message, 0.0]


@pytest.mark.parametrize("others", [(3,), (3, 1)])
def test_rounding_coins_are_no_noise_of_the_same_seed(others, monkeypatch):
    """Rehearsals and reproductions seed noise by the same number, alone or with a 1."""
    coins = []
    monkeypatch.setattr(LdpGpUcb, "message", lambda *given: coins.append(given[-1]) or 0.0)
    small().play(people(), NoNoise(), 3)
    assert not set(coins) & set(np.random.default_rng(others).random(100))


def test_points_are_those_of_the_line_with_a_kernel_that_is_one_at_most():
    kernel = grid(30).kernel("matern-5/2", 0.2)
    assert np.allclose(of_matrix(kernel).kernel("matern-5/2", 1.0), kernel, atol=1e-9)  # the matrix's own
    assert np.diag(kernel).max() == 1


def test_the_shipped_data_are_points_too():
    assert len(small(kernel="delays-by-carrier", points=29).domain_points) == 29


@looped(
    ("kernel", "said"),
    [
        (np.ones((2, 3)), "square"),
        (np.zeros((0, 0)), "square"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.array([[1.0, 0.2], [0.3, 1.0]]), "symmetric"),
        (np.array([[2.0, 0.0], [0.0, 1.0]]), "at most 1"),
        (np.array([[0.5, 0.9], [0.9, 0.5]]), "positive semidefinite"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(kernel, said):
    with pytest.raises(InputError, match=said):
        of_matrix(kernel)


@looped(
    ("epsilon", "best"), [(Fraction(1, 2), "duchi"), (Fraction(2), "piecewise"), (Fraction(6), "piecewise")]
)
def test_the_selector_takes_the_channel_whose_answers_vary_least_and_says_why(epsilon, best):
    kernel = grid(50).kernel("squared-exponential", 0.2)
    chosen = forecasts.choose_local(epsilon, Fraction(5), Fraction(1), 10_000, kernel)
    assert (chosen.subject, chosen.parameters) == ("local-posterior", {"channel": best})
    assert all(name in chosen.because for name in CHANNELS)
    assert "stand out" in chosen.because
    squares = {name: forecasts.answer_square(name, epsilon) for name in CHANNELS}
    assert squares[best] == min(squares.values())


def test_the_selector_says_where_nothing_can_be_learnt():
    kernel = grid(50).kernel("squared-exponential", 0.2)
    chosen = forecasts.choose_local(Fraction(1, 100), Fraction(1), Fraction(1), 100, kernel)
    assert "no better than chance" in chosen.because


def test_the_mean_square_of_one_bit_is_that_of_its_two_values():
    assert forecasts.answer_square("duchi", Fraction(1)) == pytest.approx(1 / np.tanh(0.5) ** 2)


@looped(
    "wrong",
    [
        (Fraction(31), Fraction(1), Fraction(1), 9, np.eye(2)),
        (Fraction(1), Fraction(0), Fraction(1), 9, np.eye(2)),
        (Fraction(1), Fraction(1), Fraction(-1), 9, np.eye(2)),
        (Fraction(1), Fraction(1), Fraction(1), 0, np.eye(2)),
        (Fraction(1), Fraction(1), Fraction(1), 9, np.ones((2, 3))),
    ],
)
def test_the_selector_refuses_what_makes_no_sense(wrong):
    with pytest.raises(InputError, match=r"needed|square"):
        forecasts.choose_local(*wrong)


def test_a_state_file_of_another_channel_is_refused(tmp_path):
    one = Fraction(1)
    made = {"rounds": 6, "points": 4, "bound": one, "noise_bound": one}
    with Session.rehearse(LdpGpUcb(**made), tmp_path / "state", seed=0) as session:
        session.ask()
    for other in ({"channel": "laplace"}, {"noise_bound": one / 2}, {"epsilon": one / 2}):
        with pytest.raises(InputError, match="another"):
            Session.rehearse(LdpGpUcb(**{**made, **other}), tmp_path / "state", seed=0)
