"""B076: the request for digests of the routes, which only rocketns answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import MODES, NameServer
from interop.harness.wire import Client
from rocketns.fleet.digests import digest_of
from rocketns.protocol.codes import DIGEST_BUCKETS
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

NAMES = Names()


@pytest.fixture(scope="module", params=MODES, ids=[mode.mode for mode in MODES])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    one = request.param(tmp_path_factory.mktemp("server"), {"enableAllTopicList": "true"})
    yield one
    one.kill()


def buckets(client: Client) -> bytes:
    answer = client.request(codes.GET_ROUTE_DIGESTS)
    assert answer.code == 0
    assert answer.body is not None
    return answer.body


def topics(client: Client) -> dict[str, str]:
    """All buckets together."""
    numbers = buckets(client)
    full = [str(one) for one in range(DIGEST_BUCKETS) if any(numbers[8 * one : 8 * one + 8])]
    answers = [client.request(codes.GET_ROUTE_DIGESTS, {"bucket": one}).json()["table"] for one in full]
    return {topic: digest for answer in answers for topic, digest in answer.items()}


def test_each_topic_is_in_a_bucket_with_its_digest(server: NameServer) -> None:
    """B076: as an answer to 105 would give it."""
    with server.connect() as client:
        registered(client, NAMES, ["T", "U"])
        expected = f"{digest_of([(NAMES.broker, (8, 8, 6, 0))]):x}"
        assert topics(client) == {NAMES.topic("T"): expected, NAMES.topic("U"): expected}
        before = buckets(client)
        assert len(before) == 8 * DIGEST_BUCKETS
        assert client.request(codes.GET_ROUTE_DIGESTS).ext == {"topics": "2"}
        client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": NAMES.broker})
        assert buckets(client) != before
        client.request(codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": NAMES.broker})
        assert buckets(client) == before


@pytest.mark.parametrize("bucket", ["256", "-1", "", "x", "1e3", "99999999999999999999"])
def test_a_bucket_that_is_none(server: NameServer, bucket: str) -> None:
    """B076."""
    with server.connect() as client:
        answer = client.request(codes.GET_ROUTE_DIGESTS, {"bucket": bucket})
    assert (answer.code, answer.remark) == (codes.SYSTEM_ERROR, "bucket must be a number below 256")


def test_names_can_be_switched_off(tmp_path: Path) -> None:
    """B076: with enableAllTopicList=false the digests of buckets are answered, the names in them are not."""
    one = MODES[0](tmp_path, {"enableAllTopicList": "false"})
    try:
        with one.connect() as client:
            assert buckets(client) == bytes(8 * DIGEST_BUCKETS)
            answer = client.request(codes.GET_ROUTE_DIGESTS, {"bucket": "0"})
            assert (answer.code, answer.remark) == (codes.SYSTEM_ERROR, "disable")
    finally:
        one.kill()
