"""One client's connection and its two legs. The only place that decides which bytes go where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode
from rocketns.shadow.relay.asking import OPEN_MAX, Asked, OpenRequests
from rocketns.shadow.relay.budget import Account
from rocketns.shadow.relay.cutting import Cutter, Frame
from rocketns.shadow.relay.leg import CLIENT_IS_FULL, WAITS_FOR_FRAME, Leg
from rocketns.shadow.relay.starting import Start, start_of
from rocketns.shadow.switch import place_of

if TYPE_CHECKING:
    from rocketns.shadow.relay.relay import Relay

# A leg that ended is not opened again before.
REOPEN_S = 1.0
# The other server has so long to end the connection as well.
CLOSE_WITHIN_S = 3.0
# After an answer that did not come in time, rocketns does not serve this connection for a while.
REST_S = 5.0
# rocketns' answers go out whole up to this size: if it dies in the middle of one, the upstream's can still go out.
WHOLE_BYTES_MAX = 1024 * 1024
# Reasons why the client is not read.
NOT_READY, SERVER_IS_FULL, TOO_MANY_OPEN = 1, 2, 4


class Client(Protocol):
    """The client's end, plain or after TLS."""

    def write(self, data: bytes) -> None: ...
    def write_eof(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...


class Session:
    """``up`` and ``own`` are the legs, None where there is none now. The client's bytes go to both as they come.

    The upstream's answers pass as they come, in the middle of a frame too, unless rocketns answers one of the open
    requests. Then each frame is looked at before it goes out.
    """

    def __init__(self, relay: Relay, number: int, peer: str, client: Client) -> None:
        self.number, self.peer, self.client = number, peer, client
        self.place = place_of(number)
        self._relay = relay
        self._counts = relay.counts
        self.account = Account(relay.budget)
        self._requests = Cutter(self.account, relay.frame_bytes_max, pins=False)
        self.open = OpenRequests(self.account)
        self.up: Leg | None = None
        self.own: Leg | None = None
        self._is_fresh = True
        self._is_read = True  # bytes of both directions are frames
        self._requests_are_read = True
        self._streamer: Leg | None = None  # a frame of this leg is sent to the client in part
        self._out: list[bytes] | None = None  # what goes out at the end of this piece
        self._queued: list[bytes] = []  # whole frames of the other leg, which wait for its end
        self._pauses = 0
        self._rests_until = self._up_again_at = self._own_again_at = float("-inf")
        self._own_generation = 0
        self._ended = ""  # which server ended the connection first
        self._client_has_ended = self._client_is_gone = False
        self.is_over = False
        self.has_registered = self.is_tls = False

    # The client

    def begin(self) -> None:
        """The client is there. It is not read before the server that answers it is."""
        if not self._relay.begins_with_first_bytes:
            self._open_up()

    def _open_up(self) -> None:
        relay = self._relay
        if self.place < relay.percent:
            self._open_own()
        if relay.upstream.is_down and self._may_be_alone():
            self._up_again_at = relay.now() + REOPEN_S
            return
        self.up = relay.open_upstream(self)
        self._pause(NOT_READY)

    def client_data(self, data: bytes) -> None:
        """Bytes of the client: to both servers at once, then they are looked at."""
        skipped = 0
        if self._is_fresh:
            skipped = self._first(data)
        elif self._requests_are_read and self._requests.frame is None:
            self._reopen()
        self._write(data)
        if self.is_over or not self._requests_are_read:
            return
        try:
            for frame, _, ends in self._requests.pieces(data[skipped:] if skipped else data):
                if ends:
                    self._asked(frame)
        except MalformedFrame:
            self._counts.garbage += 1
            self._requests_are_read = False
            self._requests.drop()

    def _first(self, data: bytes) -> int:
        """How many bytes come before the first frame."""
        self._is_fresh = False
        if self._relay.begins_with_first_bytes:
            self._open_up()
        start = start_of(data)
        if start is Start.TLS:
            self._counts.tls += 1
            self._relay.say_unread()
            self._do_not_read()
            if self.own is not None:
                self.own.close(at_once=True)
                self.own = None
            self._resume(NOT_READY)
            return 0
        if self.own is None:
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
            self._give_up(up)
        if own is not None and not own.write(data, is_bounded=not serves and self.up is not None):
            self._give_up(own)
        if self.up is None and self.own is None:
            self.end()

    def _asked(self, frame: Frame) -> None:
        head, counts = frame.head, self._counts
        counts.requests += 1
        if head is None or head.is_answer or head.is_oneway or self.own is None:
            counts.oneway += head is not None and head.is_oneway
            counts.skipped += head is None or self.own is None
            self._requests.release(frame)
            return
        if head.code == RequestCode.REGISTER_BROKER:
            self.has_registered = True
        if self.up is None:
            counts.alone += 1
            self._requests.release(frame)
            return
        asked = Asked(frame, head, self._relay.now(), serve=self.is_serving)
        if not self.open.add(asked):
            counts.skipped += 1
            self._requests.release(frame)
            return
        counts.served += asked.serve
        if self.open.count > OPEN_MAX:
            self._make_room()

    def _make_room(self) -> None:
        """A client that waits for rocketns is not read further. For another one the oldest request is forgotten."""
        oldest = self.open.oldest()
        assert oldest is not None
        if oldest.serve and not oldest.is_sent:
            self._pause(TOO_MANY_OPEN)
        elif oldest.withholds:
            assert self.up is not None
            self._give_up(self.up)
        else:
            self._counts.skipped += 1
            self.forget(oldest)

    def client_ended(self) -> None:
        """The client sends nothing more. It may still read."""
        self._client_has_ended = True
        for leg in (self.up, self.own):
            if leg is not None:
                leg.write_eof()
        if self.up is not None and self.up.has_ended:
            self.end()

    def client_lost(self, *, was_reset: bool) -> None:
        """The connection is gone."""
        self._client_is_gone = True
        own = self.own
        lingers = self._ended == "upstream" and own is not None and own.is_open and not was_reset
        for leg in (self.up, None if lingers else own):
            if leg is not None:
                leg.close(reset=was_reset and leg is self.up)
        self.up = None
        self._forget_all()
        if not lingers:
            self._finish()

    def client_full(self) -> None:
        """The client does not take its answers."""
        for leg in (self.up, self.own):
            if leg is not None:
                leg.pause(CLIENT_IS_FULL)
        self._client_is_full = True

    def client_drained(self) -> None:
        """It takes them again."""
        self._client_is_full = False
        for leg in (self.up, self.own):
            if leg is not None:
                leg.resume(CLIENT_IS_FULL)

    _client_is_full = False

    def _pause(self, reason: int) -> None:
        if not self._pauses:
            self.client.pause_reading()
        self._pauses |= reason

    def _resume(self, reason: int) -> None:
        was, self._pauses = self._pauses, self._pauses & ~reason
        if was and not self._pauses and not self._client_is_gone:
            self.client.resume_reading()

    # Who answers

    @property
    def is_serving(self) -> bool:
        """Whether rocketns answers a request that comes now."""
        relay, own = self._relay, self.own
        if self.place >= relay.percent or own is None or not own.is_open or not self._requests_are_read:
            return False
        return self._rests_until <= relay.now()

    def _may_be_alone(self) -> bool:
        """Whether rocketns goes on without the upstream."""
        relay = self._relay
        return self._requests_are_read and self.place < relay.switch.percent and relay.half.port is not None

    def look_again(self) -> None:
        """The switch, or what rocketns knows, changed: another server is waited for now."""
        primary = self.own if self.is_serving or self.up is None else self.up
        if primary is not None and primary.is_full:
            self._pause(SERVER_IS_FULL)
        else:
            self._resume(SERVER_IS_FULL)
        if self._pauses & SERVER_IS_FULL:
            self._relay.waiting.add(self)
        else:
            self._relay.waiting.discard(self)

    # The legs

    def _open_own(self) -> None:
        relay = self._relay
        if relay.half.port is None:
            self._own_again_at = relay.now() + REOPEN_S
            return
        self._own_generation = relay.half.generation
        self.own = relay.open_own(self)
        if self._client_is_full:
            self.own.pause(CLIENT_IS_FULL)
        if self.up is None or self._is_fresh:
            self._pause(NOT_READY)

    def _reopen(self) -> None:
        """At the beginning of a frame, a leg that ended may begin again."""
        relay = self._relay
        if self.own is None and relay.half.port is not None and relay.now() >= self._own_again_at:
            self._counts.reopened += 1
            self._open_own()
        if self.up is None and relay.now() >= self._up_again_at and not relay.upstream.is_down:
            self._counts.reopened += 1
            self.up = relay.open_upstream(self)
            if self._client_is_full:
                self.up.pause(CLIENT_IS_FULL)

    def leg_opened(self, leg: Leg) -> None:
        """A leg is open. The client is read when both are that it waits for."""
        self._relay.opened(leg)
        self._begin_reading()

    def _begin_reading(self) -> None:
        up, own = self.up, self.own
        waits_for_own = own is not None and not own.is_open and (up is None or self._is_fresh)
        if not waits_for_own and (up is None or up.is_open):
            self._resume(NOT_READY)

    def leg_failed(self, leg: Leg) -> None:
        """A leg could not be opened."""
        if leg is self.up:
            self._lose_up(leg, was_reset=False)
        elif leg is self.own:
            self._lose_own(leg)

    def leg_full(self, leg: Leg) -> None:
        """A server does not take what is written."""
        self.look_again()

    def leg_drained(self, leg: Leg) -> None:
        """It takes it again."""
        self.look_again()

    def leg_ended(self, leg: Leg) -> None:
        """A server sends nothing more."""
        if self._client_has_ended:
            self._end_leg(leg)
        elif leg is self.up and not self._goes_on_without(leg):
            self._note_end("upstream")
            leg.has_ended = True
            self.client.write_eof()
        else:
            self.leg_lost(leg)

    def leg_lost(self, leg: Leg) -> None:
        """A server ended the connection."""
        if self._client_has_ended:
            self._end_leg(leg)
        elif leg is self.up:
            self._note_end("upstream")
            self._lose_up(leg, was_reset=leg.was_reset)
        elif leg is self.own:
            self._note_end("own")
            self._lose_own(leg)

    def _end_leg(self, leg: Leg) -> None:
        """The client had ended before."""
        if leg is self.up or self.up is None:
            self.end(was_reset=leg.was_reset)
        else:
            leg.close()
            self.own = None
            self._forget_all()

    def _goes_on_without(self, leg: Leg) -> bool:
        """Whether rocketns serves this client without the upstream."""
        own = self.own
        has_own = self._is_fresh if own is None else not own.is_over
        return self._may_be_alone() and has_own and self._streamer is not leg

    def _lose_up(self, leg: Leg, *, was_reset: bool) -> None:
        goes_on = self._goes_on_without(leg)
        leg.close(at_once=True)
        self.up, self._up_again_at = None, self._relay.now() + REOPEN_S
        if not goes_on or self._client_is_gone:
            self.end(was_reset=was_reset)
            return
        self._counts.given_up += 1
        for asked in list(self.open):
            self._answer_alone(asked)
        self._begin_reading()
        self.look_again()

    def _answer_alone(self, asked: Asked) -> None:
        """The upstream's answer will not come."""
        own = asked.own
        if asked.is_sent or asked.up_at is not None:
            self._settle(asked)
        elif asked.own_at is None:
            self.open.let_serve(asked)
        elif own is not None and own.parts is not None:
            self._counts.alone += 1
            self._send(own.data())
            self._settle(asked)
        else:
            self.end(was_reset=True)

    def _lose_own(self, leg: Leg) -> None:
        was_streaming = self._streamer is leg
        leg.close(at_once=True)
        self.own, self._own_again_at = None, self._relay.now() + REOPEN_S
        if self.up is None or was_streaming or self._client_is_gone:
            self.end(was_reset=was_streaming)
            return
        self._counts.given_up += 1
        if self.has_registered:
            self._relay.half.unsettle("the connection of a broker to rocketns' own half ended")
        for asked in list(self.open):
            self._answer_by_upstream(asked)
        self._begin_reading()
        self.look_again()

    def _answer_by_upstream(self, asked: Asked) -> None:
        """rocketns' answer will not come."""
        if asked.serve and not asked.is_sent:
            self.fall_back(asked)
        if asked.up_at is not None or (asked.up is None and not asked.serve):
            self._counts.skipped += 1
            self._settle(asked)

    def _settle(self, asked: Asked) -> None:
        """There is nothing to compare it with."""
        self._relay.pairing.forget(asked)
        self.forget(asked)

    def fall_back(self, asked: Asked) -> None:
        """rocketns did not answer in time: the upstream's answer goes out, if it is there already at once."""
        self._counts.fell_back += 1
        self._rests_until = self._relay.now() + REST_S
        self.open.let_pass(asked)
        if asked.up_at is not None and asked.up is not None:
            if asked.up.parts is None:
                self.end(was_reset=True)
                return
            asked.is_sent = True
            self._send(asked.up.data())
        self.look_again()

    def _give_up(self, leg: Leg) -> None:
        """It does not keep up with the client."""
        if leg is self.up:
            self._lose_up(leg, was_reset=False)
        elif leg is self.own:
            self._lose_own(leg)

    # Answers

    def leg_data(self, leg: Leg, data: bytes) -> None:
        """Bytes of a server."""
        if not self._is_read:
            if leg is self.up:
                self.client.write(data)
            return
        passes = self._passes(leg)
        try:
            if passes:
                self._pass(leg, data)
            else:
                self._choose(leg, data)
        except MalformedFrame:
            self._on_garbage(leg, passed=passes)

    def _passes(self, leg: Leg) -> bool:
        """Whether everything from this leg goes out."""
        if leg is self.up:
            withholds = self.open.withheld
        else:
            withholds = self.up is not None
        frame = leg.cutter.frame
        return not withholds and (frame is None or frame.passes) and self._streamer in (None, leg)

    def _pass(self, leg: Leg, data: bytes) -> None:
        self.client.write(data)
        for frame, _, ends in leg.cutter.pieces(data):
            if ends:
                self._answered(leg, frame, is_sent=True)
        partial = leg.cutter.frame
        if partial is not None:
            self._begin_passing(leg, partial)
        elif self._streamer is leg:
            self._end_streaming()

    def _begin_passing(self, leg: Leg, frame: Frame) -> None:
        """What came of a frame was sent. Its rest follows before anything else."""
        self._streamer = leg
        frame.passes = True
        if frame.is_readable and frame.is_pinned:
            frame.is_pinned = False
            self._meet(leg, frame)
            if frame.asked is not None:
                frame.asked.is_sent = True

    def _choose(self, leg: Leg, data: bytes) -> None:
        self._out = []
        try:
            self._choose_frames(leg, data)
        finally:
            out, self._out = self._out, None
            if out:
                self.client.write(out[0] if len(out) == 1 else b"".join(out))

    def _emit(self, data: bytes) -> None:
        """To the client, with what else goes out now."""
        if self._out is None:
            self.client.write(data)
        else:
            self._out.append(data)

    def _choose_frames(self, leg: Leg, data: bytes) -> None:
        for frame, piece, ends in leg.cutter.pieces(data):
            if frame.passes:
                self._emit(piece)
            elif frame.is_readable and self._goes_out(leg, frame):
                self._begin(leg, frame, ends=ends)
            if ends:
                is_sent = frame.passes
                self._answered(leg, frame, is_sent=is_sent)
                if self._streamer is leg:
                    self._end_streaming()
            if leg.is_over:
                return

    def _goes_out(self, leg: Leg, frame: Frame) -> bool:
        """Whether the frame is sent to the client. The head of the frame is known."""
        if frame.asked is None:
            self._meet(leg, frame)
        asked = frame.asked
        if asked is not None and asked.is_sent:
            goes_out = False
        elif asked is None or asked.is_over:
            goes_out = not leg.is_own or self.up is None
        else:
            goes_out = asked.serve if leg.is_own else not asked.serve
        if not goes_out:
            frame.is_pinned = False
        return goes_out

    def _begin(self, leg: Leg, frame: Frame, *, ends: bool) -> None:
        """Send what came of a frame, unless it has to wait for its end, or for the end of the other leg's frame."""
        if self._streamer not in (None, leg):
            leg.pause(WAITS_FOR_FRAME)
            if not ends:
                return
        elif not ends and leg.is_own and self.up is not None and frame.size <= WHOLE_BYTES_MAX:
            if frame.is_pinned and self.account.fits(frame.size):
                return
        if frame.parts is None:
            self.end(was_reset=True)
            return
        frame.passes = True
        frame.is_pinned = False
        if frame.asked is not None:
            frame.asked.is_sent = True
        if ends:
            self._send(frame.data())
        else:
            self._streamer = leg
            self._emit(frame.data())

    def _send(self, data: bytes) -> None:
        """A whole frame: at once, or after the one that is being sent."""
        if self._streamer is None:
            self._emit(data)
        else:
            self._queued.append(data)

    def _end_streaming(self) -> None:
        self._streamer = None
        if self._queued:
            queued, self._queued = self._queued, []
            self._emit(b"".join(queued))
        for leg in (self.up, self.own):
            if leg is not None:
                leg.resume(WAITS_FOR_FRAME)

    def _meet(self, leg: Leg, frame: Frame) -> None:
        """Find the request that the frame answers."""
        head = frame.head
        if head is None or not head.is_answer:
            return
        asked = self.open.find(head.opaque, own=leg.is_own)
        if asked is None:
            return
        frame.asked = asked
        if leg.is_own:
            asked.own = frame
        else:
            asked.up = frame

    def _answered(self, leg: Leg, frame: Frame, *, is_sent: bool) -> None:
        """A frame of a server ended."""
        if frame.asked is None:
            self._meet(leg, frame)
        asked = frame.asked
        if asked is None or asked.is_over:
            leg.cutter.release(frame)
            return
        frame.is_pinned = False
        asked.is_sent = asked.is_sent or is_sent
        now = self._relay.now()
        if leg.is_own:
            asked.own_at = now
        else:
            self.open.note_upstream(asked, now)
        if self.up is None or self.own is None:
            self._settle(asked)
        else:
            self._relay.pairing.answered(self, asked)

    def forget(self, asked: Asked) -> None:
        """The request is over: keep nothing of it."""
        if asked.is_over:
            return
        self.open.remove(asked)
        for frame in (asked.request, asked.up, asked.own):
            if frame is not None:
                self._requests.release(frame)
        if self._pauses & TOO_MANY_OPEN and self.open.count <= OPEN_MAX // 2:
            self._resume(TOO_MANY_OPEN)

    def _on_garbage(self, leg: Leg, *, passed: bool) -> None:
        """A server sends what is no frame. ``passed``: the client has it already."""
        self._counts.garbage += 1
        if leg.is_own or self._goes_on_without(leg):
            self._give_up(leg)
        elif passed:
            self._do_not_read()
        else:
            self.end(was_reset=True)

    def _do_not_read(self) -> None:
        """From now on bytes pass unread. Both servers get them, and may end the connection."""
        self._is_read = self._requests_are_read = False
        self._forget_all()
        self._requests.drop()

    # The end

    def _note_end(self, server: str) -> None:
        """The other server should end the connection as well."""
        if not self._ended and not self._client_is_gone:
            self._ended = server
            self._relay.note_end(self)

    def check_end(self) -> None:
        """`CLOSE_WITHIN_S` after one server ended the connection: has the other one, too?"""
        relay = self._relay
        other = self.own if self._ended == "upstream" else self.up
        half_lives = relay.half.generation == self._own_generation and relay.half.port is not None
        if other is not None and not other.is_over and half_lives and not relay.upstream.is_down:
            self._counts.closed += 1
        ended, self._ended = self._ended, ""
        if self._client_is_gone:
            self._finish()
        elif ended == "upstream" and self.up is not None and self.up.has_ended:
            self.end()

    def end(self, *, was_reset: bool = False) -> None:
        """End the client's connection, as the server did."""
        if self.is_over or self._client_is_gone:
            if self._client_is_gone and self._ended != "upstream":
                self._finish()
            return
        if was_reset:
            self.client.reset()
        else:
            self.client.close()

    def _forget_all(self) -> None:
        for asked in list(self.open):
            self._settle(asked)

    def _finish(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        for leg in (self.up, self.own):
            if leg is not None:
                leg.close()
        self.up = self.own = None
        self._requests.drop()
        self.account.close()
        self._relay.ended(self)
