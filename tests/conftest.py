"""What holds for all tests."""

from hypothesis import HealthCheck, settings

from tests import schemas

# A machine that is busy with something else makes an example slow, and proves nothing.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_sessionfinish() -> None:
    """Leave nothing in the database of the tests."""
    schemas.forget_all()
