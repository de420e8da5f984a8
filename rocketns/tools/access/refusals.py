"""The requests that journals say were refused, or would have been, added up by who sent them.

Bounded, whatever is in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Any, BinaryIO

from rocketns.access.classes import Access, AccessRequest, access_request
from rocketns.access.decision import RefusalReason
from rocketns.access.principal import Network
from rocketns.access.refusals import OTHERS
from rocketns.access.shown import TEXT_BYTES_MAX
from rocketns.addresses import literal, split
from rocketns.errors import RocketnsError
from rocketns.journal import encoding
from rocketns.journal.lines import Record, record_of, typed
from rocketns.journal.segments import NAME, OPEN_PREFIX
from rocketns.logs import is_shortened
from rocketns.processor.requests import request_of
from rocketns.protocol.codes import V5_5_0, RequestCode
from rocketns.protocol.command import RemotingCommand

# Fields are cut before they are recorded, so no record of a refusal is longer.
LINE_BYTES_MAX = 256 * 1024
REFUSED = "refused"
_IN_LINE = b'"refused"'
SENDERS_MAX = 20_000
# Names and addresses of all senders together, and of one of them.
TEXTS_MAX = 100_000
TEXTS_OF_SENDER_MAX = 500


class Journals:
    """``unreadable`` counts lines that look like a refusal and are no record of one."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self.files = 0
        self.unreadable = 0

    def refusals(self) -> Iterator[Record]:
        """Of all files. RocketnsError says which cannot be read."""
        for path in self._paths:
            found = _files(Path(path))
            if not found:
                raise RocketnsError(f"{path}: there is no journal")
            for file in found:
                yield from self._of_file(file)

    def _of_file(self, path: Path) -> Iterator[Record]:
        """Nothing of a file that was old, and is deleted by now. An open one may have its closed name by now."""
        try:
            for now in (path, path.with_name(f"{path.name.removeprefix(OPEN_PREFIX)}.jsonl")):
                with suppress(FileNotFoundError), now.open("rb", buffering=1 << 20) as file:
                    self.files += 1
                    yield from filter(None, map(self._record, _lines(file)))
                    return
        except OSError as error:
            raise RocketnsError(f"{path}: {error.strerror}") from error

    def _record(self, line: bytes) -> Record | None:
        """The record of a refusal; None of any other."""
        if _IN_LINE not in line:
            return None
        record = record_of(line)
        try:
            if record is not None and record["ev"] == REFUSED:
                return typed(encoding.unescaped(record) if record.get("escaped") is True else record)
        except ValueError:
            record = None
        self.unreadable += record is None
        return None


def _files(path: Path) -> list[Path]:
    """A file; or those of a journal's folder, or of a folder of journals, by their days and names."""
    if path.is_file():
        return [path]
    found = (each for each in path.rglob("*") if NAME.fullmatch(each.name) and each.is_file())
    return sorted(found, key=lambda each: (each.parent, each.name.removeprefix(OPEN_PREFIX)))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines. One that is too long is passed over."""
    is_rest = False
    while line := file.readline(LINE_BYTES_MAX):
        ends = line.endswith(b"\n")
        if ends and not is_rest:
            yield line
        is_rest = not ends


class Left(StrEnum):
    """Why a refused request has no principal in the policy."""

    NO_CLASS = "their codes have no class, so no right covers them"
    NO_ROOM = "the name server counted them together with those of others"
    NO_ADDRESS = "their senders have no IP address"
    CUT = f"a name of them has more than {TEXT_BYTES_MAX} bytes, and the journal has only so many"
    NO_NAME = "a name of them is missing, empty, or no valid Unicode"
    OTHER = "they were refused for another reason than a missing right"
    SENDERS = f"there were more than {SENDERS_MAX} senders"
    TEXTS = f"there were more than {TEXTS_OF_SENDER_MAX} names of a sender, or {TEXTS_MAX} of all"
    SIZE = "a policy has no room for more principals or networks; these were seen least"


@dataclass(frozen=True, slots=True)
class Sender:
    """``key``: the access key that it named. ``is_admin``: its admin requests, which are suggested on their own."""

    network: Network
    key: str | None
    is_admin: bool


Text = tuple[str, Any]  # ("broker", its name), ("address", which it announces), ("namespace", of the KV table)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a principal must be allowed. ``names_a_host``: a broker announced no IP address."""

    classes: frozenset[Access]
    names_a_host: bool
    texts: frozenset[Text]

    def of(self, kind: str) -> list[Any]:
        """The texts of one kind."""
        return [text for one, text in self.texts if one == kind]


@dataclass(slots=True)
class SenderRequests:
    """What one sender asked for. ``first`` and ``last`` are epoch us. ``takeovers``: broker groups of which it would
    have taken a live broker's address away.
    """

    first: int
    last: int
    requests: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    classes: set[Access] = field(default_factory=set)
    names_a_host: bool = False
    texts: set[Text] = field(default_factory=set)
    takeovers: set[str] = field(default_factory=set)

    def needs(self) -> Needs:
        return Needs(frozenset(self.classes), self.names_a_host, frozenset(self.texts))


class Sightings:
    """``left_out`` counts requests."""

    def __init__(self) -> None:
        self.of: dict[Sender, SenderRequests] = {}
        self.left_out: Counter[Left] = Counter()
        self.requests = 0
        self._texts = 0

    def add(self, record: Record) -> None:
        """A record of a refusal, its columns typed."""
        number = max(record.get("n") or 1, 1)
        self.requests += number
        left = self._add(record, number)
        if left is not None:
            self.left_out[left] += number

    def _add(self, record: Record, number: int) -> Left | None:
        """Why it is left out; None if it is not."""
        code, key, host = record.get("code") or 0, record.get("access_key") or None, record.get("from_host") or ""
        access = request_of(code).access
        fields = {one.get("k", ""): one.get("v", "") for one in record.get("fields") or [] if one is not None}
        asked = access_request(RemotingCommand(code, V5_5_0, 0, 0, fields, None), access)
        why = _why_left(asked, key, host, record)
        network = _network(host)
        if why is not None or network is None:
            return why or Left.NO_ADDRESS
        sender = Sender(network, key, access is Access.ADMIN)
        seen = self.of.get(sender)
        if seen is None:
            if len(self.of) >= SENDERS_MAX:
                return Left.SENDERS
            seen = self.of[sender] = SenderRequests(record["ts"], record["ts"])
        return self._note(seen, asked, record, number)

    def _note(self, seen: SenderRequests, asked: AccessRequest, record: Record, number: int) -> Left | None:
        texts: set[Text] = {("broker", name) for name in _brokers(asked)}
        texts |= set() if asked.namespace is None else {("namespace", asked.namespace)}
        address = None if asked.address is None else literal(split(asked.address)[0])
        texts |= set() if address is None else {("address", address)}
        new = len(texts - seen.texts)
        if len(seen.texts) + new > TEXTS_OF_SENDER_MAX or self._texts + new > TEXTS_MAX:
            return Left.TEXTS
        self._texts += new
        seen.texts |= texts
        seen.names_a_host |= asked.address is not None and address is None
        if record.get("reason") == RefusalReason.TAKEOVER:
            seen.takeovers.update(_brokers(asked))
        seen.classes.add(asked.access)
        seen.codes[asked.code] += number
        seen.reasons[str(record.get("reason"))] += number
        seen.requests += number
        seen.first, seen.last = min(seen.first, record["ts"]), max(seen.last, record["ts"])
        return None


def _network(host: str) -> Network | None:
    """An address; or the network of one of IPv6, which records have in its place. None if it is neither."""
    address = literal(host.partition("%")[0])
    try:
        return ip_network(host if address is None else address)
    except ValueError:
        return None


def _brokers(asked: AccessRequest) -> list[str]:
    """REGISTER_TOPIC_IN_NAMESRV names brokers in its body, which no record has."""
    return [] if asked.code == RequestCode.REGISTER_TOPIC_IN_NAMESRV else asked.brokers()


def _why_left(asked: AccessRequest, key: str | None, host: str, record: Record) -> Left | None:
    """Why no principal can be made of it; None if one can."""
    if OTHERS in (host, key):
        return Left.NO_ROOM
    if record.get("reason") not in RefusalReason._value2member_map_:
        return Left.OTHER
    if asked.access is Access.OFF:
        return Left.NO_CLASS
    names = [*_brokers(asked), *([] if asked.namespace is None else [asked.namespace])]
    if any(is_shortened(text) for text in (*names, key or "", asked.address or "")):
        return Left.CUT
    if not all(map(_is_text, names)) or not (key is None or _is_text(key)):
        return Left.NO_NAME
    return None


def _is_text(text: str) -> bool:
    """Whether TOML has it as a name: it has no lone surrogates."""
    return text != "" and not any("\ud800" <= one <= "\udfff" for one in text)
