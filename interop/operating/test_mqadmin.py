"""mqadmin's commands against the name server, one after the other: what each prints, and what is shown afterwards."""

from __future__ import annotations

from interop.harness import views
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

BROKER, TOPIC = "broker-a", "Managed"
# Without its timer wheel a 5.5.0 broker fails to delete any topic.
DELETES_TOPICS = {"timerWheelEnable": "true"}
ORDER = "ORDER_TOPIC_CONFIG"


def test_operators_manage_topics_kv_permissions_and_configuration(fleet: Fleet) -> None:
    """B094, B098, B101, B197, B201, B216, B219 to B223, B234, B238."""
    server = fleet.name_server()
    broker = fleet.broker(BROKER, server, properties=DELETES_TOPICS)
    run = fleet.admin(server).run

    made = run("updateTopic", "-c", CLUSTER, "-t", TOPIC, "-r", "3", "-w", "5", "-o", "true")
    made.prints(rf"set cluster orderConf\. isOrder=true, orderConf=\[{BROKER}:5\]")
    made.prints(f"create topic to {broker.address} success")
    assert views.kv(server, ORDER, TOPIC) == f"{BROKER}:5"
    eventually(lambda: views.addresses(server, TOPIC) == {BROKER: {0: broker.address}})
    route = run("topicRoute", "-t", TOPIC, "-l").prints(rf"{CLUSTER} .*\n")[0]
    assert route.split() == [CLUSTER, BROKER, f"{{0={broker.address}}}", "3", "5", "6"]
    run("topicRoute", "-t", "nowhere").fails_with("CODE: 17  DESC: No topic route info in name server for the topic")
    assert set(views.routes(server)) <= set(run("topicList").text.split())
    listed = run("clusterList").prints(rf"{CLUSTER} .*\n")[0]
    assert listed.split()[:5] == [CLUSTER, BROKER, "0", broker.address, "V5_5_0"]

    run("updateKvConfig", "-s", "interop", "-k", "colour", "-v", "grün = 1").prints("update kv config to name")
    assert views.kv(server, "interop", "colour") == "grün = 1"
    run("deleteKvConfig", "-s", "interop", "-k", "colour").prints("delete kv config from namespace success")
    assert views.kv(server, "interop", "colour") is None
    run("updateOrderConf", "-t", TOPIC, "-m", "get").prints(rf"orderConf=\[{BROKER}:5\]")
    run("updateOrderConf", "-t", TOPIC, "-m", "delete").prints("delete orderConf success")
    run("updateOrderConf", "-t", TOPIC, "-m", "get").fails_with("CODE: 22  DESC: No config item")

    for command, permission in (("wipeWritePerm", 4), ("addWritePerm", 6)):
        run(command, "-b", BROKER).prints(rf"of broker\[{BROKER}\] .* OK, {len(views.routes(server))}\b")
        assert views.perms(server, TOPIC) == {BROKER: permission}
    run("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true").prints("update name server config success!")
    run("getNamesrvConfig").prints(r"orderMessageEnable +=  true\n")
    run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "/elsewhere").fails_with("CODE: 16  DESC: Can not update")
    run("deleteTopic", "-c", CLUSTER, "-t", TOPIC).prints(rf"delete topic \[{TOPIC}\] from NameServer success")
    assert views.addresses(server, TOPIC) == {}
