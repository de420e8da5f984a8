"""Parts of rocketns in one process: the cost of a frame, from its bytes to the bytes of its answer.

Each test checks the result of its part, so that a broken part cannot look fast.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.loading.brokers import Shape
from benchmarks.loading.registrations import registration, topic
from benchmarks.plan import BROKERS, MANY_TOPICS, TOPICS, WIDTH
from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, register_body, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns._fast.codec import wire
from rocketns.config import Configuration
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.processor import dispatch
from rocketns.processor.context import NamesrvContext, Now, UnregisterQueue
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import Reply, decode
from rocketns.protocol.encoding import encode_reply
from rocketns.protocol.frame import next_frame

SHAPE = Shape(BROKERS, TOPICS, WIDTH)
FRAME_MAX = 16 << 20
NOW = Now(ms=1_000, epoch_ms=1_700_000_000_000)


class Peer:
    """A connection; compared by identity."""

    address = "127.0.0.1:1"
    is_announced = False


PEER = Peer()
FIELDS = {"acceptStandardJsonOnly": "true", "topic": topic(7)}
LOOKUPS = {
    "json": frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, FIELDS)),
    "rocketmq": frame(binary_header(codes.GET_ROUTEINFO_BY_TOPIC, FIELDS), b"", ROCKETMQ),
}
MANY = [topic_config(topic(number)) for number in range(MANY_TOPICS)]


@pytest.fixture
def context(tmp_path: Path) -> NamesrvContext:
    """A name server's state without sockets."""
    configuration = Configuration.build(home=tmp_path)
    return NamesrvContext(configuration, KVConfigManager(tmp_path / "kv.json"), UnregisterQueue(10), started_ms=0)


def answered(context: NamesrvContext, request: bytes) -> Reply:
    reply = dispatch.process(context, decode(request), PEER, NOW)
    context.take_events()
    assert reply.code == 0, reply.remark
    return reply


@pytest.fixture
def brokers(context: NamesrvContext) -> NamesrvContext:
    """The context with the same brokers as the route lookups over sockets."""
    for number in range(BROKERS):
        answered(context, SHAPE.frame(number))
    return context


def test_the_answer_of_the_simple_c_server_is_a_real_one(brokers: NamesrvContext) -> None:
    reply = answered(brokers, frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, FIELDS | {"topic": topic(0)})))
    assert reply.body == SHAPE.body()


@pytest.mark.parametrize("find", [next_frame, wire.next_frame], ids=["Python", "compiled"])
def test_find_a_frame(benchmark: BenchmarkFixture, find: object) -> None:
    lookup = LOOKUPS["json"]
    assert benchmark(find, lookup, 0, FRAME_MAX) == len(lookup)


@pytest.mark.parametrize("encoding", LOOKUPS)
def test_decode_a_route_lookup(benchmark: BenchmarkFixture, encoding: str) -> None:
    command = benchmark(decode, LOOKUPS[encoding])
    assert (command.code, command.ext("topic")) == (codes.GET_ROUTEINFO_BY_TOPIC, topic(7))


@pytest.mark.parametrize("version", [513, 400], ids=["standard JSON", "default JSON"])
def test_process_a_route_lookup(benchmark: BenchmarkFixture, brokers: NamesrvContext, version: int) -> None:
    command = decode(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic(7)}, version=version)))
    reply = benchmark(dispatch.process, brokers, command, PEER, NOW)
    assert reply.body.count(b'"brokerAddrs"') == WIDTH


def test_encode_an_answer(benchmark: BenchmarkFixture) -> None:
    data = benchmark(encode_reply, Reply(body=b"x" * 900), 123456789, SerializeType.JSON)
    assert data.endswith(b"x" * 900)


@pytest.mark.parametrize("compressed", [False, True], ids=["JSON", "compressed"])
def test_decode_a_registration_of_10000_topics(benchmark: BenchmarkFixture, compressed: bool) -> None:
    data = compressed_body(MANY) if compressed else register_body(MANY)
    body = benchmark(decode_register_broker_body, data, compressed=compressed, version=513, now_ms=0)
    assert len(body.topic_config_wrapper.topic_config_table) == MANY_TOPICS


def test_process_a_registration_of_10000_topics_unchanged(benchmark: BenchmarkFixture, context: NamesrvContext) -> None:
    request = registration("broker-many", "10.0.1.1", register_body(MANY))
    benchmark(answered, context, request)
    assert len(context.tables.topic_queue_table) == MANY_TOPICS


def test_process_a_registration_of_10000_topics_changed(benchmark: BenchmarkFixture, context: NamesrvContext) -> None:
    bodies = (register_body(MANY, data_version(counter)) for counter in itertools.count(1))
    requests = [registration("broker-many", "10.0.1.1", body) for body in itertools.islice(bodies, 4)]
    # Versions alternate, so that each differs from the one before.
    turns = itertools.cycle(requests)
    benchmark(lambda: answered(context, next(turns)))
    assert len(context.tables.topic_queue_table) == MANY_TOPICS
