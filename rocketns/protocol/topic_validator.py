"""Topics that brokers have by themselves, and names that topics can have (TopicValidator)."""

from __future__ import annotations

import re

# The topic of brokers with autoCreateTopicEnable. A client that may not find its own topic takes the route of this one.
CREATION_TOPIC = "TBW102"  # AUTO_CREATE_TOPIC_KEY_TOPIC
# Every broker has this topic, and it is always writable.
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"  # RMQ_SYS_SELF_TEST_TOPIC
_NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")


def is_valid(topic: str) -> bool:
    """Whether a broker can have a topic of this name (validateTopic)."""
    return _NAME.fullmatch(topic) is not None
