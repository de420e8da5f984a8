"""One Hypothesis profile for all property tests: how many examples they try.

Imported by the conftest of every folder with such tests. ``--hypothesis-profile=thorough`` tries fifty times as many.
With ROCKETNS_SHRINK=0 in the environment a failing example is not made smaller, which takes up to 5 minutes.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

SIMPLIFYING = () if os.environ.get("ROCKETNS_SHRINK") == "0" else (Phase.shrink, Phase.explain)
settings.register_profile(
    "rocketns",
    max_examples=40,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.target, *SIMPLIFYING),
    deadline=None,  # a slow run on a busy machine is not a failure
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("rocketns"), max_examples=2000)
settings.load_profile("rocketns")
