"""The digests of the routes, from the route slots, which keep them with every change."""

from __future__ import annotations

from rocketns._fast.routes.digests import bucket_digests, topic_count, topic_digest, topics_of_bucket
from rocketns._fast.routes.routes import RouteSlots


class SlotDigests:
    """The `processor.context.RouteDigests`. Control only."""

    def __init__(self, slots: RouteSlots) -> None:
        self._slots = slots

    def buckets(self) -> bytes:
        return bucket_digests(self._slots)

    def topics(self, bucket: int) -> dict[str, int]:
        return topics_of_bucket(self._slots, bucket)

    def topic(self, topic: str) -> int | None:
        """The digest of a topic; None if no broker has queues of it."""
        return topic_digest(self._slots, topic)

    def __len__(self) -> int:
        return topic_count(self._slots)
