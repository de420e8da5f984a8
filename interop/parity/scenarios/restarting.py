"""Restarts of a server with a journal: rocketns has its routes again, and Java is empty.

Each scenario ends with what makes both equal again: the brokers register, or are known to be gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from interop.parity.language import ONE_FORM, Differs, Restart, Scenario, Step, Until, Waits
from interop.parity.phrases import (
    cluster_info,
    delete,
    get,
    kv_list,
    put,
    query_version,
    register,
    route,
    route_of,
    routes,
    topics_of,
    wipe,
)

# At each server: an answer waits for the journal 0.3 s at most, and where a disk stalls the last records come later.
WRITTEN_S = 0.7
# Nothing listens there, so a connection is refused.
REFUSING = "127.0.0.1:1"
ROUTE = (
    r'(?s)"code":0.*\{"brokerAddrs":\{"0":"h1-\w+:10911"\},"brokerName":"a\w+","cluster":"C\w+".*'
    r'"perm":%d,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8'
)
ROUTES = Differs("restored-routes", "No topic route info", ROUTE % 6)
WIPED = Differs("restored-routes", "No topic route info", ROUTE % 4)
CLUSTERS = Differs("restored-routes", r"\{\}", '"brokerName"')
LISTED = Differs("restored-routes", "^(?!.*topicList.*T)", '"topicList":.*T')
MASTER = Differs("restored-master", "^(?!.*masterAddr)", '"masterAddr":"h1')
SLAVE = register((), host=2, broker_id=1)
VERSION = Differs("restored-version", '"changed":"true"', '"changed":"false"')


def _restored(name: str, rows: str, *steps: Step) -> Scenario:
    return Scenario(name, rows, steps, setup="restoring", forms=ONE_FORM)


def _scenarios() -> Iterator[Scenario]:
    killed = (Waits(for_s=WRITTEN_S), Restart(killed=True))
    yield _restored(
        "routes-after-a-kill", "B108 B109", register(), put(), put("l", "w"), delete("l"), *killed,
        route(differs=ROUTES), cluster_info(differs=CLUSTERS), topics_of(differs=LISTED), get(), get("l"), kv_list(),
        register(), *routes("T", "U"),
    )  # fmt: skip
    yield _restored(
        "other-brokers-after-a-kill", "B113", register(version=5), SLAVE,
        register(("N", "M"), name="b", host=REFUSING), *killed, register((), host=2, broker_id=1, differs=MASTER),
        register(("U", "V"), version=1), SLAVE, *routes("T", "U", "V"),
        Until(route_of("N"), code=17), *routes("M"),
    )  # fmt: skip
    yield _restored(
        "wiped-permissions-after-a-stop", "B148", register(), wipe(), Restart(), query_version(differs=VERSION),
        route(differs=WIPED), register(), *routes("T", "U"),
    )  # fmt: skip


SCENARIOS = tuple(_scenarios())
