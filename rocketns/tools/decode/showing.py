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
from rocketns.logs import escape
from rocketns.protocol.codes import RequestCode, ResponseCode, version_name
from rocketns.tools.decode.frames import DecodedFrame, body_of, frames
from rocketns.tools.decode.reading import BYTES_MAX, read
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, print_json, print_text

_ = texts("help")
BODY_CHARACTERS_MAX = 4_000  # for people; JSON has all
BYTES_SHOWN = 64
HIDDEN = "(hidden)"
# AccessKey, Signature, SecurityToken and OnsChannel of a header, in any case.
SECRET_FIELDS = frozenset({"accesskey", "signature", "securitytoken", "onschannel"})
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


def _table(text: str) -> dict[int, str]:
    words = text.split()
    return dict(zip(map(int, words[::2]), words[1::2], strict=True))


# Those that a name server knows, and those of brokers, clients and controllers.
REQUESTS = {int(one): one.name for one in RequestCode} | _table("""
10 SEND_MESSAGE 11 PULL_MESSAGE 12 QUERY_MESSAGE 13 QUERY_BROKER_OFFSET 14 QUERY_CONSUMER_OFFSET
15 UPDATE_CONSUMER_OFFSET 17 UPDATE_AND_CREATE_TOPIC 18 UPDATE_AND_CREATE_TOPIC_LIST 21 GET_ALL_TOPIC_CONFIG
22 GET_TOPIC_CONFIG_LIST 23 GET_TOPIC_NAME_LIST 25 UPDATE_BROKER_CONFIG 26 GET_BROKER_CONFIG 27 TRIGGER_DELETE_FILES
28 GET_BROKER_RUNTIME_INFO 29 SEARCH_OFFSET_BY_TIMESTAMP 30 GET_MAX_OFFSET 31 GET_MIN_OFFSET
32 GET_EARLIEST_MSG_STORETIME 33 VIEW_MESSAGE_BY_ID 34 HEART_BEAT 35 UNREGISTER_CLIENT 36 CONSUMER_SEND_MSG_BACK
37 END_TRANSACTION 38 GET_CONSUMER_LIST_BY_GROUP 39 CHECK_TRANSACTION_STATE 40 NOTIFY_CONSUMER_IDS_CHANGED
41 LOCK_BATCH_MQ 42 UNLOCK_BATCH_MQ 43 GET_ALL_CONSUMER_OFFSET 45 GET_ALL_DELAY_OFFSET 46 CHECK_CLIENT_CONFIG
47 GET_CLIENT_CONFIG 50 UPDATE_AND_CREATE_ACL_CONFIG 51 DELETE_ACL_CONFIG 52 GET_BROKER_CLUSTER_ACL_INFO
53 UPDATE_GLOBAL_WHITE_ADDRS_CONFIG 54 GET_BROKER_CLUSTER_ACL_CONFIG 60 GET_TIMER_CHECK_POINT 61 GET_TIMER_METRICS
200 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP 201 GET_ALL_SUBSCRIPTIONGROUP_CONFIG 202 GET_TOPIC_STATS_INFO
203 GET_CONSUMER_CONNECTION_LIST 204 GET_PRODUCER_CONNECTION_LIST 207 DELETE_SUBSCRIPTIONGROUP 208 GET_CONSUME_STATS
209 SUSPEND_CONSUMER 210 RESUME_CONSUMER 211 RESET_CONSUMER_OFFSET_IN_CONSUMER 212 RESET_CONSUMER_OFFSET_IN_BROKER
213 ADJUST_CONSUMER_THREAD_POOL 214 WHO_CONSUME_THE_MESSAGE 215 DELETE_TOPIC_IN_BROKER 220 RESET_CONSUMER_CLIENT_OFFSET
221 GET_CONSUMER_STATUS_FROM_CLIENT 222 INVOKE_BROKER_TO_RESET_OFFSET 223 INVOKE_BROKER_TO_GET_CONSUMER_STATUS
225 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST 300 QUERY_TOPIC_CONSUME_BY_WHO 301 REGISTER_FILTER_SERVER
302 REGISTER_MESSAGE_FILTER_CLASS 303 QUERY_CONSUME_TIME_SPAN 305 GET_SYSTEM_TOPIC_LIST_FROM_BROKER
306 CLEAN_EXPIRED_CONSUMEQUEUE 307 GET_CONSUMER_RUNNING_INFO 308 QUERY_CORRECTION_OFFSET 309 CONSUME_MESSAGE_DIRECTLY
310 SEND_MESSAGE_V2 314 CLONE_GROUP_OFFSET 315 VIEW_BROKER_STATS_DATA 316 CLEAN_UNUSED_TOPIC
317 GET_BROKER_CONSUME_STATS 320 SEND_BATCH_MESSAGE 321 QUERY_CONSUME_QUEUE 323 RESUME_CHECK_HALF_MESSAGE
324 SEND_REPLY_MESSAGE 325 SEND_REPLY_MESSAGE_V2 326 PUSH_REPLY_MESSAGE_TO_CLIENT 328 GET_ALL_PRODUCER_INFO
329 DELETE_EXPIRED_COMMITLOG 343 QUERY_TOPICS_BY_CONSUMER 345 QUERY_SUBSCRIPTION_BY_CONSUMER 351 GET_TOPIC_CONFIG
352 GET_SUBSCRIPTIONGROUP_CONFIG 353 UPDATE_AND_GET_GROUP_FORBIDDEN 354 CHECK_ROCKSDB_CQ_WRITE_PROGRESS
355 EXPORT_ROCKSDB_CONFIG_TO_JSON 361 LITE_PULL_MESSAGE 370 RECALL_MESSAGE 400 QUERY_ASSIGNMENT
401 SET_MESSAGE_REQUEST_MODE 402 GET_ALL_MESSAGE_REQUEST_MODE 513 UPDATE_AND_CREATE_STATIC_TOPIC 902 ADD_BROKER
903 REMOVE_BROKER 906 EXCHANGE_BROKER_HA_INFO 907 GET_BROKER_HA_STATUS 908 RESET_MASTER_FLUSH_OFFSET
1001 CONTROLLER_ALTER_SYNC_STATE_SET 1002 CONTROLLER_ELECT_MASTER 1003 CONTROLLER_REGISTER_BROKER
1004 CONTROLLER_GET_REPLICA_INFO 1005 CONTROLLER_GET_METADATA_INFO 1006 CONTROLLER_GET_SYNC_STATE_DATA
1007 GET_BROKER_EPOCH_CACHE 1008 NOTIFY_BROKER_ROLE_CHANGED 1009 UPDATE_CONTROLLER_CONFIG 1010 GET_CONTROLLER_CONFIG
1011 CLEAN_BROKER_DATA 1012 CONTROLLER_GET_NEXT_BROKER_ID 1013 CONTROLLER_APPLY_BROKER_ID
2001 UPDATE_COLD_DATA_FLOW_CTR_CONFIG 2002 REMOVE_COLD_DATA_FLOW_CTR_CONFIG 2003 GET_COLD_DATA_FLOW_CTR_INFO
2004 SET_COMMITLOG_READ_MODE 3001 AUTH_CREATE_USER 3002 AUTH_UPDATE_USER 3003 AUTH_DELETE_USER 3004 AUTH_GET_USER
3005 AUTH_LIST_USER 3006 AUTH_CREATE_ACL 3007 AUTH_UPDATE_ACL 3008 AUTH_DELETE_ACL 3009 AUTH_GET_ACL 3010 AUTH_LIST_ACL
5001 SWITCH_TIMER_ENGINE 5002 DELETE_TOPIC_IN_BROKER_LIST 5003 DELETE_SUBSCRIPTION_GROUP_LIST 200050 POP_MESSAGE
200051 ACK_MESSAGE 200052 PEEK_MESSAGE 200053 CHANGE_MESSAGE_INVISIBLETIME 200054 NOTIFICATION 200055 POLLING_INFO
200056 POP_ROLLBACK 200070 POP_LITE_MESSAGE 200071 LITE_SUBSCRIPTION_CTL 200072 ACK_LITE_MESSAGE
200073 NOTIFY_UNSUBSCRIBE_LITE 200074 GET_BROKER_LITE_INFO 200075 GET_PARENT_TOPIC_INFO 200076 GET_LITE_TOPIC_INFO
200077 GET_LITE_CLIENT_INFO 200078 GET_LITE_GROUP_INFO 200079 TRIGGER_LITE_DISPATCH 200151 BATCH_ACK_MESSAGE
""")
RESPONSES = {int(one): one.name for one in ResponseCode} | _table("""
-1006 RPC_TIME_OUT -1004 RPC_SEND_TO_CHANNEL_FAILED -1002 RPC_ADDR_IS_NULL -1000 RPC_UNKNOWN 4 TRANSACTION_FAILED
10 FLUSH_DISK_TIMEOUT 11 SLAVE_NOT_AVAILABLE 12 FLUSH_SLAVE_TIMEOUT 13 MESSAGE_ILLEGAL 14 SERVICE_NOT_AVAILABLE
15 VERSION_NOT_SUPPORTED 18 TOPIC_EXIST_ALREADY 19 PULL_NOT_FOUND 20 PULL_RETRY_IMMEDIATELY 21 PULL_OFFSET_MOVED
23 SUBSCRIPTION_PARSE_FAILED 24 SUBSCRIPTION_NOT_EXIST 25 SUBSCRIPTION_NOT_LATEST 26 SUBSCRIPTION_GROUP_NOT_EXIST
27 FILTER_DATA_NOT_EXIST 28 FILTER_DATA_NOT_LATEST 29 INVALID_PARAMETER 200 TRANSACTION_SHOULD_COMMIT
201 TRANSACTION_SHOULD_ROLLBACK 202 TRANSACTION_STATE_UNKNOW 203 TRANSACTION_STATE_GROUP_WRONG 204 NO_BUYER_ID
205 NOT_IN_CURRENT_UNIT 206 CONSUMER_NOT_ONLINE 207 CONSUME_MSG_TIMEOUT 208 NO_MESSAGE 209 POLLING_FULL
210 POLLING_TIMEOUT 211 BROKER_NOT_EXIST 212 BROKER_DISPATCH_NOT_COMPLETE 213 BROADCAST_CONSUMPTION 215 FLOW_CONTROL
501 NOT_LEADER_FOR_QUEUE 604 ILLEGAL_OPERATION 2000 CONTROLLER_FENCED_MASTER_EPOCH
2001 CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH 2002 CONTROLLER_INVALID_MASTER 2003 CONTROLLER_INVALID_REPLICAS
2004 CONTROLLER_MASTER_NOT_AVAILABLE 2005 CONTROLLER_INVALID_REQUEST 2006 CONTROLLER_BROKER_NOT_ALIVE
2007 CONTROLLER_NOT_LEADER 2008 CONTROLLER_BROKER_METADATA_NOT_EXIST 2009 CONTROLLER_INVALID_CLEAN_BROKER_METADATA
2010 CONTROLLER_BROKER_NEED_TO_BE_REGISTERED 2011 CONTROLLER_MASTER_STILL_EXIST 2012 CONTROLLER_ELECT_MASTER_FAILED
2013 CONTROLLER_ALTER_SYNC_STATE_SET_FAILED 2014 CONTROLLER_BROKER_ID_INVALID 2015 CONTROLLER_JRAFT_INTERNAL_ERROR
2016 CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS 2017 LMQ_QUOTA_EXCEEDED 2018 LITE_SUBSCRIPTION_QUOTA_EXCEEDED
3001 USER_NOT_EXIST 3002 POLICY_NOT_EXIST
""")


def code_text(frame: DecodedFrame) -> str:
    """``GET_ROUTEINFO_BY_TOPIC (105)``."""
    return f"{(RESPONSES if frame.is_response else REQUESTS).get(frame.code, '?')} ({frame.code})"


class Names:
    """Another name for each, the same one wherever it stands; with ``is_shown`` all stay as they are."""

    def __init__(self, *, is_shown: bool) -> None:
        self.is_shown = is_shown
        self._pseudonyms: dict[str, str] = {}
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
        if text not in self._pseudonyms:
            self._counts[kind] += 1
            self._pseudonyms[text] = f"{kind}-{self._counts[kind]}"
        return self._pseudonyms[text]

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
        return HIDDEN if name.lower() in SECRET_FIELDS or is_secret(name) else self.value(value, name)

    def free_text(self, text: str) -> str:
        """A remark, or a body that is no JSON: lines of properties keep their keys, anything else is left out."""
        if _PROPERTY.search(text):
            return _PROPERTY.sub(lambda found: f"{found[1]}={self.field(found[1], found[2])}", text)
        return text if self.is_shown else _("(%(n)d characters, hidden)") % {"n": len(text)}

    def peer(self, text: str) -> str:
        """An end of a stream, which may have a word before it."""
        word, blank, addr = text.rpartition(" ")
        return word + blank + (self.text(addr) if read_server(addr) else addr)


def lines(found: list[DecodedFrame], names: Names) -> Iterator[str]:
    """For people. Texts of peers are escaped, also what no encoding has."""
    for frame in found:
        for line in _lines(as_json(frame, names)):
            yield escape(line).encode("utf-8", "backslashreplace").decode()
        yield ""
    faults = sum(len(frame.faults) for frame in found)
    whole = sum(bool(frame.header) for frame in found)
    yield _("frames: %(frames)d, faults: %(faults)d") % {"frames": whole, "faults": faults}


def _lines(one: dict[str, Any]) -> Iterator[str]:
    place = _("frame %(number)d, byte %(at)d, %(size)d bytes") % (one | {"size": one["bytes"]})
    ends = f"{one['source']} > {one['target']}" if one["source"] else ""
    yield "  ".join(part for part in (place, one["time"], ends) if part)
    if one["kind"]:
        yield "  " + _said(one)
        if one["remark"]:
            yield "    " + _("remark: %(text)s") % {"text": one["remark"]}
        for name, value in one["fields"].items():
            yield f"    {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        yield from _body_lines(one["body"])
    for fault in one["faults"]:
        yield "  ! " + _("byte %(at)d: %(fault)s") % fault


def _said(one: dict[str, Any]) -> str:
    code, request, version = one["code"], one["answersCode"], one["header"].get("version")
    if one["kind"] == "request":
        head = (_("one-way request %(code)s") if one["oneway"] else _("request %(code)s")) % {"code": code}
    elif request is None:
        head = _("response %(code)s") % {"code": code}
    else:
        head = _("response %(code)s to frame %(number)d, %(request)s") % {
            "code": code, "number": one["answers"], "request": request}  # fmt: skip
    return head + ", " + _("opaque %(opaque)s, %(language)s %(version)s, header %(form)s") % {
        "opaque": one["header"].get("opaque"), "language": one["header"].get("language"), "form": one["form"],
        "version": version_name(version) if isinstance(version, int) else "?",
    }  # fmt: skip


def _body_lines(body: dict[str, Any]) -> Iterator[str]:
    if body["kind"] == "none":
        return
    size = _("body: %(kind)s, %(n)d bytes") % {"kind": body["kind"], "n": body["bytes"]}
    if body["inflated"] is not None:
        size += ", " + _("%(n)d when inflated") % {"n": body["inflated"]}
    yield "    " + size
    value = body["value"]
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    most = 2 * BYTES_SHOWN if body["kind"] == "bytes" else BODY_CHARACTERS_MAX
    for line in text[:most].splitlines():
        yield "      " + line
    if len(text) > most:
        yield "      " + _("… and %(n)d characters more: --json has them") % {"n": len(text) - most}


def as_json(frame: DecodedFrame, names: Names) -> dict[str, Any]:
    """For programs."""
    body, at_s, remark = body_of(frame), frame.stream.time_at(frame.at), frame.header.get("remark")
    is_password = is_secret(str(frame.fields.get("key", "")))  # the value of a KV item
    value = body.value
    if body.kind == "bytes":
        value = value.hex() if names.is_shown else HIDDEN
    elif body.kind != "none":
        value = names.free_text(value) if body.kind == "text" else names.value(value)
    return {
        "number": frame.number, "at": frame.at, "bytes": frame.size,
        "time": datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S.%fZ") if at_s else None,
        "source": names.peer(frame.stream.source) or None, "target": names.peer(frame.stream.target) or None,
        "kind": None if not frame.header else "response" if frame.is_response else "request",
        "oneway": frame.is_oneway, "form": frame.form,
        "code": code_text(frame) if frame.header else None,
        "answers": None if frame.answers is None else frame.answers.number,
        "answersCode": None if frame.answers is None else code_text(frame.answers),
        "header": {name: one for name, one in frame.header.items() if name not in ("extFields", "remark")},
        "remark": None if remark is None else names.free_text(str(remark)),
        "fields": {name: HIDDEN if is_password and name == "value" else names.field(name, one)
                   for name, one in frame.fields.items()},
        "body": {"kind": body.kind, "bytes": len(frame.body), "inflated": body.inflated, "value": value},
        "faults": [{"at": at, "fault": fault} for at, fault in frame.faults],
    }  # fmt: skip


def decode(options: Namespace) -> int:
    """Print the frames of a file, or of standard input. The exit status. FormError, OSError."""
    with sys.stdin.buffer if options.file == "-" else Path(options.file).open("rb") as file:
        data = file.read(BYTES_MAX + 1)
    found, names = frames(read(data)), Names(is_shown=not options.hide_names)
    if options.json:
        print_json([as_json(frame, names) for frame in found])
    else:
        print_text("\n".join(lines(found, names)) + "\n")
    return EXIT_DIFFERENT if not found or any(one.faults for one in found) else EXIT_FOUND
