"""A stream that is started again draws nothing twice, costs nothing twice, and shows the same."""

import os
from fractions import Fraction

import numpy as np
import pytest

from audits.subjects.catalogue import entries, example_values
from dpaccount.errors import BudgetError, LedgerError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import REPLACE_ONE, assume_ball, discrete_gaussian, linear
from mechanisms.continual.tree_sums import HonakerSums, TreeSums
from mechanisms.subject.durable import DurableNodes, rounds_of

VALUES = np.arange(14).reshape(7, 2)
SUMS = pytest.mark.parametrize("sums", [TreeSums, HonakerSums])


def leaf():
    """Return one node's proof: vectors of norm at most 30, noise of deviation 60: ρ = ½."""
    inside = linear(assume_ball("stream", Fraction(30), REPLACE_ONE, "movement"))
    return discrete_gaussian(inside, Fraction(3600), Fraction(1), "node")


@pytest.fixture
def url(tmp_path):
    address = f"sqlite:///{tmp_path}/budget.db"
    init(address, epsilon=100, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    return address


def stream(ledger, sums, values, name="stream"):
    running = sums(DurableNodes(ledger, leaf(), "node", name, rounds_of))
    return [running.add(value) for value in values]


@SUMS
def test_a_restarted_stream_shows_the_same_and_costs_no_more(url, sums):
    with Ledger.open(url) as ledger:
        first = stream(ledger, sums, VALUES[:5])
        spent = ledger.show()
    with Ledger.open(url) as ledger:
        again = stream(ledger, sums, VALUES[:5])
        assert all((a == b).all() for a, b in zip(first, again, strict=True))
        assert ledger.show()["spent"] == spent["spent"]
        assert ledger.show()["entries"] == spent["entries"]
        longer = stream(ledger, sums, VALUES)
        assert (longer[4] == first[4]).all()
        assert ledger.show()["entries"] > spent["entries"]
        assert ledger.verify()["valid"]


@SUMS
@pytest.mark.parametrize("when", ["charge", "draw", "keep"])
def test_a_crash_anywhere_never_draws_a_node_twice(url, sums, when, monkeypatch):
    class PowerCutError(Exception):
        pass

    drawn = []
    real_charge, real_keep = Ledger.charge, Ledger.keep_release

    def charge(self, *arguments, **named):
        receipt = real_charge(self, *arguments, **named)
        if when == "charge" and len(drawn) == 2:
            raise PowerCutError  # charged, not drawn
        real_noisy = receipt.noisy

        def noisy(key, part, values):
            released = real_noisy(key, part, values)
            drawn.append(part)
            if when == "draw" and len(drawn) == 3:
                raise PowerCutError  # drawn, not kept
            return released

        monkeypatch.setattr(receipt, "noisy", noisy)
        return receipt

    def keep(self, *arguments):
        real_keep(self, *arguments)
        if when == "keep" and len(drawn) == 3:
            raise PowerCutError  # kept, not returned

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "charge", charge)
        patched.setattr(Ledger, "keep_release", keep)
        with Ledger.open(url) as ledger, pytest.raises(PowerCutError):
            stream(ledger, sums, VALUES)
    with Ledger.open(url) as ledger:
        if when == "draw":  # what was drawn may have been seen: refused, not drawn again
            with pytest.raises(ReceiptError, match="begin a new stream"):
                stream(ledger, sums, VALUES)
        else:
            assert len(stream(ledger, sums, VALUES)) == len(VALUES)
    assert len(drawn) == len(set(drawn))


def test_nodes_are_charged_to_the_rounds_that_they_sum(url):
    with Ledger.open(url) as ledger:
        stream(ledger, HonakerSums, VALUES)  # rounds 1 ... 4 are in three nodes each, round 7 in one
        assert Fraction(str(ledger.show()["spent"]["rho"])) == pytest.approx(1.5)
        assert ledger.show()["worst_unit"] == 1


def test_without_room_a_node_is_refused_and_nothing_is_drawn(tmp_path):
    url = f"sqlite:///{tmp_path}/small.db"
    init(url, epsilon=3, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    with Ledger.open(url) as ledger:
        with pytest.raises(BudgetError):
            stream(ledger, TreeSums, VALUES)
        assert ledger.show()["refused"] == 1


def test_another_stream_under_the_same_name_is_refused(url):
    with Ledger.open(url) as ledger:
        stream(ledger, TreeSums, VALUES[:1])
        with pytest.raises(LedgerError, match="another stream"):
            stream(ledger, TreeSums, VALUES[:1, :1])


def test_rounds_of_nodes():
    assert [rounds_of(node) for node in ((0, 0), (0, 6), (1, 1), (2, 0))] == [(1, 1), (7, 7), (3, 4), (1, 4)]


def test_a_stream_that_another_process_is_drawing_is_not_called_lost(url, monkeypatch):
    with Ledger.open(url) as ledger:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("dpaccount.noise.process.name", lambda: "another-machine 1 17@99")
            elsewhere.setattr(Ledger, "keep_release", lambda *_: None)
            stream(ledger, TreeSums, VALUES[:1])
        with pytest.raises(ReceiptError, match="another run is drawing"):
            stream(ledger, TreeSums, VALUES[:1])


MECHANISMS = [entry for entry in entries() if entry.layer == "mechanisms"]


@pytest.mark.parametrize("entry", MECHANISMS, ids=lambda entry: entry.name)
def test_no_mechanism_draws_in_a_process_that_was_forked(entry):
    """Whatever kind of noise it has; the parent draws all of it afterwards, and nothing twice."""
    sizes = {name: 4 for name in ("rows", "rounds") if name in entry.parameters()}
    subject = entry.made_by(**example_values(entry.made_by), **sizes)
    domain = subject.domain()
    data = domain.clamped(np.zeros((domain.rows, len(domain.low))))
    receipt = rehearse(subject.proof(Fraction(1, 10**6)), Rehearsal(0))
    back, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            subject.play(data, receipt, 0)
        except ReceiptError as error:
            os.write(there, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(there)
    assert os.read(back, 1000).startswith(b"this receipt belongs to the process that charged it; ")
    os.close(back)
    subject.play(data, receipt, 0)
    with pytest.raises(ReceiptError, match="already drawn"):
        subject.play(data, receipt, 0)
