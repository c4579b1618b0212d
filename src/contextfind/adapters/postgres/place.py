"""Which database, and how long its answers may take."""

from dataclasses import dataclass

from psycopg import ProgrammingError, conninfo

from contextfind.domain.errors import ConfigError

SEARCHES = 4  # of one process at a time, in threads; more of them take turns with the interpreter


@dataclass(frozen=True, slots=True)
class Place:
    """A schema of a database.

    dsn: a libpq connection string or URL. schema: lower-case letters, digits and underscores; it is made when it is
    not there. connections: at most so many in each of the two pools of this process. seconds: of one statement,
    of waiting for a free connection or for a lock each. pgvector: the schema in which it lies.
    """

    dsn: str
    schema: str = "contextfind"
    connections: int = 8
    seconds: float = 30.0
    pgvector: str = "public"

    def __post_init__(self) -> None:
        """Refuse a connection string that libpq cannot read; it may hold a password, so nothing of it is told."""
        try:
            conninfo.conninfo_to_dict(self.dsn)
        except ProgrammingError:
            raise ConfigError(
                "storage.dsn is no connection string; it is spelled postgresql://user:password@host:5432/name, "
                "with %40 for an @ in the password, or as host=… user=… password=… dbname=…"
            ) from None

    @property
    def most_connections(self) -> int:
        """How many one process may open: both pools, the searches, the bell, the locks."""
        return 2 * self.connections + min(SEARCHES, self.connections) + 2

    def conninfo(self, account: str) -> str:
        """Return how to connect; `account`: whose rows statements see unless a transaction says otherwise."""
        milliseconds = int(self.seconds * 1_000)
        settings = {
            "search_path": f"{quoted(self.schema)},{quoted(self.pgvector)}",
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": 2 * milliseconds,
            "contextfind.account": account,
            "timezone": "UTC",
            # The server notices as soon that we are gone, with what we had locked; only over TCP.
            "tcp_keepalives_idle": 5,
            "tcp_keepalives_interval": 3,
            "tcp_keepalives_count": 3,
        }
        asked = conninfo.conninfo_to_dict(self.dsn).get("options") or ""  # some hosts want theirs
        ours = " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())
        return conninfo.make_conninfo(
            self.dsn,
            options=f"{asked} {ours}",
            application_name="contextfind",
            connect_timeout=max(2, int(min(self.seconds, 10.0))),
            # A machine that is gone without a word is noticed in some fifteen seconds.
            keepalives_idle=5,
            keepalives_interval=3,
            keepalives_count=3,
            tcp_user_timeout=15_000,
        )

    def shown(self) -> str:
        """Return where it is, without user and password: for messages."""
        known = conninfo.conninfo_to_dict(self.dsn)
        host, port = known.get("host", "localhost"), known.get("port", 5432)
        return f"{host}:{port}/{known.get('dbname', '')}, schema {self.schema}"


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _escaped(value: object) -> str:
    """Return a value as one word of `options`."""
    return str(value).replace("\\", "\\\\").replace(" ", "\\ ")
