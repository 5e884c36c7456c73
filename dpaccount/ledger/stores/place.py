"""The place of a ledger: parses its URL, and makes sure that a file has one name, on one host.

SQLite keeps a log and its index next to the file and finds them by the file's name.  Under two
names (a hard link, a file mounted into two containers) there are two logs, and each name could
spend the whole budget; on a file system shared by two hosts, each host has its own index.  Such
places are refused before anything is opened.
"""

import os
import re
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

from dpaccount.errors import InputError, LedgerError, posix_module

Identity = tuple[int, int]  #: device and inode of a file

PROC: Final = Path("/proc/self")
#: types of file system that several hosts may write at once, as Linux names them
SHARED: Final = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|drvfs|fuse|fuseblk|gfs2?|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs"
    r"|prl_fs|pvfs2|smb2|smb3|smbfs|vboxsf|virtiofs|vmhgfs"
)
LAYERED: Final = ("overlay", "overlayfs", "aufs")
LOGS: Final = ("-wal", "-shm", "-journal")  #: suffixes of SQLite's files next to a database
LOCKS: Final = ("-next", "-line")  #: suffixes of the lock files of the next and the current writer
BESIDE: Final = (*LOGS, *LOCKS)
FILE_OPTIONS: Final = {"shared": "trusted", "witness": ".*", "by": ".+"}  #: with the form of each
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
    by: str | None = None  #: who makes entries

    @property
    def resolved(self) -> Path:
        """Return the path without symbolic links, as SQLite opens it; its log is next to it."""
        return Path(os.path.realpath(self.path))


SERVICE: Final = ("http://", "https://")  #: before the URL of a ledger that a service keeps


@dataclass(frozen=True)
class ServerAddress:
    """A ledger's name and connection `parameters`, which may hold a password: never show them."""

    name: str
    parameters: dict[str, str] = field(repr=False)
    witness: Path | None = None
    by: str | None = None  #: who makes entries

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
            "the ledger's URL names an unknown kind of database",
            "use sqlite:///file.db, or postgresql://; a service's URL serves other commands only",
        )
    host, slash, rest = rest.partition("/")
    name, _, query = rest.partition("?") if separator else (rest, "", "")
    if host or not slash or name in ("", ":memory:") or "\0" in name or name.startswith(("file:", ":")):
        raise InputError("the ledger's URL does not name one file", FILE_HINT)
    _check_name(Path(name))
    if any("\ud800" <= one <= "\udfff" for one in name):
        raise InputError("the name of the ledger's file is no text", "give it another name")
    options = _options(query, FILE_OPTIONS, "it may end in ?shared=trusted, ?witness=FILE or ?by=NAME")
    witness = options.get("witness")
    if witness is not None and (not witness or "\0" in witness):
        raise InputError("the ledger's URL names no witness", "write ?witness=FILE")
    noted = None if witness is None else Path(witness)
    return Address(Path(name), "shared" in options, noted, options.get("by"))


def server_address(url: str) -> ServerAddress:
    """Parse a URL; raises `InputError`, whose message never repeats the URL, if it is invalid."""
    _, _, rest = url.partition("://")
    if re.search(r"[\x00-\x20\x7f#]|%00|%(?![0-9A-Fa-f]{2})", rest):
        raise InputError("the ledger's URL cannot be read", SERVER_HINT)
    place, _, query = rest.partition("?")
    allowed = f"it may have ledger, witness, by, and of its connection {', '.join(_SECURITY)}, each once"
    wants = _options(query, dict.fromkeys(("ledger", "witness", "by", *_SECURITY), ".+"), allowed)
    witness, by = wants.pop("witness", None), wants.pop("by", None)
    name = wants.pop("ledger", "")
    if not _NAME.fullmatch(name):
        raise InputError(
            "the ledger's URL names no ledger",
            "end it in ?ledger=name (a small letter, then small letters, digits and underscores, at most 50)",
        )
    noted = None if witness is None else Path(witness)
    return ServerAddress(name, {**_parameters(place), **wants}, noted, by)


def _options(query: str, allowed: dict[str, str], right: str) -> dict[str, str]:
    """Parse the options of a URL, each of a form; raises `InputError` for others, and for repeated ones."""
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    unreadable = len(options) < len(pairs) or (query and not pairs)
    formed = (name in allowed and re.fullmatch(allowed[name], text, re.DOTALL) for name, text in pairs)
    if unreadable or not all(formed):
        raise InputError("the ledger's URL has a wrong option", right)
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


def _check_name(path: Path) -> None:
    """Raise `InputError` for a name that could be another ledger's log, index or lock file."""
    if path.name.endswith(BESIDE):
        raise InputError(
            f"{path.name} has the name of a ledger's companion file ({', '.join(BESIDE)})",
            "give it another name",
        )


@lru_cache(maxsize=64)  # called before every commit
def companions(path: Path, ends: tuple[str, ...] = LOGS) -> tuple[Path, ...]:
    """Return the files next to a database: the log, its index and the journal of SQLite, or `LOCKS`."""
    return tuple(path.with_name(path.name + end) for end in ends)


def identity(path: Path) -> Identity | None:
    """Return the device and inode at `path` now, or None."""
    return identity_and_names(path)[0]


def identity_and_names(path: Path) -> tuple[Identity | None, int]:
    """Return the device and inode at `path` now, or None, and the number of hard links."""
    try:
        status = os.stat(path)  # noqa: PTH116 - before every commit; Path.stat takes twice as long
    except OSError:
        return None, 0
    return (status.st_dev, status.st_ino), status.st_nlink


def check_folder(folder: Path, *, trusted: bool) -> None:
    """Raise `LedgerError` for a folder without locks, or unless `trusted` on a shared file system."""
    _check_locks(folder)
    with _held(folder) as held:
        if held is not None and not trusted:
            _check_kind(folder, _mount(held))


def check_file(where: Address) -> None:
    """Raise `LedgerError` for a file with two hard links, mounted by itself, or shared by hosts."""
    path = where.resolved
    _check_name(path)
    with _held(path) as file, _held(path.parent) as folder:
        if file is None or folder is None:
            return  # opening it will raise, with the reason
        _check_settled(path)
        mounted = _mount(file)
        apart = os.fstat(file).st_dev != os.fstat(folder).st_dev
        # Under a second name there is a second log, and each name could spend the whole budget.
        if apart or mounted != _mount(folder):
            raise LedgerError(f"{path} is mounted by itself, apart from its log; mount its folder instead")
        if not where.trusted:
            _check_kind(path, mounted)
    _check_locks(path.parent)


def _check_locks(folder: Path) -> None:
    """Raise `LedgerError` where a file system grants one lock twice, as NFS without locks does (Linux)."""
    with suppress(OSError, AttributeError, InputError), tempfile.TemporaryFile(dir=folder) as one:
        fcntl = posix_module("fcntl")
        # Locks of a process never exclude itself, but those of open files do.  The file asked has no name.
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
        fcntl.fcntl(one, fcntl.F_OFD_SETLK, asked)
        two = os.open(f"/proc/self/fd/{one.fileno()}", os.O_RDWR)
        try:
            fcntl.fcntl(two, fcntl.F_OFD_SETLK, asked)
        finally:
            os.close(two)
        raise LedgerError(
            f"{folder} is on a file system that gives one lock to two writers, and both could spend the"
            " budget; move the ledger to a local disk"
        )


def check_names(path: Path, names: int) -> None:
    """Raise `LedgerError` for a file with more than one name (`names` hard links)."""
    if names > 1:
        raise LedgerError(
            f"{path} has {names} names (hard links), each of which could spend the budget; keep one, remove"
            " the others"
        )


def _check_settled(path: Path) -> None:
    for _ in range(5):  # a ledger being created has its draft as a second link for a moment
        if path.stat().st_nlink == 1:
            return
        time.sleep(0.02)
    check_names(path, path.stat().st_nlink)


def _check_kind(path: Path, mount: str) -> None:
    kind = _kind(mount)
    if kind in LAYERED:
        raise LedgerError(
            f"{path} is on an {kind} file system, such as a container's own layer, and goes with it; move it"
            " to a volume, or end the URL in ?shared=trusted"
        )
    if SHARED.fullmatch(kind.split(".")[0]):
        raise LedgerError(
            f"{path} is on a shared file system ({kind}), where two hosts overspend; move it to a local disk,"
            " or end the URL in ?shared=trusted if one host alone ever opens it"
        )


@contextmanager
def _held(path: Path) -> Iterator[int | None]:
    """Yield a descriptor that does not open the file (closing it would drop SQLite's locks)."""
    try:
        held = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) if path.is_dir() else _PATH_ONLY)
    except OSError:
        yield None
        return
    try:
        yield held
    finally:
        os.close(held)


_PATH_ONLY: Final = getattr(os, "O_PATH", os.O_DIRECTORY)  #: without O_PATH no file is checked


def _mount(held: int) -> str:
    """Return the mount ID of a descriptor, or an empty string where it is not known."""
    lines = _lines_of(PROC / "fdinfo" / str(held))
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def _kind(mount: str) -> str:
    """Return the file system type of a mount ID, or an empty string where it is not known."""
    lines = _lines_of(PROC / "mountinfo")
    mounts = (line for line in lines if mount and line.split(" ", 1)[0] == mount)
    return next((line.partition(" - ")[2].split(" ")[0] for line in mounts), "")


def _lines_of(path: Path) -> list[str]:
    """Return the lines of one of the system's files, or none where it is not there."""
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
