"""What a scrape shows when a host asks for more, or connects more often, than it may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.wire import eventually
from tests.admin.conftest import Managed

pytestmark = pytest.mark.usefixtures("no_old_numbers")
RATES = {"rocketns.hostRequestsPerSecond": 2, "rocketns.hostConnectionsPerSecond": 3}


@pytest.mark.parametrize("reactors", [0, 1], ids=["loop", "reactors"])
def test_what_is_beyond_the_rate_of_a_host_is_counted_by_its_limit(
    start_managed: Callable[..., Managed], reactors: int
) -> None:
    managed = start_managed(RATES | {"rocketns.reactors": reactors})
    assert managed.scrape()("rocketns_beyond_rates_total", reason="host_requests_per_second") == 0
    with managed.connect() as client:
        for _ in range(6):
            client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        for _ in range(2):
            managed.connect().close()
        with managed.connect() as late:
            assert late.is_closed_by_server()
        eventually(lambda: managed.scrape()("rocketns_beyond_rates_total", reason="host_connections_per_second") == 1)
        seen = managed.scrape()
        assert seen("rocketns_beyond_rates_total", reason="host_requests_per_second") == 4
        assert seen("rocketns_connections_closed_total", reason="host_connections_per_second") == 1
        assert seen("rocketns_limit", limit="hostRequestsPerSecond") == 2
