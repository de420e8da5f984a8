"""The sentence of each change. Every kind that has words is told by the ring, so none is dropped silently."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args

from rocketns.admin.recent.ring import Recent
from rocketns.admin.recent.words import WORDS, EventRow, event_row, in_words
from rocketns.processor.context import Now
from rocketns.protocol.body.route import TopicQueueMappingInfo, queue_data
from rocketns.routeinfo import events as e
from rocketns.routeinfo.doubt import Doubt, Reason
from tests.check.source import ROOT

DOUBT = Doubt(Reason.RESTORED, 0, 1, 0)
CHANGE = e.TopicChange("T", None, queue_data(8, 8, 6, 0))
TOLD = {
    "reg": (e.BrokerRegistered("C", "b", "a:1", 0, None, None, 1, None, None, None), "b:0 at a:1 registered"),
    "back": (e.BrokerHeartbeat("C", "a:1", 5, DOUBT), "a broker of C at a:1 is back: it sent a sign of life"),
    "down": (
        e.BrokerDown("C", "b", "a:1", 0, True, 1_500, e.Cause.EXPIRED),
        "b:0 at a:1 is gone: no heartbeat within its time-out (last heard 1.5 s before)",
    ),
    "doubt": (
        e.BrokerDoubted("C", "b", "a:1", 0, DOUBT, None), "b:0 at a:1 is unconfirmed: known from the journal only"
    ),
    "conflict": (e.BrokerConflict("C", "b", 0, "a:2", "a:1"), "b:0 at a:1 was refused: a:2 has its id"),
    "unregistered": (e.BrokerRefused("b", 0, "a:1"), "b:0 at a:1 was refused: it is not registered"),
    "tput": (e.TopicsPut("b", [CHANGE], e.Cause.REGISTER), "b has topics T (register)"),
    "tdel": (e.TopicsDeleted("b", ["T", "U"], e.Cause.ADMIN), "b no longer has topics T, U (admin)"),
    "map": (e.MappingsPut("b", [("T", TopicQueueMappingInfo())]), "b has queue mappings of T"),
    "kv": (e.KvChanged("n", "{k}", None), "KV item n {k} was deleted"),
    "config": (e.ConfigChanged("tls.server.keyPassword", "secret"), "property tls.server.keyPassword is set"),
    "admin": (
        e.AdminRequested(216, 0, "a", "a:1", "ops", "key", (("topic", "T"),), None, None),
        "a:1 sent DELETE_TOPIC_IN_NAMESRV as ops: done",
    ),
    "refused": (
        e.RequestRefused(216, "admin", "not_granted", "a", None, None, True, 3, ()),
        "a was refused DELETE_TOPIC_IN_NAMESRV: not_granted (3 requests)",
    ),
    "stall": (e.Stalled(2_000), "this name server did not run for 2.0 s"),
}  # fmt: skip
NOT_TOLD = {e.BrokerIdsLeft, e.GroupChanged, e.MinBrokerIdChanged, e.FleetDiffers}


def test_each_kind_with_words_is_told() -> None:
    recent = Recent({})
    recent.watch([event for event, _ in TOLD.values()], Now(0, 0))
    assert {one.event: in_words(one) for one in recent.events} == {name: text for name, (_, text) in TOLD.items()}
    assert TOLD.keys() == WORDS.keys()
    assert {type(event) for event, _ in TOLD.values()} | NOT_TOLD == set(get_args(e.Event))


def test_the_page_reads_only_columns_that_a_change_has() -> None:
    script = (ROOT / "rocketns/admin/page/static/sentences.js").read_text("utf-8")
    read = set(re.findall(r"\bchange\.(\w+)", script)) | {"address", "broker", "cluster", "id"}
    assert read - {field.name for field in fields(EventRow)} == set()


def test_a_change_has_its_time_or_its_number_never_one_as_the_other() -> None:
    recent = Recent({})
    recent.watch([TOLD["down"][0], TOLD["stall"][0], TOLD["refused"][0], TOLD["conflict"][0]], Now(0, 0))
    rows = [event_row(one) for one in recent.events]
    assert [(row.event, row.ms, row.count, row.detail) for row in rows] == [
        ("down", 1_500, None, None),
        ("stall", 2_000, None, None),
        ("refused", None, 3, "was refused"),
        ("conflict", None, None, "a:2"),
    ]
