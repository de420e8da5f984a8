"""Routes and properties as JSON, for programs."""

from __future__ import annotations

from typing import Any

from rocketns.fleet.group_view import group_view
from rocketns.protocol.body.route import QueueData, TopicRouteData


def route_value(route: TopicRouteData) -> dict[str, Any]:
    """All that a route says, with sorted names."""
    groups = sorted(route.broker_datas, key=lambda group: group.broker_name)
    mappings = route.topic_queue_mapping_by_broker or {}
    return {
        "brokers": {group.broker_name: group_view(group).as_json() for group in groups},
        "queues": {name: _numbers(queues) for name, queues in sorted(route.queue_datas)},
        "staticQueues": {str(name): {str(one): place for one, place in (info.curr_id_map or {}).items()}
                         for name, info in mappings.items()},
        "filterServers": {addr: servers for addr, servers in sorted(route.filter_server_table.items()) if servers},
        "orderConfiguration": route.order_topic_conf,
    }  # fmt: skip


def _numbers(queues: QueueData) -> dict[str, int]:
    read, write, perm, sys_flag = queues
    return {"perm": perm, "readQueueNums": read, "topicSysFlag": sys_flag, "writeQueueNums": write}
