"""Each kind of request, right and wrong: a status, one sentence, and nothing charged that was not answered."""

import http.client
import json
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from urllib.parse import urlencode

import pytest

from audits.reports import log
from dpaccount import proof
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.rows import Rows
from service import web
from service.desk import ASKED
from service.web import openapi
from tests.depth import deep
from tests.dpaccount.ledger.conftest import BUDGET, discrete_gaussian, plan, pure, recounted
from tests.looped import looped

from .conftest import put


def charge(size="1/100", key="one", **more):
    return {"plan": plan(size).as_json(), "purpose": "a mean", "key": key, **more}


def of_theorem(theorem, key="one", **more):
    return {"theorem": proof.write(theorem), "purpose": "a mean", "key": key, **more}


def one_sentence(answer):
    return (
        isinstance(answer["error"], str) and 10 < len(answer["error"]) < 600 and "\n" not in answer["error"]
    )


def entries(served):
    with Ledger.open(served.ledger) as ledger:
        return ledger.show()["entries"]


# ------------------------------------------------------------------ charges


def test_a_key_is_charged_once_and_another_request_under_it_is_refused(served):
    first = served.ask("POST", "/v1/charges", charge())
    assert first[0] == 200
    assert first[1]["accepted"]
    assert not first[1]["already_charged"]
    assert first[1]["spends"] == ["1/100"]
    status, again = served.ask("POST", "/v1/charges", charge())
    assert (status, again["entry"], again["already_charged"]) == (200, first[1]["entry"], True)
    status, other = served.ask("POST", "/v1/charges", charge("1/50"))
    assert (status, other["kind"], one_sentence(other)) == (409, "key", True)
    status, stranger = served.ask("POST", "/v1/charges", charge(), "bob")
    assert (status, stranger["kind"]) == (409, "key")
    assert entries(served) == 1


def test_a_dry_run_decides_and_a_refusal_says_why_and_is_recorded(served):
    status, tried = served.ask("POST", "/v1/charges", charge(dry_run=True))
    assert (status, tried["accepted"], tried["entry"]) == (200, True, None)
    status, refused = served.ask("POST", "/v1/charges", charge("2"))
    assert (status, refused["kind"], refused["charge"]["accepted"]) == (409, "refused", False)
    assert refused["charge"]["reason"] in refused["error"]
    assert refused["charge"]["entry"] > 0
    assert entries(served) == 0


def test_without_a_key_the_same_request_is_charged_twice(served):
    for _ in range(2):
        assert served.ask("POST", "/v1/charges", {**charge(), "key": None})[1]["already_charged"] is False
    assert entries(served) == 2


def test_an_entry_says_whose_token_it_was(served):
    served.ask("POST", "/v1/charges", charge())
    served.ask("POST", "/v1/theorem-charges", of_theorem(pure("1/100"), "two"), "bob")
    served.ask("POST", "/v1/reservations", charge(key="three", rounds=3), "officer")
    lines = served.ask("GET", "/v1/log")[1]["entries"]
    assert [(one["key"], one["by"]) for one in lines[3:]] == [
        ("one", "ada"),
        ("two", "bob"),
        ("three", "officer"),
    ]
    # nobody may say who asks
    assert served.ask("POST", "/v1/charges", charge(by="bob"))[0] == 400


def test_a_theorem_is_inferred_anew_and_no_amount_is_believed(served):
    told = of_theorem(pure("1/10"))
    assert served.ask("POST", "/v1/theorem-charges", told)[1]["spends"] == ["1/10"]
    last = told["theorem"][-1]
    cheaper = {**last, "gives": json.loads(json.dumps(last["gives"]).replace("1/10", "1/1000"))}
    assert cheaper != last
    other = [*told["theorem"][:-1], cheaper]
    shorter = [*told["theorem"][:-1], {**last, "with": {**last["with"], "scale": "1000"}}]
    for steps in (other, shorter, [], [{}], told["theorem"][1:], ["x"], [None], 300 * [last]):
        status, answer = served.ask("POST", "/v1/theorem-charges", {**told, "theorem": steps, "key": "new"})
        assert (status, one_sentence(answer)) == (400, True), steps
    assert entries(served) == 1
    # a bound in another measure: refused, as by a ledger of one's own
    status, answer = served.ask("POST", "/v1/theorem-charges", of_theorem(discrete_gaussian(1000), "new"))
    assert (status, answer["kind"]) == (409, "refused")


# ------------------------------------------------------------------ wrong requests

WRONG = {
    "no JSON": b"{",
    "no table": b"[]",
    "nothing": b"",
    "not UTF-8": b'{"plan": "\xff"}',
    "deep": b'{"plan": ' + b"[" * 100_000 + b"]" * 100_000 + b', "purpose": "x"}',
    "deeper than a plan": json.dumps(charge()).encode().replace(b'"replace-one"', b"[" * 200 + b"]" * 200),
    "two keys of one name": json.dumps(charge())
    .encode()
    .replace(b'"relation"', b'"schema": "x", "relation"'),
    "no plan": json.dumps({"purpose": "x"}).encode(),
    "an unknown member": json.dumps(charge(epsilon=0)).encode(),
    "another schema": json.dumps({**charge(), "plan": {**plan().as_json(), "schema": "x"}}).encode(),
    "another relation": json.dumps(
        {**charge(), "plan": {**plan().as_json(), "relation": "add-remove"}}
    ).encode(),
    "a number without end": json.dumps(charge()).encode().replace(b"0.01", b"1e999999999"),
    "infinity": json.dumps(charge()).encode().replace(b"0.01", b"Infinity"),
    "a lone surrogate": json.dumps(charge()).encode().replace(b'"replace-one"', b'"\\ud800"'),
    "a purpose of two lines": json.dumps({**charge(), "purpose": "a\nb"}).encode(),
    "a long purpose": json.dumps({**charge(), "purpose": "a" * 1001}).encode(),
    "a key that is none": json.dumps(charge(key=7)).encode(),
    "a long key": json.dumps(charge(key="a" * 601)).encode(),
    "an unknown scope": json.dumps(charge(scope="nowhere")).encode(),
    "a scope that is no name": json.dumps(charge(scope="../x")).encode(),
    "an unknown cohort": json.dumps(charge(cohort="adults")).encode(),
}


def test_wrong_requests_are_refused_in_one_sentence(served):
    for name, body in WRONG.items():
        status, answer = served.ask("POST", "/v1/charges", body)
        assert (status, one_sentence(answer)) == (400, True), (name, status, answer)
    assert entries(served) == 0


@looped(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/charges", 405),
        ("DELETE", "/v1/show", 405),
        ("GET", "/v1/charge", 400),
        ("GET", "/v1/charge?entry=x", 400),
        ("GET", "/v1/charge?entry=99", 400),
        ("GET", "/v1/charge?entry=1", 400),  # a scope
        ("GET", "/v1/charge?key=none", 400),
        ("GET", "/v1/charge?key=may", 400),  # a reservation
        ("GET", "/v1/charge?entry=1&more=2", 400),
        ("GET", "/v1/reservations/none", 400),
        ("GET", "/v1/reservations/%00", 400),
        ("GET", "/v1/release?key=%00", 400),
        ("GET", "/v1/log?after=x", 400),
        ("GET", "/v1/log?more=x", 400),
        ("GET", "/v1/verify", 404),
        ("GET", "/v1/report", 404),
    ],
)
def test_wrong_paths_and_parameters(served, method, path, status):
    served.ask("POST", "/v1/reservations", charge(key="may", rounds=3))
    answer = served.ask(method, path)
    assert (answer[0], one_sentence(answer[1])) == (status, True), answer


def test_a_body_of_50_mb_is_not_read(served):
    """As it says its length, and in chunks without end: it is refused by what was read so far."""
    said = time.monotonic()
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    link.putrequest("POST", "/v1/charges")
    link.putheader("Authorization", f"Bearer {served.secrets['ada']}")
    link.putheader("Content-Length", str(50_000_000))
    link.endheaders()
    got = link.getresponse()  # nothing of it was sent
    assert (got.status, one_sentence(json.loads(got.read()))) == (413, True)
    link.close()
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    sent = 0

    def chunks():
        nonlocal sent
        while True:
            sent += 100_000
            yield b" " * 100_000

    with pytest.raises(OSError):  # noqa: PT011 - the connection is closed under it
        link.request(
            "POST",
            "/v1/charges",
            chunks(),
            {"Authorization": f"Bearer {served.secrets['ada']}"},
            encode_chunked=True,
        )
    assert web.MAX_BODY < sent < 4 * web.MAX_BODY
    link.close()
    assert time.monotonic() - said < 10
    assert served.ask("GET", "/v1/show")[0] == 200


def test_a_body_that_never_comes_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(web, "BODY_SECONDS", 0.1)
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    link.putrequest("POST", "/v1/charges")
    link.putheader("Authorization", f"Bearer {served.secrets['ada']}")
    link.putheader("Content-Length", "10")
    link.endheaders()
    got = link.getresponse()
    assert (got.status, one_sentence(json.loads(got.read()))) == (503, True)
    link.close()


# ------------------------------------------------------------------ who may what


def test_unknown_expired_and_revoked_tokens(served):
    today = datetime.now(UTC).date()
    _, served.secrets["late"] = served.tokens.add("late", None, today - timedelta(days=1), arrange=False)
    _, served.secrets["today"] = served.tokens.add("today", None, today, arrange=False)
    assert served.ask("GET", "/v1/show", person="today")[0] == 200
    for person in (None, "", "dpa_unknown", "late", "Bearer", "\xe4"):
        status, answer = served.ask("GET", "/v1/show", person=person)
        assert (status, one_sentence(answer)) == (401, True), person
    assert served.ask("GET", "/v1/show", person="bob")[0] == 200
    served.tokens.revoke(served.ids["bob"])
    assert served.ask("GET", "/v1/show", person="bob")[0] == 401
    # another scheme, and a secret that a file of tokens would tell: it has digests only
    status, _ = served.ask("GET", "/v1/show", person=None, Authorization=f"Basic {served.secrets['ada']}")
    assert status == 401
    held = served.file.read_bytes()
    assert not any(secret.encode() in held for secret in served.secrets.values())
    digest = served.tokens.listed()[0].digest
    assert served.ask("GET", "/v1/show", person=digest)[0] == 401


def test_a_token_names_its_scope_and_those_below(served):
    served.ask("POST", "/v1/scope", {"name": "team/eve/x", "epsilon": "1/4"}, "officer")
    for number, (scope, status) in enumerate(
        {None: 403, "team": 403, "team/ev": 403, "team/eve2": 403, "team/eve": 200, "team/eve/x": 200}.items()
    ):
        for path, body in (
            ("charges", charge(key=f"c{number}", scope=scope)),
            ("charges", charge(key=f"d{number}", scope=scope, dry_run=True)),
            ("theorem-charges", of_theorem(pure("1/100"), f"t{number}", scope=scope)),
            ("reservations", charge(key=f"r{number}", rounds=2, scope=scope)),
        ):
            answer = served.ask("POST", f"/v1/{path}", body, "eve")
            assert answer[0] == status, (scope, path, answer)
    assert [one["scope"] for one in served.ask("GET", "/v1/show", person="eve")[1]["scopes"]] == [
        "team/eve",
        "team/eve/x",
    ]
    served.ask("POST", "/v1/charges", charge(key="of ada", scope="team"))
    seen = served.ask("GET", "/v1/log", person="eve")[1]["entries"]
    assert {one["scope"] for one in seen} == {"team/eve", "team/eve/x"}


def test_only_a_token_for_that_arranges(served):
    asked = {
        "scope": {"name": "team/bob", "epsilon": "1/10"},
        "cohort": {"name": "adults", "units": [[1, 9]]},
        "reset": {"reason": "new data"},
    }
    _, served.secrets["captain"] = served.tokens.add("captain", "team/eve", None, arrange=True)
    for path, body in asked.items():
        for person in ("ada", "eve", "captain"):  # captain's scope is neither team/bob nor all
            status, answer = served.ask("POST", f"/v1/{path}", body, person)
            assert (status, one_sentence(answer)) == (403, True), (path, person)
        status, answer = served.ask("POST", f"/v1/{path}", body, "officer")
        assert (status, json.loads(answer.get("body", "{}")).get("by")) == (200, "officer"), answer
    assert served.ask("POST", "/v1/scope", {"name": "team/eve/y", "epsilon": "1/10"}, "captain")[0] == 200
    served.ask("POST", "/v1/charges", charge("1/10", scope="team/eve"), "eve")
    status, low = served.ask("POST", "/v1/scope", {"name": "team/eve", "epsilon": "1/20"}, "officer")
    assert (status, low["kind"], one_sentence(low)) == (409, "budget", True)


@pytest.mark.parametrize("size", ["1/100", None])
def test_a_charge_of_a_cohort_is_the_same_after_it_has_grown(served, monkeypatch, size):
    body = charge(size or "1/100", cohort="adults", scope="team")
    if size is None:  # not priced at once
        body["plan"]["events"] *= 5
    grow = lambda *units: served.ask(  # noqa: E731
        "POST", "/v1/cohort", {"name": "adults", "units": units, "grows": True}, "officer"
    )
    assert grow([1, 9])[0] == 200
    first = served.ask("POST", "/v1/charges", body)[1]
    assert grow([1, 9], [20, 30])[0] == 200
    again = served.ask("POST", "/v1/charges", body)[1]
    assert (again["entry"], again["already_charged"]) == (first["entry"], True)
    assert served.ask("POST", "/v1/charges", {**body, "cohort": None})[0] == 409
    # It is charged, and the cohort grows, after its units were looked for: the client asks again.
    units, late = Ledger.units_of, {**body, "key": "late"}

    def raced(ledger, name, key=None):
        found = units(ledger, name, key)
        monkeypatch.setattr(Ledger, "units_of", units)
        assert served.ask("POST", "/v1/charges", late)[0] == 200
        assert grow([1, 9], [20, 40])[0] == 200
        return found

    monkeypatch.setattr(Ledger, "units_of", raced)
    assert served.ask("POST", "/v1/charges", late)[1]["already_charged"] is True
    assert grow([1, 9], [20, 50])[0] == 200
    found = units

    def stale(ledger, name, key=None):
        monkeypatch.setattr(Ledger, "units_of", found)
        return found(ledger, name)

    monkeypatch.setattr(Ledger, "units_of", stale)
    status, answer = served.ask("POST", "/v1/charges", late)
    assert (status, one_sentence(answer)) == (503, True)
    assert served.ask("POST", "/v1/charges", late)[1]["already_charged"] is True


def test_rights_in_the_chain_and_approvals_hold_for_the_persons_of_tokens(served):
    """A token lets a person ask; whether the person may is the ledger's own right, once there is one."""
    _, served.secrets["chief"] = served.tokens.add("chief", None, None, arrange=True)
    ask = served.ask
    assert ask("POST", "/v1/grant", {"person": "chief", "may": ["arrange"]})[0] == 403
    assert ask("POST", "/v1/grant", {"person": "chief", "may": ["arrange"]}, "chief")[0] == 200
    assert ask("POST", "/v1/grant", {"person": "officer", "may": ["arrange", "approve"]}, "chief")[0] == 200
    granted = ask("POST", "/v1/grant", {"person": "ada", "may": ["request"], "scope": "team"}, "chief")[1]
    assert granted["kind"] == "request"
    assert ask("POST", "/v1/approval", {"request": granted["number"]}, "chief")[0] == 409
    assert ask("POST", "/v1/approval", {"request": granted["number"]}, "eve")[0] == 403
    assert ask("POST", "/v1/approval", {"request": granted["number"]}, "officer")[0] == 200
    assert (
        ask("POST", "/v1/grant", {"person": "ada", "may": ["request"], "scope": "team"}, "chief")[1]["kind"]
        == "grant"
    )
    # bob's token allows any charge, and bob has no right; ada's charge waits for an approval, of just that
    assert ask("POST", "/v1/charges", charge(key="b", scope="team"), "bob")[0] == 409
    assert ask("POST", "/v1/charges", charge(key="a"))[0] == 409
    status, waits = ask("POST", "/v1/charges", charge(key="a", scope="team"))
    assert (status, waits["kind"], "asks for it" in waits["error"]) == (409, "refused", True)
    request = waits["charge"]["entry"]
    assert ask("POST", "/v1/approval", {"request": request})[0] == 409
    assert ask("POST", "/v1/approval", {"request": request}, "officer")[0] == 200
    assert ask("POST", "/v1/charges", charge("1/50", key="c", scope="team"))[0] == 409  # another one
    assert ask("POST", "/v1/charges", charge(key="a", scope="team"))[0] == 200
    assert ask("POST", "/v1/charges", charge(key="a", scope="team"))[1]["already_charged"] is True
    # a replayed approval, and a new charge by the old one
    status, answer = ask("POST", "/v1/approval", {"request": request}, "officer")
    assert (status in (400, 409), one_sentence(answer)) == (True, True)
    assert ask("POST", "/v1/charges", charge(key="d", scope="team"))[0] == 409
    assert entries(served) == 1
    shown = ask("GET", "/v1/show")[1]
    assert {one["person"] for one in shown["people"]} == {"ada", "chief", "officer"}
    assert len(shown["requests"]) == 2
    assert ask("GET", "/v1/show", person="eve")[1]["people"] == []
    assert recounted(served.ledger)


def test_what_another_person_charged_is_theirs(served):
    """Draws, marks, releases, parts and returns, by entry, by key, and by a mark of another's chain."""
    mine = served.ask("POST", "/v1/theorem-charges", of_theorem(pure("1/100"), "mine"))[1]["entry"]
    theirs = served.ask("POST", "/v1/theorem-charges", of_theorem(pure("1/100"), "theirs"), "bob")[1]["entry"]
    served.ask("POST", "/v1/reservations", charge(key="may", rounds=3))
    mark = {"draws": [1, 1], "run": "p 1"}
    marked = served.ask("POST", "/v1/marks", {"entry": mine, **mark})[1]["entry"]
    for method, path, body, status in (
        ("GET", f"charge?entry={mine}", None, 403),
        ("GET", f"charge?entry={marked}", None, 403),
        ("GET", f"charge?entry={marked}&key=theirs", None, 400),
        ("GET", f"charge?entry={mine}&key=theirs", None, 400),
        ("PUT", "release", {"entry": theirs, "key": "mine", "body": {}}, 400),
        ("PUT", "release", {"entry": mine, "key": "theirs", "body": {}}, 400),
        ("GET", "release?key=mine", None, 403),
        ("PUT", "release", {"key": "mine", "body": {}}, 403),
        ("PUT", "release", {"entry": mine, "body": {}}, 403),
        ("POST", "marks", {"entry": mine, **mark}, 403),
        ("POST", "marks", {"entry": mine, "before": marked, **mark}, 403),
        ("POST", "marks", {"entry": theirs, "before": marked, **mark}, 400),
        ("POST", "marks", {"entry": theirs, "before": theirs, **mark}, 400),
        ("GET", "reservations/may", None, 403),
        ("POST", "reservations/may/rounds", {"parts": [[1, 1]], "run": "p"}, 403),
        ("POST", "reservations/may/return", {"parts": [[1, 1]], "run": "p"}, 403),
    ):
        answer = served.ask(method, f"/v1/{path}", body, "bob")
        assert (answer[0], one_sentence(answer[1])) == (status, True), (path, body, answer)
    # but who may arrange returns what a leaver has not drawn, and draws none of it
    asked = {"parts": [[1, 1]], "run": "p"}
    assert served.ask("POST", "/v1/reservations/may/rounds", asked, "officer")[0] == 403
    assert served.ask("POST", "/v1/reservations/may/return", asked, "officer")[0] == 200
    assert served.ask("PUT", "/v1/release", {"key": "mine", "body": {"answer": 7}})[0] == 200
    assert served.ask("GET", f"/v1/charge?entry={marked}")[0] == 400  # mine, and no charge


def test_a_release_is_kept_once_and_the_same_again_is_the_same(served):
    entry = served.ask("POST", "/v1/charges", charge())[1]["entry"]
    body = {"answer": [0.1, 1e300, -0.0, 12345678901234567890123, "ä"]}
    for _ in range(2):
        assert served.ask("PUT", "/v1/release", {"entry": entry, "body": body}) == (
            200,
            {"entry": entry, "parts": None},
        )
    status, answer = served.ask("PUT", "/v1/release", {"key": "one", "body": {"answer": 2}})
    assert (status, one_sentence(answer)) == (409, True)
    assert served.ask("GET", "/v1/release?key=one")[1]["kept"] == body
    assert served.ask("GET", "/v1/release?key=nobody's")[1]["charged"] is False


@deep
def test_the_same_release_at_once_is_kept_once_and_every_answer_is_its_entry(served):
    for turn in range(10):
        entry = served.ask("POST", "/v1/charges", charge("1/100", str(turn)))[1]["entry"]
        with ThreadPoolExecutor(8) as pool:
            bodies = [{"entry": entry, "body": {"answer": turn}}] * 8
            same = list(pool.map(lambda body: served.ask("PUT", "/v1/release", body), bodies))
        assert same == 8 * [(200, {"entry": entry, "parts": None})]
    entry = served.ask("POST", "/v1/charges", charge("1/100", "two"))[1]["entry"]
    with ThreadPoolExecutor(8) as pool:
        bodies = [{"entry": entry, "body": {"answer": number}} for number in range(8)]
        other = list(pool.map(lambda body: served.ask("PUT", "/v1/release", body), bodies))
    assert sorted(status for status, _ in other) == [200, *7 * [409]]
    assert all(
        status == 200 or (answer["kind"], one_sentence(answer)) == ("receipt", True)
        for status, answer in other
    )


def test_what_is_no_charge_is_a_wrong_request(served):
    may = served.ask("POST", "/v1/reservations", charge(key="may", rounds=3))[1]["entry"]
    for method, path, body in (
        ("PUT", "release", {"key": "may", "body": {}}),
        ("PUT", "release", {"entry": may, "body": {}}),
        ("POST", "marks", {"entry": may, "draws": [1, 1], "run": "p 1"}),
        ("GET", f"charge?entry={may}", None),
    ):
        status, answer = served.ask(method, f"/v1/{path}", body)
        assert (status, answer["kind"], one_sentence(answer)) == (400, "input", True), (path, answer)
    assert entries(served) == 1


# ------------------------------------------------------------------ refusals that come twice


def refusals(served):
    lines = served.ask("GET", "/v1/log", person="officer")[1]["entries"]
    return [(one["key"], one["by"]) for one in lines if one["kind"] == "refusal"]


@deep
def test_a_refusal_that_is_asked_again_is_the_same_entry(served):
    """As in a file: only what is asked in between, by another person, otherwise or without a key is another one."""
    first = served.ask("POST", "/v1/charges", charge("2"))
    assert [served.ask("POST", "/v1/charges", charge("2")) for _ in range(5)] == 5 * [first]
    assert (first[0], refusals(served)) == (409, [("one", "ada")])
    others = [charge("2", "two"), charge("3", "two"), {**charge("3", "two"), "purpose": "b"}]
    for number, body in enumerate([*others, charge("2", None), charge("2", None)], 2):
        assert served.ask("POST", "/v1/charges", body)[0] == 409
        assert len(refusals(served)) == number
    served.ask("POST", "/v1/charges", charge("2", None), "bob")
    served.ask("POST", "/v1/charges", charge("2"), "bob")
    served.ask("POST", "/v1/charges", charge("2"))
    assert refusals(served)[-3:] == [(None, "bob"), ("one", "bob"), ("one", "ada")]
    assert recounted(served.ledger)


@deep
def test_a_dry_run_that_a_limit_refuses_leaves_an_entry_as_a_charge_does(served):
    """Else somebody could find without a trace what others spent on each unit."""
    unit = {**charge(), "plan": plan("1/2", (7, 7)).as_json(), "dry_run": True}
    theorem = of_theorem(pure("1/2"), "theorem", cover=[7, 7], dry_run=True)
    reserved = {**unit, "key": "rounds", "rounds": 1}
    asked = (("charges", unit), ("theorem-charges", theorem), ("reservations", reserved))
    for path, body in asked:
        assert served.ask("POST", f"/v1/{path}", body)[1]["entry"] is None
    assert (refusals(served), entries(served)) == ([], 0)  # what fits leaves none
    served.ask("POST", "/v1/charges", {**unit, "key": "of bob", "dry_run": None}, "bob")
    served.ask("POST", "/v1/charges", {**charge("1/10", "of bob, too")}, "bob")
    for number, (path, body) in enumerate(asked, 1):
        answers = [served.ask("POST", f"/v1/{path}", body) for _ in range(3)]
        assert answers == 3 * answers[:1]
        assert answers[0][0] == 409
        assert refusals(served)[number - 1 :] == [(body["key"], "ada")]
        assert answers[0][1]["charge"]["entry"] > 0
    assert entries(served) == 2
    assert recounted(served.ledger)


# ------------------------------------------------------------------ marks that come twice


def test_the_same_mark_again_is_found_and_another_run_is_refused(served):
    entry = served.ask("POST", "/v1/theorem-charges", of_theorem(pure("1/100")))[1]["entry"]
    mark = {"entry": entry, "draws": [1, 1], "run": "machine 1@2 request"}
    first = served.ask("POST", "/v1/marks", mark)
    assert first[0] == 200
    assert served.ask("POST", "/v1/marks", mark) == first
    for other in ({**mark, "run": "machine 1@2 another"}, {**mark, "draws": [1, 2]}):
        status, answer = served.ask("POST", "/v1/marks", other)
        assert (status, answer["kind"]) == (409, "receipt")
    after = {**mark, "before": first[1]["entry"], "draws": [2, 2]}
    assert served.ask("POST", "/v1/marks", after)[0] == 200
    assert served.ask("POST", "/v1/marks", {**after, "run": "x"})[0] == 409


def test_parts_are_drawn_once_and_the_same_again_is_found(served):
    served.ask("POST", "/v1/reservations", charge(key="may/1", rounds=3))
    asked = {"parts": [[1, 2]], "run": "machine 1@2 request"}
    first = served.ask("POST", "/v1/reservations/may%2F1/rounds", asked)
    assert first[0] == 200
    assert served.ask("POST", "/v1/reservations/may%2F1/rounds", asked) == first
    for path, body in (
        ("rounds", {**asked, "run": "another"}),
        ("rounds", {**asked, "parts": [[2, 3]]}),
        ("return", asked),
        ("rounds", {**asked, "parts": [[4, 4]]}),
    ):
        status, answer = served.ask("POST", f"/v1/reservations/may%2F1/{path}", body)
        assert (status, one_sentence(answer)) in ((409, True), (400, True)), (path, body, answer)
    assert served.ask("GET", "/v1/reservations/may%2F1")[1]["parts"] == [[3, 3]]


# ------------------------------------------------------------------ what goes wrong inside


def test_a_ledger_that_is_gone_is_503_and_its_charge_is_found_later(served, tmp_path):
    """The file was replaced under the service: it writes nothing, and says what to do."""
    there = tmp_path / "budget.db"
    there.rename(tmp_path / "away.db")
    status, answer = served.ask("POST", "/v1/charges", charge())
    assert (status, answer["kind"], "asking again with the same key" in answer["error"]) == (
        503,
        "ledger",
        True,
    )
    assert served.ask("GET", "/health") == (200, {"alive": True})
    (tmp_path / "away.db").rename(there)
    assert served.ask("POST", "/v1/charges", charge())[1]["already_charged"] is False
    assert recounted(served.ledger)


def test_a_ledger_that_cannot_be_read_is_not_ready(served, monkeypatch):
    assert served.ask("GET", "/ready")[0] == 200
    monkeypatch.setattr(web, "READY_SECONDS", 0.05)
    monkeypatch.setattr(Rows, "keyed", lambda *_: time.sleep(0.2))
    status, answer = served.ask("GET", "/ready")
    assert (status, one_sentence(answer)) == (503, True)
    monkeypatch.setattr(web, "READY_SECONDS", 5)
    monkeypatch.setattr(Rows, "keyed", lambda *_: 1 / 0)
    assert served.ask("GET", "/ready")[0] == 500
    assert served.ask("GET", "/health")[0] == 200


def test_what_is_unexpected_is_500_without_a_traceback(served, monkeypatch, capfd):
    monkeypatch.setattr(served.desk.ledger, "decide", lambda *_, **__: {}["secret text"])
    status, answer = served.ask("POST", "/v1/charges", charge())
    assert (status, one_sentence(answer)) == (500, True)
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "secret text" not in said + answer["error"]
    (line,) = map(json.loads, said.splitlines())
    assert line["status"] == 500
    assert re.fullmatch(r"KeyError in line \d+ of .*", line["error"])
    assert line["request"] in answer["error"]


def test_the_log_has_a_line_for_each_request_and_no_secrets(served, capfd):
    body = {**charge(key="private-key"), "purpose": "private-purpose"}
    served.ask("POST", "/v1/charges", body)
    served.ask("GET", "/v1/charge?key=private-key")
    served.ask("POST", "/v1/charges", b"{private")
    served.ask("GET", "/v1/show", person="dpa_private")
    served.ask("GET", "/v1/private")
    served.ask("DELETE", "/v1/show")
    served.ask("GET", "/health")
    link = http.client.HTTPConnection("127.0.0.1", served.port)
    link.request("GET", "/")
    link.getresponse().read()
    link.sock.sendall(b"private private\r\n\r\n")
    assert link.sock.recv(12) == b"HTTP/1.1 400"
    link.close()
    said = capfd.readouterr().err
    lines = [json.loads(line) for line in said.splitlines()]
    assert [(one["person"], one["what"], one["status"]) for one in lines] == [
        ("ada", "charge_plan", 200),
        ("ada", "paid", 200),
        ("ada", "charge_plan", 400),
        (None, "show", 401),
        (None, "unknown", 404),
        (None, "unknown", 405),
        (None, "/health", 200),
        (None, "/", 200),
        (None, "malformed", 400),
    ]
    named = {"time", "request", "address", "token", "person", "what", "entry", "status"}
    assert all(named == set(one) - {"ms"} for one in lines)
    assert [one["token"] for one in lines[:4]] == [served.ids["ada"]] * 3 + [None]
    assert {one["address"] for one in lines} == {"127.0.0.1"}
    assert len({one["request"] for one in lines}) == len(lines)
    assert lines[0]["entry"] == 3
    assert not [word for word in ("private", *served.secrets.values(), "budget.db") if word in said]


def test_no_answer_leads_to_where_a_header_says(served):
    for path in ("/pages/", "/v1/show/", "/v1/charges/", "/health/"):
        link = http.client.HTTPConnection("127.0.0.1", served.port)
        link.request("GET", path, headers={"Host": "evil.example"})
        got = link.getresponse()
        assert (got.status, got.headers.get("Location")) in ((404, None), (405, None))
        assert b"evil" not in got.read()
        link.close()


def test_what_is_said_twice_is_not_said(served):
    """Readers differ on which of two members counts."""
    whole = json.dumps(charge()).encode()
    inner = json.dumps({"entry": 1, "body": {"a": {"b": 1}}}).encode()
    for method, path, body in (
        ("POST", "charges", whole.replace(b'"purpose"', b'"purpose": "x", "purpose"')),
        ("POST", "charges", whole.replace(b'"events":', b'"events": [], "events":')),
        ("PUT", "release", inner.replace(b'"entry"', b'"entry": 2, "entry"')),
        ("PUT", "release", inner.replace(b'"b"', b'"b": 2, "b"')),
        ("GET", "log?after=1&after=2", None),
    ):
        status, answer = served.ask(method, f"/v1/{path}", body)
        assert (status, one_sentence(answer), "twice" in answer["error"]) == (400, True, True), answer
    assert served.ask("GET", "/v1/show")[1]["entries"] == 0


def test_a_token_of_a_scope_is_told_of_people_what_concerns_its_own(served):
    """By `show`, by every page of the log, and by the pages: the same."""
    served.secrets["lead"] = served.tokens.add("lead", None, None, arrange=True)[1]
    served.secrets["ada of team"] = served.tokens.add("ada", "team", None, arrange=False)[1]
    with Ledger.open(served.ledger) as ledger:
        ledger.grant("lead", ["arrange"], by="lead")
        for person in ("ada", "bob"):
            ledger.grant(person, ["request"], scope="team", by="lead")
        ledger.grant("officer", ["arrange", "approve"], by="lead")
        for person in ("ada", "bob"):
            asked = served.ask("POST", "/v1/charges", {**charge(), "scope": "team"}, person)[1]["charge"][
                "entry"
            ]
            ledger.approve(asked, by="officer")
    told = served.ask("GET", "/v1/log", person="ada of team")[1]["entries"]
    assert [one["kind"] for one in told] == ["scope", "scope", "grant", "request", "approval"]
    assert "bob" not in json.dumps(told)
    assert "bob" in json.dumps(served.ask("GET", "/v1/log", person="lead")[1])
    shown = served.ask("GET", "/v1/show", person="ada of team")[1]
    assert "bob" not in json.dumps(shown)


def test_which_unit_lost_most_is_told_to_who_may_arrange(served):
    plan = charge()["plan"]
    covered = {**plan, "events": [{**plan["events"][0], "cover": [3, 4]}]}
    served.ask("POST", "/v1/charges", {**charge(), "plan": covered, "scope": "team"})
    for person, knows in (("officer", True), ("ada", False), ("eve", False)):
        shown = served.ask("GET", "/v1/show", person=person)[1]
        units = [one["worst_unit"] for one in (shown, *shown["scopes"])]
        assert (3 in units) == knows, person


# ------------------------------------------------------------------ what describes it


def test_the_page_and_the_document_describe_every_request(served):
    import jsonschema

    _, document = served.ask("GET", "/openapi.json", person=None)
    assert document == json.loads(json.dumps(openapi()))
    described = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(one.method.lower(), f"/v1/{one.path.replace(':path', '')}") for one in ASKED}
    link = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    link.request("GET", "/")
    got = link.getresponse()
    page = got.read().decode()
    link.close()
    assert got.headers["Content-Security-Policy"] == "default-src 'none'"
    link.request("GET", "/v1/show")
    got = link.getresponse()
    got.read()
    assert (got.headers["Cache-Control"], got.headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert got.headers["WWW-Authenticate"] == "Bearer"
    assert all(f"{method.upper()} {path}" in page for method, path in described)
    # answers follow their schemas
    served.ask("POST", "/v1/reservations", charge(key="may", rounds=3))
    for method, path, body in (
        ("POST", "/v1/charges", charge()),
        ("POST", "/v1/charges", charge("2", "too-much")),
        ("POST", "/v1/charges", {}),
        ("GET", "/v1/show", None),
        ("GET", "/v1/log", None),
    ):
        status, answer = served.ask(method, path, body)
        responses = document["paths"][path][method.lower()]["responses"]
        schema = responses["200" if status == 200 else "default"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer, {**schema, "components": document["components"]})


def test_the_log_comes_in_pages(served, monkeypatch):
    monkeypatch.setattr(log, "PAGE", 2)
    for number in range(3):
        served.ask("POST", "/v1/charges", charge("1/1000", str(number)))
    seen, after = [], -1
    while after is not None:
        page = served.ask("GET", f"/v1/log?after={after}")[1]
        assert len(page["entries"]) <= 2
        seen, after = seen + [one["entry"] for one in page["entries"]], page["next"]
    assert seen == list(range(6))
    # a scope's token is shown its own entries of each page
    served.ask("POST", "/v1/charges", charge("1/1000", "eve", scope="team/eve"), "eve")
    pages, after = [], -1
    while after is not None:
        page = served.ask("GET", f"/v1/log?after={after}", person="eve")[1]
        pages, after = [*pages, len(page["entries"])], page["next"]
    assert (sum(pages), len(pages)) == (2, 4)  # its cap, and its charge


def test_a_refusal_says_which_unit_only_to_who_may_arrange(served):
    body = {**charge("2"), "plan": plan("2", (7, 7)).as_json()}
    for person, says in (("ada", False), ("officer", True)):
        for more in ({"dry_run": True}, {}):
            status, answer = served.ask("POST", "/v1/charges", {**body, "key": person, **more}, person)
            assert (status, answer["kind"]) == (409, "refused")
            for text in (answer["error"], answer["charge"]["reason"]):
                assert ("bring unit 7 to" in text, "bring a unit beyond" in text) == (says, not says)
        reasons = [one["reason"] for one in served.ask("GET", "/v1/log", person=person)[1]["entries"]]
        assert any("unit 7" in (one or "") for one in reasons) == says


def test_sums_are_exact(served):
    for number in range(9):
        assert served.ask("POST", "/v1/charges", charge("1/10", str(number)))[0] == 200
    spends = served.ask("GET", "/v1/charge?key=3")[1]["spends"]
    assert [Fraction(one) for one in spends] == [Fraction(1, 10)]
    assert served.ask("POST", "/v1/charges", charge("1/10", "9"))[0] == 200
    assert served.ask("POST", "/v1/charges", charge("1/1000000", "10"))[0] == 409


def test_it_opens_no_connection(served, monkeypatch):
    """Whatever a request names, the service goes nowhere."""
    asked, connect = set(), socket.socket.connect
    monkeypatch.setattr(socket.socket, "connect", lambda one, to: (asked.add(to), connect(one, to))[1])
    url = "http://169.254.169.254/latest"
    for name in ("purpose", "key", "scope", "cohort", "plan"):
        served.ask("POST", "/v1/charges", {**charge(), name: url})
    served.ask("POST", "/v1/theorem-charges", {**of_theorem(pure("1/100")), "theorem": [url]})
    for query in (f"release?key={url}", f"log?after={url}", f"charge?key={url}", f"reservations/{url}"):
        served.ask("GET", f"/v1/{query}")
    assert asked == {("127.0.0.1", served.port)}


ODD = [
    *(
        None,
        True,
        -1,
        0,
        1,
        3,
        10**30,
        1.5,
        1e308,
        "",
        "x",
        "a/b",
        "../x",
        "\x00",
        "\ud800",
        "é" * 400,
        "2026-13-01",
    ),
    *("1e-400", "1/0", "1e999999", "nan", "sha256:" + "0" * 64, "*", "team", "one", "may", "2030-01-31"),
    *([], [[]], [[1, 2]], [[2, 1]], [1, 2], [[0, 0]], [[1, 2**70]], ["charge"], {}, {"a": []}),
]


@deep
def test_no_member_of_any_value_is_unexpected(served, depth):
    """Right members with an odd one among them: never 500, always one sentence, and the chain stays as it was."""
    dice = random.Random(depth.seed())
    served.ask("POST", "/v1/charges", charge(key="one"))
    served.ask("POST", "/v1/reservations", charge(key="may", rounds=5))
    right = {
        **{
            "plan": plan("1/1000").as_json(),
            "theorem": proof.write(pure("1/1000")),
        },
        **{
            "purpose": "x",
            "reason": "x",
            "run": "p 1",
            "name": "team",
            "epsilon": "9/10",
            "units": [[1, 3]],
        },
        **{
            "parts": [[1, 1]],
            "draws": [1, 1],
            "entry": 3,
            "request": 3,
            "person": "ada",
        },
        "body": {"a": 1},
        **{"may": ["charge"]},
    }
    for turn in range(300):
        asked = dice.choice(ASKED)
        members = {name: right.get(name, f"key {turn}") for name in asked.needs.split()}
        names = [*asked.needs.split(), *asked.may.split()]
        for name in dice.sample(names, min(len(names), dice.choice([1, 1, 2]))):
            members[name] = dice.choice(ODD)
        path = f"/v1/{asked.path.replace('{key:path}', dice.choice(['may', 'one', 'none', '%00', '..']))}"
        if asked.method == "GET":
            query = {name: str(one).encode(errors="replace") for name, one in members.items()}
            status, answer = served.ask("GET", f"{path}?{urlencode(query)}", person="officer")
        else:
            status, answer = served.ask(asked.method, path, members, dice.choice(["ada", "officer"]))
        assert status in (200, 400, 403, 404, 409), (asked.call, members, answer)
        assert status == 200 or one_sentence(answer), (asked.call, members, answer)
    assert recounted(served.ledger)


def test_nothing_is_written_that_a_reader_would_refuse(served):
    """Marks that are no range and releases that are nested too deeply: the ledger goes on."""
    entry = served.ask("POST", "/v1/charges", charge("1/100"))[1]["entry"]
    for draws in ([2, 1], [0, 1], [-1, 1]):
        status, answer = served.ask("POST", "/v1/marks", {"entry": entry, "draws": draws, "run": "x"})
        assert (status, one_sentence(answer)) == (400, True)
    deep = 1
    for _ in range(900):
        deep = [deep]
    status, answer = served.ask("PUT", "/v1/release", {"entry": entry, "body": {"a": deep}})
    assert (status, one_sentence(answer)) == (400, True)
    large = charge("1/100", "two")
    large["plan"]["events"] *= 9000
    status, answer = served.ask("POST", "/v1/charges", large)
    assert (status, one_sentence(answer)) == (400, True)
    assert served.ask("POST", "/v1/charges", charge("1/100", "three"))[0] == 200
    with Ledger.open(served.ledger) as own:
        assert own.verify()["valid"]


@deep
def test_keys_that_a_server_does_not_take_are_wrong_requests_there_too(server_thread, postgres, tmp_path):
    """PostgreSQL has no text with a zero byte, and indexes no text of many bytes."""
    url = postgres.url("keys")
    init(url, **BUDGET)
    with put(server_thread, tmp_path, url) as served:
        for path in ("reservations/%00", "release?key=%00", "charge?key=%00"):
            status, answer = served.ask("GET", f"/v1/{path}")
            assert (status, answer["kind"], one_sentence(answer)) == (400, "input", True)
        letters = random.Random(1).sample(range(0x4E00, 0x9000), 601)
        long = charge(key="".join(map(chr, letters)))
        assert served.ask("POST", "/v1/charges", long)[0] == 400
        assert served.ask("POST", "/v1/charges", {**long, "key": long["key"][1:]})[0] == 200
