"""Threads share commits; an interrupted leader leaves nobody waiting, and nothing charged twice."""

import threading
from contextlib import contextmanager

import pytest

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.charging import Group, ToCharge
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise import process

from .conftest import VALID, plan

OTHERS = 12


class Crowd:
    """A leader that stops inside its first transaction until so many others wait behind it."""

    def __init__(self, ledger: Ledger, monkeypatch, after=None, before=None) -> None:
        self.ledger, self.sizes, self.told = ledger, [], []
        self._inside = threading.Event()
        group, commit = ledger._known.group, ledger._commit

        def together(jobs: list[ToCharge]) -> None:
            self.sizes.append(len(jobs))
            first = len(self.sizes) == 1
            if first:
                self._inside.set()
                while len(group._waiting) <= OTHERS:
                    threading.Event().wait(0.001)
            if before is not None:
                before(first, jobs)
            commit(jobs)
            if after is not None:
                after(len(self.sizes), jobs)

        monkeypatch.setattr(group, "_commit", together)

    def run(self, ask) -> None:
        """Let the leader and then the others ask."""

        def one(number: int) -> None:
            try:
                self.told.append((number, ask(number)))
            except BaseException as error:
                self.told.append((number, error))

        threads = [threading.Thread(target=one, args=(number,)) for number in range(OTHERS + 1)]
        threads[0].start()
        assert self._inside.wait(60)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    def entries(self) -> list[int]:
        return sorted(answer.entry for _, answer in self.told if not isinstance(answer, BaseException))


def test_what_waits_for_a_commit_shares_the_next(ledger, url, monkeypatch):
    """Thirteen charges take two commits: ten times the rate of single ones wherever a commit waits for its disk."""
    crowd = Crowd(ledger, monkeypatch)
    crowd.run(lambda number: ledger.charge_plan(plan(), "one", f"key {number}"))
    assert crowd.sizes == [1, OTHERS]
    assert crowd.entries() == list(range(1, OTHERS + 2))
    assert verify(url) == VALID


def test_a_group_never_goes_beyond_the_budget(ledger, url, monkeypatch):
    crowd = Crowd(ledger, monkeypatch)
    crowd.run(lambda _: ledger.charge_plan(plan("1/10"), "one"))
    refused = [error for _, error in crowd.told if isinstance(error, BudgetError)]
    assert (len(crowd.entries()), len(refused)) == (10, OTHERS + 1 - 10)
    assert ledger.show()["spent"]["epsilon"]["upper"] == 1.0
    assert verify(url) == VALID


def test_one_key_in_a_group_is_charged_once(ledger, url, monkeypatch):
    crowd = Crowd(ledger, monkeypatch)
    crowd.run(lambda number: ledger.charge_plan(plan(f"1/{100 + number % 2}"), "one", "key"))
    charged = {answer.entry for _, answer in crowd.told if not isinstance(answer, LedgerError)}
    other = [answer for _, answer in crowd.told if isinstance(answer, LedgerError)]
    assert charged == {1}
    assert len(other) == OTHERS // 2
    assert len({id(error) for error in other}) == len(other)
    assert all("a different charge" in str(error) for error in other)


def interrupt(when):
    """Return what raises Ctrl-C in the leader of the second commit, the group's."""

    def raised(number, _jobs):
        if number == when:
            raise KeyboardInterrupt

    return raised


@pytest.mark.parametrize("asks_the_chain", [True, False])
def test_ctrl_c_after_the_commit_charges_nobody_twice(ledger, url, monkeypatch, asks_the_chain):
    """Those who wait find what was committed for them; a group that does not ask the chain is caught."""
    if not asks_the_chain:
        monkeypatch.setattr(ToCharge, "_committed", lambda _self, _rows: False)
    crowd = Crowd(ledger, monkeypatch, after=interrupt(2))
    crowd.run(lambda _: ledger.charge_plan(plan(), "one"))
    cut = [error for _, error in crowd.told if isinstance(error, KeyboardInterrupt)]
    assert len(cut) == 1
    assert len(set(crowd.entries())) == OTHERS
    once = ledger.show()["entries"] == OTHERS + 1
    assert once is asks_the_chain
    assert verify(url) == VALID


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_before_the_commit_leaves_the_others_to_be_led(ledger, url, monkeypatch, error):
    cut = []

    @contextmanager
    def writing(*given):
        with real(*given) as rows:
            yield rows
            if len(crowd.sizes) == 2 and not cut:
                cut.append(1)
                raise error

    real = ledger._store.writing
    monkeypatch.setattr(ledger._store, "writing", writing)
    crowd = Crowd(ledger, monkeypatch)
    crowd.run(lambda _: ledger.charge_plan(plan(), "one"))
    assert crowd.sizes == [1, OTHERS, OTHERS - 1]
    assert crowd.entries() == list(range(1, OTHERS + 1))
    assert ledger.show()["entries"] == OTHERS
    assert verify(url) == VALID


def test_ctrl_c_in_one_who_waits_takes_its_charge_out(ledger, monkeypatch):
    group = ledger._known.group
    monkeypatch.setattr(group, "_leader", ToCharge([]))

    def wait(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(group._turn, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        ledger.charge_plan(plan(), "one")
    assert group._waiting == []


def test_one_charge_that_cannot_be_decided_fails_alone(ledger, url, monkeypatch):
    def decide(job, batch, rows):
        if job.requests[0][1] == "key 5":
            raise ZeroDivisionError
        real(job, batch, rows)

    real = ToCharge.decide
    monkeypatch.setattr(ToCharge, "decide", decide)
    crowd = Crowd(ledger, monkeypatch)
    crowd.run(lambda number: ledger.charge_plan(plan(), "one", f"key {number}"))
    assert [number for number, answer in crowd.told if isinstance(answer, ZeroDivisionError)] == [5]
    assert crowd.entries() == list(range(1, OTHERS + 1))
    assert verify(url) == VALID


def test_a_ledger_that_cannot_be_written_says_so_to_everyone(ledger, monkeypatch):
    def before(first, _jobs):
        if not first:
            raise LedgerError("the disk is full")

    crowd = Crowd(ledger, monkeypatch, before=before)
    crowd.run(lambda _: ledger.charge_plan(plan(), "one"))
    errors = [error for _, error in crowd.told if isinstance(error, LedgerError)]
    assert (len(crowd.entries()), len(errors), len({id(one) for one in errors})) == (1, OTHERS, OTHERS)


def test_who_holds_off_forks_charges_by_itself(ledger, url, monkeypatch):
    """Its leader would wait for it, and it for its leader."""
    monkeypatch.setattr(ledger._known.group, "_leader", ToCharge([]))
    with process.unforked():
        assert ledger.charge_plan(plan(), "one").entry == 1


def test_so_many_together_and_no_more(monkeypatch):
    sizes = []
    group = Group(lambda jobs: sizes.append(sum(len(job.requests) for job in jobs)))
    jobs = [ToCharge([(None, None)] * size) for size in (400, 500, 100, 1, 600)]
    group._waiting.extend(jobs[1:])
    assert group._next(jobs[0]) == jobs[:3]
