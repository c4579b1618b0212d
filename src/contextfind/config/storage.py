"""The sections of ov.conf that say where everything is kept, and what finds it again."""

from typing import Literal, Self

from pydantic import Field, model_validator

from contextfind.config.section import Seconds, Section, Url, secret


class StorageSettings(Section):
    """Where the data lies."""

    backend: Literal["sqlite", "postgres"] = Field(
        default="sqlite",
        description="`sqlite`: a data directory of one process. `postgres`: a database for any number of processes; needs `contextfind[postgres]`.",
    )
    path: str = Field(
        default="./contextfind-data",
        min_length=1,
        description="The data directory; made when it is not there. Also spelled `workspace`. Not used by `postgres`.",
    )
    dsn: str = secret(
        "The database of `postgres`, as libpq takes it: `postgresql://user:password@host:5432/name`."
    )
    db_schema: str = Field(
        default="contextfind",
        pattern=r"^[a-z_][a-z0-9_]{0,40}$",
        description="The schema in that database; made when it is not there. Two deployments need two.",
    )
    connections: int = Field(
        default=16,
        ge=4,
        le=1_000,
        description="Connections in each of the two pools of one process, at most. Up to four for searches and two for locks come on top: 38 with 16.",
    )
    timeout: Seconds = Field(
        default=20.0,
        description="Seconds that one statement of the database may take, or waiting for a connection; then requests are UNAVAILABLE.",
    )
    idle_seconds: float = Field(
        default=5.0,
        ge=0,
        le=3_600,
        description="After so long without a write, what deletes and updates left behind is taken away. 0: never.",
    )

    @model_validator(mode="after")
    def _postgres_has_a_place(self) -> Self:
        if self.backend == "postgres" and not self.dsn:
            raise ValueError(
                "storage.backend is 'postgres', but storage.dsn is missing; set it "
                "(or CONTEXTFIND_STORAGE__DSN) to postgresql://user:password@host:5432/name"
            )
        return self


class IndexSettings(Section):
    """How the search index finds what is near."""

    backend: Literal["auto", "embedded", "postgres", "qdrant"] = Field(
        default="auto",
        description="`embedded`: in the process, beside `sqlite`. `postgres`: pgvector, in the database of `storage`. `qdrant`: a cluster, beside either. `auto`: what fits the storage.",
    )
    graphs: bool = Field(
        default=True,
        description="Neighbour graphs find what is near among many vectors, fast and nearly always all of it. false: every vector is compared, which misses nothing and takes time in proportion; graphs on disk are kept. Of `embedded`.",
    )


class QdrantSettings(Section):
    """The cluster of `index.backend` `qdrant`; needs `contextfind[qdrant]`."""

    url: Url = Field(default="http://localhost:6333", description="Where it answers over HTTP.")
    api_key: str = secret("Its key.")
    prefix: str = Field(
        default="contextfind",
        pattern=r"^[A-Za-z0-9_-]{1,60}$",
        description="What the names of our collections begin with; two deployments need two.",
    )
    timeout: Seconds = Field(default=10.0, description="Seconds of one request.")
    shards: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="Shards of a new collection. None: as the cluster has it.",
    )
    replicas: int = Field(default=1, ge=1, le=100, description="Copies of each shard.")
