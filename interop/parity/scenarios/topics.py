"""Topics, permissions and lists that tools change and query (B219-B233, B249)."""

from __future__ import annotations

from collections.abc import Iterator

from interop.harness.payloads import dumps
from interop.parity.language import ONE_FORM, Scenario
from interop.parity.phrases import (
    add,
    ask,
    delete_topic,
    lists,
    own,
    queue,
    register,
    register_topic,
    route,
    routes,
    topic,
    topics_of,
    wipe,
)

NO_QUEUES = (
    ("no-body", "B228", b""),
    ("empty-list", "B228", b'{"queueDatas":[]}'),
    ("null-list", "B228", b'{"queueDatas":null}'),
    ("null", "B228", b"null"),
    ("empty-object", "B228", b"{}"),
    ("null-entry", "B228", b'{"queueDatas":[null]}'),
    ("entry-without-name", "B228", b'{"queueDatas":[{}]}'),
    ("bad-json", "B229", b"{"),
    ("array", "B229", b"[]"),
    ("list-as-text", "B229", b'{"queueDatas":"x"}'),
    ("list-as-number", "B229", b'{"queueDatas":5}'),
    ("entry-as-text", "B229", b'{"queueDatas":["x"]}'),
    ("list-as-object", "B229", dumps({"queueDatas": queue()})),
    ("number-as-word", "B229", dumps({"queueDatas": [queue(perm="x")]})),
    ("number-in-quotes", "B225", dumps({"queueDatas": [queue(perm="4")]})),
    ("null-number", "B225", dumps({"queueDatas": [queue(perm=None)]})),
    ("bare-numeric-keys", "B093", b'{"brokerDatas":[{"brokerAddrs":{0:"a:1"},"brokerName":"x","cluster":"c"}]}'),
    ("whole-route", "B093", b'{"brokerDatas":[{"brokerAddrs":{0:"a:1"}}],"queueDatas":[' + dumps(queue()) + b"]}"),
)


def _permissions() -> Iterator[Scenario]:
    every = tuple(topic(f"P{perm}", perm=perm) for perm in range(8))
    names = tuple(f"P{perm}" for perm in range(8))
    steps = (register(every), wipe(), *routes(*names), wipe(), add(), *routes(*names), add(), wipe())
    yield Scenario("wipe-and-add", "B219 B220", steps)
    nobody = (wipe("none"), add("none"), ask(205), ask(327), ask(205, {}), ask(327, {"brokerName": ""}))
    yield Scenario("wipe-and-add-of-nobody", "B008 B219 B220", nobody)
    both = (register(every), register(every, name="b", host=2))
    yield Scenario("wipe-of-one-of-two", "B219", (*both, wipe("b"), *routes("P7", "P2"), add("b"), *routes("P7")))


def _lists() -> Iterator[Scenario]:
    flags = tuple(topic(f"F{flag}", flag=flag) for flag in (0, 1, 2, 3, 4, 5, 7, -1))
    yield Scenario("topics-by-flag", "B221 B230 B233", (register(flags), *lists(), register(flags, name="b", host=2),
                                                        *lists(), topics_of("none")))  # fmt: skip
    for brokers in (2, 5, 12, 13, 30):  # each topic has the flags of number * 5 + its broker's, so they disagree
        disagreeing = tuple(
            register(tuple(topic(f"F{n}", flag=(n * 5 + host) * 7 % 4) for n in range(8)), name=f"b{host}", host=host)
            for host in range(brokers)
        )
        yield Scenario(f"flags-that-differ-on-{brokers}-brokers", "B233", (*disagreeing, *lists()), forms=ONE_FORM)
    many = tuple(topic(f"T{number}") for number in range(40))
    yield Scenario("many-topics", "B221 B230", (register(many), *lists(), ask(304)))
    controllers = tuple(ask(code) for code in (*range(1001, 1007), *range(1009, 1014), 902, 903, 905))
    yield Scenario("controller-codes", "B249", controllers)


def _tools() -> Iterator[Scenario]:
    for name, rows, body in NO_QUEUES:
        steps = (register(), register_topic("N", body=body), *routes("N"), register_topic(body=body), *routes("T"))
        yield Scenario(f"topic-of-{name}", rows, steps)
    yield Scenario(
        "register-topic",
        "B225 B226 B227",
        (
            register(), register(name="b", host=2), register_topic("N", queue("a")), *routes("N"),
            register_topic("M", queue("a"), queue("x")), *routes("M"),
            register_topic("N", queue("b"), queue("x"), queue("a", perm=4)), *routes("N"),
            register_topic("N", queue("x"), queue("a", perm=2)), *routes("N"), register_topic("N", queue("a", perm=7)),
            *routes("N"), register_topic("L", {"brokerName": own("a")}), *routes("L"), *lists(),
            register_topic("K", queue("a", perm=4), queue("a", perm=2)), *routes("K"), ask(217, None, b"{}"),
            ask(217, {}, dumps({"queueDatas": [queue()]})),
        ),
    )  # fmt: skip
    yield Scenario(
        "delete-topic",
        "B222 B223 B224",
        (
            register(("T", "U", "V")), register(("T", "U", "V"), name="b", host=2, cluster="D"),
            delete_topic("T"), route("T"), delete_topic("U", "D"), *routes("U"), delete_topic("U", "C"), route("U"),
            delete_topic("V", "none"), *routes("V"), delete_topic("V", ""), route("V"), delete_topic("none"), ask(216),
            ask(216, {}), ask(216, {"clusterName": own("C")}), register(("T", "U", "V")), *routes("T", "U", "V"),
        ),
    )  # fmt: skip
    yield Scenario(
        "topics-registered-by-tools-and-brokers",
        "B146 B225",
        (
            register(), register_topic("N", queue("a", perm=4)), register(), *routes("N"),
            register(("T", "N"), perm=7), *routes("N"), register(("T", "N"), 2, perm=7), *routes("N"), wipe(),
            *routes("N"), register_topic("N", queue("a")), *routes("N"),
        ),
    )  # fmt: skip


SCENARIOS = (*_permissions(), *_lists(), *_tools())
