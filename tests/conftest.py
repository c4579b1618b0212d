"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# A machine that is busy with something else makes an example slow, and proves nothing.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
