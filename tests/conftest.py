"""Shared fixtures.  Tests run from anywhere; nothing reads outside the project."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

settings.register_profile(
    "dev", max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("dev")


@pytest.fixture
def root() -> Path:
    """Return the project's root."""
    return ROOT
