"""Pages for people: what is spent and left, who spends it, and what waits for an approval.

They are HTML from the server, without scripts.  A person signs in with a token, which a cookie keeps that no
script reads, or a proxy sends it with every request.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from typing import Any, Final
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import convert
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from audits.reports import terminal
from dpaccount.exact import in_digits
from service.access import NotAllowedError, Token, Tokens, once
from service.desk import ASKED, Desk, Endpoint

COOKIE: Final = "dpaccount-token"
MOST_OF_FORM: Final = 10_000  #: bytes
LATEST: Final = 100  #: entries of a page, and requests
NEARLY: Final = 0.8  #: the share of a cap from which a scope is about to run out
POLICY: Final = (
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
OF_REPORT: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
STYLE: Final = resources.files("service").joinpath("templates/pages.css").read_text()
DECIDE: Final = ("approve", "arrange")  #: rights of those who decide on requests
#: half-width at 95 % of one draw, of its scale
REACH: Final = {"laplace": 3.0, "discrete_laplace": 3.0, "gaussian": 1.96, "discrete_gaussian": 1.96}


@dataclass(frozen=True)
class Visit:
    """A request for a page: the token that came with it, or "", its form, and its line in the log."""

    secret: str
    form: Mapping[str, str]
    line: dict[str, object]

    @classmethod
    def of(cls, request: Request, body: bytes, line: dict[str, object]) -> "Visit":
        """Return it; a header's token, which a proxy may send, comes before the cookie's."""
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        sent = sent if kind.lower() == "bearer" else ""  # a proxy may have asked for a password
        form = once(parse_qsl(body.decode("utf-8", "replace")))
        return cls(sent or request.cookies.get(COOKIE, ""), form, line)


class Pages:
    """Answers requests for pages; each raises as the same request by a program does."""

    def __init__(self, desk: Desk, tokens: Tokens) -> None:
        self._desk, self._tokens = desk, tokens
        pages = Environment(
            loader=PackageLoader("service"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._page = pages.get_template("pages.html")
        self.routes: list[tuple[str, str, Callable[[Visit], Response]]] = [
            ("/pages", "GET", self.home),
            ("/pages/report", "GET", self.reported),
            ("/pages/style.css", "GET", lambda *_: Response(STYLE, media_type="text/css")),
            ("/pages/enter", "POST", self.enter),
            ("/pages/leave", "POST", self.leave),
            ("/pages/decide", "POST", self.decide),
        ]

    def home(self, visit: Visit) -> Response:
        """Return what the token's holder may see; without a token, where to enter one."""
        if not visit.secret:
            return self._written(200)
        token = self._token(visit)
        shown = self._done(token, "show")
        log = self._done(token, "log", latest=True)["entries"][-LATEST:]
        whole = {**shown, "scope": "(all)", "cap": shown["budget"]}
        facts = {
            "person": token.person,
            "explained": terminal.explained(shown),
            "shown": shown,
            "scopes": [
                {"row": _row(token, one), "low": terminal.share_spent(one) >= NEARLY}
                for one in (whole, *shown["scopes"])
            ],
            "requests": [self._asked(token, one) for one in shown.get("requests", ())[:LATEST]],
            "log_heads": terminal.LOG_HEAD,
            "log": [terminal.log_row(one) for one in reversed(log)],
            "decides": token.allows("approve", None),  # what, is for the ledger to say
            "deciders": [one["person"] for one in shown.get("people", ()) if one["may"] in DECIDE],
            "arrange": token.allows("arrange", None),
        }
        return self._written(200, **facts)

    def enter(self, visit: Visit) -> Response:
        """Keep a token in a cookie."""
        secret = visit.form.get("token", "").strip()
        self._token(replace(visit, secret=secret))
        response = RedirectResponse("/pages", 303)
        response.set_cookie(COOKIE, secret, path="/pages", secure=True, httponly=True, samesite="lax")
        return response

    def leave(self, visit: Visit) -> Response:
        """Forget the token."""
        response = RedirectResponse("/pages", 303)
        response.delete_cookie(COOKIE, path="/pages", secure=True, httponly=True, samesite="lax")
        return response

    def decide(self, visit: Visit) -> Response:
        """Approve or decline a request."""
        token = self._token(visit)
        asked, approved = visit.form.get("request"), visit.form.get("approved", "")
        self._done(token, "approve", request=asked, approved=approved)
        return RedirectResponse("/pages", 303)

    def reported(self, visit: Visit) -> Response:
        """Return the ledger's report, for who may arrange."""
        if not self._token(visit).allows("arrange", None):
            raise NotAllowedError(403, "the report is of all scopes; ask for a token that may arrange")
        from audits.reports import of_ledger  # a service starts without them
        from audits.reports.review import report

        told = report(self._desk.url)
        told["nist"] = of_ledger.nist(told)
        name = self._desk.url.partition("?")[0].rpartition("/")[2]
        return HTMLResponse(of_ledger.html(told, name), headers={"Content-Security-Policy": OF_REPORT})

    def failed(self, status: int, sentence: str) -> Response:
        """Return the page of an error; one without a token has where to enter one."""
        return self._written(status, error=sentence)

    def _token(self, visit: Visit) -> Token:
        token = self._tokens.of(f"Bearer {visit.secret}")
        visit.line.update(token=token.id, person=token.person)
        return token

    def _done(self, token: Token, call: str, **members: object) -> Any:
        asked: Endpoint = next(one for one in ASKED if one.call == call)
        given = {name: one for name, one in members.items() if one is not None}
        return self._desk.do(token, asked, convert(given, asked.members, strict=False))

    def _asked(self, token: Token, one: Mapping[str, Any]) -> dict[str, object]:
        """Return a request: what it asks for, and the noise of its plan."""
        [line] = self._done(token, "log", after=one["entry"] - 1, most=1)["entries"] or [{}]
        asks, words = terminal.wanted(one["asks"], one["wants"]), terminal.quoted(one["wants"])
        return {**one, "asks": asks, "words": words, "noise": [*map(_noise, line.get("plan") or ())]}

    def _written(self, status: int, **facts: object) -> Response:
        page = self._page.render(**{"person": None, "error": None, "status": status, **facts})
        return HTMLResponse(page, status, headers={"Content-Security-Policy": POLICY})


def _row(token: Token, scope: Any) -> list[str]:
    """Return the row of a scope, without the unit that who may not arrange is not told."""
    row = terminal.scope_row(scope)
    return row if token.arrange else [*row[:-1], ""]


def _noise(event: Mapping[str, Any]) -> str:
    """Return an event in words, with the distance within which its noise stays 95 times of 100."""
    words = [f"{name} {value}" for name, value in event.items() if name in ("scale", "sigma", "epsilon")]
    times = f"{event.get('count')} times " if event.get("count") not in (None, "1", 1) else ""
    said, reach = f"{times}{event.get('event')} {' '.join(words)}", REACH.get(str(event.get("event")))
    if reach is None:
        return said
    wide = Fraction(reach) * Fraction(str(event.get("scale", event.get("sigma"))))
    if str(event["event"]).startswith("discrete"):
        wide = Fraction(math.ceil(wide))  # whole numbers: ± 0.9 would be ± 0
    wide = min(wide, Fraction(10) ** 300)  # who asks chooses it
    return f"{said}: each number ± {in_digits(float(wide), 3, up=True)}"
