"""Records of changes that `reg`, `hb` and `down` do not show: switches of groups, odd live entries."""

from __future__ import annotations

from typing import Any

from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer
from rocketns.journal.members import Address, Live, Member, Members, RecordedGroup
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


class Settling:
    """After a batch of events, compares the tables with the records, for the names and addresses that it touched.

    A batch touches few of them, whatever the tables hold. ``is_due``: it touched some.
    """

    def __init__(self, tables: RouteTables, members: Members, buffer: Buffer) -> None:
        self._tables = tables
        self._members = members
        self._buffer = buffer
        self._names: dict[str, None] = {}
        self._addresses: dict[Address, None] = {}
        self._routes_changed = False
        self.is_due = False

    def note_name(self, name: str) -> None:
        """The group of this name may have changed."""
        self._names[name] = None
        self.is_due = True

    def note_address(self, address: Address) -> None:
        """The live entry or the filter servers of this address may have changed."""
        self._addresses[address] = None
        self.is_due = True

    def names(self) -> list[str]:
        return list(self._names)

    def settle(self) -> bool:
        """Write what differs, and forget what was noted. Whether routes changed."""
        names, addresses = self._names, self._addresses
        self._names, self._addresses, self.is_due, self._routes_changed = {}, {}, False, False
        for name in names:
            self._settle_group(name)
        for address in addresses:
            self._settle_live(address)
        return self._routes_changed

    def _settle_group(self, name: str) -> None:
        data, group = self._tables.broker_addr_table.get(name), self._members.groups.get(name)
        if data is not None and group is not None and not group.is_as(data):
            self._buffer.put(encoding.columns("group", group_columns(name, self._members.put_group(name, data))))
            self._routes_changed = True

    def _settle_live(self, address: Address) -> None:
        key = BrokerAddrInfo(*address)
        entry, servers = self._tables.broker_live_table.get(key), self._tables.filter_server_table.get(key, [])
        live = self._members.lives.get(address)
        if live is None and (entry is not None or servers):
            live = self._members.lives[address] = Live(0, is_there=False)
        if live is None or live.is_as(entry, servers):
            return
        if entry is None:
            live.note_end()
        else:
            live.note(entry.timeout_ms, entry.ha_server_addr, entry.data_version, entry.announced_by)
        live.note_filter_servers(servers)
        self.write_live(address, live)
        self._routes_changed = True
        if not (live.is_there or live.members or live.filter_servers):
            del self._members.lives[address]

    def write_live(self, address: Address, live: Live) -> None:
        """Record the live entry of an address."""
        self._buffer.put(encoding.columns("live", live_columns(address, live)))


def member_columns(member: Member, group: RecordedGroup) -> dict[str, Any]:
    """All columns of ``reg``; without ``timeout_ms`` if the address has no live entry."""
    live = member.live
    timeout_ms = live.timeout_ms if live.is_there else None
    return member.key_columns() | live.version_columns() | {
        "timeout_ms": timeout_ms, "ha": live.ha_addr, "zone": group.zone, "acting": group.acting,
        "gcluster": None if group.cluster == member.cluster else group.cluster,
        "fs": encoding.filter_servers(live.filter_servers) or None,
        "from_host": live.announced_by,
    }  # fmt: skip


def group_columns(name: str, group: RecordedGroup) -> dict[str, Any]:
    """All columns of ``group``."""
    return {"broker": name, "gcluster": group.cluster, "zone": group.zone, "acting": group.acting}


def live_columns(address: Address, live: Live) -> dict[str, Any]:
    """All columns of ``live``."""
    cluster, addr = address
    columns: dict[str, Any] = {
        "cluster": cluster, "live": addr, "fs": encoding.filter_servers(live.filter_servers) or None,
    }  # fmt: skip
    if live.is_there:
        columns |= live.version_columns() | {
            "timeout_ms": live.timeout_ms, "ha": live.ha_addr, "from_host": live.announced_by,
        }  # fmt: skip
    return columns


def adopt(tables: RouteTables, members: Members) -> None:
    """The tables were filled at the start: all that is in them counts as recorded. A snapshot records it."""
    for key, entry in tables.broker_live_table.items():
        live = members.lives[key] = Live(entry.timeout_ms)
        live.note(entry.timeout_ms, entry.ha_server_addr, entry.data_version, entry.announced_by)
    for key, servers in tables.filter_server_table.items():
        members.lives.setdefault(key, Live(0, is_there=False)).note_filter_servers(servers)
    for name, group in tables.broker_addr_table.items():
        members.put_group(name, group)
        for broker_id, addr in group.broker_addrs.items():
            cluster = tables.registrants[name][broker_id]
            live = members.lives.get((cluster, addr)) or Live(0, is_there=False)
            members.add(cluster, group, broker_id, live)
