"""Where an address is, how a connection to it is opened, what it speaks, and requests over it."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass, replace

from rocketns.addresses import literal, split, with_port
from rocketns.client.connection import NotSentError, OutgoingConnection
from rocketns.client.name_server import Fields, Signer
from rocketns.client.reading import AnswerReader
from rocketns.client.resolving import addresses_of, is_own
from rocketns.doctor.asking.requests import RequestBudget
from rocketns.doctor.facts import AddressFacts, IpScope, Reaction
from rocketns.errors import RocketnsError
from rocketns.protocol.codes import ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.encoding import encode_request
from rocketns.tools.decode.frames import HEAD_BYTES, other_protocol

# Docker's bridges, unless it is configured otherwise: 172.17.0.0/16 is docker0, the next ones are those of projects.
# 172.31.0.0/16 is left out: it is the default network of a cloud.
_DOCKER = tuple(ipaddress.ip_network(f"172.{second}.0.0/16") for second in range(17, 31))
# podman; pods of flannel, of k3s
_CONTAINERS = (*_DOCKER, *map(ipaddress.ip_network, ("10.88.0.0/16", "10.244.0.0/16", "10.42.0.0/16")))
_SHARED = ipaddress.ip_network("100.64.0.0/10")  # of carriers; some clouds give them to pods
_BY_ERRNO = {
    errno.ECONNREFUSED: Reaction.REFUSED,
    **dict.fromkeys((errno.EHOSTUNREACH, errno.EHOSTDOWN), Reaction.NO_HOST),
    **dict.fromkeys((errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL), Reaction.UNREACHABLE),
}


class UnreachedError(RocketnsError):
    """No connection, or no answer over it."""

    def __init__(self, outcome: Reaction, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


def scope_of(ip: str) -> IpScope:
    """Where an IP address is; UNKNOWN for any other text."""
    found = literal(ip.partition("%")[0])
    if found is None:
        return IpScope.UNKNOWN
    if found.is_loopback or found.is_unspecified:
        return IpScope.LOOPBACK
    if found.is_link_local:
        return IpScope.LINK_LOCAL
    if any(found in network for network in _CONTAINERS):
        return IpScope.CONTAINER
    return IpScope.PRIVATE if found.is_private or found in _SHARED else IpScope.PUBLIC


async def resolve(addr: str, within_s: float) -> tuple[str, ...]:
    """The IP addresses of its host, those of IPv4 first, as Java prefers them. UnreachedError: it has none."""
    host, port = split(addr)
    if port is None:
        raise UnreachedError(Reaction.UNRESOLVED, "it is no host:port")
    if literal(host.partition("%")[0]) is not None:
        return (host,)
    try:
        async with asyncio.timeout(within_s):
            return tuple(await addresses_of(host, port))
    except TimeoutError:
        raise UnreachedError(Reaction.UNRESOLVED, f"the resolver did not answer in {within_s:g} s") from None
    except (OSError, ValueError) as error:  # ValueError: a host that cannot be one
        raise UnreachedError(Reaction.UNRESOLVED, str(error)) from error


def outcome_of(error: OSError) -> Reaction:
    """What an error of the system says of a connection."""
    if isinstance(error, socket.gaierror):  # an IPv6 address with an interface that is not there
        return Reaction.UNREACHABLE
    if isinstance(error, TimeoutError):
        return Reaction.TIMED_OUT
    return _BY_ERRNO.get(error.errno or 0, Reaction.CLOSED)


ANSWER_TIMES = 2  # an answer may take so many times as long as a connection
FIRST_BYTES = 16  # kept of what the peer sent first
# The length of any frame is looked at, so that one that is too large is measured. Only `bytes_max` of it are kept.
_LENGTHS_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Line:
    """How to talk: with TLS or without, signed or not, how long to wait for each thing, and what may be sent."""

    context: ssl.SSLContext | None
    signer: Signer | None
    within_s: float
    budget: RequestBudget


class TooLargeError(UnreachedError):
    """An answer has more bytes than are read. ``size``: how many."""

    def __init__(self, size: int) -> None:
        super().__init__(Reaction.OTHER_PROTOCOL, f"its answer has {size} bytes, more than are read")
        self.size = size


class HandshakeError(UnreachedError):
    """The peer speaks TLS, and there is no agreement about certificates, versions or suites."""


class _Connection(OutgoingConnection):
    """Keeps the first bytes that came, the size of the answer to ``opaque``, and whether what came was no frame."""

    def __init__(self, addr: str) -> None:
        super().__init__(lambda _connection, _failed: None, addr, "", 0.0)
        self.first = b""
        self.opaque, self.size = -1, 0
        self.is_garbled = False
        self._reader = AnswerReader(self._wants, _LENGTHS_MAX)

    def data_received(self, data: bytes) -> None:
        if len(self.first) < FIRST_BYTES:
            self.first = (self.first + data)[:FIRST_BYTES]
        super().data_received(data)

    def fail(self, why: str) -> None:
        self.is_garbled = True
        super().fail(why)

    def _wants(self, opaque: int | None, size: int) -> bool:
        if opaque == self.opaque:
            self.size = size
        return self.answers.wants(opaque, size)


class Call:
    """See `open_call`. After an UnreachedError it is of no more use.

    ``first`` is the answer to the first request; it was asked for at ``asked_s`` and came at ``came_s``, in epoch
    seconds of this machine's clock. ``codes``: see `expected`.
    """

    first: RemotingCommand
    asked_s = came_s = 0.0

    def __init__(self, addr: str, connection: _Connection, line: Line) -> None:
        self.addr = addr
        self.codes: dict[int, int] = {}
        self._connection, self._line = connection, line

    async def begin(self, code: int, bytes_max: int) -> Call:
        """Send the first request, which has no fields. The connection is closed where no answer comes."""
        self.asked_s = time.time()
        try:
            self.first = await self.ask(code, {}, bytes_max)
        except BaseException:
            self.close()
            raise
        self.came_s = time.time()
        return self

    async def ask(self, code: int, fields: Fields, bytes_max: int) -> RemotingCommand:
        """The answer, of whatever code. UnreachedError if none comes that is a frame of at most so many bytes."""
        self._line.budget.spend(self.addr, code)
        signer = self._line.signer
        opaque, frame = encode_request(code, fields if signer is None else signer.signed(fields), SerializeType.JSON)
        self._connection.opaque, self._connection.size = opaque, 0
        if not self._connection.is_open or not self._connection.send(frame):
            raise self._failure("it ended the connection")
        expected = self._connection.answers.expect(opaque, lambda answer: answer, bytes_max)
        try:
            return await asyncio.wait_for(expected, ANSWER_TIMES * self._line.within_s)
        except TimeoutError:
            self.close()
            within_s = ANSWER_TIMES * self._line.within_s
            raise UnreachedError(Reaction.SILENT, f"no answer to request {code} in {within_s:g} s") from None
        except NotSentError as error:
            if self._connection.size > bytes_max:
                raise TooLargeError(self._connection.size) from error
            raise self._failure(str(error)) from error
        finally:
            self._connection.answers.forget(opaque)

    async def ask_expecting(
        self, code: int, fields: Fields, bytes_max: int, also: int | None = None
    ) -> RemotingCommand | None:
        """Likewise, as `expected` has it."""
        return self.expected(code, await self.ask(code, fields, bytes_max), also)

    def expected(self, code: int, answer: RemotingCommand, also: int | None = None) -> RemotingCommand | None:
        """The answer to a request, if it is a success, or has this code; otherwise its code is kept in ``codes``."""
        if answer.code in (ResponseCode.SUCCESS, also):
            return answer
        self.codes[int(code)] = answer.code
        return None

    def _failure(self, why: str) -> UnreachedError:
        """What the first bytes say of a peer that sent no answer."""
        first = self._connection.first
        if (protocol := other_protocol(first)) == "TLS":
            return UnreachedError(Reaction.SPEAKS_TLS, "it answered with TLS")
        if protocol:
            return UnreachedError(Reaction.OTHER_PROTOCOL, f"it speaks {protocol}; its first bytes are {first!r}")
        if first and (self._connection.is_garbled or not _is_frame(first)):
            return UnreachedError(Reaction.OTHER_PROTOCOL, f"it sent no frame; its first bytes are {first!r}")
        return UnreachedError(Reaction.CLOSED, why)

    def close(self) -> None:
        """End the connection."""
        self._connection.close("")


def _is_frame(first: bytes) -> bool:
    """Whether these may be the first bytes of a frame: its length, 0 or 1 for the form of its header, and the header's
    length. HTTP/2 has zeros there."""
    return len(first) < HEAD_BYTES or (first[4] in tuple(SerializeType) and first[0] < 0x80 and any(first[5:8]))


async def open_call(addr: str, ip: str, line: Line) -> Call:
    """A connection. UnreachedError if there is none in time, or no TLS over it."""
    line.budget.spend(addr, "connect")
    connection, loop = _Connection(addr), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(line.within_s):
            transport, _ = await loop.create_connection(lambda: connection, ip, split(addr)[1] or 0)
    except OSError as error:  # TimeoutError is one
        connection.lost()
        why = str(error) or f"no connection in {line.within_s:g} s"
        raise UnreachedError(outcome_of(error), why) from error
    if line.context is not None:
        try:
            async with asyncio.timeout(line.within_s):
                # An address has no name, and is not compared with a certificate.
                secured = await loop.start_tls(transport, connection, line.context, server_hostname="")
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            connection.close()
            raise _of_handshake(error) from error
        assert secured is not None
        connection.connection_made(secured)
    return Call(addr, connection, line)


def _of_handshake(error: Exception) -> UnreachedError:
    if isinstance(error, TimeoutError):
        return UnreachedError(Reaction.SILENT, "no TLS handshake in time")
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLError) and reason == "WRONG_VERSION_NUMBER":
        return UnreachedError(Reaction.SPEAKS_PLAIN, "it answered a TLS handshake without TLS")
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return HandshakeError(Reaction.CLOSED, f"the TLS handshake failed: {reason or error}")
    return UnreachedError(Reaction.CLOSED, f"it ended the TLS handshake: {error}")


async def reach(addr: str, code: int, bytes_max: int, line: Line) -> tuple[AddressFacts, Call | None]:
    """Connect and send a request without fields; None: no answer. Where the peer ends the connection at once, connect
    again the other way: TLS or plain.

    The budget needs a row for the code and CONNECTS_MAX for ``connect``; the request is sent once more at most.
    """
    facts = AddressFacts(addr)
    try:
        (ip, *_others) = ips = await resolve(addr, line.within_s)
        port = split(addr)[1] or 0
        facts = replace(facts, ips=ips, scope=scope_of(ip), is_here=await is_own(with_port(ip, port), port))
        call = await (await open_call(addr, ip, line)).begin(code, bytes_max)
    except UnreachedError as error:
        outcome = error.outcome
        if outcome is Reaction.CLOSED and not isinstance(error, HandshakeError):
            outcome = await _other_way(addr, ip, code, bytes_max, line) or outcome
        return replace(facts, outcome=outcome, error=str(error)), None
    return replace(facts, outcome=Reaction.ANSWERED), call


async def _other_way(addr: str, ip: str, code: int, bytes_max: int, line: Line) -> Reaction | None:
    """SPEAKS_TLS or SPEAKS_PLAIN if the peer speaks that, and not what it was asked in. None: neither."""
    try:
        if line.context is None:
            (await open_call(addr, ip, replace(line, context=_any_tls()))).close()
            return Reaction.SPEAKS_TLS
        call = await open_call(addr, ip, replace(line, context=None))
        (await call.begin(code, bytes_max)).close()
    except HandshakeError:
        return Reaction.SPEAKS_TLS
    except UnreachedError:
        return None
    return Reaction.SPEAKS_PLAIN


def _any_tls() -> ssl.SSLContext:
    """It trusts anybody: no request is sent over it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
