"""Real runs: data into a claim, one charge and one release, and nothing printed that was not checked."""

import csv
import json
import multiprocessing
import os
import shutil
import sqlite3
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import consistency
from audits.api.on_subject import certify_subject
from audits.api.requests import Certify
from audits.certificate import make, release
from audits.certificate.document import certificate_of, seal
from audits.certificate.make import AuditBudget
from audits.claim import read_claim
from audits.reports.sections import _spending
from audits.sandbox import private_data
from audits.subjects.catalogue import subject_made
from dpaccount.documents import canonical
from dpaccount.errors import BudgetError, DpaccountError, InputError, LedgerError
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.proved import Proved
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, assume_clipped, laplace, linear
from dpaccount.schemas.certificate import DescribedSubject
from mechanisms.subject import Domain, View, shown_to_all
from tests.depth import deep, examples
from tests.documents import wrong


@dataclass(frozen=True)
class Ages:
    """The sum of ages, as a careful author writes it."""

    source: ClassVar[str] = "us"
    status: ClassVar[str] = "sound"

    rows: int = 5
    relation: str = REPLACE_ONE
    scale: Fraction = Fraction(200)
    high: Fraction = Fraction(100)

    def domain(self):
        return Domain(self.rows, (0.0,), (float(self.high),), (False,))

    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), self.high, self.relation, "movement")
        return shown_to_all(laplace(linear(row), self.scale, Fraction(1), "sum"), "test-release", delta)

    def read(self, path):
        with path.open(newline="") as file:
            return np.array([[number(line["age"])] for line in csv.DictReader(file)])

    def play(self, data, noise, coins):
        total = np.floor(np.clip(data[:, 0], 0, float(self.high))).astype(np.int64).sum()
        return View(public={"sum": noise.noisy("sum", 0, np.array([total]))})

    def report(self, view):
        return {"sum": int(view.public["sum"][0])}

    def evaluate(self, data, view, coins):
        return {"off by": float(abs(view.public["sum"][0] - data.sum()))}


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return np.nan


CLAIM = """
schema = "dpaccount/claim/1"
name = "ages"
[guarantee]
model = "central"
unit = "row"
relation = "{relation}"
epsilon = 0.5
[subject]
use = "test_release:{name}"
[subject.parameters]
relation = "{relation}"
[data]
file = "people.csv"
ledger = "sqlite:///ages.db"
{public}
[audit]
trials = 60
"""
PEOPLE = ["31", "64", "47", "22", "50"]


@pytest.fixture(autouse=True)
def few_examples(monkeypatch):
    monkeypatch.setattr(make, "EXAMPLES", 10)


def written(folder, ages=PEOPLE, *, made_by=Ages, relation=REPLACE_ONE, public="", more=None):
    """Write a claim, its data and a ledger of ε = 1, enough for two releases; return the claim."""
    (folder / "claim.toml").write_text(CLAIM.format(name=made_by.__name__, relation=relation, public=public))
    people(folder, ages)
    if not (folder / "ages.db").exists():
        init(url(folder), epsilon=1, delta=0, unit="row", relation=relation, measure="pure")
    return read_claim(folder / "claim.toml")


def people(folder, ages):
    (folder / "people.csv").write_text("id,age\n" + "".join(f"{i},{age}\n" for i, age in enumerate(ages)))


def url(folder):
    return f"sqlite:///{folder}/ages.db"


def run(claim, made_by=Ages, *, again=False, progress=make.silent):
    question = Certify(claim.path, again=again, release=True)
    return certify_subject(question, claim, subject_made(claim, made_by), AuditBudget(), progress)


def charges(folder):
    with Ledger.open(url(folder)) as ledger:
        return ledger.show()["entries"]


# ------------------------------------------------------------------ what a release holds


@deep
def test_a_release_holds_the_digests_of_data_and_code_and_the_ledgers_head(tmp_path):
    claim = written(tmp_path)
    before = Ledger.open(url(tmp_path)).show()["head"]
    heads = []
    done = run(claim)
    made = done.certificate["release"]
    names = {"report", "ledger_entry", "ledger_head", "budget", "data", "code", "noise", "evaluation"}
    assert set(made) == names
    assert done.certificate["verdict"] == "CERTIFIED"
    assert made["code"] == done.certificate["subject"]["code"]
    assert made["data"] != private_data.digest_of_data(tmp_path / "people.csv")
    assert (made["ledger_entry"], made["noise"], made["evaluation"]) == (1, "secure", None)
    with Ledger.open(url(tmp_path)) as ledger:
        heads = [entry.digest for entry in _entries(ledger)]
        shown = ledger.show()
    noted = made["budget"]
    assert {name: noted[name] for name in shown["budget"]} == shown["budget"]
    assert noted["before"] == {"lower": 0.0, "upper": 0.0}
    assert (noted["after"], noted["rest"]) == (shown["spent"]["epsilon"], shown["remaining"]["epsilon"])
    assert noted["left"].items() < shown["remaining"].items()
    assert not wrong("certificate", json.loads(json.dumps(done.certificate)))
    report = dict(_spending(noted))
    assert report["Spent before this release"].startswith("ε ≤ 0 at the budget's δ = ")
    assert heads[0] == before
    assert made["ledger_head"] == heads[1]
    assert "CERTIFIED" in str(consistency.judged(json.dumps(done.certificate).encode()))
    again = run(claim)
    assert again.reprinted
    assert canonical(again.certificate) == canonical(done.certificate)
    assert json.dumps(again.certificate) == json.dumps(done.certificate)  # the order of members too
    assert charges(tmp_path) == 1


@deep
def test_a_release_is_charged_in_the_scope_that_the_claim_names(tmp_path):
    claim = written(tmp_path, public='scope = "team/ada"')
    with pytest.raises(InputError, match="there is no scope team/ada; make it with `dpaccount ledger scope`"):
        run(claim)
    with Ledger.open(url(tmp_path)) as ledger:
        ledger.set_scope("team", "1/2")
        ledger.set_scope("team/ada", "1/2")
    done = run(claim)
    assert not wrong("certificate", json.loads(json.dumps(done.certificate)))
    assert "CERTIFIED" in str(consistency.judged(json.dumps(done.certificate).encode()))
    assert run(claim).reprinted
    with pytest.raises(BudgetError, match="the scope team"):
        run(claim, again=True)
    with Ledger.open(url(tmp_path)) as ledger:
        assert [one["spent"] for one in ledger.show()["scopes"]] == [ledger.show()["spent"]] * 2


@deep
@pytest.mark.parametrize("scope", ["3", "[]", '""', '"Team A"'])
def test_a_wrong_scope_is_one_sentence(tmp_path, scope):
    with pytest.raises(InputError) as refused:
        run(written(tmp_path, public=f"scope = {scope}"))
    assert "\n" not in str(refused.value)
    assert charges(tmp_path) == 0


def _entries(ledger):
    with ledger._store.reading() as rows:
        return list(rows.entries())


@deep
def test_again_makes_a_new_charged_release_and_the_latest_is_printed(tmp_path):
    claim = written(tmp_path)
    first, second = run(claim), run(claim, again=True)
    assert not second.reprinted
    assert second.certificate["release"]["ledger_entry"] > first.certificate["release"]["ledger_entry"]
    assert run(claim).certificate == second.certificate
    assert charges(tmp_path) == 2


@deep
def test_an_evaluation_reads_public_data_only_and_its_failure_loses_nothing(tmp_path):
    @dataclass(frozen=True)
    class Fails(Ages):
        def evaluate(self, data, view, coins):
            raise ValueError(f"secret {data[0]}")

    for name in ("right", "wrong"):
        (tmp_path / name).mkdir()
    claim = written(tmp_path / "right", public="public = true")
    assert set(run(claim).certificate["release"]["evaluation"]) == {"note", "off by"}
    done = release_from(written(tmp_path / "wrong", public="public = true"), Fails)
    assert done["release"]["evaluation"]["failed"].startswith("Fails.evaluate raises ValueError")
    assert "secret" not in json.dumps(done)


# ------------------------------------------------------------------ the data


@deep
@pytest.mark.parametrize("number", [0, 4, 6, 400])
def test_another_number_of_rows_is_refused_without_it(tmp_path, number):
    """What `read` returns may lack rows for what is in them: their number is not said."""
    claim = written(tmp_path, ["30"] * number)
    with pytest.raises(InputError, match="reads no table of 5 rows of 1 numbers") as refused:
        run(claim)
    assert str(number) not in str(refused.value).partition("people.csv")[2]
    assert charges(tmp_path) == 0


@deep
def test_under_add_remove_any_number_up_to_the_limit_is_read(tmp_path):
    for number in (0, 1, 5):
        assert len(prepared(written(tmp_path, ["30"] * number, relation=ADD_REMOVE)).data) == number
    with pytest.raises(InputError, match="reads no table of at most 5 rows of 1 numbers"):
        prepared(written(tmp_path, ["30"] * 6, relation=ADD_REMOVE))


def prepared(claim, made_by=Ages):
    subject = subject_made(claim, made_by)
    return release.read(release.identify(claim, subject), subject)


@deep
def test_values_out_of_range_are_clamped_and_not_refused(tmp_path):
    claim = written(tmp_path, ["193", "-7", "nan", "inf", "x"])
    assert prepared(claim).data.tolist() == [[100.0], [0.0], [0.0], [100.0], [0.0]]
    assert run(claim).certificate["verdict"] == "CERTIFIED"


CELL = st.one_of(
    st.text(st.characters(exclude_characters='\n\r",', exclude_categories=["Cs"]), max_size=6),
    st.floats().map(str),
    st.sampled_from(["", "193", "-1", "1e999", "nan", "-inf", "٣", "1_0", "0x10", "\0"]),
)


@deep
@examples(12)
@given(
    cells=st.lists(CELL, min_size=3, max_size=7),
    other=CELL,
    relation=st.sampled_from([REPLACE_ONE, ADD_REMOVE]),
)
def test_a_refusal_is_a_function_of_public_facts_only(tmp_path_factory, cells, other, relation):
    """Files that differ in one row's cells are refused in the same words, or both are within the domain."""
    folder = tmp_path_factory.getbasetemp() / relation
    folder.mkdir(exist_ok=True)

    def said(ages):
        try:
            found = prepared(written(folder, ages, relation=relation))
        except InputError as refused:
            return str(refused)
        assert Ages().domain().contains(found.data)
        return found.data.shape

    assert said(cells) == said([other, *cells[1:]]) == said([*cells[:-1], other])


@deep
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    @dataclass(frozen=True)
    class Meanwhile(Ages):
        def read(self, path):
            found = super().read(path)
            path.write_text(path.read_text() + " ")
            return found

    with pytest.raises(InputError, match="changed while it was read"):
        prepared(written(tmp_path), Meanwhile)
    (tmp_path / "people.csv").unlink()
    with pytest.raises(InputError, match="No such file"):
        prepared(read_claim(tmp_path / "claim.toml"))


# ------------------------------------------------------------------ careless subjects


@dataclass(frozen=True)
class Dropped(Ages):
    """Leaves incomplete rows out, and reports how many there were."""

    def read(self, path):
        whole = super().read(path)
        object.__setattr__(self, "dropped", int(np.isnan(whole).sum()))
        return np.nan_to_num(whole)

    def report(self, view):
        return {**super().report(view), "left out": self.dropped}


@dataclass(frozen=True)
class Remembers(Ages):
    """Keeps the exact sum for the report."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        object.__setattr__(self, "exact", float(data.sum()))
        return view

    def report(self, view):
        return {"error": int(view.public["sum"][0]) / self.exact}


@dataclass(frozen=True)
class Fitted(Ages):
    """Takes the range from the file."""

    def read(self, path):
        found = super().read(path)
        object.__setattr__(self, "high", Fraction(np.nanmax(found)))
        return found


@dataclass(frozen=True)
class FittedInPlay(Ages):
    """Takes the range from the data when it runs."""

    def play(self, data, noise, coins):
        object.__setattr__(self, "high", Fraction(data.max()))
        return super().play(data, noise, coins)


@dataclass(frozen=True)
class NoJson(Ages):
    """Reports an array."""

    def report(self, view):
        return {"sum": view.public["sum"]}


@dataclass(frozen=True)
class ReadsAWord(Ages):
    """Raises on a cell that is no number, and quotes it."""

    def read(self, path):
        with path.open(newline="") as file:
            return np.array([[float(line["age"])] for line in csv.DictReader(file)])


@dataclass(frozen=True)
class Ragged(Ages):
    """Gives no table."""

    def read(self, path):
        return [[1.0], [2.0, 3.0]]


class Undeclared(Ages):
    """Has no decorator, so that attributes can be set on it."""


CARELESS = {
    Dropped: "Dropped.report raises AttributeError",
    Remembers: "Remembers.report raises AttributeError",
    Fitted: "Fitted.read changes the subject's parameters",
    FittedInPlay: "FittedInPlay.play changes the subject's parameters",
    NoJson: "NoJson.report gives no JSON",
    ReadsAWord: "ReadsAWord.read raises ValueError",
    Ragged: "read gives no table of numbers",
    Undeclared: r"Undeclared may change between proof and run; declare it @dataclass\(frozen=True\)",
}


def release_from(claim, made_by):
    """Ask for the run itself, whatever proof, audit and checker make of the class."""
    with patch.object(release, "refused_by_checker", return_value=None):  # the certificate is no whole one
        return made_from(claim, made_by)


def made_from(claim, made_by):
    """Ask for the run itself with a certificate that holds nothing of the subject but its code."""
    due = prepared(claim, made_by)
    proved = Proved(due.subject().proof(Fraction(0)))
    certificate = certificate_of(
        claim, DescribedSubject("a", "a", "ours", "sound", {}, "of this test"), None, "not asked"
    )
    return release.make(release.find_run(due, again=False), proved, certificate)[0]


@deep
def test_what_the_checker_would_refuse_is_not_charged(tmp_path):
    with pytest.raises(
        InputError, match=r"checker would refuse it .*subject\.code is of this test.*nothing is charged"
    ):
        made_from(written(tmp_path), Ages)
    assert charges(tmp_path) == 0


@deep
@pytest.mark.parametrize("made_by", CARELESS, ids=lambda made_by: made_by.__name__)
def test_careless_subjects_are_one_line_before_anything_is_charged(tmp_path, made_by):
    claim = written(tmp_path, ["31", "12", "secret", "", "99"])
    with pytest.raises(DpaccountError, match=CARELESS[made_by]) as refused:
        release_from(claim, made_by)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
    assert charges(tmp_path) == 0


SEEN = []


@dataclass(frozen=True)
class KeepsInTheModule(Ages):
    """Reader, run and report fill a list of the module, and the report shows how much is in it."""

    seen: ClassVar[list] = []

    def read(self, path):
        found = super().read(path)
        SEEN.append(found)
        self.seen.append(found)
        type(self).high = Fraction(found.max())
        return found

    def play(self, data, noise, coins):
        if getattr(getattr(noise, "inner", None), "entry", 0) > 0:
            SEEN.append(data)
            self.seen.append(data)
        return super().play(data, noise, coins)

    def report(self, view):
        return {"module": len(SEEN), "class": len(self.seen), "high": str(type(self).high)}


@deep
def test_a_reader_or_report_that_keeps_state_never_meets_the_run(tmp_path):
    made = release_from(written(tmp_path), KeepsInTheModule)["release"]
    assert made["report"] == {"module": 0, "class": 0, "high": "100"}


@deep
def test_a_reader_that_ends_its_process_is_one_line(tmp_path):
    @dataclass(frozen=True)
    class Ends(Ages):
        def read(self, path):
            os._exit(3)

    with pytest.raises(InputError, match="ended its process"):
        prepared(written(tmp_path), Ends)


def test_every_class_that_can_be_changed_is_refused(tmp_path):
    @dataclass(unsafe_hash=True)
    class Thawed:
        rows: int = 5

    class Plain:
        pass

    for made_by in (Thawed, Plain, Undeclared):
        with pytest.raises(InputError, match="frozen"):
            subject_made(written(tmp_path), made_by)


@deep
def test_what_fails_on_the_data_alone_is_charged_and_said_without_the_data(tmp_path):
    @dataclass(frozen=True)
    class Picky(Ages):
        def play(self, data, noise, coins):
            if (data == 37).sum() == 2:
                raise ValueError(f"people of 37 at {data}")
            return super().play(data, noise, coins)

    claim = written(tmp_path, ["37", "37", "1", "2", "3"])
    with pytest.raises(LedgerError, match=r"Picky.play raises ValueError; .*; entry 1 is charged") as refused:
        release_from(claim, Picky)
    assert "people" not in str(refused.value)


# ------------------------------------------------------------------ what is kept is checked


EDITS = {
    "epsilon": lambda d: d["guarantee"].update(epsilon=0.001),
    "report": lambda d: d["release"].update(report={"sum": 31337}),
    "nothing": lambda d: d.clear(),
    "members": lambda d: d.pop("guarantee"),
    "verdict": lambda d: d.update(verdict="UNPROVEN"),
    "data": lambda d: d["release"].update(data="sha256:" + "0" * 64),
}


def edit(folder, change, *, reseal=False):
    """Change the kept release in the file."""
    with sqlite3.connect(folder / "ages.db") as file:
        number, body = file.execute("select number, body from entries where kind = 'release'").fetchone()
        document = json.loads(body)
        change(document)
        if reseal:
            document = seal(document)
        file.execute("update entries set body = ? where number = ?", (json.dumps(document), number))


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a folder with a claim that was released, and its certificate."""
    folder = tmp_path_factory.mktemp("released")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make, "EXAMPLES", 10)
        return folder, run(written(folder)).certificate


@deep
@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("reseal", [False, True])
def test_a_kept_release_that_was_changed_is_never_printed(released, tmp_path, name, reseal):
    shutil.copytree(released[0], tmp_path, dirs_exist_ok=True)
    edit(tmp_path, EDITS[name], reseal=reseal)
    with pytest.raises(LedgerError, match="changed"):
        run(read_claim(tmp_path / "claim.toml"))
    assert verify(url(tmp_path))["valid"] is False


@deep
@pytest.mark.parametrize("name", EDITS)
def test_a_kept_release_is_checked_although_the_chain_holds(released, tmp_path, name):
    """Kept by a program that does not check: its body is no certificate of this claim, data and code."""
    claim = written(tmp_path)
    due = prepared(claim)
    with Ledger.open(url(tmp_path)) as ledger:
        receipt = ledger.charge(due.subject().proof(Fraction(0)), "ages", None, due.numbered(1))
        receipt.noisy("sum", 0, np.array([1]))
        paid = ledger.paid(receipt.entry)
        entry, head = paid.entry, paid.head
        document = json.loads(json.dumps(released[1]))
        document["release"].update(ledger_entry=entry, ledger_head=head, data=due.named_data(""))
        EDITS[name](document)
        ledger.keep_release(entry, seal(document) if document else {"verdict": "CERTIFIED"})
    assert verify(url(tmp_path))["valid"]
    if name == "report":  # noise: no one can tell
        assert run(claim).reprinted
        return
    with pytest.raises(LedgerError, match="is not printed") as refused:
        run(claim)
    assert "\n" not in str(refused.value)


@deep
@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("ledger entry", lambda made: made.update(ledger_entry=2)),
        ("ledger entry", lambda made: made.update(ledger_head="sha256:" + "0" * 64)),
        ("code", lambda made: made.update(code="sha256:" + "0" * 64)),
        ("data", lambda made: made.update(data="sha256:" + "0" * 64)),
    ],
)
def test_a_release_of_another_charge_data_or_code_is_named(released, what, change):
    folder, certificate = released
    due, made = prepared(read_claim(folder / "claim.toml")), dict(certificate["release"])
    right = made["data"], SimpleNamespace(entry=made["ledger_entry"], head=made["ledger_head"])
    assert release._mismatch(due, certificate, *right) is None
    change(made)
    body = seal({**certificate, "release": made})
    wrong = release._mismatch(due, body, *right)
    assert wrong is not None
    assert what in wrong or "checker" in wrong


# ------------------------------------------------------------------ what a certificate says of the file


@deep
def test_who_knows_all_rows_but_one_learns_nothing_from_a_certificate(tmp_path, monkeypatch):
    """What it holds of the file, and the ledger's head, hang on secrets that stay in the ledger."""
    monkeypatch.setattr(entries, "now", lambda: "2026-11-20T10:00:00+00:00")
    heads, names = set(), set()
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        due = prepared(written(tmp_path / place))
        with Ledger.open(url(tmp_path / place)) as ledger:
            receipt = ledger.charge(due.subject().proof(Fraction(0)), "ages", None, due.numbered(1))
            heads.add(ledger.paid(receipt.entry).head)
        names |= {due.named_data("a"), due.named_data("b"), due.digest}
        public = replace(due, bound=replace(due.bound, claim=replace(due.claim, public_data=True)))
        assert public.named_data("a") == due.digest
    assert len(heads) == 2
    assert len(names) == 3


# ------------------------------------------------------------------ twins


def audits_at_once(folder, barrier, ends):
    """Run in a process of its own, the audit together with a twin's; say the certificate's digest or the error."""

    def progress(what):
        if what == "audit":
            barrier.wait()

    try:
        said = run(read_claim(folder / "claim.toml"), progress=progress).certificate["digest"]
    except (LedgerError, release.ReceiptError) as error:
        said = f"error: {error}"
    ends.send(said)


@deep
def test_twins_that_audit_at_once_make_one_charge_and_one_release(tmp_path):
    """Both have settled on a number before either charges: a barrier in the audit sees to it."""
    claim, context = written(tmp_path), multiprocessing.get_context("fork")
    barrier, pipes = context.Barrier(2), [context.Pipe(duplex=False) for _ in range(2)]
    twins = [context.Process(target=audits_at_once, args=(tmp_path, barrier, ends)) for _, ends in pipes]
    for twin in twins:
        twin.start()
    said = [begins.recv() for begins, _ in pipes if begins.poll(600)]
    for twin in twins:
        twin.join(600)
    digests = {one for one in said if not one.startswith("error: ")}
    assert len(digests) == 1
    assert all("is drawing now" in one for one in said if one.startswith("error: "))
    assert charges(tmp_path) == 1
    assert {run(claim).certificate["digest"]} == digests


@deep
def test_a_twin_that_was_quicker_is_printed(tmp_path):
    claim, quicker = written(tmp_path), []

    def progress(what):
        if what == "audit" and not quicker:
            quicker.append(None)
            quicker.append(run(claim).certificate)

    slower = run(claim, progress=progress)
    assert slower.reprinted
    assert slower.certificate == quicker[1]
    assert charges(tmp_path) == 1


def draws_until_told(folder, began, told):
    """Run in a process of its own, and wait between the real draw and the release that is kept."""
    keep = Ledger.keep_release

    def kept_when_told(ledger, entry, body):
        began.set()
        told.wait()
        return keep(ledger, entry, body)

    Ledger.keep_release = kept_when_told
    run(read_claim(folder / "claim.toml"))


@deep
@pytest.mark.parametrize("when", ["before", "during"])
def test_a_twin_that_is_drawing_is_named_and_printed_when_it_is_done(tmp_path, when):
    claim, context = written(tmp_path), multiprocessing.get_context("fork")
    began, told = context.Event(), context.Event()
    other = context.Process(target=draws_until_told, args=(tmp_path, began, told))

    def progress(what):
        if what == "audit" and when == "during":
            other.start()
            began.wait(600)

    try:
        if when == "before":
            other.start()
            began.wait(600)
        with pytest.raises(release.RunningError, match="is drawing now") as named:
            run(claim, progress=progress)
        assert named.value.exit_code == 1
    finally:
        told.set()
        if other.pid is not None:
            other.join(600)
    assert other.exitcode == 0
    assert run(claim).reprinted
    assert charges(tmp_path) == 1


@deep
def test_a_lost_run_is_not_made_again_by_itself(tmp_path, monkeypatch):
    claim = written(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "keep_release", lambda *_: (_ for _ in ()).throw(LedgerError("no room")))
        with pytest.raises(LedgerError, match="no room"):
            run(claim)
    with pytest.raises(LedgerError, match="was lost; --new-release"):
        run(claim)
    assert charges(tmp_path) == 1
    assert run(claim, again=True).certificate["release"]
    assert charges(tmp_path) == 2
