"""The answers of brokers as values. They may be of anybody: a BodyDecodeError where one is not what was asked for."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import orjson

from rocketns.config.properties import of_lines
from rocketns.doctor.facts import BrokerClock, Consumers, Offsets
from rocketns.errors import BodyDecodeError
from rocketns.fleet.nearest import nearest
from rocketns.protocol.bounds import Allowance
from rocketns.protocol.json import fastjson

VALUES_MAX = 200_000  # JSON values of one answer
TOPICS_MAX = 64  # of a group's subscription that are kept
QUEUES_MAX = 10_000  # of a group at a broker
NAMES_MAX = 20_000  # that are compared with a group's name
NAME_CHARS_MAX = 256
TEXT_CHARS_MAX = 4_096  # of a value
ENTRY_BYTES_MAX = 64 * 1024  # of one entry of a table
# Of a broker's configuration, what checks weigh. Nothing else is kept: it may hold secrets.
READ_FIELDS = frozenset({
    "aclEnable", "authenticationEnabled", "autoCreateSubscriptionGroup", "autoCreateTopicEnable", "brokerClusterName",
    "brokerId", "brokerName", "brokerPermission", "compressedRegister", "enableControllerMode",
    "enableSplitRegistration", "fetchNamesrvAddrByAddressServer", "fetchNameSrvAddrByDnsLookup", "namesrvAddr",
    "updateNameServerAddrPeriod", "useTLS",
})  # fmt: skip

# Keys that are objects are no JSON: {"offsetTable":{{"queueId":0, …}:{"brokerOffset":1, …}, …}}
_OFFSETS = re.compile(rb"(\{[^{}]{1,4096}\}):(\{[^{}]{1,4096}\})")
_GROUP_NAMES = re.compile(rb'"groupName":"([^"\\]{1,255})"')
# A locale may group digits: 1,024 days.
_RUNTIME = re.compile(r"\[ (\d[\d.,'\s]{0,15}) days, (\d{1,4}) hours, (\d{1,4}) minutes, (\d{1,4}) seconds \]")
_EPOCH_MS = re.compile(r"[0-9]{1,16}")


def configuration(body: bytes) -> dict[str, str]:
    """What is kept of an answer to 26."""
    items = of_lines(body.decode("utf-8", "replace"))
    return {name: text[:TEXT_CHARS_MAX] for name, text in items.items() if name in READ_FIELDS}


def clock(body: bytes, asked_s: float, came_s: float) -> BrokerClock | None:
    """What an answer to 28 says of its broker's clock. None: nothing."""
    numbers = _object(_object(_loads(body)).get("table"))
    found = _RUNTIME.fullmatch(str(numbers.get("runtime"))[:TEXT_CHARS_MAX].strip())
    start = str(numbers.get("bootTimestamp"))
    if found is None or not _EPOCH_MS.fullmatch(start):
        return None
    days, hours, minutes, seconds = (int(re.sub(r"\D", "", part)) for part in found.groups())
    now_ms = int(start) + (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
    return BrokerClock(round(now_ms - came_s * 1000), round(now_ms + 1000 - asked_s * 1000))


def configured(body: bytes) -> dict[str, Any]:
    """The plain values of the configuration of a topic (an answer to 351) or a group (352)."""
    return _plain(_loads(body))


def entry(body: bytes, name: str) -> dict[str, Any] | None:
    """The plain values of one entry of a table of topics or groups, of an answer to 21 or 201. None: it has none.

    Only this entry is decoded: the whole table may have ten thousands.
    """
    _before, found, rest = body.partition(orjson.dumps(name) + b":{")
    if not found:
        return None
    try:
        text = "{" + rest[:ENTRY_BYTES_MAX].decode("utf-8", "replace")
        return _plain(json.JSONDecoder().raw_decode(text)[0])
    except (ValueError, RecursionError) as error:
        raise BodyDecodeError(f"the entry of {name!r} is no JSON object") from error


def similar_groups(body: bytes, name: str) -> tuple[str, ...]:
    """The groups of an answer to 201 whose names are most like this one: up to three."""
    names = dict.fromkeys(
        found[1].decode("utf-8", "replace") for found in islice(_GROUP_NAMES.finditer(body), NAMES_MAX)
    )
    return nearest(name, names)


def consumers(body: bytes) -> Consumers:
    """Of an answer to 203."""
    fields = _object(_loads(body))
    connections = fields.get("connectionSet")
    count = len(connections) if isinstance(connections, list) else 0
    table = fields.get("subscriptionTable")
    subscribed = islice(table, TOPICS_MAX) if isinstance(table, dict) else ()
    return Consumers(count, _text(fields.get("messageModel")), frozenset(map(_text, subscribed)))


def offsets(body: bytes) -> Offsets:
    """Of an answer to 208."""
    found = {}
    for pair in islice(_OFFSETS.finditer(body), QUEUES_MAX):
        queue, numbers = (_object(_loads(part)) for part in pair.groups())
        found[_text(queue.get("topic")), fastjson.as_int(queue.get("queueId"))] = (
            fastjson.as_long(numbers.get("brokerOffset")), fastjson.as_long(numbers.get("consumerOffset")),
        )  # fmt: skip
    return found


def _loads(body: bytes) -> Any:
    return fastjson.loads(body, allowance=Allowance(VALUES_MAX))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BodyDecodeError("an object expected")
    return value


def _plain(value: Any) -> dict[str, Any]:
    """The members that are texts, numbers and booleans."""
    fields = _object(value)
    return {
        name[:NAME_CHARS_MAX]: one[:TEXT_CHARS_MAX] if isinstance(one, str) else one
        for name, one in fields.items() if isinstance(one, str | int | float | bool)
    }  # fmt: skip


def _text(value: Any) -> str:
    return value[:NAME_CHARS_MAX] if isinstance(value, str) else ""
