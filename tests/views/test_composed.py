"""What reactors compose for a view equals what the tables give for it, whatever brokers and files do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from rocketns._fast.access.networks import Networks
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from rocketns.routeinfo.view import pick_up_route
from rocketns.server.publishing.publisher import Prepared
from rocketns.views.views import Views
from rocketns.views.views_file import read_views
from tests.compiled.parts import body_of
from tests.fast.lookups import PublishedWorld

BROKERS = 40  # more than the tables have room for at first
STEPS = 120
TOPICS = [f"T{number}" for number in range(6)]
FILE = '[views.{name}]\nlisten = "h:{port}"\n[views.{name}.addresses]\n'
RULES = ('"b3/0" = "203.0.113.3:3"', '"10.0.0.0/28" = "198.51.100.0/28:+7"', '"10.0.0.32:9" = "h:1"', '"b9/0" = "h:2"')


def some_views(draw: random.Random) -> Views:
    text = "[views]\n"
    for number in range(draw.randrange(5)):
        rules = draw.sample(RULES, draw.randrange(len(RULES)))
        text += "\n".join([FILE.format(name=f"v{number}", port=number + 1).rstrip("\n"), *rules]) + "\n"
    return Views(read_views("f", text), ("h:1", "h:2"))


def prepared(draw: random.Random, world: PublishedWorld, views: Views) -> Prepared:
    """All of them, or without what changed while a thread made them."""
    made = world.publisher.prepare_views(views)
    return {name: (shown if draw.randrange(3) else shown._replace(), some) for name, (shown, some) in made.items()}


@pytest.mark.parametrize("seed", range(4))
def test_slots_always_equal_the_tables_in_each_view(tmp_path: Path, seed: int) -> None:
    draw, world, views = random.Random(seed), PublishedWorld(tmp_path), Views()
    mapped = 0
    for step in range(STEPS):
        number = draw.randrange(BROKERS)
        if not draw.randrange(4):
            views = some_views(draw)
            world.publisher.use_views(views, prepared(draw, world, views))
        elif not draw.randrange(4):
            fields = {"clusterName": "C1", "brokerName": f"b{number}", "brokerId": 0}
            world.ask(104, fields | {"brokerAddr": f"10.0.0.{number}:9"})
        else:
            body = register_body([topic_config(topic) for topic in draw.sample(TOPICS, 3)], {"counter": step} | VERSION)
            world.ask(103, register_ext(broker=f"b{number}", addr=f"10.0.0.{number}:9", body=body), body)
        world.publish()
        for topic in TOPICS:
            config = world.configuration.namesrv
            for view, found in enumerate([None, *views]):
                route = pick_up_route(world.context.tables, config, topic, None if found is None else found.show)
                for standard in (False, True):
                    expected = None if route is None else bodies.topic_route_data(route, standard=standard)
                    assert body_of(world.slots, topic.encode(), standard, view) == expected
                    mapped += b"198.51.100." in (expected or b"")
    assert mapped
    assert len(world.slots.view_bytes()) == len(views)
    without_views = world.slots.memory_bytes - sum(world.slots.view_bytes())
    world.publisher.use_views(Views(), {})
    assert world.slots.memory_bytes == without_views


VERSION = {"stateVersion": 0, "timestamp": 1}


def test_wrong_numbers_of_views_are_refused() -> None:
    slots = RouteSlots(bodies.queue_data)
    slots.put_broker("b", ((b"B", b"S"),))
    nobody = Networks([])
    for arguments in (([], 0), ([1], 0), ([0] * 18, 1), ([0], 17)):
        with pytest.raises(ValueError, match="listeners"):
            slots.use_views(nobody, *arguments)
    slots.use_views(nobody, [0, 2], 2)
    for number in (1, 2, 4):
        with pytest.raises(ValueError, match=f"{number} elements: one for each of 2 views expected"):
            slots.put_broker("b", ((b"B", b"S"),) * number)
    slots.put_broker("b", ((b"B", b"S"), None, (b"D", b"E")))
