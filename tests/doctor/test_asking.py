"""What brokers are asked, what their groups lack, and what a hostile peer costs."""

from __future__ import annotations

import asyncio
import itertools
import json
import struct
from collections import Counter
from typing import Any

import pytest

from interop.harness.wire import frame, json_header
from rocketns.doctor.asking import bodies
from rocketns.doctor.asking import brokers as asking
from rocketns.doctor.asking.brokers import BROKER_WITHIN_S, BROKERS_MAX
from rocketns.doctor.facts import BrokerClock, Reaction
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.errors import BodyDecodeError
from rocketns.protocol.command import RemotingCommand, decode
from tests.client.peers import Serve
from tests.doctor.counting import (
    NO_PERMISSION,
    TIMEOUT_S,
    V4_9_7,
    FakeBroker,
    FakeNameServer,
    Reply,
    as_json,
    connected,
    examine,
    group,
    listening,
    report_on,
    topic,
)

NEVER = {"autoCreateSubscriptionGroup": "false"}


def broker(name: str = "broker-a", **more: Any) -> FakeBroker:
    """A broker where the group `readers` is well; ``more`` replaces that."""
    fields: dict[str, Any] = {
        "topics": {"Orders": topic("Orders"), "%RETRY%readers": topic("%RETRY%readers", queues=1)},
        "groups": {"readers": group("readers")}, "consumers": {"readers": connected("Orders", "%RETRY%readers")},
        "offsets": {"readers": [("Orders", 4, 4)]},
    }  # fmt: skip
    return FakeBroker(name=name, **(fields | more))


async def found(*brokers: FakeBroker, group: str = "readers", topics: tuple[str, ...] = ("Orders",)) -> list[Diagnosis]:
    """What is wrong with the group."""
    report, _ = await report_on(*brokers, topics=topics, groups=(group,))
    return [one for one in report.of(Health.ILL) if one.check == "group"]


@pytest.mark.parametrize("topics", [("Orders",), ()])
async def test_group_that_consumes_is_well(topics: tuple[str, ...]) -> None:
    assert not await found(broker(), broker("broker-b"), topics=topics)


async def test_slaves_have_no_consumers_while_their_master_is_there() -> None:
    assert not await found(broker(), broker(broker_id=1, consumers={}))


async def test_group_that_some_brokers_lack_exists() -> None:
    """Consumers that are gone were connected to one of them."""
    (finding,) = await found(broker(consumers={}), broker("broker-b", groups={}, consumers={}))
    assert "No consumer of the group readers is connected" in finding.sentence


async def test_consumption_that_is_switched_off_is_switched_on_and_all_else_is_kept() -> None:
    (finding,) = await found(broker(groups={"readers": group("readers", consumeEnable=False, retryMaxTimes=3)}))
    assert finding.weight is Weight.PRECISELY
    assert "-s true -m true -d true -q 1 -r 3 -i 0 -w 1 -a true -o false" in finding.commands[0]


async def test_consumers_that_subscribe_another_topic() -> None:
    (finding,) = await found(broker(consumers={"readers": connected("Order", "%RETRY%readers")}))
    assert "they subscribe Order (" in finding.evidence[0]


@pytest.mark.usefixtures("at_once")
async def test_group_whose_offsets_do_not_move_is_stuck() -> None:
    (finding,) = await found(broker(offsets={"readers": [("Orders", 10, 4), ("Orders", 3, 3)]}))
    assert "6 messages wait" in finding.sentence


async def test_offsets_of_a_group_that_broadcasts_are_not_looked_at() -> None:
    """Its consumers keep them."""
    one = broker(offsets={"readers": [("Orders", 10, 0)]},
                 consumers={"readers": connected("Orders", model="BROADCASTING")})  # fmt: skip
    assert not await found(one)
    assert one.received[208] == 1


async def test_brokers_that_refuse_to_say_leave_the_group_unknown() -> None:
    class Closed(FakeBroker):
        def answer(self, request: Any) -> Reply:
            return (NO_PERMISSION, b"") if request.code in (201, 203, 208, 352) else super().answer(request)

    report, _ = await report_on(Closed(topics={"Orders": topic("Orders")}), topics=("Orders",), groups=("readers",))
    (finding,) = [one for one in report.of(Health.UNKNOWN) if one.check == "group"]
    assert "code 16" in finding.evidence[0]
    assert "ROCKETNS_SECRET_KEY" in finding.commands[0]


# Codes that read, in RocketMQ's broker and name server. Everything else may change something, or costs.
DIGESTS = 0x524E  # tells rocketns from Java, which does not know it
READS_OF_NAME_SERVERS = {105, 106, 206, 219, 319, DIGESTS}
READS_OF_BROKERS = {21, 26, 28, 201, 203, 208, 351}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets are looked at again without waiting."""

    async def no_sleep(_seconds: float) -> None:
        pass

    monkeypatch.setattr(asking, "sleep", no_sleep)


def full_broker(name: str = "broker-a", **more: Any) -> FakeBroker:
    """A broker with all that may be asked for."""
    return broker(name, offsets={"readers": [("Orders", 10, 4)]}, **more)


@pytest.mark.usefixtures("at_once")
async def test_whole_run_stays_within_its_stated_numbers() -> None:
    asked, wanted = full_broker(), {"topics": ("Orders", "Missing"), "groups": ("readers", "strangers")}
    report, name_server = await report_on(asked, **wanted, client_version=513)
    assert name_server.received == {106: 1, 206: 1, 219: 1, 319: 1, 105: 4, DIGESTS: 1}
    assert asked.received == {28: 1, 26: 1, 351: 2, 203: 2, 208: 6, 201: 1}
    assert asked.connects == name_server.connects == 1
    assert report.facts.requests == name_server.received.total() + asked.received.total()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("version", [513, V4_9_7])
@pytest.mark.parametrize("settings", [{}, {"autoCreateSubscriptionGroup": "false"}], ids=["creates", "creates none"])
async def test_nothing_is_asked_that_changes_something(version: int, settings: dict[str, str]) -> None:
    brokers = [full_broker(f"broker-{n}", version=version, settings=settings) for n in range(3)]
    name_server = FakeNameServer()
    async with listening(*brokers, name_server):
        name_server.shows(*brokers[:2])
        before = [dict(one.groups) for one in brokers]
        await examine(name_server, topics=("Orders", "Missing"), groups=("readers", "strangers"),
                      brokers=(brokers[2].addr,), client_version=513)  # fmt: skip
    assert set(name_server.received) <= READS_OF_NAME_SERVERS
    asked = set(sum((one.received for one in brokers), Counter()))
    assert asked <= READS_OF_BROKERS | ({352} if settings else set())
    assert [one.groups for one in brokers] == before


async def test_system_group_is_never_asked_for_by_name() -> None:
    """A broker creates such groups whatever its configuration says (enableCreateSysGroup)."""

    broker = FakeBroker(settings=NEVER)
    await report_on(broker, groups=("CID_RMQ_SYS_X",))
    assert broker.received[352] == 0


async def test_of_a_large_fleet_some_brokers_of_each_cluster_are_asked() -> None:
    broker, name_server = FakeBroker(), FakeNameServer()
    async with listening(broker, name_server):
        port = broker.addr.rpartition(":")[2]
        for number in range(100):
            cluster = "small" if number == 50 else "large"
            name_server.show(f"broker-{number}", 0, f"127.0.1.{number + 1}:{port}", cluster)
        report = await examine(name_server)
    assert len(report.facts.addresses) == BROKERS_MAX
    assert report.facts.left_out == 100 - BROKERS_MAX
    assert f"127.0.1.51:{port}" in report.facts.addresses


async def test_secrets_of_a_configuration_are_not_kept() -> None:
    report, _ = await report_on(FakeBroker())
    (found,) = report.facts.brokers
    assert found.setting("brokerName") == "broker-a"
    assert "secretOfSomebody" not in (found.configuration or {})


@pytest.mark.parametrize(
    ("runtime", "ran_s"),
    [("[ 0 days, 0 hours, 0 minutes, 13 seconds ]", 13), ("[ 1,024 days, 1 hours, 0 minutes, 1 seconds ]", 88_477_201),
     ("[ 1'024 days, 0 hours, 0 minutes, 0 seconds ]", 88_473_600)],
)  # fmt: skip
def test_clock_is_known_to_a_second_and_what_the_answer_took(runtime: str, ran_s: int) -> None:
    body = json.dumps({"table": {"bootTimestamp": "1000000", "runtime": runtime}}).encode()
    now_s = 1000 + ran_s
    assert bodies.clock(body, now_s - 0.25, now_s + 0.5) == BrokerClock(-500, 1250)


async def test_table_of_topics_that_cannot_be_read_ends_nothing() -> None:
    class Broken(FakeBroker):
        def answer(self, request: RemotingCommand) -> Reply:
            table = b'{"topicConfigTable":{"Orders":{"perm":}}}'
            return (0, table) if request.code == 21 else super().answer(request)

    report, _ = await report_on(Broken(version=V4_9_7), topics=("Orders",))
    (one,) = report.facts.brokers
    assert (one.version, one.topics) == (V4_9_7, {})


def test_entry_of_a_table_is_found_without_decoding_the_others() -> None:
    names = ["Order", 'With "quotes"', "With \\", "{", "名字"]
    table = b'{"topicConfigTable":{' + b",".join(
        as_json(name) + b":" + as_json(topic(name, queues=n)) for n, name in enumerate(names)
    ) + b"},broken"  # fmt: skip
    for number, name in enumerate(names[:4]):
        found = bodies.entry(table, name)
        assert found is not None
        assert found["readQueueNums"] == number
    assert bodies.entry(table, "Nobody") is None


@pytest.mark.parametrize("rest", [b"[" * 100_000, b'"b":' + b"[" * 100_000, b'"b":"' + b"x" * 1_000_000 + b'"}}'])
def test_entry_without_an_end_cannot_be_decoded(rest: bytes) -> None:
    with pytest.raises(BodyDecodeError):
        bodies.entry(b'{"a":{' + rest, "a")


FRAME_BYTES = 16_777_216
MEGABYTE = bytes(1 << 20)
TAKEN_BYTES_MAX = 2 * FRAME_BYTES


def jump(seconds: float) -> None:
    """The running loop's clock goes on by so much."""
    loop = asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + seconds  # type: ignore[method-assign]


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    jump(2 * TIMEOUT_S + 1)
    await reader.read()


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def send_garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 100)
    writer.close()


async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Frames that nobody asked for, without an end."""
    await send_on(writer, frame(json_header(0, opaque=-1, flag=1), MEGABYTE))


async def send_huge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The right header, and a length of a gigabyte."""
    header = json_header(0, opaque=(await _request(reader)).opaque, flag=1)
    writer.write(struct.pack(">iI", 4 + len(header) + (1 << 30), len(header)) + header)
    await send_on(writer, MEGABYTE)


async def send_on(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Until the doctor ends the connection, and not much more than a frame."""
    for _ in range(TAKEN_BYTES_MAX // len(data)):
        if writer.is_closing():
            return
        writer.write(data)
        await writer.drain()
    assert writer.is_closing(), "it takes everything"


async def _request(reader: asyncio.StreamReader) -> RemotingCommand:
    length = await reader.readexactly(4)
    return decode(length + await reader.readexactly(int.from_bytes(length)))


@pytest.mark.parametrize(
    ("serve", "outcome"),
    [(hang, Reaction.SILENT), (close, Reaction.CLOSED), (speak_http, Reaction.OTHER_PROTOCOL),
     (send_garbage, Reaction.OTHER_PROTOCOL), (flood, Reaction.OTHER_PROTOCOL), (send_huge, Reaction.OTHER_PROTOCOL)],
    ids=["hangs", "closes", "HTTP", "garbage", "floods", "huge frame"],
)  # fmt: skip
async def test_hostile_broker_costs_little_and_is_told_apart(serve: Serve, outcome: Reaction) -> None:
    report, _ = await report_on(FakeBroker(), serve=serve, topics=("Orders",), groups=("readers",))
    (found,) = report.facts.addresses.values()
    assert found.outcome is outcome


DEEP = b"[" * 50_000 + b"]" * 50_000
UPTIME = "[ 1 days, 2 hours, 3 minutes, 4 seconds ]"
LIES: dict[str, bytes] = {
    "deep": b'{"table":' + DEEP + b"}",
    "deep objects": b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    "no JSON": b"\xff\xfe\x00" * 1000,
    "a number": b"17",
    "null": b"null",
    "other types": as_json({
        "table": [1], "connectionSet": {"a": 1}, "subscriptionTable": [2], "messageModel": 7, "perm": "six",
        "offsetTable": 3, "subscriptionGroupTable": 4, "topicConfigTable": 5,
    }),
    "nothing": b"",
    "numbers as text": b'{"consumeTps":1e999,"offsetTable":{{"topic":"Orders","queueId":"x"}:{"brokerOffset":1}}}',
    "huge time": as_json({"table": {"bootTimestamp": "9" * 4000, "runtime": UPTIME}}),
    "huge days": as_json({"table": {"bootTimestamp": "1", "runtime": UPTIME.replace("1", "9" * 4000)}}),
    "control characters": as_json({"table": {"\x1b[2J\u202e": "\x07" * 100}, "messageModel": "\x1b]0;"}),
}  # fmt: skip


@pytest.mark.parametrize("body", LIES.values(), ids=LIES)
async def test_answers_that_lie_are_as_if_there_were_none(body: bytes) -> None:
    class Liar(FakeBroker):
        def answer(self, _request: RemotingCommand) -> tuple[int, bytes]:
            return 0, body

    liar, wanted = Liar(topics={"Orders": topic("Orders")}), {"topics": ("Orders", "Missing"), "groups": ("readers",)}
    report, _ = await report_on(liar, **wanted, client_version=513)
    assert report.facts.broker(next(iter(report.facts.addresses))) is not None
    assert report.findings


async def test_broker_that_answers_slowly_is_left_after_a_time() -> None:
    """Each answer is in time, and there may be many of them. The first ones come at once."""

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in itertools.count():
            request = await _request(reader)
            if number > 5:
                jump(BROKER_WITHIN_S / 10)
                await asyncio.sleep(0)  # what is due happens now
                await asyncio.sleep(0)
            writer.write(frame(json_header(0, opaque=request.opaque, flag=1), b"{}"))

    topics = tuple(f"topic-{n}" for n in range(50))
    report, _ = await report_on(FakeBroker(), serve=slowly, topics=topics, groups=("readers",))
    (broker,) = report.facts.brokers
    assert 0 < len(broker.topics) < 50
