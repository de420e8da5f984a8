"""Events as log lines, with the words that operators search for in Java's log."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from rocketns.protocol.body.route import DataVersion, queue_data
from rocketns.routeinfo.doubt import Doubt, Reason
from rocketns.routeinfo.events import (
    AdminRequested,
    BrokerConflict,
    BrokerDoubted,
    BrokerDown,
    BrokerHeartbeat,
    BrokerRefused,
    BrokerRegistered,
    Cause,
    Event,
    MinBrokerIdChanged,
    RequestRefused,
    TopicChange,
    TopicsDeleted,
    TopicsPut,
)
from rocketns.server.publishing import eventlog
from rocketns.server.publishing.eventlog import log_events

ADMIN = AdminRequested(100, 0, "a", "a:1", "ops", "k", (("key", "k"), ("value", "v")), None, "v")
WHO = "BrokerIdentityInfo [clusterName=C1, brokerAddr=a:1]"
DOUBT = Doubt(Reason.RESTORED, 0, 90_000)
OLD, NEW = queue_data(1, 2, 6, 0), queue_data(3, 4, 5, 6)
SHOWN_OLD = "QueueData [brokerName=ba, readQueueNums=1, writeQueueNums=2, perm=6, topicSysFlag=0]"
SHOWN_NEW = "QueueData [brokerName=ba, readQueueNums=3, writeQueueNums=4, perm=5, topicSysFlag=6]"


def registered(gap_ms: int | None) -> BrokerRegistered:
    return BrokerRegistered("C1", "ba", "a:1", 0, "h:1", DataVersion(0, 0, 0), 120_000, gap_ms)


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (registered(None), [f"INFO new broker registered, {WHO} HAService: h:1"]),
        (registered(5), []),
        (ADMIN,
         ["INFO admin request 100 (PUT_KV_CONFIG) of a:1, principal ops, access key k: response code 0, from None to "
          "v; fields: key=k value=v; requests: 1"]),
        (replace(ADMIN, code=216, fields=(), after=None, has_details=False), []),
        (replace(ADMIN, code=216, fields=(), after=None, has_details=False, count=9),
         ["INFO admin request 216 (DELETE_TOPIC_IN_NAMESRV) of a:1, principal ops, access key k: response code 0, "
          "nothing changed; fields: none; requests: 9"]),
        (RequestRefused(999, "admin", "no_evidence", "a", None, None, False, 2, (("topic", "T"),)),
         ["WARNING would refuse request 999 (unknown) of class admin of a, principal None, access key None: "
          "no_evidence; fields: topic=T; requests: 2"]),
        (BrokerDoubted("C1", "ba", "a:1", 0, DOUBT, 5),
         [f"WARNING broker unconfirmed (restored), {WHO}: it stays in the routes until it is confirmed, or known to be "
          "gone"]),
        (replace(registered(None), doubt=DOUBT), [f"INFO broker confirmed, {WHO} registered (it was restored)"]),
        (BrokerHeartbeat("C1", "a:1", None, DOUBT),
         [f"INFO broker confirmed, {WHO} sent a heartbeat (it was restored)"]),
        (BrokerHeartbeat("C1", "a:1", 5), []),
        (BrokerDown("C1", "ba", "a:1", 0, True, 5, Cause.EXPIRED),
         [f"INFO unregisterBroker, remove from brokerLiveTable OK, {WHO} (expired)"]),
        (BrokerDown("C1", None, "a:1", None, False, None, Cause.UNREGISTER),
         [f"INFO unregisterBroker, remove from brokerLiveTable Failed, {WHO} (unregister)"]),
        (BrokerConflict("C1", "ba", 0, "a:1", "a:2"),
         ["WARNING Registering Broker conflicts with the existed one, just ignore.: Cluster:C1, BrokerName:ba, "
          "BrokerId:0, Old BrokerAddr:a:1, New BrokerAddr:a:2."]),
        (BrokerRefused("ba", 7, "a:1"),
         ["WARNING Can't register topicConfigWrapper= because broker[7]=a:1 has not registered."]),
        (TopicsPut("ba", [TopicChange("T1", None, OLD), TopicChange("T2", OLD, NEW)], Cause.REGISTER),
         [f"INFO new topic registered, T1 {SHOWN_OLD}", f"INFO topic changed, T2 OLD: {SHOWN_OLD} NEW: {SHOWN_NEW}"]),
        (TopicsDeleted("ba", ["T1"], Cause.ADMIN), []),
        (MinBrokerIdChanged("ba", 1, "a:2", "a:1", None, ["a:2"]),
         ["INFO min broker id changed to 1, notify ['a:2'], offline broker addr a:1"]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_event_is_a_line_of_javas(event: Event, lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        log_events([event])
    levels = {logging.INFO: "INFO", logging.WARNING: "WARNING"}
    assert [f"{levels[record.levelno]} {record.getMessage()}" for record in caplog.records] == lines


def test_many_topics_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    most, told = eventlog.TOPIC_LINES_MAX, eventlog.TOPIC_LINES_OF_MORE
    with caplog.at_level("INFO"):
        log_events([TopicsPut("ba", [TopicChange(f"T{i}", None, OLD) for i in range(most)], Cause.REGISTER)])
        assert len(caplog.messages) == most
        caplog.clear()
        log_events([TopicsPut("ba", [TopicChange(f"T{i}", None, OLD) for i in range(most + 7)], Cause.REGISTER)])
    assert len(caplog.messages) == told + 1
    assert caplog.messages[-1] == f"… and {most + 7 - told} more topics of ba registered or changed (register)"


def test_long_names_have_fewer_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Each line has the broker's name, too: 100 lines of 8 KiB would take control 0.2 s to escape."""
    long = "\x01" * 4_000
    with caplog.at_level("INFO"):
        log_events([TopicsPut(long, [TopicChange(f"T{i}", OLD, NEW) for i in range(50)], Cause.PERM)])
    assert len(caplog.messages) == eventlog.TOPIC_CHARACTERS_MAX // (2 * len(long)) + 1
    assert caplog.messages[-1].startswith("… and 48 more topics of ")


def test_warnings_are_logged_where_only_warnings_are(caplog: pytest.LogCaptureFixture) -> None:
    """`--log-level WARNING` still shows them."""
    with caplog.at_level("WARNING"):
        log_events([registered(None), BrokerConflict("C1", "ba", 0, "a:1", "a:2"), BrokerRefused("ba", 7, "a:1")])
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
