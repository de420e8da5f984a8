"""Facts as they are gathered, made by hand."""

from __future__ import annotations

from typing import Any

from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import AddressFacts, Outcome, Place
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import TopicRouteData, queue_data

NAME_SERVER = "10.0.0.9:9876"
BROKER = "10.0.0.1:10911"


def group(*addrs: str, cluster: str = "DefaultCluster") -> GroupView:
    """A broker group whose ids are 0, 1 and so on."""
    return GroupView(cluster, tuple(enumerate(addrs)), None, enable_acting_master=False)


def route(*names: str) -> TopicRouteData:
    """A route with four queues at each of these brokers."""
    return TopicRouteData([(name, queue_data(4, 4, 6, 0)) for name in names], [], {}, None, None)


def name_server(addr: str = NAME_SERVER, **more: Any) -> NameServerFacts:
    """One that can be read."""
    settings: dict[str, Any] = {"groups": {"broker-a": group(BROKER)}, "ips": (addr.rpartition(":")[0],)} | more
    return NameServerFacts(addr, Outcome.ANSWERED, **settings)


def address(
    addr: str = BROKER, outcome: Outcome = Outcome.ANSWERED, place: Place = Place.PRIVATE, **more: Any
) -> AddressFacts:
    return AddressFacts(addr, (addr.rpartition(":")[0],), place, outcome, **more)


def broker(name: str = "broker-a", addr: str = BROKER, broker_id: int = 0, **more: Any) -> BrokerFacts:
    """One that has the configuration of its name."""
    settings: dict[str, Any] = {"configuration": {"brokerName": name, "namesrvAddr": NAME_SERVER}} | more
    return BrokerFacts(name, broker_id, "DefaultCluster", addr, **settings)


def facts(
    *brokers: BrokerFacts, servers: tuple[NameServerFacts, ...] = (), addresses: tuple[AddressFacts, ...] = (),
    **options: Any,
) -> Facts:  # fmt: skip
    """``options`` are those of the doctor."""
    servers = servers or (name_server(),)
    asked = Options(tuple(one.addr for one in servers), **options)
    tried = addresses or tuple(address(one.addr) for one in brokers)
    return Facts(asked, servers, {one.addr: one for one in tried}, brokers)
