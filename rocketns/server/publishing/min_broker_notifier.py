"""NOTIFY_MIN_BROKER_ID_CHANGE (905): tells the brokers of a group which of them has the smallest id now."""

from __future__ import annotations

import logging
from typing import assert_never

from rocketns.client.remoting_client import RemotingClient
from rocketns.config import NamesrvConfig
from rocketns.protocol.codes import V5_5_0, RequestCode, SerializeType
from rocketns.protocol.encoding import encode_request
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import RouteTables

log = logging.getLogger("rocketns.client")

# A group has some brokers. Any peer can register one with thousands, and each lower id would notify all of them.
RECEIVERS_MAX = 64


class MinBrokerNotifier:
    """``notifyMinBrokerIdChanged`` is read at each event."""

    def __init__(
        self, config: NamesrvConfig, tables: RouteTables, client: RemotingClient, serialize_type: SerializeType,
        version: int = V5_5_0,
    ) -> None:  # fmt: skip
        self._config = config
        self._tables = tables
        self._client = client
        self._serialize_type = serialize_type
        self._version = version

    def notify(self, events: list[e.Event]) -> None:
        """Send the notifications that the events ask for. They are one-way, so nothing waits for them."""
        if not self._config.notify_min_broker_id_changed:
            return
        for event in events:
            self._notify(event)

    def _notify(self, event: e.Event) -> None:
        match event:
            case e.MinBrokerIdChanged():
                self._send(event)
            case e.BrokerRegistered() | e.BrokerHeartbeat() | e.BrokerIdsLeft() | e.BrokerConflict():
                pass  # brokers are notified of nothing else
            case e.BrokerRefused() | e.BrokerDoubted() | e.BrokerDown() | e.GroupChanged() | e.TopicsPut():
                pass
            case e.TopicsDeleted() | e.MappingsPut() | e.KvChanged() | e.ConfigChanged() | e.Stalled():
                pass
            case e.FleetDiffers() | e.AdminRequested() | e.RequestRefused():
                pass
            case _:
                assert_never(event)

    def _send(self, event: e.MinBrokerIdChanged) -> None:
        ext = {  # in the order of Java's HashMap
            "haBrokerAddr": event.ha_addr,
            "offlineBrokerAddr": event.offline_addr,
            "minBrokerAddr": event.min_broker_addr,
            "minBrokerId": str(event.min_broker_id),
        }
        code = RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE
        _, frame = encode_request(code, ext, self._serialize_type, oneway=True, version=self._version)
        if len(event.receivers) > RECEIVERS_MAX:
            log.warning("%d brokers of %s are not notified of its lowest broker id: it has more than %d brokers",
                        len(event.receivers) - RECEIVERS_MAX, event.broker_name, RECEIVERS_MAX)  # fmt: skip
        for addr in event.receivers[:RECEIVERS_MAX]:
            self._client.invoke_oneway(addr, frame, self._announcer(event.broker_name, addr))

    def _announcer(self, broker_name: str, addr: str) -> str | None:
        """The host that registered a member of a group."""
        group = self._tables.broker_addr_table.get(broker_name)
        entry = None if group is None else self._tables.live(group.cluster, addr)
        return None if entry is None else entry.announced_by
