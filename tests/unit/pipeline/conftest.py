from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stubs.chat import StubChat, Turn, stub_chat
from tests.unit.pipeline.desk import Desk


@pytest.fixture
def chat() -> Iterator[StubChat]:
    with stub_chat(Turn("By the river [1].")) as stub:
        yield stub


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Desk]:
    """Make the folder of a user who has some documents, and stand in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(chat: StubChat | None = None, seconds: float = 5.0) -> Desk:
        return Desk.make(tmp_path, chat, seconds)

    return make
