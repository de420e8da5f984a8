"""Hashes names in a pair: topics, brokers, clusters, groups, zones, addresses, KV keys and values.

One name has one hash in the whole recording, in headers and bodies, so a replay finds what it registered. Hashes are
keyed: who has the recording cannot try names, because the key is never written. What Java knows by its name
(`%RETRY%`, `TBW102`, `ORDER_TOPIC_CONFIG`, ...) stays, and so do numbers, truth values and ports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

from rocketns.shadow.recording.tree import UnreadableError

NAME_BYTES = 8
REMARK_NAMES_MAX = 100
"""Names of one request that are looked for in its answer's remark."""
REMARK_CHARS_MAX = 64 * 1024
# Never used on a network, so a server that is told of such a broker cannot reach anybody.
_RESERVED_NETWORK = 240 << 24
_ADDRESS_BITS = 28

_PLAIN = re.compile(r"-?\d{1,20}|true|false|null|", re.IGNORECASE)
_ADDRESS = re.compile(r"(?P<host>[^;,\s]+):(?P<port>\d{1,5})")
_ORDER = re.compile(r"[^:;]+:\d+(?:;[^:;]+:\d+)*;?")
_IN_REMARK = r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?"
_SEPARATOR = re.compile(r"(%)")
BROKER_GROUP_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
REPLY_SUFFIX = "_REPLY_TOPIC"
# What has a meaning of its own for brokers, clients or the name server.
KEPT = frozenset({
    "%", "RETRY", "DLQ", "LMQ", "SINGLE_TAG", "MULTI_TAG", "__global__", "ORDER_TOPIC_CONFIG", "DefaultCluster",
    "TBW102", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "rmq_sys_wheel_timer",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC", "rmq_sys_REVIVE_LOG",
})  # fmt: skip


class Names:
    """Hashes with the key of one recording."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def text(self, text: str) -> str:
        """Any value: an address, a number, which stays, or a name."""
        if _PLAIN.fullmatch(text):
            return text
        address = _ADDRESS.fullmatch(text)
        return self.name(text) if address is None else self.address(address["host"], address["port"])

    def name(self, text: str) -> str:
        """A name; each of its parts between percent signs has a hash of its own, as namespaces and groups have."""
        return "".join(self._part(part) for part in _SEPARATOR.split(text))

    def address(self, host: str, port: str = "") -> str:
        """An IPv4 address for each host, in a network that is never used, with the port as it was."""
        number = int.from_bytes(self._digest(host), "big") % (1 << _ADDRESS_BITS) | _RESERVED_NETWORK
        shown = ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))
        return f"{shown}:{port}" if port else shown

    def order(self, text: str) -> str:
        """Order configuration: ``broker-a:4;broker-b:4``. Any other text as `text`."""
        if not _ORDER.fullmatch(text):
            return self.text(text)
        items = (item.rpartition(":") for item in text.split(";"))
        return ";".join(f"{self.name(name)}{colon}{number}" for name, colon, number in items)

    def remark(self, text: str, known: Mapping[str, str]) -> str:
        """A remark with the hashes of the names that its request has (``known``), and of addresses.

        UnreadableError for one of more than REMARK_CHARS_MAX characters, which no server writes.
        """
        if len(text) > REMARK_CHARS_MAX:
            raise UnreadableError(f"a remark of {len(text)} characters")
        names = sorted(filter(None, known), key=len, reverse=True)[:REMARK_NAMES_MAX]
        found = [rf"(?<![\w%-]){re.escape(name)}(?![\w%-])" for name in names]
        pattern = "|".join([*found, _IN_REMARK])
        return re.sub(pattern, lambda match: known.get(match[0]) or self.address(*match[0].split(":")), text)

    def _part(self, part: str) -> str:
        if part in KEPT or not part:
            return part
        if part.startswith(BROKER_GROUP_PREFIX):
            return BROKER_GROUP_PREFIX + self._part(part.removeprefix(BROKER_GROUP_PREFIX))
        if part.endswith(REPLY_SUFFIX):
            return self._part(part.removesuffix(REPLY_SUFFIX)) + REPLY_SUFFIX
        return f"n{self._digest(part).hex()}"

    def _digest(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=NAME_BYTES, key=self._key).digest()
