"""The published bandits on local rewards: what they assume, what they show, what they refuse."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from bandits.ldp_ata_gp_ucb import LdpAtaGpUcb
from bandits.ldp_moma_gp_ucb import LdpMomaGpUcb
from bandits.ldp_tgp_ucb import LdpTgpUcb
from bandits.learning.session import Session
from bandits.local_privacy.channels import CHANNELS, TABLES
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from papers.zhou.panels import kernel_function
from tests.depth import deep
from tests.looped import looped

ZERO = Fraction(0)
B = {"bound": Fraction(2), "noise_bound": Fraction(1)}
MADE = (LdpTgpUcb, LdpAtaGpUcb, LdpMomaGpUcb)


def small(made, **more):
    return made(**{"rounds": 12, "points": 5, **B, **more})


def people(rounds=12, points=5, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(3 * np.linspace(0, 1, points)) + rng.uniform(-1, 1, (rounds, 1))


def run(subject, data, seed=0):
    return subject.play(data, rehearse(subject.proof(ZERO), Rehearsal(seed)), seed).public


@looped("made", MADE)
@looped("channel", CHANNELS)
def test_one_message_a_person_costs_epsilon(made, channel):
    subject = small(made, channel=channel, epsilon=Fraction(3, 2))
    assert point(subject.proof(ZERO)) == (Fraction(3, 2), 0)
    data = people()
    data[:3] = np.array([np.nan, np.inf, -np.inf])[:, None]
    shown = run(subject, data)
    assert np.isfinite(shown["answers"]).all()
    assert (shown["centres"] == 0).all()
    assert (shown["clips"] == 3).all()


def test_a_person_who_answers_all_replays_is_charged_for_all():
    """As `dpaccount claims zhou-moma --set users=same` says: k times the cost of one."""
    subject = small(LdpMomaGpUcb, people=5, users="same")
    assert point(subject.proof(ZERO)) == (5, 0)
    assert subject.domain().rows == 3  # 12 slots: 5, 5, 2
    shown = run(subject, people(3))
    assert (shown["points"][:5] == shown["points"][0]).all()
    assert point(small(LdpMomaGpUcb, people=5).proof(ZERO)) == (1, 0)


@looped("made", MADE)
def test_without_privacy_rewards_are_told_and_nothing_is_proved(made):
    subject, data = small(made, privacy="none"), people()
    shown = subject.play(data, NoNoise(), 0).public
    assert np.array_equal(shown["answers"], data[np.arange(12), shown["points"]])
    with pytest.raises(InputError, match="privacy is 'none'"):
        subject.proof(ZERO)


@deep
@pytest.mark.statistical(1)  # one seed
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("tails", ["bounded", "heavy"])
def test_without_privacy_it_learns(made, tails):
    """Regret below a quarter of random."""
    subject = made(
        rounds=400, points=30, privacy="none", bound=Fraction(4), noise_bound=Fraction(1),
        noise_moment=Fraction(3) if tails == "heavy" else None,
    )  # fmt: skip
    world = kernel_function(subject.prior, 400, 3, tails)
    played = subject.play(world.rows, NoNoise(), 0).public["points"]
    assert world.regrets(played).sum() < world.at_random / 4


@pytest.mark.parametrize("users", ["new", "same"])
def test_a_session_of_moma_is_the_course_of_a_dataset(tmp_path, users):
    """Slots answer one by one, whoever they are."""
    subject = small(LdpMomaGpUcb, people=3, users=users)
    whole = run(subject, people(subject.domain().rows))
    with Session.rehearse(subject, tmp_path / "state", seed=0) as session:
        for slot in range(12):
            ticket = session.ask()
            assert ticket.action[0] == whole["points"][slot]
            session.tell(ticket, whole["answers"][slot])
        assert session.asked == 12


# ------------------------------------------------------------------ what they assume


def test_moments_of_duchis_bit():
    """±3(e + 1)/(e − 1), whatever the reward."""
    payoffs = small(LdpTgpUcb).payoffs
    largest = 3 * (exp(1) + 1) / (exp(1) - 1)
    assert payoffs.start == pytest.approx(largest)
    assert payoffs.sure
    assert payoffs.moment == pytest.approx(largest**2)
    assert payoffs.noise_moment == pytest.approx(largest**2)  # less f², of which nothing is known


def test_moments_of_laplace_noise_are_those_of_the_text():
    """L = 2(B + R)/ε, c = R² + 2L²; v is B² + R² + 2L² there, and with the clip (B + R)² + 2L²."""
    payoffs = small(LdpTgpUcb, channel="laplace").payoffs
    assert payoffs.scale == 6
    assert payoffs.start == 3
    assert payoffs.noise_moment == pytest.approx(1 + 72)
    assert payoffs.moment == pytest.approx(9 + 72)
    assert not payoffs.sure


def test_moments_of_rewards_as_they_are():
    heavy = small(LdpTgpUcb, privacy="none", noise_moment=Fraction(3)).payoffs
    assert (heavy.moment, heavy.noise_moment, heavy.tail_power) == (7, 3, None)
    bounded = small(LdpTgpUcb, privacy="none").payoffs
    assert (bounded.moment, bounded.noise_moment, bounded.start, bounded.sure) == (5, 1, 3, True)
    few = small(LdpTgpUcb, privacy="none", noise_moment=Fraction(3), order=Fraction(1, 2)).payoffs
    assert few.moment == pytest.approx(2**0.5 * (2**1.5 + 3))
    weibull = small(LdpTgpUcb, privacy="none", tail_power=Fraction(1, 2), tail_scale=Fraction(2)).payoffs
    assert (weibull.start, weibull.scale, weibull.tail_power) == (2, 2, 0.5)


@looped("channel", TABLES)
def test_messages_have_the_moments_that_are_assumed(channel):
    """From the channel's table, for mean rewards f and rewards of mean f at the ends of what is possible."""
    subject = small(LdpTgpUcb, channel=channel)
    payoffs, (first, second) = subject.payoffs, subject.by.moments
    places = [3 * float(mean) for mean in first]
    squares = dict(zip(places, (9 * float(square) for square in second), strict=True))
    assert max(squares.values()) <= payoffs.moment * (1 + 1e-12)
    assert payoffs.start == pytest.approx(3 * subject.by.largest)
    middle = 0.0  # f = 0, rewards ±0.75: places, so that no coin is needed
    spread = (squares[0.75] + squares[-0.75]) / 2 - middle**2
    assert spread <= payoffs.noise_moment


@pytest.mark.statistical(2e-6)
def test_laplace_messages_have_the_moments_that_are_assumed():
    """Means of 3000 messages, 5 standard errors: chance 3e-7 each."""
    many, subject = 3000, small(LdpTgpUcb, channel="laplace", rounds=3000)
    rng, noise = np.random.default_rng(5), rehearse(subject.proof(ZERO), Rehearsal(9))
    told = np.array(
        [3 * subject.by.send(noise, i, (2 + rng.uniform(-1, 1)) / 3, rng.random()) for i in range(many)]
    )
    payoffs = subject.payoffs
    for square, most in ((told**2, payoffs.moment), ((told - 2) ** 2, payoffs.noise_moment)):
        assert square.mean() - 5 * square.std() / many**0.5 <= most
    assert abs(told.mean() - 2) <= 5 * told.std() / many**0.5
    cut = payoffs.start + payoffs.scale * np.log(20)
    assert (np.abs(told) > cut).mean() <= 1 / 20 + 5 * (0.05 / many) ** 0.5


# ------------------------------------------------------------------ refusals


@looped(
    ("made", "wrong", "said"),
    [
        (LdpAtaGpUcb, {"constants": "best"}, "known: theory, practical"),
        (LdpAtaGpUcb, {"order": ZERO}, "alpha"),
        (LdpAtaGpUcb, {"order": Fraction(3, 2), "privacy": "none"}, "alpha"),
        (LdpAtaGpUcb, {"order": Fraction(1, 2)}, "second moment"),
        (LdpAtaGpUcb, {"noise_moment": Fraction(-1)}, "noise_moment"),
        (LdpAtaGpUcb, {"bound": ZERO}, "nothing to learn"),
        (LdpTgpUcb, {"tail_power": Fraction(1)}, "leave them out"),
        (LdpTgpUcb, {"tail_power": ZERO, "privacy": "none"}, "above 0"),
        (LdpTgpUcb, {"tail_scale": Fraction(5)}, "both or neither"),
        (LdpMomaGpUcb, {"people": 13}, "k <= rounds"), (LdpMomaGpUcb, {"people": 0}, "k <= rounds"),
        (LdpMomaGpUcb, {"constants": "theory"}, "an epoch takes 228 people"),
        (LdpMomaGpUcb, {"users": "some"}, "known: new, same"),
        (LdpTgpUcb, {"epsilon": ZERO}, "epsilon"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(made, wrong, said):
    with pytest.raises(InputError, match=said):
        small(made, **wrong)
