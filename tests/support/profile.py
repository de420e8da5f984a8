"""One Hypothesis profile for all property tests: how many examples they try.

Imported by the conftest of every folder with such tests. ``--hypothesis-profile=thorough`` tries fifty times as many.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rocketns",
    max_examples=40,
    deadline=None,  # a slow run on a busy machine is not a failure
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("rocketns"), max_examples=2000)
settings.load_profile("rocketns")
