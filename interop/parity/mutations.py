"""Faults planted between rocketns and a play, each with a scenario that must find it.

They change the frames, so they do not depend on rocketns' code.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass

from interop.harness.wire import Client, frame
from interop.parity.language import JSON_513, Form
from interop.parity.pairs.side import CLOSED, SILENT, Outcome, Side
from rocketns.shadow.comparing.frames import split

Edit = Callable[[bytes], bytes]
JSON_400 = Form(False, 400)


def _same(data: bytes) -> bytes:
    return data


def sub(pattern: bytes, replacement: bytes) -> Edit:
    """Replace every match."""
    return lambda data: re.sub(pattern, replacement, data, flags=re.S)


def of_code(code: int, edit: Edit) -> Edit:
    """Do it to requests of one code. Lengths have to stay."""
    return lambda data: edit(data) if b'"code":%d,' % code in data else data


@dataclass(frozen=True)
class Mutation:
    """The changes to headers and bodies of answers, to requests, and to connections."""

    name: str
    scenario: str
    header: Edit = _same
    body: Edit = _same
    request: Edit = _same
    form: Form = JSON_513
    closes_unnoticed: bool = False
    never_closes: bool = False
    closes_after_errors: bool = False


class Tampered(Side):
    """rocketns with a fault."""

    def __init__(self, side: Side, fault: Mutation) -> None:
        super().__init__(side.server)
        self.fault = fault
        self.kept: list[Client] = []

    def send(self, on: str, data: bytes) -> None:
        sent = self.fault.request(data)
        assert len(sent) == len(data), f"{self.fault.name} changes the length of a request"
        super().send(on, sent)

    def receive(self, on: str, within_s: float = 1.0) -> Outcome:
        outcome = super().receive(on, within_s)
        if outcome.kind != "answer":
            return SILENT if outcome == CLOSED and self.fault.never_closes else outcome
        header, body, kind = split(outcome.frame)
        if self.fault.closes_after_errors and b'"code":0' not in header:
            self.connections[on].socket.shutdown(socket.SHUT_RDWR)
        return Outcome("answer", frame(self.fault.header(header), self.fault.body(body), kind))

    def hang_up(self, on: str, half: bool = False) -> None:
        if self.fault.closes_unnoticed:
            self.kept.append(self.connections.pop(on))
        else:
            super().hang_up(on, half)


_BARE = rb"([{,])(-?\d+):"
_TURNED = rb"\2,\1"
_QUOTED = rb'([{,])"(-?\d+)":'
_OTHER = sub(rb'("brokerName":")a', rb"\1q")

MUTATIONS = (
    Mutation("another-remark", "unknown-topic-0", sub(rb"for the topic: ", b"for topic: ")),
    Mutation("no-link-in-the-remark", "unknown-topic-0", sub(rb"\\nSee [^\"]*", b"")),
    Mutation("no-blank-before-a-remark", "controller-codes", sub(b'"remark":" ', b'"remark":"')),
    Mutation("a-remark-on-success", "kv-put-get-list", sub(b'"serialize', b'"remark":"","serialize')),
    Mutation("no-remark-of-901", "members-of-a-group", sub(rb'"remark":"[^"]*",', b"")),
    Mutation("no-empty-ext-fields", "broker-of-its-age", sub(rb'"extFields":\{\},', b"")),
    Mutation("empty-ext-fields-everywhere", "clusters-and-groups", sub(b'"flag"', b'"extFields":{},"flag"')),
    Mutation("version-512", "answer-shape", sub(b'"version":513', b'"version":512')),
    Mutation("code-0-for-17", "route-without-topic", sub(b'"code":17', b'"code":0')),
    Mutation("code-1-for-22", "kv-missing", sub(b'"code":22', b'"code":1')),
    Mutation("code-1-for-16", "settings-forbidden-kv", sub(b'"code":16,', b'"code":1,')),
    Mutation("flag-of-the-request", "request-flag-4", sub(b'"flag":1', b'"flag":5')),
    Mutation("another-opaque", "opaque--1", sub(rb'"opaque":-1', b'"opaque":0')),
    Mutation("another-language", "answer-shape", sub(b'"JAVA"', b'"PYTHON"')),
    Mutation("keys-in-another-order", "answer-shape", sub(rb'("flag":1),("language":"JAVA")', rb"\2,\1")),
    Mutation("white-space-in-a-header", "answer-shape", sub(b"}$", b"} ")),
    Mutation("quoted-keys-for-old-peers", "route-of-one-broker", body=sub(_BARE, rb'\1"\2":'), form=JSON_400),
    Mutation("bare-keys-for-new-peers", "route-of-one-broker", body=sub(_QUOTED, rb"\1\2:")),
    Mutation("quoted-keys-in-106", "clusters-and-groups", body=sub(_BARE, rb'\1"\2":')),
    Mutation("standard-map-turned-round", "route-of-one-broker", body=sub(rb'("0":"[^"]+"),("1":"[^"]+")', _TURNED)),
    Mutation("no-zone-name", "zones-of-a-group", body=sub(rb',"zoneName":"[^"]*"', b"")),
    Mutation("nulls-that-are-written", "route-of-one-broker", body=sub(rb'(Master":false)}', rb'\1,"zoneName":null}')),
    Mutation("bare-large-longs", "mapping-of-epoch-9007199254740992", body=sub(rb'"epoch":"(\d+)"', rb'"epoch":\1')),
    Mutation("no-order-configuration", "order-configuration-in-routes", body=sub(rb'"orderTopicConf":"[^"]*",', b"")),
    Mutation("no-static-mapping", "mappings-over-time", body=sub(rb',"topicQueueMappingByBroker":.*', b"}")),
    Mutation("no-filter-servers", "filter-servers", body=sub(rb'(rServerTable":)\{[^}]*\}', rb"\1{}")),
    Mutation("a-broker-more-in-a-route", "zones", body=sub(rb'"queueDatas":\[\{.*?\},', b'"queueDatas":[')),
    Mutation("escapes-that-java-does-not-write", "kv-text-other-scripts", body=sub("ü".encode(), rb"\\u00fc")),
    Mutation("a-newline-after-the-body", "clusters-and-groups", body=sub(b"}$", b"}\n")),
    Mutation("settings-in-another-order", "settings-without-body", body=sub(rb"^([^\n]*\n)([^\n]*\n)", rb"\2\1")),
    Mutation("data-version-never-changed", "query-of-a-version", sub(b'"changed":"true"', b'"changed":"false"')),
    Mutation("no-master-address", "slave-learns-its-master", sub(rb',?"masterAddr":"[^"]*"', b"")),
    Mutation("topics-counted-wrong", "wipe-and-add", sub(rb'(TopicCount":")8', rb"\g<1>7")),
    Mutation("address-of-no-broker", "broker-of-its-age", body=sub(rb'^\{"brokerAddr":"h', b'{"brokerAddr":"x')),
    Mutation("acting-master-under-its-own-id", "acting-slaves-supported", body=sub(b'{"0":"h2', b'{"2":"h2')),
    Mutation("perm-not-wiped", "wipe-and-add", sub(rb'(wipeTopicCount":")0', rb"\g<1>8"), request=of_code(205, _OTHER)),
    Mutation("unregistration-without-effect", "unregister", request=sub(rb'"code":104,', b'"code":904,')),
    Mutation("key-not-deleted", "kv-delete", request=of_code(102, sub(rb'"key":"k"', b'"key":"j"'))),
    Mutation("topic-deleted-everywhere", "delete-topic", request=of_code(216, sub(b'"clusterName"', b'"clusterNamx"'))),
    Mutation("zone-not-stored", "zones-of-a-group", request=sub(b'"__ZONE_NAME"', b'"__ZONE_NAMX"')),
    Mutation("checksum-not-looked-at", "field-checksum-wrong", request=sub(b'"bodyCrc32"', b'"bodyCrc3x"')),
    Mutation("acting-group-stays-writable", "unregister-an-acting-group",
             request=sub(b'"enableActingMaster":"true"', b'"enableActingMaster":"tru3"')),
    Mutation("topic-flags-lost", "topics-by-flag", request=sub(b'"topicSysFlag"', b'"topicSysFlax"')),
    Mutation("oneway-answered", "oneway-nothing-comes-back", request=sub(b'"flag":2', b'"flag":0')),
    Mutation("close-unnoticed", "close-unregisters", closes_unnoticed=True),
    Mutation("malformed-frame-tolerated", "json-header-cut", never_closes=True),
    Mutation("connection-closed-after-an-error", "controller-codes", closes_after_errors=True),
)  # fmt: skip

# Of answers of a server that restored its routes: scenarios in which something differs in any case.
RESTORED = (
    Mutation("restored-permissions-wrong", "routes-after-a-kill", body=sub(b'"perm":6', b'"perm":4')),
    Mutation("restored-master-not-told", "other-brokers-after-a-kill", sub(rb',?"masterAddr":"[^"]*"', b"")),
)
