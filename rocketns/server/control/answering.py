"""From a frame to its answer: decode, process, publish the changes, and only then reply.

A lookup without a route waits for the registrations that came before it. Hosts take turns, so frames take effect in
another order than they came in. So it waits until no frame is left that has not taken effect. See
_fast/reactor/answers.pxd: at reactors most such lookups wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from rocketns._fast.reactor.reactors import Reactors
from rocketns.access.classes import Access
from rocketns.errors import GoAway, MalformedFrame, RequestError, SystemBusy
from rocketns.processor import requests
from rocketns.processor.client import is_ready
from rocketns.processor.context import NamesrvContext
from rocketns.protocol import command
from rocketns.protocol.codes import V5_3_1, RequestCode, ResponseCode
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.encoding import encode_reply
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.clock import Clock
from rocketns.server.control.inbox import UNKNOWN, WaitingFrame
from rocketns.server.control.measures import Measures
from rocketns.server.product_environment import ProductEnvironment
from rocketns.server.publishing.delivery import EventDelivery

# So long a lookup waits, at a reactor or here.
DEFERRED_S_MAX = 0.02
# The reactors' own bounds are in _fast/reactor/answers.pyx.
DEFERRED_MAX = 64
DEFERRED_OF_HOST_MAX = 16


@dataclass(slots=True)
class _DeferredLookup:
    host: str
    until_s: float
    answer: Callable[[], object]


class DeferredLookups:
    """Control only. They are answered in the order in which they came."""

    def __init__(self, reactors: Reactors) -> None:
        self._reactors = reactors
        self._waiting: deque[_DeferredLookup] = deque()
        self._of_host: Counter[str] = Counter()

    def defer(self, host: str, answer: Callable[[], object]) -> bool:
        """Call ``answer`` when all frames have taken effect, or after DEFERRED_S_MAX.

        False: too many lookups wait already, in all or of this host.
        """
        if len(self._waiting) == DEFERRED_MAX or self._of_host[host] == DEFERRED_OF_HOST_MAX:
            return False
        self._of_host[host] += 1
        loop = asyncio.get_running_loop()
        self._waiting.append(_DeferredLookup(host, loop.time() + DEFERRED_S_MAX, answer))
        loop.call_later(DEFERRED_S_MAX, lambda: self.answer_due(loop.time()))
        return True

    def answer_due(self, now_s: float = 0.0) -> None:
        """Answer all if all frames have taken effect, else those whose time is over. Call it after each turn."""
        while self._waiting and (self._reactors.is_applied or self._waiting[0].until_s <= now_s):
            deferred = self._waiting.popleft()
            self._of_host -= Counter({deferred.host: 1})
            deferred.answer()


log = logging.getLogger("rocketns.control")

GO_AWAY = GoAway("please go away")
OVERLOAD = SystemBusy("[OVERLOAD]system busy, start flow control for a while")
# Reactors answer it too: _fast/codec/replies.pxd.
BEYOND_RATE = SystemBusy("[RATE]too many requests of this address, slow down")
LENGTH_BYTES = 4  # of the length before a frame
TOO_LARGE = requests.reply_of(RequestError("the answer does not fit into a frame"))


class Answering:
    """Runs on control's thread. Answers that wait for the disk, or for the product environment, are sent later.

    ``when_written`` calls back when the journal has written the change of routes that was delivered last. It calls back
    without that, too, where the write fails or takes too long. ``measures`` counts requests. Each is None where there
    is none.
    """

    def __init__(
        self, context: NamesrvContext, clock: Clock, delivery: EventDelivery, product: ProductEnvironment,
        reactors: Reactors,
    ) -> None:  # fmt: skip
        self._context = context
        self._clock = clock
        self._delivery = delivery
        self._product = product
        self._reactors = reactors
        self._began_ns = 0
        self.deferred = DeferredLookups(reactors)
        self.when_written: Callable[[Callable[[], None]], None] | None = None
        self.measures: Measures | None = None

    def serve(self, connection: Connection, waiting: WaitingFrame, *, may_defer: bool) -> bool:
        """Answer a frame. A lookup without a route may wait until all frames have taken effect.

        False for a malformed frame: its connection is closed, and the frames behind it do not count.
        """
        frame = waiting.frame
        # Of a refused one only the header may be left, so that its signature cannot be verified.
        is_cut = LENGTH_BYTES + int.from_bytes(frame[:LENGTH_BYTES], "big") > len(frame)
        if self.measures is not None:
            self._began_ns = self._clock.spent_ns()
        request = self._decode(connection, frame)
        if request is not None:
            connection.note_sender(request.language, request.version)
        if request is None or request.is_response:
            connection.end_request()
        elif not connection.is_open and not requests.request_of(request.code).has_effect:
            connection.end_request()  # the answer would reach nobody
        elif is_cut or self._context.guard.policy.is_off or self._is_permitted(connection, request, frame):
            if waiting.is_refused:
                busy = BEYOND_RATE if waiting.is_beyond_rate else OVERLOAD
                self._answer(connection, request, requests.reply_of(busy))
            elif self._context.going_away and request.version > V5_3_1:
                self._answer(connection, request, requests.reply_of(GO_AWAY))
            elif request.code != RequestCode.GET_ROUTEINFO_BY_TOPIC or not self._defer(connection, request, may_defer):
                self._process(connection, request)
        return request is not None

    def _is_permitted(self, connection: Connection, request: RemotingCommand, frame: bytes | memoryview) -> bool:
        """False for a request to which the peer has no right: it is answered."""
        context, now = self._context, self._clock.now()
        # In this mode every code is answered with a route.
        access = Access.LOOKUP if context.cluster_test else requests.request_of(request.code).access
        verdict = context.guard.ask(connection, request, access, now.ms, context.tables)
        context.principals, context.access_key = verdict.principals, verdict.access_key
        if verdict.event is not None:
            context.events += [verdict.event]
            self._delivery.deliver(context.drain_events(), now)
        if verdict.error is not None:
            self._answer(connection, request, requests.reply_of(verdict.error))
        elif access is Access.LOOKUP and verdict.depends_on_peer_alone:
            connection.allow_lookups()
        elif access is Access.LOOKUP and verdict.depends_on_bytes_alone:
            self._reactors.remember_allowed(frame)
        return verdict.error is None

    def _defer(self, connection: Connection, request: RemotingCommand, may_defer: bool) -> bool:
        """Whether the lookup has no route, and a registration that came before it may bring one."""
        context, topic = self._context, (request.ext_fields or {}).get("topic")
        if not may_defer or topic is None or self._reactors.is_applied:
            return False
        if context.cluster_test or not is_ready(context, self._clock.now()):
            return False
        if pick_up_route(context.tables, context.configuration.namesrv, topic) is not None:
            return False
        request = replace(request, data=None)  # it would hold its whole frame while it waits
        return self.deferred.defer(connection.host, partial(self._process_late, connection, request))

    def _process_late(self, connection: Connection, request: RemotingCommand) -> None:
        self._process(connection, request)
        connection.flush()

    def _decode(self, connection: Connection, frame: bytes | memoryview) -> RemotingCommand | None:
        """The request. None if the frame is malformed: then its connection is closed."""
        try:
            return command.decode(frame, self._context.configuration.limits.name_bytes_max)
        except MalformedFrame as error:
            why = f"decode error: {error}"
        except Exception:
            log.exception("decode exception, close %s", connection.address)
            why = "decode exception"
        connection.close(why)
        return None

    def _process(self, connection: Connection, request: RemotingCommand) -> None:
        now = self._clock.now()
        reply = requests.process(self._context, request, connection, now)
        connection.is_broker = connection in self._context.tables.owned
        is_being_written = self._delivery.deliver(self._context.drain_events(), now)
        if self._context.cluster_test and reply.code == ResponseCode.TOPIC_NOT_EXIST:
            request = replace(request, data=None)  # it would hold its whole frame while it waits
            seen = self._context.view_of(request, connection)
            later = partial(self._answer_late, connection, request, reply, self._began_ns)
            self._product.ask(request, connection.host, later, None if seen is None else seen.show)
        elif reply.after is not None:
            later = partial(self._answer_late, connection, request, reply, self._began_ns)
            reply.after(lambda why: later(None if why is None else requests.reply_of(RequestError(why))))
        elif is_being_written and self.when_written is not None:
            self.when_written(partial(self._answer_late, connection, request, reply, self._began_ns))
        else:
            self._answer(connection, request, reply)

    def _answer_late(
        self, connection: Connection, request: RemotingCommand, reply: Reply, began_ns: int,
        instead: Reply | None = None,
    ) -> None:  # fmt: skip
        """Others had their turns since the request was processed. ``instead`` of the reply is one that they made."""
        self._began_ns = began_ns
        self._answer(connection, request, instead or reply)
        connection.flush()

    def _answer(self, connection: Connection, request: RemotingCommand, reply: Reply) -> None:
        connection.end_request()
        if self.measures is not None:
            code = request.code if request.code in requests.REQUESTS else UNKNOWN
            self.measures.answered(code, reply.code, self._clock.spent_ns() - self._began_ns)
        if request.is_oneway or not connection.is_open:
            return
        how = request.opaque, self._context.serialize_type, self._context.release.version
        try:
            frame = encode_reply(reply, *how)
        except Exception:  # such as for a header of 16 MiB
            log.exception("the answer to request code %d cannot be encoded", request.code)
            frame = encode_reply(TOO_LARGE, *how)
        connection.write(frame)
