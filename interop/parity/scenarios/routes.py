"""Routes of many brokers, zones, static topics, and what is not a route (B197-B218)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interop.harness.payloads import data_version
from interop.parity.language import NAME, ONE_FORM, Differs, Form, HowMany, Scenario, Settle, Step
from interop.parity.phrases import (
    AWKWARD,
    ask,
    cluster_info,
    configure,
    delete_topic,
    lists,
    members,
    own,
    queue,
    register,
    register_topic,
    route,
    route_of,
    routes,
    topic,
    unregister,
)

STANDARD = {"acceptStandardJsonOnly": "true"}


def _zone(mode: str, name: str | None) -> dict[str, str]:
    return {"__ZONE_MODE": mode} | ({} if name is None else {"__ZONE_NAME": name})


def mapping_of(name: str, broker: str = "a", epoch: int = 7, queues: dict[str, int] | None = None,
               **more: Any) -> dict[str, Any]:  # fmt: skip
    """One entry of topicQueueMappingInfoMap."""
    info = {"bname": own(broker), "currIdMap": {"0": 0, "1": 1} if queues is None else queues, "dirty": False,
            "epoch": epoch, "scope": "__global__", "topic": own(name), "totalQueues": 8}  # fmt: skip
    return {own(name): info | more}


def _plain() -> Iterator[Scenario]:
    names = ("nope" + NAME, "", "%RETRY%group" + NAME, "null", AWKWARD + NAME, "x" * 300 + NAME, "ü" + NAME)
    for number, name in enumerate(names):
        steps = (ask(105, {"topic": name}), ask(105, {"topic": name} | STANDARD), ask(105, {"Topic": name}))
        yield Scenario(f"unknown-topic-{number}", "B017 B088 B197", steps)
    yield Scenario("route-without-topic", "B082 B083 B197", (ask(105), ask(105, {}), ask(105, {"other": "x"})))
    yield Scenario(
        "route-of-one-broker",
        "B090 B091 B198 B199 B200 B201",
        (
            register(filters=("f:1",)), route(), *(route(ext={"acceptStandardJsonOnly": value})
            for value in ("true", "TRUE", "false", "1", "")), register(host=2, broker_id=1), route(), cluster_info(),
        ),
    )  # fmt: skip
    brokers = tuple(register(name=f"b{number}", host=number, filters=(f"f{number}:1",)) for number in range(12))
    yield Scenario("route-of-many-brokers", "B198 B199 B202", (*brokers, *routes("T"), route(ext=STANDARD), *lists()))
    for text in ("a b", 'q"\\/', "ü😀", "\x7f\x85\u2028", "<&>'"):
        name = text + NAME
        ext: dict[str, Any] = {"brokerName": name, "clusterName": name, "haServerAddr": name, "__ZONE_NAME": name}
        steps = (register(**ext), *routes("T"), cluster_info(), ask(901, {"clusterName": name, "brokerName": name}))
        yield Scenario(f"names-with-{text.encode('unicode_escape').hex()[:12]}", "B088 B089", steps)


def _tables() -> Iterator[Scenario]:
    group = {"brokerName": own("a"), "clusterName": own("C")}
    parts: tuple[dict[str, str], ...] = (
        group, {"brokerName": own("a")}, {"clusterName": own("C")}, {}, group | {"clusterName": "other"},
        group | {"brokerName": "none"},
    )  # fmt: skip
    steps = (register(), register(host=2, broker_id=1), *(ask(901, part) for part in parts), ask(901), cluster_info())
    yield Scenario("members-of-a-group", "B217 B218", steps)
    two = (register(), register(name="b", host=2, cluster="D"), register(name="c", host=3))
    yield Scenario("clusters-and-groups", "B216 B230 B232",
                   (*two, cluster_info(), *lists(), ask(224, {"cluster": own("D")}), ask(224, {"cluster": "none"}),
                    ask(224), ask(224, {})))  # fmt: skip
    yield Scenario("one-broker-in-lists", "B221 B232", (register(), *lists(), unregister(), Settle(), *lists()))


def _zones() -> Iterator[Scenario]:
    zones = {1: "z1", 2: "Z1", 3: "z2", 4: None}
    brokers = tuple(
        register(name=f"b{number}", host=number, filters=(f"f{number}:1",) if number < 4 else (), __ZONE_NAME=zone)
        for number, zone in zones.items()
    )
    asked = (
        ("true", "z1"), ("TRUE", "z2"), ("true", "Z2"), ("true", "nowhere"), ("true", " "), ("true", ""),
        ("true", None), ("false", "z2"), ("1", "z2"), ("", "z2"),
    )  # fmt: skip
    filtered = tuple(route(ext=_zone(mode, name)) for mode, name in asked)
    standard = (route(ext=_zone("true", "z2") | STANDARD), route("none", ext=_zone("true", "z2")))
    yield Scenario("zones", "B211 B212 B214 B215", (*brokers, *routes("T"), *filtered, *standard))
    slave = register(name="s", host=9, broker_id=1, __ZONE_NAME="z9")
    yield Scenario("zone-of-a-group-without-master", "B213", (*brokers, slave, *filtered))
    acting = register(name="s", host=9, broker_id=1, __ZONE_NAME="z9", enableActingMaster="true")
    yield Scenario("zone-of-an-acting-master", "B207 B213",
                   (configure("supportActingMaster=true"), *brokers, acting, *filtered))  # fmt: skip
    mapped = register(name="b3", host=3, __ZONE_NAME="z2", mapping=mapping_of("T", "b3", 2**60), version=2)
    ordered = (configure("orderMessageEnable=true"),
               ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": own("T"), "value": "b3:4"}))  # fmt: skip
    yield Scenario("zone-with-mapping-and-order", "B092 B211", (*brokers, mapped, *ordered, *filtered, *routes("T")))


def _static() -> Iterator[Scenario]:
    for epoch in (0, 2**53 - 1, 2**53, -(2**53) + 1, -(2**53), 2**63 - 1, -(2**63)):
        steps = (register(mapping=mapping_of("T", epoch=epoch)), *routes("T"), route(ext=STANDARD))
        yield Scenario(f"mapping-of-epoch-{epoch}", "B092 B162", steps)
    odd = mapping_of("T", queues={"10": 1, "2": 2, "-3": 3, "0": 4, "1": 5}, dirty=True, scope='"s"', totalQueues=0)
    variants: dict[str, dict[str, Any]] = {
        "queues-in-no-order": odd,
        "only-a-name": {own("T"): {"bname": own("a")}},
        "null-scope": {own("T"): {"bname": own("a"), "scope": None}},
        "null-queues": {own("T"): {"bname": own("a"), "currIdMap": None}},
        "no-queues": mapping_of("T", queues={}),
        "unknown-topic": mapping_of("X"),
        "numbers-in-quotes": mapping_of("T", epoch="8", totalQueues="9"),  # type: ignore[arg-type]
    }
    for name, mapping in variants.items():
        yield Scenario(f"mapping-{name}", "B087 B091 B162", (register(mapping=mapping), *routes("T", "X")))  # fmt: skip
    late = mapping_of("T", epoch=99)
    yield Scenario(
        "mappings-over-time",
        "B162 B163 B164",
        (
            register(mapping=mapping_of("T")), *routes("T"), register(mapping=late), *routes("T"),
            register(version=2, mapping=late), *routes("T"), register(name="b", host=2, mapping=mapping_of("T", "b")),
            *routes("T"), unregister("b", 2), unregister(), Settle(), *routes("T"), register(name="c", host=3),
            register(("T", "U"), data_version(9), deflated=True, mapping=mapping_of("T", "c"), name="c", host=3),
        ),
        state=False,
    )  # fmt: skip
    again: tuple[Step, ...] = (register(mapping=mapping_of("T")), delete_topic(), register(mapping=mapping_of("T")))
    yield Scenario("mapping-of-a-topic-that-returns", "B162 B163", (*again, *routes("T")))
    shown = HowMany(route_of(), '"epoch"', differs=Differs("mappings-without-end", "^[1-9]", "^0$"))
    outlived = (register(mapping=mapping_of("T")), register(name="b", host=2), unregister(), Settle())
    deleted = (register(mapping=mapping_of("T")), delete_topic(), register(version=2))
    kept: dict[str, tuple[Step, ...]] = {
        "of-a-broker-that-left": outlived,
        "of-a-deleted-topic": deleted,
        "of-another-broker": (register(mapping=mapping_of("T", "other")),),
    }
    for name, steps in kept.items():
        yield Scenario(f"mapping-{name}", "B164", (*steps, shown), setup="differences", forms=ONE_FORM, state=False)


def _without_group() -> Iterator[Scenario]:
    """Queue data of brokers that are partly gone."""
    yield Scenario(
        "topic-of-several-that-leave",
        "B179 B197",
        (
            register(), register(name="b", host=2), register_topic("N", queue("a"), queue("b")), *routes("N"),
            unregister(), Settle(), *routes("N"), unregister("b", 2), Settle(), *routes("N"), *lists(), members(),
        ),
    )  # fmt: skip
    supported = configure("supportActingMaster=true")
    form = Form(False, 513)
    negative = register(broker_id=-1, enableActingMaster="true", form=form)
    yield Scenario("acting-master-of-a-negative-id", "B145 B207", (supported, negative, *routes("T")))
    sync = "rmq_sys_SYNC_BROKER_MEMBER_a"
    acting: dict[str, Any] = {"host": 2, "broker_id": 1, "enableActingMaster": "true"}
    yield Scenario("members-own-topic", "B210", (supported, register((topic(sync, perm=1), "T"), **acting),
                                                 *routes(sync, "T")))  # fmt: skip


SCENARIOS = (*_plain(), *_tables(), *_zones(), *_static(), *_without_group())
