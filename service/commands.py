"""The commands `serve` and `token`."""

import json
import signal
import socket
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from audits.cli.options import File, Flag, Text, Url, Whole, day, number, say, show, whole
from dpaccount.errors import InputError
from dpaccount.ledger.stores.place import address
from service.access import Tokens


def serve(  # noqa: PLR0913 - options
    *,
    ledger: Url,
    port: Whole,
    host: Text = "127.0.0.1",
    tokens: File = Path("tokens.db"),
    issuer: Text | None = None,
    audience: Text = "dpaccount",
    leeway: Whole = "30",
    notify: Text | None = None,
    notify_at: Annotated[list[str] | None, Parameter(metavar="SHARE", negative="")] = None,
) -> int:
    """Serve a ledger over HTTP to holders of tokens, as its only writer.

    Example: `dpaccount serve --ledger sqlite:///team.db --port 8080 --tokens tokens.db`

    Parameters
    ----------
    ledger
        The ledger's URL; its password stays here.
    port
        The port to listen on.
    host
        The address to listen on; one that others reach needs a proxy with TLS in front.
    tokens
        The file that dpaccount token add wrote.
    issuer
        An OpenID Connect provider, whose tokens are taken, too.
    audience
        The name of this service there.
    leeway
        Seconds by which its clock and ours may differ.
    notify
        A URL to which it posts that a share of a cap is spent or a request waits, signed by the key
        DPACCOUNT_NOTIFY_KEY, on one of the hosts DPACCOUNT_NOTIFY_HOSTS.
    notify_at
        Such a share, as .5 (may be repeated; default .8).
    """
    import uvicorn

    from audits.cli import answers
    from service.connections import Connection
    from service.desk import Desk
    from service.web import Service

    address(ledger)  # a service of a service would not know who asks
    with listening(host, whole(port, "--port", 0, 65535) or 0) as place:
        subject_of = None
        if issuer is not None:
            from service.provider import Provider

            provider = Provider(issuer, audience, whole(leeway, "--leeway", 0, 600) or 0)
            subject_of = provider.subject
            if not provider.begin():
                say(json.dumps({"what": "the provider of identities does not answer yet", "issuer": issuer}))
        known = Tokens(tokens, subject_of)
        known.listed()  # refuses a file that is none
        desk = Desk(ledger)
        others = answers.same_data(ledger)
        written = None
        if notify is not None:
            from service.notify import Notifier, Receiver
            from service.pages import NEARLY

            shares = [share_of(one) for one in notify_at or [str(NEARLY)]]
            notifier = Notifier(Receiver.of(notify), desk.ledger.show, shares)
            notifier.start()
            written = notifier.written
        elif notify_at:
            raise InputError("--notify-at tells nobody", "give --notify, too")
        app = Service(desk, known, written).application()
        # Its own log would quote requests.  Beyond so many connections it asks others to come again.
        limits: Any = {"limit_concurrency": 1000, "timeout_graceful_shutdown": 90, "log_level": "critical"}
        limits["http"] = Connection
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, **limits)
        say(json.dumps({"what": "listening", "host": host, "port": place.getsockname()[1]}))
        if others:
            say(json.dumps({"what": "other ledgers of the same data", "ledgers": others}))
        sys.setswitchinterval(0.0005)  # seconds: who asks for little does not wait for who asks for much
        # It stops in order, and then raises the signal again.
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[place])
        desk.ledger.close()
    return 0


def share_of(text: str) -> float:
    """Return a share of a cap; raises `InputError` for one that is not above 0, and at most 1."""
    share = number(text, "--notify-at") or Fraction(0)
    if not 0 < share <= 1:
        raise InputError("--notify-at is no share", "give one above 0, up to 1")
    return float(share)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; answers over its connections are not held back for more to send."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.create_server((host, port), family=family, backlog=2048)
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return place


token = App(name="token", help="Tokens of persons for dpaccount serve.")


@token.command
def add(
    file: File,
    person: Text,
    *,
    scope: Text | None = None,
    until: Text | None = None,
    arrange: Flag = False,
    issuer: Text | None = None,
    subject: Text | None = None,
) -> int:
    """Make a token and print its secret, once: only a digest is kept.

    Example: `dpaccount token add tokens.db ada --scope team/ada --until 2026-12-31`

    Parameters
    ----------
    file
        The file of tokens, created if there is none.
    person
        Whose it is: the ledger's entries will say so.
    scope
        The scope that it may name, and those below (default: all).
    until
        Its last day (UTC), YYYY-MM-DD.
    arrange
        It may also make scopes, cohorts, grants and resets.
    issuer
        The OpenID Connect provider whose tokens count instead of a secret.
    subject
        Who the person is there.
    """
    if (issuer is None) != (subject is None):
        raise InputError("--issuer and --subject belong together", "give both, or neither for a secret")
    known = None if issuer is None or subject is None else (issuer, subject)
    name, secret = Tokens(file).add(person, scope, day(until, "--until"), arrange=arrange, subject=known)
    say(f"token {name} of {person}")
    sys.stdout.write(f"{secret}\n" if secret else "")
    return 0


@token.command
def revoke(file: File, name: Text) -> int:
    """Remove a token: the next request with it is refused.

    Example: `dpaccount token revoke tokens.db 5f0c6a1b2d3e`
    """
    Tokens(file).revoke(name)
    return 0


@token.command(name="list")
def list_tokens(file: File) -> int:
    """Print the tokens, without secrets, as lines of JSON.

    Example: `dpaccount token list tokens.db`
    """
    for one in Tokens(file).listed():
        told = {name: value for name, value in vars(one).items() if name != "digest"}
        show({**told, "arrange": bool(one.arrange)}, as_json=True, person=str)
    return 0
