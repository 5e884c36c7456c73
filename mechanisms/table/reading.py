"""The files of a table, read in batches: CSV a line at a time, Parquet and Arrow by pyarrow.

A table is a file, a folder of files, or what a URL names, which is read through fsspec, with whatever
credentials the machine has: the claim holds none.

What is refused is public: no readable file, another kind of file, a declared column that the header
lacks.  A line of a CSV file is one row whatever it holds, quotes and commas too: it never takes a part
of the next one, it is never left out, and cells that it lacks are missing.  So a row's cells depend on
that row alone.  (That is why a reader that refuses or skips ragged rows is not used for CSV.)  Of a line
beyond `LONGEST_LINE` characters no cell is read, and a longer cell of other files is missing: whatever one
row holds, the others need no more memory.
"""

import codecs
import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from mechanisms.table.cells import value_of

ARROW: Final = (".arrow", ".feather", ".ipc")
SEPARATED: Final = (".csv", ".tsv", ".csv.gz", ".tsv.gz")  #: a row a line
KNOWN: Final = (*SEPARATED, ".parquet", *ARROW)
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
            named = "the URL" if "@" in self.url else repr(self.url[:60])  # it may have a password
            raise InputError(f"{named} is no plain URL", "give scheme://place, without credentials")
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
        """Return the ending of its name: of a packed file with what it packs."""
        *_, inner, last = ("", "", *(suffix.lower() for suffix in Path(self.name).suffixes))
        return inner + last if last == ".gz" else last

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
        mode, packed = (
            ("rt", self.kind.endswith(".gz")) if text else ("rb", False)
        )  # bytes are as they lie there
        if isinstance(self.place, Remote):
            packing = {"compression": "gzip"} if packed else {}
            with self.place.system() as (system, path), system.open(path, mode, **packing, **text) as file:
                yield file
            return
        try:
            opened: Any = gzip.open if packed else open
            with opened(self.place, mode, **text) as file:
                yield file
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(self.place, error) from None

    def digest(self) -> str:
        """Return the digest of its content."""
        if isinstance(self.place, Path) and self.place.exists() and not self.place.is_file():
            # A pipe might block for ever.
            raise InputError("no file", "give a readable data file", self.place)
        running = hashlib.sha256()
        with self.opened() as file:
            while block := file.read(2**20):
                running.update(block)
        return f"sha256:{running.hexdigest()}"

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


# ------------------------------------------------------------------ batches


BATCH: Final = 65_536  #: rows that are held at once
PLAIN_NUMBER: Final = r"^-?[0-9]{1,17}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$"
HEADING: Final = re.compile(
    r"(?!(true|false|yes|no|nan|na|none|null)$)[^\W\d][^@]*"
)  #: of a column, in lower case
LONGEST_HEADER: Final = 2**20  #: characters
CHUNK: Final = 2**21  #: characters of a CSV file that are read at once
LONGEST_LINE: Final = 2**24  #: characters of a line, or bytes of a cell of other files

# Of one byte a character, but for UTF-8 and UTF-16: so no damaged character takes in the end of its line.
ENCODINGS: Final = (
    *(
        "utf-8",
        "utf-16",
        "ascii",
        "iso8859-1",
        "iso8859-2",
        "iso8859-5",
        "iso8859-7",
        "iso8859-9",
        "iso8859-15",
    ),
    *(
        "cp437",
        "cp850",
        "cp1250",
        "cp1251",
        "cp1252",
        "cp1253",
        "cp1254",
        "cp1255",
        "cp1256",
        "cp1257",
        "mac-roman",
    ),
)
SEPARATORS: Final = (",", ";", "\t", "|")
SEPARATOR_LINE: Final = re.compile(
    f'"?sep=([{"".join(SEPARATORS)}])"?\\s*'
)  #: before the header, for a spreadsheet


@dataclass(frozen=True)
class Dialect:
    """The separator and the character encoding of CSV files."""

    separator: str = ","
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse what would let a row reach into the next one."""
        if self.separator not in SEPARATORS:
            raise InputError(
                f"separator is {self.separator[:9]!r}", f"known: {', '.join(map(repr, SEPARATORS))}"
            )
        try:
            known = codecs.lookup(self.encoding).name in ENCODINGS
        except (LookupError, ValueError):
            known = False
        if not known:
            right = f"convert the file to UTF-8, or give one of {', '.join(ENCODINGS)}"
            raise InputError(f"encoding is {self.encoding[:20]!r}", right)


USUAL_DIALECT: Final = Dialect()
NUMBERS: Final = re.compile("u?int[0-9]+|halffloat|float|double")  #: types of pyarrow
Batch = dict[str, Sequence[object]]  #: the cells of some rows, by column
Counted = tuple[int, Batch]  #: a batch, after its number of rows: it may have no column


def check_same_columns(files: Sequence[DataFile], identity: str | None = None) -> None:
    """Refuse Parquet or Arrow files of other column types than the first one, which are public.

    Types that depend on whether there are gaps are alike: that of a column without any cell, and whole and
    broken numbers; but not where the column is the `identity`, whose numbers lose digits.
    """
    types: dict[str, str] = {}
    for file in files if files[0].kind not in SEPARATED and len(files) > 1 else ():
        with _arrow_file(file) as (schema, _):
            for name, kind in ((field.name, str(field.type)) for field in schema):
                if kind == "null":
                    continue
                other = types.setdefault(name, kind)
                numbers = name != identity and NUMBERS.fullmatch(kind) and NUMBERS.fullmatch(other)
                if kind != other and not numbers:
                    what = f"the column {name} is {kind}, in another file {other}"
                    raise InputError(what, "write one type", str(file.place))


def batches(
    source: DataFile | Source,
    names: Sequence[str],
    declared: Sequence[str] = (),
    dialect: Dialect = USUAL_DIALECT,
) -> Iterator[Batch]:
    """Yield the cells of the columns `names`, some rows at a time, in the file's order.

    Raises `InputError` for what is public (a header that lacks one of `names` or of the `declared`
    columns, a column that is nested), and where pyarrow is needed and not there.
    """
    file = source if isinstance(source, DataFile) else one_file(source)
    if file.kind not in KNOWN:
        raise _unknown(file)
    given = file.columns
    own = [name for name in names if name not in given]
    others = [name for name in declared if name not in given]
    check_dialect(file, dialect)
    read = partial(_lines, dialect) if file.kind in SEPARATED else _columnar
    for count, batch in read(file, own, others):
        yield batch | {name: _repeated(given[name], count) for name in names if name in given}


def check_dialect(file: DataFile, dialect: Dialect) -> None:
    """Refuse a separator or an encoding for a file that is known to be no CSV file."""
    columnar = file.kind in KNOWN and file.kind not in SEPARATED
    if (columnar or "#" in file.kind) and dialect != USUAL_DIALECT:  # or a database's table
        raise InputError("separator and encoding are of CSV files", "leave them out", str(file.place))


def _repeated(value: str | None, count: int) -> Sequence[object]:
    """Return the cells of a column that the name of a folder gives."""
    try:
        from pyarrow import repeat, scalar, string
    except ImportError:  # CSV needs no extra
        return [value] * count
    return ArrowCells(repeat(scalar(value, string()), count))


# ------------------------------------------------------------------ CSV


def header(
    source: Source, encoding: str = "utf-8", separator: str | None = None
) -> tuple[list[str], Dialect]:
    """Return the names of a table's columns, which its first file has, and its dialect; reads no row.

    Without a `separator` it is what the first line has most of.  Raises `InputError` for files that cannot be
    read, and for a first line that looks like a row, of which nothing is said.
    """
    file = files_of(source)[0]
    if isinstance(file.place, Path) and file.place.exists() and not file.place.is_file():
        raise InputError("no file", "give a readable data file", str(source))
    if file.kind not in KNOWN:
        raise _unknown(file)
    if file.kind not in SEPARATED:
        with _arrow_file(file) as (schema, _):
            return [*schema.names, *file.columns], USUAL_DIALECT
    with _opened(file, Dialect(",", encoding)) as lines:
        line = lines.readline(LONGEST_HEADER)
        if SEPARATOR_LINE.fullmatch(line):
            line = lines.readline(LONGEST_HEADER)
    bare = re.sub('"[^"]*"', "", line)  # a quoted name may hold any of them
    dialect = Dialect(max(SEPARATORS, key=bare.count) if separator is None else separator, encoding)
    line = line.removesuffix("\n").removesuffix("\r")
    pieces = [piece.strip("\"' ").lower() for piece in re.split("[,;|\t]", line)]
    if "\r" in line or len(line) >= LONGEST_HEADER or not all(HEADING.fullmatch(each) for each in pieces):
        what = "the first line looks like a row: a name begins with a letter, and each column has one"
        raise InputError(what, "let the first line name every column", str(source))
    return [*_cells(line, dialect.separator), *file.columns], dialect


@contextmanager
def _opened(file: DataFile, dialect: Dialect) -> Iterator[IO[str]]:
    name = codecs.lookup(dialect.encoding).name
    encoding = "utf-8-sig" if name == "utf-8" else name
    with file.opened(encoding=encoding, errors="replace", newline="\n") as lines:
        try:
            yield lines
        except UnicodeError:  # all others are replaced
            right = "convert it to UTF-8, or give its encoding"
            raise InputError("it does not begin with the mark of UTF-16", right, str(file.place)) from None


def _unknown(file: DataFile) -> InputError:
    return InputError("a file of an unknown kind", f"give {', '.join(KNOWN)}", str(file.place))


def _lines(
    dialect: Dialect, source: DataFile, names: Sequence[str], declared: Sequence[str]
) -> Iterator[Counted]:
    with _opened(source, dialect) as file:
        header, between = _begun(file, source, dialect)
        places = _places(source, header, names, declared)
        for lines in _batches_of_lines(file):
            columns = _plain_columns(lines, len(header), places, between)
            if columns is None:
                rows = [_cells(line, between) for line in lines]
                columns = {
                    name: [row[at] if at < len(row) else None for row in rows] for name, at in places.items()
                }
            yield len(lines), columns


def _begun(file: IO[str], source: DataFile, dialect: Dialect) -> tuple[list[str], str]:
    """Read the header of a file; return its names and the separator."""
    csv.field_size_limit(LONGEST_LINE)  # a long cell is no error: that would reveal it
    between = "\t" if ".tsv" in source.kind and dialect.separator == "," else dialect.separator
    first = file.readline()
    if said := SEPARATOR_LINE.fullmatch(first):
        between, first = said[1], file.readline()
    return _cells(first, between), between


def broken_lines(source: DataFile, dialect: Dialect) -> int:
    """Return how many lines have not as many cells as the header, or an open quotation mark."""
    if source.kind not in SEPARATED:
        return 0
    with _opened(source, dialect) as file:
        header, between = _begun(file, source, dialect)
        lines = (line for several in _batches_of_lines(file) for line in several)
        return sum(line.count('"') % 2 == 1 or len(_cells(line, between)) != len(header) for line in lines)


def _batches_of_lines(file: IO[str]) -> Iterator[list[str]]:
    """Yield the lines without their ends, in batches; those that are too long are empty."""
    rest = ""
    while chunk := file.read(CHUNK):
        *lines, rest = (rest + chunk).split("\n")
        rest = rest[: LONGEST_LINE + 1]
        if lines and len(lines[0]) > LONGEST_LINE:  # the others are within a chunk
            lines[0] = ""
        for start in range(0, len(lines), BATCH):
            yield lines[start : start + BATCH]
    if rest:
        yield [rest if len(rest) <= LONGEST_LINE else ""]


def _plain_columns(lines: list[str], width: int, places: dict[str, int], between: str) -> Batch | None:
    """Return the columns of lines as pyarrow reads them, or None where a line needs the rules of `_cells`.

    Plain lines have as many cells as the header, without quotes and bare carriage returns, in ASCII: both
    readers read the same cells from them.
    """
    text = "\n".join([*lines, ""])
    if not places or '"' in text or "\r" in text or not text.isascii():
        return None
    if any(line.count(between) != width - 1 for line in lines):
        return None
    try:
        from pyarrow import csv as arrow_csv
        from pyarrow import string
    except ImportError:  # CSV needs no extra
        return None
    # Numbers for names, as a header may be empty or name a column twice.
    names = [str(place) for place in range(width)]
    table = arrow_csv.read_csv(
        io.BytesIO(text.encode()),
        arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
        arrow_csv.ParseOptions(delimiter=between, quote_char=False, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            include_columns=[names[at] for at in dict.fromkeys(places.values())],
            column_types=dict.fromkeys(names, string()),
            strings_can_be_null=False,
        ),
    )
    return {name: ArrowCells(table.column(names[at]).combine_chunks()) for name, at in places.items()}


def _cells(line: str, between: str) -> list[str]:
    """Return a line's cells; a bare carriage return within them is a space.

    The reader refuses such a return, and a row without its cells would have no identity.
    """
    bare = line.removesuffix("\n").removesuffix("\r")  # a header has both
    for text in (bare, bare.replace("\r", " ")):
        with suppress(csv.Error):
            return next(csv.reader([text], delimiter=between), [])
    return []


def _places(
    file: DataFile, header: Sequence[str], names: Sequence[str], declared: Sequence[str]
) -> dict[str, int]:
    """Return the index of each of `names` in a row; the header is public."""
    path = str(file.place)
    if twofold := [name for name in file.columns if name in header]:
        what = f"the column {twofold[0]} is in the file and in the name of its folder"
        raise InputError(what, "leave it out of one of them", path)
    lacking = [name for name in dict.fromkeys((*names, *declared)) if name not in header]
    if lacking:
        names_them = "let the first line name every declared column"  # one that does not may be a row
        raise InputError(f"no column {', '.join(lacking)}", names_them, path)
    twice = [name for name in names if list(header).count(name) > 1]
    if twice:
        raise InputError(f"the column {twice[0]} appears twice in the header", "rename one", path)
    return {name: list(header).index(name) for name in names}


# ------------------------------------------------------------------ Parquet and Arrow


def _columnar(file: DataFile, names: Sequence[str], declared: Sequence[str]) -> Iterator[Counted]:
    with _arrow_file(file) as (schema, held):
        _places(file, schema.names, names, declared)
        for batch in held(list(names)):
            yield from record_batches(batch, names, str(file.place))


def record_batches(batch: Any, names: Sequence[str], where: str | None = None) -> Iterator[Counted]:
    """Yield the number of rows and the columns of pyarrow's record batch, some rows at a time.

    Raises `InputError` for a column that lacks or is nested.
    """
    for name in names:
        if name not in batch.schema.names:
            raise InputError(f"no column {name}", f"there are {', '.join(batch.schema.names)[:200]}", where)
        kind = batch.schema.field(name).type
        if kind.num_fields:  # lists, structures, maps and unions
            what = f"the column {name} is nested ({str(kind)[:60]})"
            raise InputError(what, "give each cell one value", where)
    for start in range(0, batch.num_rows, BATCH):
        some = batch.slice(start, BATCH)
        yield some.num_rows, {name: _column(some.column(name)) for name in names}


@contextmanager
def _arrow_file(file: DataFile) -> Iterator[tuple[Any, Callable[[list[str]], Iterator[Any]]]]:
    """Give the schema of a Parquet or Arrow file, and what yields batches of some columns."""
    where, remote = str(file.place), isinstance(file.place, Remote)
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("pyarrow reads such files", "pip install 'dpaccount[tables]'", where) from None
    try:
        with ExitStack() as stack:
            source = stack.enter_context(file.opened() if remote else arrow.memory_map(where))
            if file.kind == ".parquet":
                opened = stack.enter_context(
                    parquet.ParquetFile(source if remote else where, pre_buffer=False)
                )
                yield opened.schema_arrow, lambda names: opened.iter_batches(BATCH, columns=names)
            else:
                held = stack.enter_context(arrow.ipc.open_file(source))
                yield held.schema, lambda _: map(held.get_batch, range(held.num_record_batches))
    except OSError as error:
        raise InputError(str(error.strerror or "unreadable"), "give a readable data file", where) from None
    except arrow.ArrowException as error:
        what = f"no {file.kind} file ({type(error).__name__})"
        raise InputError(what, "write it again", where) from None


class ArrowCells(Sequence[object]):
    """A column's cells in some rows, as pyarrow holds them; work on them is done once a distinct value."""

    def __init__(self, array: Any) -> None:
        """Hold a pyarrow array."""
        self.array = array

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        """Return one cell as Python's own value."""
        return _value(self.array[place])

    def __iter__(self) -> Iterator[object]:
        """Return the cells as Python's own values."""
        values = self.values
        return (values[place] for place in self.places.tolist())

    def taken(self, rows: NDArray[np.int64]) -> "ArrowCells":
        """Return the cells of some of the rows."""
        return ArrowCells(self.array.take(rows))

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the cells as numbers, where all are texts of plain ones: as Python would read them."""
        from pyarrow import compute, float64, types

        if (
            not (types.is_string(self.array.type) or types.is_large_string(self.array.type))
            or not compute.all(
                compute.match_substring_regex(self.array, PLAIN_NUMBER), skip_nulls=False
            ).as_py()
        ):
            return None
        return self.array.cast(float64()).to_numpy(zero_copy_only=False)

    @property
    def values(self) -> list[object]:
        """Return the distinct cells, None for a missing one."""
        return self._coded[0]

    @property
    def places(self) -> NDArray[np.int64]:
        """Return where in `values` each row's cell is."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[list[object], NDArray[np.int64]]:
        from pyarrow import ArrowException

        try:
            plain = self.array.dictionary_decode() if hasattr(self.array, "dictionary") else self.array
            coded = plain.dictionary_encode(null_encoding="encode")
        except ArrowException:  # nested cells have no dictionary
            return _listed(self.array), np.arange(len(self.array))
        return _listed(coded.dictionary), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _column(cells: Any) -> Sequence[object]:
    from pyarrow import compute, types

    if types.is_dictionary(cells.type) and types.is_floating(cells.type.value_type):
        cells = cells.dictionary_decode()
    kind = cells.type
    if types.is_float16(kind) or types.is_float32(kind):
        return _doubles(cells)
    sized = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
    if sized and cells.nbytes > LONGEST_LINE:
        cells = compute.if_else(compute.less_equal(compute.binary_length(cells), LONGEST_LINE), cells, None)
    numeric = types.is_integer(kind) or types.is_floating(kind)
    if numeric and not cells.null_count:
        return cells.to_numpy(zero_copy_only=False)
    return ArrowCells(cells)


def _doubles(cells: Any) -> Sequence[object]:
    """Return numbers of lower precision as the shortest decimals that read back as them."""
    from pyarrow import array, float64

    held = cells.to_numpy(zero_copy_only=False)
    distinct, places = np.unique(held, return_inverse=True)
    doubles = np.array([value_of(number) for number in distinct], dtype=np.float64)[places]
    gaps = np.array(cells.is_null())
    return ArrowCells(array(doubles, float64(), mask=gaps)) if gaps.any() else doubles  # type: ignore[return-value]


def _listed(cells: Any) -> list[object]:
    try:
        listed: list[object] = cells.to_pylist()
    except Exception:  # bad date or Unicode: the text would reveal the cell
        listed = [_value(cell) for cell in cells]
    return listed


def _value(cell: Any) -> object:
    """Return the Python value of a cell, None where it has none; of days beyond the calendar, "infinity"."""
    from pyarrow import types

    try:
        value: object = cell.as_py()
    except Exception:  # pyarrow and its callbacks raise many kinds of exceptions
        # Nanoseconds in 64 bits stay within the calendar.
        far = types.is_date(cell.type) or (types.is_timestamp(cell.type) and cell.type.unit != "ns")
        return ("-infinity" if cell.value < 0 else "infinity") if far else None
    return value
