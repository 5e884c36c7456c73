"""A charge that is drawn in parts: each part has one value for ever, whoever draws it and wherever they stop."""

import json
import os
import signal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, LedgerError, ReceiptError
from dpaccount.ledger.balances.bodies import Formed
from dpaccount.ledger.entry import DRAWING, RELEASE
from dpaccount.ledger.journal import entries
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.rows import Rows
from dpaccount.ledger.streamed_receipt import ResumableReceipt
from dpaccount.proof import (
    REPLACE_ONE,
    assume_ball,
    assume_covers,
    assume_rank_one,
    compose,
    discrete_gaussian,
    factorised,
    linear,
    nodes,
)
from tests.depth import deep, examples

from .conftest import by_hand

ZERO = np.zeros(2, dtype=np.int64)


class PowerCutError(BaseException):
    """Stops a process between two steps."""


def theorem():
    """Return what four sums of two numbers and one symmetric matrix cost: of disjoint units, and of all."""
    ball = linear(assume_ball("stream", Fraction(30), REPLACE_ONE, "movement"))
    covers = assume_covers("stream", [(i, i) for i in range(1, 5)], "movement")
    sums = nodes(discrete_gaussian(ball, Fraction(3600), Fraction(1), "sums"), covers)
    rank = linear(assume_rank_one("matrix", Fraction(1), REPLACE_ONE, "movement"))
    one = assume_covers("matrix", [(1, 4)], "movement")
    matrix = nodes(discrete_gaussian(rank, Fraction(3600), Fraction(1, 2**10), "matrix"), one)
    return compose(sums, matrix)


def rows_together():
    """Return what three rows of a factorisation cost: together only."""
    ball = linear(assume_ball("stream", Fraction(30), REPLACE_ONE, "movement"))
    return discrete_gaussian(factorised(ball, 3, [[4, 2, 1]], 0), Fraction(3600), Fraction(1), "rows")


@pytest.fixture
def url(tmp_path):
    address = f"sqlite:///{tmp_path}/budget.db"
    init(address, epsilon=100, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    return address


def opened(ledger, proof=None, key="stream"):
    return ledger.charge_in_parts(proof or theorem(), "stream", None, key)


def marks(ledger):
    with ledger._store.reading() as rows:
        return rows.count(DRAWING), rows.count(RELEASE)


@deep
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6))
@examples(10, 10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_part_has_one_value_and_the_charge_one_price(tmp_path_factory, asked):
    """Parts in any order, again and again, by processes that come and go."""
    address = f"sqlite:///{tmp_path_factory.mktemp('parts')}/budget.db"
    init(address, epsilon=100, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    seen, price = {}, None
    ledger = Ledger.open(address)
    drawn = opened(ledger)
    for part, restart in asked:
        if restart:
            ledger.close()
            ledger = Ledger.open(address)
            drawn = opened(ledger)
        value = drawn.noisy("sums", part, ZERO + part)
        assert (seen.setdefault(part, value.copy()) == value).all()
        value[:] = 7  # what is handed out is a copy
        spent = ledger.show()["spent"]
        assert spent == (price or spent)
        price = spent
        assert len(drawn) == len(seen)
        assert marks(ledger) == (len(seen), len(seen))
        assert ledger.verify()["valid"]
    assert ledger.show()["entries"] == 1
    ledger.close()


def test_rows_that_are_proved_together_are_drawn_one_by_one(url):
    with Ledger.open(url) as ledger:
        first = opened(ledger, rows_together()).noisy("rows", 0, ZERO)
    with Ledger.open(url) as ledger:
        drawn = opened(ledger, rows_together())
        assert (drawn.noisy("rows", 0, ZERO + 99) == first).all()
        for row in (1, 2):
            drawn.noisy("rows", row, ZERO)
        with pytest.raises(ReceiptError, match="pays for 3 releases"):
            drawn.noisy("rows", 3, ZERO)
        assert marks(ledger) == (3, 3)


def test_symmetric_parts_are_kept_too_and_counted_as_such(url):
    matrix = np.zeros((3, 3), dtype=np.int64)
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        with pytest.raises(ReceiptError):
            drawn.noisy("matrix", 0, matrix)
    with Ledger.open(url) as ledger:
        value = opened(ledger).noisy_symmetric("matrix", 0, matrix)
        assert (value == value.T).all()
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        assert (drawn.noisy_symmetric("matrix", 0, matrix) == value).all()
        with pytest.raises(ReceiptError, match="pays for 1 releases"):
            drawn.noisy_symmetric("matrix", 1, matrix)


@deep
@pytest.mark.parametrize("kind", [DRAWING, RELEASE])
@pytest.mark.parametrize("when", ["before", "behind"])
def test_who_stops_within_a_draw_leaves_nothing(kind, when, url, monkeypatch):
    """Nothing of it is committed, so that nobody was shown it, and it is drawn by who goes on."""
    real = Rows.append

    def append(self, what, *arguments, **named):
        if what == kind and when == "before":
            raise PowerCutError
        noise = real(self, what, *arguments, **named)
        if what == kind:
            raise PowerCutError
        return noise

    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        kept = drawn.noisy("sums", 0, ZERO)
        head = ledger.show()["head"]
        with monkeypatch.context() as patched:
            patched.setattr(Rows, "append", append)
            with pytest.raises(PowerCutError):
                drawn.noisy("sums", 1, ZERO)
        assert ledger.show()["head"] == head
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        assert len(drawn) == 1
        assert (drawn.noisy("sums", 0, ZERO) == kept).all()
        drawn.noisy("sums", 1, ZERO)
        assert marks(ledger) == (2, 2)


def test_of_two_who_go_on_at_once_one_is_refused_before_it_is_shown_anything(url):
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        first, second = opened(ledger), opened(other)
        value = first.noisy("sums", 0, ZERO)
        with pytest.raises(ReceiptError, match="another process draws"):
            second.noisy("sums", 0, ZERO)
        with pytest.raises(ReceiptError, match="another process draws"):
            second.noisy("sums", 1, ZERO)
        assert marks(other) == (1, 1)
        assert (opened(other).noisy("sums", 0, ZERO) == value).all()


@deep
def test_a_charge_is_drawn_by_a_receipt_or_in_parts(url):
    with Ledger.open(url) as ledger:
        drawn, receipt = opened(ledger), ledger.charge(theorem(), "stream", None, "stream")
        drawn.noisy("sums", 0, ZERO)
        with pytest.raises(ReceiptError):
            receipt.noisy("sums", 0, ZERO)
        drawn, receipt = opened(ledger, key="b"), ledger.charge(theorem(), "stream", None, "b")
        receipt.noisy("sums", 0, ZERO)
        with pytest.raises(ReceiptError, match="another process draws"):
            drawn.noisy("sums", 0, ZERO)
        with pytest.raises(ReceiptError, match="kept no parts"):
            opened(ledger, key="b")


@deep
def test_without_room_or_of_another_theorem_nothing_is_drawn(tmp_path, url):
    small = f"sqlite:///{tmp_path}/small.db"
    init(small, epsilon=1, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    with Ledger.open(small) as ledger, pytest.raises(BudgetError):
        opened(ledger)
    with Ledger.open(url) as ledger:
        opened(ledger)
        with pytest.raises(LedgerError, match="a different charge"):
            opened(ledger, rows_together())


@deep
def test_a_part_of_another_shape_or_name_is_refused(url):
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        drawn.noisy("sums", (1, 2), ZERO)
        with pytest.raises(LedgerError, match="another run"):
            drawn.noisy("sums", (1, 2), np.zeros(3, dtype=np.int64))
        for part in (1.0, None, True, [1], b"1"):
            with pytest.raises(ReceiptError, match="cannot name a part"):
                drawn.noisy("sums", part, ZERO)
        with pytest.raises(ReceiptError, match="no leaf"):
            drawn.noisy("other", 0, ZERO)
        assert marks(ledger) == (1, 1)


@deep
def test_a_kept_part_that_was_changed_is_not_shown(url):
    with Ledger.open(url) as ledger:
        opened(ledger).noisy("sums", 0, ZERO)
        opened(ledger).noisy("sums", 1, ZERO)
        query = "SELECT number, body FROM entries WHERE kind = 'release' ORDER BY number LIMIT 1"
        [(number, body)] = by_hand(url, query)
        changed = json.dumps({**json.loads(body), "value": [5, 5]})
        by_hand(url, "UPDATE entries SET body = ? WHERE number = ?", values=(changed, number))
    with Ledger.open(url) as ledger:
        with pytest.raises(LedgerError, match="changed"):
            opened(ledger)
        assert not ledger.verify()["valid"]


@deep
def test_a_fork_draws_nothing_and_a_killed_process_loses_nothing(url):
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        child = os.fork()
        if child == 0:
            try:
                drawn.noisy("sums", 0, ZERO)
            except ReceiptError:
                os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert len(drawn) == 0
        child = os.fork()
        if child == 0:
            try:
                with Ledger.open(url) as own:
                    opened(own).noisy("sums", 0, ZERO)
                    os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with Ledger.open(url) as ledger:
        assert len(opened(ledger)) == 1


def test_the_broken_twin_that_marks_nothing_draws_twice(url, monkeypatch):
    """Without the line of marks two processes would draw one part: what the tests above rest on."""
    monkeypatch.setattr(Rows, "about", lambda *_: None)
    monkeypatch.setattr(entries, "formed", lambda *_: Formed([], None))
    real = Rows.append
    monkeypatch.setattr(
        Rows,
        "append",
        lambda self, kind, body, root, about=None, **named: real(self, kind, body, root, about=None, **named),
    )
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        wide = [opened(one).noisy("sums", 0, np.zeros(40, dtype=np.int64)) for one in (ledger, other)]
    assert (wide[0] != wide[1]).any()


def test_parts_are_releasable_and_say_what_they_paid(url):
    with Ledger.open(url) as ledger:
        drawn = opened(ledger)
        assert isinstance(drawn, ResumableReceipt)
        assert drawn.releasable
        assert drawn.entry == 1
