"""`ask`, `tell`, `session`: a certified bandit serves people who arrive one by one."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from msgspec import UNSET

from audits.cli.options import (
    File,
    Flag,
    Json,
    Source,
    Text,
    Url,
    Whole,
    lines,
    number,
    say,
    show,
    source,
    whole,
)
from bandits.cli.modeler_options import ModelerOptions
from bandits.cli.schemas import Answered, PublicSession, Query, SessionError, TicketAnswer, Told
from dpaccount.documents import Place, parse_json
from dpaccount.errors import InputError

if TYPE_CHECKING:
    from audits.claim import Claim
    from bandits.learning.session import Session


@Parameter(name="*")
@dataclass(frozen=True)
class SessionOptions:
    """Where a session is kept."""

    state: File | None = None
    """The session's state file: created by the first `ask`, mode 0600, since it holds people's
    answers."""
    ledger: Url | None = None
    """The ledger that is charged before anybody is served, if the claim names none."""
    scope: Text | None = None
    """The ledger's scope whose cap it must fit, too (default: the claim's)."""
    certificate: File | None = None
    """The claim's certificate (default certificates/NAME/certificate.json), which must say CERTIFIED."""
    rehearse: Whole = None
    """A seed: no ledger, no certificate, simulated noise, for synthetic people only."""

    @contextmanager
    def opened(self, file: Path) -> "Iterator[Session]":
        """Give the session of a claim; raises `InputError` where it is not certified or not paid for."""
        from audits.claim import read_claim
        from audits.subjects.catalogue import subject_of
        from bandits.learning.session import Session

        if self.state is None:
            raise InputError("--state is missing", "name the session's state file")
        claim = read_claim(file)
        bandit: Any = subject_of(claim)
        seed, coins = whole(self.rehearse, "--rehearse", 0), claim.audit.seed
        if seed is not None:
            if self.ledger is not None or self.scope is not None:
                raise InputError(
                    "a rehearsal is charged to nobody", "leave --ledger and --scope, or --rehearse, out"
                )
            say("rehearsal: simulated noise, for made-up people only")
            with Session.rehearse(bandit, self.state, seed, coins) as session:
                yield session
            return
        from audits.certificate.valid import valid_certificate

        # Refuses what is not certified, has expired, or was changed since.
        valid_certificate(claim, bandit, self.certificate)
        with self.paid(claim, bandit, coins, self.state) as session:
            yield session

    @contextmanager
    def paid(self, claim: "Claim", bandit: Any, coins: int, state: Path) -> "Iterator[Session]":
        """Give the session that the claim's ledger pays, or the named one; `InputError` without one."""
        from audits.certificate.release import paying_ledger
        from bandits.learning.session import Session

        pays = claim.paid_by(self.ledger)
        if pays is None:
            raise InputError(
                "--ledger is missing", "give the URL of the ledger that pays, or --rehearse SEED"
            )
        if self.scope is not None and claim.scope not in (None, self.scope):
            raise InputError(
                f"the claim is charged in the scope {claim.scope}", "leave --scope out, or give that"
            )
        scope = claim.scope if self.scope is None else self.scope
        delta = claim.guarantee.delta
        with (
            paying_ledger(claim, pays) as ledger,
            Session.open(bandit, ledger, state, coins, delta, scope=scope) as session,
        ):
            yield session


REQUESTS = ("ask", "tell", "bits", "ticket", "public", "end")  #: of a line, one of which it has
Answer = TicketAnswer | Told | PublicSession | SessionError
MAX_LINE, MAX_TICKET = 2**20, 10**9  #: bytes of a line, and a ticket
NO_SESSION, NO_MODELER = SessionOptions(), ModelerOptions()


def _is_modeler(file: Path, options: SessionOptions, modeler: ModelerOptions) -> bool:
    """Say whether a first argument is a modeler's state: by --table, which begins one, or by its content."""
    if options != NO_SESSION:
        return False
    from bandits.outsourced_optimisation.saved import table_named

    return modeler.table is not None or table_named(file) is not None


def ask(
    claim: File,
    *,
    options: SessionOptions = NO_SESSION,
    modeler: ModelerOptions = NO_MODELER,
    context: Source | None = None,
    ticket: Whole = None,
    end: Flag = False,
    json_: Json = False,
) -> int:
    """Give the next person a ticket and an action; for a modeler, print the next row to query.

    Everyone has one slot, in the order of arrival; a batch of slots is released when the next one
    begins. After an interruption, the same command resumes.  A modeler needs no --state: its file is
    the first argument.

    Example: `dpaccount ask claim.toml --state people.state --ledger sqlite:///team.db`

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1 that names a bandit, or a modeler's state file.
    context
        A JSON file, or - for standard input: a list of coordinates for each of the person's
        candidates (null: not known; all null: not on offer), or of names of the claim's space;
        omit it if all people have the same candidates.
    ticket
        Print this ticket again, and issue no new one.
    end
        End the session: print the public result, and issue no ticket.
    """
    if _is_modeler(claim, options, modeler):
        if context is not None or ticket is not None or end:
            raise InputError(
                "--context, --ticket and --end are about people", "a modeler has rows, leave them"
            )
        from bandits.outsourced_optimisation.saved import opened

        with opened(claim, modeler.table, modeler.settings()) as learner:
            query = Query(learner.ask(), learner.answered)
        show(query, json_, lambda answer: str(answer["index"]))
        return 0
    issued = whole(ticket, "--ticket")
    if (context is not None) + (issued is not None) + end > 1:
        raise InputError("--context, --ticket and --end each ask for something else", "give one of them")
    brought = None if context is None else _context(context)
    with options.opened(claim) as session:
        answer = _shown(session) if end else _given(session, brought, issued)
    if isinstance(answer, TicketAnswer) and answer.clipped is not UNSET:
        say(f"{answer.clipped} coordinates are out of the claim's range and were clipped")
    show(answer, json_, lines)
    return 0


def tell(
    claim: File,
    ticket: Whole,
    reward: Annotated[str, Parameter(allow_leading_hyphen=True, metavar="NUMBER")],
    *,
    options: SessionOptions = NO_SESSION,
    json_: Json = False,
) -> int:
    """Record a person's answer: a number, clamped to its range; - reads standard input.

    An answer that comes after its batch was released counts in the next, or not at all.  To a modeler,
    whose state file is the first argument: the output at the row of this index.

    Example: `dpaccount tell claim.toml 12 0.7 --state people.state --ledger sqlite:///team.db`

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1 that names a bandit, or a modeler's state file.
    ticket
        Whose answer it is: the number that `ask` gave.
    reward
        The answer, or - for one on standard input.
    """
    if _is_modeler(claim, options, NO_MODELER):
        from bandits.outsourced_optimisation.saved import opened

        at, output = whole(ticket, "INDEX", 0) or 0, number(reward, "VALUE")
        if output is None:
            raise InputError("VALUE is missing", "give a number")
        with opened(claim) as learner:
            learner.tell(at, float(output))
            answered = Answered(at, learner.answered)
        show(answered, json_, lines)
        return 0
    issued = whole(ticket, "TICKET")
    try:
        observed = float(sys.stdin.readline() if reward == "-" else reward)
    except ValueError:
        raise InputError("REWARD is no number", "give nan for an unknown one") from None
    with options.opened(claim) as session:
        counts = session.tell(issued or 0, observed)
    told = Told(issued, counts)
    show(told, json_, lambda answer: f"ticket {answer['ticket']}: " + ("counts" if counts else "late"))
    return 0


def serve_lines(claim: File, *, options: SessionOptions = NO_SESSION) -> int:
    """Serve people over JSON lines: one request per line of input, one answer per line of output.

    {"ask": null} or {"ask": CONTEXT} gives a ticket, {"tell": TICKET, "reward": NUMBER} records an
    answer (null: there will be none), {"bits": [0, 1, ...]} those of a batch, which devices have
    randomised and a shuffler shows in no order, {"ticket": TICKET} gives a ticket again, {"public":
    true} what all may see so far, and {"end": true} ends the session.  A wrong request is answered
    by {"error": TEXT}, and changes nothing.  At the end of the input the session can be resumed,
    also by `ask` and `tell`, whose answers these are.

    Example: `dpaccount session claim.toml --state people.state --ledger sqlite:///team.db`

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1 that names a bandit.
    """
    with options.opened(claim) as serving:
        while request := sys.stdin.buffer.readline(MAX_LINE + 1):
            if len(request) > MAX_LINE:
                raise InputError(f"a line has more than {MAX_LINE} bytes", "send one request a line")
            try:
                answer: Answer = _answer(serving, parse_json(request, "standard input"))
            except InputError as error:
                if serving.closed:
                    raise
                answer = SessionError(str(error))
            show(answer, as_json=True, person=lines)
            sys.stdout.flush()
    return 0


def _answer(serving: "Session", request: Place) -> Answer:
    """Return the answer to one line; raises `InputError` for one that is no request."""
    asked = request.value
    which = [key for key in REQUESTS if isinstance(asked, dict) and key in asked]
    if len(which) != 1:
        raise request.wrong("this is no request", f"write a table with one of {', '.join(REQUESTS)}")
    table = request.table(("tell", "reward") if which == ["tell"] else (which[0],))
    if which == ["ask"]:
        return _given(serving, asked["ask"], None)
    if which == ["tell"]:
        place, number = table["reward"], table["tell"].integer(1, MAX_TICKET)
        numbers = place.items() if isinstance(place.value, list) else [place]
        reward: Any = None if place.value is None else [each.real() for each in numbers]
        return Told(number, serving.tell(number, reward))
    if which == ["bits"]:
        serving.tell_shuffled([bit.integer(0, 1) for bit in table["bits"].items()])
        return Told(None, counts=True)
    if which == ["ticket"]:
        return _given(serving, None, table["ticket"].integer(1, MAX_TICKET))
    if not table[which[0]].flag():
        raise table[which[0]].wrong("this is false", "write true")
    return _shown(serving, ends=which == ["end"])


def _given(serving: "Session", brought: Any, number: int | None) -> TicketAnswer:
    """Return a new ticket for who brings this, or that of this number."""
    known = serving.clipped
    given = serving.ask(brought) if number is None else serving.ticket(number)
    name, more = serving.name_of(given), serving.clipped - known
    return TicketAnswer(
        ticket=given.number,
        action=given.action,
        slots=serving.slots,
        releasable=serving.releasable,
        name=UNSET if name is None else name,
        clipped=more if more > 0 else UNSET,
    )


def _shown(serving: "Session", *, ends: bool = True) -> PublicSession:
    """Return what everybody may see, which is nobody's own ticket; by default end the session."""
    seen = serving.result().public if ends else serving.public()
    public = {name: array.tolist() for name, array in seen.items()}
    return PublicSession(serving.asked, serving.slots, serving.releasable, public)


def _context(name: str) -> Any:
    """Return what a person brings: JSON, in which null is what is not known."""
    try:
        return json.loads(source(name))
    except (ValueError, RecursionError):
        what = "standard input" if name == "-" else name
        raise InputError(
            f"{what}: this is no JSON", "give a list of coordinates for each candidate"
        ) from None
