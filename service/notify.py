"""Notifications: that a share of a cap is spent, or that a request waits, with its scope and nothing else.

They follow from what `Ledger.show` says, which a thread of its own looks at after an entry was written: no
charge waits for one, or fails with it.  After a restart all is told again, under the same ``id``.
"""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from audits.reports.terminal import share_spent
from dpaccount.documents import canonical
from dpaccount.errors import InputError

HOSTS, KEY = "DPACCOUNT_NOTIFY_HOSTS", "DPACCOUNT_NOTIFY_KEY"  #: names of environment variables
SHORTEST_KEY: Final = 16  #: characters
PAUSES: Final = (0.0, 1.0, 10.0, 60.0)  #: seconds before each time that it is tried
TIMEOUT: Final = 10.0  #: seconds for which an answer is waited for
QUIET: Final = 5.0  #: seconds between looks at a ledger, each of which may take a while
IDLE: Final = 300.0  #: seconds after which a look is due: others write, too, and caps renew


@dataclass(frozen=True)
class Receiver:
    """Where notifications go, and the key that signs them."""

    connect: Callable[[], HTTPConnection]
    target: str
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, url: str, environment: Mapping[str, str] = os.environ) -> "Receiver":
        """Return the receiver at a URL; raises `InputError` for a host that is not allowed, or no key."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
            if not url.isascii() or not url.isprintable() or " " in url or "@" in parts.netloc:
                raise ValueError
        except ValueError:
            raise InputError("--notify is no URL, or holds a password", "use https://HOST/PATH") from None
        if host not in environment.get(HOSTS, "").lower().replace(",", " ").split():
            raise InputError(f"notifications may not go to the host {host!r}", f"name it in {HOSTS}")
        if parts.scheme != "https" and (parts.scheme, host) != ("http", "127.0.0.1"):
            raise InputError("notifications go to https://", "or to http://127.0.0.1")
        key = environment.get(KEY, "").encode()
        if len(key) < SHORTEST_KEY:
            raise InputError(
                "no key signs notifications", f"set {KEY} to at least {SHORTEST_KEY} random characters"
            )
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        target = (parts.path or "/") + f"?{parts.query}" * bool(parts.query)
        return cls(partial(kind, host, port, timeout=TIMEOUT), target, key)

    def signed(self, text: bytes) -> str:
        """Return HMAC-SHA-256 of a text, in hexadecimal."""
        return hmac.new(self.key, text, hashlib.sha256).hexdigest()

    def post(self, body: bytes) -> str | None:
        """Post a signed body; return why it was not taken, or None.  A redirection is not followed."""
        headers = {"Content-Type": "application/json", "X-Dpaccount-Signature": f"sha256={self.signed(body)}"}
        try:
            with closing(self.connect()) as link:
                link.request("POST", self.target, body, headers)
                status = link.getresponse().status
        except (OSError, HTTPException) as error:
            return type(error).__name__
        return None if 200 <= status < 300 else str(status)


def told(shown: Mapping[str, Any], shares: Sequence[float]) -> Iterator[tuple[dict[str, object], object]]:
    """Yield what is told of what `Ledger.show` returned, each with what tells it from others like it."""
    budget = shown["budget"]
    caps = [("budget", {**shown, "scope": None, "cap": budget}), *(("scope", one) for one in shown["scopes"])]
    if "life_epsilon" in budget:
        life = {"epsilon": budget["life_epsilon"], "delta": budget["life_delta"]}
        caps.append(("life", {"scope": None, "cap": life, "spent": shown["life"]}))
    for cap, one in caps:
        for share in shares:
            if share_spent(one) >= share:
                fact = {"what": "share", "cap": cap, "scope": one["scope"], "share": share}
                yield fact, [shown["resets"], one.get("period") if cap == "scope" else None]
    for one in shown.get("requests", ()):
        if one["approved"] is None:
            yield {"what": "request", "scope": one["wants"].get("scope") or None}, one["entry"]


class Notifier:
    """Looks at a ledger, and tells a receiver what is new."""

    def __init__(self, receiver: Receiver, show: Callable[[], Any], shares: Sequence[float]) -> None:
        self._receiver, self._show, self._shares = receiver, show, shares
        self._known, self._written = set[str](), threading.Event()

    def start(self) -> None:
        """Look now and after each entry, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="notifications", daemon=True).start()

    def written(self) -> None:
        """Have the ledger looked at soon: something may have been written."""
        self._written.set()

    def look(self) -> None:
        """Tell what is new since the last look; what could not be told is logged."""
        try:
            facts = list(told(self._show(), self._shares))
        except Exception as error:
            self._log(None, type(error).__name__)
            return
        found = {self._receiver.signed(canonical([*one]))[:32]: one[0] for one in facts}
        failed: dict[str, str | None] = {name: None for name in found if name not in self._known}
        self._known = set(found)
        for pause in PAUSES:
            if failed:
                time.sleep(pause)
            tried = {name: self._receiver.post(_body(name, found[name])) for name in failed}
            failed = {name: why for name, why in tried.items() if why is not None}
        for name, why in failed.items():
            self._log(name, why)

    def _run(self) -> None:
        while True:
            self.look()
            self._written.wait(IDLE)
            time.sleep(QUIET)
            self._written.clear()

    def _log(self, name: str | None, why: str | None) -> None:
        line = {"time": _now(), "what": "notification", "id": name, "error": why}
        sys.stderr.write(f"{json.dumps(line)}\n")


def _body(name: str, fact: Mapping[str, Any]) -> bytes:
    return canonical({"schema": "dpaccount/notification/1", "id": name, "time": _now(), **fact})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
