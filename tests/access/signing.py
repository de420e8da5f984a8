"""Signed requests as clients make them, independent of rocketns: HMAC-SHA1 over the values by name, and the body."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import NamedTuple

from rocketns.access.signature import Signed

KEY, SECRET = "rocketmq", "12345678"


def sign(values: str, body: bytes = b"", secret: str = SECRET) -> str:
    """The signature of the joined values."""
    return base64.b64encode(hmac.new(secret.encode(), values.encode() + body, hashlib.sha1).digest()).decode()


def signed(ext: dict[str, str], body: bytes = b"", *, key: str = KEY, secret: str = SECRET) -> dict[str, str]:
    """The ext fields with access key and signature. The names must be ASCII."""
    fields = ext | {"AccessKey": key}
    return fields | {"Signature": sign("".join(fields[name] for name in sorted(fields)), body, secret)}


# Requests with the signatures that RocketMQ's own classes and the C++ library gave them: data, no tests.


class Vector(NamedTuple):
    """``fields``: without AccessKey and Signature. ``worth``: what the signature is worth to a verifier."""

    name: str
    code: int
    fields: dict[str, str | None]
    body: bytes | None
    signature: str
    worth: Signed = Signed.RIGHT
    key: str = KEY


BROKER: dict[str, str | None] = {
    "brokerAddr": "10.0.0.1:10911", "brokerName": "broker-a", "clusterName": "DefaultCluster",
}  # fmt: skip
BROKER_0 = BROKER | {"brokerId": "0"}
ZONES: dict[str, str | None] = {"__ZONE_NAME": "z1", "__ZONE_MODE": "true"}
TOPIC: dict[str, str | None] = {"topic": "TopicTest"}
REGISTRATION = (
    b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"stateVersion":0,'
    b'"timestamp":1000},"topicConfigTable":{}}}'
)
DATA_VERSION = b'{"counter":1,"stateVersion":0,"timestamp":1000}'
PROPERTIES = b"supportActingMaster=true\n"

OF_V1, OF_V3, OF_V16 = "ayu7NKYdYIN7Dpv6MbQQFj1qv24=", "wmnVRiuXwvgUxJ6oySLyc1qu7Z4=", "qtQQgD/2WlSfK8AP24n3OxQadns="
VECTORS = (
    Vector("V1", 105, TOPIC, None, OF_V1),
    Vector("V2", 105, {"SecurityToken": "tok-1", "acceptStandardJsonOnly": "true", "ns": "ns1", "nsd": "true",
                       "topic": "订单"}, None, "UlKOWN2tAw3Jy1CrswUkGCwMAIQ="),
    Vector("V3", 106, {}, None, OF_V3),
    Vector("V4", 318, {}, PROPERTIES, "rIWmmOgsF/kp9Y+80PbIC2kPV60="),
    Vector("V5", 103, BROKER_0 | {"bodyCrc32": "180421091", "compressed": "false", "enableActingMaster": "false",
                                  "haServerAddr": "10.0.0.1:10912"}, REGISTRATION, "dV8NeFBzGLPc6/PUJlETt/gkttc="),
    Vector("V6", 322, BROKER_0, DATA_VERSION, "+c3tTLjLOoyWzkMQQLp/3fDEtvc="),
    Vector("V7", 904, BROKER, None, "3JuAOski8SfAVHhfVyRe04rEFhU="),
    Vector("V8", 100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicO", "value": "broker-a:4"}, None,
           "vCp5ygX5+wBbx7L6POaXWlyo+qM="),
    Vector("V9, zones added after signing", 105, TOPIC | ZONES, None, OF_V1),
    Vector("V9, zones covered", 105, TOPIC | ZONES, None, "YjpVubPD5vezrGPl+Fk9CzLxbp8="),
    Vector("V10", 904, BROKER | ZONES, None, "RmIY9PMtjXbyI/kwiMLZvl7WD8M="),
    Vector("V11", 105, {"topic": ""}, None, OF_V3),
    Vector("V11, null", 105, {"topic": None}, None, OF_V3),
    # 4.9.3 does not cover fields that its header class does not declare. It sends none to a name server.
    Vector("V12", 105, TOPIC | {"extra": "zzz"}, None, OF_V1, Signed.WRONG),
    Vector("V12, without the field", 105, TOPIC, None, OF_V1),
    Vector("V13", 105, TOPIC | {"OnsChannel": "ALIYUN"}, None, "hDpRhOnlwP/XVI9ta83wEXuYZrU="),
    Vector("V14", 105, TOPIC | {"OnsChannel": "ALIYUN"}, None, "N/YT7X6tJe5UfutmW+uNwTTJ7Fc=", Signed.NOT, key=""),
    Vector("V15", 104, BROKER_0, None, "cyVCTXH4VzXi5fAvpilIuEpPDCI="),
    Vector("V16, lookup", 105, {"topic": "broker-a"}, None, OF_V16),
    Vector("V16, wipe", 205, {"brokerName": "broker-a"}, None, OF_V16),
    # What a signature does not cover: other requests with equally joined values.
    Vector("V4 as a lookup", 105, {"topic": PROPERTIES.decode()}, None, "rIWmmOgsF/kp9Y+80PbIC2kPV60="),
    Vector("a public scanner's", 105, {"topic": "TBW102"}, None, "/u5P/wZUbhjanu4LM/UzEdo2u2I=", key="rocketmq2"),
)  # fmt: skip
