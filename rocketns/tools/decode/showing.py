"""Frames as text for people and as JSON for programs. Secrets are never shown, and names only if they may be."""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rocketns.addresses import read_server
from rocketns.config.properties import is_secret
from rocketns.languages import texts
from rocketns.logtext import escape
from rocketns.protocol.codes import version_name
from rocketns.tools.decode.frames import Body, Frame, body_of, frames
from rocketns.tools.decode.names import request_text, response_text
from rocketns.tools.decode.reading import BYTES_MAX, read
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, print_json, print_text

_ = texts("help")
BODY_CHARACTERS_MAX = 4_000  # for people; JSON has all
BYTES_SHOWN = 64
HIDDEN = "(hidden)"
SECRETS = frozenset({"accesskey", "signature", "securitytoken", "onschannel"})  # fields of a header, in any case
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|true|false|null|")
_PROPERTY = re.compile(r"(?m)^([\w.]+)=(.*)$")
# Words of RocketMQ, which no one chose: keys of bodies and values of enumerations. All others may be names.
_OF_ROCKETMQ = """
* BROADCASTING CLUSTERING CONSUME_ACTIVELY CONSUME_FROM_FIRST_OFFSET CONSUME_FROM_LAST_OFFSET CONSUME_FROM_TIMESTAMP
CONSUME_PASSIVELY CPP DOTNET GO HTTP JAVA JSON MULTI_TAG ORDER_TOPIC_CONFIG OTHER PHP PYTHON ROCKETMQ RUST
SELF_TEST_TOPIC SINGLE_TAG SQL92 TAG TBW102 __ZONE_MODE __ZONE_NAME acceptStandardJsonOnly accessKey attributes body
bodyCrc32 bootTimestamp brokerAddr brokerAddrTable brokerAddrs brokerDatas brokerId brokerName brokerOffset cluster
clusterAddrTable clusterName code compressed configBlackList connectionSet consumeFromWhere consumeTimestamp
consumeTps consumeType consumerGroup consumerOffset counter dataVersion enableActingMaster expressionType extFields
filterServerList filterServerTable filterServers flag group groupName haServerAddr heartbeatTimeoutMillis
inSyncReplicas language lastTimestamp mappings messageModel minBrokerId namespace offsetTable opaque order
orderTopicConf perm producerGroup queueDatas queueId queueNums readQueueNums remark serializeTypeCurrentRPC serverAddr
stateVersion subString subscriptionTable table timestamp topic topicConfigSerializeWrapper topicConfigTable
topicFilterType topicList topicName topicQueueMappingByBroker topicQueueMappingDetailMap topicQueueMappingInfoMap
topicSynFlag topicSysFlag topics version writeQueueNums zoneName
"""
_WORDS = frozenset(_OF_ROCKETMQ.split())


class Names:
    """Another name for each, the same one wherever it stands; with ``is_shown`` all stay as they are."""

    def __init__(self, *, is_shown: bool) -> None:
        self.is_shown = is_shown
        self._given: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def text(self, text: str, kind: str = "name") -> str:
        """A value that a peer chose. Numbers and words of RocketMQ are no names."""
        if self.is_shown or text in _WORDS or _NUMBER.fullmatch(text):
            return text
        server = read_server(text)
        if server is not None:
            return f"{self._of(server[0], 'host')}:{server[1]}"
        return self._of(text, kind)

    def _of(self, text: str, kind: str) -> str:
        kind = kind if kind in _WORDS or kind == "host" else "name"  # a key may be a name itself
        if text not in self._given:
            self._counts[kind] += 1
            self._given[text] = f"{kind}-{self._counts[kind]}"
        return self._given[text]

    def value(self, value: Any, key: str = "name") -> Any:
        """A JSON value; keys of maps are names as well."""
        match value:
            case dict():
                return {self.text(name): self.field(name, one) for name, one in value.items()}
            case list():
                return [self.value(one, key) for one in value]
            case str():
                return self.text(value, key)
            case _:
                return value

    def field(self, name: str, value: Any) -> Any:
        """The value of a field of a header, or of a member of an object. Secrets are never shown."""
        return HIDDEN if name.lower() in SECRETS or is_secret(name) else self.value(value, name)

    def free_text(self, text: str) -> str:
        """A remark, or a body that is no JSON: lines of properties keep their keys, anything else is left out."""
        if _PROPERTY.search(text):
            return _PROPERTY.sub(lambda found: f"{found[1]}={self.field(found[1], found[2])}", text)
        return text if self.is_shown else _("(%(n)d characters, hidden)") % {"n": len(text)}

    def peer(self, text: str) -> str:
        """An end of a stream, which may have a word before it."""
        word, blank, addr = text.rpartition(" ")
        return word + blank + (self.text(addr) if read_server(addr) else addr)


def lines(found: list[Frame], names: Names) -> Iterator[str]:
    """For people. Texts of peers are escaped."""
    for frame in found:
        yield from _lines(frame, names)
        yield ""
    faults = sum(len(frame.faults) for frame in found)
    whole = sum(bool(frame.header) for frame in found)
    yield _("frames: %(frames)d, faults: %(faults)d") % {"frames": whole, "faults": faults}


def _lines(frame: Frame, names: Names) -> Iterator[str]:
    place = _("frame %(number)d, byte %(at)d, %(size)d bytes") % {
        "number": frame.number, "at": frame.at, "size": frame.size}  # fmt: skip
    ends = f"{names.peer(frame.stream.source)} > {names.peer(frame.stream.target)}" if frame.stream.source else ""
    yield escape("  ".join(part for part in (place, _moment(frame), ends) if part))
    if frame.header:
        yield escape("  " + _said(frame))
        remark = frame.header.get("remark")
        if remark:
            yield escape("    " + _("remark: %(text)s") % {"text": names.free_text(str(remark))})
        for name, value in frame.fields.items():
            shown = HIDDEN if _is_password(frame, name) else names.field(name, value)
            yield escape(f"    {name}: {_flat(shown)}")
        yield from _body_lines(frame, names)
    for at, fault in frame.faults:
        yield escape("  ! " + _("byte %(at)d: %(fault)s") % {"at": at, "fault": fault})


def _is_password(frame: Frame, name: str) -> bool:
    return name == "value" and is_secret(str(frame.fields.get("key", "")))


def _said(frame: Frame) -> str:
    words = {"opaque": frame.header.get("opaque"), "language": frame.header.get("language"), "form": frame.form}
    version = frame.header.get("version")
    words["version"] = version_name(version) if isinstance(version, int) else "?"
    if not frame.is_response:
        kind = _("one-way request %(code)s") if frame.is_oneway else _("request %(code)s")
        head = kind % {"code": request_text(frame.code)}
    elif frame.answers is None:
        head = _("response %(code)s") % {"code": response_text(frame.code)}
    else:
        head = _("response %(code)s to frame %(number)d, %(request)s") % {
            "code": response_text(frame.code), "number": frame.answers.number,
            "request": request_text(frame.answers.code)}  # fmt: skip
    return head + ", " + _("opaque %(opaque)s, %(language)s %(version)s, header %(form)s") % words


def _moment(frame: Frame) -> str:
    at_s = frame.stream.time_at(frame.at)
    return "" if not at_s else datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%fZ")


def _body_lines(frame: Frame, names: Names) -> Iterator[str]:
    body = body_of(frame)
    if body.kind == "none":
        return
    size = _("body: %(kind)s, %(n)d bytes") % {"kind": body.kind, "n": len(frame.body)}
    if body.inflated is not None:
        size += ", " + _("%(n)d when inflated") % {"n": body.inflated}
    yield "    " + size
    text = _body_text(body, names)
    for line in text[:BODY_CHARACTERS_MAX].splitlines():
        yield "      " + escape(line)
    if len(text) > BODY_CHARACTERS_MAX:
        yield "      " + _("… and %(n)d characters more: --json has them") % {"n": len(text) - BODY_CHARACTERS_MAX}


def _body_text(body: Body, names: Names) -> str:
    if body.kind == "bytes":
        return body.value[:BYTES_SHOWN].hex(" ") if names.is_shown else HIDDEN
    value = body_value(body, names)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def body_value(body: Body, names: Names) -> Any:
    """A body for JSON: bytes as hex."""
    match body.kind:
        case "text":
            return names.free_text(body.value)
        case "bytes":
            return body.value.hex() if names.is_shown else HIDDEN
        case _:
            return names.value(body.value)


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_json(found: list[Frame], names: Names) -> list[dict[str, Any]]:
    """For programs."""
    return [_frame_json(frame, names) for frame in found]


def _frame_json(frame: Frame, names: Names) -> dict[str, Any]:
    body = body_of(frame)
    header = {name: value for name, value in frame.header.items() if name not in ("extFields", "remark")}
    fields = {name: HIDDEN if _is_password(frame, name) else names.field(name, value)
              for name, value in frame.fields.items()}  # fmt: skip
    remark = frame.header.get("remark")
    name = None if not frame.header else (response_text if frame.is_response else request_text)(frame.code)
    return {
        "number": frame.number, "at": frame.at, "bytes": frame.size, "time": _moment(frame) or None,
        "source": names.peer(frame.stream.source) or None, "target": names.peer(frame.stream.target) or None,
        "kind": None if not frame.header else "response" if frame.is_response else "request", "code": name,
        "answers": None if frame.answers is None else frame.answers.number, "header": header,
        "remark": None if remark is None else names.free_text(str(remark)), "fields": fields,
        "body": {"kind": body.kind, "bytes": len(frame.body), "inflated": body.inflated,
                 "value": body_value(body, names)},
        "faults": [{"at": at, "fault": fault} for at, fault in frame.faults],
    }  # fmt: skip


def decode(options: Namespace) -> int:
    """Print the frames of a file, or of standard input. The exit status. FormError, CaptureError, OSError."""
    with sys.stdin.buffer if options.file == "-" else Path(options.file).open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    found, names = frames(read(data, options.form or "")), Names(is_shown=not options.hide_names)
    if options.json:
        print_json(as_json(found, names))
    else:
        print_text("\n".join(lines(found, names)) + "\n")
    return EXIT_DIFFERENT if not found or any(one.faults for one in found) else EXIT_FOUND
