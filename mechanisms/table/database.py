"""A table of a database, which is only read: once, by one read-only SELECT, every cell as text.

Rows are filtered, bounded and added by the same pass as those of files: a database has other rules for NULL,
NaN, rounding and collation.  Credentials are never in a URL: PostgreSQL's own files and variables have them
(``~/.pgpass``, ``PGPASSWORD``, ``PGSSLMODE``).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dpaccount.errors import InputError
from mechanisms.table.private_folder import private_folder
from mechanisms.table.reading import BATCH, Remote, Source, one_file

OF_DATABASES: Final = ("duckdb", "postgresql")
TABLE_URLS: Final = {
    "duckdb": re.compile(r"duckdb:///([^?#\0]+)#[^?#\0]+"),
    "postgresql": re.compile(
        r"(postgresql://([\w.%-]+@)?(\[[0-9A-Fa-f:.]+\]|[\w.%-]*)(:[0-9]{1,5})?/[\w.%-]+)#[^?#\0]+", re.ASCII
    ),
}
MONEY: Final = 790  #: PostgreSQL's number of the type whose texts have a currency mark
RIGHT_URLS: Final = "write duckdb:///FILE#TABLE, or postgresql://USER@HOST/DATABASE#TABLE without a password"
#: of a session: the text of a cell must not depend on the server's settings
SETTINGS: Final = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=1 -c bytea_output=hex"
    " -c lc_monetary=C -c row_security=off"  # a policy that hides rows is an error, as for a dump
)


@dataclass(frozen=True)
class DatabaseTable(Remote):
    """A table or view of DuckDB or PostgreSQL; a path in its URL is relative to `folder`."""

    folder: Path = Path()

    def __post_init__(self) -> None:
        """Refuse what names no table, a password, and a file outside of the folder."""
        # The URL is in the certificate: none of it is quoted, since it may have a password.
        if self._scheme not in OF_DATABASES or TABLE_URLS[self._scheme].fullmatch(self.url) is None:
            raise InputError("the URL names no table of a database", RIGHT_URLS)
        path = (self.folder / self._place).resolve()
        if self._scheme == "duckdb" and not path.is_relative_to(self.folder.resolve()):
            raise InputError(f"{self._place[:60]!r} leaves the claim's directory", "name a file inside it")

    @property
    def _scheme(self) -> str:
        return self.url.partition("://")[0]

    @property
    def _place(self) -> str:
        match = TABLE_URLS[self._scheme].fullmatch(self.url)
        return "" if match is None else match[1]

    @property
    def table(self) -> str:
        """Return the name of the table, after that of its schema, if it has one."""
        return self.url.rpartition("#")[2]

    @contextmanager
    def system(self) -> Iterator[tuple[Any, str]]:
        """Refuse to be read as a file."""
        raise InputError("a table of a database is no file", "release it as the data of a study", str(self))
        yield

    def names(self) -> list[str]:
        """Return the names of its columns; reads no row."""
        with self._connection() as connection:
            return self._columns(connection)

    @contextmanager
    def snapshot(self, names: Sequence[str]) -> Iterator[Path]:
        """Give the path of an Arrow file with some columns, which only its owner may read.

        The file is removed afterwards.  Rows are in the order of their cells, so that the same rows make the
        same file.  Raises `InputError`, without the database's own words, which may quote a row.
        """
        try:
            import pyarrow as arrow
        except ImportError:
            raise InputError("pyarrow holds its rows", "pip install 'dpaccount[sql]'", str(self)) from None
        text = arrow.large_string()  # a batch may hold more bytes than 32 bits count
        schema = arrow.schema([(name, text) for name in names])
        with private_folder() as folder:
            path = folder / "table.arrow"
            path.touch(mode=0o600)
            with self._connection() as connection:  # closed before a release, which may take minutes
                self._check(names, self._columns(connection))
                with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, schema) as written:
                    for rows in self._rows(connection, names):
                        arrays = [arrow.array(cells, text) for cells in zip(*rows, strict=True)]
                        written.write_batch(arrow.record_batch(arrays, schema=schema))
            yield path

    def _check(self, names: Sequence[str], there: Sequence[str]) -> None:
        for name in names:
            if there.count(name) != 1:
                what = "two columns" if name in there else "no column"
                raise InputError(f"{what} {name}", f"there are {', '.join(there)[:200]}", str(self))

    def _columns(self, connection: Any) -> list[str]:
        return [name for name, _ in self._described(connection)]

    def _described(self, connection: Any) -> list[tuple[str, Any]]:
        """Return the names of the columns, and their types as the database says them."""
        try:
            found = connection.execute(f"SELECT * FROM {self._quoted} LIMIT 0")  # noqa: S608 - quoted
            return [(str(column[0]), column[1]) for column in found.description]
        except Exception as error:  # each database has errors of its own
            what = f"no table {self.table!r} that can be read ({type(error).__name__})"
            raise InputError(what, "name a table or view, as SCHEMA.TABLE if need be", str(self)) from None

    def _rows(self, connection: Any, names: Sequence[str]) -> Iterator[list[tuple[str | None, ...]]]:
        types = self._described(connection) if self._scheme == "postgresql" else []
        money = {name for name, kind in types if kind == MONEY}
        inner = [f"CAST({_quoted(name)} AS NUMERIC)" if name in money else _quoted(name) for name in names]
        cells = [f"CAST({cell} AS VARCHAR)" for cell in inner]
        order = ", ".join(f'{cell} COLLATE "C"' for cell in cells)
        named = (
            {} if self._scheme == "duckdb" else {"name": "rows"}
        )  # on the server: it sends a batch at a time
        try:
            with closing(connection.cursor(**named)) as cursor:
                cursor.execute(f"SELECT {', '.join(cells)} FROM {self._quoted} ORDER BY {order}")  # noqa: S608
                while rows := cursor.fetchmany(BATCH):
                    yield rows
        except Exception:  # of what kind it is, or where, may tell of a row
            what = "the database ended before all rows were read"
            raise InputError(what, "see its own log; nothing is charged", str(self)) from None

    @property
    def _quoted(self) -> str:
        return ".".join(map(_quoted, self.table.split(".")))

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Give a read-only session."""
        try:
            connection = self._connected()
        except InputError:
            raise
        except ImportError as error:
            extra = "sql" if self._scheme == "duckdb" else "postgres"
            raise InputError(str(error), f"pip install 'dpaccount[{extra}]'", str(self)) from None
        except Exception as error:
            what = f"the database gives no connection ({type(error).__name__})"
            raise InputError(what, "see that it is there, and that you may read it", str(self)) from None
        with closing(connection):
            yield connection

    def _connected(self) -> Any:
        connection: Any
        if self._scheme == "duckdb":
            import duckdb

            path = self.folder / self._place
            if not path.is_file():
                raise InputError("no such file", "name a file of DuckDB", str(path))
            connection = duckdb.connect(str(path), read_only=True)
            connection.execute("SET TimeZone = 'UTC'")  # before it may load no part of itself
            # A name that is no table would be sought among files, and among Python's variables.
            for setting in ("enable_external_access", "python_enable_replacements"):
                connection.execute(f"SET {setting} = false")
            return connection
        import psycopg

        connection = psycopg.connect(self._place, options=SETTINGS, client_encoding="utf8")
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection


def named_by(url: str, folder: Path) -> Remote:
    """Return what a URL names: a table of a database, or a file or folder elsewhere."""
    return DatabaseTable(url, folder) if url.partition("://")[0] in OF_DATABASES else Remote(url)


def names_of(source: Source | None) -> tuple[str, ...]:
    """Return what a query may call a table: the first is its own name."""
    if source is None:
        return ()
    if isinstance(source, DatabaseTable):
        return source.table, source.table.rpartition(".")[2]
    name = one_file(source).name
    return name, Path(name).stem


def _quoted(name: str) -> str:
    """Return a name as SQL's identifier."""
    return '"' + name.replace('"', '""') + '"'
