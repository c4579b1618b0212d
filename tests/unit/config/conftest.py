import pytest


@pytest.fixture(autouse=True)
def _directories_stand_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read settings as they are written, whatever the suite runs on."""
    monkeypatch.setattr("tests.backends.ON_POSTGRES", False)
