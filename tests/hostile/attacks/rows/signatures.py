"""Signatures that were seen or guessed. One covers neither the code nor a time: V3, V4, V16 of the test vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from interop.harness import codes
from interop.harness.relay import Relay
from interop.harness.wire import Client
from tests.hostile.attacks.attack import Attack, Request
from tests.hostile.attacks.policy import FLEET, STRANGER
from tests.hostile.attacks.rows.configuration import as_before
from tests.hostile.attacks.rows.routes import has_no_write_permission
from tests.hostile.attacks.scene import Scene
from tests.hostile.attacks.signed import signed

PROPERTIES = "orderMessageEnable=true\n"


def lookup_as_wipe(key: str) -> Callable[[Scene], Iterator[Request]]:
    """V16: what signs a lookup of the topic broker-a signs a wipe of the broker broker-a."""

    def requests(scene: Scene) -> Iterator[Request]:
        seen = signed(key, {"topic": scene.names.broker})
        yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, recoded(seen))

    return requests


def recoded(seen: dict[str, str]) -> dict[str, str]:
    """The fields of a lookup as those of a wipe: names are not signed, and the value sorts as before."""
    fields = dict(seen)
    fields["brokerName"] = fields.pop("topic")
    return fields


def lookup_as_update(key: str) -> Callable[[Scene], Iterator[Request]]:
    """V4: a lookup of a topic that reads like properties, sent as 318 with that body."""

    def requests(_: Scene) -> Iterator[Request]:
        seen = signed(key, {"topic": PROPERTIES})
        del seen["topic"]
        yield Request(codes.UPDATE_NAMESRV_CONFIG, seen, PROPERTIES.encode())

    return requests


def is_updated(scene: Scene) -> bool:
    return scene.setting("orderMessageEnable") == "true"


def update_back(scene: Scene) -> None:
    as_before(scene)
    scene.fleet.request(codes.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=false\n")


def list_as_configuration(_: Scene) -> Iterator[Request]:
    """V3: a request without fields, 106, sent as 319."""
    yield Request(codes.GET_NAMESRV_CONFIG, signed("alone"))


def is_read(scene: Scene) -> bool:
    return bool(scene.answers) and scene.answers[-1].body is not None


def with_another_secret(scene: Scene) -> Iterator[Request]:
    ext = {"brokerName": scene.names.broker}
    yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, signed("alone", ext, secret="another one"))


def with_an_empty_key(scene: Scene) -> Iterator[Request]:
    fields = signed("alone", {"brokerName": scene.names.broker}) | {"AccessKey": ""}
    yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, fields)


def from_the_wire(scene: Scene, *, tls: bool) -> Iterator[Request]:
    """Read what a client sends, look for a signature, and send its fields as a wipe."""
    relay = Relay(scene.server.port, FLEET)
    try:
        client = scene.connect(FLEET, tls=tls, port=relay.port)
        client.request(codes.GET_ROUTEINFO_BY_TOPIC, signed("alone", {"topic": scene.names.broker}))
        seen = b"".join(map(bytes, relay.sent))
    finally:
        relay.close()
    if (at := seen.find(b'{"code":')) >= 0:
        header, _ = json.JSONDecoder().raw_decode(seen[at:].decode())
        yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, recoded(header["extFields"]))


def stranger_with_tls(scene: Scene) -> Client:
    """It has no certificate."""
    return scene.connect(STRANGER, tls=True)


ROWS = (
    Attack(
        "V16, re-coded: by key alone",
        "the fields of a signed 105 for the topic `broker-a`, sent as 205 for the broker `broker-a`",
        lookup_as_wipe("alone"), has_no_write_permission, is_stopped=False,
    ),
    Attack(
        "V16: by key and network", "the same, from outside of the network",
        lookup_as_wipe("here"), has_no_write_permission,
    ),
    Attack(
        "V16: by key and certificate", "the same with TLS, without the certificate",
        lookup_as_wipe("shown"), has_no_write_permission, stranger_with_tls,
    ),
    Attack("V16: by a key that may only look up", "the same", lookup_as_wipe("looker"), has_no_write_permission),
    Attack(
        "V4, re-coded: by key alone",
        "a signed 105 whose topic reads like a property, sent as 318 with that text as its body",
        lookup_as_update("alone"), is_updated, undo=update_back, is_stopped=False,
    ),
    Attack("V4: by key and network", "the same, from outside of the network", lookup_as_update("here"), is_updated,
           undo=update_back),
    Attack(
        "V3, replayed: by key alone", "a signed 106, sent as 319",
        list_as_configuration, is_read, is_stopped=False,
    ),
    Attack(
        "A signature is read from the wire", "a client's signed 105 is recorded, and sent as 205",
        partial(from_the_wire, tls=False), has_no_write_permission, is_stopped=False,
    ),
    Attack(
        "A signature is read from the wire with TLS", "the same",
        partial(from_the_wire, tls=True), has_no_write_permission,
    ),
    Attack(
        "A known key with another secret", "205", with_another_secret, has_no_write_permission,
    ),
    Attack(
        "An empty key beside a signature", "205", with_an_empty_key, has_no_write_permission,
    ),
)  # fmt: skip
