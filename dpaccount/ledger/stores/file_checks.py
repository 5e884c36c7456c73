"""Validates the place of a ledger's file: one file, one name, one host.

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
from functools import lru_cache
from pathlib import Path
from typing import Final

from dpaccount.errors import InputError, LedgerError, posix_module
from dpaccount.ledger.stores.address import LOCKS, LOGS, Address, check_name

Identity = tuple[int, int]  #: device and inode of a file

PROC: Final = Path("/proc/self")
#: types of file system that several hosts may write at once, as Linux names them
SHARED: Final = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|drvfs|fuse|fuseblk|gfs2?|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs"
    r"|prl_fs|pvfs2|smb2|smb3|smbfs|vboxsf|virtiofs|vmhgfs"
)
LAYERED: Final = ("overlay", "overlayfs", "aufs")


@lru_cache(maxsize=64)  # called before every commit
def companions(path: Path) -> tuple[Path, ...]:
    """Return the log, its index and the journal that SQLite keeps next to a database."""
    return tuple(path.with_name(path.name + suffix) for suffix in LOGS)


@lru_cache(maxsize=64)
def locks(path: Path) -> tuple[Path, ...]:
    """Return the lock files of the next writer and of the current writer."""
    return tuple(path.with_name(path.name + suffix) for suffix in LOCKS)


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
    check_name(path)
    with _held(path) as file, _held(path.parent) as folder:
        if file is None or folder is None:
            return  # opening it will raise, with the reason
        _check_settled(path)
        mounted = _mount(file)
        apart = os.fstat(file).st_dev != os.fstat(folder).st_dev
        if apart or mounted != _mount(folder):
            raise LedgerError(f"{path} is mounted by itself, apart from its log; mount its folder instead")
        if not where.trusted:
            _check_kind(path, mounted)
    _check_locks(path.parent)


def _check_locks(folder: Path) -> None:
    """Raise `LedgerError` where a file system grants one lock twice, as NFS without locks does (Linux).

    Locks of a process never exclude itself, but those of open files do.  The file asked has no name.
    """
    with suppress(OSError, AttributeError, InputError), tempfile.TemporaryFile(dir=folder) as one:
        fcntl = posix_module("fcntl")
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
