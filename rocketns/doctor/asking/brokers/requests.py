"""What brokers are asked: requests of mqadmin's that only read, in the broker's code of RocketMQ 4.9.7 and 5.5.0.

What they cost a broker: 28 and 26 print some hundred numbers and properties; mqadmin's clusterList sends 28 to every
broker. 351 and 203 are a lookup in a map each; where there is no such topic, a broker of 5.x writes one line into its
log for 351. 208 reads two numbers and the time of one message for each queue of the topic. 201 and 21 write the whole
table of consumer groups or topics, as for a slave each ten seconds: they are sent only where nothing else tells.

352 creates the group at a broker with autoCreateSubscriptionGroup, unless it has it. It is sent only to brokers whose
configuration says that this is off; the others are asked 201. 202, 30 and 31 make consume queues for what does not
exist, and are never sent. 38 says less than 203.
"""

from __future__ import annotations

from enum import IntEnum

from rocketns.doctor.asking.requests import Budget
from rocketns.doctor.asking.speaking import CONNECTS_MAX
from rocketns.doctor.facts.options import Options
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES

BROKERS_MAX = 32
AT_ONCE = 8
TABLES_AT_ONCE = 2  # answers of up to 16 MiB
BROKER_WITHIN_S = 30.0  # for all questions to one broker
# An offset is told to the broker each five seconds (persistConsumerOffsetInterval of a client).
LOOK_AGAIN_AFTER_S = 6.0


class BrokerRequest(IntEnum):
    """Names and numbers of Java's RequestCode."""

    GET_ALL_TOPIC_CONFIG = 21
    GET_BROKER_CONFIG = 26
    GET_BROKER_RUNTIME_INFO = 28
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_CONSUME_STATS = 208
    GET_TOPIC_CONFIG = 351
    GET_SUBSCRIPTIONGROUP_CONFIG = 352


# Bytes of an answer that are read. A larger one ends the connection.
BYTES_MAX = {
    BrokerRequest.GET_ALL_TOPIC_CONFIG: FRAME_SIZE_MAX_BYTES,
    BrokerRequest.GET_BROKER_CONFIG: 1 << 20,
    BrokerRequest.GET_BROKER_RUNTIME_INFO: 1 << 18,
    BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: FRAME_SIZE_MAX_BYTES,
    BrokerRequest.GET_CONSUMER_CONNECTION_LIST: 4 << 20,
    BrokerRequest.GET_CONSUME_STATS: 4 << 20,
    BrokerRequest.GET_TOPIC_CONFIG: 1 << 18,
    BrokerRequest.GET_SUBSCRIPTIONGROUP_CONFIG: 1 << 18,
}

# Response codes
SUBSCRIPTION_GROUP_NOT_EXIST = 26
CONSUMER_NOT_ONLINE = 206


def broker_budget(options: Options) -> Budget:
    """What each broker may be asked."""
    groups, topics = len(options.groups), len(options.topics)
    return Budget({
        "connect": CONNECTS_MAX,
        BrokerRequest.GET_BROKER_RUNTIME_INFO: 2,  # one more to tell TLS from plain
        BrokerRequest.GET_BROKER_CONFIG: 1,
        BrokerRequest.GET_TOPIC_CONFIG: topics + groups,  # and the retry topic of each group
        BrokerRequest.GET_CONSUMER_CONNECTION_LIST: groups,
        BrokerRequest.GET_CONSUME_STATS: 2 * groups * max(1, topics),  # twice, to see whether offsets move
        BrokerRequest.GET_SUBSCRIPTIONGROUP_CONFIG: groups,
        BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: min(1, groups),
        BrokerRequest.GET_ALL_TOPIC_CONFIG: 1,
    })  # fmt: skip
