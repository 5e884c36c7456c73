"""Where a ledger stands in PostgreSQL: what ``postgresql://user@host/database?ledger=clinic`` says."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

from dpaccount.errors import InputError

SCHEMES: Final = ("postgresql", "postgresql+psycopg")
HINT: Final = "write it as postgresql://user@host/database?ledger=name"
#: what a URL may ask of the connection: whom to trust, and who one is
_SECURITY: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,49}")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\]|/[^,\x00-\x1f]{1,200}")


@dataclass(frozen=True)
class ServerAddress:
    """A ledger's name, and how its server is reached; `parameters` may hold a password: never shown."""

    name: str
    parameters: dict[str, str] = field(repr=False)
    witness: Path | None = None

    @property
    def schema(self) -> str:
        """Return the schema that the ledger's tables have to themselves."""
        return f"dpaccount_{self.name}"

    @property
    def path(self) -> str:
        """Return what stands for the ledger's file in answers."""
        return self.name


def server_address(url: str) -> ServerAddress:
    """Return what a URL says; raises `InputError`, which never repeats it, for anything else."""
    _, _, rest = url.partition("://")
    if re.search(r"[\x00-\x20\x7f#]|%00|%(?![0-9A-Fa-f]{2})", rest):
        raise InputError(f"the ledger's URL cannot be read; {HINT}")
    place, _, query = rest.partition("?")
    wants = _options(query)
    witness = wants.pop("witness", None)
    name = wants.pop("ledger", "")
    if not _NAME.fullmatch(name):
        raise InputError(
            "the ledger's URL names no ledger; end it in ?ledger=name (a small letter, then small letters,"
            " digits and underscores, at most 50)"
        )
    return ServerAddress(name, {**_reached(place), **wants}, None if witness is None else Path(witness))


def _options(query: str) -> dict[str, str]:
    asked = parse_qsl(query, keep_blank_values=True)
    found = dict(asked)
    known = {"ledger", "witness", *_SECURITY}
    if len(found) < len(asked) or (query and not asked) or not set(found) <= known or "" in found.values():
        raise InputError(
            "the ledger's URL asks for what no ledger has; it may say ledger, witness, and of its connection"
            f" {', '.join(_SECURITY)}, each once"
        )
    return found


def _reached(place: str) -> dict[str, str]:
    """Return host, port, user, password and database, as the driver calls them."""
    before, _, database = place.partition("/")
    who, _, where = before.rpartition("@")
    user, colon, password = who.partition(":")
    host, port = where, ""
    if matched := re.fullmatch(r"(.*):([0-9]+)", where):
        host, port = matched[1], matched[2]
    host = unquote(host)
    if not _HOST.fullmatch(host) or (port and not 0 < int(port) < 65536):
        raise InputError(f"the ledger's URL names no host; {HINT}")
    if not unquote(user) or not database or "/" in database:
        raise InputError(f"the ledger's URL names no user or no database; {HINT}")
    found = {"host": host.strip("[]"), "user": unquote(user), "dbname": unquote(database)}
    return found | ({"port": port} if port else {}) | ({"password": unquote(password)} if colon else {})
