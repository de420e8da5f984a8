"""The views of a name server, and which of them a connection is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rocketns._fast.access.networks import Networks
from rocketns.addresses import literal
from rocketns.config.address_texts import Network, packed, packed_address
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.views.mapping import AddressMapping

VIEWS_MAX = 16
NETWORKS_MAX = 1024  # of all views: a reactor looks through them once a connection, for 1 ns each
_SUBSCRIBER_BYTES = 8  # of an IPv6 address, as `addresses.host_of` counts them

# A group as an element of brokerDatas in default and in standard mode; None where no address of it is mapped.
Element = tuple[bytes, bytes] | None


class Asker(Protocol):
    """The parts of a `rocketns.routeinfo.connection.Connection` that say in which view it is."""

    @property
    def address(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def listener(self) -> int: ...

    @property
    def is_announced(self) -> bool: ...

    @property
    def is_broker(self) -> bool: ...


@dataclass(frozen=True)
class View:
    """``networks`` or ``listen`` says who is in it, and ``mapping`` what they get."""

    name: str
    networks: tuple[Network, ...] = ()
    listen: str | None = None
    mapping: AddressMapping = field(default_factory=AddressMapping)

    def show(self, route: TopicRouteData) -> None:
        """Change the addresses of a route to those that clients of this view get."""
        self.mapping.map_route(route)

    def element(self, group: BrokerData) -> Element:
        """What reactors compose routes of, in place of the announced addresses."""
        shown = self.mapping.map_group(group)
        return None if shown.broker_addrs == group.broker_addrs else _element(shown)


class Views:
    """All views of a file, in its order. They are numbered from 1: 0 is no view.

    ``listeners``: the addresses that this process listens at for views. They are numbered from 1, too: 0 is listenPort.
    ``trusts_announced``: whether only trusted proxies announce addresses, so that these count.
    """

    def __init__(
        self, views: tuple[View, ...] = (), listeners: tuple[str, ...] = (), *, trusts_announced: bool = False
    ) -> None:
        self.views = views
        self._listeners = listeners
        self._trusts_announced = trusts_announced
        by_address = {view.listen: number for number, view in enumerate(views, 1) if view.listen is not None}
        self.of_listeners = [0, *(by_address.get(listen, 0) for listen in listeners)]
        flagged = [(*packed(one), number) for number, view in enumerate(views, 1) for one in view.networks]
        # The longest prefix first, because the first network that has an address counts.
        self.networks = sorted(flagged, key=lambda one: -one[1])
        self.table = Networks(self.networks)

    def warnings(self) -> Iterator[str]:
        """What these views need, and this process does not do."""
        wanted = [view.listen for view in self.views if view.listen is not None]
        for listen in wanted:
            if listen not in self._listeners:
                yield f"nobody listens at {listen} yet: that needs a restart"
        for listen in self._listeners:
            if listen not in wanted:
                yield f"who connects to {listen} is in no view any more; to close it needs a restart"

    def __len__(self) -> int:
        return len(self.views)

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    def of(self, connection: Asker) -> View | None:
        """The view of a connection, None where it gets announced addresses. The same as reactors find.

        A broker needs the addresses that others announced: a connection from which one registered is in no view.
        """
        return None if connection.is_broker else self.through(connection)

    def through(self, connection: Asker) -> View | None:
        """The view that a connection came through, whoever is behind it."""
        if not self.views:
            return None
        if connection.listener:
            return self._view(self.of_listeners[connection.listener])
        if connection.is_announced and not self._trusts_announced:  # the header chooses nothing, the socket does
            return self._of_account(connection.host)
        return self.of_host(connection.address.rpartition(":")[0])

    def behind(self, brokers: Iterable[tuple[str, Asker | None]]) -> dict[str, str]:
        """Of brokers, by address and connection, those that registered through a view, and its name."""
        views = ((addr, self.through(peer)) for addr, peer in brokers if peer is not None)
        return {addr: view.name for addr, view in views if view is not None}

    def of_host(self, host: str) -> View | None:
        """The view whose network has an IP address."""
        address = literal(host.partition("%")[0])
        return None if address is None else self._view(self.table.first_flags_of(packed_address(address)))

    def _of_account(self, account: str) -> View | None:
        """Of IPv6 an account has the first 64 bits."""
        if len(account) == 2 * _SUBSCRIBER_BYTES and ":" not in account and "." not in account:
            start = bytes.fromhex(account)
            return self._view(self.table.first_flags_of(start + bytes(_SUBSCRIBER_BYTES)))
        return self.of_host(account)

    def _view(self, number: int) -> View | None:
        return self.views[number - 1] if number else None

    def elements(self, group: BrokerData) -> tuple[Element, ...]:
        """With the announced addresses, then by view."""
        return _element(group), *(view.element(group) for view in self.views)


def _element(group: BrokerData) -> Element:
    return bodies.broker_data(group, standard=False), bodies.broker_data(group, standard=True)


class ViewCounts:
    """Lookups by view. Reactors count by its number, which another file may change."""

    def __init__(self, read: Callable[[], list[int]]) -> None:
        self._read = read
        self._since: tuple[dict[str, int], list[int]] = {}, read()  # totals by name, and the counts of that moment

    def totals(self, views: Views) -> dict[str, int]:
        """Since the start, by the name of the view. Any thread."""
        before, base = self._since
        counted = zip(views, self._read(), base, strict=False)
        return {view.name: before.get(view.name, 0) + now - then for view, now, then in counted}

    def renumber(self, former: Views) -> None:
        """Control only. Other views are in force from now on; ``former`` were before."""
        self._since = self.totals(former), self._read()


class ShownGroups(Mapping[str, BrokerData]):
    """Broker groups with the addresses of a view. Each is mapped when it is read."""

    def __init__(self, groups: Mapping[str, BrokerData], mapping: AddressMapping) -> None:
        self._groups, self._mapping = groups, mapping

    def __getitem__(self, name: str) -> BrokerData:
        return self._mapping.map_group(self._groups[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)
