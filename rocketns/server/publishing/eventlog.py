"""Events as the log lines of the Java name server, which operators search for."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import accumulate

from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import request_name
from rocketns.routeinfo import events as e

log = logging.getLogger("rocketns.routeinfo")

# Up to TOPIC_LINES_MAX topics of a registration get a line each. Of more topics only the first few do, and one line
# counts the others: a broker may register 10,000 topics.
TOPIC_LINES_MAX = 100
TOPIC_LINES_OF_MORE = 10
# Names of topics and brokers in these lines, together. To escape one takes a quarter of a microsecond of control.
TOPIC_CHARACTERS_MAX = 20_000


def log_events(events: Iterable[e.Event], _now: object = None) -> None:
    """Write what happened, in order."""
    for event in events:
        match event:
            case e.TopicsPut():
                _log_topics(event)
            case e.BrokerRegistered() | e.BrokerHeartbeat() if event.doubt is not None or event.gap_ms is None:
                _log_first_sign(event)
            case e.BrokerDoubted():
                log.warning(
                    "broker unconfirmed (%s), %s: it stays in the routes until it is confirmed, or known to be gone",
                    event.doubt.reason, _identity(event.cluster, event.addr),
                )  # fmt: skip
            case e.BrokerConflict():
                log.warning(
                    "Registering Broker conflicts with the existed one, just ignore.: Cluster:%s, BrokerName:%s, "
                    "BrokerId:%d, Old BrokerAddr:%s, New BrokerAddr:%s.",
                    event.cluster, event.broker_name, event.broker_id, event.incumbent_addr, event.addr,
                )  # fmt: skip
            case e.BrokerRefused():
                log.warning(
                    "Can't register topicConfigWrapper= because broker[%d]=%s has not registered.",
                    event.broker_id, event.addr,
                )  # fmt: skip
            case e.MinBrokerIdChanged():
                log.info(
                    "min broker id changed to %d, notify %s, offline broker addr %s",
                    event.min_broker_id, event.receivers, event.offline_addr,
                )  # fmt: skip
            case e.BrokerDown():
                log.info(
                    "unregisterBroker, remove from brokerLiveTable %s, %s (%s)",
                    "OK" if event.live else "Failed", _identity(event.cluster, event.addr), event.cause,
                )  # fmt: skip
            case (e.BrokerRegistered() | e.BrokerHeartbeat() | e.BrokerIdsLeft() | e.GroupChanged() | e.TopicsDeleted()
                  | e.MappingsPut() | e.KvChanged() | e.ConfigChanged() | e.Stalled()):  # fmt: skip
                pass  # each broker sends the first two every 30 s, and the last three are logged where they happen
            case _:
                _log_beside_tables(event)


def _identity(cluster: str, addr: str) -> str:
    return f"BrokerIdentityInfo [clusterName={cluster}, brokerAddr={addr}]"


def _log_beside_tables(event: e.FleetDiffers | e.AdminRequested | e.RequestRefused) -> None:
    match event:
        case e.FleetDiffers():
            _log_disagreement(event)
        case e.AdminRequested():
            _log_admin(event)
        case e.RequestRefused():
            _log_refusal(event)


def _log_disagreement(event: e.FleetDiffers) -> None:
    if event.is_over:
        log.info("name servers agree again about the %s %s", event.kind, event.name)
    else:
        log.warning("name servers disagree about the %s %s: %s", event.kind, event.name, event.sides)


def _log_admin(event: e.AdminRequested) -> None:
    """Beyond `DETAILED_PER_SECOND_MAX` events in a second only the journal has them, and the lines of what changed."""
    if not event.has_details and event.count == 1:
        return
    change = "nothing changed" if event.before is event.after is None else f"from {event.before} to {event.after}"
    log.info(
        "admin request %d (%s) of %s, principal %s, access key %s: response code %d, %s; fields: %s; requests: %d",
        event.code, request_name(event.code), event.address, event.principal, event.access_key, event.result, change,
        _fields(event), event.count,
    )  # fmt: skip


def _log_refusal(event: e.RequestRefused) -> None:
    """Has what a rule that allows the request must name."""
    log.warning(
        "%s request %d (%s) of class %s of %s, principal %s, access key %s: %s; fields: %s; requests: %d",
        "refused" if event.is_enforced else "would refuse", event.code, request_name(event.code), event.access,
        event.host, event.principal, event.access_key, event.reason, _fields(event), event.count,
    )  # fmt: skip


def _fields(event: e.AdminRequested | e.RequestRefused) -> str:
    return " ".join(f"{name}={value}" for name, value in event.fields) or "none"


def _log_first_sign(event: e.BrokerRegistered | e.BrokerHeartbeat) -> None:
    if event.doubt is not None:
        how = "registered" if isinstance(event, e.BrokerRegistered) else "sent a heartbeat"
        log.info("broker confirmed, %s %s (it was %s)", _identity(event.cluster, event.addr), how, event.doubt.reason)
    elif isinstance(event, e.BrokerRegistered):
        log.info("new broker registered, %s HAService: %s", _identity(event.cluster, event.addr), event.ha_server_addr)


def _log_topics(event: e.TopicsPut) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    broker, changes = event.broker_name, event.changes
    most = len(changes) if len(changes) <= TOPIC_LINES_MAX else TOPIC_LINES_OF_MORE
    ends = accumulate(len(change.topic) + 2 * len(broker) for change in changes[:most])
    logged = sum(1 for end in ends if end <= TOPIC_CHARACTERS_MAX)
    for topic, old, new in changes[:logged]:
        if old is None:
            log.info("new topic registered, %s %s", topic, _shown(broker, new))
        else:
            log.info("topic changed, %s OLD: %s NEW: %s", topic, _shown(broker, old), _shown(broker, new))
    rest = len(changes) - logged
    if rest:
        log.info("… and %d more topics of %s registered or changed (%s)", rest, broker, event.cause)


def _shown(broker_name: str, queues: QueueData) -> str:
    return (
        f"QueueData [brokerName={broker_name}, readQueueNums={queues.read_queue_nums}, "
        f"writeQueueNums={queues.write_queue_nums}, perm={queues.perm}, topicSysFlag={queues.topic_sys_flag}]"
    )
