"""What Python callers see of routes.pyx."""

from collections.abc import Callable, Sequence

from rocketns._fast.access.networks import Networks
from rocketns._fast.codec.registration import RegisteredTopics

Queues = tuple[int, int, int, int]

class RouteSlots:
    """The routes of all topics, as reactors read them. Control only: one thread calls all methods.

    ``queue_element`` gives the JSON of one element of queueDatas: broker name and queues (readQueueNums,
    writeQueueNums, perm and topicSysFlag, 32 bits each; equal ones must have equal hashes).
    """

    def __init__(self, queue_element: Callable[[str, Queues], bytes]) -> None: ...
    @property
    def memory_bytes(self) -> int:
        """Memory of slots, brokers, fragments and their elements. Any thread."""

    def put_broker(self, broker_name: str, elements: tuple[tuple[bytes, bytes] | None, ...]) -> None:
        """The broker group as an element of brokerDatas in both dialects: with the announced addresses, then for each
        view, None where it is the same. ValueError for another number of views.

        Without elements, routes with this broker cannot be composed.
        """

    def use_views(self, networks: Networks, of_listeners: list[int], views: int) -> None:
        """Use so many views, at most 16, from now on. No route can be composed until its brokers are put again.

        ``networks``: the longest prefix first, the flags are the number of a view, from 1. ``of_listeners``: the number
        of the view of each listening socket, 0 for none. ValueError for other numbers.
        """

    def view_bytes(self) -> list[int]:
        """The memory that each view takes."""

    def remove_broker(self, broker_name: str) -> None:
        """The broker has no group any more; its queues stay until their topics are deleted."""

    def put_topics(self, broker_name: str, changes: Sequence[tuple[str, Queues | None, Queues]]) -> None:
        """Topics, their queues on the broker before (which are not looked at), and those now."""

    def delete_topics(self, broker_name: str, topics: Sequence[str]) -> None:
        """The broker has no queues of these topics any more."""

    def hand_over(self, topic: str) -> None:
        """From now on the topic's route cannot be composed, also if the topic goes and comes again."""

def bucket_digests(slots: RouteSlots) -> bytes:
    """The digest of each of the 256 buckets, 8 bytes each, the lowest first."""

def topics_of_bucket(slots: RouteSlots, bucket: int) -> dict[str, int]:
    """The digests of the topics of one bucket. It walks through all topics: about 20 ns for each."""

def topic_digest(slots: RouteSlots, topic: str) -> int | None:
    """The digest of a topic; None if no broker has queues of it."""

def topic_count(slots: RouteSlots) -> int:
    """How many topics there are."""

class PublishedTopics(RegisteredTopics):
    """A topic is known if it has a slot, and unchanged if the slot holds the same queues for this broker.

    Only the thread that writes the slots may use it, and the slots must not change meanwhile.
    """

    def __init__(self, slots: RouteSlots, broker_name: str) -> None: ...
