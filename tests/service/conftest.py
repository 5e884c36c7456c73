"""A service in a thread of the test, or in a process of its own, and whoever asks it."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from dpaccount.ledger.ledger import Ledger, init
from service.access import Tokens
from service.commands import listening
from service.connections import Connection
from service.desk import Desk
from service.web import Service
from tests.dpaccount.ledger.conftest import BUDGET
from tests.dpaccount.ledger.postgres import PostgresServer

NUMBERS = count(1)
PEOPLE = {
    "ada": {},
    "bob": {},
    "eve": {"scope": "team/eve"},
    "officer": {"arrange": True},
}


class Served:
    """A service, the ledger's own URL, and a token for each of `PEOPLE`."""

    def __init__(self, folder: Path, ledger: str) -> None:
        self.ledger, self.file = ledger, folder / "tokens.db"
        self.tokens, self.port = Tokens(self.file), 0
        given = {"scope": None, "until": None, "arrange": False}
        self.ids, self.secrets = {}, {}
        for person, options in PEOPLE.items():
            self.ids[person], self.secrets[person] = self.tokens.add(person, **{**given, **options})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, person: str | None = "ada", **headers: str
    ) -> Any:
        """Return the status and the answer."""
        text = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if person is not None:
            headers["Authorization"] = f"Bearer {self.secrets.get(person, person)}"
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request(method, path, text, headers)
            got = link.getresponse()
            return got.status, json.loads(got.read())
        finally:
            link.close()


class ServerThread:
    """A server in a thread, which serves whatever application a test puts there: to begin one takes long."""

    def __init__(self) -> None:
        self.application: Any = None

        async def asked(scope: Any, receive: Any, send: Any) -> None:
            await self.application(scope, receive, send)

        self.place = listening("127.0.0.1", 0)
        self.port = self.place.getsockname()[1]
        self.server = uvicorn.Server(
            uvicorn.Config(asked, http=Connection, log_config=None, log_level="critical", lifespan="off")
        )
        self.thread = threading.Thread(target=self.server.run, args=([self.place],))
        self.thread.start()

    def end(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.place.close()


@pytest.fixture(scope="session")
def server_thread() -> Iterator[ServerThread]:
    """Return a server, begun once."""
    thread = ServerThread()
    yield thread
    thread.end()


class ServiceProcess:
    """A service in a process of its own, which can be killed."""

    def __init__(self, served: Served, port: int = 0, more: tuple[str, ...] = ()) -> None:
        self.served, self.port, self.more = served, port, more
        self.log = served.file.with_name(f"service {next(NUMBERS)}.log")
        self.begin()

    def begin(self) -> None:
        words = ["--ledger", self.served.ledger, "--port", str(self.port), "--tokens", str(self.served.file)]
        words += self.more
        code = "from dpaccount_packages import command; command()"
        with self.log.open("ab") as log:
            before = log.tell()
            self.process = subprocess.Popen([sys.executable, "-c", code, "serve", *words], stderr=log)
        end = time.monotonic() + 120
        while b"\n" not in (said := self.log.read_bytes()[before:]):
            assert self.process.poll() is None, said.decode()
            assert time.monotonic() < end, "it does not begin"
            time.sleep(0.01)
        self.port = json.loads(said.partition(b"\n")[0])["port"]

    @property
    def lines(self) -> list[str]:
        """Return what all that were begun said."""
        return self.log.read_text().splitlines()

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(120)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server_thread: ServerThread) -> Iterator[Served]:
    """Return a service of a file ledger in pure ε, of which 1 may be spent; the client's token is ada's."""
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", "9/10")
        ledger.set_scope("team/eve", "1/2")
    with put(server_thread, tmp_path, url) as one:
        monkeypatch.setenv("DPACCOUNT_TOKEN", one.secrets["ada"])
        yield one


@contextmanager
def put(server_thread: ServerThread, folder: Path, url: str) -> Iterator[Served]:
    """Serve a ledger in the thread."""
    one = Served(folder, url)
    one.desk, one.port = Desk(url), server_thread.port
    server_thread.application = Service(one.desk, one.tokens).application()
    yield one
    one.desk.ledger.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Return a PostgreSQL server."""
    server = PostgresServer()
    yield server
    server.remove()


class CuttingProxy:
    """Passes connections on, and cuts some: before the request arrives, before its answer is back, or at any time."""

    def __init__(self, ports: list[int], every: int = 5, life: float | None = None) -> None:
        self.ports, self.every, self.life, self.count = ports, every, life, 0
        self.place = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.place.getsockname()[1]
        self.process = None

    def in_thread(self) -> "CuttingProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def in_process(self) -> "CuttingProxy":
        """Pass on in a forked process: clients that are forked later hold none of its connections."""
        self.process = os.fork()
        if not self.process:
            try:
                self._accept()
            finally:
                os._exit(1)
        self.place.close()
        return self

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.place.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self._pass, args=(client, self.count), daemon=True).start()

    def _pass(self, client: socket.socket, number: int) -> None:
        """Pass bytes on; of each `every` connections one is cut after its request, one within its request."""
        port = self.ports[number % len(self.ports)]
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as there:
            cut = {1: "answer", 2: "request"}.get(number % self.every)
            if cut == "request":
                there.sendall(client.recv(150))
                self._end(client, there)
                return
            if self.life is not None:
                timer = threading.Timer(
                    random.Random(number).uniform(0, self.life), self._end, (client, there)
                )
                timer.daemon = True
                timer.start()
            back = threading.Thread(target=self._copy, args=(there, client, cut == "answer"), daemon=True)
            back.start()
            self._copy(client, there, cut=False)
            back.join()

    def _copy(self, one: socket.socket, other: socket.socket, cut: bool) -> None:
        with suppress(OSError):
            while chunk := one.recv(65536):
                if cut:  # the service did it, and nobody hears
                    break
                other.sendall(chunk)
        self._end(one, other)

    @staticmethod
    def _end(*ends: socket.socket) -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.place.close()
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
