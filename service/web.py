"""The service over HTTP: bounded bodies, times and threads, JSON answers, a line of log for each request."""

import asyncio
import json
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError, RuleError
from dpaccount.exact import Amount
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.requests import RefusedError
from service.access import NotAllowedError, Token, Tokens
from service.desk import ASKED, SLOW, Asked, Desk, told
from service.page import ErrorAnswer, openapi, page

MAX_BODY: Final = 8_000_000  #: bytes
READY_SECONDS: Final = 5.0  #: after which a ledger is not ready
BODY_SECONDS: Final = 30.0  #: for which a body is waited for
THREADS: Final = 32  #: requests that are done at once; others wait
Line = dict[str, object]  #: of the log
STATUS: Final[list[tuple[type[Exception], int, str]]] = [
    (RefusedError, 409, "refused"),
    (BudgetError, 409, "budget"),
    (KeyTakenError, 409, "key"),
    (ReceiptError, 409, "receipt"),
    (InputError, 400, "input"),
    (RuleError, 400, "input"),
    (msgspec.MsgspecError, 400, "input"),
    (RecursionError, 400, "input"),
    (OverflowError, 400, "input"),
]
SAFE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Service:
    """Answers requests, each logged on standard error: who asked what, and never a token, key or body."""

    def __init__(self, desk: Desk, tokens: Tokens) -> None:
        self._desk, self._tokens = desk, tokens
        self._quick, self._slow, self._probe = map(ThreadPoolExecutor, (THREADS, 1, 1))

    def application(self) -> Starlette:
        """Return what uvicorn serves."""
        document = openapi()
        described = HTMLResponse(page(document), headers={"Content-Security-Policy": "default-src 'none'"})
        routes = [Route(f"/v1/{one.path}", partial(self._answer, one), methods=[one.method]) for one in ASKED]
        fixed = {
            "/": described,
            "/openapi.json": JSONResponse(document),
            "/health": JSONResponse({"alive": True}),
        }
        routes += [Route(path, partial(_same, answer)) for path, answer in fixed.items()]
        return Starlette(
            routes=[*routes, Route("/ready", self._ready)], exception_handlers={HTTPException: _nowhere}
        )

    async def _answer(self, asked: Asked, request: Request) -> Response:
        line, begun = _line(asked.call), time.monotonic()
        try:
            # Before its body is read: a stranger's is not.
            token = await self._in_thread(self._tokens.of, request.headers.get("authorization", ""))
            line["person"] = token.person
            given, slow = (token, asked, request, await _body(request), line), asked.call in SLOW
            status, body = 200, await self._in_thread(self._done, *given, slow=slow)
        except Exception as error:
            status, body = _failed(error, line, writes=asked.method != "GET")
        return _logged(line, status, body, begun)

    async def _ready(self, _: Request) -> Response:
        line, begun, look = _line("ready"), time.monotonic(), self._desk.ledger.asked_by
        try:
            # Apart from requests: a ledger that is away is waited for, and probes would take all threads.
            async with asyncio.timeout(READY_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._probe, look, 0)
        except Exception as error:
            late = (
                NotAllowedError(503, "the ledger does not answer")
                if isinstance(error, TimeoutError)
                else error
            )
            return _logged(line, *_failed(late, line, writes=False), begun)
        return JSONResponse({"ready": True})

    async def _in_thread(self, act: Callable[..., Any], *given: object, slow: bool = False) -> Any:
        pool = self._slow if slow else self._quick
        return await asyncio.get_running_loop().run_in_executor(pool, act, *given)

    def _done(self, token: Token, asked: Asked, request: Request, raw: bytes, line: Line) -> bytes:
        if asked.method == "GET":
            members = msgspec.convert(dict(request.query_params), asked.members, strict=False)
        else:
            members = msgspec.json.decode(raw, type=asked.members)
        done = self._desk.do(token, asked, members, **request.path_params)
        line["entry"] = getattr(done, "entry", None)
        return _written(done)


async def _body(request: Request) -> bytes:
    """Return the body; raises `NotAllowedError` for one that is too large, before more than that is held."""
    body, stated = bytearray(), request.headers.get("content-length", "")
    large = NotAllowedError(413, f"the body has more than {MAX_BODY} bytes; ask for less at once")
    if stated.isdecimal() and int(stated) > MAX_BODY:
        raise large
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise large
    except TimeoutError:
        raise NotAllowedError(408, "the body did not come in time; nothing was done") from None
    return bytes(body)


def _failed(error: Exception, line: Line, *, writes: bool) -> tuple[int, bytes]:
    """Return the status and the sentence of an error."""
    if isinstance(error, NotAllowedError | ClientDisconnect):
        status = getattr(error, "status", 400)
        kind = "input" if status in (400, 404, 413) else None
    elif isinstance(error, LedgerError) and not isinstance(error, KeyTakenError):
        status, kind = 503, "ledger"
    else:
        status, kind = next(((s, k) for of, s, k in STATUS if isinstance(error, of)), (500, None))
    sentence = str(error)
    if status == 503 and writes:
        sentence += "; if it was done nevertheless, asking again with the same key finds it"
    elif status == 500:
        # Its own text may quote data.
        last = traceback.extract_tb(error.__traceback__)[-1]
        line["error"] = f"{type(error).__name__} in line {last.lineno} of {last.name}"
        sentence = f"something unexpected happened; request {line['request']} is in the log for its reader"
    charge = told(error.charge) if isinstance(error, RefusedError) else None
    line["entry"] = charge and charge.entry
    return status, _written(ErrorAnswer(sentence or "the request was cut", kind, charge))


def _written(answer: object) -> bytes:
    builtins = msgspec.to_builtins(answer, builtin_types=(Amount,))  # whose text is a decimal
    return json.dumps(builtins, ensure_ascii=False, allow_nan=False).encode()


def _line(what: str) -> Line:
    time_of = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"time": time_of, "request": token_hex(8), "person": None, "what": what, "entry": None}


def _logged(line: Line, status: int, body: bytes, begun: float) -> Response:
    line |= {"status": status, "ms": round(1000 * (time.monotonic() - begun), 1)}
    sys.stderr.write(f"{json.dumps(line)}\n")
    headers = {**SAFE, "X-Request-Id": str(line["request"])}
    if status in (401, 408, 413):  # the body was not read to its end, and may have none
        headers |= {"Connection": "close", "WWW-Authenticate": "Bearer"}
    return Response(body, status, headers, "application/json")


async def _same(answer: Response, _: Request) -> Response:
    return answer


def _nowhere(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"error": "no such request; the page / describes all"}, status)
