"""The files of a table: one, a folder's, or what a URL names; and columns of folders' names.

A URL is read through fsspec, with whatever credentials the machine has: the claim holds none.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote

from dpaccount.errors import InputError

ARROW: Final = (".arrow", ".feather", ".ipc")
KNOWN: Final = (".csv", ".parquet", *ARROW)
#: of what is far away; a file here has a path, which must not leave the claim's folder
SCHEMES: Final = ("s3", "gs", "gcs", "abfs", "abfss", "az", "hdfs", "webhdfs", "http", "https", "memory")
URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://[^@?#:\s]+(:[0-9]+)?[^@?#:\s]*")
NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"  #: the value of a folder for rows without one


@dataclass(frozen=True)
class Remote:
    """A file or folder that a URL names."""

    url: str

    def __post_init__(self) -> None:
        """Refuse what names nothing far away, and credentials, which a certificate would show."""
        match = URL.fullmatch(self.url)
        if match is None:
            raise InputError(f"{self.url[:60]!r} is no plain URL", "give scheme://place, without credentials")
        if match[1] not in SCHEMES:
            raise InputError(f"URLs of {match[1]} are not read", f"known: {', '.join(SCHEMES)}")

    def __str__(self) -> str:
        """Return the URL."""
        return self.url

    @contextmanager
    def system(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system, without its caches, and the path; any failure is one line."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InputError("fsspec reads URLs", "pip install 'dpaccount[remote]'", self.url) from None
        try:
            system, path = url_to_fs(self.url)
            system.invalidate_cache()
            yield system, path
        except InputError:
            raise
        except ImportError as error:  # the message names the package that reads such URLs
            raise InputError(str(error), "install it", self.url) from None
        except Exception as error:  # each system has errors of its own
            raise _unreadable(self, error) from None


Source = Path | Remote  #: of a table: a file, a folder, or what a URL names


@dataclass(frozen=True)
class DataFile:
    """A file at a place, and its name below the place of its table, with ``/`` between folders."""

    place: Source
    name: str

    @cached_property
    def kind(self) -> str:
        """Return the ending of its name."""
        return Path(self.name).suffix.lower()

    @property
    def columns(self) -> dict[str, str | None]:
        """Return the columns that names of folders give as ``key=value``, for all its rows."""
        pairs = [part.split("=", 1) for part in self.name.split("/")[:-1] if "=" in part]
        if len({key for key, _ in pairs}) < len(pairs):
            what = "two folders in a path give the same column (key=value)"
            raise InputError(what, "rename one", str(self.place))
        return {unquote(key): None if value == NULL_FOLDER else unquote(value) for key, value in pairs}

    @contextmanager
    def opened(self, **text: Any) -> Iterator[IO[Any]]:
        """Open the file: bytes, or `text` as `open` takes it; raises `InputError` for failures."""
        mode = "r" if text else "rb"
        if isinstance(self.place, Remote):
            with self.place.system() as (system, path), system.open(path, mode, **text) as file:
                yield file
            return
        try:
            with self.place.open(mode, **text) as file:
                yield file
        except OSError as error:
            raise _unreadable(self.place, error) from None

    def digest(self) -> str:
        """Return the digest of its content."""
        if isinstance(self.place, Path) and self.place.exists() and not self.place.is_file():
            # A pipe might block for ever.
            raise InputError("no file", "give a readable data file", self.place)
        whole = hashlib.sha256()
        with self.opened() as file:
            while block := file.read(2**20):
                whole.update(block)
        return f"sha256:{whole.hexdigest()}"

    def stamp(self) -> list[object]:
        """Return what changes with each write to it."""
        if isinstance(self.place, Remote):
            with self.place.system() as (system, path):
                return [system.ukey(path), system.size(path)]
        try:
            status = self.place.stat()
        except OSError as error:
            raise _unreadable(self.place, error) from None
        return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def is_folder(source: Source) -> bool:
    """Return whether a table is a folder of files."""
    if isinstance(source, Remote):
        if source.url.startswith("http"):  # a listing would have to be read from a page's links
            return False
        with source.system() as (system, path):
            return bool(system.isdir(path))
    return source.is_dir()


def files_of(source: Source) -> tuple[DataFile, ...]:
    """Return the files of a table: one, or all of a folder, in the order of their names.

    Names that begin with a dot or an underscore are not data, as in other tools.  Raises `InputError` for a
    folder without data files, with two names of one, with files of several kinds, or with other columns in
    the names of folders.
    """
    if not is_folder(source):
        return (one_file(source),)
    inside = [each for each in _inside(source) if not any(part[0] in "._" for part in each.name.split("/"))]
    files = tuple(sorted(inside, key=lambda each: each.name))
    _check_one_name(files, source)
    kinds = sorted({each.kind for each in files})
    if len(kinds) != 1 or kinds[0] not in KNOWN:
        have, known = ", ".join(kinds) or "no files", ", ".join(KNOWN)
        raise InputError(f"the folder has {have}", f"fill it with files of one kind: {known}", str(source))
    if len({tuple(each.columns) for each in files}) > 1:
        what = "some folders' names give other columns than others (key=value)"
        raise InputError(what, "give each file the same ones, in one order", str(source))
    return files


def _check_one_name(files: Sequence[DataFile], source: Source) -> None:
    """Refuse links to a file that is there, too: without identities each of its rows would be two units."""
    known: dict[tuple[object, ...], str] = {}
    for each in files:
        if isinstance(each.place, Path):
            inode, *_ = each.stamp()  # raises where the file cannot be read
            other = known.setdefault((each.place.stat().st_dev, inode), each.name)
            if other != each.name:
                raise InputError(f"{other} and {each.name} are one file", "remove a link", str(source))


def one_file(source: Source) -> DataFile:
    """Return a file that is a table by itself."""
    return DataFile(source, source.url.rsplit("/", 1)[-1] if isinstance(source, Remote) else source.name)


def _inside(source: Source) -> Sequence[DataFile]:
    if isinstance(source, Path):
        paths = [each for each in source.rglob("*") if each.is_file()]
        return [DataFile(each, each.relative_to(source).as_posix()) for each in paths]
    with source.system() as (system, path):
        names = [name.removeprefix(path).lstrip("/") for name in system.find(path)]
    base = source.url.rstrip("/")
    return [DataFile(Remote(f"{base}/{name}"), name) for name in names if name]


def _unreadable(source: Source, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else None
    what = str(reason or f"unreadable ({type(error).__name__})")
    return InputError(what, "give a readable data file", str(source))
