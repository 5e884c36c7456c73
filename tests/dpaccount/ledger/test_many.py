"""Many charges in one commit, of one thread or of several: each decided as if it were charged alone."""

import threading
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.forks import holds_off_forks, unforked
from dpaccount.ledger.charging import Group, ToCharge
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal import verify as verifying
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.journal.verify import verify as since
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.store import Store
from dpaccount.plan.events import Gaussian, Plan, Relation
from tests.depth import deep, examples

from .conftest import BUDGET, VALID, by_hand, plan, sealed

covers = st.sampled_from([None, (1, 5), (6, 9), (3, 7), (1, 9), (5, 5)])
asked = st.lists(
    st.tuples(covers, st.sampled_from(["1/10", "1/4", "1/2"]), st.sampled_from([None, "a", "b"])), max_size=8
)


def one_by_one(ledger: Ledger, requests: list) -> list:
    answers = []
    for wanted, purpose, key in requests:
        try:
            charge = ledger.charge_plan(wanted, purpose, key)
            answers.append((charge.entry, charge.known, None))
        except BudgetError as refused:
            answers.append((refused.charge.entry, False, refused.charge.reason))
        except LedgerError as error:
            answers.append((None, False, str(error)))
    return answers


@deep
@examples(15, 15)
@given(batches=st.lists(asked, min_size=1, max_size=3))
def test_many_at_once_are_many_one_after_another(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("many")
    urls = [f"sqlite:///{folder}/{name}.db" for name in ("one", "many")]
    for url in urls:
        init(url, **BUDGET)
    with Ledger.open(urls[0]) as alone, Ledger.open(urls[1]) as ledger:
        for batch in batches:
            requests = [(plan(size, cover), "part", key) for cover, size, key in batch]
            many = ledger.charge_many(requests)
            assert [(one.entry, one.known, one.reason) for one in many] == one_by_one(alone, requests)
            assert {**ledger.show(), "head": ""} == {**alone.show(), "head": ""}
    assert verify(urls[1]) == VALID


def charges(url: str, count: int) -> str:
    """Make a ledger of so many charges, each with its root, and a refusal; return its file."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        for place in range(count):
            ledger.charge_plan(plan("1/100", (place + 1, place + 3)), "part")
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan(2), "too much")
        ledger.charge_plan(plan("1/100"), "last")
    return url.removeprefix("sqlite:///")


def without_roots(file: str, *numbers: int) -> None:
    """Take the roots out of these entries, and seal every entry anew."""
    for number in numbers:
        by_hand(file, "UPDATE entries SET root = NULL WHERE number = ?", values=(number,))
    sealed(Path(file), 1)


def test_only_the_last_of_charges_that_fit_together_has_a_root(url):
    """So those that have none are charges, and what has one authenticates them too."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.charge_many([(plan("1/100", (place, place)), "part", None) for place in range(1, 9)])
        heads = [ledger.show()["head"]]
        ledger.charge_plan(plan("1/100"), "one")
    assert [entry.root is None for entry in rows(url)] == [False] + [True] * 7 + [False] * 2
    assert verify(url) == VALID
    assert since(url, since=heads[0]) == VALID
    assert since(url, since=rows(url)[4].digest) == VALID  # has no root: all is recomputed


@pytest.mark.parametrize("numbers", [(2, 3), (4,), (1, 2, 3, 4, 5)])
def test_roots_may_be_left_out_before_a_charge_with_one(url, numbers):
    without_roots(charges(url, 6), *numbers)
    assert verify(url) == VALID
    with Ledger.open(url) as ledger:
        assert ledger.charge_plan(plan("1/100"), "more").entry == 9


#: entries 1 to 6 are charges, 7 is a refusal, 8 a charge
@pytest.mark.parametrize("numbers", [(6,), (7,), (8,), (5, 6), (6, 7), (6, 7, 8), (0,)])
def test_nothing_else_goes_without_a_root(url, numbers):
    without_roots(charges(url, 6), *numbers)
    assert not verify(url)["valid"]


@pytest.mark.parametrize("numbers", [(6,), (7,), (5, 6), (6, 7)])
def test_who_follows_the_chain_refuses_them(url, numbers):
    """An open ledger reads what others charged, and stops at a balance that nothing authenticates."""
    init(url, **BUDGET)
    with Ledger.open(url) as early:
        early.show()
        with Ledger.open(url) as later:
            for place in range(6):
                later.charge_plan(plan("1/100", (place + 1, place + 3)), "part")
            with pytest.raises(BudgetError):
                later.charge_plan(plan(2), "too much")
            later.charge_plan(plan("1/100"), "last")
        without_roots(url.removeprefix("sqlite:///"), *numbers)
        with pytest.raises(LedgerError, match="chain is broken"):
            early.charge_plan(plan("1/100"), "more")


def test_a_root_that_leaves_out_a_charge_before_it_is_found(url):
    """A root is held to all charges since the one before it."""
    file = charges(url, 6)
    by_hand(
        file,
        "UPDATE entries SET root = (SELECT root FROM entries WHERE number = 2) WHERE number = 4",
        "UPDATE entries SET root = NULL WHERE number IN (2, 3)",
    )
    sealed(Path(file), 1)
    assert verify(url) == {"valid": False, "first_bad": 2}  # what comes before it ends with a root


def test_amounts_beyond_all_digits_are_refused_and_harm_nobody(url):
    """Two charges of 4,300 digits have a sum that cannot be written: each is refused, as one by one."""
    init(url, **BUDGET)
    huge = plan(5 * 10**4299, (1, 5))
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan("1/10"), "before")
        many = ledger.charge_many([(huge, "huge", None), (plan("1/10"), "part", None), (huge, "huge", None)])
        assert [one.reason is None for one in many] == [False, True, False]
        with pytest.raises(BudgetError, match="beyond"):
            ledger.charge_plan(huge, "huge")
        with pytest.raises(BudgetError, match="does not fit the budget"):
            ledger.forfeit(huge, "lost")
        assert ledger.show()["entries"] == 2
    assert verify(url) == VALID


@pytest.mark.parametrize("pattern", ["+", "-", "+-", "++++-", "-++++++++++++", "++++++++++++-"])
def test_refusals_in_between_change_nothing(tmp_path, pattern):
    """Whatever is tried together and fails is decided again, to the same answers as one by one."""
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("one", "many")]
    sizes = [(Fraction(1, 1000) if pattern[place % len(pattern)] == "+" else 2) for place in range(60)]
    requests = [(plan(size, (place, place + 2)), "part", None) for place, size in enumerate(sizes, 1)]
    for url in urls:
        init(url, **BUDGET)
    with Ledger.open(urls[0]) as alone, Ledger.open(urls[1]) as ledger:
        many = ledger.charge_many(requests)
        assert [(one.entry, one.known, one.reason) for one in many] == one_by_one(alone, requests)
        assert {**ledger.show(), "head": ""} == {**alone.show(), "head": ""}
    assert verify(urls[1]) == VALID


def test_more_than_a_commit_takes_does_not_go_without_a_root(url, monkeypatch):
    monkeypatch.setattr(verifying, "MAX_CHARGES", 2)
    monkeypatch.setattr(verifying, "TOGETHER", 1)
    without_roots(charges(url, 6), 1, 2, 3, 4, 5)
    assert verify(url) == {"valid": False, "first_bad": 5}


def rows(url: str) -> list[Entry]:
    store = Store.open(url)
    with store.reading() as reading:
        entries = list(reading.entries())
    store.close()
    return entries


def test_a_wrong_one_charges_none(url):
    """What cannot be asked at all is the caller's error, before anything is decided."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        good = (plan("1/10"), "part", None)
        other = Plan(Relation.ADD_REMOVE, (Gaussian(sigma=1),))
        for wrong in ((other, "part", None), (plan("1/10"), "", None), (plan("1/10"), "part", "\n")):
            with pytest.raises(InputError):
                ledger.charge_many([good, wrong])
        with pytest.raises(InputError, match="at most 1000"):
            ledger.charge_many([good] * 1001)
        assert ledger.show()["entries"] == 0


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


@deep
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
    with unforked():
        assert ledger.charge_plan(plan(), "one").entry == 1


def test_so_many_together_and_no_more(monkeypatch):
    sizes = []
    group = Group(lambda jobs: sizes.append(sum(len(job.requests) for job in jobs)), holds_off_forks)
    jobs = [ToCharge([(None, None)] * size) for size in (400, 500, 100, 1, 600)]
    group._waiting.extend(jobs[1:])
    assert group._next(jobs[0]) == jobs[:3]
