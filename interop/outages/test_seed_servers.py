"""The day on which a Java name server is replaced: rocketns starts with all of its routes."""

from __future__ import annotations

from interop.harness import codes, views
from interop.harness.sending.fleet import Fleet
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import cluster_info

BROKERS = 3


def test_all_routes_of_a_java_name_server_are_there_at_the_start(fleet: Fleet) -> None:
    """Groups with slaves, acting masters and zones; topics with their permissions; filter servers."""
    java = fleet.java()
    with java.connect() as client:
        for number in range(BROKERS):
            names = Names()
            registered(client, names, [f"T{one}" for one in range(40)], perm=4 + 2 * (number % 2), filters=["f:1"],
                       __ZONE_NAME=f"z{number}", enableActingMaster=str(number == 1).lower())  # fmt: skip
            registered(client, names, ["T0", "T1"], host=2, broker_id=1)
        server = fleet.name_server({"rocketns.seedServers": f"127.0.0.1:{java.port}"})
        with server.connect() as other:
            assert cluster_info(other) == cluster_info(client)
            request = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
            assert len(other.request(request).json()["topicList"]) == 40 * BROKERS
        assert views.routes(server) == views.routes(java)
