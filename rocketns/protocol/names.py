"""Names: how long one may be, and which names a topic can have (TopicValidator).

There is one bound for any text from the network that the tables keep, or compare with what they keep:
``rocketns.nameBytesMax``. KV values are not names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocketns.errors import BodyDecodeError, NameTooLong
from rocketns.protocol.bounds import REPEATED_BYTES_MAX
from rocketns.protocol.json import fastjson

CHARACTER_BYTES_MAX = 4  # in UTF-8
ESCAPE_BYTES = len("\\u0000")
# The topic of brokers with autoCreateTopicEnable. A client that may not find its own topic takes the route of this one.
CREATION_TOPIC = "TBW102"  # AUTO_CREATE_TOPIC_KEY_TOPIC
# Every broker has this topic, and it is always writable.
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"  # RMQ_SYS_SELF_TEST_TOPIC
_NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")


def utf8_bytes(text: str | None) -> int:
    """The bytes of a text as UTF-8; 0 for None."""
    if text is None:
        return 0
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def is_too_long(text: str, most: int) -> bool:
    """Whether a text has more than ``most`` bytes."""
    return len(text) * CHARACTER_BYTES_MAX > most and utf8_bytes(text) > most


def check_name(text: str | None, most: int, what: str) -> None:
    """NameTooLong for more than ``most`` bytes. ``what`` is the subject of its remark."""
    if text is not None and is_too_long(text, most):
        raise NameTooLong(what, utf8_bytes(text), most)


def check_repeated(names: Iterable[str | None], times: int) -> None:
    """BodyDecodeError where one request would repeat its names too often: a short body may repeat a long name."""
    present = [name for name in names if name is not None]
    if (sum(map(len, present)) + len(present)) * ESCAPE_BYTES * times <= REPEATED_BYTES_MAX:
        return
    size = sum(len(fastjson.dumps(name)) for name in present)
    if size * times > REPEATED_BYTES_MAX:
        raise BodyDecodeError(f"{size} bytes of names, {times} times, are more than {REPEATED_BYTES_MAX} bytes")


def is_valid(topic: str) -> bool:
    """Whether a broker can have a topic of this name (validateTopic)."""
    return _NAME.fullmatch(topic) is not None
