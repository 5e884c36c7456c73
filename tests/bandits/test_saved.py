"""A run that is stopped anywhere goes on as if it had not been, pays nothing twice and draws nothing twice."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning import resumable
from bandits.local_gp_ucb import LocalGpUcb
from bandits.logged_policy import LoggedPolicy
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.errors import BudgetError, InputError, ReceiptError
from dpaccount.ledger import ledger as ledgers
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.samplers import Rehearsal

SMALL = {"rounds": 9, "candidates": 3, "nodes_per_axis": 2}
LEARNERS = [
    MomentGpUcb(**SMALL, size=4, stream="tree"),
    MomentGpUcb(**SMALL, size=4, stream="honaker"),
    JdpGpUcb(**SMALL),
    JdpGpUcb(**SMALL, calibration="published", stream="honaker"),
    DoublingGpUcb(**SMALL, mode="restart"),
    DoublingGpUcb(**SMALL, mode="carry"),
    LocalGpUcb(**SMALL),
    LocalGpUcb(**SMALL, calibration="published"),
    PhasedGpUcb(rounds=90, candidates=2, size=4, nodes_per_axis=2, sigma=Fraction(1)),
    PhasedPosterior(rounds=250, sigma=Fraction(1)),
    SurfaceGpUcb(rounds=60, batch=10, nodes_per_axis=2),
    LoggedPolicy(slots=400, batch=40, batches=5),
]
ONE = LEARNERS[0]


class PowerCutError(Exception):
    """Stops a run between two steps."""


@pytest.fixture
def url(tmp_path, monkeypatch):
    """Return a roomy ledger; the noise of its n-th charge is the rehearsal's of seed n."""
    address = f"sqlite:///{tmp_path}/budget.db"
    init(
        address, epsilon=1000, delta=Fraction(1, 10**6), unit="round", relation="replace-one", measure="zcdp"
    )
    numbered = iter(range(10**6))
    monkeypatch.setattr(ledgers, "Secure", lambda: Rehearsal(next(numbered)))
    return address


def records(subject):
    domain = subject.domain()
    low, high = np.array(domain.low), np.array(domain.high)
    return domain.clamped(np.random.default_rng(5).uniform(low, high, (domain.rows, len(low))))


def cut(monkeypatch, when, after):
    """Stop at a place of the `after`-th release."""
    count = {"charge": 0, "keep": 0}
    real_charge, real_keep = Ledger.charge, Ledger.keep_release

    def charge(self, *arguments):
        receipt = real_charge(self, *arguments)
        count["charge"] += 1
        if when == "charged" and count["charge"] == after:
            raise PowerCutError
        return receipt

    def keep(self, *arguments):
        count["keep"] += 1
        if when == "drawn" and count["keep"] == after:
            raise PowerCutError
        real_keep(self, *arguments)
        if when == "kept" and count["keep"] == after:
            raise PowerCutError

    monkeypatch.setattr(Ledger, "charge", charge)
    monkeypatch.setattr(Ledger, "keep_release", keep)


def same(left, right):
    for one, other in ((left.own, right.own), (left.public, right.public)):
        assert set(one) == set(other)
        for name in one:
            assert (np.asarray(one[name]) == np.asarray(other[name])).all()


@pytest.mark.slow
@pytest.mark.parametrize("subject", LEARNERS, ids=repr)
def test_a_stopped_run_goes_on_as_if_it_had_not_been(subject, url, tmp_path, monkeypatch):
    data = records(subject)
    with Ledger.open(url) as ledger:
        with monkeypatch.context() as patched:
            cut(patched, "kept", 2)
            with pytest.raises(PowerCutError):
                resumable.play(subject, data, ledger, tmp_path / "run.json", 7)
        resumed = resumable.play(subject, data, ledger, tmp_path / "run.json", 7)
        paid = ledger.show()
        same(
            resumed, resumable.play(subject, data, ledger, tmp_path / "run.json", 7)
        )  # from the kept releases
        assert ledger.show()["entries"] == paid["entries"]
    whole = f"sqlite:///{tmp_path}/whole.db"
    init(whole, epsilon=1000, delta=Fraction(1, 10**6), unit="round", relation="replace-one", measure="zcdp")
    numbered = iter(range(10**6))
    monkeypatch.setattr(ledgers, "Secure", lambda: Rehearsal(next(numbered)))
    with Ledger.open(whole) as ledger:
        same(resumed, resumable.play(subject, data, ledger, tmp_path / "whole.json", 7))
        assert ledger.show()["spent"] == paid["spent"]


def test_what_was_charged_and_not_drawn_is_drawn_once(url, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        cut(patched, "charged", 3)
        with Ledger.open(url) as ledger, pytest.raises(PowerCutError):
            resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] == 3
        resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
        assert ledger.show()["entries"] == 8  # one node ends with each of the 8 rounds that are learned from


def test_what_was_drawn_and_not_kept_is_refused(url, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        cut(patched, "drawn", 3)
        with Ledger.open(url) as ledger, pytest.raises(PowerCutError):
            resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
    with Ledger.open(url) as ledger:
        for _ in range(2):
            with pytest.raises(ReceiptError, match="begin a new run"):
                resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
        assert ledger.show()["entries"] == 3


def test_without_room_nothing_is_drawn(tmp_path):
    url = f"sqlite:///{tmp_path}/small.db"
    init(
        url,
        epsilon=Fraction(1, 4),
        delta=Fraction(1, 10**6),
        unit="round",
        relation="replace-one",
        measure="zcdp",
    )
    with Ledger.open(url) as ledger:
        with pytest.raises(BudgetError):
            resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
        assert ledger.show()["refused"] == 1


@pytest.mark.parametrize(
    ("other", "coins", "said"),
    [
        (replace(ONE, rounds=10), 0, "rounds is 9, here it is 10"),
        (replace(ONE, epsilon=Fraction(2)), 0, "epsilon is 1, here it is 2"),
        (replace(ONE, lengthscale=Fraction(1, 2)), 0, "lengthscale is 1, here it is 1/2"),
        (replace(ONE, stream="honaker"), 0, "stream is tree, here it is honaker"),
        (JdpGpUcb(**SMALL), 0, "subject is MomentGpUcb, here it is JdpGpUcb"),
        (ONE, 1, "coins is 0, here it is 1"),
    ],
    ids=str,
)
def test_a_state_of_another_configuration_is_refused_before_any_charge(other, coins, said, url, tmp_path):
    with Ledger.open(url) as ledger:
        resumable.play(ONE, records(ONE), ledger, tmp_path / "run.json")
        before = ledger.show()["head"]
        with pytest.raises(InputError, match=said) as refused:
            resumable.play(other, records(other), ledger, tmp_path / "run.json", coins)
        assert "\n" not in str(refused.value)
        assert ledger.show()["head"] == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) // 2], "damaged"),
        (lambda text: text.replace('"coins":0', '"coins":1'), "damaged"),
        (lambda text: "[]", "damaged"),
        (lambda text: text.replace("bandit-state/1", "bandit-state/0"), "version"),
        (lambda text: json.dumps({"schema": resumable.SCHEMA}), "damaged"),
    ],
)
def test_a_damaged_or_older_state_is_refused_before_any_charge(change, said, url, tmp_path):
    file = tmp_path / "run.json"
    with Ledger.open(url) as ledger:
        resumable.play(ONE, records(ONE), ledger, file)
        before = ledger.show()["head"]
        file.write_text(change(file.read_text()))
        with pytest.raises(InputError, match=said):
            resumable.play(ONE, records(ONE), ledger, file)
        assert ledger.show()["head"] == before


def test_a_changed_proof_and_another_ledger_are_refused(url, tmp_path, monkeypatch):
    file, second = tmp_path / "run.json", f"sqlite:///{tmp_path}/second.db"
    init(second, epsilon=1000, delta=Fraction(1, 10**6), unit="round", relation="replace-one", measure="zcdp")
    with Ledger.open(url) as ledger:
        resumable.play(ONE, records(ONE), ledger, file)
    with Ledger.open(second) as ledger:
        with pytest.raises(InputError, match="the ledger that the run began with"):
            resumable.play(ONE, records(ONE), ledger, file)
        real = MomentGpUcb.proof
        monkeypatch.setattr(
            MomentGpUcb, "proof", lambda self, delta: real(replace(self, sigma=Fraction(9)), delta)
        )
        with pytest.raises(InputError, match="proof differs"):
            resumable.play(ONE, records(ONE), ledger, file)
        assert ledger.show()["entries"] == 0


def test_rows_that_are_proved_together_are_not_kept_one_by_one(url, tmp_path):
    subject = replace(ONE, stream="sqrt-toeplitz")
    with Ledger.open(url) as ledger:
        with pytest.raises(InputError, match="tree or phases"):
            resumable.play(subject, records(subject), ledger, tmp_path / "run.json")
        assert not (tmp_path / "run.json").exists()
        with pytest.raises(InputError, match="rows"):
            resumable.play(ONE, records(ONE)[:4], ledger, tmp_path / "run.json")
        assert ledger.show()["entries"] == 0
