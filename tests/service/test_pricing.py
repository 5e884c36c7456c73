"""Prices are computed a few at once, one of each token, once for what is equal, and for nobody who is gone."""

import asyncio
import http.client
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from dpaccount import proof
from dpaccount.documents import canonical
from dpaccount.errors import InputError
from dpaccount.ledger.balances.budget import budget
from dpaccount.proof import write
from service import pricing
from service.access import NotAllowedError
from service.desk import ASKED
from service.pricing import AT_ONCE, FEW, WAITING, Priceable, Prices, price
from service.web import _read
from tests.depth import deep
from tests.dpaccount.ledger.conftest import pure

PURE = budget(1, Fraction(0), "person", "replace-one", "pure", (None, None))
PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "permute_and_flip", "epsilon": "1/100"}],
}
ONE = Priceable(PURE, "charge_plan", json.dumps(PLAN).encode())


class Slow:
    """Stands for a process: it counts who computes at once, until it is let go or ended."""

    at_once, most, made, ended, asked = 0, 0, 0, 0, 0
    go, gate = threading.Event(), threading.Lock()

    def __init__(self):
        Slow.made, self.lives, self.over = Slow.made + 1, True, threading.Event()

    def does(self, asked):
        with Slow.gate:
            Slow.asked, Slow.at_once = Slow.asked + 1, Slow.at_once + 1
            Slow.most = max(Slow.most, Slow.at_once)
        try:
            while not (Slow.go.wait(0.001) or self.over.is_set()):
                pass
            time.sleep(0.002)
            if self.over.is_set():
                raise EOFError
            return price(asked)
        finally:
            with Slow.gate:
                Slow.at_once -= 1

    def end(self):
        Slow.ended, self.lives = Slow.ended + 1, False
        self.over.set()


@pytest.fixture
def slow(monkeypatch):
    Slow.at_once = Slow.most = Slow.made = Slow.ended = Slow.asked = 0
    Slow.go.clear()
    monkeypatch.setattr(pricing, "PriceWorker", Slow)
    monkeypatch.setattr(pricing, "_IDLE", [])
    yield Slow
    Slow.go.set()


def until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_few_are_computed_at_once_and_of_a_token_one(slow):
    async def all_of(*people):
        prices = Prices()
        slow.go.set()
        return await asyncio.gather(*(prices.of(who, ONE) for who in people))

    done = asyncio.run(all_of(*["ada"] * 6))
    assert (slow.most, slow.made, {one.digest for one in done}) == (1, 1, {price(ONE).digest})
    asyncio.run(all_of(*"abcdefgh"))
    assert (slow.most, slow.made) == (AT_ONCE, AT_ONCE)


def draws(number, **event):
    one = {"event": "pure", "epsilon": "1/100", **event}
    return replace(ONE, text=json.dumps({**PLAN, "events": [one] * number}).encode())


def test_a_few_plain_draws_are_priced_at_once_whoever_waits(slow):
    async def alone():
        prices = Prices()
        waits = asyncio.ensure_future(prices.of("ada", ONE))
        done = await prices.of("ada", draws(FEW))
        waits.cancel()
        return done

    assert asyncio.run(alone()).digest == price(draws(FEW)).digest
    several = tuple((3 * number + 1, 3 * number + 2) for number in range(FEW))
    assert replace(draws(1, count=9), units=several).plain
    assert not replace(draws(2), units=several).plain
    proved = replace(ONE, call="charge_theorem", text=canonical(write(pure("1/100"))))
    assert proved.plain
    grouped = replace(proved, text=canonical(write(proof.group(pure("1/100"), 2))))
    for wide in (ONE, draws(FEW + 1), draws(1, event="dp_ftrl"), grouped):
        assert not wide.plain
    for wrong in (b"", b"[]", b"{", b'{"events": 1}', b'{"events": [5]}', b'{"events": [{}]}', b"[" * 999):
        assert not replace(ONE, text=wrong).plain


def test_what_is_done_in_turn_waits_for_it_however_plain(slow):
    async def in_turn():
        prices, done = Prices(), []

        async def then(found):
            done.append(found.digest)

        waits = asyncio.ensure_future(prices.of("ada", ONE))
        await asyncio.sleep(0)
        after = asyncio.ensure_future(prices.of("ada", draws(1), then))
        await prices.of("bob", draws(1), then)
        await asyncio.sleep(0.02)
        assert (len(done), after.done()) == (1, False)
        slow.go.set()
        await asyncio.gather(waits, after)
        assert len(done) == 2

    asyncio.run(in_turn())


def test_who_asks_for_too_many_is_asked_to_come_again_and_others_are_not(slow):
    async def flood():
        prices = Prices()
        waiting = [asyncio.ensure_future(prices.of("ada", ONE)) for _ in range(WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(NotAllowedError, match="ask again") as refused:
            await prices.of("ada", ONE)
        bob = asyncio.ensure_future(prices.of("bob", ONE))
        slow.go.set()
        await bob
        assert not waiting[-1].done()
        await asyncio.gather(*waiting)
        return refused.value.status, await prices.of("ada", ONE)

    assert asyncio.run(flood())[0] == 503


def test_who_waits_and_is_gone_is_not_computed(slow):
    async def leave():
        prices = Prices()
        first, second, third = (asyncio.ensure_future(prices.of("ada", ONE)) for _ in range(3))
        await asyncio.to_thread(until, lambda: slow.asked == 1)
        second.cancel()
        first.cancel()
        slow.go.set()
        await third
        assert first.cancelled()
        assert second.cancelled()

    asyncio.run(leave())
    assert (slow.asked, slow.made, slow.ended) == (2, 2, 1)


def test_a_price_ends_with_its_client(served, slow):
    """Nothing computes for who is gone; the next is answered, by a process that was not ended."""
    body = json.dumps({"plan": PLAN, "purpose": "p", "scope": "team"}).encode()

    def begin():
        link = http.client.HTTPConnection("127.0.0.1", served.port)
        link.request("POST", "/v1/charges", body, {"Authorization": f"Bearer {served.secrets['bob']}"})
        return link

    link = begin()
    until(lambda: slow.asked == 1)
    link.close()
    until(lambda: (slow.ended, slow.at_once) == (1, 0))
    slow.go.set()
    assert served.ask("POST", "/v1/charges", body, "bob")[0] == 200
    assert (slow.asked, slow.made) == (2, 2)
    assert served.ask("GET", "/v1/show")[1]["entries"] == 1


def test_equal_plans_have_one_price_whatever_their_purpose_key_and_scope(served):
    asked = next(one for one in ASKED if one.call == "charge_plan")
    token = served.tokens.of(f"Bearer {served.secrets['ada']}")
    found = Counter()
    for more in ({"purpose": "a"}, {"purpose": "b", "key": "k"}, {"purpose": "c", "scope": "team"}):
        text = json.dumps({"plan": PLAN, **more}).encode()
        found[served.desk.to_price(token, asked, _read(text, asked))[1]] += 1
    assert list(found.values()) == [3]


def test_what_is_refused_there_is_refused_here_and_what_takes_long_is_stopped(monkeypatch):
    worker = pricing.PriceWorker()
    assert worker.does(ONE).digest == price(ONE).digest
    with pytest.raises(InputError, match="plan"):
        worker.does(replace(ONE, text=b"[]"))
    events = [{"event": "gaussian", "sigma": 100 + i, "cover": [i + 1, i + 1]} for i in range(500)]
    many = Priceable(
        budget(1, Fraction("1e-6"), "person", "replace-one", "approximate", (None, None)),
        "charge_plan",
        json.dumps({**PLAN, "events": events}).encode(),
    )
    monkeypatch.setattr(pricing, "SECONDS", 0.01)
    with pytest.raises(InputError, match="takes too long to be priced here"):
        worker.does(many)
    assert not worker.lives


@deep
def test_a_process_that_begins_while_the_service_is_killed_says_nothing():
    """The log has lines of JSON alone."""
    code = (
        "import time; from service import pricing; print(flush=True); pricing.PriceWorker(); time.sleep(60)"
    )
    for turn in range(20):
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe) as one:
            assert one.stdout.readline() == b"\n"
            time.sleep(turn / 2000)
            one.kill()
            assert one.stderr.read() == b"", turn
