"""Clients, services and connections that end at any moment: nothing acknowledged is lost, doubled or overspent.

The clients and the judge are those of a file's own storms, in tests/dpaccount/ledger.
"""

import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.errors import BudgetError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from service.access import NotAllowedError, Tokens
from tests.depth import deep, parts
from tests.dpaccount.ledger import test_storms as storms
from tests.dpaccount.ledger.conftest import VALID, plan, recounted
from tests.dpaccount.ledger.test_server_storms import copied

from .conftest import CuttingProxy, Served, ServiceProcess

#: a reset is not asked again where its answer is lost
CLIENT = storms.CLIENT.replace(
    'if "was cut and nothing was changed" in str(error)',
    'if "was cut and nothing was changed" in str(error) or "it may be done" in str(error)',
)
assert CLIENT != storms.CLIENT


def storm(
    folder: Path,
    ledger: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int,
    seconds: float,
    clients: int,
    services: int = 2,
) -> dict:
    """Run a storm through services on one ledger; return counts.  `copied` makes a file of it first, if it is none."""
    dice = random.Random(seed)
    monkeypatch.setattr(storms, "CLIENT", CLIENT)
    with Ledger.open(ledger) as own:
        own.set_scope("team", Fraction(7, 10))
        own.set_scope("team/a", Fraction(3, 10))
    served = Served(folder, ledger)
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["officer"])
    running = [ServiceProcess(served) for _ in range(services)]
    proxy = CuttingProxy([one.port for one in running], every=20, life=2).in_process()
    url, logs = f"http://127.0.0.1:{proxy.port}", [folder / f"log {number}" for number in range(clients)]
    asking = [storms.client(url, "pure", number, log) for number, log in enumerate(logs)]
    kills, restarts, heads, said = 0, 0, list[str](), list[str]()
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(dice.uniform(0.1, 0.4))
            place = dice.randrange(clients)
            storms.kill(asking[place])
            asking[place] = storms.client(url, "pure", 100 * (kills := kills + 1) + place, logs[place])
            if dice.random() < 0.3:
                one = dice.choice(running)
                one.end(dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                one.begin()
                restarts += 1
            with Ledger.open(ledger) as own:
                heads.append(own.show()["head"])
    finally:
        for one in asking:
            storms.kill(one)
        for one in running:
            one.end(signal.SIGKILL)
            said += one.lines
        proxy.close()
    assert not [line for line in said if "Traceback" in line or '"status": 500' in line]
    return {"kills": kills, "restarts": restarts, "requests": len(said), "logs": logs, "heads": heads}


def judged(folder: Path, ledger: str, counts: dict) -> dict:
    settled = storms.settled(folder, counts.pop("logs"), counts.pop("heads"))
    return {**counts, **settled, "valid": verify(ledger)}


@deep
@parts(6)
def test_a_storm_through_two_services_on_one_file(tmp_path, monkeypatch, depth):
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    counts = storm(tmp_path, url, monkeypatch, seed=depth.seed(), seconds=20, clients=8)
    counts = judged(tmp_path, url, counts)
    print(counts)
    assert counts["valid"] == VALID
    assert counts["acknowledged"] > 80
    assert counts["restarts"] > 3


@deep
def test_a_breeze_through_two_services_on_postgresql(postgres, tmp_path, monkeypatch, depth):
    url = postgres.url("served")
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    counts = storm(tmp_path, url, monkeypatch, seed=depth.seed(12), seconds=12, clients=3)
    copied(postgres, url, tmp_path / "budget.db")
    counts = judged(tmp_path, url, counts)
    print(counts)
    assert counts["valid"] == VALID
    assert counts["acknowledged"] > 30
    assert counts["restarts"] > 3


@deep
def test_postgresql_that_goes_during_a_charge_is_503_or_waited_for(postgres, tmp_path, monkeypatch):
    """The server is killed while clients charge, and comes back: each answered charge is there, once."""
    url = postgres.url("restarted")
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    served = Served(tmp_path, url)
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["ada"])
    service, done, stop = ServiceProcess(served), dict[str, int](), threading.Event()

    def charging(number):
        with Ledger.open(f"http://127.0.0.1:{service.port}") as ledger:
            for turn in range(10**6):
                if stop.is_set():
                    return
                key = f"{number} {turn}"
                done[key] = ledger.charge_plan(plan("1/1000000"), "a charge", key).entry

    with ThreadPoolExecutor(8) as pool:
        threads = [pool.submit(charging, number) for number in range(8)]
        for _ in range(3):
            time.sleep(1)
            postgres.end()
            time.sleep(0.5)
            postgres.start()
        time.sleep(1)
        stop.set()
        for one in threads:
            one.result()
    assert service.end() == 0
    copied(postgres, url, tmp_path / "budget.db")
    assert recounted(f"sqlite:///{tmp_path}/budget.db")
    with Ledger.open(url) as own:
        assert {key: own.paid(key).entry for key in done} == done
        assert own.show()["entries"] == len(done) > 50


@deep
def test_two_hundred_clients_at_once_are_served_in_turn(tmp_path, monkeypatch):
    """Each of 200 threads charges ten times, by a connection of its own; none waits for long beyond the others."""
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    served = Served(tmp_path, url)
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["ada"])
    service, waits, refused = ServiceProcess(served), list[float](), list[str]()

    def charging(number):
        with Ledger.open(f"http://127.0.0.1:{service.port}") as ledger:
            for turn in range(10):
                began = time.monotonic()
                try:
                    # 1,999 fit exactly, and one does not
                    ledger.charge_plan(plan(Fraction(1, 1999)), "a charge", f"{number} {turn}")
                except BudgetError:
                    refused.append(f"{number} {turn}")
                waits.append(time.monotonic() - began)

    with ThreadPoolExecutor(200) as pool:
        list(pool.map(charging, range(200)))
    shown = None
    with Ledger.open(f"http://127.0.0.1:{service.port}") as ledger:
        shown = ledger.show()
    assert service.end() == 0
    middle, most = statistics.median(waits), sorted(waits)[len(waits) * 99 // 100]
    print(f"p50 {middle * 1000:.0f} ms, p99 {most * 1000:.0f} ms, {len(waits)} charges")
    assert (shown["entries"], shown["refused"], len(refused)) == (1999, 1, 1)
    assert most < 20 * middle
    assert recounted(url)


@deep
@pytest.mark.parametrize("where", ["file", "postgresql"])
def test_thousands_of_charges_while_services_are_killed_and_connections_cut(
    request, where, tmp_path, monkeypatch
):
    """Every key is charged once, whoever asks and however often; half of the keys are asked for by all threads."""
    url = (
        f"sqlite:///{tmp_path}/budget.db"
        if where == "file"
        else request.getfixturevalue("postgres").url("many")
    )
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    served = Served(tmp_path, url)
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["ada"])
    running = [ServiceProcess(served) for _ in range(2)]
    proxy = CuttingProxy([one.port for one in running], every=40, life=3).in_process()
    told, gate, refused, restarts = dict[str, int](), threading.Lock(), set[str](), 0

    def charging(number):
        with Ledger.open(f"http://127.0.0.1:{proxy.port}") as ledger:
            for turn in range(50):
                for key in (f"{number} {turn}", f"shared {turn}"):
                    try:
                        entry = ledger.charge_plan(plan("1/2600"), "a charge", key).entry
                    except BudgetError:
                        refused.add(key)
                    else:
                        with gate:
                            assert told.setdefault(key, entry) == entry

    with ThreadPoolExecutor(52) as pool:
        threads = [pool.submit(charging, number) for number in range(52)]
        while not all(one.done() for one in threads):
            time.sleep(1.5)
            running[restarts % 2].end(signal.SIGKILL)
            running[restarts % 2].begin()
            restarts += 1
        for one in threads:
            one.result()
    proxy.close()
    assert [one.end() for one in running] == [0, 0]
    with Ledger.open(url) as own:
        shown = own.show()
        assert {key: own.paid(key).entry for key in told} == told
    if where == "postgresql":
        copied(request.getfixturevalue("postgres"), url, tmp_path / "budget.db")
    assert recounted(f"sqlite:///{tmp_path}/budget.db")
    print(
        f"{where}: {52 * 100} requests, {shown['entries']} charges, {shown['refused']} refusals, {restarts} kills"
    )
    # 2,600 of 2,650 keys fit, not one more and not one fewer
    assert (shown["entries"], len(told), len(refused - {*told})) == (2600, 2600, 50)
    assert restarts > 1


@deep
def test_what_a_service_has_begun_it_ends_before_it_stops(tmp_path, monkeypatch):
    """SIGTERM while threads charge: every answer is there, and the process ends by itself."""
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    served = Served(tmp_path, url)
    service = ServiceProcess(served)
    served.port, answers = service.port, list[int]()

    def charging(number):
        body = {"plan": plan("1/100000").as_json(), "purpose": "x", "key": f"{number}"}
        try:
            status, answer = served.ask("POST", "/v1/charges", body)
        except OSError:
            return
        assert status == 200
        answers.append(answer["entry"])

    with ThreadPoolExecutor(20) as pool:
        for number in range(200):
            pool.submit(charging, number)
        time.sleep(0.3)
        assert service.end(signal.SIGTERM) == 0
    with Ledger.open(url) as own, ExitStack():
        assert own.show()["entries"] >= len(answers) > 0
    assert recounted(url)


def test_a_port_that_is_taken_and_files_that_are_none(dpaccount, tmp_path):
    import socket

    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    tokens = tmp_path / "tokens.db"
    words = ["serve", "--ledger", url, "--tokens", tokens, "--port"]
    code, _, err = dpaccount(*words, "0")
    assert (code, "see `dpaccount token add`" in err) == (2, True)
    assert dpaccount("token", "add", tokens, "ada")[0] == 0
    with closing(socket.create_server(("127.0.0.1", 0))) as place:
        code, _, err = dpaccount(*words, place.getsockname()[1])
    assert (code, err.startswith("error: ")) == (2, True), err
    for wrong in ("x", "-1", "65536", "1.5"):
        assert dpaccount(*words, wrong)[0] == 2
    for other in (f"sqlite:///{tmp_path}/none.db", "http://127.0.0.1:1", "x"):
        assert dpaccount("serve", "--ledger", other, "--tokens", tokens, "--port", "0")[0] == 2
    (tmp_path / "text").write_text("no tokens")
    assert dpaccount("serve", "--ledger", url, "--tokens", tmp_path / "text", "--port", "0")[0] == 2
    assert tokens.stat().st_mode & 0o777 == 0o600


def test_a_file_of_tokens_that_others_may_use_is_refused(dpaccount, tmp_path):
    url, tokens = f"sqlite:///{tmp_path}/budget.db", tmp_path / "tokens.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    assert dpaccount("token", "add", tokens, "ada")[0] == 0
    words = [("token", "list", tokens), ("token", "add", tokens, "bob"), ("token", "revoke", tokens, "x")]
    words += [("serve", "--ledger", url, "--tokens", tokens, "--port", "0")]
    for mode in (0o640, 0o660, 0o604, 0o602, 0o644, 0o666):
        tokens.chmod(mode)
        for one in words:
            code, out, err = dpaccount(*one)
            assert (code, out, "chmod 600" in err, err.count("\n")) == (2, "", True, 1), (mode, one, err)
    tokens.chmod(0o600)
    assert len(dpaccount("token", "list", tokens)[1].splitlines()) == 1


def test_a_file_of_tokens_that_a_kill_left_half_written_is_said_and_mended(dpaccount, tmp_path):
    url, tokens = f"sqlite:///{tmp_path}/budget.db", tmp_path / "tokens.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    tokens.touch(0o600)  # its table was not made
    code, _, err = dpaccount("serve", "--ledger", url, "--tokens", tokens, "--port", "0")
    assert (code, "see `dpaccount token add`" in err) == (2, True)
    assert dpaccount("token", "add", tokens, "ada")[0] == 0
    # killed within a commit: what it had written is in a journal, to be undone
    code = (
        "import os, sqlite3, sys; one = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "one.execute('PRAGMA cache_spill = 1'); one.execute('PRAGMA cache_size = 2'); one.execute('BEGIN');"
        "one.executemany('INSERT INTO tokens (id, person) VALUES (?, ?)', [(n, 'x' * 900) for n in range(99)]);"
        "os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, tokens], check=False)
    assert tokens.with_name("tokens.db-journal").stat().st_size > 0
    known = Tokens(tokens)
    with pytest.raises(NotAllowedError, match="unknown or revoked"):
        known.of("Bearer x")
    assert [one.person for one in known.listed()] == ["ada"]


def test_tokens_are_made_listed_and_revoked(dpaccount, tmp_path):
    import json

    file = tmp_path / "tokens.db"
    code, secret, err = dpaccount("token", "add", file, "ada", "--scope", "team/ada", "--until", "2030-01-31")
    assert (code, secret[:4], len(secret.strip()), secret.count("\n")) == (0, "dpa_", 47, 1)
    (name,) = [word for word in err.split() if len(word) == 12]
    assert dpaccount("token", "add", file, "bob", "--arrange")[1] != secret
    lines = [json.loads(line) for line in dpaccount("token", "list", file)[1].splitlines()]
    assert [(one["person"], one["scope"], one["until"], bool(one["arrange"])) for one in lines] == [
        ("ada", "team/ada", "2030-01-31", False),
        ("bob", None, None, True),
    ]
    assert not any("digest" in one for one in lines)
    assert dpaccount("token", "revoke", file, name)[0] == 0
    assert len(dpaccount("token", "list", file)[1].splitlines()) == 1
    for words in (
        ("revoke", file, name),
        ("revoke", tmp_path / "none.db", name),
        ("list", tmp_path / "none.db"),
        ("add", file, ""),
        ("add", file, "a\nb"),
        ("add", file, "ada", "--scope", "../x"),
        ("add", file, "ada", "--until", "tomorrow"),
        ("add", tmp_path / "no" / "folder.db", "ada"),
    ):
        code, out, err = dpaccount("token", *words)
        assert (code, out, err[:7]) == (2, "", "error: "), words
