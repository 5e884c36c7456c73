"""Parses URLs of ledgers: ``sqlite:///file.db``, or ``postgresql://user@host/database?ledger=clinic``."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

from dpaccount.errors import InputError

LOGS: Final = ("-wal", "-shm", "-journal")  #: suffixes of SQLite's files next to a database
LOCKS: Final = ("-next", "-line")  #: suffixes of the lock files of `fair_lock`
BESIDE: Final = (*LOGS, *LOCKS)
FILE_HINT: Final = "write it as sqlite:///file.db"
SCHEMES: Final = ("postgresql", "postgresql+psycopg")
SERVER_HINT: Final = "write it as postgresql://user@host/database?ledger=name"
#: connection parameters that a URL may set: TLS verification and client certificate
_SECURITY: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,49}")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]|/[^,\x00-\x1f]{1,200}")


@dataclass(frozen=True)
class Address:
    """A parsed file URL: the file, whether a shared file system is trusted, the witness file."""

    path: Path
    trusted: bool = False
    witness: Path | None = None

    @property
    def resolved(self) -> Path:
        """Return the path without symbolic links, as SQLite opens it; its log is next to it."""
        return Path(os.path.realpath(self.path))


@dataclass(frozen=True)
class ServerAddress:
    """A ledger's name and connection `parameters`, which may hold a password: never show them."""

    name: str
    parameters: dict[str, str] = field(repr=False)
    witness: Path | None = None

    @property
    def schema(self) -> str:
        """Return the name of the ledger's own schema."""
        return f"dpaccount_{self.name}"

    @property
    def path(self) -> str:
        """Return the name that answers show where a file ledger has its path."""
        return self.name


def address(url: str) -> Address | ServerAddress:
    """Parse a ledger's URL or ``.db`` path; no `InputError` repeats it: it may hold a password."""
    scheme, separator, rest = url.partition("://")
    if not separator and url.endswith(".db"):
        scheme, rest = "sqlite", f"/{url}"
    if scheme in SCHEMES:
        return server_address(url)
    if not scheme.isidentifier() or "\n" in url:
        raise InputError("the ledger's URL cannot be read", FILE_HINT)
    if scheme != "sqlite":
        raise InputError(
            "the ledger's URL names an unknown kind of database", "use sqlite:///file.db, or postgresql://"
        )
    host, slash, rest = rest.partition("/")
    name, _, query = rest.partition("?") if separator else (rest, "", "")
    if host or not slash or name in ("", ":memory:") or "\0" in name or name.startswith(("file:", ":")):
        raise InputError("the ledger's URL does not name one file", FILE_HINT)
    check_name(Path(name))
    if any("\ud800" <= one <= "\udfff" for one in name):
        raise InputError("the name of the ledger's file is no text", "give it another name")
    pairs = parse_qsl(query, keep_blank_values=True)
    options, witness = dict(pairs), dict(pairs).pop("witness", None)
    allowed = {"shared": "trusted", "witness": witness}
    invalid = any(allowed.get(one) != value for one, value in pairs)
    if invalid or len(options) < len(pairs) or (query and not pairs):
        raise InputError(
            "the ledger's URL has a wrong option", "it may end in ?shared=trusted or ?witness=FILE"
        )
    if witness is not None and (not witness or "\0" in witness):
        raise InputError("the ledger's URL names no witness", "write ?witness=FILE")
    return Address(Path(name), "shared" in options, None if witness is None else Path(witness))


def server_address(url: str) -> ServerAddress:
    """Parse a URL; raises `InputError`, whose message never repeats the URL, if it is invalid."""
    _, _, rest = url.partition("://")
    if re.search(r"[\x00-\x20\x7f#]|%00|%(?![0-9A-Fa-f]{2})", rest):
        raise InputError("the ledger's URL cannot be read", SERVER_HINT)
    place, _, query = rest.partition("?")
    wants = _options(query)
    witness = wants.pop("witness", None)
    name = wants.pop("ledger", "")
    if not _NAME.fullmatch(name):
        raise InputError(
            "the ledger's URL names no ledger",
            "end it in ?ledger=name (a small letter, then small letters, digits and underscores, at most 50)",
        )
    return ServerAddress(name, {**_parameters(place), **wants}, None if witness is None else Path(witness))


def _options(query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    allowed = {"ledger", "witness", *_SECURITY}
    unreadable = len(options) < len(pairs) or (query and not pairs)  # repeated, or not name=value
    if unreadable or not set(options) <= allowed or "" in options.values():
        raise InputError(
            "the ledger's URL has a wrong option",
            f"it may have ledger, witness, and of its connection {', '.join(_SECURITY)}, each once",
        )
    return options


def _parameters(place: str) -> dict[str, str]:
    """Return host, port, user, password and database under the driver's parameter names."""
    before, _, database = place.partition("/")
    login, _, where = before.rpartition("@")
    user, colon, password = login.partition(":")
    host, port = where, ""
    if matched := re.fullmatch(r"(.*):([0-9]+)", where):
        host, port = matched[1], matched[2]
    host = unquote(host)
    if not _HOST.fullmatch(host) or (port and not 0 < int(port) < 65536):
        raise InputError("the ledger's URL names no host", SERVER_HINT)
    if not unquote(user) or not database or "/" in database:
        raise InputError("the ledger's URL names no user or no database", SERVER_HINT)
    parameters = {"host": host.strip("[]"), "user": unquote(user), "dbname": unquote(database)}
    return parameters | ({"port": port} if port else {}) | ({"password": unquote(password)} if colon else {})


def check_name(path: Path) -> None:
    """Raise `InputError` for a name that could be another ledger's log, index or lock file."""
    if path.name.endswith(BESIDE):
        raise InputError(
            f"{path.name} has the name of a ledger's companion file ({', '.join(BESIDE)})",
            "give it another name",
        )
