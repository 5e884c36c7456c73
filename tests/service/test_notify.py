"""Notifications: signed, to allowed hosts alone, each once, with a scope and a share and nothing else."""

import hashlib
import hmac
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli.app import run
from audits.reports.terminal import share_spent
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.journal import entries
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Approximate, Plan, Relation
from service import notify
from service.commands import share_of
from service.notify import Notifier, Receiver
from service.web import Service
from tests.depth import deep, examples
from tests.dpaccount.ledger.conftest import BUDGET, plan
from tests.looped import looped

from .conftest import ServiceProcess

KEY = "0123456789abcdef"
ALLOWED = {"DPACCOUNT_NOTIFY_HOSTS": "hooks.example, 127.0.0.1", "DPACCOUNT_NOTIFY_KEY": KEY}
MEMBERS = {"share": {"schema", "id", "time", "what", "cap", "scope", "share"}}
MEMBERS["request"] = {"schema", "id", "time", "what", "scope"}


class Taker:
    """A receiver in a thread: it answers with `statuses` first, then 204, and checks each signature."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.bodies: list[dict] = []
        self.tries = 0
        self.hangs = threading.Event()
        self.hangs.set()
        taker = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                taker.hangs.wait(20)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                expected = hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
                assert self.headers["X-Dpaccount-Signature"] == f"sha256={expected}"
                assert self.path == "/hook?team=1"
                taker.tries += 1
                status = taker.statuses.pop(0) if taker.statuses else 204
                if status == 204:
                    taker.bodies.append(json.loads(body))
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.receiver = Receiver.of(f"http://127.0.0.1:{self.server.server_port}/hook?team=1", ALLOWED)

    def taken(self) -> list[dict]:
        """Return what was taken since it was last asked for."""
        bodies, self.bodies = self.bodies, []
        return bodies


@pytest.fixture(scope="module")
def taking() -> Iterator[Taker]:
    one = Taker()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def taker(taking, monkeypatch):
    monkeypatch.setattr(notify, "PAUSES", (0, 0, 0))
    taking.statuses, taking.bodies, taking.tries = [], [], 0
    return taking


def test_a_share_of_a_cap_is_told_once_in_each_period_and_again_under_the_same_name_after_a_restart(
    taker, tmp_path, monkeypatch
):
    day = ["2026-12-01"]
    monkeypatch.setattr(entries, "now", lambda: f"{day[0]}T12:00:00+00:00")
    init(url := f"sqlite:///{tmp_path}/l.db", **{**BUDGET, "epsilon": 2}, life_epsilon=4)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1, every="day")
        notifier = Notifier(taker.receiver, ledger.show, [0.5, 0.8])
        notifier.look()
        assert taker.taken() == []
        ledger.charge_plan(plan("0.79", (7, 7)), "secret purpose", scope="team")
        for _ in range(2):
            notifier.look()
        [half] = taker.taken()
        assert set(half) == MEMBERS["share"]
        assert (half["what"], half["cap"], half["scope"], half["share"]) == ("share", "scope", "team", 0.5)
        ledger.charge_plan(plan("0.01", (7, 7)), "x", scope="team")
        notifier.look()
        [most] = taker.taken()
        assert (most["share"], most["id"] != half["id"]) == (0.8, True)
        Notifier(taker.receiver, ledger.show, [0.5, 0.8]).look()
        assert {one["id"] for one in taker.taken()} == {half["id"], most["id"]}
        day[0] = "2026-12-02"
        notifier.look()
        assert taker.taken() == []
        ledger.charge_plan(plan("0.9", (7, 7)), "x", scope="team")
        ledger.charge_plan(plan("0.1", (7, 7)), "x")
        notifier.look()
        told = taker.taken()
        assert not {half["id"], most["id"]} & {one["id"] for one in told}
        assert Counter((one["cap"], one["scope"]) for one in told) == {
            ("scope", "team"): 2,
            ("budget", None): 2,
        }
        of_budget = {one["id"] for one in told if one["cap"] == "budget"}
        ledger.reset("x")
        ledger.charge_plan(plan("0.2", (7, 7)), "x")
        notifier.look()
        assert [(one["cap"], one["scope"], one["share"]) for one in taker.taken()] == [("life", None, 0.5)]
        ledger.charge_plan(plan("1.4", (7, 7)), "x")
        notifier.look()
        again = [one["id"] for one in taker.taken() if one["cap"] == "budget"]
        assert (len(again), of_budget & {*again}) == (2, set())


def test_a_request_is_told_while_nobody_has_approved_it(taker, tmp_path):
    init(url := f"sqlite:///{tmp_path}/l.db", **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 1)
        for who, may in (("ada", ["arrange"]), ("bo", ["arrange", "approve"])):
            ledger.grant(who, may, by="ada")
        asked = ledger.grant("cy", ["request"], scope="team", by="ada").number
        notifier = Notifier(taker.receiver, ledger.show, [0.8])
        notifier.look()
        [one] = taker.taken()
        assert set(one) == MEMBERS["request"]
        assert (one["what"], one["scope"]) == ("request", "team")
        ledger.approve(asked, "bo")
        Notifier(taker.receiver, ledger.show, [0.8]).look()
        assert taker.taken() == []
        ledger.grant("cy", ["request"], scope="team", by="ada")
        ledger.reset("secret purpose", by="ada")
        with pytest.raises(BudgetError, match="asks for it"):
            ledger.charge_plan(plan("1/7", (41, 43)), "secret purpose", by="cy", scope="team")
        notifier.look()
        told = taker.taken()
        assert [one["scope"] for one in told] == ["team", None] or [one["scope"] for one in told] == [
            None,
            "team",
        ]
        said = str([{name: one[name] for name in one if name not in ("id", "time")} for one in told])
        assert all(word not in said for word in ("purpose", "cy", "41", "0.14", "1/7"))
        notifier.look()
        assert taker.taken() == []


@examples(20, 20)
@given(
    looks=st.lists(
        st.tuples(st.lists(st.sampled_from([0, 0.4, 0.5, 0.9]), min_size=2, max_size=2), st.integers(0, 2)),
        max_size=8,
    )
)
def test_what_is_told_is_each_rise_above_a_share_in_a_period(looks):
    """Whatever happens between looks, by whomever."""
    posted, shown = [], {}

    class Kept(Receiver):
        def post(self, body):
            posted.append(json.loads(body))

    notifier = Notifier(Kept(None, "/", KEY.encode()), lambda: shown, [0.5, 0.8])
    before, expected = set(), Counter()
    amounts = lambda one: {"epsilon": {"upper": one}}  # noqa: E731
    for spent, period in looks:
        whole = {"budget": {"epsilon": "1", "delta": "0"}, "spent": amounts(0), "resets": 0}
        names = dict(zip(("a", "b"), spent, strict=True))
        scopes = [
            {"scope": name, "cap": {"epsilon": "1"}, "spent": amounts(one), "period": str(period)}
            for name, one in names.items()
        ]
        shown = {**whole, "scopes": scopes}
        now = {(name, share, period) for name, one in names.items() for share in (0.5, 0.8) if one >= share}
        expected.update((name, share) for name, share, _ in now - before)
        before = now
        notifier.look()
    assert Counter((one["scope"], one["share"]) for one in posted) == expected


def test_what_is_not_taken_is_tried_again_and_then_logged(taker, capsys):
    shown = {"budget": {"epsilon": "1"}, "spent": {"epsilon": {"upper": 1}}, "resets": 0, "scopes": []}
    taker.statuses = [500, 302]
    Notifier(taker.receiver, lambda: shown, [1]).look()
    assert (taker.tries, len(taker.taken())) == (3, 1)
    assert capsys.readouterr().err == ""
    taker.statuses = [503] * 3
    notifier = Notifier(taker.receiver, lambda: shown, [1])
    for _ in range(2):
        notifier.look()
    assert (taker.tries, taker.taken()) == (6, [])
    line = json.loads(capsys.readouterr().err)
    assert (line["what"], line["error"]) == ("notification", "503")
    Notifier(Receiver.of("http://127.0.0.1:1/", ALLOWED), lambda: shown, [1]).look()
    assert json.loads(capsys.readouterr().err)["error"] == "ConnectionRefusedError"
    Notifier(taker.receiver, lambda: 1 / 0, [1]).look()
    assert json.loads(capsys.readouterr().err)["error"] == "ZeroDivisionError"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # which ends the thread
def test_a_charge_is_durable_before_anybody_is_told_and_waits_for_nobody(
    served, taker, server_thread, monkeypatch
):
    told, over = [], threading.Event()
    monkeypatch.setattr(notify, "QUIET", 0)
    with Ledger.open(served.ledger) as own:
        written = lambda: told.append(own.show()["entries"])  # noqa: E731
        server_thread.application = Service(served.desk, served.tokens, written).application()
        asked = {"plan": plan("1/10").as_json(), "purpose": "x", "key": "k"}
        assert served.ask("POST", "/v1/charges", asked)[0] == 200
        assert served.ask("POST", "/v1/charges", {**asked, "key": "l", "plan": plan(1).as_json()})[0] == 409
        assert served.ask("GET", "/v1/show")[0] == 200
        assert told == [1, 1]

        def show():
            if over.is_set():
                raise SystemExit
            return own.show()

        notifier = Notifier(taker.receiver, show, [0.05])
        server_thread.application = Service(served.desk, served.tokens, notifier.written).application()
        taker.hangs.clear()
        notifier.start()
        begun = time.monotonic()
        assert served.ask("POST", "/v1/charges", {**asked, "key": "m"})[0] == 200
        assert time.monotonic() - begun < 5
        assert taker.tries == 0
        taker.hangs.set()
        [thread] = [one for one in threading.enumerate() if one.name == "notifications"]
        while taker.tries == 0:
            time.sleep(0.001)
        over.set()
        notifier.written()
        thread.join()
        assert [one["share"] for one in taker.taken()] == [0.05]


@deep
def test_a_service_tells_while_it_charges(served, taker, monkeypatch):
    """By the command; its receiver hangs for a while, and each charge is answered at once."""
    for name, value in ALLOWED.items():
        monkeypatch.setenv(name, value)
    to = f"http://127.0.0.1:{taker.server.server_port}/hook?team=1"
    taker.hangs.clear()
    with Ledger.open(served.ledger) as own:
        own.charge_plan(plan("1/10"), "x", scope="team/eve")
        service = ServiceProcess(served, more=("--notify", to, "--notify-at", ".5", "--notify-at", ".1"))
        served.port = service.port
        asked = {"plan": plan("1/100").as_json(), "purpose": "x", "scope": "team"}
        waits = []
        for number in range(41):
            begun = time.monotonic()
            assert served.ask("POST", "/v1/charges", {**asked, "key": str(number)})[0] == 200
            waits.append(time.monotonic() - begun)
        taker.hangs.set()
        assert max(waits) < 2
        end = time.monotonic() + 40
        while len(taker.bodies) < 5 and time.monotonic() < end:
            time.sleep(0.05)
        assert {(one["scope"], one["share"]) for one in taker.bodies} == {
            *((name, share) for name in (None, "team") for share in (0.1, 0.5)),
            ("team/eve", 0.1),
        }
        assert service.end() in (0, -signal.SIGTERM)


WRONG = [
    ("https://evil.example/x", ALLOWED, "may not go to the host 'evil.example'; name it in DPACCOUNT_NOTIFY"),
    ("https://hooks.example.evil/x", ALLOWED, "may not go to the host"),
    ("https://hooks.example@evil.example/", ALLOWED, "no URL, or holds a password"),
    ("https://hooks.example/a b", ALLOWED, "no URL"),
    ("https://hooks.example/ä", ALLOWED, "no URL"),
    ("https://hooks.example:x/", ALLOWED, "no URL"),
    ("hooks.example", ALLOWED, "may not go to the host ''"),
    ("http://hooks.example/", ALLOWED, "go to https://"),
    ("file://127.0.0.1/etc/passwd", ALLOWED, "go to https://"),
    ("https://hooks.example/", {**ALLOWED, "DPACCOUNT_NOTIFY_KEY": "short"}, "no key signs"),
    ("https://hooks.example/", {}, "may not go"),
]


@looped(("url", "environment", "says"), WRONG)
def test_no_other_host_and_nothing_unsigned(url, environment, says):
    with pytest.raises(InputError, match=says):
        Receiver.of(url, environment)


def test_wrong_options_are_one_sentence(tmp_path, monkeypatch, capsys):
    init(url := f"sqlite:///{tmp_path}/l.db", **BUDGET)
    (tmp_path / "tokens.db").unlink(missing_ok=True)
    assert run(["token", "add", f"{tmp_path}/tokens.db", "ada"]) == 0
    serve = ["serve", "--ledger", url, "--port", "0", "--tokens", f"{tmp_path}/tokens.db"]
    monkeypatch.setenv("DPACCOUNT_NOTIFY_HOSTS", "hooks.example")
    monkeypatch.setenv("DPACCOUNT_NOTIFY_KEY", KEY)
    for more, says in (
        (["--notify-at", ".5"], "give --notify, too"),
        (["--notify", "https://hooks.example/", "--notify-at", "1.5"], "give one above 0, up to 1"),
        (["--notify", "https://evil.example/"], "may not go to the host"),
    ):
        assert run([*serve, *more]) == 2
        assert says in capsys.readouterr().err
    assert [share_of(one) for one in (".5", "1", "1/4")] == [0.5, 1.0, 0.25]
    assert repr(Receiver.of("https://hooks.example/", ALLOWED)).count(KEY) == 0
    assert Fraction(1, 4) == share_of("1/4")


@looped(("measure", "delta", "share"), [("approximate", "9e-7", 0.9), ("approximate-zcdp", "4e-7", 0.8)])
def test_a_delta_that_runs_out_is_told_too(tmp_path, measure, delta, share):
    init(url := f"sqlite:///{tmp_path}/{measure}.db", **{**BUDGET, "measure": measure, "delta": "1e-6"})
    with Ledger.open(url) as ledger:
        one = Approximate(epsilon=Fraction(1, 100), delta=Fraction(delta))
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (one,)), "x")
        assert share_spent({**ledger.show(), "cap": ledger.show()["budget"]}) == pytest.approx(share)
        found = [told["share"] for told, _ in notify.told(ledger.show(), [share - 0.01, share + 0.01])]
        assert found == [share - 0.01]
