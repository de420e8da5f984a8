"""The core of a name server: tables, what delivers their events, and the turns in which requests are answered.

It opens no socket and no file, starts no thread and takes no signal. A test, a simulation or a second name server
beside the first can build it alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import PublishedTopics
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Configuration
from rocketns.files import FileWriter
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.processor.context import CountLookup, NamesrvContext
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock, Jobs
from rocketns.server.control.answering import Answering
from rocketns.server.control.control import Control
from rocketns.server.control.expiry import Expiry
from rocketns.server.control.housekeeping import BrokerHousekeeping
from rocketns.server.missing import MissingWatch
from rocketns.server.product_environment import ProductEnvironment
from rocketns.server.publishing.delivery import EventDelivery, MinBrokerNotifier, Watcher
from rocketns.server.publishing.publisher import LookupSwitch, Publisher
from rocketns.server.stall import StallWatch
from rocketns.views.views import ViewCounts


class CoreState:
    """What the core owns: the tables, and the slots that show them to reactors."""

    def __init__(self, configuration: Configuration) -> None:
        self.tables = RouteTables()
        kv_path = configuration.namesrv.kv_config_path
        self.kv_config = KVConfigManager(Path(kv_path) if kv_path else None, configuration.limits)
        self.publisher = Publisher(self.tables)


class Core:
    """Each part is given the parts that it calls: tables → what publishes events → control → what watches time."""

    def __init__(
        self, configuration: Configuration, clock: Clock, state: CoreState, client: RemotingClient, writer: FileWriter,
        reactors: Reactors, refuses: Callable[[str, str | None], Awaitable[bool]],
    ) -> None:  # fmt: skip
        """``refuses``: see `Expiry`."""
        tables, self.publisher = state.tables, state.publisher
        self.configuration, self.clock, self.reactors = configuration, clock, reactors
        self.missing = MissingWatch(tables, clock)
        self.context = NamesrvContext(
            configuration, state.kv_config, clock.now().ms, None, self.missing.note,
            partial(PublishedTopics, self.publisher.slots), self.publisher.digests, writer, tables,
        )  # fmt: skip
        self.view_counts = ViewCounts(self.reactors.lookups_of_views)
        self.lookup_switch = LookupSwitch(self.context, self.reactors)
        notifier = MinBrokerNotifier(self.context, client)
        self.delivery = EventDelivery(self.context, self.publisher, self.lookup_switch, notifier)

        product = ProductEnvironment(client, configuration.product_name_servers, self.context.serialize_type,
                                     self.context.release.version)  # fmt: skip
        self.answering = Answering(self.context, clock, self.delivery, product, reactors)
        self.jobs = Jobs()
        self.stalls = StallWatch(clock, self.jobs, tables, self.delivery)
        housekeeping = BrokerHousekeeping(self.context, clock, self.delivery, self.stalls)
        self.control = Control(configuration, clock, self.answering, housekeeping, reactors)
        self.expiry = Expiry(
            self.context, clock, self.jobs, self.stalls, self.delivery, self.control, housekeeping, refuses
        )

    def keep_journal(
        self, record: Watcher, when_written: Callable[[Callable[[], None]], None], count_lookup: CountLookup | None
    ) -> None:
        """Before the server starts: record all events. ``when_written``: see `Answering`."""
        self.delivery.watch(record, "record")
        self.answering.when_written = when_written
        self.context.count_lookup = count_lookup
