"""What a request asks, whoever sends it: for keeping each question once, and for asking both servers again.

It has no clock: times are arguments.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from rocketns.protocol.codes import LanguageCode, SerializeType, request_name, version_name
from rocketns.protocol.codes import RequestCode as Code
from rocketns.shadow.comparing.cases import ReadRequest
from rocketns.shadow.comparing.comparing import Finding
from rocketns.shadow.frames import joined, split
from rocketns.shadow.pairs import SHOWN_CHARACTERS, Pair
from rocketns.shadow.tree import UnreadableError

# Reads without any effect, that cost Java little. Never 322, 904 and 103, which count as heartbeats of a broker, and
# never 224, which takes a second of a Java server.
ASKED_AGAIN = frozenset({
    Code.GET_KV_CONFIG, Code.GET_ROUTEINFO_BY_TOPIC, Code.GET_BROKER_CLUSTER_INFO,
    Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.GET_KVLIST_BY_NAMESPACE, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    Code.GET_UNIT_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    Code.GET_NAMESRV_CONFIG, Code.GET_BROKER_MEMBER_GROUP,
})  # fmt: skip
# Larger ones are judged by their answers alone.
REQUEST_BYTES_MAX = 64 * 1024
ASK_AFTER_S = 1.0
# Between two questions, for the upstream's sake: a wide route takes 2 ms of a Java server.
PAUSE_S = 0.02
# Of REQUEST_BYTES_MAX each; pairs with other questions are skipped.
WAITING_MAX = 1_000
SECRETS = frozenset({"AccessKey", "Signature", "SecurityToken", "OnsChannel"})
_OPAQUE = re.compile(rb'"opaque":-?\d{1,10}(?=[,}])')
_BEFORE_OPAQUE = 5  # in a binary header: code, language and version


def may_be_asked_again(request: ReadRequest) -> bool:
    """Whether asking changes nothing, and its answer can be told from others by an opaque of ours."""
    if request.code not in ASKED_AGAIN or request.is_oneway or len(request.frame) > REQUEST_BYTES_MAX:
        return False
    return request.is_binary or len(_OPAQUE.findall(request.header)) == 1


def with_opaque(frame: bytes, opaque: int) -> bytes:
    """The same request with another opaque; it must be one that `may_be_asked_again`."""
    parts = split(frame)
    if parts.kind == SerializeType.ROCKETMQ:
        header = parts.header[:_BEFORE_OPAQUE] + opaque.to_bytes(4, "big") + parts.header[_BEFORE_OPAQUE + 4 :]
    else:
        header = _OPAQUE.sub(b'"opaque":%d' % opaque, parts.header)
    return joined(parts._replace(header=header))


def question_of(frame: bytes) -> str:
    """The same text for requests that differ only in their opaque."""
    with contextlib.suppress(UnreadableError):
        frame = with_opaque(frame, 0)
    return blake2b(frame, digest_size=12).hexdigest()


def text_of(request: ReadRequest) -> str:
    """A request for people: its name and fields, without what signs it. It can be encoded, whatever a peer sent."""
    name = request_name(request.code) if request.command is not None else "unreadable"
    text = name if name != "unknown" else f"request {request.code}"
    for field, value in sorted(request.fields.items()):
        if field not in SECRETS and len(text) <= SHOWN_CHARACTERS:
            text += f" {field}={value}"[:SHOWN_CHARACTERS]
    text = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


def client_of(request: ReadRequest) -> str:
    """Language and version of who sent it, as ``JAVA 5.5.0``."""
    command = request.command
    if command is None:
        return "unreadable"
    language = command.language if command.language in LanguageCode.__members__ else "another language"
    return f"{language} {version_name(max(command.version, 0))}"


@dataclass(frozen=True, slots=True)
class Again:
    """``reference`` where there is one. ``failure`` says why there are no answers."""

    request: bytes = b""
    upstream: bytes | None = None
    own: bytes | None = None
    reference: bytes | None = None
    failure: str = ""


class Judged(NamedTuple):
    """What one comparison found, and what it takes to ask again. ``question`` is `question_of` the request; ``text``
    and ``client`` are for people; ``release`` is the upstream's, empty if its answer has none.

    ``asks`` are the requests that are sent instead of a registration, of ``broker``: its cluster, name and address.
    """

    code: int
    finding: Finding
    question: str
    text: str
    client: str
    release: str
    may_be_asked: bool = False
    asks: tuple[bytes, ...] = ()
    broker: tuple[str | None, ...] = ()


@dataclass(slots=True)
class Waiting:
    """``times`` pairs asked it and differed; ``pair`` is the first of them, without its answers unless there are
    ``judged.asks``."""

    pair: Pair
    judged: Judged
    due_s: float
    times: int = 1


class Questions:
    """In the order in which they are due. A question that is being asked is not here any more."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pair: Pair, judged: Judged, now_s: float) -> bool:
        """Whether there was room."""
        known = self._waiting.get(judged.question)
        if known is not None:
            known.times += 1
            return True
        if len(self._waiting) >= WAITING_MAX:
            return False
        kept = pair if judged.asks else pair._replace(upstream=None, own=None)
        self._waiting[judged.question] = Waiting(kept, judged, now_s + ASK_AFTER_S)
        self._order.append(judged.question)
        return True

    def take_due(self, now_s: float) -> Waiting | None:
        """The next one whose time has come."""
        if not self._order or self._waiting[self._order[0]].due_s > now_s:
            return None
        return self._waiting.pop(self._order.popleft())
