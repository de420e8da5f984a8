"""KV configuration and the name server's own: codes 100-102, 219, 318 and 319 (DefaultRequestProcessor)."""

from __future__ import annotations

import logging
from functools import partial

from rocketns.config.properties import is_secret, shown
from rocketns.errors import QueryNotFound, RequestError
from rocketns.kvconfig.file import ITEM_BYTES, KvChange
from rocketns.processor.context import NamesrvContext, Now
from rocketns.processor.trail import without_secrets
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import order_conf_mistake
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.headers import KVConfigRequestHeader, decode_header
from rocketns.protocol.names import utf8_bytes
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import ConfigChanged, KvChanged

log = logging.getLogger("rocketns.settings")


class KeyNotFound(QueryNotFound):
    """Java makes its response header before this error, so the answer carries ``"extFields":{}``."""

    header_made = True


def put_kv_config(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """PUT_KV_CONFIG."""
    header = decode_header(command, KVConfigRequestHeader)
    if header.namespace is None or header.key is None:
        raise RequestError("namespace or key is null")
    if header.namespace == NAMESPACE_ORDER_TOPIC_CONFIG and context.configuration.compatible.check_order_conf:
        _check_order_conf(header.key, header.value)
    context.writer.check_room()
    before = context.kv_config.get(header.namespace, header.key)
    change = context.kv_config.put(header.namespace, header.key, header.value)
    if header.value != before:
        context.events += [KvChanged(header.namespace, header.key, header.value)]
        _note_kv_change(context, header.key, before, header.value)
    return _kv_written(context, change)


def _check_order_conf(topic: str, text: str | None) -> None:
    """RequestError for one that clients cannot read."""
    mistake = None if text is None else order_conf_mistake(text)
    if mistake is not None:
        raise RequestError(f"rocketns.checkOrderConf: clients cannot read {mistake} in the order configuration of the "
                           f"topic {topic}: it must be broker:queues;broker:queues")  # fmt: skip


def get_kv_config(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_KV_CONFIG."""
    header = decode_header(command, KVConfigRequestHeader)
    value = context.kv_config.get(header.namespace, header.key)
    if value is None:
        raise KeyNotFound(f"No config item, Namespace: {_shown(header.namespace)} Key: {_shown(header.key)}")
    return Reply(ext_fields={"value": value})


def delete_kv_config(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """DELETE_KV_CONFIG: a success even if nothing is deleted."""
    header = decode_header(command, KVConfigRequestHeader)
    context.writer.check_room()
    before = context.kv_config.get(header.namespace, header.key)
    change = context.kv_config.delete(header.namespace, header.key)
    if before is not None and header.namespace is not None and header.key is not None:
        context.events += [KvChanged(header.namespace, header.key, None)]
        _note_kv_change(context, header.key, before, None)
    return _kv_written(context, change)


def _note_kv_change(context: NamesrvContext, key: str, before: str | None, after: str | None) -> None:
    if not is_secret(key):
        context.trail.note_change(before, after)


def _kv_written(context: NamesrvContext, change: KvChange | None) -> Reply:
    """A success, sent when the change is on disk. The change takes effect at once."""
    size = 0 if change is None else sum(utf8_bytes(text) for text in change)
    return Reply(after=partial(context.writer.submit, context.kv_config.file, change, size + ITEM_BYTES))


def get_kv_list_by_namespace(context: NamesrvContext, command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_KVLIST_BY_NAMESPACE."""
    header = decode_header(command, KVConfigRequestHeader)
    table = context.kv_config.namespace(header.namespace)
    if table is None:
        raise QueryNotFound(f"No config item, Namespace: {_shown(header.namespace)}")
    return Reply(body=bodies.kv_table(table))


def _shown(text: str | None) -> str:
    return "null" if text is None else text


def update_namesrv_config(context: NamesrvContext, command: RemotingCommand, peer: Connection, _now: Now) -> Reply:
    """UPDATE_NAMESRV_CONFIG: applied, and written to the file even if nothing changed. Without a body nothing happens.

    The answer waits for the file, as in `put_kv_config`.
    """
    log.info("updateConfig called by %s", peer.address)
    if command.body is None:
        return Reply()
    context.writer.check_room()
    before = context.configuration.items()
    changed = context.configuration.update(command.body)
    for key, value in changed.items():
        log.info("Replace, key: %s, value: %s", key, shown(key, value))
        context.events += [ConfigChanged(key, value)]
    context.trail.note_change(*(without_secrets({key: one.get(key) for key in changed}) for one in (before, changed)))
    if withheld := context.configuration.withheld():
        log.warning("not written to the file, where only the operator may set it: %s", ", ".join(withheld))
    content = context.configuration.file_content()
    return Reply(after=partial(context.writer.submit, context.config_file, content, len(content)))


def get_namesrv_config(context: NamesrvContext, _command: RemotingCommand, _peer: Connection, _now: Now) -> Reply:
    """GET_NAMESRV_CONFIG."""
    return Reply(body=context.configuration.text().encode("utf-8", "replace"))
