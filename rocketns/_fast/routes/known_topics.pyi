"""What Python callers see of known_topics.pyx."""

from rocketns._fast.codec.register_body import KnownTopics
from rocketns._fast.routes.routes import RouteSlots

class PublishedTopics(KnownTopics):
    """A topic is known if it has a slot, and unchanged if the slot holds the same queues for this broker.

    Only the thread that writes the slots may use it, and the slots must not change meanwhile.
    """

    def __init__(self, slots: RouteSlots, broker_name: str) -> None: ...
