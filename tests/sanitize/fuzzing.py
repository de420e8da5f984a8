"""Mutated frames on two threads while a third changes the slots, then mutated registrations; some are compared."""

from __future__ import annotations

import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import registration
from rocketns._fast.codec.registration import parse_json
from rocketns._fast.routes.routes import PublishedTopics
from rocketns.protocol.body.route import queue_data
from rocketns.protocol.codes import SerializeType
from tests.compiled.parts import answer
from tests.fast.lookups import CLIENTS, CLOSES, TOPICS, PublishedWorld, look_up, populated
from tests.fast.test_register_body import BLOCKS, FORMS, check, check_blocks
from tests.sanitize.fuzz import Corpus, Frames, bodies

READERS = 2
AT_ONCE = 50_000
BODIES_FOR_FRAMES = 20  # frames for each mutated body
COUNTED = ("whole", "recognised", "recognised by likeness", "answered", "handed over")


def corpus() -> list[bytes]:
    """Lookups of every client, and other requests."""
    topics = [*TOPICS, "static", "filtered", "T" * 1024]
    frames = [look_up(client, topic, opaque) for client in CLIENTS for topic in topics for opaque in (7, -1)]
    body = register_body([topic_config("T1")])
    others = [
        frame(json_header(103, register_ext(body=body)), body),
        frame(binary_header(103, register_ext(body=body)), body, ROCKETMQ),
        frame(json_header(105, {"topic": "T1", "__ZONE_MODE": "true", "__ZONE_NAME": "z1"})),
        frame(json_header(105, {"topic": "T1", "acceptStandardJsonOnly": "false"}, version=400)),
        frame(json_header(106)),
    ]
    return frames + others * 4


def churn(world: PublishedWorld, seed: int, ended: threading.Event) -> int:
    """Change the slots until the end; returns how often."""
    chance, count = random.Random(seed), 0
    while not ended.is_set():
        count += 1
        name, topics = f"c{chance.randrange(20)}", chance.sample(["T1", "T2", "T3", *map(str, range(200))], 30)
        ext = {"broker": name, "addr": f"10.1.0.{chance.randrange(20)}:1"}
        if chance.randrange(3):
            body = register_body([topic_config(t, chance.randrange(9)) for t in topics], data_version(count))
            world.ask(103, register_ext(body=body, **ext), body)
        elif chance.randrange(2):
            who = {"clusterName": "C1", "brokerName": name, "brokerAddr": ext["addr"], "brokerId": "0"}
            world.ask(104, who)
        else:
            world.ask(216, {"topic": chance.choice(topics)})
        world.publish()
    return count


def run_frames(world: PublishedWorld, frames: int, ends: float, seed: int) -> tuple[int, list[Frames], int]:
    """The number of frames, their readers, and how often the slots changed meanwhile."""
    readers = [Frames(world.slots, Corpus(corpus()), seed + number) for number in range(READERS)]
    done = Counter[int]()

    def read(number: int) -> None:
        """AT_ONCE at the least, however late a busy machine lets it begin."""
        while not done[number] or (done[number] < frames // READERS and time.monotonic() < ends):
            readers[number].run(AT_ONCE)
            done[number] += AT_ONCE

    ended, changes = threading.Event(), list[int]()
    writer = threading.Thread(target=lambda: changes.append(churn(world, seed, ended)))
    threads = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    for thread in [writer, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    writer.join()
    return done.total(), readers, changes[0]


def compare(world: PublishedWorld, samples: list[bytes]) -> int:
    """The number of recognised frames that have the reference's answer. The slots do not change meanwhile."""
    for sample, kind in itertools.product(samples, SerializeType):
        expected = world.reference(sample, kind)
        assert expected != CLOSES, sample
        assert answer(world.slots, sample, kind) in (None, expected), sample
    return len(samples)


def run_bodies(world: PublishedWorld, count: int, seconds: float, seed: int) -> None:
    """Plain and compressed bodies, with and without slots, each for its part of the time."""
    plain = partial(parse_json, queue_data=queue_data)

    def blocks(body: bytes, registered: PublishedTopics | None = None) -> object:
        with suppress(ValueError):
            return registration.read_blocks(body, True, queue_data, registered)
        return None

    def published() -> PublishedTopics:
        return PublishedTopics(world.slots, "ba")

    for name, texts, parse, same in (
        ("plain", FORMS, plain, check),
        ("plain, with slots", FORMS, lambda body: plain(body, registered=published()), check),
        ("compressed", BLOCKS, blocks, check_blocks),
        ("compressed, with slots", BLOCKS, lambda body: blocks(body, registered=published()), check_blocks),
    ):
        done = taken = compared = 0
        ends = time.monotonic() + seconds / 4
        for number in itertools.count():
            if done >= count // 4 or time.monotonic() > ends:
                break
            took, samples = bodies(Corpus(texts), seed + number, 5_000, parse, 200)
            compared += sum(same(sample) for sample in samples)
            done, taken = done + 5_000, taken + took
        print(f"fuzz: {done} {name} registration bodies: {taken} taken, {compared} compared with the twin")


def fuzz(frames: int, seconds: int, bodies_s: int, seed: int) -> int:
    """Run this many frames, or as many as the time allows. 0, or an error if an answer is not the reference's."""
    print(f"fuzz: seed {seed}")
    with tempfile.TemporaryDirectory() as home:
        world = populated(Path(home))
        done, readers, changes = run_frames(world, frames, time.monotonic() + seconds, seed)
        counts = [sum(numbers) for numbers in zip(*(reader.counts() for reader in readers), strict=True)]
        told = ", ".join(f"{count} {name}" for name, count in zip(COUNTED, counts, strict=True))
        print(f"fuzz: {done} frames on {READERS} threads while the slots changed {changes} times: {told}")
        compared = compare(world, [sample for reader in readers for sample in reader.samples_taken()])
        print(f"fuzz: {compared} recognised frames compared with the reference")
        assert compared, "nothing was recognised"
        assert all(counts), "the fuzzer does not reach what it is for"
        if bodies_s:
            run_bodies(world, frames // BODIES_FOR_FRAMES, bodies_s, seed)
    return 0
