"""Heads noted outside: an older copy and a lost log are told by them, and what came after one is verified alone."""

import random
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep, examples

from .conftest import BUDGET, VALID, by_hand, plan, sealed


def charge(url: str, times: int = 1) -> list[str]:
    """Charge so often; return the head after each."""
    with Ledger.open(url) as ledger:
        return [ledger.charge_plan(plan(Fraction(1, 20), (n + 1, n + 3)), "part").head for n in range(times)]


@pytest.fixture
def noted(tmp_path) -> str:
    """Return the URL of a ledger whose heads are noted."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "heads").touch()
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, **BUDGET)
    return f"{url}?witness={elsewhere}/heads"


def heads_of(tmp_path) -> list[str]:
    lines = (tmp_path / "elsewhere" / "heads").read_text().splitlines()
    return [line.split()[1] for line in lines if not line.startswith("{")]


# ------------------------------------------------------------------ witnesses


def test_every_commit_is_noted_and_a_refusal_too(noted, tmp_path):
    heads = charge(noted, 3)
    with Ledger.open(noted) as ledger, pytest.raises(BudgetError):
        ledger.charge_plan(plan(2), "too much")
    assert heads_of(tmp_path)[:3] == heads
    assert len(heads_of(tmp_path)) == 4
    assert verify(noted) == VALID


def test_an_older_copy_is_refused(noted, tmp_path):
    file, copy = tmp_path / "budget.db", tmp_path / "older.db"
    charge(noted, 2)
    shutil.copy(file, copy)
    charge(noted, 2)
    copy.replace(file)
    for use in (Ledger.open, verify):
        with pytest.raises(
            LedgerError, match=r"notes another entry 4 than this chain has, which ends with entry 2"
        ):
            use(noted)
    without = noted.partition("?")[0]
    assert verify(without) == VALID  # what the witness is for


def test_an_open_ledger_asks_before_each_write(noted, tmp_path):
    with Ledger.open(noted) as ledger:
        ledger.charge_plan(plan(Fraction(1, 10)), "part")
        witness = tmp_path / "elsewhere" / "heads"
        witness.write_text(witness.read_text() + f"2 sha256:{'0' * 64}\n")
        with pytest.raises(LedgerError, match="notes another entry 2"):
            ledger.charge_plan(plan(Fraction(1, 10)), "part")
        assert ledger.show()["entries"] == 1


def test_a_chain_that_branches_off_a_noted_head_is_refused(noted, tmp_path):
    file, copy = tmp_path / "budget.db", tmp_path / "older.db"
    charge(noted, 1)
    shutil.copy(file, copy)
    charge(noted, 1)
    copy.replace(file)
    charge(noted.partition("?")[0], 3)
    with pytest.raises(LedgerError, match="notes another entry 2"):
        Ledger.open(noted)


def test_the_last_line_of_a_witness_may_be_cut(noted, tmp_path):
    charge(noted, 3)
    witness = tmp_path / "elsewhere" / "heads"
    witness.write_text(witness.read_text()[:-20])
    assert verify(noted) == VALID
    assert len(charge(noted, 1)) == 1


def test_every_line_is_looked_at_by_verify(noted, tmp_path):
    charge(noted, 3)
    witness = tmp_path / "elsewhere" / "heads"
    witness.write_text(f"1 sha256:{'1' * 64}\n" + witness.read_text())
    with pytest.raises(LedgerError, match="notes another entry 1"):
        verify(noted)


@pytest.mark.parametrize(
    "text", ["x\n", "1 md5:0\n", "-1 sha256:0\n", "²\n", f"{10**18} sha256:0\n", f"{'9' * 5000} sha256:0\n"]
)
def test_another_file_is_no_witness(noted, tmp_path, text):
    (tmp_path / "elsewhere" / "heads").write_text(text)
    with pytest.raises(LedgerError, match="holds no list of heads; give"):
        Ledger.open(noted)


def test_a_missing_witness_is_refused_and_never_made(noted, tmp_path):
    (tmp_path / "elsewhere" / "heads").unlink()
    with pytest.raises(LedgerError, match=r"cannot be read .*; give the file"):
        Ledger.open(noted)
    with pytest.raises(InputError, match="names no witness"):
        Ledger.open(noted.partition("=")[0] + "=")


def test_a_witness_that_cannot_be_written_loses_nothing(noted, tmp_path):
    """The charge stands, its caller is told so, and the key finds it."""
    witness = tmp_path / "elsewhere" / "heads"
    with Ledger.open(noted) as ledger:
        ledger._store.witness.path = Path("/dev/full")
        ledger._store.witness.notes = list  # it cannot be read either
        with pytest.raises(
            LedgerError, match=r"entry 1 is written, and its head could not be noted .*same key"
        ):
            ledger.charge_plan(plan(Fraction(1, 10)), "part", "a")
    assert witness.read_text() == ""
    with Ledger.open(noted) as ledger:
        assert ledger.charge_plan(plan(Fraction(1, 10)), "part", "a").entry == 1
        assert ledger.show()["entries"] == 1


# ------------------------------------------------------------------ whole entries


@pytest.fixture
def begun(noted, tmp_path):
    """Return a witness that began as an export of a ledger with one charge."""
    charge(noted.partition("?")[0], 1)
    witness = tmp_path / "elsewhere" / "heads"
    witness.write_bytes(b"".join(export.lines(noted.partition("?")[0])))
    return witness


@deep
def test_a_witness_that_began_as_an_export_makes_the_whole_ledger_again(noted, begun, tmp_path):
    """Its lines as they are, in any order of their writers, doubled, and cut anywhere by a crash."""
    rng, heads = random.Random(5), {}
    for number in range(2, 14):
        if rng.random() < 0.5:  # a crash cut what the last writer noted
            kept = begun.read_bytes()
            begun.write_bytes(kept[: len(kept) - rng.randrange(1, len(kept.splitlines()[-1]) + 200)])
        charge(noted, 1)
        with Ledger.open(noted) as ledger:
            heads[number] = ledger.show()["head"]
        made = export.imported(begun, f"sqlite:///{tmp_path}/again {number}.db")
        assert (made["entries"], made["head"]) == (number, heads[number])
    first, *lines = begun.read_bytes().splitlines(keepends=True)
    for place in range(9):
        rng.shuffle(lines)
        begun.write_bytes(b"".join([first, *lines, *rng.sample(lines, 5)]))
        made = export.imported(begun, f"sqlite:///{tmp_path}/shuffled {place}.db")
        assert made["head"] == heads[13]


def test_an_entry_that_is_missing_or_another_is_refused(noted, begun, tmp_path):
    charge(noted, 3)
    first, *lines = begun.read_bytes().splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.startswith(b"{"):
            for other in (b"", line.replace(b"1/10", b"1/90")):
                begun.write_bytes(b"".join([first, *lines[:place], other, *lines[place + 1 :]]))
                if other != line:
                    with pytest.raises(LedgerError, match="no valid ledger"):
                        export.imported(begun, f"sqlite:///{tmp_path}/never.db")
    assert not (tmp_path / "never.db").exists()


def test_what_could_not_be_noted_is_noted_by_the_next_writer(noted, begun, tmp_path):
    charge(noted, 1)
    with Ledger.open(noted) as ledger:
        path, ledger._store.witness.path = ledger._store.witness.path, Path("/dev/full")
        ledger._store.witness.notes = list
        with pytest.raises(LedgerError, match="could not be noted"):
            ledger.charge_plan(plan(Fraction(1, 10)), "part", "a")
    assert path == begun
    charge(noted, 1)
    made = export.imported(begun, f"sqlite:///{tmp_path}/again.db")
    with Ledger.open(noted) as ledger:
        assert made["head"] == ledger.show()["head"]


def test_a_witness_whose_last_commit_was_cut_is_imported_as_it_is(noted, begun, tmp_path):
    """The ledger may be gone after the crash, too: what was acknowledged is in the lines that are whole."""
    acknowledged = begun.stat().st_size
    with Ledger.open(noted) as ledger:
        done = ledger.charge_many([(plan(Fraction(1, 900), (1, 3)), "part " * 9, None) for _ in range(6)])
    whole = begun.read_bytes()
    head = len(whole.splitlines(keepends=True)[-1])
    for place, cut in enumerate((1, 40, head, head + 1, head + 2, len(whole) - acknowledged)):
        begun.write_bytes(whole[:-cut])
        made = export.imported(begun, f"sqlite:///{tmp_path}/cut {place}.db")
        assert made["entries"] == (done[-1].entry if cut <= head + 1 else 1)


@pytest.mark.parametrize("cut", [1, 30, 74, 75, 90])
def test_zeros_that_a_crash_leaves_are_no_line(noted, begun, tmp_path, cut):
    charge(noted, 1)
    begun.write_bytes(begun.read_bytes()[:-cut] + bytes(cut))
    [head] = charge(noted, 1)
    assert verify(noted) == VALID
    assert export.imported(begun, f"sqlite:///{tmp_path}/again.db")["head"] == head


def test_an_older_copy_is_refused_by_the_entries_of_a_witness(noted, begun, tmp_path):
    """Also where no head was noted yet, and where a crash cut a commit that is longer than the tail."""
    older = tmp_path / "older"
    older.mkdir()
    init(f"sqlite:///{older}/budget.db", **BUDGET)
    url = f"sqlite:///{older}/budget.db?witness={begun}"
    with pytest.raises(LedgerError, match="notes another entry 1"):
        Ledger.open(url)
    shutil.copy(tmp_path / "budget.db", older / "budget.db")
    begun.write_bytes(b"")
    charge(noted, 1)
    with Ledger.open(noted) as ledger:
        ledger.charge_many([(plan(Fraction(1, 900), (1, 3)), "part " * 9, None) for _ in range(20)])
    begun.write_bytes(begun.read_bytes()[:-1])
    with pytest.raises(LedgerError, match="notes another entry"):
        Ledger.open(url)


def test_a_witness_of_two_branches_is_no_ledger(noted, begun, tmp_path):
    """Each of them acknowledged charges."""
    whole = begun.read_bytes()
    shutil.copy(tmp_path / "budget.db", tmp_path / "branch.db")
    charge(noted, 1)
    branch = begun.read_bytes()[len(whole) :]
    begun.write_bytes(whole)
    shutil.copy(tmp_path / "branch.db", tmp_path / "budget.db")
    charge(noted, 2)
    for lines in (branch, branch.splitlines(keepends=True)[-1]):
        begun.write_bytes(begun.read_bytes() + lines)
        with pytest.raises(LedgerError, match="entry 2 is noted otherwise than its chain has it"):
            export.imported(begun, f"sqlite:///{tmp_path}/never.db")


def test_a_witness_that_began_as_an_export_gets_what_was_charged_without_it(noted, begun, tmp_path):
    charge(noted.partition("?")[0], 2)
    [head] = charge(noted, 1)
    made = export.imported(begun, f"sqlite:///{tmp_path}/again.db")
    assert (made["entries"], made["head"]) == (4, head)


# ------------------------------------------------------------------ verify --head, --since


def test_a_noted_head_must_be_on_the_chain(url):
    init(url, **BUDGET)
    heads = charge(url, 4)
    for head in heads:
        assert verify(url, head=head) == verify(url, since=head) == VALID
    for other in ("sha256:0", "", heads[0][:-1]):
        wrong = {"valid": False, "first_bad": "noted head"}
        assert verify(url, head=other) == verify(url, since=other) == wrong


covers = st.one_of(
    st.none(), st.tuples(st.integers(1, 12), st.integers(1, 12)).map(lambda ends: (min(ends), max(ends)))
)


@deep
@examples(25, 25)
@given(parts=st.lists(st.tuples(covers, st.sampled_from([1, 2])), min_size=1, max_size=6), data=st.data())
def test_since_any_head_all_is_well_and_any_edit_after_it_is_found(tmp_path_factory, parts, data):
    file = tmp_path_factory.mktemp("since") / "budget.db"
    url = f"sqlite:///{file}"
    first = init(url, **BUDGET)["head"]
    with Ledger.open(url) as ledger:
        heads = [first]
        for cover, size in parts:
            heads.append(ledger.charge_plan(plan(Fraction(size, 20), cover), "part").head)
    for head in heads:
        assert verify(url, since=head) == VALID
    number = data.draw(st.integers(1, len(parts)))
    kind = data.draw(st.sampled_from(["body", "root", "digest"]))
    by_hand(file, f"UPDATE entries SET {kind} = {kind} || ' ' WHERE number = ?", values=(number,))
    for place, head in enumerate(heads[:number]):
        assert not verify(url, since=head)["valid"], place


def test_since_tells_a_chain_that_was_sealed_over_wrong_totals(url, tmp_path):
    """By who rewrites all after the head, digests included, with a charge left out of the totals."""
    init(url, **BUDGET)
    heads = charge(url, 3)
    sealed(tmp_path / "budget.db", 3, lambda body: body.replace('"1/20"', '"1/40"'))
    assert verify(url, since=heads[1]) == {"valid": False, "first_bad": 3}
    assert not verify(url, since=heads[2])["valid"]


@deep
def test_since_reads_little(url, monkeypatch):
    """The entries after the head, one before it, entry 0, and of the tree what they reach."""
    from dpaccount.ledger.stores.rows import Rows

    init(url, **BUDGET)
    dice = random.Random(1)
    with Ledger.open(url) as ledger:
        for _ in range(300):
            first = dice.randrange(1, 10**6)
            head = ledger.charge_plan(plan(Fraction(1, 1000), (first, 10**6)), "x").head
        for _ in range(2):
            ledger.charge_plan(plan(Fraction(1, 1000), (5, 5)), "x")
    read = []
    real = Rows.node
    monkeypatch.setattr(Rows, "node", lambda self, node: (read.append(node), real(self, node))[1])
    assert verify(url, since=head) == VALID
    assert len(read) <= 25
