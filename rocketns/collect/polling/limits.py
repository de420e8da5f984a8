"""What a watched name server may cost. All that comes from it is hostile."""

from __future__ import annotations

from rocketns.protocol.codes import RequestCode

MIB = 1024 * 1024
# Bytes of one answer. A larger one ends the connection, and counts as no answer. Of 300 brokers with ten topics a route
# has 63 KiB, the groups 43 KiB; a list of 200,000 topics has 6 MiB.
ANSWER_BYTES_MAX: dict[int, int] = {
    RequestCode.GET_BROKER_CLUSTER_INFO: 4 * MIB,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 12 * MIB,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: 4 * MIB,
    RequestCode.GET_KVLIST_BY_NAMESPACE: 4 * MIB,
    RequestCode.GET_NAMESRV_CONFIG: MIB,
}
# Topics of one name server. One with more is not watched.
TOPICS_MAX = 200_000
# Names of topics that brokers had which are gone, all together: they are asked at once when their broker comes back.
DEPARTED_TOPICS_MAX = 1_000_000
# Topics that only another name server of the same collector shows, and which are looked up here, too.
STRANGERS_MAX = 10_000
# A name server is lost when so many requests for its brokers (106) in a row had no usable answer.
FAILURES_MAX = 2
# So many lookups in a row without a usable answer pause lookups until its brokers were read again.
LOOKUP_FAILURES_MAX = 32
