"""Requests of brokers: registration, unregistration, heartbeats, their group (part of DefaultRequestProcessor).

Three questions come before a registration changes anything: whether it takes an id over from a live broker
(`access.takeover` decides), whether its mappings name other brokers, and whether the tables and the bounds of its
principal have room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from rocketns.access.classes import Access, AccessRequest, Mode
from rocketns.access.takeover import excuse_of, is_live
from rocketns.errors import BeyondBounds, BodyDecodeError, RequestError, TablesFull
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.body import bodies
from rocketns.protocol.body.decoding import decode_data_version, decode_queue_datas, java_errors
from rocketns.protocol.body.register_broker_body import (
    BodyFingerprint,
    RegisterBrokerBody,
    check_registration,
    decode_register_broker_body,
    decode_topic_config_wrapper,
    refusal,
)
from rocketns.protocol.codes import MASTER_ID, NAMESPACE_ORDER_TOPIC_CONFIG, V3_0_11, VERSION_ORDINALS
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.headers import BrokerAddressRequestHeader, RegisterBrokerRequestHeader, decode_header
from rocketns.protocol.names import check_repeated
from rocketns.routeinfo import admission, registration, topics
from rocketns.routeinfo.admission import Growth
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.registration import repeated_body
from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers

log = logging.getLogger("rocketns.broker")


class RegistrationRefused(RequestError):
    """Java makes its response header before it refuses, so the answer carries ``"extFields":{}``."""

    header_made = True


def register_broker(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """REGISTER_BROKER."""
    header = decode_header(command, RegisterBrokerRequestHeader)
    check_takeover(context, header, command, peer, now)
    fingerprint = _checked_fingerprint(header, command, peer)
    queue = context.unregister_queue
    if queue and (leaving := queue.remove_of(header.cluster_name, header.broker_addr)):
        # The broker left, and returns before its unregistration was applied.
        context.events += unregister_brokers(context.tables, leaving, now.ms)
    body = repeated_body(context.tables, context.configuration.namesrv, header, fingerprint)
    context.registrations.total += 1
    context.registrations.repeated += body is not None
    if body is None:
        body = _registration_body(context, header, command, now)
        check_mapped_brokers(context, body, header.broker_name, command, peer, now)
    if header.broker_id is None:
        raise RequestError("java.lang.NullPointerException: brokerId is null")
    result = registration.RegisterBrokerResult()
    # In Java a registration without one of these leaves a null that breaks the clean-up of other brokers.
    if header.cluster_name is not None and header.broker_name is not None and header.broker_addr:
        asked = registration.BrokerRegistration(
            key=BrokerAddrInfo(header.cluster_name, header.broker_addr),
            broker_name=header.broker_name,
            broker_id=header.broker_id,
            ha_server_addr=header.ha_server_addr,
            zone_name=header.zone_name,
            timeout_ms=header.heartbeat_timeout_millis,
            enable_acting_master=header.enable_acting_master,
            wrapper=body.topic_config_wrapper,
            filter_servers=body.filter_server_list,
            channel=peer,
            epoch_ms=now.epoch_ms,
            body_fingerprint=fingerprint,
            announced_by=None if peer.is_announced else peer.address.rpartition(":")[0],
        )
        _admit(context, asked, peer, now)
        result = registration.register_broker(context.tables, context.configuration.namesrv, asked, now.ms)
        context.events += result.events
    if result.refused:
        raise RegistrationRefused("register broker failed")
    order = None
    if context.configuration.namesrv.return_order_topic_config_to_broker:
        order = context.kv_config.config_table.get(NAMESPACE_ORDER_TOPIC_CONFIG)
    ext = {"haServerAddr": result.ha_server_addr, "masterAddr": result.master_addr}
    return Reply(ext_fields=ext, body=None if order is None else bodies.kv_table(order))


def _admit(context: NamesrvContext, asked: registration.BrokerRegistration, peer: Connection, now: Now) -> None:
    """TablesFull if the tables have no room, BeyondBounds if its principal may not have more.

    A broker that is in the tables has given a sign of life even so: it must not leave the routes because others fill
    them, or because it has new topics.
    """
    tables = context.tables
    try:
        if context.principals:
            # A broker stays with the principal for which it counts, while its sender is that one.
            entry = tables.broker_live_table.get(asked.key)
            principals = sorted(context.principals, key=lambda name: entry is None or name != entry.principal)
            asked.principal = _with_room(context, principals, lambda: Growth.of_registration(tables, asked), peer, now)
        admission.check_registration(tables, context.configuration.limits, asked)
    except (TablesFull, BeyondBounds) as error:
        if isinstance(error, TablesFull):
            context.refusals.note(error, peer.address, now.ms, (asked.broker_name, asked.key.addr))
        context.events += tables.refresh(*asked.key, now.ms, peer, asked.broker_name)
        raise


def _with_room(
    context: NamesrvContext, principals: Sequence[str], growth: Callable[[], Growth], peer: Connection, now: Now
) -> str | None:
    """The first principal whose bounds have room for the growth; None without a principal.

    BeyondBounds if none of them may have so much, and the mode is ENFORCE.
    """
    errors: list[BeyondBounds] = []
    for name in principals:
        bounds = context.guard.policy.bounds.get(name)
        error = None if bounds is None else growth().beyond(context.tables, name, bounds)
        if error is None:
            return name
        errors.append(error)
    if not errors:
        return None
    if context.guard.policy.mode_of(Access.BROKER) is Mode.ENFORCE:
        context.beyond_bounds.note(errors[0], peer.address, now.ms)
        raise errors[0]
    context.observed_beyond_bounds.note(errors[0], peer.address, now.ms)
    return principals[0]


def _checked_fingerprint(
    header: RegisterBrokerRequestHeader, command: RemotingCommand, peer: Connection
) -> BodyFingerprint | None:
    """None without a body. RegistrationRefused if the CRC is wrong. A CRC of 0 asks for no check."""
    made = None
    if command.data is not None:
        made = BodyFingerprint.of(command.data, compressed=header.compressed, version=command.version)
    if header.body_crc32 and header.body_crc32 != (made.crc32 if made else 0):
        log.warning("receive registerBroker request,crc32 not match,from %s", peer.address)
        raise RegistrationRefused("crc32 not match")
    return made


def _registration_body(
    context: NamesrvContext, header: RegisterBrokerRequestHeader, command: RemotingCommand, now: Now
) -> RegisterBrokerBody:
    """With names that are short enough."""
    if command.version < 0:
        raise RequestError(f"java.lang.ArrayIndexOutOfBoundsException: no version {command.version}")
    version = min(command.version, VERSION_ORDINALS - 1)
    if version < V3_0_11:
        body = RegisterBrokerBody(decode_topic_config_wrapper(command.body, now.epoch_ms), None)
    else:
        # Of 10,000 topics in a registration hardly one has changed: the others need not be decoded. But all are needed
        # where it deletes topics that it does not name, as the first one of a restored broker does; where permissions
        # are masked, as those of a slave may be; and where the slots do not show the request's changes yet.
        needs_all = (
            context.configuration.namesrv.delete_topic_with_broker_registration
            or header.broker_name in context.tables.unheard
            or header.broker_id != MASTER_ID
            or context.events
        )
        known = None
        if context.registered_topics is not None and header.broker_name is not None and not needs_all:
            known = partial(context.registered_topics, header.broker_name)
        body = decode_register_broker_body(
            command.data, compressed=header.compressed, version=version, now_ms=now.epoch_ms, known=known
        )
    repeated = (header.cluster_name, header.broker_name, header.broker_addr, header.zone_name)
    try:
        check_registration(body, repeated, command.name_bytes_max)
    except BodyDecodeError as error:
        raise refusal(error) from error
    return body


def unregister_broker(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """UNREGISTER_BROKER: queued and answered at once. Only a full queue is an error."""
    header = decode_header(command, BrokerAddressRequestHeader)
    request = UnregisterRequest(
        header.cluster_name, header.broker_addr, header.broker_name, header.broker_id, Cause.UNREGISTER
    )
    if not context.unregister_queue.submit(request):
        log.warning("Couldn't submit the unregister broker request to handler, broker info: %s", header)
        raise RequestError(None)
    return Reply()


def query_data_version(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """QUERY_DATA_VERSION: whether the broker's version differs from the stored one. It also counts as a heartbeat."""
    version = decode_data_version(command.body, now.epoch_ms)
    cluster, addr, name = _broker_address(command)
    entry = context.tables.live(cluster, addr)
    stored = None if entry is None else entry.data_version
    context.events += context.tables.refresh(cluster, addr, now.ms, peer, name)
    changed = stored is None or stored != version
    return Reply(
        ext_fields={"changed": "true" if changed else "false"},
        body=None if stored is None else bodies.data_version(stored),
    )


def broker_heartbeat(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """BROKER_HEARTBEAT: refreshes a known address, never registers an unknown one."""
    cluster, addr, name = _broker_address(command)
    context.events += context.tables.refresh(cluster, addr, now.ms, peer, name)
    return Reply()


def _broker_address(command: RemotingCommand) -> tuple[str, str, str | None]:
    """Cluster, address and name."""
    header = decode_header(command, BrokerAddressRequestHeader)
    if header.cluster_name is None or header.broker_addr is None:
        raise RequestError("java.lang.NullPointerException: clusterName or brokerAddr is null")
    return header.cluster_name, header.broker_addr, header.broker_name


def get_broker_member_group(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_BROKER_MEMBER_GROUP. The cluster is echoed unchecked. The remark has Java's words."""
    header = decode_header(command, BrokerAddressRequestHeader)
    group = None if header.broker_name is None else context.tables.broker_addr_table.get(header.broker_name)
    addrs = {} if group is None else group.broker_addrs
    body = bodies.broker_member_group(header.cluster_name, header.broker_name, addrs)
    return Reply(remark="not set any response code", body=body)


def register_topic(context: NamesrvContext, command: RemotingCommand, peer: Connection, now: Now) -> Reply:
    """REGISTER_TOPIC_IN_NAMESRV."""
    topic, queue_datas = command.name("topic"), decode_queue_datas(command.body, command.name_bytes_max)
    with java_errors():
        check_repeated([topic], len(queue_datas))
    if topic is not None:
        _admit_topic(context, topic, [name for name, _ in queue_datas], peer, now)
    context.events += topics.register_topic(context.tables, topic, queue_datas)
    return Reply()


def _admit_topic(
    context: NamesrvContext, topic: str, broker_names: list[str | None], peer: Connection, now: Now
) -> None:
    tables = context.tables
    _with_room(context, context.principals, lambda: Growth.of_topic(tables, topic, broker_names), peer, now)
    try:
        admission.check_topic(tables, context.configuration.limits, topic, broker_names)
    except TablesFull as error:
        context.refusals.note(error, peer.address, now.ms)
        raise


def check_takeover(
    context: NamesrvContext, header: RegisterBrokerRequestHeader, command: RemotingCommand, peer: Connection, now: Now
) -> None:
    """NoPermission if the registration would take an id away from a live broker, nothing allows it, and the mode is
    ENFORCE.
    """
    name, broker_id, addr = header.broker_name, header.broker_id, header.broker_addr
    if name is None or broker_id is None or not addr or header.cluster_name is None:
        return  # it registers nothing
    guard, group = context.guard, context.tables.broker_addr_table.get(name)
    incumbent = None if group is None else group.broker_addrs.get(broker_id)
    if incumbent is None or incumbent == addr or guard.policy.takeover is Mode.OFF:
        return
    if not is_live(context.tables, name, broker_id, incumbent, now.ms):
        return
    excuse = excuse_of(context.tables, name, addr, guard.host_of(peer), guard.principals_of(peer, command))
    if excuse is None:
        context.heed(guard.refuse_takeover(peer, command, incumbent, context.principals, now.ms))
    else:
        log.info("broker %s takes the id %d of the group %s over from %s, which counts as live: allowed (%s)",
                 addr, broker_id, name, incumbent, excuse)  # fmt: skip


def check_mapped_brokers(
    context: NamesrvContext, body: RegisterBrokerBody, broker_name: str | None, command: RemotingCommand,
    peer: Connection, now: Now,
) -> None:  # fmt: skip
    """NoPermission if the mappings name a broker that the sender may not register. Brokers name themselves only."""
    wrapper = body.topic_config_wrapper
    mappings = None if wrapper is None else wrapper.topic_queue_mapping_info_map
    if not mappings or context.guard.policy.is_off:
        return
    names = {info.bname or "" for info in mappings.values()} - {broker_name}
    if names:
        asked = AccessRequest(command.code, Access.BROKER, lambda: [*names])
        context.heed(context.guard.ask_for(peer, command, asked, now.ms))
