"""Control: the only owner of the tables. Takes requests from the inbox, answers them, and runs the periodic jobs."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Container
from functools import partial

from rocketns.config import Configuration
from rocketns.errors import GoAway, MalformedFrame, RequestError, SystemBusy
from rocketns.processor import client, dispatch
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol import command
from rocketns.protocol.codes import V5_3_1, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.encoding import encode_reply, encode_request
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause, Event, MinBrokerIdChanged
from rocketns.routeinfo.liveness import ExpiredBroker
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from rocketns.server.clock import Clock
from rocketns.server.eventlog import log_events
from rocketns.server.jobs import Jobs
from rocketns.server.known_topics import KnownTopicsReader
from rocketns.server.peer import Channel, FastLane
from rocketns.server.product import ProductRoutes
from rocketns.server.publisher import Publisher
from rocketns.server.remoting_client import RemotingClient
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Inbox, Waiting
from rocketns.server.requests.parked import Parked
from rocketns.server.requests.peek import UNKNOWN
from rocketns.server.stall import SETTLE_MS, StallWatch

log = logging.getLogger("rocketns.control")

FIRST_SCAN_MS = 5_000
FIRST_KV_PRINT_MS = 60_000
KV_PRINT_INTERVAL_MS = 10 * 60_000
# After so long a turn ends, whatever turnRequestsMax would still allow: sockets, signals and timers are looked at.
TURN_US_MAX = 5_000
# What waits of one kind beside requests is worked off in pieces of so many.
UNREGISTERED_AT_ONCE_MAX = 32
EXPIRED_AT_ONCE_MAX = 64
# Frames that wait undecoded, beyond which only connections of which none waits are read.
WAITING_BYTES_MAX = 8 * 1024 * 1024
KEPT_OF_THE_GONE = dispatch.HAVE_EFFECT | {UNKNOWN}

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
        context.registration_reader = KnownTopicsReader(self.publisher.slots)
        self.fast_lane: FastLane | None = None
        self.journal: Callable[[list[Event], int, int], None] | None = None
        self._client = client
        self._serialize_type = SerializeType[configuration.serialize_type]
        self._product = ProductRoutes(client, configuration.product_name_servers, self._serialize_type)
        self._turn_requests_max = configuration.limits.turn_requests_max
        limits = configuration.limits
        self._waiting_bytes_max = min(WAITING_BYTES_MAX, limits.incoming_bytes_max // 4)
        self._inbox: Inbox[Channel] = Inbox(configuration.namesrv, limits.incoming_bytes_max, lambda one: one.host)
        self._parked = Parked(limits.incoming_bytes_max // 4)
        self._overdue: deque[ExpiredBroker] = deque()
        self.stalls = StallWatch(clock.now().ms, context.tables)
        self._turn_is_due = False
        self._stopped = False
        self._add_jobs(configuration, clock.now().ms)

    def run_due_jobs(self) -> None:
        """Run the periodic jobs whose time has come, after a look at how late they are."""
        now_ms = self.clock.now().ms
        self.stalls.check(now_ms, self.jobs.next_due_ms())
        self.jobs.run_due(now_ms)

    def _add_jobs(self, configuration: Configuration, now_ms: int) -> None:
        interval_ms = configuration.namesrv.scan_not_active_broker_interval
        self.jobs.add("scanNotActiveBroker", self.scan_not_active_broker, first_ms=now_ms + FIRST_SCAN_MS,
                      every_ms=interval_ms)  # fmt: skip
        self.jobs.add("printAllPeriodically", self.context.kv_config.print_all, first_ms=now_ms + FIRST_KV_PRINT_MS,
                      every_ms=KV_PRINT_INTERVAL_MS)  # fmt: skip

    def submit(self, channel: Channel, frame: bytes | memoryview) -> None:
        """Take a whole frame, which waits for its turn undecoded."""
        channel.in_flight += 1
        self._inbox.submit(channel, frame)
        self._want_turn()

    @property
    def is_full(self) -> bool:
        """Whether so much waits that only connections of which nothing waits should be read."""
        return self._inbox.bytes + FRAME_COST_BYTES * len(self._inbox) > self._waiting_bytes_max

    def _want_turn(self) -> None:
        if not self._turn_is_due and not self._stopped:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Answer a bounded number of requests, then apply the unregistrations that came up."""
        self._turn_is_due = False
        if self._stopped:
            return
        for channel in self._serve_some():
            channel.flush()
            if channel.has_ended:  # it did while its requests waited; a broker registered by one of them goes too
                self.on_channel_closed(channel, Cause.CHANNEL_CLOSE)
        self.apply_unregistrations()
        if self._inbox or self.context.unregister_queue:
            self._want_turn()

    @property
    def waiting_requests(self) -> int:
        """How many the inbox has."""
        return len(self._inbox)

    def stop(self) -> None:
        """Process nothing more: what waits is dropped, as in Java, and slow requests do not hold up the exit."""
        self._stopped = True
        counts = self.context.registrations
        log.info("registrations: %d, %d of them repeated the broker's last body", counts.total, counts.repeated)

    def _serve_some(self) -> set[Channel]:
        """Decode, process and answer what waits, for one turn; the channels that it came over.

        Each connection is charged what its frames cost.
        """
        touched: set[Channel] = set()
        now_ns = self.clock.spent_ns()
        ends_ns = now_ns + TURN_US_MAX * 1000
        for _ in range(min(self._turn_requests_max, len(self._inbox))):
            if not self._inbox or self._is_behind:
                break
            channel, waiting = self._inbox.take()
            if channel.is_full:
                self._park(channel, waiting)
            else:
                self._serve(channel, waiting)
            touched.add(channel)
            began_ns, now_ns = now_ns, self.clock.spent_ns()
            self._inbox.charge(now_ns - began_ns)
            if now_ns >= ends_ns:
                break
        return touched

    @property
    def _is_behind(self) -> bool:
        """Whether reactors have so many answers to send that no more should be made."""
        return self.fast_lane is not None and self.fast_lane.is_behind

    def _park(self, channel: Channel, waiting: Waiting) -> None:
        """The peer does not take its answers: this frame and those behind it wait until it has."""
        for one in [waiting, *self._inbox.drop(channel)]:
            self._release(channel, one)
            self._parked.park(channel, one)
        if not channel.is_full:  # the answers were taken just now
            self.resume(channel)
        if self._parked.is_over:
            largest = self._parked.largest()
            largest.in_flight -= len(self._parked.take(largest))
            largest.abort(Cause.CHANNEL_CLOSE, "too many bytes of its requests wait, as it takes no answers")

    def resume(self, channel: Channel) -> None:
        """Answers of the connection were taken, or it is gone: its requests go on."""
        if frames := self._parked.take(channel):
            self._inbox.put_back(channel, frames)
            self._want_turn()

    def _release(self, channel: Channel, waiting: Waiting) -> None:
        """Once for each frame: it no longer counts among those for which the reactors have to wait."""
        if not waiting.is_released:
            waiting.is_released = True
            channel.release(waiting.size)

    def _serve(self, channel: Channel, waiting: Waiting) -> None:
        self._release(channel, waiting)
        request = self._decode(channel, waiting.frame)
        if request is None or request.is_response:
            channel.in_flight -= 1
        elif waiting.is_refused:
            self._answer(channel, request, dispatch.reply_of(OVERLOAD))
        elif self.going_away and request.version > V5_3_1:
            self._answer(channel, request, dispatch.reply_of(GO_AWAY))
        elif channel.is_open or request.code in dispatch.HAVE_EFFECT:
            self._process(channel, request)
        else:  # nobody is there to read the answer
            channel.in_flight -= 1

    def _decode(self, channel: Channel, frame: bytes | memoryview) -> RemotingCommand | None:
        """The request; None where its connection is closed instead, and nothing behind the frame counts."""
        try:
            return command.decode(frame)
        except MalformedFrame as error:
            why = f"decode error: {error}"
        except Exception:
            log.exception("decode exception, close %s", channel.address)
            why = "decode exception"
        channel.close(why)
        self._drop(channel)
        return None

    def _drop(self, channel: Channel, keeps: Container[int] = ()) -> None:
        for waiting in self._inbox.drop(channel, keeps):
            channel.in_flight -= 1
            self._release(channel, waiting)

    def _process(self, channel: Channel, request: RemotingCommand) -> None:
        now = self.clock.now()
        reply = dispatch.process(self.context, request, channel, now)
        self._publish(self.context.take_events(), now)
        if self.context.cluster_test and reply.code == ResponseCode.TOPIC_NOT_EXIST:
            self._answer_from_product(channel, request, reply)
        elif reply.after is not None:
            reply.after(partial(self._answer_written, channel, request, reply))
        else:
            self._answer(channel, request, reply)

    def _answer_written(self, channel: Channel, request: RemotingCommand, reply: Reply, failure: str | None) -> None:
        """The reply waited for the disk; where that failed, ``failure`` is answered."""
        self._answer(channel, request, reply if failure is None else dispatch.reply_of(RequestError(failure)))
        channel.flush()

    def _answer(self, channel: Channel, request: RemotingCommand, reply: Reply) -> None:
        channel.in_flight -= 1
        if not request.is_oneway and channel.is_open:
            channel.write(self._encode(reply, request))

    def _encode(self, reply: Reply, request: RemotingCommand) -> bytes:
        """The answer's frame; where it has none (a header of 16 MiB), that of an error."""
        try:
            return encode_reply(reply, request.opaque, self._serialize_type)
        except Exception:
            log.exception("the answer to request code %d cannot be encoded", request.code)
            return encode_reply(TOO_LARGE, request.opaque, self._serialize_type)

    def _answer_from_product(self, channel: Channel, request: RemotingCommand, reply: Reply) -> None:
        """Cluster-test mode: ask the product environment, and answer ``reply`` where it does not know either."""

        def answer(found: Reply | None) -> None:
            self._answer(channel, request, found or reply)
            channel.flush()

        self._product.ask(request, answer)

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

    def publish_noted(self) -> None:
        """Let the world know of effects that no request had."""
        self._publish(self.context.take_events(), self.clock.now())

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
        """BatchUnregistrationService: what waits, as one batch; of many the first, and the rest after the next turn."""
        batch = self.context.unregister_queue.take(UNREGISTERED_AT_ONCE_MAX)
        if batch:
            now = self.clock.now()
            self._publish(unregister_brokers(self.context.tables, batch, now.ms), now)

    def on_channel_closed(self, channel: Channel, cause: Cause) -> None:
        """BrokerHousekeepingService: a broker whose connection ended is unregistered.

        Of its waiting requests those are dropped whose only result would be an answer.
        """
        self.resume(channel)
        self._drop(channel, KEPT_OF_THE_GONE)
        self._submit_unregistration(liveness.closed_channel(self.context.tables, channel, cause))

    def scan_not_active_broker(self) -> None:
        """Close the connections of overdue brokers and unregister them; of many the first, the others soon after."""
        if not self.stalls.may_expire():
            self.jobs.postpone("scanNotActiveBroker", self.clock.now().ms + SETTLE_MS)
            return
        log.info("start scanNotActiveBroker")
        self._overdue = deque(liveness.expired_brokers(self.context.tables, self.clock.now().ms))
        self._expire_some()

    def _expire_some(self) -> None:
        tables, now_ms = self.context.tables, self.clock.now().ms
        for _ in range(min(EXPIRED_AT_ONCE_MAX, len(self._overdue))):
            expired = self._overdue.popleft()
            entry = expired.entry
            if tables.broker_live_table.get(expired.key) is entry and entry.expires_before(now_ms):
                self._expire(expired)
        if self._overdue and not self._stopped:
            asyncio.get_running_loop().call_soon(self._expire_some)

    def _expire(self, expired: ExpiredBroker) -> None:
        channel = expired.entry.channel
        if isinstance(channel, Channel):
            if channel.in_flight:  # what waits may be its heartbeat
                return
            channel.abort(Cause.EXPIRED)
        log.warning("The broker channel expired, %s %dms", expired.key, expired.entry.timeout_ms)
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
