"""A release that was kept is found by claim and data; one that ended after its charge says what was spent."""

import inspect
import signal
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from audits.api import dispatch
from audits.api.requests import Certify
from audits.attack.runs import silent
from audits.certificate import release
from audits.claim import _without_secrets, read_claim
from audits.subjects import sources
from dpaccount.errors import LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise import process
from tests.audits.certificate import test_release as made
from tests.audits.certificate.test_release import Ages, charges, people, prepared, run, url, written
from tests.depth import deep

few_examples = made.few_examples


@deep
def test_an_upgrade_prints_the_release_that_was_kept_and_says_so(tmp_path, monkeypatch):
    claim = written(tmp_path)
    first = run(claim)
    assert not first.other_code
    monkeypatch.setattr(sources, "_version", lambda _: "another version")
    again = run(claim)
    assert (again.reprinted, again.other_code, again.certificate) == (True, True, first.certificate)
    assert charges(tmp_path) == 1
    new = run(claim, again=True)
    assert new.certificate["subject"]["code"] != first.certificate["subject"]["code"]
    assert (charges(tmp_path), run(claim).certificate) == (2, new.certificate)


@deep
def test_a_release_of_an_earlier_version_is_found_although_its_key_named_the_code(tmp_path, monkeypatch):
    claim = written(tmp_path)
    monkeypatch.setattr(release, "key_of", lambda claim, digest: "a digest with the code")
    first = run(claim)
    monkeypatch.undo()
    assert run(claim).certificate == first.certificate
    people(tmp_path, ["30", *made.PEOPLE[1:]])
    assert release.find_run(prepared(claim), again=False).certificate is None
    assert charges(tmp_path) == 1


EDITS = [
    ("epsilon = 0.5", "epsilon = 0.6"),
    ("epsilon = 0.5", "epsilon = 0.5\ndelta = 1e-9"),
    ('unit = "row"', 'unit = "person"'),
    ('name = "ages"', 'name = "ages-2"'),
    ("[subject.parameters]", "[subject.parameters]\nscale = 201"),
    ("[subject.parameters]", "[subject.parameters]\nrows = 4"),
    ("test_release:Ages", "test_release:Dropped"),
    ("[audit]", "public = true\n[audit]"),
    ("[audit]", 'scope = "a"\n[audit]'),
    ("trials = 60", "trials = 61"),
    ("trials = 60", 'trials = 60\n[governance]\nowner = "b"'),
]


def test_no_changed_claim_and_no_changed_data_get_an_old_answer(tmp_path, monkeypatch):
    """The key follows from what is written and from the data alone, whatever the code."""
    claim = written(tmp_path)
    text, same = claim.path.read_text(), prepared(claim).key
    monkeypatch.setattr(sources, "_version", lambda _: "another version")
    keys = [prepared(claim).key]
    digest = prepared(claim).digest
    for old, new in EDITS:
        claim.path.write_text(text.replace(old, new))
        keys.append(release.key_of(read_claim(claim.path), digest))
    claim.path.write_text(text)
    for ages in (["32", *made.PEOPLE[1:]], made.PEOPLE[::-1], [*made.PEOPLE[:4], "50 "]):
        people(tmp_path, ages)
        keys.append(prepared(claim).key)
    assert keys[0] == same
    assert len(set(keys)) == 1 + len(EDITS) + 3


# ------------------------------------------------------------------ after the charge


def real(data):
    """Return whether these are the file's rows: no made-up ones have that sum."""
    return data.sum() == sum(map(int, made.PEOPLE))


@dataclass(frozen=True)
class Undrawn(Ages):
    """Ends on the real table before it draws."""

    ending: str = ""

    def play(self, data, noise, coins):
        if real(data):
            end(self.ending)
        return super().play(data, noise, coins)


@dataclass(frozen=True)
class Drawn(Undrawn):
    """Ends on the real table after it drew."""

    def play(self, data, noise, coins):
        view = Ages.play(self, data, noise, coins)
        if real(data):
            end(self.ending)
        return view


def end(how):
    if how == "alarm":
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("secret")))
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        signal.pause()
    raise {
        "memory": MemoryError,
        "exit": SystemExit,
        "interrupt": KeyboardInterrupt,
        "base": BaseException,
        "error": ValueError,
    }[how]("secret")


@deep
@pytest.mark.parametrize("ending", ["memory", "exit", "interrupt", "base", "error", "alarm"])
@pytest.mark.parametrize("made_by", [Undrawn, Drawn])
def test_whatever_ends_a_run_after_its_charge_says_what_was_spent(tmp_path, made_by, ending):
    claim = written(tmp_path, made_by=made_by)
    claim.path.write_text(claim.path.read_text().replace("[data]", f'ending = "{ending}"\n[data]'))
    with pytest.raises(LedgerError, match=r"entry 1 is charged \(ε 0.5\), and ") as said:
        made.release_from(read_claim(claim.path), made_by)
    way = "--new-release charges a new one" if made_by is Drawn else "the same command draws it"
    assert way in str(said.value)
    assert "secret" not in str(said.value)
    assert said.value.exit_code == (130 if ending == "interrupt" else 2)
    assert (charges(tmp_path), verify(url(tmp_path))["valid"]) == (1, True)


@deep
@pytest.mark.parametrize("kept", [False, True])
def test_a_full_disk_after_the_draw_says_what_was_spent(tmp_path, monkeypatch, kept):
    keep = Ledger.keep_release

    def full(ledger, entry, body):
        if kept:
            keep(ledger, entry, body)
        raise LedgerError("the ledger has no room on its disk; make room and try again")

    monkeypatch.setattr(Ledger, "keep_release", full)
    way = "its release is kept: the same command prints it" if kept else "--new-release"
    with pytest.raises(LedgerError, match=rf"no room on its disk.*entry 1 is charged \(ε 0.5.*{way}"):
        made.release_from(written(tmp_path), Ages)


HEAD = """import csv, os, signal
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar
import numpy as np
from dpaccount.proof import REPLACE_ONE, assume_clipped, laplace, linear
from mechanisms.subject import Domain, View, shown_to_all
"""


@deep
@pytest.mark.parametrize("how", ["kill", "exit", "hang"])
def test_a_class_whose_process_dies_on_the_real_table_is_not_only_unproven(tmp_path, monkeypatch, how):
    """Nothing of ours runs in that process any more: the ledger says what it charged."""
    claim = written(tmp_path)
    ways = {"kill": "os.kill(os.getpid(), signal.SIGKILL)", "exit": "os._exit(0)", "hang": "signal.pause()"}
    body = inspect.getsource(Ages).replace("test-release", "own")
    rows = str([int(age) for age in made.PEOPLE])  # as text, or the search would try these numbers
    line = f"        if str([int(one) for one in data[:, 0]]) == {rows!r}:\n            {ways[how]}\n"
    body = body.replace('        return View(public={"sum"', f'{line}        return View(public={{"sum"')
    (tmp_path / "own.py").write_text(HEAD + inspect.getsource(made.number) + "\n\n" + body)
    text = (
        claim.path.read_text()
        .replace("test_release:Ages", "own:Ages")
        .replace("trials = 60", "trials = 60\nseconds = 20")
    )
    claim.path.write_text(text)
    monkeypatch.chdir(tmp_path)
    way = "the same command draws it"
    question = Certify(claim.path, quick=True, release=True)
    with pytest.raises(LedgerError, match=rf"entry 1 is charged \(ε 0.5.*{way}"):
        dispatch.certify(question, silent)
    assert charges(tmp_path) == 1


# ------------------------------------------------------------------ another machine


@deep
def test_a_run_that_ended_on_another_machine_does_not_wait_for_ever(tmp_path, monkeypatch):
    claim = written(tmp_path)
    due = prepared(claim)
    with monkeypatch.context() as elsewhere, Ledger.open(url(tmp_path)) as ledger:
        elsewhere.setattr(process, "_machine", lambda: "container-1 4026531836")
        process._name.cache_clear()
        receipt = ledger.charge(due.subject().proof(Fraction(0)), "ages", None, due.numbered(1))
        receipt.noisy("sum", 0, np.array([1]))
    process._name.cache_clear()
    with pytest.raises(release.RunningError, match=r"is drawing now.*another machine.*--new-release") as said:
        run(claim)
    assert said.value.exit_code == 1
    assert not run(claim, again=True).reprinted
    assert charges(tmp_path) == 2


# ------------------------------------------------------------------ secrets in URLs

RESERVED = ":/?#[]@!$&'()*+,;=%"


@pytest.mark.parametrize("user", ["ada", "ada%40corp", "a.b"])
def test_no_password_of_a_url_is_written(user):
    for one in RESERVED:
        for two in RESERVED:
            secret = f"SEC{one}RET{two}WORD"
            for address in (
                f"{user}:{secret}@host:5432/db?ledger=x",
                f"{user}:{secret}@host/db?ledger=x&sslmode=require",
                f"{user}@host/db?ledger=x&password={secret}",
                f"{user}@host/db?password={secret}&ledger=x",
                f"{user}@host/db?ledger=x&sslpassword={secret}",
                f"host/db?ledger=x&pass%77ord={secret}",
                *([f"{user}:{secret}/db?ledger=x", f"{user}:{secret}"] if "@" not in secret else []),
            ):
                shown = _without_secrets(f"postgresql://{address}")
                assert not any(part in shown for part in ("SEC", "RET", "WORD")), (address, shown)
    plain = f"postgresql://{user}@host:5432/db?ledger=x&sslmode=verify-full&sslrootcert=/etc/ca.pem"
    assert _without_secrets(plain) == plain
    assert _without_secrets(plain.replace("@", ":se@cret@")) == plain.replace("@", ":***@")
    assert _without_secrets("sqlite:///a@b:c@d.db") == "sqlite:///a@b:c@d.db"
    assert _without_secrets("postgresql://a%3Ase@host/db?ledger=x") == "postgresql://***"
    for start in ["POSTGRESQL://", "postgresql:/", "jdbc:postgresql://", "psql://", "//"]:
        for there in (start, f" {start}"):
            assert _without_secrets(f"{there}user:se@host/db?ledger=x") == "***"


@deep
def test_code_that_changes_the_working_directory_still_finds_its_ledger(tmp_path, monkeypatch):
    """It does when it is imported and when it runs; claim, data and ledger have relative names."""
    (tmp_path / "elsewhere").mkdir()
    claim = written(tmp_path)
    body = (
        inspect.getsource(Ages)
        .replace("test-release", "moves")
        .replace("        total =", "        os.chdir('/')\n        total =")
    )
    (tmp_path / "moves.py").write_text(
        f"{HEAD}\nos.chdir('elsewhere')\n{inspect.getsource(made.number)}\n\n{body}"
    )
    claim.path.write_text(
        claim.path.read_text()
        .replace("test_release:Ages", "moves:Ages")
        .replace("trials = 60", "trials = 60\nseconds = 60")
    )
    monkeypatch.chdir(tmp_path)
    done = dispatch.certify(Certify(Path("claim.toml"), quick=True, release=True), silent)
    assert done.certificate["verdict"] == "CERTIFIED", done.certificate["proved"]
    assert charges(tmp_path) == 1
