"""`rocketns shadow` in front of a Java name server, before a real broker, clients and mqadmin: all is answered alike.

tests/shadow/test_shadow.py plants differences, and kills the parts of the shadow.
"""

from __future__ import annotations

from collections import Counter

from interop.harness.sending.clients import assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually
from interop.operating.test_mqadmin import DELETES_TOPICS
from tests.shadow.test_shadow import Shadow

TOPIC, BROKER = "Steady", "broker-a"
MESSAGES = 150


def test_real_programs_see_no_difference(fleet: Fleet) -> None:
    """Lookups, registrations, heartbeats; of mqadmin also writes that reach both: KV, permission, topics."""
    shadow = Shadow(fleet.folder("shadow"), fleet.java().port)
    fleet.kills(shadow.process)
    broker = fleet.broker(BROKER, shadow, topics=[TOPIC], properties=DELETES_TOPICS)  # type: ignore[arg-type]
    eventually(shadow.knows_brokers)
    producer = fleet.producer([shadow], TOPIC, MESSAGES)
    assert_each_arrives_once(producer, fleet.consumer([shadow], TOPIC, "readers"), MESSAGES)
    admin = fleet.admin(shadow)
    for words, printed in (
        (("clusterList",), BROKER),
        (("getNamesrvConfig",), "kvConfigPath"),
        (("topicRoute", "-t", TOPIC), BROKER),
        (("updateTopic", "-b", broker.address, "-t", "Managed", "-r", "3", "-w", "3"), "create topic to .* success"),
        (("updateOrderConf", "-t", "Managed", "-m", "put", "-v", f"{BROKER}:3"), "update orderConf success"),
        (("wipeWritePerm", "-b", BROKER), "OK, "),
        (("addWritePerm", "-b", BROKER), "OK, "),
        (("deleteTopic", "-c", "InteropCluster", "-t", "Managed"), "delete topic .* from NameServer success"),
    ):
        admin.run(*words).prints(printed)

    def outcomes() -> Counter[str]:
        return sum(map(Counter, shadow.counts()["requests"].values()), Counter())

    eventually(lambda: outcomes()["equal"] + outcomes()["order"] >= 20, 240.0)
    assert not outcomes()["different"] + outcomes()["missing"], shadow.counts()
    assert shadow.process.stop() == 0, shadow.process.text()
