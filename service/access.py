"""Who may ask what: tokens of persons, in a file that holds no secret, and one place that decides.

A secret is 256 random bits, so its SHA-256 neither needs a salt nor reveals it, and is looked up as it is.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Any, Final, TypeVar

from dpaccount.documents import OWN, canonical, sha256
from dpaccount.errors import DpaccountError, InputError, LedgerError
from dpaccount.ledger.balances.rights import new_name
from dpaccount.ledger.balances.state import lineage, scope_name

#: what is asked: of all scopes; only with tokens made with --arrange
WHOLE, ARRANGING = ("arrange", "approve"), ("arrange", "scope")
Subject = tuple[str, str]  #: an issuer, and a person there
T = TypeVar("T")
OURS: Final = "dpa_"  #: how secrets begin
_TABLE: Final = "CREATE TABLE IF NOT EXISTS tokens (id PRIMARY KEY, person, scope, until, arrange, digest)"


class NotAllowedError(DpaccountError):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def once(members: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return members by name; raises `InputError` for one that is there twice: readers may differ on it."""
    listed = list(members)
    if len(found := dict(listed)) < len(listed):
        raise InputError("a member is given twice", "give each once")
    return found


@dataclass(frozen=True)
class Token:
    """A token: whose it is, the scope that it is for (None: all), its last day (UTC), its secret's digest."""

    id: str
    person: str
    scope: str | None
    until: str | None
    arrange: bool
    digest: str

    def allows(self, what: str, scope: str | None) -> bool:
        """Return whether it may ask for `what` in a scope (None: all); rights are for the ledger to say."""
        if what in ARRANGING and not self.arrange:
            return False
        return self.scope is None or (what not in WHOLE and self.scope in lineage(scope))


class Tokens:
    """The tokens in a file."""

    def __init__(self, file: Path, subject_of: Callable[[str], Subject] | None = None) -> None:
        self._file, self._subject_of = file, subject_of  #: of a provider's token

    def add(
        self,
        person: str,
        scope: str | None,
        until: date | None,
        *,
        arrange: bool,
        subject: Subject | None = None,
    ) -> tuple[str, str]:
        """Add a token, in a new file if there is none; return its id and its secret, which nothing keeps.

        Of an issuer's `subject` there is no secret of ours: that issuer's tokens count.  Raises `InputError`
        for a subject that has a token.
        """
        secret, day = f"{OURS}{token_urlsafe(32)}", None if until is None else until.isoformat()
        within = None if scope is None else scope_name(scope)
        name = secret if subject is None else subject
        one = Token(token_hex(6), new_name(person, ()), within, day, arrange, _digests(name)[0])
        if not self._file.exists():
            os.close(os.open(self._file, os.O_CREAT | os.O_WRONLY, OWN))
        with self._opened() as database:
            database.execute(_TABLE)  # also where one that was killed had made the file alone
            new_name(person, [known for (known,) in database.execute("SELECT person FROM tokens")])
            for known in _named(database, name):
                raise InputError(f"the subject has the token {known[0]} already", "revoke that first")
            database.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", astuple(one))
        return one.id, secret if subject is None else ""

    def revoke(self, name: str) -> None:
        """Remove the token with this id."""
        with self._opened() as database:
            if not database.execute("DELETE FROM tokens WHERE id = ?", (name,)).rowcount:
                raise InputError(f"no token has the id {name!r}", "see dpaccount token list")

    def listed(self) -> list[Token]:
        """Return all tokens."""
        with self._opened() as database:
            return [Token(*row) for row in database.execute("SELECT * FROM tokens ORDER BY person, id")]

    def of(self, header: str) -> Token:
        """Return the token of a request; raises `NotAllowedError` for none, and for one that has expired."""
        kind, _, secret = header.partition(" ")
        # What names a subject is no secret, and has a digest in the same column.
        name: str | Subject = secret if secret.startswith(OURS) else ""
        unknown = "the token is unknown or revoked; give one of `dpaccount token add`"
        if self._subject_of is not None and kind.lower() == "bearer" and secret.count(".") == 2:
            name = subject = self._subject_of(secret)
            unknown = f"the provider's subject {subject[1][:99]!r} is unknown here; see `dpaccount token add`"
        with self._opened() as database:
            found = next(iter(_named(database, name)), None)
        if kind.lower() != "bearer" or found is None:
            raise NotAllowedError(401, unknown)
        token = Token(*found)
        if token.until is not None and datetime.now(UTC).date().isoformat() > token.until:
            raise NotAllowedError(401, f"the token ended on {token.until}; ask for another")
        return token

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        name = self._file.name
        try:
            if self._file.stat().st_mode & 0o777 & ~OWN:
                raise LedgerError(f"{name} lets others read or make tokens; run `chmod 600` on it")
            # Not read-only: what a writer that was killed left behind is undone by the next who opens it.
            place = f"{self._file.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(place, uri=True)) as database, database:
                yield database
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", error)  # without a path: strangers are told, too
            raise LedgerError(f"{name} is no file of tokens ({why}); see `dpaccount token add`") from None


def _digests(name: str | Subject) -> list[str]:
    """Return the digests of a secret, or of a subject; its issuer may be spelled with a slash or without."""
    if isinstance(name, str):
        return [sha256(name.encode("latin-1", "replace"))]
    issuer, who = name
    other = issuer[:-1] if issuer.endswith("/") else f"{issuer}/"
    return [sha256(canonical(one)) for one in (name, (other, who))]


def _named(database: sqlite3.Connection, name: str | Subject) -> list[tuple[Any, ...]]:
    """Return the rows of a secret or a subject, that of the same spelling first."""
    look = "SELECT * FROM tokens WHERE digest = ?"
    return [row for one in _digests(name) for row in database.execute(look, (one,))]
