"""Requests to `dpaccount serve`, asked again where an answer was lost.

Each is done once though it may come twice: a charge has a key, a mark the name of its request.
"""

import http.client
import ipaddress
import json
import os
import ssl
import time
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.stores.connection_pool import Pool
from dpaccount.ledger.stores.rows import AGAIN_SECONDS
from dpaccount.noise import process

TOKEN: Final = "DPACCOUNT_TOKEN"  # noqa: S105 - the name of a variable
SECONDS: Final = 90.0  #: for which an answer is waited for: longer than the service waits for its ledger
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  #: seconds before asking again, which double
HINT: Final = "use https://HOST, or http:// of this machine"
Connection = http.client.HTTPConnection


class NotDoneError(LedgerError):
    """The service refused, with this `answer`, or is gone."""

    def __init__(self, answer: Any, otherwise: str) -> None:
        self.answer = answer if isinstance(answer, dict) else {}
        super().__init__(str(self.answer.get("error", otherwise)))


class Link:
    """A service, asked with the token of `DPACCOUNT_TOKEN`; threads may share it."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise InputError("the service's URL cannot be read", HINT) from None
        # No message repeats what may be a password.
        if parts.username is not None or parts.password is not None:
            raise InputError("the service's URL has a name or a password", f"set {TOKEN} to a token")
        if not self._host or parts.query or parts.fragment or not url.isprintable():
            raise InputError("the service's URL cannot be read", HINT)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        if not self._tls and not _local(self._host) and os.environ.get("DPACCOUNT_INSECURE") != "1":
            raise InputError("http:// would show the token to the network", HINT)
        token = os.environ.get(TOKEN, "")
        if not token or not token.isascii() or not token.isprintable():
            raise InputError(f"{TOKEN} holds no token", "set it to what `dpaccount token add` printed")
        self._path = parts.path.rstrip("/") + "/v1/"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._idle = Pool[Connection]()

    def close(self) -> None:
        """Close idle connections."""
        self._idle.let_go()

    def ask(self, method: str, path: str, body: object = None, *, again: bool = True, **given: Any) -> Any:
        """Return the answer to a request, with parameters but those that are None.

        Raises `NotDoneError` where it is refused, or not answered for a minute; if not `again`, at once.
        """
        query = urlencode({name: value for name, value in given.items() if value is not None})
        target = f"{self._path}{path}" + (f"?{query}" if query else "")
        # In ASCII: what is no text is for the service to refuse, not for an encoder here.
        text = None if body is None else json.dumps(body).encode()
        end, pause = time.monotonic() + AGAIN_SECONDS, FIRST_PAUSE
        while True:
            status, answer = self._once(method, target, text)
            if 200 <= status < 300 and answer is not None:
                return answer
            # A service that has waited for its ledger says so itself, as "ledger".
            waits = status in (502, 503, 504) and "kind" not in (answer or {})
            if not (again and waits) or time.monotonic() + pause > end:
                raise NotDoneError(answer, f"the service answered {status}, which is no answer to a request")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def pages(self, path: str, **given: Any) -> list[Any]:
        """Return what all pages of an answer hold."""
        found, after = list[Any](), -1
        while after is not None:
            page = self.ask("GET", path, after=after, **given)
            found, after = found + page["entries"], page["next"]
        return found

    def _once(self, method: str, target: str, text: bytes | None) -> tuple[int, Any]:
        """Return the status and what was answered; 503 if the connection was cut."""
        since, link = process.identity(), self._idle.take() or self._opened()
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
                link.request(method, target, text, self._headers)
            got = link.getresponse()
            status, raw = got.status, got.read()
        except (OSError, http.client.HTTPException) as error:
            link.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise LedgerError("the service's certificate is not trusted; see to it") from None
            lost = "" if method == "GET" else "; it may be done: ask again with the same key, or see the log"
            return 503, {"error": f"the service at {self._host} does not answer{lost}"}
        self._idle.keep(link, since)
        try:
            return status, json.loads(raw) if raw else None
        except ValueError:  # of a proxy
            return status, None

    def _opened(self) -> Connection:
        if self._tls is None:
            return Connection(self._host, self._port, timeout=SECONDS)
        return http.client.HTTPSConnection(self._host, self._port, timeout=SECONDS, context=self._tls)


def _local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
