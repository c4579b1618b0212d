"""What holds for all tests."""

from hypothesis import HealthCheck, settings

from tests import schemas

# A machine that is busy with something else makes an example slow, and proves nothing.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

if schemas.ON_POSTGRES:
    from tests import backends  # other suites run where ours is not installed

    backends.let_schemas_stand_in()


def pytest_sessionfinish() -> None:
    """Leave nothing in the database of the tests."""
    schemas.forget_all()
