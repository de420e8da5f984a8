"""A name server's tables under random requests, its journal of them, and its answer for each topic at each time."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo import topics as topic_requests
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.view import pick_up_route
from tests.journal.memory import BOOT_MS, memory_journal, run_work
from tests.pipeline.journals import Record
from tests.routeinfo.manager import Broker, Manager, table_of

TOPICS = ("T", "U", "rmq_sys_SYNC_BROKER_MEMBER_ba")
SNAPSHOT_EVERY = 25  # steps

# known, queues (broker, r, w, p, s), groups (broker, cluster, ((id, address) …)): ROUTES without the switch
Answer = tuple[bool, list[tuple[Any, ...]], list[tuple[Any, ...]]]


class Served(NamedTuple):
    """The records, and after each step: its time in us and the answer for each topic."""

    records: list[Record]
    answers: list[tuple[int, dict[str, Answer]]]


def served(seed: int, steps: int) -> Served:
    chance, manager = random.Random(seed), Manager()
    journal, writer = memory_journal(manager.tables)
    epoch_ms = BOOT_MS
    answers = []
    for number in range(steps):
        ms = chance.choice((1, 50, 20_000))
        manager.now_ms += ms
        epoch_ms += ms
        _step(chance, manager)
        journal.record(list(manager.events), manager.now_ms, epoch_ms)
        manager.events.clear()
        if number % SNAPSHOT_EVERY == 0:
            epoch_ms += 3_600_000
            journal.tick(epoch_ms)
            run_work(journal)
        answers.append((epoch_ms * 1000, {topic: _answer(manager, topic) for topic in TOPICS}))
    journal.buffer.flush(epoch_ms)
    return Served(writer.take(), answers)


def _step(chance: random.Random, manager: Manager) -> None:
    name, number = chance.choice(("ba", "bb")), chance.choice((0, 1, 2))
    broker = Broker(
        "C", name, f"{name}:{chance.choice((number, 9))}", number, acting=chance.choice((True, True, False))
    )
    draw = chance.random()
    if draw < 0.5:
        sizes = [queue_data(chance.choice((4, 8)), 4, chance.choice((4, 6)), chance.choice((0, 1))) for _ in TOPICS]
        wanted = {topic: size for topic, size in zip(TOPICS, sizes, strict=True) if chance.random() < 0.8}
        is_refused = chance.random() < 0.2  # unless the id is registered; the switches of the group change
        manager.register(broker.next_version(), table_of("base", **({} if is_refused else wanted)))
    elif draw < 0.65:
        manager.unregister(broker)
    elif draw < 0.75:
        manager.note(manager.tables.refresh("C", broker.addr, manager.now_ms))
    elif draw < 0.8:
        manager.unregister(broker.leaving(Cause.CHANNEL_CLOSE))
    elif draw < 0.85:
        manager.now_ms += 121_000
        manager.scan()
    elif draw < 0.9:
        manager.note(topic_requests.delete_topic(manager.tables, chance.choice(TOPICS), None))
    else:
        change = chance.choice((topic_requests.wipe_write_perm, topic_requests.add_write_perm))
        manager.note(change(manager.tables, name)[1])


def _answer(manager: Manager, topic: str) -> Answer:
    route = pick_up_route(manager.tables, manager.config, topic)
    if route is None:
        return True, [], []
    queues = [
        (name, data.read_queue_nums, data.write_queue_nums, data.perm, data.topic_sys_flag)
        for name, data in route.queue_datas
    ]
    groups = [(g.broker_name, g.cluster, sorted(g.broker_addrs.items())) for g in route.broker_datas]
    return True, queues, groups
