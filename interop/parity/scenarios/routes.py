"""Groups, routes and topics: ids, versions, zones, static topics, permissions, lists (B145-B164, B197-B233)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interop.harness.payloads import data_version, dumps
from interop.parity.language import NAME, ONE_FORM, Differs, Form, HowMany, Scenario, Settle, Step
from interop.parity.requests import (
    AWKWARD,
    add,
    ask,
    cluster_info,
    configure,
    delete_topic,
    heartbeat,
    leave,
    lists,
    members,
    own,
    query_version,
    queue,
    register,
    register_topic,
    route,
    route_of,
    routes,
    topic,
    topics_of,
    unregister,
    wipe,
)

SYNC = "rmq_sys_SYNC_BROKER_MEMBER_"
ACTING: dict[str, Any] = {"enableActingMaster": "true"}
IDLE: dict[str, Any] = {"enableActingMaster": "false"}
OLD: dict[str, Any] = {"enableActingMaster": None}


def _slaves() -> Iterator[Scenario]:
    yield Scenario(
        "slave-learns-its-master",
        "B113 B114 B115",
        (
            register(host=2, broker_id=1), register(), register(host=2, broker_id=1),
            register(haServerAddr=None), register(host=2, broker_id=1),
            register(host=3, broker_id=2), *leave(), register(host=2, broker_id=1), members(),
        ),
    )  # fmt: skip
    for name, rows, fields in (("old", "B149", OLD), ("idle", "B150 B208", IDLE), ("acting", "B151 B207", ACTING)):
        for support in ("false", "true"):
            yield Scenario(
                f"{name}-slaves-{'supported' if support == 'true' else 'unsupported'}",
                f"{rows} B152 B153 B209 B210",
                (
                    configure(f"supportActingMaster={support}"),
                    register(("T", SYNC, "U"), host=3, broker_id=3, perm=7, **fields), *routes("T", SYNC),
                    register(("T", "V", "W"), host=2, broker_id=2, perm=6, **fields), *routes("T", "V"),
                    register(("X", "Y"), host=4, broker_id=4, **fields), *routes("T", "X"),
                    register(("T", "U"), perm=7, **fields), *routes("T", "U", "V"), cluster_info(), members(),
                    *leave(), *_slave_states(fields),
                ),
            )  # fmt: skip
    for old, new in ((ACTING, IDLE), (IDLE, ACTING), (OLD, ACTING), (ACTING, OLD)):
        steps = (
            configure("supportActingMaster=true"),
            register(host=2, broker_id=1, **old), *routes("T"), register(host=3, broker_id=2, **new), *routes("T"),
            register(host=2, broker_id=1, **new), *routes("T"), register(host=2, broker_id=1, version=2, **new),
            *routes("T"), cluster_info(),
        )  # fmt: skip
        name = "-then-".join({id(ACTING): "acting", id(IDLE): "idle", id(OLD): "old"}[id(one)] for one in (old, new))
        yield Scenario(f"last-registration-says-who-acts-{name}", "B150 B151 B208", steps)


def _slave_states(fields: dict[str, Any]) -> tuple[Step, ...]:
    """The slaves after their master left, and when it is back with the same version."""
    return (
        register(host=2, broker_id=2, perm=7, **fields),
        *routes("T"),
        register(("T", "U"), perm=7, **fields),
        *routes("T", "U"),
    )


def _ids() -> Iterator[Scenario]:
    yield Scenario(
        "slave-becomes-master",
        "B153 B154",
        (
            register(host=2, broker_id=1), *routes("T"), register(host=2, broker_id=0), *routes("T"), members(),
            register(host=2, broker_id=5), *routes("T"), members(), register(host=1), members(),
        ),
    )  # fmt: skip
    yield Scenario(
        "negative-ids",
        "B145",
        (
            register(broker_id=-3), register(host=2, broker_id=-1, **ACTING), register(host=3), members(),
            *routes("T"), cluster_info(), *leave(broker_id=-3), members(),
        ),
    )  # fmt: skip
    yield Scenario(
        "many-ids",
        "B090 B091 B216",
        (
            *(register(host=number + 1, broker_id=number) for number in (10, 2, 0, 33, 1, 100, 17)), *routes("T"),
            members(), cluster_info(),
        ),
    )  # fmt: skip
    yield Scenario(
        "zones-of-a-group",
        "B157",
        (
            register(__ZONE_NAME="z1"), cluster_info(), register(), cluster_info(), register(__ZONE_NAME="z2"),
            register(host=2, broker_id=1, __ZONE_NAME="z3"), *routes("T"),
            register(("N", "M"), name="b", host=3, __ZONE_NAME="z"), cluster_info(),
        ),
    )  # fmt: skip
    yield Scenario(
        "a-group-in-two-clusters",
        "B158 B181",
        (
            register(), register(cluster="D"), cluster_info(), register(host=2, broker_id=1, cluster="D"),
            *routes("T"), members(cluster="D"), ask(224, {"cluster": own("D")}), ask(224, {"cluster": own("C")}),
            *leave(host=2, broker_id=1, cluster="D"),
        ),
    )  # fmt: skip


def _conflicts() -> Iterator[Scenario]:
    for old, new in ((1, 0), (0, 0), (0, 1), (5, 4)):
        holder, rival = data_version(1, state=old), data_version(9, 9000, new)
        yield Scenario(
            f"rival-of-state-{new}-for-{old}",
            "B155 B156 B191",
            (
                register(version=holder), register(("T", "N"), rival, host=9), *routes("T", "N"), members(),
                query_version(), query_version(host=9), register(("T", "N"), rival, host=9), query_version(host=9),
                register(version=holder), query_version(host=9), members(), *routes("N"), heartbeat(host=9),
                *leave(host=9), members(), cluster_info(),
            ),
        )  # fmt: skip
    yield Scenario(
        "rival-of-a-slave",
        "B155 B156",
        (
            register(), register(host=2, broker_id=1, version=data_version(1, state=3)),
            register(host=3, broker_id=1, version=data_version(1, state=2)), members(),
            register(host=3, broker_id=1, version=data_version(1, state=3)), members(), query_version(host=2),
        ),
    )  # fmt: skip
    yield Scenario(
        "rival-under-another-cluster",
        "B155 B158",
        (
            register(version=data_version(1, state=3)),
            register(host=3, version=data_version(1, state=2), cluster="D"), members(), cluster_info(),
        ),
    )  # fmt: skip


def _versions() -> Iterator[Scenario]:
    stored = data_version(3, 1000, 2)
    asked = (stored, data_version(4, 1000, 2), data_version(3, 1001, 2), data_version(3, 1000, 1), None)
    yield Scenario(
        "query-of-a-version", "B008 B168 B169 B170", (register(version=stored), *(query_version(one) for one in asked))
    )
    yield Scenario(
        "query-of-somebody",
        "B168 B171 B172",
        (
            register(version=stored), query_version(stored, name="x", broker_id=9), query_version(stored, host=7),
            query_version(stored, cluster="X"), query_version(stored, brokerAddr=None),
            query_version(stored, clusterName=None), query_version(stored, brokerName=None, broker_id=None),
        ),
    )  # fmt: skip
    bodies = (b"{", b"null", b"[]", b"x", b'{"counter":3}', b'{"counter":"3","stateVersion":2,"timestamp":1000}', b'""')
    more = (dumps(stored) + b"x", b"{counter:3}", b" ", b'{"counter":null,"stateVersion":2,"timestamp":1000}', b"5")
    for number, body in enumerate(bodies + more):
        steps = (register(version=stored), query_version(body=body))
        yield Scenario(f"query-with-body-{number}", "B168 B170 B172", steps)
    yield Scenario(
        "same-version-again",
        "B146 B147 B148 B219 B220",
        (
            register(("T", "U", "V")), register(("T", "U"), perm=4), *routes("T"), delete_topic("U"), route("U"),
            register(("T", "U", "V"), perm=7), *routes("T", "U"), wipe(), *routes("T"), register(("T", "U", "V")),
            *routes("T"), register(("T", "U", "V"), 2), *routes("T"), add(), wipe(), register((), 3), *routes("V"),
            register(("N",), 4), *routes("N", "T"), register(("T", "U", "V"), 4, perm=7), *routes("T"),
        ),
    )  # fmt: skip
    yield Scenario(
        "split-registration",
        "B146 B147",
        # Parts of one version: of the later ones only topics that are new are taken (see docs/differences.md).
        (
            register(("A", "B")), register(("C", "D")), *routes("A", "C"), register(("A", "B"), 2, perm=4),
            register(("C", "D"), 2, perm=4), *routes("A", "C"), register(("C", "D", "E"), 2, perm=5), *routes("C", "E"),
        ),
    )  # fmt: skip
    yield Scenario(
        "heartbeats",
        "B174 B175 B176 B177",
        (
            heartbeat(), register(), heartbeat(), heartbeat(cluster="X"), heartbeat(brokerAddr=None),
            heartbeat(clusterName=None), heartbeat(brokerName=None, broker_id=None), ask(904), *leave(),
            heartbeat(), query_version(), cluster_info(),
        ),
    )  # fmt: skip
    fields: dict[str, Any] = {"epoch": "x", "maxOffset": "7", "heartbeatTimeoutMills": "-1", "electionPriority": ""}
    yield Scenario("heartbeat-with-more-fields", "B174", (register(), heartbeat(**fields), query_version()))
    old = Form(False, 36)
    yield Scenario(
        "bare-body-after-a-whole-one",
        "B122 B161",
        (
            register(filters=("f:1",), form=Form(False, 513)), register(form=old, version=2), *routes("T"),
            register(("N" + NAME,), form=old), query_version(1), query_version(2),
        ),
    )  # fmt: skip


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


NO_QUEUES = (
    ("no-body", "B228", b""),
    ("empty-list", "B228", b'{"queueDatas":[]}'),
    ("null-list", "B228", b'{"queueDatas":null}'),
    ("null", "B228", b"null"),
    ("empty-object", "B228", b"{}"),
    ("null-entry", "B228", b'{"queueDatas":[null]}'),
    ("entry-without-name", "B228", b'{"queueDatas":[{}]}'),
    ("bad-json", "B229", b"{"),
    ("array", "B229", b"[]"),
    ("list-as-text", "B229", b'{"queueDatas":"x"}'),
    ("list-as-number", "B229", b'{"queueDatas":5}'),
    ("entry-as-text", "B229", b'{"queueDatas":["x"]}'),
    ("list-as-object", "B229", dumps({"queueDatas": queue()})),
    ("number-as-word", "B229", dumps({"queueDatas": [queue(perm="x")]})),
    ("number-in-quotes", "B225", dumps({"queueDatas": [queue(perm="4")]})),
    ("null-number", "B225", dumps({"queueDatas": [queue(perm=None)]})),
    ("bare-numeric-keys", "B093", b'{"brokerDatas":[{"brokerAddrs":{0:"a:1"},"brokerName":"x","cluster":"c"}]}'),
    ("whole-route", "B093", b'{"brokerDatas":[{"brokerAddrs":{0:"a:1"}}],"queueDatas":[' + dumps(queue()) + b"]}"),
)


def _permissions() -> Iterator[Scenario]:
    every = tuple(topic(f"P{perm}", perm=perm) for perm in range(8))
    names = tuple(f"P{perm}" for perm in range(8))
    steps = (register(every), wipe(), *routes(*names), wipe(), add(), *routes(*names), add(), wipe())
    yield Scenario("wipe-and-add", "B219 B220", steps)
    nobody = (wipe("none"), add("none"), ask(205), ask(327), ask(205, {}), ask(327, {"brokerName": ""}))
    yield Scenario("wipe-and-add-of-nobody", "B008 B219 B220", nobody)
    both = (register(every), register(every, name="b", host=2))
    yield Scenario("wipe-of-one-of-two", "B219", (*both, wipe("b"), *routes("P7", "P2"), add("b"), *routes("P7")))


def _lists() -> Iterator[Scenario]:
    flags = tuple(topic(f"F{flag}", flag=flag) for flag in (0, 1, 2, 3, 4, 5, 7, -1))
    yield Scenario("topics-by-flag", "B221 B230 B233", (register(flags), *lists(), register(flags, name="b", host=2),
                                                        *lists(), topics_of("none")))  # fmt: skip
    for brokers in (2, 5, 12, 13, 30):  # each topic has the flags of number * 5 + its broker's, so they disagree
        disagreeing = tuple(
            register(tuple(topic(f"F{n}", flag=(n * 5 + host) * 7 % 4) for n in range(8)), name=f"b{host}", host=host)
            for host in range(brokers)
        )
        yield Scenario(f"flags-that-differ-on-{brokers}-brokers", "B233", (*disagreeing, *lists()), forms=ONE_FORM)
    many = tuple(topic(f"T{number}") for number in range(40))
    yield Scenario("many-topics", "B221 B230", (register(many), *lists(), ask(304)))
    controllers = tuple(ask(code) for code in (*range(1001, 1007), *range(1009, 1014), 902, 903, 905))
    yield Scenario("controller-codes", "B249", controllers)


def _tools() -> Iterator[Scenario]:
    for name, rows, body in NO_QUEUES:
        steps = (register(), register_topic("N", body=body), *routes("N"), register_topic(body=body), *routes("T"))
        yield Scenario(f"topic-of-{name}", rows, steps)
    yield Scenario(
        "register-topic",
        "B225 B226 B227",
        (
            register(), register(name="b", host=2), register_topic("N", queue("a")), *routes("N"),
            register_topic("M", queue("a"), queue("x")), *routes("M"),
            register_topic("N", queue("b"), queue("x"), queue("a", perm=4)), *routes("N"),
            register_topic("N", queue("x"), queue("a", perm=2)), *routes("N"), register_topic("N", queue("a", perm=7)),
            *routes("N"), register_topic("L", {"brokerName": own("a")}), *routes("L"), *lists(),
            register_topic("K", queue("a", perm=4), queue("a", perm=2)), *routes("K"), ask(217, None, b"{}"),
            ask(217, {}, dumps({"queueDatas": [queue()]})),
        ),
    )  # fmt: skip
    yield Scenario(
        "delete-topic",
        "B222 B223 B224",
        (
            register(("T", "U", "V")), register(("T", "U", "V"), name="b", host=2, cluster="D"),
            delete_topic("T"), route("T"), delete_topic("U", "D"), *routes("U"), delete_topic("U", "C"), route("U"),
            delete_topic("V", "none"), *routes("V"), delete_topic("V", ""), route("V"), delete_topic("none"), ask(216),
            ask(216, {}), ask(216, {"clusterName": own("C")}), register(("T", "U", "V")), *routes("T", "U", "V"),
        ),
    )  # fmt: skip
    yield Scenario(
        "topics-registered-by-tools-and-brokers",
        "B146 B225",
        (
            register(), register_topic("N", queue("a", perm=4)), register(), *routes("N"),
            register(("T", "N"), perm=7), *routes("N"), register(("T", "N"), 2, perm=7), *routes("N"), wipe(),
            *routes("N"), register_topic("N", queue("a")), *routes("N"),
        ),
    )  # fmt: skip


SCENARIOS = (
    *_slaves(), *_ids(), *_conflicts(), *_versions(), *_plain(), *_tables(), *_zones(), *_static(), *_without_group(),
    *_permissions(), *_lists(), *_tools(),
)  # fmt: skip
