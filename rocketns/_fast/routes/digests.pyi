"""What Python callers see of digests.pyx. Control only: the slots must not change meanwhile."""

from rocketns._fast.routes.routes import RouteSlots

def bucket_digests(slots: RouteSlots) -> bytes:
    """The digest of each of the 256 buckets, 8 bytes each, the lowest first."""

def topics_of_bucket(slots: RouteSlots, bucket: int) -> dict[str, int]:
    """The digests of the topics of one bucket. It walks through all topics: about 20 ns for each."""

def topic_digest(slots: RouteSlots, topic: str) -> int | None:
    """The digest of a topic; None if no broker has queues of it."""

def topic_count(slots: RouteSlots) -> int:
    """How many topics there are."""
