"""Hashes the names in a body: JSON of any request or answer, a compressed registration, and properties."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.register_broker_body import inflate
from rocketns.shadow.recording.hashing import Names
from rocketns.shadow.recording.tree import Members, Node, UnreadableError, parse, text_of, token_of, write

# Objects whose keys are names; the keys of all others are members of Java's classes.
MAPS = frozenset({
    "brokerAddrs", "filterServerTable", "topicQueueMappingByBroker", "brokerAddrTable", "clusterAddrTable", "table",
    "topicConfigTable", "topicQueueMappingInfoMap", "topicQueueMappingDetailMap", "currIdMap",
})  # fmt: skip
# What a name server and its brokers write. Any other member's key is hashed too.
MEMBERS = MAPS | {
    "brokerDatas", "brokerName", "cluster", "enableActingMaster", "zoneName", "queueDatas", "perm", "readQueueNums",
    "writeQueueNums", "topicSysFlag", "topicSynFlag", "orderTopicConf", "topicList", "brokerAddr", "dataVersion",
    "topicConfigSerializeWrapper", "counter", "stateVersion", "timestamp", "attributes", "order", "topicFilterType",
    "topicName", "filterServerList", "bname", "scope", "topic", "totalQueues", "epoch", "dirty", "clusterName",
    "brokerId", "brokerMemberGroup", "minimumBrokerId", "dataVersionMap", "currentBrokerId",
}  # fmt: skip
# Order configuration, which looks like addresses and is none.
ORDERS = frozenset({"table", "orderTopicConf"})
# Attributes of topics: settings such as ``+message.type``, no names.
UNCHANGED = frozenset({"attributes"})

Change = Callable[[bytes], bytes]

_LENGTH = struct.Struct(">i")
_WORDS = re.compile(r"[A-Za-z]{1,64}(?:;[A-Za-z]{1,64})*+")


def hashed_json(body: bytes, names: Names) -> bytes:
    """A JSON body with hashed names. UnreadableError where it is no JSON."""
    return write(_hashed(parse(body), "", names)) if body else body


def _hashed(node: Node, member: str, names: Names) -> Node:
    """``member``: the name of the nearest member of a Java class around it."""
    if isinstance(node, Members):
        if member in UNCHANGED:
            return node
        return Members(_hashed_member(key, value, member, names) for key, value in node)
    if isinstance(node, list):
        return [_hashed(child, member, names) for child in node]
    return _hashed_token(node, names, is_order=member in ORDERS)


def _hashed_member(key: str, value: Node, member: str, names: Names) -> tuple[str, Node]:
    text = text_of(key)
    if member in MAPS:
        # Of an object in a map, the keys are members again; a value is still the map's.
        return _hashed_token(key, names), _hashed(value, "" if isinstance(value, Members) else member, names)
    return (key if text in MEMBERS else _hashed_token(key, names)), _hashed(value, text, names)


def _hashed_token(token: str, names: Names, *, is_order: bool = False) -> str:
    text = text_of(token)
    changed = names.order(text) if is_order else names.text(text)
    return token if changed == text else token_of(changed)


def hashed_properties(body: bytes, names: Names) -> bytes:
    """Lines ``key=value``: numbers, truth values and words stay; paths, addresses and names with digits are hashed."""
    return b"".join(_hashed_line(line, names) for line in body.splitlines(keepends=True))


def _hashed_line(line: bytes, names: Names) -> bytes:
    text = line.decode("latin-1")
    content = text.rstrip("\r\n")
    key, equals, value = content.partition("=")
    if not equals or content.startswith(("#", "!")):
        return line if not content.strip() else text[len(content) :].encode("latin-1")
    changed = value if _WORDS.fullmatch(value) else names.text(value)
    return f"{key}={changed}{text[len(content) :]}".encode("latin-1")


def hashed_blocks(body: bytes, has_mappings: bool, names: Names) -> bytes:
    """A compressed registration: blocks of its version, its topics, its filter servers and its static topics."""
    try:
        data = bytes(inflate(body, has_mappings))
        blocks = _Blocks(data)
        out = [blocks.block(None), *_counted(blocks, lambda line: _hashed_topic(line, names))]
        out.append(blocks.block(lambda text: hashed_json(text, names)))
        if has_mappings:
            out += _counted(blocks, lambda text: hashed_json(text, names))
    except (BodyDecodeError, struct.error) as error:
        raise UnreadableError("a compressed registration that is none") from error
    return zlib.compress(b"".join(out), zlib.Z_BEST_COMPRESSION)


class _Blocks:
    """Reads one block after the other. struct.error or UnreadableError where there is none."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def count(self) -> int:
        (found,) = _LENGTH.unpack_from(self._data, self._at)
        self._at += _LENGTH.size
        return int(found)

    def block(self, change: Change | None) -> bytes:
        """The next block with its length, changed."""
        size = self.count()
        end = self._at + max(0, size)
        if end > len(self._data):
            raise UnreadableError("a block that is cut")
        content, self._at = self._data[self._at : end], end
        changed = content if change is None else change(content)
        return _LENGTH.pack(len(changed) if size >= 0 else size) + changed


def _counted(blocks: _Blocks, change: Change) -> list[bytes]:
    count = blocks.count()
    return [_LENGTH.pack(count), *(blocks.block(change) for _ in range(max(0, count)))]


def _hashed_topic(line: bytes, names: Names) -> bytes:
    """``topic 8 8 6 SINGLE_TAG {…}``."""
    topic, blank, rest = line.partition(b" ")
    return names.text(topic.decode("utf-8", "replace")).encode() + blank + rest
