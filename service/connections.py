"""Connections, which anybody may open: those that wait for their client end soon, and of many the oldest."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from secrets import token_hex
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

Line = dict[str, object]  #: of the log
HEAD_SECONDS: Final = 10.0  #: for which the head of a request is waited for
MOST_IDLE: Final = 400  #: connections that wait for a request, or for an answer to be read
LEAST_READ: Final = 10_000  #: bytes of an answer in `HEAD_SECONDS`
_IDLE: Final[dict["Connection", asyncio.TimerHandle]] = {}  #: and what ends each, the oldest first


def begun(what: str, address: str | None) -> Line:
    """Return the line of a request in the log, as far as it is known before it is read."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    who = {"address": address, "token": None, "person": None}
    return {"time": moment, "request": token_hex(8), **who, "what": what, "entry": None}


def write(line: Line) -> None:
    """Write a line of the log."""
    sys.stderr.write(f"{json.dumps(line)}\n")


class Connection(H11Protocol):
    """A connection that is idle until the head of a request has come, and while its answer is not read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._waits()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._waits_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait no more if this completes a head."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._waits_no_more()

    def on_response_complete(self) -> None:
        """Wait for another request."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._waits()

    def pause_writing(self) -> None:
        """Wait for the client to read what was sent."""
        super().pause_writing()
        self._waits()

    def resume_writing(self) -> None:
        """Wait no more, if a request is being answered."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._waits_no_more()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        write({**begun("malformed", self.client and self.client[0]), "status": 400})
        super().send_400_response(msg)

    def _waits(self) -> None:
        self._waits_no_more()
        self._unread = self.transport.get_write_buffer_size()
        _IDLE[self] = self.loop.call_later(HEAD_SECONDS, self._late)
        if len(_IDLE) > MOST_IDLE:
            next(iter(_IDLE))._ends()

    def _waits_no_more(self) -> None:
        if (alarm := _IDLE.pop(self, None)) is not None:
            alarm.cancel()

    def _late(self) -> None:
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        if 0 < self._unread <= before - LEAST_READ:
            _IDLE[self] = self.loop.call_later(HEAD_SECONDS, self._late)  # where it stood in the order
        else:
            self._ends()

    def _ends(self) -> None:
        self._waits_no_more()
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # to close waits until all is read
        else:
            self.transport.close()
