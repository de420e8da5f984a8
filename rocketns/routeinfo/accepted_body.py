"""What a live broker keeps of the body of its last registration."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import DataVersion


@dataclass(slots=True, frozen=True)
class AcceptedBody:
    """The little that is kept of a body of megabytes. ``removals``: the tables' count after the registration."""

    fingerprint: Hashable
    broker_name: str
    data_version: DataVersion
    clears_filter_servers: bool
    topics_applied: bool
    removals: int

    def without_topics(self) -> RegisterBrokerBody:
        filter_servers: list[str | None] | None = [] if self.clears_filter_servers else None
        return RegisterBrokerBody(TopicConfigWrapper(self.data_version), filter_servers)
