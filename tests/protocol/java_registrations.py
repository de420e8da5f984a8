"""Registration bodies and the result of RocketMQ 5.5.0 (fastjson2 2.0.59) for each: data, no tests.

A topic is (topicName, readQueueNums, writeQueueNums, perm, topicSysFlag), a version (stateVersion, timestamp, counter)
and a mapping (topic, bname, currIdMap, dirty, epoch, scope, totalQueues).
"""

from __future__ import annotations

from typing import Any

NOW = 1_795_000_000_000
"""The clock of the table: a version without timestamp gets it."""

REFUSED = "refused"

# RegisterBrokerBody → filter servers, and whether there is a wrapper at all
BODIES: list[tuple[str, Any]] = [
    ("{}", ([], True)),
    ('{"a":1}', ([], True)),
    ('{"filterServerList":["a",""]}', (["a", ""], True)),
    ('{"filterServerList":["a",]}', (["a"], True)),
    ('{"filterServerList":[]}', ([], True)),
    ('{"filterServerList":null}', (None, True)),
    ('{"filterServerList":"x"}', (["x"], True)),
    ('{"filterServerList":""}', ([], True)),
    ('{"filterServerList":{}}', (None, True)),
    ('{"filterServerList":{"a":1}}', (None, True)),
    ('{"filterServerList":5}', (None, True)),
    ('{"filterServerList":true}', (None, True)),
    ('{"filterServerList":[1,null,{"a":1},true,1.50,[1]]}', (["1", None, '{"a":1}', "true", "1.50", "[1]"], True)),
    ('{"topicConfigSerializeWrapper":null}', ([], False)),
    ('{"topicConfigSerializeWrapper":""}', ([], False)),
    ('{"topicConfigSerializeWrapper":[]}', REFUSED),
    ('{"topicConfigSerializeWrapper":"x"}', REFUSED),
    ('{"topicConfigSerializeWrapper":5}', REFUSED),
    ("null", REFUSED),
    ('""', REFUSED),
    ('"x"', REFUSED),
    ("5", REFUSED),
    ("[]", REFUSED),
    (" ", REFUSED),
    ("{", REFUSED),
    ("{}x", REFUSED),
    ("{} {}", REFUSED),
]

# dataVersion of the wrapper → version
VERSIONS: list[tuple[str, Any]] = [
    ("{}", (0, NOW, 0)),
    ('{"counter":1,"stateVersion":2,"timestamp":3}', (2, 3, 1)),
    ('{"counter":null,"timestamp":null,"stateVersion":null}', (0, 0, None)),
    ('{"counter":"5","timestamp":1.9,"stateVersion":3}', (3, 1, 5)),
    ('{"counter":"","timestamp":"","stateVersion":""}', (0, 0, 0)),
    ('{"counter":5.9,"timestamp":true,"stateVersion":[7]}', (7, 1, 5)),
    ('{"timestamp":9223372036854775807}', (0, 2**63 - 1, 0)),
    ('{"timestamp":9223372036854775808}', REFUSED),
    ('{"timestamp":"9223372036854775808"}', REFUSED),
    ('{"counter":9223372036854775808}', REFUSED),
    ('{"stateVersion":99999999999999999999}', REFUSED),
    ('{"counter":{}}', REFUSED),
    ('{"timestamp":{}}', REFUSED),
    ('{"timestamp":"x"}', REFUSED),
    ("null", None),
    ('""', None),
    ("[]", REFUSED),
    ("5", REFUSED),
]

# topicConfigTable of the wrapper → table
TABLES: list[tuple[str, Any]] = [
    ("{}", {}),
    ("null", None),
    ('""', None),
    ("[]", REFUSED),
    ('"x"', REFUSED),
    ("5", REFUSED),
    ('{"a":null}', REFUSED),
    ('{"a":""}', REFUSED),
    ('{null:{"topicName":"z"}}', REFUSED),
    ('{5:{"topicName":"z"},-6:{"topicName":"y"}}', {"5": ("z", 16, 16, 6, 0), "-6": ("y", 16, 16, 6, 0)}),
    ('{"a":{"topicName":"a"},"a":{"topicName":"b"}}', {"a": ("b", 16, 16, 6, 0)}),
]

# one TopicConfig in the table → topic
TOPICS: list[tuple[str, Any]] = [
    ("{}", (None, 16, 16, 6, 0)),
    ('{"topicName":"a"}', ("a", 16, 16, 6, 0)),
    ('{"topicName":"a","readQueueNums":"3","writeQueueNums":4.0,"topicSysFlag":"2"}', ("a", 3, 4, 6, 2)),
    ('{"topicName":"a","perm":"7"}', ("a", 16, 16, 7, 0)),
    ('{"topicName":"a","perm":7.9}', ("a", 16, 16, 7, 0)),
    ('{"topicName":"a","perm":"7.9"}', ("a", 16, 16, 7, 0)),
    ('{"topicName":"a","perm":true}', ("a", 16, 16, 1, 0)),
    ('{"topicName":"a","perm":null}', ("a", 16, 16, 0, 0)),
    ('{"topicName":"a","perm":""}', ("a", 16, 16, 0, 0)),
    ('{"topicName":"a","perm":"null"}', ("a", 16, 16, 0, 0)),
    ('{"topicName":"a","perm":{}}', ("a", 16, 16, 0, 0)),
    ('{"topicName":"a","perm":[1]}', ("a", 16, 16, 1, 0)),
    ('{"topicName":"a","perm":-0}', ("a", 16, 16, 0, 0)),
    ('{"topicName":"a","perm":1e2}', ("a", 16, 16, 100, 0)),
    ('{"topicName":"a","perm":"+7"}', ("a", 16, 16, 7, 0)),
    ('{"topicName":"a","perm":01}', ("a", 16, 16, 1, 0)),
    ('{"topicName":"a","perm":7L}', ("a", 16, 16, 7, 0)),
    ('{"topicName":"a","perm":1,"perm":2}', ("a", 16, 16, 2, 0)),
    ('{"topicName":"a","perm":1,}', ("a", 16, 16, 1, 0)),
    ('{"topicName":"a","perm":"abc"}', REFUSED),
    ('{"topicName":"a","perm":" 7"}', REFUSED),
    ('{"topicName":"a","perm":99999999999}', REFUSED),
    ('{"topicName":"a","perm":0x10}', REFUSED),
    ('{"topicName":"a","perm":NaN}', REFUSED),
    ('{"topicName":null}', (None, 16, 16, 6, 0)),
    ('{"topicName":""}', ("", 16, 16, 6, 0)),
    ('{"topicName":7}', ("7", 16, 16, 6, 0)),
    ('{"topicName":true}', ("true", 16, 16, 6, 0)),
    ('{"topicName":{"x":1}}', ('{"x":1}', 16, 16, 6, 0)),
    ('{"topicName":[1]}', ("[1]", 16, 16, 6, 0)),
    ('{"topicName":1.50}', ("1.50", 16, 16, 6, 0)),
    ('{"topicName":1e5}', ("100000.0", 16, 16, 6, 0)),
    ('{"topicName":12345678901234567890123}', ("12345678901234567890123", 16, 16, 6, 0)),
    ('{"topicName":"\\ud800"}', ("\ud800", 16, 16, 6, 0)),
    ('{"topicName":"\\ud83d\\ude00"}', ("\U0001f600", 16, 16, 6, 0)),
    ('{"topicName":"a\tb\\x41\\v\\0\\\'"}', ("a\tbA\v\0'", 16, 16, 6, 0)),
    ("{'topicName':'a'}", ("a", 16, 16, 6, 0)),
    ('{"TopicName":"a","topicname":"b","topic_name":"c"}', (None, 16, 16, 6, 0)),
    ('{"topicName":"a","unk":{"x":[1,{"y":null}]}}', ("a", 16, 16, 6, 0)),
    ('{"topicName":"a","order":"true","topicFilterType":"ZZ"}', ("a", 16, 16, 6, 0)),
    ('{"topicName":"a","attributes":null}', ("a", 16, 16, 6, 0)),
    ('{"topicName":"a","attributes":{"k":1}}', ("a", 16, 16, 6, 0)),
    ('{"topicName":"a","attributes":[]}', REFUSED),
    ('{"topicName":"a","attributes":"x"}', REFUSED),
    ('{"topicName":"a",,"perm":1}', REFUSED),
    ('{topicName:"a"}', REFUSED),
    ("[]", REFUSED),
    ('"x"', REFUSED),
    ("5", REFUSED),
]

# topicQueueMappingInfoMap of the wrapper: how many mappings
MAPPING_MAPS: list[tuple[str, Any]] = [
    ("{}", 0),
    ('{"ST1":{},5:{}}', 2),
    ("null", None),
    ('""', None),
    ("[]", REFUSED),
    ("5", REFUSED),
    ('{"ST1":[]}', REFUSED),
    ('{"ST1":5}', REFUSED),
]

# one TopicQueueMappingInfo of the map → mapping
MAPPINGS: list[tuple[str, Any]] = [
    ("{}", (None, None, {}, False, 0, "__global__", 0)),
    ('{"bname":"b","currIdMap":{0:0,"1":"1"},"dirty":false,"epoch":9007199254740993,"scope":null,"topic":"ST1",'
     '"totalQueues":8}', ("ST1", "b", {0: 0, 1: 1}, False, 9007199254740993, None, 8)),
    ('{"topic":5,"bname":5.50,"scope":true}', ("5", "5.50", {}, False, 0, "true", 0)),
    ('{"currIdMap":{"-1":1, 7:9, 10:1}}', (None, None, {-1: 1, 7: 9, 10: 1}, False, 0, "__global__", 0)),
    ('{"currIdMap":{"1":1.9,"2":"2.9","3":true,"4":{},"5":[3]}}',
     (None, None, {1: 1, 2: 2, 3: 1, 4: 0, 5: 3}, False, 0, "__global__", 0)),
    ('{"currIdMap":null}', (None, None, None, False, 0, "__global__", 0)),
    ('{"currIdMap":""}', (None, None, None, False, 0, "__global__", 0)),
    ('{"dirty":"Y","epoch":"7","totalQueues":null}', (None, None, {}, True, 7, "__global__", 0)),
    ('{"dirty":2,"epoch":1.9}', (None, None, {}, False, 1, "__global__", 0)),
    ('{"epoch":1E400}', (None, None, {}, False, 2**63 - 1, "__global__", 0)),
    ('{"currIdMap":[]}', REFUSED),
    ('{"currIdMap":{0:0,2:null}}', REFUSED),
    ('{"currIdMap":{"x":1}}', REFUSED),
    ('{"currIdMap":{"1":"x"}}', REFUSED),
    ('{"currIdMap":{"1":""}}', REFUSED),
    ('{"currIdMap":{"":1}}', REFUSED),
    ('{"currIdMap":{"null":1}}', REFUSED),
    ('{"currIdMap":{null:1}}', REFUSED),
    ('{"currIdMap":{99999999999:1}}', REFUSED),
    ('{"currIdMap":{"1":99999999999}}', REFUSED),
    ('{"currIdMap":{" 1":1}}', REFUSED),
    ('{"dirty":"x"}', REFUSED),
    ('{"dirty":{}}', REFUSED),
    ('{"totalQueues":"x"}', REFUSED),
]  # fmt: skip

# TopicRouteData of REGISTER_TOPIC_IN_NAMESRV → (broker name, queue data)…
QUEUE_DATAS: list[tuple[str, Any]] = [
    ("{}", []),
    ("null", []),
    ('""', []),
    ('{"queueDatas":null}', []),
    ('{"queueDatas":""}', []),
    ('{"queueDatas":[]}', []),
    ('{"queueDatas":{}}', [(None, 0, 0, 0, 0)]),
    ('{"queueDatas":{"brokerName":"b"}}', [("b", 0, 0, 0, 0)]),
    ('{"queueDatas":[{}]}', [(None, 0, 0, 0, 0)]),
    ('{"queueDatas":[null,""]}', [(None, 0, 0, 0, 0)] * 2),
    ('{"queueDatas":[{"brokerName":"b","readQueueNums":"1","writeQueueNums":2.5,"perm":6,"topicSysFlag":null}]}',
     [("b", 1, 2, 6, 0)]),
    ('{"queueDatas":[{"brokerName":5.50},]}', [("5.50", 0, 0, 0, 0)]),
    ('{"queueDatas":[{"brokerName":"b"}],"brokerDatas":[{"brokerAddrs":{0:"x"}}]}', [("b", 0, 0, 0, 0)]),
    ('{"queueDatas":[{"brokerName":"b","perm":"x"}]}', REFUSED),
    ('{"queueDatas":"x"}', REFUSED),
    ('{"queueDatas":5}', REFUSED),
    ('{"queueDatas":[5]}', REFUSED),
    ('{"queueDatas":["x"]}', REFUSED),
    ('{"queueDatas":[[]]}', REFUSED),
    ("[]", REFUSED),
]  # fmt: skip

# the filter servers inside a compressed body; what Java refuses here it logs, and keeps an empty list
FILTER_ARRAYS: list[tuple[bytes, Any]] = [
    (b"[]", []),
    (b"null", None),
    (b'""', []),
    (b'"x"', ["x"]),
    (b"{}", ["{}"]),
    (b'["a","b"]', ["a", "b"]),
    (b"['a',]", ["a"]),
    (b'["a",null,5,1.50,{"b":1},[1],true]', ["a", None, "5", "1.50", '{"b":1}', "[1]", "true"]),
    (b'["\xff"]', ["\ufffd"]),
    (b"5", []),
    (b'["a"', []),
    (b"[a]", []),
    (b"x", []),
    (b"", None),
]

# Where rocketns takes what Java refuses: fields of a topic that a name server does not read.
FORGIVEN_TOPICS: list[str] = [
    '{"topicName":"a","order":"x"}',
    '{"topicName":"a","order":{}}',
    '{"topicName":"a","topicFilterType":5}',
    '{"topicName":"a","topicFilterType":{}}',
    '{"topicName":"a","unk":[1,]}',
    '{"topicName":"a",/*x*/"perm":6/*y*/}',
]
