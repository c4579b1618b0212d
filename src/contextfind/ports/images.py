"""Pictures: where they come from, and the model that looks at them."""

from collections.abc import Sequence
from typing import Protocol

from contextfind.domain.images import Image
from contextfind.domain.records import Matrix


class ImageEmbedder(Protocol):
    """Pictures to unit vectors of the same space as an `Embedder`'s texts."""

    async def embed_images(self, images: Sequence[Image]) -> Matrix:
        """Return shape (len(images), dimension), rows of unit length, in order.

        Raises:
            UnavailableError: no answer, or a refused picture.

        """
        ...


class ImageFetcher(Protocol):
    """Reads pictures from the public web, and from nowhere else."""

    async def fetch(self, url: str) -> Image:
        """Return the picture at an `http(s)://` address; size and total time are bounded.

        Only public addresses are ever connected to, also after a redirect.

        Raises:
            InvalidArgumentError: not public, too large, no picture, or answered with an error.
            UnavailableError: it does not answer in time.

        """
        ...

    async def aclose(self) -> None:
        """Let go of threads."""
        ...
