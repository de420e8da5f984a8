"""Request, response and language codes; the versions of RocketMQ, and what answers say of them.

Sources: RequestCode, ResponseCode, RemotingSysResponseCode, LanguageCode and MQVersion of RocketMQ 5.5.0. Versions are
numbers in headers, ordinals of MQVersion.Version.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class RequestCode(IntEnum):
    """The codes of the requests that a name server answers or sends."""

    PUT_KV_CONFIG = 100
    GET_KV_CONFIG = 101
    DELETE_KV_CONFIG = 102
    REGISTER_BROKER = 103
    UNREGISTER_BROKER = 104
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    WIPE_WRITE_PERM_OF_BROKER = 205
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
    DELETE_TOPIC_IN_NAMESRV = 216
    REGISTER_TOPIC_IN_NAMESRV = 217
    GET_KVLIST_BY_NAMESPACE = 219
    GET_TOPICS_BY_CLUSTER = 224
    GET_SYSTEM_TOPIC_LIST_FROM_NS = 304
    GET_UNIT_TOPIC_LIST = 311
    GET_HAS_UNIT_SUB_TOPIC_LIST = 312
    GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313
    UPDATE_NAMESRV_CONFIG = 318
    GET_NAMESRV_CONFIG = 319
    QUERY_DATA_VERSION = 322
    ADD_WRITE_PERM_OF_BROKER = 327
    GET_BROKER_MEMBER_GROUP = 901
    BROKER_HEARTBEAT = 904
    NOTIFY_MIN_BROKER_ID_CHANGE = 905  # sent by the name server
    # rocketns' own, "RN" in ASCII. Codes of RocketMQ that fit a binary header's 16 bits end at 5003; a server that does
    # not know it answers REQUEST_CODE_NOT_SUPPORTED.
    GET_ROUTE_DIGESTS = 0x524E


def request_name(code: int) -> str:
    """The name of a request code; ``unknown`` for a code that a name server does not answer."""
    return RequestCode(code).name if code in RequestCode._value2member_map_ else "unknown"


class ResponseCode(IntEnum):
    """The response codes that a name server gives."""

    SUCCESS = 0
    SYSTEM_ERROR = 1
    SYSTEM_BUSY = 2
    REQUEST_CODE_NOT_SUPPORTED = 3
    NO_PERMISSION = 16
    TOPIC_NOT_EXIST = 17
    QUERY_NOT_FOUND = 22
    GO_AWAY = 1500


class SerializeType(IntEnum):
    """The high byte of the header word."""

    JSON = 0
    ROCKETMQ = 1


class LanguageCode(IntEnum):
    """Client languages; the ordinal equals the code on the wire."""

    JAVA = 0
    CPP = 1
    DOTNET = 2
    PYTHON = 3
    DELPHI = 4
    ERLANG = 5
    RUBY = 6
    OTHER = 7
    HTTP = 8
    GO = 9
    PHP = 10
    OMS = 11
    RUST = 12
    NODE_JS = 13


def language_name(code: int) -> str | None:
    """The name of a client's language; None for a code that Java does not know."""
    return LanguageCode(code).name if code in LanguageCode._value2member_map_ else None


V3_0_11 = 37  # the first whose REGISTER_BROKER carries a RegisterBrokerBody
V4_9_4 = 401  # the first whose route answers have quoted numeric keys
V5_0_0 = 413  # the first whose compressed registration ends with static topics
V5_3_1 = 475  # later peers understand GO_AWAY
V5_5_0 = 513
V5_5_1 = 515  # the first whose remark of TOPIC_NOT_EXIST has the new address of the FAQ
VERSION_ORDINALS = 613  # MQVersion.value2Version clamps to the last one

PERM_WRITE = 1 << 1  # PermName
PERM_READ = 1 << 2
SYS_FLAG_UNIT = 1 << 0  # TopicSysFlag
SYS_FLAG_UNIT_SUB = 1 << 1

MASTER_ID = 0  # MixAll.MASTER_ID
ZONE_NAME = "__ZONE_NAME"  # MixAll.ZONE_NAME
ZONE_MODE = "__ZONE_MODE"
# An ext field of rocketns, which Java ignores: "true" asks for the addresses that brokers announced, whatever view the
# sender is in. Who compares name servers, or fills tables, sends it.
ANNOUNCED_ADDRESSES = "announcedAddresses"
DIGEST_BUCKETS = 256  # of the topics, in GET_ROUTE_DIGESTS
NAMESPACE_ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"  # NamesrvUtil
# KV namespaces with a meaning to brokers and clients: no request lists namespaces. LMQ is that of rocketmq-mqtt.
RESERVED_NAMESPACES = (NAMESPACE_ORDER_TOPIC_CONFIG, "LMQ")
SYNC_BROKER_MEMBER_GROUP_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"  # TopicValidator
METADATA_SCOPE_GLOBAL = "__global__"  # MixAll


V4_0_0_SNAPSHOT = 212  # from here on each version has two ordinals, and each minor version ten versions


@dataclass(frozen=True)
class Release:
    """What differs between the answers of Java's releases.

    ``version`` is MQVersion.CURRENT_VERSION, which every header has. ``faq`` is FAQUrl.APPLY_TOPIC_URL, which the
    remark of TOPIC_NOT_EXIST names.
    """

    version: int
    faq: str


# By the texts of the property `rocketns.compatibleVersion`.
RELEASES = {
    "5.5.0": Release(V5_5_0, "https://rocketmq.apache.org/docs/bestPractice/06FAQ"),
    "5.5.1": Release(V5_5_1, "https://rocketmq.apache.org/docs/faq/"),
}


def version_name(number: int) -> str:
    """``5.5.0`` for 513, ``4.9.4-SNAPSHOT`` for 400. The versions before 4.0.0 have no such order."""
    if number < V4_0_0_SNAPSHOT:
        return "before 4.0.0"
    if number >= VERSION_ORDINALS - 1:
        return "after 5.9.9"
    major_minor, patch = divmod((number - V4_0_0_SNAPSHOT) // 2, 10)
    name = f"{4 + major_minor // 10}.{major_minor % 10}.{patch}"
    return name if number % 2 else f"{name}-SNAPSHOT"
