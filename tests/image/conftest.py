"""An engine and the image that `make image` built."""

import os
from collections.abc import Iterator

import pytest

from tests.image.containers import Container, Engine, find_engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Skip where nobody asks for the image to be tried; fail where it cannot be."""
    image = os.environ.get("CONTEXTFIND_TEST_IMAGE", "")
    if not image:
        pytest.skip("no image named: make test-image")
    program = find_engine()
    assert program, "neither docker nor podman can run anything here"
    engine = Engine(program, image)
    assert engine.say("image", "inspect", image).returncode == 0, f"no {image}: make image"
    return engine


@pytest.fixture(scope="module")
def volume(engine: Engine) -> Iterator[str]:
    with engine.volume() as name:
        yield name


@pytest.fixture(scope="module")
def container(engine: Engine, volume: str) -> Iterator[Container]:
    """One that is ready, on the volume of the module."""
    with engine.running(volume) as running:
        running.wait()
        yield running
