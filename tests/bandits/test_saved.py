"""A run that is stopped anywhere goes on as if it had not been, pays nothing twice and draws nothing twice."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.function_release import FunctionRelease
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning import resumable
from bandits.local_gp_ucb import LocalGpUcb
from bandits.logged_policy import LoggedPolicy
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_cells import PhasedCells
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.phased_regression import PhasedRegression
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.rows import Rows
from dpaccount.ledger.streamed_receipt import ResumableReceipt
from dpaccount.noise.samplers import Rehearsal
from tests.depth import deep

SMALL = {"rounds": 9, "candidates": 3, "nodes_per_axis": 2}
LEARNERS = [
    MomentGpUcb(**SMALL, size=4, stream="tree"), MomentGpUcb(**SMALL, size=4, stream="honaker"),
    MomentGpUcb(**SMALL, size=4, stream="sqrt-toeplitz"), JdpGpUcb(**SMALL),
    JdpGpUcb(**SMALL, calibration="published", stream="honaker"),
    DoublingGpUcb(**SMALL, mode="restart"), DoublingGpUcb(**SMALL, mode="carry"),
    LocalGpUcb(**SMALL), LocalGpUcb(**SMALL, calibration="published"),
    PhasedRegression(**SMALL, first=1, per_learner=1), PhasedCells(rounds=24, candidates=3),
    PhasedGpUcb(rounds=90, candidates=2, size=4, nodes_per_axis=2, sigma=Fraction(1)),
    PhasedPosterior(rounds=250, sigma=Fraction(1)),
    PhasedPosterior(rounds=400, sigma=Fraction(1), stream="correlated"),
    SurfaceGpUcb(rounds=60, batch=10, error=Fraction(1, 2)),
    LoggedPolicy(slots=400, batch=40, batches=5),
    FunctionRelease(rounds=24, served=3, actions=3, contexts=3, sigma=Fraction(1)),
]  # fmt: skip
ONE = LEARNERS[0]
BATCHES = PhasedPosterior(rounds=700, sigma=Fraction(1), stream="correlated", reward_noise="estimated")


class PowerCutError(Exception):
    """Stops a run between two steps."""


@pytest.fixture
def url(tmp_path, monkeypatch):
    """Return a roomy ledger; the n-th noise that is drawn is the rehearsal's of seed n."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)  # processes stop, not machines
    return roomy(tmp_path / "budget.db", monkeypatch)


def roomy(file, monkeypatch, measure="approximate"):
    address = f"sqlite:///{file}"
    init(
        address, epsilon=1000, delta=Fraction(1, 10**3), unit="round", relation="replace-one", measure=measure
    )
    real = ResumableReceipt._drawn

    def drawn(self, name, *asked):
        monkeypatch.setattr(self._receipt, "_sampler", Rehearsal(len(self)))
        return real(self, name, *asked)

    monkeypatch.setattr(ResumableReceipt, "_drawn", drawn)
    return address


def records(subject):
    domain = subject.domain()
    low, high = np.array(domain.low), np.array(domain.high)
    return domain.clamped(np.random.default_rng(5).uniform(low, high, (domain.rows, len(low))))


def cut(monkeypatch, when, after):
    """Stop at a place of the `after`-th release: before it is committed, with it, or before it is noted."""
    count, real_drawn, real_append = [0], ResumableReceipt._drawn, Rows.append

    def drawn(self, *asked):
        count[0] += 1
        value = real_drawn(self, *asked)
        if when == "kept" and count[0] == after:
            raise PowerCutError
        return value

    def append(self, kind, *arguments, **named):
        if count[0] == after and (when, kind) in (("charged", "drawing"), ("drawn", "release")):
            raise PowerCutError
        return real_append(self, kind, *arguments, **named)

    monkeypatch.setattr(ResumableReceipt, "_drawn", drawn)
    monkeypatch.setattr(Rows, "append", append)


def same(left, right):
    for one, other in ((left.own, right.own), (left.public, right.public)):
        assert set(one) == set(other)
        for name in one:
            assert (np.asarray(one[name]) == np.asarray(other[name])).all()


@deep
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
    with Ledger.open(roomy(tmp_path / "whole.db", monkeypatch)) as ledger:
        same(resumed, resumable.play(subject, data, ledger, tmp_path / "whole.json", 7))
        assert ledger.show()["spent"] == paid["spent"]


@pytest.mark.parametrize("when", ["charged", "drawn", "kept"])
@pytest.mark.parametrize(
    "subject", [ONE, replace(ONE, stream="sqrt-toeplitz"), BATCHES], ids=["tree", "rows", "batches"]
)
@deep
def test_a_run_that_is_stopped_within_a_release_makes_it_once(subject, when, url, tmp_path, monkeypatch):
    """What is drawn and not committed was shown to nobody: it is drawn by the run that goes on."""
    file = tmp_path / "run.json"
    with monkeypatch.context() as patched:
        cut(patched, when, 3)
        with Ledger.open(url) as ledger, pytest.raises(PowerCutError):
            resumable.play(subject, records(subject), ledger, file)
    with Ledger.open(url) as ledger:
        kept = len(
            ledger.charge_in_parts(subject.proof(subject.delta), type(subject).__name__, None, stream(file))
        )
        assert kept == (3 if when == "kept" else 2)
        resumable.play(subject, records(subject), ledger, file)
        made = ledger.charge_in_parts(
            subject.proof(subject.delta), type(subject).__name__, None, stream(file)
        )
        # one release ends with each of the 8 rounds that are learned from, or with each batch
        assert len(made) == (len(BATCHES.covers()) if subject is BATCHES else 8)
        assert ledger.show()["entries"] == 1
        assert ledger.verify()["valid"]


def stream(file):
    return json.loads(file.read_text().splitlines()[0])["stream"]


@deep
@pytest.mark.parametrize("subject", LEARNERS[2:9], ids=repr)
def test_a_ledger_in_zcdp_is_charged_what_the_same_noise_costs_there(subject, tmp_path, monkeypatch):
    with Ledger.open(roomy(tmp_path / "z.db", monkeypatch, "zcdp")) as ledger:
        resumable.play(subject, records(subject), ledger, tmp_path / "run.json")
        spent = ledger.show()["spent"]
        # at the δ of the proof, zCDP says no less than the subject's own proof, and not much more
        proved = float(subject.proof(subject.delta).conclusion.curve.epsilon)
        rho = float(spent["rho"])
        assert 0.9 * proved < rho + 2 * (rho * np.log(1e6)) ** 0.5 < 1.6 * proved
    other = Ledger.open(roomy(tmp_path / "g.db", monkeypatch, "gdp"))
    with other, pytest.raises(BudgetError, match="approximate"):
        resumable.play(subject, records(subject), other, tmp_path / "gdp.json")


@deep
def test_without_room_nothing_is_drawn(tmp_path):
    url = f"sqlite:///{tmp_path}/small.db"
    init(
        url,
        epsilon=Fraction(1, 4),
        delta=Fraction(1, 10**6),
        unit="round",
        relation="replace-one",
        measure="approximate",
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


def test_a_changed_proof_and_another_ledger_are_refused(url, tmp_path, monkeypatch):
    file, second = tmp_path / "run.json", f"sqlite:///{tmp_path}/second.db"
    init(
        second,
        epsilon=1000,
        delta=Fraction(1, 10**3),
        unit="round",
        relation="replace-one",
        measure="approximate",
    )
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


def test_data_of_a_wrong_shape_are_refused_before_any_charge(url, tmp_path):
    with Ledger.open(url) as ledger:
        with pytest.raises(InputError, match="rows"):
            resumable.play(ONE, records(ONE)[:4], ledger, tmp_path / "run.json")
        assert ledger.show()["entries"] == 0
        assert not (tmp_path / "run.json").exists()
