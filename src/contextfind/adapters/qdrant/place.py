"""Where a search index lies in a Qdrant cluster."""

import math
from dataclasses import dataclass, field
from hashlib import blake2b

from qdrant_client import AsyncQdrantClient

# Of how points look. Another number has every index built anew: it lies under another name then.
_RECIPE = 1


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster, and the name of a deployment in it.

    url: as in http://localhost:6333. api_key: empty where none is asked for. prefix: what the names of all collections
    of this deployment begin with; two deployments must not share one. timeout: seconds that one request may take.
    shards, replicas: of a new collection; None leaves the number of shards to the cluster.
    """

    url: str
    api_key: str = field(default="", repr=False)
    prefix: str = "contextfind"
    timeout: float = 10.0
    shards: int | None = None
    replicas: int = 1

    def client(self) -> AsyncQdrantClient:
        """Return a client of the cluster; nothing is asked yet."""
        return AsyncQdrantClient(
            url=self.url,
            api_key=self.api_key or None,
            timeout=math.ceil(self.timeout),
            check_compatibility=False,  # it would ask in a thread of its own, and only warn
        )

    def name(self, dimension: int, fingerprint: str) -> str:
        """Return the name of the index of one embedder: another one has another."""
        made_by = f"{_RECIPE} {dimension} {fingerprint}".encode()
        return f"{self.prefix}-{blake2b(made_by, digest_size=8).hexdigest()}"
