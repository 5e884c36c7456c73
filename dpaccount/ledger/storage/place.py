"""Where a ledger's file may stand: one file, one name, one host.

SQLite keeps a log and its index beside the file, found by the file's name.  Under two names (a hard link, a
file mounted into two containers) there are two logs, and each name spends the whole budget; on a file system
that two hosts share, each host has an index of its own.  Such places are refused before anything is opened.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.storage.server_address import SCHEMES, ServerAddress, server_address

Identity = tuple[int, int]  #: device and inode: what a name leads to

PROC: Final = Path("/proc/self")
#: kinds of file system that several hosts may write at once, as Linux names them
SHARED: Final = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|drvfs|fuse|fuseblk|gfs2?|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs"
    r"|prl_fs|pvfs2|smb2|smb3|smbfs|vboxsf|virtiofs|vmhgfs"
)
LOGS: Final = ("-wal", "-shm", "-journal")  #: what the names of SQLite's files beside a database end with
LOCKS: Final = ("-next", "-line")  #: and those of the files in whose locks writers wait
BESIDE: Final = (*LOGS, *LOCKS)
_HINT: Final = "write it as sqlite:///file.db"


@dataclass(frozen=True)
class Address:
    """What a ledger's URL says: its file, whether a shared file system will do, where heads are noted."""

    path: Path
    trusted: bool = False
    witness: Path | None = None

    @property
    def resolved(self) -> Path:
        """Return the path that the database opens, without links: its log stands beside it."""
        return Path(os.path.realpath(self.path))


def address(url: str) -> Address | ServerAddress:
    """Return what a URL, or the path of a file, names; messages never repeat it: it may hold a password."""
    scheme, separator, rest = url.partition("://")
    if not separator and url.endswith(".db"):
        scheme, rest = "sqlite", f"/{url}"
    if scheme in SCHEMES:
        return server_address(url)
    if not scheme.isidentifier() or "\n" in url:
        raise InputError(f"the ledger's URL cannot be read; {_HINT}")
    if scheme != "sqlite":
        raise InputError(
            "the ledger's URL names an unknown kind of database; use sqlite:///file.db, or postgresql://"
        )
    host, slash, rest = rest.partition("/")
    name, _, query = rest.partition("?") if separator else (rest, "", "")
    if host or not slash or name in ("", ":memory:") or "\0" in name or name.startswith(("file:", ":")):
        raise InputError(f"the ledger's URL does not name one file; {_HINT}")
    _check_name(Path(name))
    if any("\ud800" <= one <= "\udfff" for one in name):
        raise InputError("the name of the ledger's file is no text; give it another name")
    asked = parse_qsl(query, keep_blank_values=True)
    wants, witness = dict(asked), dict(asked).pop("witness", None)
    known = {"shared": "trusted", "witness": witness}
    if len(wants) < len(asked) or (query and not asked) or any(known.get(one) != wants[one] for one in wants):
        raise InputError(
            "the ledger's URL asks for what no ledger has; it may end in ?shared=trusted or ?witness=FILE"
        )
    if witness is not None and (not witness or "\0" in witness):
        raise InputError("the ledger's URL names no witness; write ?witness=FILE")
    return Address(Path(name), "shared" in wants, None if witness is None else Path(witness))


def file_address(url: str) -> Address:
    """Return what the URL of a file names; refuses a server's."""
    where = address(url)
    if isinstance(where, ServerAddress):
        raise InputError("this is done to files alone; give a ledger's file, as sqlite:///file.db")
    return where


@lru_cache(maxsize=64)  # asked before every commit
def companions(path: Path) -> tuple[Path, ...]:
    """Return the files that SQLite keeps beside an open or crashed database."""
    return tuple(path.with_name(path.name + suffix) for suffix in LOGS)


@lru_cache(maxsize=64)
def locks(path: Path) -> tuple[Path, ...]:
    """Return the files whose locks are held by the writer that is next, and by the one that writes."""
    return tuple(path.with_name(path.name + suffix) for suffix in LOCKS)


def identity(path: Path) -> Identity | None:
    """Return what a name leads to now; None where it leads nowhere."""
    return identity_and_names(path)[0]


def identity_and_names(path: Path) -> tuple[Identity | None, int]:
    """Return what a name leads to now, and how many names (hard links) that has."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before every commit; a Path's costs twice as much
    except OSError:
        return None, 0
    return (found.st_dev, found.st_ino), found.st_nlink


def check_folder(folder: Path, *, trusted: bool) -> None:
    """Refuse to make a ledger on a file system that several hosts share."""
    with _held(folder) as held:
        if held is not None and not trusted:
            _check_kind(folder, _mount(held))


def check_file(where: Address) -> None:
    """Refuse a file with two names, a file mounted by itself, and a shared file system."""
    path = where.resolved
    _check_name(path)
    with _held(path) as file, _held(path.parent) as folder:
        if file is None or folder is None:
            return  # opening it says why
        _check_settled(path)
        mounted = _mount(file)
        apart = os.fstat(file).st_dev != os.fstat(folder).st_dev
        if apart or mounted != _mount(folder):
            raise LedgerError(f"{path} is mounted by itself, apart from its log; mount its folder instead")
        if not where.trusted:
            _check_kind(path, mounted)


def _check_name(path: Path) -> None:
    """Refuse what would be taken for a log, an index or a lock of another ledger."""
    if path.name.endswith(BESIDE):
        raise InputError(
            f"{path.name} is named as what stands beside a ledger ({', '.join(BESIDE)}); give it another name"
        )


def check_names(path: Path, names: int) -> None:
    """Refuse a file with more names than one."""
    if names > 1:
        raise LedgerError(
            f"{path} has {names} names (hard links), each of which could spend the budget; keep one, remove"
            " the others"
        )


def _check_settled(path: Path) -> None:
    for _ in range(5):  # a ledger that is being made has its draft's name too, for a moment
        if path.stat().st_nlink == 1:
            return
        time.sleep(0.02)
    check_names(path, path.stat().st_nlink)


def _check_kind(path: Path, mount: str) -> None:
    kind = _kind(mount)
    if SHARED.fullmatch(kind.split(".")[0]):
        raise LedgerError(
            f"{path} is on a shared file system ({kind}), where two hosts overspend; move it to a local disk,"
            " or end the URL in ?shared=trusted if one host alone ever opens it"
        )


@contextmanager
def _held(path: Path) -> Iterator[int | None]:
    """Hold a name without opening the file: closing an open file would let go of SQLite's locks on it."""
    try:
        held = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) if path.is_dir() else _PATH_ONLY)
    except OSError:
        yield None
        return
    try:
        yield held
    finally:
        os.close(held)


_PATH_ONLY: Final = getattr(os, "O_PATH", os.O_DIRECTORY)  #: elsewhere files are not held, nor looked at so


def _mount(held: int) -> str:
    """Return the number of the mount that a name is seen through; nothing where that is not told."""
    try:
        lines = (PROC / "fdinfo" / str(held)).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def _kind(mount: str) -> str:
    """Return the kind of file system of a mount; nothing where that is not told."""
    try:
        lines = (PROC / "mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line for line in lines if mount and line.split(" ", 1)[0] == mount)
    return next((line.partition(" - ")[2].split(" ")[0] for line in found), "")
