"""Records by name: a dict, whatever the order, whose every row is believed only where its digest fits."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import LedgerError
from dpaccount.ledger.balances.state import Cohort, Overlay, Register, Reservation, Scopes, rows_of
from tests.depth import deep

#: many names, of which some share a bucket
NAMES = [f"reservation {number}" for number in range(1, 2500)] + [f"cohort c{number}" for number in range(50)]


def record(name: str, size: int) -> Cohort | Reservation:
    units = [(1, size + 1)]
    return Cohort(units, charged=False) if name.startswith("cohort") else Reservation("", units)


class Stored:
    """Rows, and which were read."""

    def __init__(self) -> None:
        self.rows: dict[int, str] = {}
        self.read: set[int] = set()

    def node(self, node: int) -> str | None:
        self.read.add(node)
        return self.rows.get(node)

    def put(self, nodes: dict[int, str | None]) -> None:
        self.rows = {key: text for key, text in {**self.rows, **nodes}.items() if text is not None}

    def drop(self, low: int, high: int) -> None:
        raise AssertionError

    def register(self, digest: str) -> Register:
        self.read.clear()
        return Register(digest, Overlay(self.node))


def written(stored: Stored, digest: str, changes: dict[str, Cohort | Reservation | None]) -> str:
    """Return the digest after changes, each in a transaction of its own."""
    for name, value in changes.items():
        overlay = Overlay(stored.node)
        register = Register(digest, overlay)
        register.put(name, value)
        overlay.keep(stored)
        digest = register.digest
    return digest


changes = st.dictionaries(st.sampled_from(NAMES), st.none() | st.integers(0, 9), max_size=40)


@given(first=changes, then=changes, seed=st.integers(0, 99))
def test_records_are_a_dict_and_their_digest_depends_on_nothing_else(first, then, seed):
    stored, other = Stored(), Stored()
    made = [{n: None if s is None else record(n, s) for n, s in one.items()} for one in (first, then)]
    digest = written(stored, written(stored, "", made[0]), made[1])
    left = {name: value for name, value in {**made[0], **made[1]}.items() if value is not None}
    assert dict(stored.register(digest).items()) == left
    shuffled = random.Random(seed).sample(list(left.items()), len(left))
    assert (written(other, "", dict(shuffled)), other.rows) == (digest, stored.rows)
    for name in (*first, *then, "period"):
        assert stored.register(digest).get(name) == left.get(name)
        assert stored.read <= rows_of([name])


@deep
def test_a_row_that_was_changed_removed_or_put_back_is_refused_by_what_reads_it():
    stored = Stored()
    before = written(stored, "", {name: record(name, 1) for name in NAMES})
    older = dict(stored.rows)
    digest = written(stored, before, {name: record(name, 2) for name in NAMES})
    rows = dict(stored.rows)
    assert len(rows) > 900
    for name in NAMES[::400]:
        for row in rows_of([name]):
            for text in (None, rows[row] + " ", older[row], rows[min(rows)]):
                if text == rows[row]:
                    continue
                stored.rows = {**rows, row: text}
                for act in (
                    lambda register, name=name: register.get(name),
                    lambda register, name=name: register.put(name, None),
                    lambda register: list(register.items()),
                ):
                    with pytest.raises(LedgerError, match="totals were changed"):
                        act(stored.register(digest))
    assert stored.register("").get("scopes") is None


def test_a_record_under_a_name_of_another_kind_is_refused():
    stored = Stored()
    digest = written(stored, "", {"scope team": Scopes(1)})
    with pytest.raises(LedgerError, match="totals were changed"):
        stored.register(digest).get("scope team")
