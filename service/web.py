"""The service over HTTP: bounded bodies, times and threads, JSON answers, a line of log for each request."""

import asyncio
import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import Any, Final, TypeVar

import msgspec
from msgspec.json import schema_components
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from audits.reports import log
from dpaccount import __version__
from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError, RuleError
from dpaccount.exact import Amount
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import RefusedError
from service.access import NotAllowedError, Token, Tokens, once
from service.connections import Line, begun, write
from service.desk import ASKED, Desk, Endpoint, ServedCharge, told
from service.pages import MOST_OF_FORM, Pages, Visit
from service.pricing import Prices

MAX_BODY: Final = 8_000_000  #: bytes
READY_SECONDS: Final = 5.0  #: after which a ledger is not ready
BODY_SECONDS: Final = 30.0  #: for which a body is waited for
MOST_OPEN: Final = 128  #: requests of one token, and pages to one address, that are not answered
THREADS: Final = 32  #: requests that are done at once; others wait
T = TypeVar("T")
STATUS: Final[list[tuple[Any, int, str | None]]] = [
    (RefusedError, 409, "refused"),
    (BudgetError, 409, "budget"),
    (KeyTakenError, 409, "key"),
    (ReceiptError, 409, "receipt"),
    (LedgerError, 503, "ledger"),
    (TimeoutError, 503, None),
    (ClientDisconnect, 400, None),
    ((InputError, RuleError, msgspec.MsgspecError, RecursionError, OverflowError), 400, "input"),
]
POLICY: Final = {"Content-Security-Policy": "default-src 'none'"}
SAFE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class ErrorAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why not, in one sentence; `charge` is what was refused."""

    error: str
    kind: str | None = None
    charge: ServedCharge | None = None


class Service:
    """Answers requests, each logged on standard error: who asked what, and never a token, key or body."""

    def __init__(self, desk: Desk, tokens: Tokens, written: Callable[[], None] | None = None) -> None:
        self._told = written or (lambda: None)  #: to be called after what may have written
        self._desk, self._tokens, self._pages = desk, tokens, Pages(desk, tokens)
        self._threads, self._probe = ThreadPoolExecutor(THREADS), ThreadPoolExecutor(1)
        self._prices = Prices()
        self._open: Counter[str] = Counter()

    def application(self) -> Starlette:
        """Return what uvicorn serves."""
        document = openapi()
        html = page(document["paths"])
        fixed: dict[str, Callable[[], Response]] = {
            "/": lambda: HTMLResponse(html, headers=POLICY),
            "/openapi.json": lambda: JSONResponse(document),
            "/health": lambda: JSONResponse({"alive": True}),
        }
        routes = [Route(path, partial(_answered, path, partial(_fixed, one))) for path, one in fixed.items()]
        routes.append(Route("/ready", partial(_answered, "ready", self._ready)))
        for one in ASKED:
            answer = partial(_answered, one.call, partial(self._answer, one))
            routes.append(Route(f"/v1/{one.path}", answer, methods=[one.method]))
        for path, method, act in self._pages.routes:
            answer = partial(_answered, f"page {path}", partial(self._page, act))
            routes.append(Route(path, answer, methods=[method]))
        handlers: Any = {HTTPException: _nowhere}
        made = Starlette(routes=routes, exception_handlers=handlers)
        made.router.redirect_slashes = False  # to where the header Host says
        return made

    async def _answer(self, asked: Endpoint, line: Line, request: Request) -> bytes:
        _check_site(request)
        # Before its body is read: a stranger's is not.
        look = asyncio.get_running_loop().run_in_executor
        token = await look(self._threads, self._tokens.of, request.headers.get("authorization", ""))
        line |= {"token": token.id, "person": token.person}
        with self._one_more(token.id):
            raw = await _body(request)
            try:
                return await self._acted(asked, token, request, raw, line)
            finally:  # a refusal may be a request
                if asked.method != "GET":
                    self._told()

    async def _acted(self, asked: Endpoint, token: Token, request: Request, raw: bytes, line: Line) -> bytes:
        run = partial(asyncio.get_running_loop().run_in_executor, self._threads)
        if not asked.priced:
            return await run(self._done, token, asked, request, raw, line)
        given, priceable = await run(lambda: self._desk.to_price(token, asked, _read(raw, asked)))
        charge = partial(run, self._desk.charge, token, given)
        # What spends nothing can be asked for without end: that is done in the token's turn, too.
        in_turn = charge if given.get("dry_run") else None
        found = await _while_connected(request, self._prices.of(token.id, priceable, in_turn))
        return _written(found if in_turn else await charge(found), line)

    @contextmanager
    def _one_more(self, who: str) -> Iterator[None]:
        """Count a request; raises `NotAllowedError` where as many as may be are not answered."""
        if self._open[who] >= MOST_OPEN:
            raise NotAllowedError(503, f"{MOST_OPEN} requests with this token are not answered; ask again")
        self._open[who] += 1
        try:
            yield
        finally:
            self._open -= Counter([who])

    async def _page(self, act: Any, line: Line, request: Request) -> Response:
        """Return a page; what goes wrong is a page with its sentence."""
        try:
            _check_site(request)
            with self._one_more(f"pages of {line['address']}"):
                visit = Visit.of(request, await _body(request, MOST_OF_FORM), line)
            return await asyncio.get_running_loop().run_in_executor(self._threads, act, visit)
        except Exception as error:
            status, answer = _failed(error, line, request.method)
            return self._pages.failed(status, answer.error)

    async def _ready(self, _line: Line, _: Request) -> bytes:
        # Apart from requests: a ledger that is away is waited for, and probes would take all threads.
        look = asyncio.get_running_loop().run_in_executor(self._probe, self._desk.ledger.run_state, "")
        await asyncio.wait_for(look, READY_SECONDS)
        return b'{"ready": true}'

    def _done(self, token: Token, asked: Endpoint, request: Request, raw: bytes, line: Line) -> bytes:
        if asked.method == "GET":
            members = msgspec.convert(once(request.query_params.multi_items()), asked.members, strict=False)
        else:
            members = _read(raw, asked)
        return _written(self._desk.do(token, asked, members, **request.path_params), line)


async def _fixed(make: Callable[[], Response], _line: Line, _: Request) -> Response:
    return make()


async def _nowhere(request: Request, error: HTTPException) -> Response:
    async def refuse(_line: Line, _: Request) -> Response:
        raise NotAllowedError(error.status_code, "no such request; the page / describes all")

    return await _answered("unknown", refuse, request)


async def _answered(what: str, act: Any, request: Request) -> Response:
    """Return the answer or the error of a request, with its line in the log."""
    start, line = time.monotonic(), begun(what, request.client and request.client.host)
    try:
        answer = await act(line, request)
    except Exception as error:
        status, failed = _failed(error, line, request.method)
        answer = Response(_written(failed), status, media_type="application/json")
    if not isinstance(answer, Response):
        answer = Response(answer, media_type="application/json")
    line |= {"status": answer.status_code, "ms": round(1000 * (time.monotonic() - start), 1)}
    write(line)
    answer.headers.update({**SAFE, "X-Request-Id": str(line["request"])})
    if answer.status_code in (401, 413, 503):  # the body was not read to its end, and may have none
        answer.headers.update({"Connection": "close", "WWW-Authenticate": "Bearer"})
    return answer


def _check_site(request: Request) -> None:
    """Refuse what a page of another site sends, but for a link: its reader is signed in here."""
    site, origin, host = map(request.headers.get, ("sec-fetch-site", "origin", "host"))
    ours = site in ("none", "same-origin") if site else origin in (None, f"https://{host}")
    linked = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if not (ours or linked):
        raise NotAllowedError(403, "this came from a page of another site; open this service's own page")


async def _body(request: Request, most: int = MAX_BODY) -> bytes:
    """Return the body; raises `NotAllowedError` for one that is too large, before more than that is held."""
    body, stated = bytearray(), request.headers.get("content-length", "")
    large = NotAllowedError(413, f"the body has more than {most} bytes; ask for less at once")
    if stated.isdecimal() and int(stated) > most:
        raise large
    async with asyncio.timeout(BODY_SECONDS):
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise large
    return bytes(body)


def _failed(error: Exception, line: Line, method: str) -> tuple[int, ErrorAnswer]:
    """Return the status and the sentence of an error."""
    otherwise = error.status if isinstance(error, NotAllowedError) else 500
    status, kind = next(((s, k) for of, s, k in STATUS if isinstance(error, of)), (otherwise, None))
    sentence = str(error) or "the request or the ledger did not come in time"
    if status == 503 and method != "GET":
        sentence += "; if it was done nevertheless, asking again with the same key finds it"
    elif status == 500:
        # Its own text may quote data.
        last = traceback.extract_tb(error.__traceback__)[-1]
        line["error"] = f"{type(error).__name__} in line {last.lineno} of {last.name}"
        sentence = f"something unexpected happened; request {line['request']} is in the log for its reader"
    charge = told(error.charge) if isinstance(error, RefusedError) else None
    line["entry"] = charge and charge.entry
    return status, ErrorAnswer(sentence, kind, charge)


def _read(raw: bytes, asked: Endpoint) -> Any:
    """Return the members of a body; raises `InputError` where one is there twice, at any depth."""
    members = msgspec.json.decode(raw, type=asked.members)
    try:
        json.loads(raw, object_pairs_hook=once, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        raise InputError("the body cannot be read by every reader of JSON", "give plain JSON") from None
    return members


async def _while_connected(request: Request, act: Coroutine[Any, Any, T]) -> T:
    """Return what `act` returns; it is cancelled if the client is gone first."""
    gone, done = asyncio.ensure_future(request.receive()), asyncio.ensure_future(act)
    try:
        await asyncio.wait((gone, done), return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            raise ClientDisconnect
        return done.result()
    finally:
        gone.cancel()
        done.cancel()


def _written(answer: object, line: Line | None = None) -> bytes:
    """Return an answer as JSON; the log notes which entry it is of."""
    if line is not None:
        line["entry"] = getattr(answer, "entry", None)
    builtins = msgspec.to_builtins(answer, builtin_types=(Amount,))  # whose text is a decimal
    return json.dumps(builtins, ensure_ascii=False, allow_nan=False).encode()


def openapi() -> Any:
    """Return the document: requests by the methods of `Ledger`, structures of members and answers."""
    kinds = [ErrorAnswer, *(kind for one in ASKED for kind in (one.members, one.answer))]
    (error, *wholes), parts = schema_components(kinds, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for one, asked, answer in zip(ASKED, wholes[::2], wholes[1::2], strict=True):
        members = parts[asked["$ref"].rpartition("/")[2]]["properties"] if one.method == "GET" else {}
        named = [("key", "path", {"type": "string"})] if "{" in one.path else []
        named += [(name, "query", schema) for name, schema in members.items()]
        says = str(getattr(Ledger, one.call, log.page).__doc__).partition("\n")[0].replace("`", "")
        told = paths.setdefault(f"/v1/{one.path.replace(':path', '')}", {})[one.method.lower()] = {
            "operationId": one.call,
            "summary": says,
            "parameters": [
                {
                    "name": name,
                    "in": place,
                    "required": place == "path" or name in one.needs,
                    "schema": schema,
                }
                for name, place, schema in named
            ],
            "responses": {"200": _content("done", answer), "default": _content("not done", error)},
        }
        if one.method != "GET":
            told["requestBody"] = {"required": True, **_content("what is asked", asked)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpaccount serve", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def page(paths: Any) -> str:
    """Return the page, of the paths of the document."""
    lines = ["<!doctype html><html lang=en><meta charset=utf-8><title>dpaccount serve</title>"]
    lines += ["<p>With <code>Authorization: Bearer TOKEN</code>. <a href=/openapi.json>OpenAPI</a>"]
    for one in ASKED:
        path = f"/v1/{one.path.replace(':path', '')}"
        members = " ".join([*one.needs.split(), *(f"[{name}]" for name in one.may.split())])
        says = escape(paths[path][one.method.lower()]["summary"])
        lines += [f"<h2>{one.method} {path}</h2><p>{says}<p><code>{members}</code>"]
    return "\n".join(lines)


def _content(what: str, schema: Any) -> Any:
    return {"description": what, "content": {"application/json": {"schema": schema}}}
