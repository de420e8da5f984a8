"""The order configuration of a topic, which routes carry to clients: ``broker:queues;broker:queues``."""

from __future__ import annotations

from rocketns.javatext import parse_int

# A client makes an object for each queue of the number.
ORDER_QUEUES_MAX = 65_536
SHOWN_CHARACTERS_MAX = 100


def order_conf_mistake(text: str) -> str | None:
    """The first part that clients cannot read, in quotes and cut; None where they can read all of it.

    As MQClientInstance.topicRouteData2TopicPublishInfo splits it. There one wrong part fails every lookup of the topic.
    """
    for part in text.rstrip(";").split(";") if text.strip(";") else ():
        words = part.rstrip(":").split(":")  # String.split leaves out the empty texts at the end
        queues = parse_int(words[1]) if len(words) > 1 else None
        if queues is None or not 0 <= queues <= ORDER_QUEUES_MAX:
            return repr(part[:SHOWN_CHARACTERS_MAX])
    return None
