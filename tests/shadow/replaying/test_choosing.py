"""Nothing that changes something is sent unless it was asked for."""

from __future__ import annotations

import pytest

from interop.harness import codes
from rocketns.shadow.replaying.choosing import Choice, Unsent

CHANGES = [
    codes.REGISTER_BROKER, codes.UNREGISTER_BROKER, codes.QUERY_DATA_VERSION, codes.BROKER_HEARTBEAT,
    codes.PUT_KV_CONFIG, codes.DELETE_KV_CONFIG, codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER,
    codes.DELETE_TOPIC_IN_NAMESRV, codes.REGISTER_TOPIC_IN_NAMESRV, codes.UPDATE_NAMESRV_CONFIG,
]  # fmt: skip
READS = [
    codes.GET_ROUTEINFO_BY_TOPIC, codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    codes.GET_KV_CONFIG, codes.GET_KVLIST_BY_NAMESPACE, codes.GET_NAMESRV_CONFIG, codes.GET_BROKER_MEMBER_GROUP,
]  # fmt: skip
UNKNOWN = 4242


@pytest.mark.parametrize("code", CHANGES)
def test_a_request_that_changes_something_is_sent_only_with_all(code: int) -> None:
    assert Choice().why_not(code) is Unsent.CHANGES
    assert Choice(with_changes=True).why_not(code) is None


@pytest.mark.parametrize("code", READS)
def test_a_read_is_sent(code: int) -> None:
    assert Choice().why_not(code) is None


def test_nobody_knows_what_an_unknown_request_changes() -> None:
    assert Choice().why_not(UNKNOWN) is Unsent.UNKNOWN
    assert Choice(with_changes=True).why_not(UNKNOWN) is None


def test_only_does_not_allow_changes() -> None:
    only = Choice(frozenset({codes.REGISTER_BROKER, codes.GET_KV_CONFIG}))
    assert only.why_not(codes.REGISTER_BROKER) is Unsent.CHANGES
    assert only.why_not(codes.GET_ROUTEINFO_BY_TOPIC) is Unsent.OTHER
    assert only.why_not(codes.GET_KV_CONFIG) is None
