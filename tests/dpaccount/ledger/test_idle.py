"""Pool connections of a ledger, in a file or on a server: none crosses a fork in use, none is closed by a child."""

import os
import threading

import pytest

from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import connection_pool
from dpaccount.noise import process

from .conftest import BUDGET, VALID, in_threads, plan


class Counted:
    """A connection that counts how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def in_a_child(act) -> None:
    child = os.fork()
    if not child:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_idle_is_lent_once_and_closed_before_a_fork():
    pool, first, second = connection_pool.Pool(), Counted(), Counted()
    for link in (first, second):
        pool.keep(link, process.identity())
    assert {pool.take(), pool.take(), pool.take()} == {first, second, None}
    pool.keep(first, process.identity())
    in_a_child(lambda: None)
    assert (first.closed, second.closed, pool.take()) == (1, 0, None)


def test_a_child_neither_uses_nor_closes_what_its_parent_opened():
    """Of a fork that asks nobody, or amid a transaction."""
    pool, link, mine = connection_pool.Pool(), Counted(), Counted()
    since = process.identity()

    def child() -> None:
        pool._held = since, [link]  # as where nothing was let go
        assert pool.take() is None
        pool.keep(link, since)  # the transaction that was forked ends
        pool.keep(mine, process.identity())
        pool.let_go()
        assert (link.closed, mine.closed, pool.take()) == (0, 1, None)

    in_a_child(child)
    assert link.closed == 0


def test_threads_that_take_at_once_have_a_connection_each():
    pool, taken = connection_pool.Pool(), []
    for _ in range(400):
        pool.keep(Counted(), process.identity())

    def take() -> None:
        while (link := pool.take()) is not None:
            taken.append(link)

    in_threads(*[take] * 4)
    assert len(taken) == len(set(taken)) == 400


@pytest.fixture(params=["file", "server"])
def place(request) -> str:
    return request.getfixturevalue("url" if request.param == "file" else "team")


def test_forks_amid_the_charges_of_threads_share_no_connection(place):
    """Children, and what they leave, charge side by side with their parent's threads."""
    init(place, **BUDGET)
    with Ledger.open(place) as ledger:
        stop = threading.Event()

        def charge() -> None:
            while not stop.is_set():
                ledger.charge_plan(plan(), "parent", dry_run=True)

        threads = [threading.Thread(target=charge) for _ in range(2)]
        for one in threads:
            one.start()
        try:
            for number in range(4):
                ledger.charge_plan(plan(), "parent", f"parent {number}")
                in_a_child(lambda number=number: ledger.charge_plan(plan(), "child", f"child {number}"))
        finally:
            stop.set()
            for one in threads:
                one.join()
        assert ledger.show()["entries"] == 8
    assert verify(place) == VALID
