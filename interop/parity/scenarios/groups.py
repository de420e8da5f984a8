"""Which member of a group may register what; conflicts over an id, versions and heartbeats (B113-B115, B145-B177)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interop.harness.payloads import data_version, dumps
from interop.parity.language import NAME, Form, Scenario, Step
from interop.parity.phrases import (
    add,
    ask,
    cluster_info,
    configure,
    delete_topic,
    heartbeat,
    leave,
    members,
    own,
    query_version,
    register,
    route,
    routes,
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


SCENARIOS = (*_slaves(), *_ids(), *_conflicts(), *_versions())
