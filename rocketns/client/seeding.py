"""Reads the routes of the first usable name server of a list."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from rocketns.client.name_server import NameServer, UnusableError, ask_each
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import RestoreConfig
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.routeinfo.tables import DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS

log = logging.getLogger("rocketns.seeding")

# Queue data of one topic on one broker. 300 brokers with 10,000 topics each have 3 million.
ENTRIES_MAX = 5_000_000
# Static queues and filter servers of all topics. Few fleets have any.
OTHER_CHARACTERS_MAX = 64 * 1024 * 1024


async def seeds_of(
    config: RestoreConfig, client: RemotingClient, serialize_type: SerializeType, own_port: int
) -> list[NameServer]:
    """The name servers of ``seedServers``, but this one."""
    others, own = await others_and_own(config.seeds, own_port)
    if own and not others:
        log.warning("rocketns.seedServers names only this name server (%s): no routes are read", ", ".join(own))
    return [NameServer(client, addr, serialize_type) for addr in others]


async def seeded_routes(seeds: Sequence[NameServer], within_s: float, epoch_ms: int) -> PriorRoutes | None:
    """The routes of the first name server that has any. None if there is none, with the reason of each in the log.

    All are asked at once whether they have brokers, so several that do not answer cost the time of one.
    ``epoch_ms`` is the wall clock.
    """
    try:
        async with asyncio.timeout(within_s):
            answers = await asyncio.gather(*(seed.groups() for seed in seeds), return_exceptions=True)
            for seed, groups in zip(seeds, answers, strict=True):
                routes = await _routes_or_reason(seed, groups, epoch_ms)
                if routes is not None:
                    return routes
    except TimeoutError:
        log.warning("reading routes from other name servers took longer than seedSeconds=%d", within_s)
    log.warning("no routes were read from another name server: brokers appear as they register")
    return None


async def _routes_or_reason(
    seed: NameServer, groups: dict[str, BrokerData] | BaseException, epoch_ms: int
) -> PriorRoutes | None:
    try:
        if isinstance(groups, BaseException):
            raise groups
        routes = await _routes(seed, groups, epoch_ms)
    except UnusableError as error:
        log.warning("the name server %s of seedServers is left out: %s", seed.addr, error)
        return None
    except Exception:
        log.exception("the name server %s of seedServers is left out", seed.addr)
        return None
    log.info(
        "the routes of %d broker groups and %d topics were read from the name server %s; they are unconfirmed until "
        "their brokers are heard",
        len(routes.groups), len(routes.topics), seed.addr,
    )  # fmt: skip
    return routes


async def _routes(seed: NameServer, groups: dict[str, BrokerData], epoch_ms: int) -> PriorRoutes:
    routes = PriorRoutes()
    for name, data in groups.items():
        if data.cluster and data.broker_addrs:
            _put_group(routes, name, data, data.cluster, epoch_ms)
    if not routes.groups:
        raise UnusableError("it has no brokers itself")
    await ask_each(await seed.topics(), _Reading(seed, routes).read)  # a part of the routes would do more harm
    if not routes.topics:
        raise UnusableError("it has no topics itself")
    return routes


def _put_group(routes: PriorRoutes, name: str, data: BrokerData, cluster: str, epoch_ms: int) -> None:
    """Name servers pass on neither time-out, data version nor HA address: the first is the default, the others None."""
    group = routes.put_group(name, cluster)
    group.zone_name, group.enable_acting_master = data.zone_name, data.enable_acting_master
    for broker_id, addr in data.broker_addrs.items():
        live = routes.put_broker(name, broker_id, cluster, addr, cluster)
        live.put(DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS, None, None, epoch_ms)


class _Reading:
    """Keeps the routes of topics."""

    def __init__(self, seed: NameServer, routes: PriorRoutes) -> None:
        self._seed = seed
        self._prior = routes
        self._by_addr = {broker.addr: broker for group in routes.groups.values() for broker in group.brokers.values()}
        self._names = {name: name for name in routes.groups}  # one object for all equal names
        self._entries = self._others = 0

    async def read(self, topic: str) -> None:
        route = await self._seed.route(topic)
        if topic and route is not None:
            self._add(topic, route)

    def _add(self, topic: str, route: TopicRouteData) -> None:
        """Brokers that the cluster info did not have, registered since, or have no address."""
        names = self._names
        queues: dict[str, QueueData] = {names[name]: data for name, data in route.queue_datas if name in names}
        self._entries += len(queues)
        if self._entries > ENTRIES_MAX:
            raise UnusableError(f"it has more than {ENTRIES_MAX} queues of topics on brokers")
        if not queues:
            return
        self._prior.topics[topic] = queues
        mappings = route.topic_queue_mapping_by_broker or {}
        for name, info in mappings.items():
            if name in names:
                self._count(str(info))
                self._prior.mappings.setdefault(topic, {})[names[name]] = info
        for addr, servers in route.filter_server_table.items():
            broker = self._by_addr.get(addr)
            if broker is not None and servers:
                self._count(*filter(None, servers))
                broker.live.filter_servers = servers

    def _count(self, *texts: str) -> None:
        self._others += sum(map(len, texts))
        if self._others > OTHER_CHARACTERS_MAX:
            raise UnusableError(
                f"it has more than {OTHER_CHARACTERS_MAX} characters of static queues and filter servers"
            )
