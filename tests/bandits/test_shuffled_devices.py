"""Devices that randomise their own answers: their law, what a shuffler shows, and what a session takes."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from bandits.arm_phases import ArmPhases
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.learning.shuffled_bits import TRUTH_BITS, ShuffledBits
from bandits.local_posterior import LocalPosterior
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.space.points import grid
from dpaccount.errors import InputError
from dpaccount.ledger.entry import DRAWING, RELEASE
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.samplers import Rehearsal
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 100)
BANDIT = ArmPhases(rounds=60, arms=3, block=10, law="shuffled", delta=DELTA)
BITS = BANDIT.bits


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


class Coins:
    """Coins that fall as they are told."""

    def __init__(self, *falls):
        self.falls = list(falls)

    def below(self, _):
        return self.falls.pop(0)


def chance(number):
    """Return the exact chance of 1, over all coins: those of the bit below `number` make it 1, others do not."""
    share = int(min(max(number, 0), 1) * 2**53)
    law = Fraction(share, 2**53)
    found = Fraction(0)
    for weight, coins in ((law, {0, max(share - 1, 0)}), (1 - law, {min(share, 2**53 - 1), 2**53 - 1})):
        for bit in coins if weight else ():
            ones = sum(BITS.message(number, Coins(bit, each)) for each in range(2**TRUTH_BITS))
            found += weight * Fraction(ones, 2**TRUTH_BITS * len(coins))
    return found


@deep
@looped(("number", "bit"), [(0.0, 0), (1.0, 1), (0.25, Fraction(1, 4)), (0.5, Fraction(1, 2))])
def test_a_device_sends_what_the_proof_has_as_its_table(number, bit):
    """Exactly, over all of its coins; what is out of range is clipped, and NaN is one half."""
    assert chance(number) == bit * BITS.table[1][1] + (1 - bit) * BITS.table[0][1]
    assert (chance(7.5), chance(-1e300)) == (chance(1.0), chance(0.0))
    for at in (0, 2**52 - 1, 2**52, 2**53 - 1):
        assert BITS.message(float("nan"), Coins(at, 0)) == BITS.message(0.5, Coins(at, 0))


def test_a_devices_own_coins_are_the_systems_and_no_two_alike():
    sent = [BITS.message(1.0) for _ in range(4000)]
    off = np.sqrt(4000 * float(BITS.truth * (1 - BITS.truth)))
    assert abs(sum(sent) - 4000 * float(BITS.truth)) < 6 * off  # false alarms: 2e-9


def counts(numbers, size, of_the_silent=Fraction(1, 2)):
    """Return the exact law of how many of a batch's messages are 1; None is a silent person's."""
    law = [Fraction(1)]
    for number in numbers:
        one = of_the_silent if number is None else BITS.table[number][1]
        law = [
            (law[k] if k < len(law) else 0) * (1 - one) + (law[k - 1] if k else 0) * one
            for k in range(len(law) + 1)
        ]
    assert len(law) == size + 1
    return law


def lost(here, there):
    """Return δ at ε of one law against another, both exact: e^ε from below."""
    rate = Fraction(np.exp(float(BANDIT.epsilon)) * (1 - 1e-12))
    return sum((max(p - rate * q, Fraction(0)) for p, q in zip(here, there, strict=True)), Fraction(0))


def worst(of_the_silent):
    """Return the most that a person is told of, over all batches of the fewest bits and both orders."""
    own, found = (0, 1, None), Fraction(0)
    for ones in range(BITS.size):
        others = [1] * ones + [0] * (BITS.size - 1 - ones)
        laws = [counts([*others, mine], BITS.size, of_the_silent) for mine in own]
        found = max([found, *(lost(here, there) for here in laws for there in laws)])
    return found


def test_what_is_shown_of_a_batch_costs_what_the_ledger_is_charged():
    """By enumeration, also where a person is silent; a shuffler that adds a fixed bit would tell who is."""
    assert 0 < worst(Fraction(1, 2)) <= DELTA
    assert worst(Fraction(0)) > DELTA


def test_a_shuffler_shows_no_order_and_everybodys_bit():
    sent = [1, 0, 1, None, 1, None, 0, 0, 0, 1]
    assert BITS.shuffle(sent, Coins(0, 1)) == BITS.shuffle(sent[::-1], Coins(1, 0)) == [0] * 5 + [1] * 5
    assert len(BITS.shuffle([None] * 10)) == 10
    coins = [sum(BITS.shuffle([None] * 10, Rehearsal(seed))) for seed in range(400)]
    assert abs(np.mean(coins) - 5) < 6 * np.sqrt(2.5 / 400)  # false alarms: 2e-9


WRONG = [
    ([0] * 9, "9 bits"),
    ([0] * 11, "needed 10, one a slot"),
    ([], "0 bits"),
    ([0] * 9 + [2], "0 or 1"),
    ([0] * 9 + [-1], "0 or 1"),
    ([0] * 9 + [0.7], "0 or 1"),
    ([0] * 9 + [1.0], "0 or 1"),
    ([0] * 9 + [True], "0 or 1"),
    ([0] * 9 + [None], "0 or 1"),
    ([0] * 9 + [float("nan")], "0 or 1"),
    ([0] * 9 + ["1"], "0 or 1"),
]


def asked(session, people=10):
    return [session.ask() for _ in range(people)]


def test_what_is_no_block_of_bits_is_refused_and_changes_nothing(tmp_path):
    with Session.rehearse(BANDIT, tmp_path / "state", 1) as session:
        ticket, *_ = asked(session, 9)
        for reward in (1.0, 0.0, 0.3, None):  # a reward by itself is never taken for a bit
            with pytest.raises(InputError, match="by itself"):
                session.tell(ticket, reward)
        with pytest.raises(InputError, match="no bits are due: 9 slots are taken; a batch ends at slot 10"):
            session.tell_shuffled([0] * 10)
        session.ask()
        before = (tmp_path / "state").read_bytes()
        for bits, said in WRONG:
            with pytest.raises(InputError, match=said):
                session.tell_shuffled(bits)
        with pytest.raises(InputError, match="waits for bits"):
            session.ask()
        assert (tmp_path / "state").read_bytes() == before
        assert (session.asked, session.pending) == (10, list(range(1, 11)))
        session.tell_shuffled(np.array([1] * 4 + [0] * 6))
        with pytest.raises(InputError, match="no bits are due"):
            session.tell_shuffled([0] * 10)
        session.ask()
        assert session.public()["sums"].tolist() == [4]
        assert session.result().public["sums"].tolist() == [4]  # the next block has no bits
        with pytest.raises(InputError, match="no bits are due"):
            session.tell_shuffled([0] * 10)


def test_who_takes_rewards_takes_no_bits(tmp_path):
    for number, bandit in enumerate((ArmPhases(rounds=60, arms=3), MomentGpUcb(rounds=9, candidates=2))):
        with (
            Session.rehearse(bandit, tmp_path / str(number), 1) as session,
            pytest.raises(InputError, match="takes no shuffled bits"),
        ):
            session.tell_shuffled([0] * 10)


@looped("number", [None, "x", [1], True])
def test_a_device_refuses_what_is_no_reward(number):
    with pytest.raises(InputError, match="a reward is one number"):
        BITS.message(number)
    for shown in (None, 5, "1010101010", iter([1])):
        with pytest.raises(InputError, match=r"no list of bits|bits, which are private|0 or 1"):
            BITS.shuffle(shown)


@looped("ones", [11, -3, 2.5, True, "x", None, [1]])
def test_a_state_with_an_impossible_number_of_bits_is_refused(tmp_path, ones):
    with (
        Session.rehearse(BANDIT, tmp_path / "state", 1) as session,
        pytest.raises(InputError, match="impossible"),
    ):
        session._again({"bits": ones})


def test_a_state_with_rewards_in_place_of_bits_is_refused(tmp_path):
    events = [{"tell": 1, "reward": 1.0}]
    with pytest.raises(InputError, match="answer of ticket 1 by itself"):
        Session(BANDIT, SimpleNamespace(events=events), Rehearsed(proof_of(BANDIT), 1), 0)


@pytest.mark.parametrize("pauses", [1, 3, 10, 17])
def test_a_session_with_the_bits_of_a_replay_shows_what_that_shows(pauses, tmp_path):
    """Also if it is opened anew after every so many people, before and after their bits."""
    data = np.random.default_rng(5).uniform(0, 1, (60, 3))
    whole = BANDIT.play(data, Rehearsed(proof_of(BANDIT), 3), 7).public
    session = Session.rehearse(BANDIT, tmp_path / "state", 3, 7)
    for number in range(1, 61):
        if number % pauses == 0:
            session.close()
            session = Session.rehearse(BANDIT, tmp_path / "state", 3, 7)
        session.ask()
        if number % 10 == 0:
            ones = int(whole["sums"][number // 10 - 1])
            session.tell_shuffled([1] * ones + [0] * (10 - ones))
    with session:
        shown = session.result().public
    assert {name: each.tolist() for name, each in shown.items()} == {
        name: each.tolist() for name, each in whole.items()
    }


def test_devices_randomise_a_shuffler_mixes_and_the_best_arm_is_found(tmp_path):
    """Secure coins; the ledger is charged for the whole session, and nothing is drawn for it beside devices."""
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=9, delta=DELTA, unit="p", relation="replace-one", measure="approximate")
    bandit, rng = ArmPhases(rounds=3000, arms=3, law="shuffled", delta=DELTA), np.random.default_rng(1)
    with Ledger.open(url) as ledger, Session.open(bandit, ledger, tmp_path / "state") as session:
        assert ledger.show()["spent"]["epsilon"]["upper"] == 1
        for first, last in bandit.blocks():
            arms = [ticket.action for ticket in asked(session, last - first + 1)]
            sent = [bandit.bits.message(float(rng.random() < (0.2, 0.8, 0.4)[arm])) for arm in arms]
            sent[0] = None  # is silent
            session.tell_shuffled(bandit.bits.shuffle(sent))
        view = session.result()
        assert session.releasable
        with ledger._store.reading() as rows:
            assert rows.count(DRAWING) == rows.count(RELEASE) == 0
    assert (view.public["arms"] == 1).mean() > 0.5
    assert "reward" not in (tmp_path / "state").read_text()
    found = bandit.accuracy(view, 1 - Fraction(1, 10**6))["means"]
    assert found["low"][1] <= 0.8 <= found["high"][1]


def test_a_reward_beyond_all_messages_is_no_message_either(tmp_path):
    """Of the local channel: clamped it would be the largest message."""
    half = Fraction(1, 2)
    local = LocalPosterior(rounds=9, points=3, bound=half, noise_bound=half)
    with Session.rehearse(local, tmp_path / "state", 1) as session:
        ticket = session.ask()
        for reward in (100.0, -1e9, float("inf"), 0.5):
            with pytest.raises(InputError, match="no message of the channel"):
                session.tell(ticket, reward)
        assert session.tell(ticket, local.by.largest)


def test_points_that_are_not_on_offer_send_a_coin(tmp_path):
    bandit = ArmPhases(rounds=20, arms=2, block=10, space=grid(2), law="shuffled", delta=DELTA)
    with Session.rehearse(bandit, tmp_path / "state", 1) as session:
        arms = [session.ask([number % 2]).action for number in range(10)]
        others = session.public()["uncounted"].tolist()
        assert others == [number for number in range(1, 11) if arms[number - 1] != arms[0]]
        sent = [None if number in others else 1 for number in range(1, 11)]
        session.tell_shuffled(bandit.bits.shuffle(sent, Coins(*[1] * 5)))
        session.ask()
        assert next(bandit.released(SimpleNamespace(public=session.public())))[1:3] == (5, 10 - 5 / 2)


def test_too_few_messages_are_refused_by_the_shuffler_itself():
    for few in ([1] * (BITS.size - 1), []):
        with pytest.raises(InputError, match="private among 10 or more"):
            BITS.shuffle(few)
    with pytest.raises(InputError, match="not the reward"):
        ShuffledBits(Fraction(1), DELTA, 10).shuffle([0.5] * 10)
