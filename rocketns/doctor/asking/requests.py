"""How often each request may be sent to one address. What has no row is never sent.

Never add 322, 904 or 103: a name server takes them as a sign of life of the broker that they name. Never add 224, which
costs a Java name server more than a second where a cluster is large, nor anything that changes something.
"""

from __future__ import annotations

from rocketns.doctor.asking.budget import Budget
from rocketns.doctor.facts.options import Options
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.topic_validator import CREATION_TOPIC, SELF_TEST_TOPIC

RETRY_PREFIX = "%RETRY%"  # MixAll.RETRY_GROUP_TOPIC_PREFIX
# 8 looks come at 8 moments of the 30 s between two registrations, evenly spread, and of 10 s as well. Looks each 5 s
# come at 2 moments of 10 s, so they could see the same of two brokers each time.
LOOK_EVERY_S = 3.75
LOOKS_OF_SUSPICION = 8


def topics_to_look_up(options: Options) -> tuple[str, ...]:
    """The topics whose routes each name server is asked for, once each."""
    retries = tuple(RETRY_PREFIX + group for group in options.groups)
    return tuple(dict.fromkeys((*options.topics, CREATION_TOPIC, SELF_TEST_TOPIC, *retries)))


def looks(options: Options) -> int:
    """How often each name server is asked for its brokers again, because the user wants it."""
    return int(options.watch_s // LOOK_EVERY_S)


def name_server_budget(options: Options) -> Budget:
    """What each name server may be asked."""
    return Budget({
        # one more to tell TLS from plain
        RequestCode.GET_BROKER_CLUSTER_INFO: 2 + (looks(options) or LOOKS_OF_SUSPICION),
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 1,
        RequestCode.GET_NAMESRV_CONFIG: 1,
        RequestCode.GET_ROUTE_DIGESTS: 1,  # rocketns' own: a Java name server answers that it does not know it
        RequestCode.GET_ROUTEINFO_BY_TOPIC: len(topics_to_look_up(options)),
    })  # fmt: skip
