"""The answers of `dpaccount ledger` and how its commands end."""

import csv
import json
import os
import re
import shutil
from fractions import Fraction

import numpy as np
import pytest
from msgspec import structs, to_builtins

from audits.cli import answers
from audits.reports import of_ledger
from audits.reports.log import in_decimal, log, table
from audits.reports.review import report
from audits.reports.terminal import logged, room
from dpaccount import proof
from dpaccount.documents import parse_json
from dpaccount.errors import InputError, LedgerError
from dpaccount.exact import Amount
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Approximate, Plan, Pure, Zcdp
from dpaccount.schemas.fields import BoundEnds
from tests.depth import deep
from tests.looped import looped

from .conftest import pure

BUDGET = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "unit": "person", "relation": "replace-one"}
BUDGET["measure"] = "gdp"


def place(*events, relation="replace-one"):
    document = {"schema": "dpaccount/events/1", "relation": relation, "events": list(events)}
    return parse_json(json.dumps(document), "events.json")


GAUSSIAN = {"event": "gaussian", "sigma": 10}
TIGHT = {"event": "gaussian", "sigma": 4.22467889}


def charge(url, events, say=lambda _: None, purpose="plan", **options):
    """Charge events as the command does."""
    return answers.charged(url, events, lambda one, plan: one.charge_plan(plan, purpose, **options), say)


def test_a_charge_answers_as_the_contract_prints_it(url):
    created = init(url, **BUDGET)
    explained = answers.show(url).pop("explained")
    assert {**created, "explained": explained} == answers.show(url)
    answer = charge(url, place(TIGHT))
    assert set(to_builtins(answer, builtin_types=(Amount,))) == {
        "accepted",
        "entry",
        "head",
        "epsilon",
        "already_charged",
        "reason",
    }
    assert (answer.accepted, answer.entry, answers.exit_code(answer)) == (True, 1, 0)
    # the least standard deviation of (1, 10⁻⁶) at sensitivity 1 (Balle & Wang 2018)
    assert answer.epsilon.lower <= answer.epsilon.upper <= 1
    assert answer.epsilon.lower == pytest.approx(1, abs=1e-9)
    shown = answers.show(url)
    names = {"budget", "spent", "remaining", "worst_unit", "entries", "refused", "head", "explained"}
    names |= {"period", "year", "life", "resets", "scopes", "more_like_last"}
    assert set(shown) == names
    assert shown["head"] == answer.head
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert verify(url) == {"valid": True, "first_bad": None}
    assert answers.exit_code(verify(url)) == answers.exit_code(shown) == 0


def test_a_refused_charge_is_an_answer(url):
    init(url, **BUDGET)
    messages: list[str] = []
    answer = charge(url, place({**GAUSSIAN, "sigma": 1}), say=messages.append)
    assert (answer.accepted, answer.entry, answers.exit_code(answer)) == (False, 1, 1)
    assert len(messages) == 1
    assert messages[0].endswith("nothing was charged and no noise was drawn")
    assert messages[0].startswith(answer.reason)
    shown = answers.show(url)
    assert (shown["entries"], shown["refused"], shown["head"]) == (0, 1, answer.head)


def test_a_refusal_for_delta_says_so_and_no_infinite_epsilon(url):
    init(url, **{**BUDGET, "measure": "approximate"})
    reason = charge(url, place({"event": "approximate", "epsilon": 0.5, "delta": 3e-6})).reason
    assert "unit 1 to δ 3e-06, beyond the budget's δ 1e-06" in reason


def test_a_given_pair_of_laws_is_said_to_be_assumed(url):
    init(url, **BUDGET)
    pair = place({"event": "dominating_pair", "p": ["0.51", "0.49"], "q": ["0.49", "0.51"]})
    answer = charge(url, pair)
    assert answer.accepted
    assert [assumption.endswith("nothing here checks it") for assumption in answer.assumptions] == [True]


def test_a_charge_without_a_bound_is_refused(url):
    init(url, **BUDGET)
    messages: list[str] = []
    answer = charge(url, place(GAUSSIAN, {"event": "zcdp", "rho": 0.1}), say=messages.append)
    assert answer.accepted is False
    assert answer.epsilon == BoundEnds(None, "inf")
    assert "a ledger in approximate-zcdp or zcdp or either takes it" in messages[0]
    answer = charge(
        url, place({"event": "approximate", "epsilon": 0.1, "delta": 1e-9}, GAUSSIAN), say=messages.append
    )
    assert "a ledger in approximate-zcdp takes it" in messages[1]
    answer = charge(url, place({"event": "rdp", "points": [[2, 1]]}), say=messages.append)
    assert "prove it at one (ε, δ)" in messages[2]


def test_keys_and_dry_runs(url):
    init(url, **BUDGET)
    dry = charge(url, place(GAUSSIAN), key="a", dry_run=True)
    assert (dry.accepted, dry.entry) == (True, None)
    first = charge(url, place(GAUSSIAN), key="a")
    again = charge(url, place(GAUSSIAN), key="a")
    assert structs.replace(first, already_charged=True) == again
    with pytest.raises(LedgerError, match="use a new key"):
        charge(url, place({**GAUSSIAN, "sigma": 11}), key="a")


def test_wrong_requests_have_no_answer(url):
    init(url, **BUDGET)
    with pytest.raises(InputError, match="add-remove"):
        charge(url, place(GAUSSIAN, relation="add-remove"))
    with pytest.raises(InputError, match=r"events\.json"):
        charge(url, place({"event": "gaussian", "sigma": 0}))
    assert answers.show(url)["refused"] == 0


@deep
@pytest.mark.parametrize("sigma", ["1e-5000", "1e5000", "1e-300"])
@pytest.mark.parametrize("measure", ["gdp", "zcdp"])
def test_extreme_numbers_end_in_an_answer(url, sigma, measure):
    init(url, **{**BUDGET, "measure": measure})
    text = (
        '{"schema":"dpaccount/events/1","relation":"replace-one","events":[{"event":"gaussian","sigma":%s}]}'
    )
    answer = charge(url, parse_json(text % sigma, "events.json"))
    assert answer.accepted == (sigma == "1e5000")
    assert verify(url)["valid"]
    answers.show(url)


def test_what_is_spent_and_what_remains_are_explained(url):
    """Of gdp the two ε do not add up to the budget, which looks wrong and is right."""
    init(url, **BUDGET)
    charge(url, place(GAUSSIAN))
    shown = answers.show(url)
    match = re.fullmatch(
        r"charges cost ε (.*) of 1, and another charge of ε (.*) fits \(μ² adds up, ε does not\);"
        r" \d more charges like entry 1 fit",
        shown["explained"],
    )
    assert match
    spent, rest = map(float, match.groups())
    assert 0 <= spent - shown["spent"]["epsilon"]["upper"] < 1e-3
    assert 0 <= shown["remaining"]["epsilon"]["lower"] - rest < 1e-3


@deep
@pytest.mark.parametrize(
    ("measure", "first", "said", "fits", "not_"),
    [
        (
            "approximate", Approximate(epsilon="1/4", delta="1e-6"), "ε 0.75 and δ 0",
            Approximate(epsilon="3/4", delta=0), Approximate(epsilon="1/10", delta="1e-9"),
        ),
        ("zcdp", Zcdp(rho="1/1000"), r"ρ 0\.02\d+, by itself ε 0\.97\d+,", Zcdp(rho="22/1000"), Pure(epsilon="1/3")),
        (
            "either", Zcdp(rho="1/1000"), r"μ² 0, or ρ 0\.02\d+, or pure ε 0",
            Zcdp(rho="20/1000"), Pure(epsilon="1/3"),
        ),
    ],
)  # fmt: skip
def test_what_is_said_to_fit_fits(url, measure, first, said, fits, not_):
    """No single ε says it: a charge of less ε was refused, of a δ that is used up or in a measure that is full."""
    init(url, **{**BUDGET, "measure": measure})
    with Ledger.open(url) as ledger:
        ledger.charge_plan(Plan("replace-one", first), "first")
        assert re.search(f"another charge of {said} fits", answers.show(url)["explained"])
        whole = report(url)
        page = of_ledger.html({**whole, "nist": of_ledger.nist(whole)}, "team")
        assert f"A charge of {room(ledger.show()['remaining'])} still fits every unit" in page
        with pytest.raises(RefusedError):
            ledger.charge_plan(Plan("replace-one", not_), "of less ε")
        ledger.charge_plan(Plan("replace-one", fits), "as is said")


def test_a_repeated_key_is_said(url):
    init(url, **BUDGET)
    messages: list[str] = []
    for _ in range(2):
        answer = charge(url, place(GAUSSIAN), key="a", say=messages.append)
    assert answer.already_charged
    assert messages == ["entry 1 charged this under the same key before; nothing more was charged"]


IN_FULL = {"sensitivity": "1", "count": "1", "cover": ["3", "9"]}


@looped(
    ("held", "read"),
    [
        ("28/1", "40"), ("a/1", "10"), ("1/a", "0.1"), ("-1/3", "-1/3"), ("sqrt-toeplitz", "sqrt-toeplitz"),
        ("dead", "dead"), (None, None), ([{"of": ["ff/2"]}], [{"of": ["127.5"]}]), ("1/0", "0x1/0x0"),
        (f"{1 << 5000:x}/1", f"{1 << 5000:#x}/0x1"),
    ],
)  # fmt: skip
def test_numbers_of_an_entrys_plan_are_decimals_for_readers(held, read):
    """A log once said that a plan with sigma 40 had 28/1."""
    assert in_decimal(held) == read


def test_the_log_says_who_spent_what_on_what(url):
    init(url, **BUDGET)
    charge(url, place({**GAUSSIAN, "cover": [3, 9]}), key="a", purpose="mean age", by="=Ada")
    charge(url, place({**GAUSSIAN, "sigma": 1}), purpose="too much", by="Bob")
    charge(url, place(GAUSSIAN), purpose="all")
    lines = log(url)
    assert [line["kind"] for line in lines] == ["budget", "charge", "refusal", "charge"]
    line = lines[1]
    assert (line["purpose"], line["by"], line["key"]) == ("mean age", "=Ada", "a")
    assert (line["first"], line["last"], line["spends"]) == (3, 9, {"mu_squared": 0.01})
    assert line["plan"] == [{**GAUSSIAN, "sigma": str(GAUSSIAN["sigma"]), **IN_FULL}]
    assert (lines[2]["by"], lines[2]["spends"]) == ("Bob", None)
    assert "beyond the budget" in lines[2]["reason"]
    assert (lines[3]["first"], lines[3]["last"]) == (None, None)
    assert lines[3]["head"] == answers.show(url)["head"]
    assert json.loads(json.dumps(lines, allow_nan=False)) == lines
    rows = list(csv.DictReader(table(lines).splitlines()))
    assert [row["entry"] for row in rows] == ["0", "1", "2", "3"]
    assert rows[1]["by"] == "'=Ada"  # no formula in a spreadsheet
    shown = [" ".join(line.split()) for line in logged(lines).splitlines()]
    assert shown[4].split()[:6] == ["1", *lines[1]["time"][:16].split("T"), "charge", "μ²", "0.01"]
    assert shown[4].endswith('3 to 9 by =Ada purpose "mean age",')
    assert shown[5] == 'key "a"'
    assert "beyond the budget" in " ".join(shown[5:])


def test_every_draw_is_logged_with_the_charge_that_paid_for_it(url):
    init(url, **BUDGET)
    twice = [proof.compose(pure("1/20", key="x"), pure("1/20", key=key)) for key in "yz"]
    with Ledger.open(url) as ledger:
        receipts = [ledger.charge(theorem, "two draws") for theorem in twice]
        for receipt, key in zip((*receipts, *receipts), "xxyz", strict=True):
            receipt.noisy(key, 0, np.array([5]))
    draws = [line["about"] for line in log(url) if line["kind"] == "drawing"]
    assert draws == [1, 2, 1, 2]


def test_other_ledgers_of_the_same_data_are_named(tmp_path, dpaccount, monkeypatch):
    """By name or declaration, whatever the budget; not itself, not another's, nothing that is no ledger."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claim.toml").write_text("a claim")
    (tmp_path / "other.toml").write_text("another")
    (tmp_path / "nothing.db").write_bytes(b"SQLite format 3\0, and no more")

    def made(name, *options):
        words = ("--epsilon", "1", "--delta", "0", "--unit", "person", "--relation", "replace-one", *options)
        code, _, err = dpaccount("ledger", "init", f"{name}.db", *words)
        assert code == 0
        return answers.same_data(f"{name}.db"), "of the same data" in err

    assert made("a", "--dataset", "visits") == ([], False)
    assert made("b", "--dataset", "visits", "--declaration", "claim.toml") == (["a.db"], True)
    assert made("c", "--declaration", "claim.toml") == (["b.db"], True)
    assert made("d", "--dataset", "sales", "--declaration", "other.toml") == ([], False)
    assert made("e") == ([], False)
    assert made("f", "--dataset", "visits", "--declaration", "other.toml") == (["a.db", "b.db", "d.db"], True)


def test_whatever_lies_beside_a_ledger_is_looked_at_and_left_alone(tmp_path, dpaccount, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        *("--epsilon", "1", "--delta", "0", "--unit", "person", "--relation", "replace-one"),
        *("--dataset", "x"),
    ]
    assert dpaccount("ledger", "init", "sqlite:///a.d[b]c", *words)[0] == 0
    shutil.copy("a.d[b]c", "e\x1b[31m.d[b]c")
    (tmp_path / "itself.d[b]c").symlink_to("a.d[b]c")
    (tmp_path / "loop.d[b]c").symlink_to("loop.d[b]c")
    os.mkfifo(tmp_path / "fifo.d[b]c")
    (tmp_path / "folder.d[b]c").mkdir()
    assert answers.same_data("sqlite:///a.d[b]c") == ["e\x1b[31m.d[b]c"]
    err = dpaccount("ledger", "init", "sqlite:///c.d[b]c", *words)[2]
    assert "of the same data: a.d[b]c, e\\x1b[31m.d[b]c, itself.d[b]c; each" in err
