"""A broker that leaves and registers again before its unregistration was applied, as after a stall."""

from __future__ import annotations

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext
from interop.harness.wire import frame, json_header
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, unregister_ext
from tests.behaviour.views import ask_route
from tests.timed.conftest import TimedServerFactory


def test_a_broker_that_leaves_and_returns_in_one_batch_has_its_topics(
    timed_server: TimedServerFactory, names: Names
) -> None:
    """When its registration is read, the slots still show topics that it is about to lose."""
    body = register_body(configs(names, ["T", "U"]), data_version())
    fields = register_ext(names.cluster, names.broker, names.addr(1), 0, body)
    registers = frame(json_header(codes.REGISTER_BROKER, fields, version=513), body)
    leaves = frame(json_header(codes.UNREGISTER_BROKER, unregister_ext(names)))
    with timed_server().connect() as client:
        for _ in range(2):
            client.send(registers + leaves + registers)
            answers = [client.receive() for _ in range(3)]
            assert [(one.code, one.remark) for one in answers] == [(codes.SUCCESS, None)] * 3
            assert ask_route(client, names.topic("T")).code == codes.SUCCESS
