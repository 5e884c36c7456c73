"""What a ledger says of one key's run, all of it seen in one moment, and never from a changed entry."""

import os

import numpy as np
import pytest

from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import seal
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise import process

from .conftest import by_hand, pure


def begin(ledger, key="a"):
    receipt = ledger.charge(pure("1/10"), "try", key=key)
    receipt.noisy("noise", 0, np.array([5]))
    return receipt


def test_a_run_goes_from_nothing_to_kept(make):
    ledger = make()
    assert ledger.run_state("a") == RunState()
    receipt = ledger.charge(pure("1/10"), "try", key="a")
    assert ledger.run_state("a") == RunState(charged=True)
    receipt.noisy("noise", 0, np.array([5]))
    assert ledger.run_state("a") == RunState(charged=True, lost=True)  # this process may be asked to go on
    ledger.keep_release("a", {"value": 3})
    assert ledger.run_state("a") == RunState(kept={"value": 3}, charged=True)


def test_a_run_of_another_process_is_drawing_while_that_runs_and_lost_afterwards(make, url):
    make()
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with Ledger.open(url) as ledger:
            begin(ledger)
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with Ledger.open(url) as ledger:
        assert ledger.run_state("a") == RunState(charged=True, drawing=True)
        os.write(done[1], b"x")
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # ended, not yet taken note of
        assert ledger.run_state("a") == RunState(charged=True, lost=True)
        os.waitpid(child, 0)
        assert ledger.run_state("a") == RunState(charged=True, lost=True)
    for end in (*ready, *done):
        os.close(end)


def test_a_process_that_cannot_be_seen_may_still_be_drawing(make, monkeypatch):
    ledger = make()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(process, "name", lambda: "another-machine 4026531836 17@99")
        begin(ledger)
    assert ledger.run_state("a") == RunState(charged=True, drawing=True)


@pytest.mark.parametrize("kind", ["charge", "drawing", "release"])
@pytest.mark.parametrize("followed", [False, True])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_changed_entry_is_refused(make, url, kind, followed, sealed):
    """A body edited by itself, or with its own digest made to fit; last in the chain or not."""
    ledger = make()
    begin(ledger)
    ledger.keep_release("a", {"value": 3})
    if followed:
        ledger.charge(pure("1/10"), "another")
    find = "SELECT number, key, about, body, root, digest FROM entries WHERE kind = ?"
    number, key, about, body, root, digest = by_hand(url, find, values=(kind,))[0]
    [(before,)] = by_hand(url, "SELECT digest FROM entries WHERE number = ?", values=(number - 1,))
    body = body[:-1] + ',"more":1}'
    digest = seal(before, number, kind, key, about, body, root) if sealed else digest
    change = "UPDATE entries SET body = ?, digest = ? WHERE number = ?"
    by_hand(url, change, values=(body, digest, number))
    with pytest.raises(LedgerError, match="was changed; close this process"):
        ledger.run_state("a")
    with pytest.raises(LedgerError, match="was changed; close this process"):
        ledger.release("a")
