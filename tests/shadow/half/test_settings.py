"""The half has the upstream's properties, as far as they matter and rocketns takes them."""

from __future__ import annotations

from pathlib import Path

from rocketns.shadow.half.half import settings, taken_from

JAVA = """\
bindAddress=0.0.0.0
configStorePath=/root/namesrv/namesrv.properties
enableControllerInNamesrv=true
kvConfigPath=/root/namesrv/kvConfig.json
listenPort=9876
orderMessageEnable=true
rocketmqHome=/opt/rocketmq
scanNotActiveBrokerInterval=0
serverWorkerThreads=8
somethingElse=1
supportActingMaster=true
"""


def test_the_half_takes_the_upstream_s_properties_without_places_and_what_it_would_not_start_with() -> None:
    taken = taken_from(JAVA)
    assert taken == {
        "orderMessageEnable": "true", "rocketmqHome": "/opt/rocketmq", "serverWorkerThreads": "8",
        "supportActingMaster": "true",
    }  # fmt: skip


def test_the_operator_s_file_goes_before_the_upstream_and_what_a_half_must_have_before_both() -> None:
    given = {"orderMessageEnable": "false", "rocketns.mute": "false", "listenPort": "9876"}
    found = settings(given, {"orderMessageEnable": "true", "supportActingMaster": "true"}, Path("/f"), None, "")
    assert (found["orderMessageEnable"], found["supportActingMaster"]) == ("false", "true")
    assert (found["rocketns.mute"], found["listenPort"], found["bindAddress"]) == ("true", "0", "127.0.0.1")
    assert found["kvConfigPath"] == "/f/kvConfig.json"
    assert "journalPath" not in found


def test_the_journal_keeps_its_id_when_the_half_s_port_changes() -> None:
    assert settings({}, {}, Path("/f"), "/journal", "shadow_9876")["journalNs"] == "shadow_9876"
    assert settings({"journalNs": "a"}, {}, Path("/f"), "/journal", "shadow_9876")["journalNs"] == "a"
