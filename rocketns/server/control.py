"""Control: the only owner of the tables. Takes requests from the inbox, answers them, and runs the periodic jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rocketns.config import Configuration
from rocketns.errors import GoAway, RequestError, SystemBusy
from rocketns.processor import client, dispatch
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.codes import V5_3_1, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.encoding import encode_reply, encode_request
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause, Event, MinBrokerIdChanged
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from rocketns.server.clock import Clock
from rocketns.server.eventlog import log_events
from rocketns.server.inbox import Inbox
from rocketns.server.jobs import Jobs
from rocketns.server.peer import Channel, FastLane
from rocketns.server.product import ProductRoutes
from rocketns.server.publisher import Publisher
from rocketns.server.remoting_client import RemotingClient

log = logging.getLogger("rocketns.control")

FIRST_SCAN_MS = 5_000
FIRST_KV_PRINT_MS = 60_000
KV_PRINT_INTERVAL_MS = 10 * 60_000
# After so long sockets are looked at again, whatever turnRequestsMax would still allow.
TURN_MS_MAX = 10

GO_AWAY = GoAway("please go away")
OVERLOAD = SystemBusy("[OVERLOAD]system busy, start flow control for a while")
TOO_LARGE = dispatch.reply_of(RequestError("the answer does not fit into a frame"))


class Control:
    """Runs on the event loop's thread, and nothing here waits."""

    def __init__(
        self, configuration: Configuration, context: NamesrvContext, clock: Clock, client: RemotingClient
    ) -> None:
        self.context = context
        self.clock = clock
        self.jobs = Jobs()
        self.going_away = False
        self.publisher = Publisher(context.tables)
        context.slots = self.publisher.slots
        self.fast_lane: FastLane | None = None
        self.journal: Callable[[list[Event], int, int], None] | None = None
        self._client = client
        self._serialize_type = SerializeType[configuration.serialize_type]
        self._product = ProductRoutes(client, configuration.product_name_servers, self._serialize_type)
        self._turn_requests_max = configuration.limits.turn_requests_max
        self._inbox: Inbox[Channel, RemotingCommand] = Inbox(
            configuration.namesrv, configuration.limits.incoming_bytes_max
        )
        self._turn_is_due = False
        self._stopped = False
        self._add_jobs(configuration, clock.now().ms)

    def _add_jobs(self, configuration: Configuration, now_ms: int) -> None:
        interval_ms = configuration.namesrv.scan_not_active_broker_interval
        self.jobs.add("scanNotActiveBroker", self.scan_not_active_broker, first_ms=now_ms + FIRST_SCAN_MS,
                      every_ms=interval_ms)  # fmt: skip
        self.jobs.add("printAllPeriodically", self.context.kv_config.print_all, first_ms=now_ms + FIRST_KV_PRINT_MS,
                      every_ms=KV_PRINT_INTERVAL_MS)  # fmt: skip

    def submit(self, channel: Channel, command: RemotingCommand, size: int) -> None:
        """Take a request that came as ``size`` bytes; what does not fit its queue is answered at once."""
        channel.in_flight += 1
        if self.going_away and command.version > V5_3_1:
            self._answer(channel, command, dispatch.reply_of(GO_AWAY))
            channel.flush()
        elif self._inbox.submit(command.code, channel, command, size):
            self._want_turn()
        else:
            self._answer(channel, command, dispatch.reply_of(OVERLOAD))
            channel.flush()

    def _want_turn(self) -> None:
        if not self._turn_is_due and not self._stopped:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Answer a bounded number of requests, then apply the unregistrations that came up."""
        self._turn_is_due = False
        if self._stopped:
            return
        for channel in self._process_some():
            channel.flush()
            if channel.has_ended:  # it did while its requests waited; a broker registered by one of them goes too
                self.on_channel_closed(channel, Cause.CHANNEL_CLOSE)
        self.apply_unregistrations()
        if self._inbox:
            self._want_turn()

    def stop(self) -> None:
        """Process nothing more: what waits is dropped, as in Java, and slow requests do not hold up the exit."""
        self._stopped = True
        counts = self.context.registrations
        log.info("registrations: %d, %d of them repeated the broker's last body", counts.total, counts.repeated)

    def _process_some(self) -> set[Channel]:
        """Process what waits, for one turn; the channels that it came over."""
        touched: set[Channel] = set()
        ends_ms = self.clock.now().ms + TURN_MS_MAX
        for channel, command in self._inbox.take(self._turn_requests_max):
            now = self.clock.now()
            reply = dispatch.process(self.context, command, channel, now)
            self._publish(self.context.take_events(), now)
            if self.context.cluster_test and reply.code == ResponseCode.TOPIC_NOT_EXIST:
                self._answer_from_product(channel, command, reply)
            else:
                self._answer(channel, command, reply)
            touched.add(channel)
            if self.clock.now().ms >= ends_ms:
                break
        return touched

    def _answer(self, channel: Channel, command: RemotingCommand, reply: Reply) -> None:
        channel.in_flight -= 1
        if not command.is_oneway and channel.is_open:
            channel.write(self._encode(reply, command))

    def _encode(self, reply: Reply, command: RemotingCommand) -> bytes:
        """The answer's frame; where it has none (a header of 16 MiB), that of an error."""
        try:
            return encode_reply(reply, command.opaque, self._serialize_type)
        except Exception:
            log.exception("the answer to request code %d cannot be encoded", command.code)
            return encode_reply(TOO_LARGE, command.opaque, self._serialize_type)

    def _answer_from_product(self, channel: Channel, command: RemotingCommand, reply: Reply) -> None:
        """Cluster-test mode: ask the product environment, and answer ``reply`` where it does not know either."""

        def answer(found: Reply | None) -> None:
            self._answer(channel, command, found or reply)
            channel.flush()

        self._product.ask(command, answer)

    def _publish(self, events: list[Event], now: Now) -> None:
        """Let the world know, before the broker that caused it is answered.

        A server that goes away notifies nobody: brokers that leave it because of that are well.
        """
        self.publisher.publish(events)
        self.update_fast_lane()
        if not events:
            return
        log_events(events)
        if self.journal is not None:
            self.journal(events, now.ms, now.epoch_ms)
        if self.context.configuration.namesrv.notify_min_broker_id_changed and not self.going_away:
            for event in events:
                if isinstance(event, MinBrokerIdChanged):
                    self._notify_min_broker_id_changed(event)

    def update_fast_lane(self) -> None:
        """Let the reactors answer look-ups, as long as nothing but the tables decides the answers."""
        if self.fast_lane is not None:
            config = self.context.configuration.namesrv
            odd = self.going_away or self.context.cluster_test or config.order_message_enable
            self.fast_lane.allow(not odd and client.is_ready(self.context, self.clock.now()))

    def _notify_min_broker_id_changed(self, event: MinBrokerIdChanged) -> None:
        ext = {  # in the order of Java's HashMap
            "haBrokerAddr": event.ha_addr,
            "offlineBrokerAddr": event.offline_addr,
            "minBrokerAddr": event.min_broker_addr,
            "minBrokerId": str(event.min_broker_id),
        }
        code = RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE
        _, frame = encode_request(code, ext, self._serialize_type, oneway=True)
        for addr in event.receivers:
            self._client.invoke_oneway(addr, frame)

    def apply_unregistrations(self) -> None:
        """BatchUnregistrationService: everything that waits, as one batch."""
        batch = self.context.unregister_queue.take_all()
        if batch:
            now = self.clock.now()
            self._publish(unregister_brokers(self.context.tables, batch, now.ms), now)

    def on_channel_closed(self, channel: Channel, cause: Cause) -> None:
        """BrokerHousekeepingService: a broker whose connection ended is unregistered."""
        self._submit_unregistration(liveness.closed_channel(self.context.tables, channel, cause))

    def scan_not_active_broker(self) -> None:
        """Close the connections of overdue brokers and unregister them."""
        log.info("start scanNotActiveBroker")
        for expired in liveness.expired_brokers(self.context.tables, self.clock.now().ms):
            log.warning("The broker channel expired, %s %dms", expired.key, expired.entry.timeout_ms)
            if isinstance(expired.entry.channel, Channel):
                expired.entry.channel.abort(Cause.EXPIRED)
            self._submit_unregistration(expired.request)

    def _submit_unregistration(self, request: UnregisterRequest | None) -> None:
        if request is None:
            return
        queue = self.context.unregister_queue
        accepted = queue.submit(request)
        if not accepted:  # Java drops it then, and the broker stays until it expires
            self.apply_unregistrations()
            accepted = queue.submit(request)
        log.info(
            "the broker's channel destroyed, submit the unregister request at once, "
            "broker info: %s %s %s[%s], submit result: %s",
            request.cluster, request.addr, request.broker_name, request.broker_id, str(accepted).lower(),
        )  # fmt: skip
        self._want_turn()
