"""`Ledger.open("http://…")`: what a ledger of one's own does, and noise that stays here."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from functools import partial
from http.client import HTTPConnection

import numpy as np
import pytest

from dpaccount import service_client as client
from dpaccount.errors import BudgetError, DpaccountError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import RefusedError
from dpaccount.ledger.stores import rows
from dpaccount.noise import process
from dpaccount.plan.events import Gaussian, Laplace, Plan, SampledWithoutReplacement
from dpaccount.relation import Relation
from tests.depth import deep
from tests.dpaccount.ledger.conftest import plan, pure, recounted
from tests.dpaccount.ledger.test_once import stream
from tests.looped import looped

from .conftest import CuttingProxy

VALUES = np.array([5])


@pytest.fixture
def remote(served):
    with Ledger.open(served.url) as ledger:
        yield ledger


def as_told(charge):
    return charge.spends, charge.reason, charge.known, charge.epsilon, charge.budget


def test_it_answers_as_a_ledger_of_ones_own(served, remote, tmp_path, monkeypatch):
    """The same requests to both: the same decisions, amounts, sentences and kinds of errors."""
    own = Ledger.create(
        f"sqlite:///{tmp_path}/own.db",
        epsilon=1,
        delta=0,
        unit="person",
        relation="replace-one",
        measure="pure",
    )
    own.tells_others = True  # as a service's does
    own.set_scope("team", "9/10")
    own.set_scope("team/eve", "1/2")
    nothing = Plan(Relation.REPLACE_ONE, ())
    acts: list[Callable[[Ledger], object]] = [
        lambda one: as_told(one.charge_plan(plan("1/10"), "a", "a")),
        lambda one: as_told(one.charge_plan(plan("1/10"), "a", "a")),
        lambda one: one.charge_plan(plan("1/20"), "a", "a"),
        lambda one: as_told(one.charge_plan(plan("1/1000", cover=(3, 9), count=7), "b", scope="team/eve")),
        lambda one: as_told(one.charge_plan(plan("3/5"), "c", scope="team/eve", dry_run=True)),
        lambda one: one.charge_plan(plan(3), "d"),
        lambda one: one.charge_plan(plan(), "d\n"),
        lambda one: one.charge_plan(plan(), "d\ud800"),
        lambda one: one.charge_plan(plan(), "d", scope="nowhere"),
        lambda one: one.charge_plan(plan(), "d", cohort="nobody"),
        lambda one: one.charge_plan(Plan(Relation.ADD_REMOVE, plan().events), "d"),
        lambda one: one.charge_plan(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=10),)), "d"),
        lambda one: as_told(one.charge_plan(nothing, "nothing", "nothing")),
        lambda one: as_told(one.charge_theorem(pure("1/50"), "e", (1, 5), scope="team", dry_run=True)),
        lambda one: as_told(one.charge_theorem(pure("1/50"), "e", (1, 5), "e", scope="team")),
        lambda one: one.charge_theorem(pure("1/50"), "e", (5, 1), "f"),
        lambda one: one.charge(pure("1/50"), "e", (5, 6), "g", reads=3),
        lambda one: as_told(one.paid("e")),
        lambda one: one.paid("nothing").spends,
        lambda one: as_told(one.reserve_plan(plan("1/1000"), "f", "may", rounds=9)),
        lambda one: one.draw_parts("may", count=2)[1],
        lambda one: one.draw_parts("may", [(2, 3)]),
        lambda one: one.draw_parts("may", [(5, 6)])[1],
        lambda one: one.return_parts("may", [(8, 9), (4, 4)])[1],
        lambda one: one.open_parts("may")[1],
        lambda one: one.return_parts("may")[1],
        lambda one: one.draw_parts("may"),
        lambda one: one.draw_parts("may", count=0),
        lambda one: one.check_scope("team"),
        lambda one: one.check_scope("nowhere"),
        lambda one: one.keep_release("a", {"answer": 0.1}),
        lambda one: one.release("a"),
        lambda one: one.release("e"),
        lambda one: one.run_state("a"),
        lambda one: one.run_state("never"),
        lambda one: {**one.show(), "head": None, "worst_unit": None, "scopes": without_units(one)},
    ]
    arranging: list[Callable[[Ledger], object]] = [
        lambda one: one.set_scope("team/ada", "1/10", every="day", charge_epsilon="1/100").kind,
        lambda one: one.show()["scopes"][1],
        lambda one: one.set_clock().kind,
        lambda one: one.set_scope("team/ada", Fraction(1, 10**9), 0).kind,
        lambda one: one.set_scope("team", "1/1000"),
        lambda one: one.name_cohort("adults", [(1, 9), (20, 30)], grows=True).kind,
        lambda one: one.charge_plan(plan("1/10000"), "adults", "adults", cohort="adults").entry is None,
        lambda one: one.reset("a new study").kind,
        lambda one: one.grant("officer", ["arrange"]).kind,
    ]
    with own:
        for number, act in enumerate(acts):
            assert outcome(act, own) == outcome(act, remote), number
        monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["officer"])
        with Ledger.open(served.url) as officer:
            for number, act in enumerate(arranging):
                assert outcome(act, own) == outcome(act, officer), number
            asked = officer.grant("bo", ["charge"], scope="team", until="2030-01-31")
            assert outcome(lambda one: one.approve(asked.number), officer) == "BudgetError"


def without_units(ledger):
    """Return the scopes of a ledger without what a token must arrange to be told."""
    return [{**one, "worst_unit": None} for one in ledger.show()["scopes"]]


def outcome(act, ledger):
    """Return what is returned, or the kind of error; JSON has lists for tuples."""
    try:
        return json.loads(json.dumps(act(ledger), default=str))
    except DpaccountError as error:
        return type(error).__name__


@deep
def test_noise_is_drawn_here_after_its_mark_is_there(served, remote):
    receipt = remote.charge(pure("1/100"), "a sum", (1, 9), "one")
    with Ledger.open(served.ledger) as own:
        assert own.run_state("one") == RunState(charged=True)
        value = receipt.noisy("noise", 0, VALUES)
        state = own.run_state("one")
        assert state.drawing or state.lost
        assert state.process.startswith(process.name())
    assert value.shape == (1,)
    with pytest.raises(ReceiptError):
        receipt.noisy("noise", 0, VALUES)
    # of this process, and not kept: lost, as in a file of its own
    assert remote.run_state("one") == RunState(charged=True, lost=True)
    with Ledger.open(served.url) as later:
        again = later.charge(pure("1/100"), "a sum", (1, 9), "one")
        with pytest.raises(ReceiptError):
            again.noisy("noise", 0, VALUES)
    remote.keep_release("one", {"value": int(value[0])})
    assert remote.release("one") == {"value": int(value[0])}
    assert recounted(served.ledger)


def test_one_charge_is_drawn_by_one_run(served, remote):
    """Two openings of one process charge under one key before either draws: the service refuses the second."""
    with Ledger.open(served.url) as other:
        first = remote.charge(stream(40), "a stream", None, "one")
        second = other.charge(stream(40), "a stream", None, "one")
        assert first.entry == second.entry
        for part in range(5):
            first.noisy("noise", part, VALUES)
        with pytest.raises(ReceiptError):
            remote.charge(stream(40), "a stream", None, "one").noisy("noise", 0, VALUES)
        with pytest.raises(ReceiptError):
            second.noisy("noise", 0, VALUES)
        for part in range(5, 40):
            first.noisy("noise", part, VALUES)
        with pytest.raises(ReceiptError):
            second.noisy("noise", 1, VALUES)
    # marked ahead: fewer marks than draws
    marks = [one for one in served.ask("GET", "/v1/log")[1]["entries"] if one["kind"] == "drawing"]
    assert 8 < len(marks) < 30


@looped(
    ("url", "variable"),
    [
        ("http://ada:secret@127.0.0.1:1", {}),
        ("https://ada@example.com", {}),
        ("http://example.com", {}),
        ("http://10.0.0.7:8080", {}),
        ("http://127.0.0.1.example.com", {}),
        ("https://", {}),
        ("https://host:port", {}),
        ("https://host/?ledger=x", {}),
        ("https://host/#x", {}),
        ("https://ho\nst/", {}),
        ("http://127.0.0.1:1", {"DPACCOUNT_TOKEN": ""}),
        ("http://127.0.0.1:1", {"DPACCOUNT_TOKEN": "a\r\nX: y"}),
        ("http://127.0.0.1:1", {"DPACCOUNT_TOKEN": "ä"}),
    ],
)
def test_urls_and_tokens_that_are_refused_before_anything_is_sent(monkeypatch, url, variable):
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: 1 / 0)
    monkeypatch.setenv("DPACCOUNT_TOKEN", "dpa_x")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as error:
        Ledger.open(url)
    assert "secret" not in str(error.value)
    assert "dpa_x" not in str(error.value)


def test_http_to_another_host_only_if_it_is_asked_for(monkeypatch):
    monkeypatch.setenv("DPACCOUNT_TOKEN", "dpa_x")
    monkeypatch.setenv("DPACCOUNT_INSECURE", "1")
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Ledger.open("http://example.com")


def answering(*answers: bytes) -> socket.socket:
    """Return a place where these bytes are answered, a connection each."""
    place = socket.create_server(("127.0.0.1", 0))

    def serve():
        with suppress(OSError):
            for answer in answers:
                client, _ = place.accept()
                with client:
                    client.recv(65536)
                    client.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return place


@looped(
    "answer",
    [
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"budget": 1}',
        b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n[]",
        b'HTTP/1.1 401 No\r\nContent-Length: 13\r\n\r\n{"error": "x"',
    ],
)
def test_what_is_no_service_is_an_error_in_one_sentence(monkeypatch, answer):
    """A redirect is not followed: the token would go elsewhere."""
    monkeypatch.setenv("DPACCOUNT_TOKEN", "dpa_x")
    monkeypatch.setattr(client, "AGAIN_SECONDS", 0.1)
    with closing(answering(*[answer] * 5)) as place, pytest.raises(LedgerError) as error:
        Ledger.open(f"http://127.0.0.1:{place.getsockname()[1]}")
    assert "\n" not in str(error.value)


def test_a_service_that_is_away_is_waited_for_and_then_told(served, monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as place:
        port = place.getsockname()[1]
    monkeypatch.setattr(client, "AGAIN_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(LedgerError, match="does not answer"):
        Ledger.open(f"http://127.0.0.1:{port}")
    assert 0.1 < time.monotonic() - began < 5


@deep
def test_a_lost_answer_is_asked_again_and_found(served, monkeypatch):
    """Of five connections one is cut before its answer is back, one within its request."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    proxy = CuttingProxy([served.port]).in_thread()
    with closing(proxy), Ledger.open(f"http://127.0.0.1:{proxy.port}") as ledger:
        for number in range(6):
            key = f"key {number}"
            receipt = ledger.charge(pure("1/1000"), "a sum", None, key)
            value = receipt.noisy("noise", 0, VALUES)
            ledger.keep_release(key, {"value": value.tolist()})
            assert ledger.release(key) == {"value": value.tolist()}
            assert ledger.charge_plan(plan("1/1000"), "no key").entry
        ledger.reserve_plan(plan("1/1000"), "many", "may", rounds=40)
        drawn = [ledger.draw_parts("may")[1] for _ in range(20)]
        assert drawn == [[(part, part)] for part in range(1, 21)]
        assert ledger.return_parts("may", [(30, 40)])[1] == [(30, 40)]
        receipt = ledger.charge(stream(9), "a stream", None, "stream")
        for part in range(9):
            receipt.noisy("noise", part, VALUES)
    assert proxy.count > 50
    lines = served.ask("GET", "/v1/log")[1]["entries"]
    kinds = [one["kind"] for one in lines]
    assert (kinds.count("charge"), kinds.count("drawing"), kinds.count("rounds")) == (13, 14, 20)
    assert recounted(served.ledger)


def test_a_reset_whose_answer_is_lost_is_not_asked_again(served, monkeypatch):
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["officer"])
    proxy = CuttingProxy([served.port], every=2).in_thread()  # after its request, and every other within it
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    with closing(proxy), Ledger.open(served.url) as ledger:
        ledger._connect, proxy.count = partial(HTTPConnection, "127.0.0.1", proxy.port), 0
        with pytest.raises(LedgerError, match="see the log"):
            ledger.reset("a new study")
    assert served.ask("GET", "/v1/show")[1]["resets"] == 1


def test_errors_are_those_of_a_ledger(served, remote):
    remote.charge_plan(plan("9/10"), "much", "much")
    with pytest.raises(RefusedError) as refused:
        remote.charge_plan(plan("1/2"), "more", "more")
    assert refused.value.charge.entry
    assert refused.value.charge.spends == (Fraction(1, 2),)
    with pytest.raises(KeyTakenError):
        remote.charge(pure("1/100"), "other", None, "much")
    with pytest.raises(BudgetError):
        remote.charge(pure("1/2"), "more", None, "still more")
    with pytest.raises(InputError, match="`by`"):
        remote.charge_plan(plan(), "by", by="bob")
    with pytest.raises(LedgerError, match="does not do this"):
        remote.charge_many([(plan(), "a", None)])
    with pytest.raises(LedgerError, match="sessions draw in parts and need the ledger itself"):
        remote.charge_in_parts(stream(4), "a stream", None, "parts")


def test_a_plan_arrives_as_it_was(served, remote):
    """Exact numbers, covers and nested events: the same entry as one's own charge of it."""
    inner = SampledWithoutReplacement(size=3, population=21, of=Laplace(scale=Fraction(10**30, 3)))
    asked = Plan(
        Relation.REPLACE_ONE, (*plan("1/3", (2**40, 2**41)).events, *plan("123456789/10000000000").events)
    )
    remote.charge_plan(asked, "exact", "one")
    with Ledger.open(served.ledger) as own:
        assert own.charge_plan(asked, "exact", "one").known
        nested = Plan(Relation.REPLACE_ONE, (inner,))
        assert outcome(lambda one: as_told(one.charge_plan(nested, "n", "n")), own) == outcome(
            lambda one: as_told(one.charge_plan(nested, "n", "m")), remote
        )


def test_commands_work_through_a_service(served, dpaccount, tmp_path):
    (tmp_path / "plan.json").write_text(plan("1/100").to_json())
    url = served.url
    for words, code, out in (
        (("show", url), 0, "person"),
        (("charge", url, "plan.json", "--key", "a", "--json"), 0, '"accepted": true'),
        (("charge", url, "plan.json", "--key", "a", "--json"), 0, '"already_charged": true'),
        (("charge", url, "plan.json", "--dry-run", "--json"), 0, '"entry": null'),
        (("reserve", url, "plan.json", "--key", "may", "--rounds", "5"), 0, "True"),
        (("use", url, "may", "--count", "2"), 0, "True"),
        (("release", url, "may"), 0, "(3, 5)"),
        (("use", url, "may"), 1, "only 0 are open"),
        (("log", url), 2, ""),
        (("verify", url), 2, ""),
        (("report", url), 2, ""),
        (("charge", url, "plan.json", "--certificate", "cost.json", "--json"), 0, '"certificate": "sha256:'),
        (("scope", url, "team/bob", "--epsilon", ".1"), 2, ""),
        (("export", url), 2, ""),
        (("use", url, "nothing"), 2, ""),
    ):
        done = dpaccount("ledger", *words)
        assert done[0] == code, (words, done)
        assert out in done[1], (words, done)
        assert code != 2 or "error: " in done[2], done
    (tmp_path / "much.json").write_text(plan(2).to_json())
    assert dpaccount("ledger", "charge", url, "much.json")[0] == 1


def test_it_is_no_pickle_and_says_what_it_does_not_do(remote):
    import pickle

    assert isinstance(remote, client.RemoteLedger)
    with pytest.raises(LedgerError):
        pickle.dumps(remote)
    with pytest.raises(LedgerError, match="page"):
        remote.units_of("adults")


def test_long_waits_are_those_of_a_ledger():
    """The client waits for longer than the service for its ledger; both ask again for a minute."""
    assert client.SECONDS > rows.AGAIN_SECONDS


def test_a_charge_that_is_repeated_draws_no_second_noise(served, remote):
    """A cell of a notebook that runs twice: each time a new receipt, whose first mark the service refuses."""

    def cell():
        return remote.charge(pure("1/100"), "a sum", (1, 9), "one").noisy("noise", 0, VALUES)

    value = cell()
    for _ in range(3):
        with pytest.raises(ReceiptError):
            cell()
    remote.keep_release("one", {"value": int(value[0])})
    with pytest.raises(ReceiptError):
        cell()


def test_parts_that_may_not_be_taken_are_not_asked_for_without_end(served, remote, monkeypatch):
    remote.reserve_plan(plan("1/100"), "a", "k", rounds=3)
    refused = []

    def post(path, **_):
        refused.append(path)
        raise BudgetError("no")

    monkeypatch.setattr(remote, "_post", post)
    with pytest.raises(BudgetError):
        remote.draw_parts("k")
    assert len(refused) == 1
