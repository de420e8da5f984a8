"""One client's connection, and its connections to both servers."""

from __future__ import annotations

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode
from rocketns.shadow.relay.answers import Answers
from rocketns.shadow.relay.clients.outlet import NOT_READY, SERVER_IS_FULL, TOO_MANY_OPEN, Client, Reading
from rocketns.shadow.relay.clients.starting import Start, start_of
from rocketns.shadow.relay.frames.asking import OPEN_MAX
from rocketns.shadow.relay.frames.budget import Account
from rocketns.shadow.relay.frames.cutting import Cutter
from rocketns.shadow.relay.frames.frame import Asked, Frame
from rocketns.shadow.relay.leg import CLIENT_IS_FULL, Leg
from rocketns.shadow.relay.surroundings import Surroundings
from rocketns.shadow.switch import place_of

# A leg that ended is not opened again before.
REOPEN_S = 1.0
# The other server has so long to end the connection as well.
CLOSE_WITHIN_S = 3.0
# After an answer that did not come in time, rocketns does not serve this connection for a while.
REST_S = 5.0
UPSTREAM, HALF = "upstream", "half"


class Session:
    """``up`` and ``own`` are the legs, None where there is none now. The client's bytes go to both as they come.

    ``reads_requests``: the client's bytes are frames; ``reads_answers`` likewise, and TLS is neither.
    """

    def __init__(self, relay: Surroundings, number: int, peer: str, client: Client) -> None:
        self.relay, self.number, self.peer, self.client = relay, number, peer, client
        self.place = place_of(number)
        self._counts = relay.counts
        self.account = Account(relay.budget)
        self.requests = Cutter(self.account, relay.frame_bytes_max, pins=False)
        self.up: Leg | None = None
        self.own: Leg | None = None
        self.answers = Answers(self, client, self.account, relay.pairing)
        self._is_fresh = self.reads_requests = self.reads_answers = True
        self._reading = Reading(client)
        self._rests_until = self._up_again_at = self._own_again_at = float("-inf")
        self._own_generation = 0
        self._ended = ""  # which server ended the connection first
        self._client_has_ended = self._client_is_gone = self._client_is_full = False
        self.is_over = self.is_tls = self._has_registered = False

    # The client

    def begin(self) -> None:
        """The client is there. It is not read before the server that answers it is."""
        if not self.relay.begins_with_first_bytes:
            self._open_both()

    def client_data(self, data: bytes) -> None:
        """Bytes of the client: to both servers at once, then they are looked at."""
        skipped = 0
        if self._is_fresh:
            skipped = self._first(data)
        elif self.reads_requests and self.requests.frame is None:
            self._reopen()
        self._write(data)
        if self.is_over or not self.reads_requests:
            return
        try:
            for frame, _, ends in self.requests.pieces(data[skipped:] if skipped else data):
                if ends:
                    self._asked(frame)
        except MalformedFrame:
            self._counts.garbage += 1
            self.reads_requests = False
            self.requests.drop()

    def _first(self, data: bytes) -> int:
        """How many bytes come before the first frame."""
        self._is_fresh = False
        if self.relay.begins_with_first_bytes:
            self._open_both()
        start = start_of(data)
        if start is Start.TLS:
            self._counts.tls += 1
            self.relay.say_unread()
            self._do_not_read()
            if self.own is not None:
                self.own.close(at_once=True)
                self.own = None
                self._begin_reading()
            return 0
        self._open_own()
        if isinstance(start, int):
            return start
        self._counts.garbage += 1
        self._do_not_read()
        return 0

    def _write(self, data: bytes) -> None:
        up, own = self.up, self.own
        serves = self.is_serving
        if up is not None and not up.write(data, is_bounded=serves):
            self.lose(up)
        if own is not None and not own.write(data, is_bounded=not serves and self.up is not None):
            self.lose(own)
        if self.up is None and self.own is None:
            self.end()

    def _asked(self, frame: Frame) -> None:
        head, counts = frame.head, self._counts
        counts.requests += 1
        if head is not None and head.code == RequestCode.REGISTER_BROKER:
            self._has_registered = True
        if head is None or head.is_answer or head.is_oneway or self.own is None or self.up is None:
            counts.count_unpaired(head, has_upstream=self.up is not None)
            self.requests.release(frame)
            return
        asked = Asked(frame, head, self.relay.now(), serve=self.is_serving)
        if not self.answers.open.add(asked):
            counts.skipped += 1
            self.requests.release(frame)
            return
        counts.served += asked.serve
        if self.answers.open.count > OPEN_MAX:
            self._make_room()

    def _make_room(self) -> None:
        """A client that waits for rocketns is not read further. For another one the oldest request is forgotten."""
        oldest = self.answers.open.oldest()
        assert oldest is not None
        if oldest.serve and not oldest.is_sent:
            self._reading.pause(TOO_MANY_OPEN)
        elif oldest.withholds and self.up is not None:
            self.lose(self.up)
        else:
            self._counts.skipped += 1
            self.answers.settle(oldest)

    def request_is_over(self) -> None:
        """There may be room for others. What stayed for the last answer ends."""
        if self._client_is_gone and not self.answers.open.count and self._ended != UPSTREAM:
            self._finish()
            return
        if self._reading.is_paused(TOO_MANY_OPEN) and self.answers.open.count <= OPEN_MAX // 2:
            self._reading.resume(TOO_MANY_OPEN)

    def client_ended(self) -> None:
        """The client sends nothing more. It may still read."""
        self._client_has_ended = True
        for leg in self._legs():
            if leg is self.up or self._ended != UPSTREAM:  # otherwise the half should end by itself
                leg.write_eof()
        if self.up is not None and self.up.has_ended:
            self.end()

    def client_lost(self, *, was_reset: bool) -> None:
        """The connection is gone."""
        self._client_is_gone = True
        if self.up is not None:
            self.up.close(reset=was_reset)
            self.up = None
        if self.own is None or not self._stays(self.own, was_reset=was_reset):
            self._finish()

    def _stays(self, own: Leg, *, was_reset: bool) -> bool:
        """Whether rocketns' leg does: for answers that are compared, or as it should end where the upstream did."""
        if self.relay.may_linger(self) and self.answers.wait_only_for(own=True):
            own.read_to_the_end(with_eof=self._ended != UPSTREAM)
            return True
        return self._ended == UPSTREAM and own.is_open and not was_reset

    def client_full(self) -> None:
        """The client does not take its answers."""
        self._client_is_full = True
        for leg in self._legs():
            leg.pause(CLIENT_IS_FULL)

    def client_drained(self) -> None:
        """It takes them again."""
        self._client_is_full = False
        for leg in self._legs():
            leg.resume(CLIENT_IS_FULL)

    def _legs(self) -> list[Leg]:
        return [leg for leg in (self.up, self.own) if leg is not None]

    # Who answers

    @property
    def is_serving(self) -> bool:
        """Whether rocketns answers a request that comes now."""
        own = self.own
        if self.place >= self.relay.percent or own is None or not own.is_open or not self.reads_requests:
            return False
        return self._rests_until <= self.relay.now()

    def _may_be_alone(self) -> bool:
        """Whether rocketns goes on without the upstream."""
        return self.reads_requests and self.place < self.relay.switch.percent and self.relay.half.port is not None

    def rest(self) -> None:
        """rocketns did not answer in time: the upstream does for a while."""
        self._rests_until = self.relay.now() + REST_S
        self.look_again()

    def look_again(self) -> None:
        """The switch, what rocketns knows, or a leg changed: another server may be the one that is waited for."""
        primary = self.own if self.is_serving or self.up is None else self.up
        if primary is not None and primary.is_full:
            self._reading.pause(SERVER_IS_FULL)
            self.relay.waiting.add(self)
        else:
            self._reading.resume(SERVER_IS_FULL)
            self.relay.waiting.discard(self)

    # The legs

    def _open_both(self) -> None:
        """The half's leg opens with the first bytes, if rocketns does not answer them."""
        relay = self.relay
        if self.place < relay.percent:
            self._open_own()
        if relay.upstream.is_down and self._may_be_alone():
            self._up_again_at = relay.now() + REOPEN_S
            return
        self._open_up()
        self._reading.pause(NOT_READY)

    def _open_up(self) -> None:
        self.up = self.relay.open_upstream(self)
        if self._client_is_full:
            self.up.pause(CLIENT_IS_FULL)

    def _open_own(self) -> None:
        relay = self.relay
        if self.own is not None:
            return
        if relay.half.port is None:
            self._own_again_at = relay.now() + REOPEN_S
            return
        self._own_generation = relay.half.generation
        self.own = relay.open_own(self)
        if self._client_is_full:
            self.own.pause(CLIENT_IS_FULL)
        if self.up is None or self._is_fresh:
            self._reading.pause(NOT_READY)

    def _reopen(self) -> None:
        """At the beginning of a frame, a leg that ended may begin again."""
        relay = self.relay
        if self.own is None and relay.half.port is not None and relay.now() >= self._own_again_at:
            self._counts.reopened += 1
            self._open_own()
        if self.up is None and relay.now() >= self._up_again_at and not relay.upstream.is_down:
            self._counts.reopened += 1
            self._open_up()

    def leg_opened(self, leg: Leg) -> None:
        """A leg is open."""
        self.relay.opened(leg)
        self._begin_reading()

    def _begin_reading(self) -> None:
        """The client is read when those legs are open that it waits for."""
        up, own = self.up, self.own
        waits_for_own = own is not None and not own.is_open and (up is None or self._is_fresh)
        if not waits_for_own and (up is None or up.is_open):
            self._reading.resume(NOT_READY)

    def leg_data(self, leg: Leg, data: bytes) -> None:
        """Bytes of a server."""
        if self.reads_answers:
            (self.answers.take_last if self._client_is_gone else self.answers.take)(leg, data)
        elif leg is self.up:
            self.client.write(data)

    def leg_ended(self, leg: Leg) -> None:
        """A server sends nothing more."""
        if leg is self.up and not self._client_has_ended and not self._goes_on_without(leg):
            self._note_end(UPSTREAM)
            leg.has_ended = True
            self.client.write_eof()
        else:
            self.leg_lost(leg)

    def leg_lost(self, leg: Leg) -> None:
        """A server ended the connection."""
        if self._client_has_ended:
            self._end_after_client(leg)
        elif leg is self.up:
            self._note_end(UPSTREAM)
            self.lose(leg)
        elif leg is self.own:
            self._note_end(HALF)
            self.lose(leg)

    def _end_after_client(self, leg: Leg) -> None:
        leg.close()
        if leg is self.up or self.up is None:
            self.end(was_reset=leg.was_reset)
        if leg is self.own:
            self.own = None
            self.answers.wait_only_for(own=False)

    def server_sent_garbage(self, leg: Leg, *, passed: bool) -> None:
        """A server sent what is no frame. ``passed``: the client has it already."""
        self._counts.garbage += 1
        if leg.is_own or self._goes_on_without(leg):
            self.lose(leg)
        elif passed:
            self._do_not_read()
        else:
            self.end(was_reset=True)

    def _goes_on_without(self, leg: Leg) -> bool:
        """Whether rocketns serves this client without the upstream's leg."""
        has_own = self._is_fresh if self.own is None else not self.own.is_over
        return self._may_be_alone() and has_own and self.answers.outlet.streamer is not leg

    def lose(self, leg: Leg) -> None:
        """A leg ended, could not be opened, or does not keep up with the client."""
        if leg is self.up:
            self._lose_up(leg)
        elif leg is self.own:
            self._lose_own(leg)

    def _lose_up(self, leg: Leg) -> None:
        goes_on = self._goes_on_without(leg)
        leg.close(at_once=True)
        self.up, self._up_again_at = None, self.relay.now() + REOPEN_S
        if not goes_on or self._client_is_gone:
            self.end(was_reset=leg.was_reset)
            return
        self._counts.given_up += 1
        self.answers.without_upstream()
        self._begin_reading()
        self.look_again()

    def _lose_own(self, leg: Leg) -> None:
        was_streaming = self.answers.outlet.streamer is leg
        leg.close(at_once=True)
        self.own, self._own_again_at = None, self.relay.now() + REOPEN_S
        if self.up is None or was_streaming or self._client_is_gone:
            self.end(was_reset=was_streaming)
            return
        self._counts.given_up += 1
        if self._has_registered:
            self.relay.half.unsettle("the connection of a broker to rocketns' own half ended")
        self.answers.without_half()
        self._begin_reading()
        self.look_again()

    def _do_not_read(self) -> None:
        """From now on bytes pass unread. Both servers get them, and may end the connection."""
        self.reads_requests = self.reads_answers = False
        self.answers.forget_all()
        self.requests.drop()

    # The end

    def _note_end(self, server: str) -> None:
        """The other server should end the connection as well."""
        if not self._ended and not self._client_is_gone:
            self._ended = server
            self.relay.note_end(self)

    def check_end(self) -> None:
        """`CLOSE_WITHIN_S` after one server ended the connection: has the other one, too?"""
        relay = self.relay
        other = self.own if self._ended == UPSTREAM else self.up
        half_lives = relay.half.generation == self._own_generation and relay.half.port is not None
        if other is not None and not other.is_over and half_lives and not relay.upstream.is_down:
            self._counts.closed += 1
        ended, self._ended = self._ended, ""
        if self._client_is_gone:
            self._finish()
        elif ended == UPSTREAM and self.up is not None and self.up.has_ended:
            self.end()

    def end(self, *, was_reset: bool = False) -> None:
        """End the client's connection, as the server did."""
        if self._client_is_gone:
            if self._ended != UPSTREAM:
                self._finish()
        elif was_reset:
            self.client.reset()
        else:
            self.client.close()

    def _finish(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self.answers.forget_all()
        for leg in self._legs():
            leg.close()
        self.up = self.own = None
        self.requests.drop()
        self.account.close()
        self.relay.ended(self)
