"""Connections of strangers: without a request they end, and however many there are, others are served."""

import json
import socket
import time
from contextlib import suppress

import pytest

from service import connections, web

HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def opened(served):
    """Return a function that opens a connection and sends something."""
    links = []

    def begin(sent=b""):
        links.append(socket.create_connection(("127.0.0.1", served.port), timeout=20))
        links[-1].sendall(sent)
        return links[-1]

    yield begin
    for link in links:
        link.close()


def test_a_connection_ends_unless_the_head_of_a_request_comes_in_time(served, opened, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.03)
    for sent in (b"", b"G", HEAD):
        begun = time.monotonic()
        assert opened(sent).recv(1) == b""
        assert time.monotonic() - begun < 5
    link = opened(HEAD + b"\r\n")
    assert link.recv(12) == b"HTTP/1.1 200"
    while link.recv(1000):  # and after an answer it ends as well, before the next head is there
        pass


def test_however_many_do_nothing_the_oldest_end_and_others_are_served(served, opened, monkeypatch):
    monkeypatch.setattr(connections, "MOST_IDLE", 3)
    links = [opened() for _ in range(8)]
    assert served.ask("GET", "/v1/show")[0] == 200
    assert [link.recv(1) for link in links[:5]] == [b""] * 5
    links[-1].sendall(HEAD + b"\r\n")  # one that is not so old asks late
    assert links[-1].recv(12) == b"HTTP/1.1 200"
    assert len(connections._IDLE) <= 3


def test_a_connection_ends_whose_answers_are_not_read(served, opened, monkeypatch):
    """Who reads slowly is waited for: its connection ends where less than so much is read in a while."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    ask = HEAD.replace(b"/health", b"/openapi.json") + b"\r\n"
    link, read = opened(ask), 0
    size = len(json.dumps(served.ask("GET", "/openapi.json")[1]))
    link.sendall(ask * 600)
    time.sleep(0.5)
    with suppress(ConnectionError):
        while some := len(link.recv(10**6)):
            read += some
    assert read < 500 * size
    link, read = opened(ask * 40), 0
    for _ in range(8):
        time.sleep(0.04)
        read += len(link.recv(300_000, socket.MSG_WAITALL))
    assert read > 20 * size
    assert served.ask("GET", "/v1/show")[0] == 200


def test_a_token_has_so_many_requests_open_and_others_are_served(served, opened, monkeypatch):
    monkeypatch.setattr(web, "MOST_OPEN", 3)
    head = "POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n"
    links = [
        opened(f"{head}Authorization: Bearer {served.secrets['ada']}\r\n\r\n".encode()) for _ in range(3)
    ]
    for link in links:  # it waits for the body
        assert link.recv(1000).startswith(b"HTTP/1.1 100")
    assert served.ask("GET", "/v1/show")[0] == 503
    assert served.ask("GET", "/v1/show", person="officer")[0] == 200
    links[0].sendall(b"{        ")
    assert links[0].recv(12) == b"HTTP/1.1 400"
    assert served.ask("GET", "/v1/show")[0] == 200


def test_a_request_takes_the_time_it_takes(served, opened, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.02)
    link = opened(
        b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nAuthorization: Bearer "
        + served.secrets["ada"].encode()
        + b"\r\n\r\n{"
    )
    time.sleep(0.06)
    link.sendall(b"}")
    assert link.recv(12) == b"HTTP/1.1 400"
