"""After a restart: key-value pairs and settings are kept, routes are not."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from tests.behaviour.calls import get_kv, put_kv, settings, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import cluster_info, route, topic_list


def test_routes_are_forgotten(start_server: Callable[..., NameServer], names: Names) -> None:
    """B250: after a restart there is no broker and no topic until they register again."""
    server = start_server()
    with server.connect() as client:
        registered(client, names)
        assert route(client, names.topic()) is not None
        server.restart()
    with server.connect() as client:
        assert route(client, names.topic()) is None
        assert cluster_info(client) == {"brokerAddrTable": {}, "clusterAddrTable": {}}
        assert topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == []
        registered(client, names)
        assert route(client, names.topic()) is not None


def test_pairs_and_settings_are_kept(start_server: Callable[..., NameServer], names: Names) -> None:
    """B250: also after a kill. The port is none that another server or client is given meanwhile."""
    server = start_server({"customKey": "from the file", "listenPort": free_port()})
    with server.connect() as client:
        put_kv(client, names.cluster, "ключ", 'a "value"')
        update_settings(client, "enableTopicList=false\nwaitSecondsForService=7\n")
        before = settings(client)
    server.kill()
    server.start()
    with server.connect() as client:
        assert get_kv(client, names.cluster, "ключ").ext == {"value": 'a "value"'}
        assert settings(client) == before
        assert client.request(codes.GET_UNIT_TOPIC_LIST).remark == "disable"
    assert before["listenPort"] == str(server.port)
