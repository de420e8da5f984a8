"""Unregistration, closed connections, expiry, and the notifications (B060, B061, B167, B173, B178-B196)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interop.harness.payloads import data_version
from interop.parity.language import (
    BOTH_ENCODINGS,
    ONE_FORM,
    PORTS,
    Closed,
    Differs,
    Expired,
    HangUp,
    HowMany,
    Notified,
    Request,
    Scenario,
    Settle,
    Step,
    Together,
    Until,
    Waits,
)
from interop.parity.requests import (
    address,
    ask,
    cluster_info,
    configure,
    heartbeat,
    members,
    own,
    query_version,
    register,
    route,
    route_of,
    routes,
    unregister,
    unregistration,
    version_query,
)

ACTING: dict[str, Any] = {"enableActingMaster": "true"}
EXPIRED = Expired(address(), on="broker")
ELSEWHERE = Differs("announced-elsewhere", r"(?s)^0: .*\n2: ", "^2: ")
STAYS_LIVE = {"without-its-id", "unparsable-id", "unknown-name", "without-name"}  # see _without_end


def _unregistration() -> Iterator[Scenario]:
    after: tuple[Step, ...] = (Settle(), *routes("T"), cluster_info(), members())
    yield Scenario("unregister", "B178 B179", (register(), unregister(), *after, unregister(), *after))
    yield Scenario("unregister-at-once", "B178 B179", (register(), unregister(), Until(route_of(), code=17)))
    slave: tuple[Step, ...] = (register(), register(host=2, broker_id=1))
    variants: dict[str, tuple[str, tuple[Step, ...]]] = {
        "wrong-id": ("B180", (unregister(broker_id=7),)),
        "wrong-cluster": ("B181", (unregister(cluster="X"),)),
        "without-its-id": ("B182", (unregister(broker_id=None),)),
        "unparsable-id": ("B084 B182", (unregister(brokerId="x"),)),
        "unknown-name": ("B183", (unregister(name="x"),)),
        "unknown-address": ("B183", (unregister(host=8),)),
        "without-name": ("B178", (unregister(brokerName=None),)),
        "without-address": ("B178", (unregister(brokerAddr=None),)),
        "without-cluster": ("B178", (unregister(clusterName=None),)),
        "without-fields": ("B178", (ask(104), ask(104, {}))),
        "slave": ("B179", (unregister(host=2, broker_id=1),)),
        "master": ("B186", (unregister(),)),
        "both": ("B179", (unregister(), unregister(host=2, broker_id=1))),
        "master-id-of-slave": ("B180", (unregister(host=2, broker_id=0),)),
    }
    for name, (rows, steps) in variants.items():
        if name != "wrong-cluster":
            yield Scenario(f"unregister-alone-{name}", rows, (register(), *steps, *after), state=name not in STAYS_LIVE)
        yield Scenario(f"unregister-{name}", rows, (*slave, *steps, *after, register(), *after))
    yield Scenario(
        "unregister-an-acting-group",
        "B185",
        (
            register(perm=7, **ACTING), register(host=2, broker_id=1, **ACTING), unregister(host=2, broker_id=1),
            *after, register(host=2, broker_id=1, **ACTING), unregister(), *after, register(perm=7, **ACTING), *after,
        ),
    )  # fmt: skip
    two: tuple[Step, ...] = (
        register(),
        register(name="b", host=2),
        register(("N", "M"), name="c", host=3, cluster="D"),
    )
    batch = (unregistration("a", 1), unregistration("c", 3, cluster="D"), unregistration("x", 9))
    yield Scenario("unregister-several", "B179", (*two, Together(batch), *after, *routes("N")))
    yield Scenario("filters-go-with-their-broker", "B179 B202",
                   (register(filters=("f:1",)), register(name="b", host=2), unregister(), *after))  # fmt: skip


def _closes() -> Iterator[Scenario]:
    after: tuple[Step, ...] = (Settle(), *routes("T"), cluster_info(), query_version())
    yield Scenario("close-unregisters", "B187", (register(on="broker"), HangUp(on="broker"), *after))
    yield Scenario("half-close-unregisters", "B050 B187",
                   (register(on="broker"), HangUp(on="broker", half=True), Closed(on="broker"), *after))  # fmt: skip
    yield Scenario(
        "close-of-an-older-connection",
        "B189",
        (register(on="old"), register(on="new"), HangUp(on="old"), *after, HangUp(on="new"), *after),
    )
    yield Scenario("close-after-unregistration", "B187 B189",
                   (register(on="broker"), unregister(on="broker"), HangUp(on="broker"), *after))  # fmt: skip
    yield Scenario("close-of-a-querying-connection", "B187",
                   (register(on="broker"), query_version(on="other"), HangUp(on="other"), *after))  # fmt: skip
    yield Scenario(
        "close-of-a-master-of-an-acting-group",
        "B185 B187",
        (register(on="broker", **ACTING), register(host=2, broker_id=1, **ACTING), HangUp(on="broker"), *after),
    )
    yield Scenario(
        "close-of-a-replaced-broker",
        "B156 B191",
        (register(on="old"), register(host=2, on="new"), HangUp(on="old"), *after, query_version(host=2)),
    )


def _expiry() -> Iterator[Scenario]:
    after: tuple[Step, ...] = (Settle(), *routes("T"), cluster_info(), query_version())
    for timeout in (0, 1, 300):
        overdue = register(on="broker", heartbeatTimeoutMillis=str(timeout))
        yield Scenario(f"expiry-after-{timeout}-ms", "B167 B190", (overdue, EXPIRED, *after), forms=BOTH_ENCODINGS)
    yield Scenario("expiry-of-a-negative-timeout", "B167 B190",
                   (register(on="broker", heartbeatTimeoutMillis="-5"), EXPIRED, *after))  # fmt: skip
    yield Scenario(
        "expiry-of-a-slave",
        "B190",
        (register(), register(host=2, broker_id=1, on="broker", heartbeatTimeoutMillis="1"),
         Expired(address(2), on="broker"), *after),
    )  # fmt: skip
    yield Scenario(
        "expiry-of-an-acting-master",
        "B185 B190",
        (register(on="broker", **ACTING), register(host=2, broker_id=1, **ACTING),
         register(on="broker", heartbeatTimeoutMillis="1", **ACTING), EXPIRED, *after),
    )  # fmt: skip
    yield Scenario(
        "refreshed-by-heartbeats",
        "B173 B174",
        (
            register(on="broker"), heartbeat(on="broker"), query_version(on="broker"), route(),
            register(on="broker", heartbeatTimeoutMillis="1"), EXPIRED, *after,
        ),
        forms=ONE_FORM,
    )  # fmt: skip
    yield Scenario(
        "idle-connection",
        "B060 B061",
        (
            register(on="before"), configure("serverChannelMaxIdleTimeSeconds=3"),
            register(name="b", host=2, on="idle"), configure("serverChannelMaxIdleTimeSeconds=120"),
            Closed(on="idle"), Settle(), *routes("T"), Waits(on="before"), cluster_info(),
        ),
        forms=ONE_FORM,
    )  # fmt: skip


def _without_end() -> Iterator[Scenario]:
    """What Java keeps for ever."""

    def differing(name: str, rows: str, *steps: Step) -> Scenario:
        return Scenario(name, rows, steps, setup="differences", forms=ONE_FORM, state=False)

    info = Request(106)
    some, none = (r"^[1-9]", r"^0$"), (r"^0$", r"^[1-9]")

    def left(what: Request, of: str, patterns: tuple[str, str] = some) -> HowMany:
        return HowMany(what, of, differs=Differs("entries-without-end", *patterns))

    empty = left(info, f'"{own("a")}":{{"brokerAddrs":{{}}')
    yield differing("refused-registration", "B110", register(("T",)), empty)
    null_table = b'{"topicConfigSerializeWrapper":{"topicConfigTable":null}}'
    yield differing("registration-with-a-null-table", "B139", register(body=null_table), empty)
    shared = (register(on="shared"), register(name="b", host=2, on="shared"), HangUp(on="shared"), Settle())
    yield differing("close-of-a-shared-connection", "B188", *shared, left(info, '"brokerName":"'))
    same = (register(on="same"), register(name="b", on="same"), HangUp(on="same"), Settle())
    yield differing("close-of-an-address-in-two-groups", "B188", *same, left(info, '"brokerName":"'))
    second = (register(), register(host=2, broker_id=1, cluster="D", on="second"), HangUp(on="second"), Settle())
    yield differing("close-under-another-cluster", "B158 B187", *second, left(info, address(2)))
    listed = left(info, f'"{own("C")}":["{own("a")}"]')
    yield differing("unregister-with-a-wrong-cluster", "B181", register(), unregister(cluster="X"), Settle(), listed)
    live = '"changed":"false"'
    for name, steps in {"without-id": unregister(broker_id=None), "with-an-unknown-name": unregister(name="x")}.items():
        yield differing(f"unregister-{name}", "B182 B183", register(), steps, Settle(),
                        left(version_query(), live, none))  # fmt: skip
    replaced = (register(on="broker", heartbeatTimeoutMillis="4000"), register(host=2),
                Closed(on="broker"), Settle())  # fmt: skip
    yield differing("expiry-of-a-replaced-broker", "B191", *replaced, left(version_query(), live))
    filters = (register(version=data_version(1, state=2)), register(host=2, broker_id=1, filters=("f:1",)),
               register(host=2), register(host=2, broker_id=1, filters=None))  # fmt: skip
    yield differing("filter-servers-of-a-loser", "B155 B161", *filters, left(route_of(), "f:1"))


def _notifications() -> Iterator[Scenario]:
    on = configure("notifyMinBrokerIdChanged=true")
    here = [f"127.0.0.1:{port}" for port in PORTS]
    master = register(host=here[0], **ACTING)
    slaves = tuple(register(host=here[number], broker_id=number, **ACTING) for number in (1, 2))
    leave_master, leave_slave = unregister(host=here[0]), unregister(host=here[1], broker_id=1)

    def told(name: str, rows: str, *steps: Step) -> Scenario:
        return Scenario(name, rows, (on, *steps), listeners=3, forms=BOTH_ENCODINGS)

    yield told("told-of-a-lower-id", "B192 B194", *slaves, master, Notified(2))
    yield told("told-of-a-lower-slave", "B192", slaves[1], slaves[0], Notified(1), master, Notified(2))
    yield told(
        "told-of-the-lowest-leaving", "B193", master, *slaves, leave_master, Notified(2), leave_slave, Notified(1)
    )
    yield told("told-when-alone", "B192", slaves[0], register(host=here[1], broker_id=0), Notified(1))
    yield told("told-without-ha-address", "B192", slaves[0], register(host=here[0], haServerAddr=None), Notified(1))
    quiet_leave = (*(register(host=here[number], broker_id=number) for number in range(3)), leave_master, Settle())
    yield told("not-told-of-leaving-a-group-that-does-not-act", "B196", *quiet_leave,
               register(host=here[0]), Notified(2))  # fmt: skip
    yield told("told-of-joining-a-group-that-does-not-act", "B196",
               register(host=here[1], broker_id=1), register(host=here[0]), Notified(1))  # fmt: skip
    off = configure("notifyMinBrokerIdChanged=false")
    yield told("not-told-when-switched-off", "B195", off, slaves[0], master, leave_master, Settle(), on,
               register(host=here[0], **ACTING), Notified(1))  # fmt: skip
    yield told("told-of-a-closed-connection", "B187 B193", register(host=here[0], on="broker", **ACTING), *slaves,
               HangUp(on="broker"), Notified(2))  # fmt: skip
    elsewhere = register(host=f"127.0.0.2:{PORTS[0]}", broker_id=1)
    told_one = Notified(2, rocketns=1, differs=ELSEWHERE)
    # The second time also shows what came late of the first.
    steps = (elsewhere, slaves[1], register(broker_id=0), told_one, register(broker_id=-1, host=2), told_one)
    yield Scenario("told-at-the-announcers-host-only", "B192", (on, *steps), listeners=3, forms=ONE_FORM)
    yield told("told-of-a-negative-id", "B192 B194", register(host=here[0], broker_id=-2), Notified(1), slaves[0],
               register(host=here[2], broker_id=-5), Notified(2))  # fmt: skip


SCENARIOS = (*_unregistration(), *_closes(), *_expiry(), *_without_end(), *_notifications())
