"""The frames of both servers on one connection: which of them go out, and which requests they answer."""

from __future__ import annotations

from typing import Protocol

from rocketns.errors import MalformedFrame
from rocketns.shadow.relay.clients.outlet import Client, Outlet
from rocketns.shadow.relay.counts import RelayCounts
from rocketns.shadow.relay.frames.asking import OpenRequests
from rocketns.shadow.relay.frames.budget import Account
from rocketns.shadow.relay.frames.cutting import Cutter
from rocketns.shadow.relay.frames.frame import Asked, Frame
from rocketns.shadow.relay.leg import WAITS_FOR_FRAME, Leg
from rocketns.shadow.relay.pairing import Pairing

# rocketns' answers go out whole up to this size: if it dies in the middle of one, the upstream's can still go out.
WHOLE_BYTES_MAX = 1024 * 1024


class Connection(Protocol):
    """The session whose answers these are."""

    number: int
    peer: str
    up: Leg | None
    own: Leg | None
    requests: Cutter

    def end(self, *, was_reset: bool = False) -> None: ...
    def rest(self) -> None: ...
    def request_is_over(self) -> None: ...
    def server_sent_garbage(self, leg: Leg, /, *, passed: bool) -> None: ...


class Answers:
    """The upstream's bytes pass as they come, in the middle of a frame too, unless rocketns answers one of the open
    requests. Then each frame is looked at before it goes out.
    """

    def __init__(self, session: Connection, client: Client, account: Account, pairing: Pairing) -> None:
        self._session, self._account, self._pairing = session, account, pairing
        self._counts: RelayCounts = pairing.counts
        self.number, self.peer = session.number, session.peer
        self.is_known = False
        self.open = OpenRequests(account)
        self.outlet = Outlet(client)

    def take(self, leg: Leg, data: bytes) -> None:
        """Bytes of a server."""
        passes = self._passes(leg)
        try:
            if passes:
                self._pass(leg, data)
            else:
                self._choose(leg, data)
        except MalformedFrame:
            self._session.server_sent_garbage(leg, passed=passes)

    def take_last(self, leg: Leg, data: bytes) -> None:
        """Bytes of a server for a client that is gone: they go nowhere, and answers are compared."""
        try:
            for frame, _, ends in leg.cutter.pieces(data):
                frame.is_pinned = False
                if ends:
                    self._ended(leg, frame, is_sent=False)
                if leg.is_over:
                    return
        except MalformedFrame:
            self._session.server_sent_garbage(leg, passed=False)

    def _passes(self, leg: Leg) -> bool:
        """Whether everything from this leg goes out."""
        withholds = self._session.up is not None if leg.is_own else self.open.withheld > 0
        frame = leg.cutter.frame
        return not withholds and (frame is None or frame.passes) and self.outlet.is_free_for(leg)

    def _pass(self, leg: Leg, data: bytes) -> None:
        self.outlet.write(data)
        for frame, _, ends in leg.cutter.pieces(data):
            if ends:
                self._ended(leg, frame, is_sent=True)
        partial = leg.cutter.frame
        if partial is not None:
            self._go_on_passing(leg, partial)
        elif self.outlet.streamer is leg:
            self._end_frame()

    def _go_on_passing(self, leg: Leg, frame: Frame) -> None:
        """What came of a frame was sent. Its rest follows before anything else."""
        self.outlet.streamer = leg
        frame.passes = True
        if frame.is_readable and frame.is_pinned:
            frame.is_pinned = False
            self._meet(leg, frame)
            if frame.asked is not None:
                frame.asked.is_sent = True

    def _end_frame(self) -> None:
        self.outlet.end_frame(self._session.up, self._session.own)

    def _choose(self, leg: Leg, data: bytes) -> None:
        self.outlet.begin_together()
        try:
            for frame, piece, ends in leg.cutter.pieces(data):
                self._choose_frame(leg, frame, piece, ends=ends)
                if leg.is_over:
                    return
        finally:
            self.outlet.end_together()

    def _choose_frame(self, leg: Leg, frame: Frame, piece: bytes, *, ends: bool) -> None:
        if frame.passes:
            self.outlet.write(piece)
        elif frame.is_readable and self._goes_out(leg, frame):
            self._begin(leg, frame, ends=ends)
        if ends:
            self._ended(leg, frame, is_sent=frame.passes)
            if self.outlet.streamer is leg:
                self._end_frame()

    def _goes_out(self, leg: Leg, frame: Frame) -> bool:
        """Whether the frame is sent to the client. The head of the frame is known."""
        if frame.asked is None:
            self._meet(leg, frame)
        asked = frame.asked
        if asked is not None and asked.is_sent:
            goes_out = False
        elif asked is None or asked.is_over:
            goes_out = not leg.is_own or self._session.up is None
        else:
            goes_out = asked.serve if leg.is_own else not asked.serve
        if not goes_out:
            frame.is_pinned = False
        return goes_out

    def _begin(self, leg: Leg, frame: Frame, *, ends: bool) -> None:
        """Send what came of a frame, unless it has to wait for its end, or for the end of the other leg's frame."""
        if not self.outlet.is_free_for(leg):
            leg.pause(WAITS_FOR_FRAME)
            if not ends:
                return
        if not ends and self._waits_for_its_end(leg, frame):
            return
        if frame.parts is None:
            self._session.end(was_reset=True)
            return
        frame.passes, frame.is_pinned = True, False
        if frame.asked is not None:
            frame.asked.is_sent = True
        if ends:
            self.outlet.send(frame.data())
        else:
            self.outlet.streamer = leg
            self.outlet.write(frame.data())

    def _waits_for_its_end(self, leg: Leg, frame: Frame) -> bool:
        if not leg.is_own or self._session.up is None or frame.size > WHOLE_BYTES_MAX:
            return False
        return frame.is_pinned and self._account.fits(frame.size)

    def _meet(self, leg: Leg, frame: Frame) -> None:
        """Find the request that the frame answers."""
        head = frame.head
        asked = None if head is None or not head.is_answer else self.open.find(head.opaque, own=leg.is_own)
        if asked is None:
            return
        frame.asked = asked
        if leg.is_own:
            asked.own = frame
        else:
            asked.up = frame

    def _ended(self, leg: Leg, frame: Frame, *, is_sent: bool) -> None:
        """A frame of a server is complete."""
        if frame.asked is None:
            self._meet(leg, frame)
        asked, session = frame.asked, self._session
        if asked is None or asked.is_over:
            leg.cutter.release(frame)
            return
        frame.is_pinned = False
        asked.is_sent = asked.is_sent or is_sent
        if leg.is_own:
            asked.own_at = self._pairing.now()
        else:
            self.open.note_upstream(asked, self._pairing.now())
        if (session.up is None and asked.up_at is None) or (session.own is None and asked.own_at is None):
            self._counts.left += 1
            self.settle(asked)
        else:
            self._pairing.answered(self, asked)

    # A server that does not answer

    def without_upstream(self) -> None:
        """The upstream's answers will not come."""
        for asked in list(self.open):
            own = asked.own
            if asked.is_sent or asked.up_at is not None:
                self._counts.left += 1
                self.settle(asked)
            elif asked.own_at is None:
                self.open.let_serve(asked)
            elif own is not None and own.parts is not None:
                self._counts.alone += 1
                self.outlet.send(own.data())
                self.settle(asked)
            else:
                self._session.end(was_reset=True)

    def without_half(self) -> None:
        """rocketns' answers will not come."""
        for asked in list(self.open):
            if asked.serve and not asked.is_sent:
                self.fall_back(asked)
            if asked.up_at is not None or (asked.up is None and not asked.serve):
                self._counts.skipped += 1
                self.settle(asked)

    def fall_back(self, asked: Asked) -> None:
        """rocketns did not answer in time: the upstream's answer goes out, at once if it is there already."""
        self._counts.fell_back += 1
        self.open.let_pass(asked)
        if asked.up_at is not None and asked.up is not None:
            if asked.up.parts is None:
                self._session.end(was_reset=True)
                return
            asked.is_sent = True
            self.outlet.send(asked.up.data())
        self._session.rest()

    # What is over

    def settle(self, asked: Asked) -> None:
        """There is nothing to compare it with."""
        self._pairing.forget(asked)
        self.forget(asked)

    def forget(self, asked: Asked) -> None:
        """The request is over: keep nothing of it."""
        if asked.is_over:
            return
        self.open.remove(asked)
        for frame in (asked.request, asked.up, asked.own):
            if frame is not None:
                self._session.requests.release(frame)
        asked.up = asked.own = None  # the frames name the request: without this only the garbage collector frees both
        self._session.request_is_over()

    def wait_only_for(self, *, own: bool) -> bool:
        """The other server answers nothing more, and the client takes nothing more. Forget what cannot be compared;
        whether any of its answers waits for this server's."""
        for asked in list(self.open):
            if (asked.up_at if own else asked.own_at) is None:
                self._counts.left += 1
                self.settle(asked)
            elif asked.serve and not asked.is_sent:
                self.open.let_pass(asked)
        return self.open.count > 0

    def forget_all(self) -> None:
        """All requests are over."""
        for asked in list(self.open):
            self._counts.left += 1
            self.settle(asked)
