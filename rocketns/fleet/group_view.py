"""A broker group as one name server shows it, in a form that is equal where the facts are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rocketns.protocol.body.route import BrokerData


class GroupView(NamedTuple):
    """``addrs`` is sorted by broker id: no order of a map matters."""

    cluster: str | None
    addrs: tuple[tuple[int, str], ...]
    zone_name: str | None
    enable_acting_master: bool

    @property
    def members(self) -> str:
        """``0=10.0.0.1:10911 1=10.0.0.2:10911``."""
        return " ".join(f"{broker_id}={addr}" for broker_id, addr in self.addrs)

    def text(self) -> str:
        """In a few words, for people."""
        zone = f" zone {self.zone_name}" if self.zone_name else ""
        return f"{self.cluster} {self.members}{zone}" + (" acting master" if self.enable_acting_master else "")

    def as_json(self) -> dict[str, Any]:
        """For programs: ids are keys of an object, so they are texts."""
        addrs = {str(broker_id): addr for broker_id, addr in self.addrs}
        return {
            "cluster": self.cluster, "brokerAddrs": addrs, "zoneName": self.zone_name,
            "enableActingMaster": self.enable_acting_master,
        }  # fmt: skip


def group_view(group: BrokerData) -> GroupView:
    """The view of a group of the tables, or of an answer to GET_BROKER_CLUSTER_INFO."""
    addrs = tuple(sorted(group.broker_addrs.items()))
    return GroupView(group.cluster, addrs, group.zone_name, group.enable_acting_master)


def group_views(groups: Mapping[str, BrokerData]) -> dict[str, GroupView]:
    """By name. A group without an address is left out: it is in no route."""
    return {name: group_view(group) for name, group in groups.items() if group.broker_addrs}
