"""The tables of the search index: they hold nothing that the log cannot give again.

They are named by a digest of what they are made with, so that the vectors of two embedders never meet. Only entries
and tags are behind row-level security: no index of arrays or vectors is of use there. So the other tables do not say
whose they are, and whatever is found in them is looked up in the entries before anything is told of it.
"""

# ruff: noqa: S608 - names of our own tables; every value is bound

import hashlib
from dataclasses import dataclass

from psycopg import AsyncConnection

from contextfind.adapters.postgres.schema import guarded

RECIPE = 2  # what is written and how; another number makes all indexes anew
_BESIDE = "_new"
_INLINE = 8_160  # bytes of a row that lie in one piece: what a question reads is not put together from parts
# Asked once for each statement, and not for each of thousands of rows.
_OWN = "((SELECT current_setting('contextfind.account', true)) IN (account, '*'))"
# As pgvector has them. With breadth 160 they find what `tests/benchmark/postgres_index.py` says.
_LINKS, _CARE = 16, 64
# Every search begins with the state; so whoever takes tables away begins there too, and they do not wait crosswise.
_NAMES = """
    SELECT relname, relkind = 'i' FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i') AND relname ~ %s
    ORDER BY relname !~ '_state$', relkind, relname
"""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one index.

    prefix: what all their names begin with. dimension: length of the vectors.
    """

    prefix: str
    dimension: int

    @classmethod
    def named(cls, dimension: int, fingerprint: str) -> "Tables":
        """Return those of an embedder and a tokenizer."""
        recipe = f"{RECIPE}/{dimension}/{fingerprint}".encode()
        return cls(f"index_{hashlib.sha256(recipe).hexdigest()[:10]}", dimension)

    @property
    def beside(self) -> "Tables":
        """Those that are built to take the place of these."""
        return Tables(self.prefix + _BESIDE, self.dimension)

    @property
    def state(self) -> str:
        """One row: how far the log was followed, and what there is."""
        return f"{self.prefix}_state"

    @property
    def entries(self) -> str:
        """A row for each record."""
        return f"{self.prefix}_entries"

    @property
    def tags(self) -> str:
        """The tags of the entries once more, to be found by."""
        return f"{self.prefix}_tags"

    @property
    def passages(self) -> str:
        """A row for each passage: its words."""
        return f"{self.prefix}_passages"

    @property
    def vectors(self) -> str:
        """Each vector once, however many passages have it: a graph does not stand many that are the same."""
        return f"{self.prefix}_vectors"

    @property
    def holders(self) -> str:
        """Which records have which vectors."""
        return f"{self.prefix}_holders"

    @property
    def counts(self) -> str:
        """How many passages hold a term."""
        return f"{self.prefix}_counts"

    @property
    def sizes(self) -> str:
        """How many passages of how many words somebody has."""
        return f"{self.prefix}_sizes"

    @property
    def graph(self) -> str:
        """The index of the vectors, once it is drawn."""
        return f"{self.prefix}_graph"

    def drawn(self, vector: str) -> str:
        """Return a vector as the graph has it: as half floats, so that twice as many fit into memory.

        Who is nearest is told by the whole numbers again, among those that the graph has found.
        """
        return f"({vector}::halfvec({self.dimension}))"


def statements(tables: Tables) -> tuple[str, ...]:
    """Return what makes the tables, empty."""
    return (*_state(tables), *_entries(tables), *_words(tables), *_vectors(tables))


def _state(t: Tables) -> tuple[str, ...]:
    return (
        # drawn: there is a graph. records, passages, vectors: how many there are.
        f"""CREATE TABLE {t.state} (
            position bigint NOT NULL, records bigint NOT NULL, passages bigint NOT NULL,
            vectors bigint NOT NULL, drawn boolean NOT NULL
        )""",
        f"INSERT INTO {t.state} VALUES (0, 0, 0, 0, FALSE)",
    )


def _entries(t: Tables) -> tuple[str, ...]:
    return (
        # passages: how many. vectors: the number of the vector of each, NULL until all have one.
        f"""CREATE TABLE {t.entries} (
            id bigint PRIMARY KEY,
            account text COLLATE "C" NOT NULL,
            owner text COLLATE "C" NOT NULL,
            uri text COLLATE "C" NOT NULL,
            parent text COLLATE "C" NOT NULL,
            name text COLLATE "C" NOT NULL,
            level smallint NOT NULL,
            context_type text COLLATE "C" NOT NULL,
            tags text[] COLLATE "C" NOT NULL,
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            passages integer NOT NULL,
            vectors bigint[]
        )""",
        f"CREATE INDEX {t.entries}_by_parent ON {t.entries} (account, parent)",
        f"CREATE INDEX {t.entries}_by_uri ON {t.entries} (account, uri)",
        f"CREATE INDEX {t.entries}_by_kind ON {t.entries} (account, context_type)",
        f"CREATE INDEX {t.entries}_by_age ON {t.entries} (account, updated_at)",
        *guarded(t.entries, _OWN),
        f"""CREATE TABLE {t.tags} (
            account text COLLATE "C" NOT NULL,
            tag text COLLATE "C" NOT NULL,
            record bigint NOT NULL,
            PRIMARY KEY (account, tag, record)
        )""",
        f"CREATE INDEX {t.tags}_by_record ON {t.tags} (record)",
        *guarded(t.tags, _OWN),
    )


def _words(t: Tables) -> tuple[str, ...]:
    return (
        # place: 0, 1, ... among the passages of the record. print: of its text and of who may see it.
        # keys, stream: see `index_words`.
        f"""CREATE TABLE {t.passages} (
            record bigint NOT NULL,
            place integer NOT NULL,
            ordinal bigint NOT NULL,
            print bigint NOT NULL,
            keys bigint[] NOT NULL,
            stream bytea NOT NULL,
            PRIMARY KEY (record, place)
        ) WITH (toast_tuple_target = {_INLINE})""",
        f"ALTER TABLE {t.passages} ALTER keys SET STORAGE EXTERNAL, ALTER stream SET STORAGE EXTERNAL",
        # No list of what is not sorted in yet: every question would have to read through it.
        f"CREATE INDEX {t.passages}_by_key ON {t.passages} USING gin (keys) WITH (fastupdate = off)",
        f"""CREATE TABLE {t.counts} (
            key bigint PRIMARY KEY, passages bigint NOT NULL
        ) WITH (fillfactor = 70)""",
        f"""CREATE TABLE {t.sizes} (
            account text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
            passages bigint NOT NULL, length bigint NOT NULL, PRIMARY KEY (account, owner)
        )""",
        *guarded(t.sizes),
    )


def _vectors(t: Tables) -> tuple[str, ...]:
    return (
        f"""CREATE TABLE {t.vectors} (
            number bigint PRIMARY KEY, vector vector({t.dimension}) NOT NULL
        ) WITH (toast_tuple_target = {_INLINE})""",
        f"""CREATE TABLE {t.holders} (
            number bigint NOT NULL, record bigint NOT NULL, PRIMARY KEY (number, record)
        )""",
        f"CREATE INDEX {t.holders}_by_record ON {t.holders} (record)",
    )


def drawing(tables: Tables) -> str:
    """Return what draws the graph of the vectors that are there; later ones are added as they come."""
    return (
        f"CREATE INDEX IF NOT EXISTS {tables.graph} ON {tables.vectors} USING hnsw"
        f" ({tables.drawn('vector')} halfvec_ip_ops) WITH (m = {_LINKS}, ef_construction = {_CARE})"
    )


async def exists(connection: AsyncConnection, tables: Tables) -> bool:
    """Return whether the tables are there."""
    cursor = await connection.execute("SELECT to_regclass(%s)", (f'"{tables.state}"',))
    row = await cursor.fetchone()
    return row is not None and row[0] is not None


async def make(connection: AsyncConnection, tables: Tables) -> None:
    """Make the tables, in the transaction that is open."""
    for statement in statements(tables):
        await connection.execute(statement.encode())


async def drop(connection: AsyncConnection, pattern: str) -> None:
    """Take away the tables whose names match a regular expression."""
    cursor = await connection.execute(_NAMES, (pattern,))
    for name, is_index in await cursor.fetchall():
        if not is_index:
            await connection.execute(f'DROP TABLE "{name}"'.encode())


async def put_in_place(connection: AsyncConnection, tables: Tables) -> None:
    """Have the tables beside take the place of these, in the transaction that is open."""
    beside = tables.beside.prefix
    await drop(connection, f"^{tables.prefix}_(?!{_BESIDE[1:]}_)")
    cursor = await connection.execute(_NAMES, (f"^{beside}_",))
    for name, is_index in await cursor.fetchall():
        kind, new = "INDEX" if is_index else "TABLE", tables.prefix + name[len(beside) :]
        await connection.execute(f'ALTER {kind} "{name}" RENAME TO "{new}"'.encode())


def others(tables: Tables) -> str:
    """Return the regular expression of the tables of other embedders."""
    return f"^index_(?!{tables.prefix.removeprefix('index_')}_)[0-9a-f]{{10}}_"
