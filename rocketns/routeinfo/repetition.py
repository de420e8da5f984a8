"""Recognises a registration that repeats the last one. Every broker sends one every 30 s.

With the same data version, a registered address and a registered id, a registration adds the topics that the tables
lack, and changes nothing else of topics and mappings. So as long as no queue data was removed, a body that was applied
before is replaced by one without topics. All steps of the registration are still done.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from rocketns.config import NamesrvConfig
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.codes import MASTER_ID
from rocketns.routeinfo.accepted_body import AcceptedBody
from rocketns.routeinfo.tables import RouteTables


@dataclass(slots=True, frozen=True)
class Sender:
    """The sender of a registration, from its header."""

    cluster: str | None
    addr: str | None
    broker_name: str | None
    broker_id: int | None
    enable_acting_master: bool | None

    def may_register_topics(self, group: BrokerData) -> bool:
        return self.broker_id == MASTER_ID or self.is_prime_slave(group)

    def is_prime_slave(self, group: BrokerData) -> bool:
        """The slave with the smallest id of a group whose brokers know acting masters."""
        knows = self.enable_acting_master is not None
        return knows and self.broker_id != MASTER_ID and self.broker_id == min(group.broker_addrs)


def last_fingerprint(tables: RouteTables, sender: Sender) -> Hashable:
    """The fingerprint of the body that this broker registered last. None if there is none."""
    last = _last_body(tables, sender)
    return None if last is None else last.fingerprint


def _last_body(tables: RouteTables, sender: Sender) -> AcceptedBody | None:
    entry = tables.live(sender.cluster, sender.addr)
    return None if entry is None else entry.accepted


def repeated_body(
    tables: RouteTables, config: NamesrvConfig, sender: Sender, fingerprint: Hashable
) -> RegisterBrokerBody | None:
    """The body to register instead of one with this fingerprint. None if the body must be read."""
    last = _last_body(tables, sender)
    if last is None or last.fingerprint != fingerprint or last.broker_name != sender.broker_name:
        return None
    group = tables.broker_addr_table.get(last.broker_name)
    if group is None or sender.broker_id is None or group.broker_addrs.get(sender.broker_id) != sender.addr:
        return None
    if config.delete_topic_with_broker_registration or last.removals != tables.removals:
        return None
    if sender.may_register_topics(group) and not last.topics_applied:
        return None
    return last.without_topics()
