"""Topics that a broker has before it boots, and how many messages each of its topics holds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from interop.harness.payloads import data_version, dumps, topic_config
from interop.harness.wire import Client

UPDATE_CONSUMER_OFFSET = 15
UPDATE_AND_CREATE_TOPIC = 17
GET_MAX_OFFSET = 30
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
QUEUES = 4


def write_topics(store: Path, names: Iterable[str]) -> None:
    """``config/topics.json`` of a store folder, as a broker that was stopped leaves it."""
    table = {name: topic_config(name, QUEUES, QUEUES) for name in names}
    folder = store / "config"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"dataVersion": data_version(), "topicConfigTable": table})
    (folder / "topics.json").write_text(text, "utf-8")


def create_topic(broker_port: int, name: str, read: int = QUEUES, write: int = QUEUES) -> None:
    """Create a topic as mqadmin updateTopic does; the broker registers it with its name servers before it answers."""
    fields = {
        "topic": name, "defaultTopic": "TBW102", "readQueueNums": str(read), "writeQueueNums": str(write),
        "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    with Client(broker_port) as client:
        assert client.request(UPDATE_AND_CREATE_TOPIC, fields).code == 0


def stored(broker_port: int, topic: str) -> int:
    """How many messages of the topic the broker has stored since it was new."""
    with Client(broker_port) as client:
        answers = [client.request(GET_MAX_OFFSET, {"topic": topic, "queueId": str(q)}) for q in range(QUEUES)]
    assert all(answer.code == 0 for answer in answers), answers
    return sum(int((answer.ext or {})["offset"]) for answer in answers)


def create_group(broker_port: int, group: str, topic: str) -> None:
    """Create a consumer group with offset 0 in every queue of a topic. A group that pops would else begin wherever
    the queue ends when it happens to pop there for the first time."""
    with Client(broker_port) as client:
        answers = [client.request(UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=dumps({"groupName": group}))]
        for queue in range(QUEUES):
            ext = {"consumerGroup": group, "topic": topic, "queueId": str(queue), "commitOffset": "0"}
            answers.append(client.request(UPDATE_CONSUMER_OFFSET, ext))
    assert all(answer.code == 0 for answer in answers), answers
