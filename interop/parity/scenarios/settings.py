"""KV configuration, and the name server's own (B087-B108, B234-B243)."""

from __future__ import annotations

from collections.abc import Iterator

from interop.parity.language import NAME, ONE_FORM, Scenario, Step
from interop.parity.phrases import (
    AWKWARD,
    ask,
    configure,
    delete,
    get,
    kv_list,
    lists,
    put,
    register,
    route,
    routes,
    show,
    topics_of,
)

ORDER = "ORDER_TOPIC_CONFIG"
VALUES = {
    "plain": "broker-a:4;broker-b:4",
    "empty": "",
    "control characters": "\x00\x01\x07\b\t\n\x0b\f\r\x0e\x1b\x1f",
    "quotes": "\"double\" 'single' \\back\\ /slash/",
    "html": "<b>&amp;</b>",
    "DEL and C1": "\x7f\x80\x85\x9f",
    "line separators": "\u2028\u2029",
    "byte order mark": "\ufeff",
    "other scripts": "ü ß € 中文 עברית",
    "emoji": "😀👩‍🚀",
    "JSON": '{"a":[1,null]}',
    "everything": AWKWARD,
}


def _kv() -> Iterator[Scenario]:
    yield Scenario("kv-put-get-list", "B094 B098 B103", (put(), get(), kv_list(), put(value="w"), get(), kv_list()))
    yield Scenario("kv-missing", "B099 B104", (get(), kv_list(), put("other"), get(), get(namespace="m")))
    yield Scenario(
        "kv-delete",
        "B101 B102",
        (delete(), put(), delete(), get(), kv_list(), delete(), delete("none"), delete(namespace="m"), ask(102)),
    )
    yield Scenario("kv-without-value", "B096", (put(value=None), get(), kv_list(), put("other"), kv_list(), delete()))
    yield Scenario("kv-empty-value", "B024 B097", (put(value=""), get(), kv_list()))
    namespace = {"namespace": "n" + NAME}
    parts: tuple[dict[str, str], ...] = ({}, namespace, {"key": "k"}, {"value": "v"}, {"key": "k", "value": "v"})
    for code, rows in ((100, "B095"), (101, "B100"), (102, "B101"), (219, "B104")):
        steps = (ask(code), *(ask(code, part) for part in parts))
        yield Scenario(f"kv-{code}-with-parts-missing", f"B082 B083 {rows}", steps)
    for name, value in VALUES.items():
        steps = (put(value=value), get(), kv_list(), put(value, "v"), kv_list(), get(value), delete(value))
        yield Scenario(f"kv-text-{name.replace(' ', '-')}", "B088 B089", steps)
    yield Scenario(
        "kv-many-keys", "B103", (*(put(f"key{number}", str(number)) for number in range(20)), kv_list()),
    )  # fmt: skip


def _order() -> Iterator[Scenario]:
    """The order configuration is one namespace of the whole server: its keys are taken back, the namespace stays."""
    item = {"namespace": ORDER, "key": "T" + NAME}
    put_order = ask(100, item | {"value": "a:4;b:4"})
    delete_order = ask(102, item)
    yield Scenario(
        "order-configuration-told-to-brokers",
        "B116 B117 B118 B119",
        (
            register(), put_order, register(), ask(100, item | {"value": AWKWARD}), register(version=2),
            delete_order, register(), put_order, configure("returnOrderTopicConfigToBroker=false"), register(),
        ),
    )  # fmt: skip
    yield Scenario(
        "order-configuration-in-routes",
        "B203 B204",
        (
            register(), put_order, *routes("T", "U"), configure("orderMessageEnable=true"), *routes("T", "U"),
            ask(100, item | {"value": ""}), *routes("T"), ask(100, item | {"value": AWKWARD}), route(),
            delete_order, route(), configure("orderMessageEnable=false"), route(),
        ),
    )  # fmt: skip


# Texts of request 318: name, rows, body. Shown afterwards.
TEXTS = (
    ("known-keys", "B235", "waitSecondsForService=7\norderMessageEnable=true\nproductEnvName=  spaced \n"),
    ("bad-number", "B237", "waitSecondsForService=abc\nserverWorkerThreads=4.5\nserverCallbackExecutorThreads=45 \n"),
    ("number-too-large", "B237", "waitSecondsForService=2147483648\nscanNotActiveBrokerInterval=9223372036854775808\n"),
    ("number-with-sign", "B237", "waitSecondsForService=+8\nserverWorkerThreads=-3\n"),
    ("empty-number", "B237", "waitSecondsForService=\n"),
    ("no-boolean", "B235", "enableTopicList=yes\n"),
    ("boolean-in-capitals", "B235", "orderMessageEnable=TRUE\n"),
    ("unknown-key", "B236", "notThere=1\n"),
    ("keys-in-wrong-case", "B236", "WaitSecondsForService=9\n"),
    ("forbidden-blacklist", "B238", "configBlackList=x\n"),
    ("forbidden-store", "B238", "configStorePath=x\n"),
    ("forbidden-kv", "B238", "kvConfigPath=x\n"),
    ("forbidden-home", "B238", "rocketmqHome=x\n"),
    ("forbidden-and-allowed", "B238", "productEnvName=no\nkvConfigPath=x\n"),
    ("forbidden-with-empty-value", "B238", "rocketmqHome\n"),
    ("bad-escape", "B239", "productEnvName=\\u12\n"),
    ("bad-escape-in-comment", "B241", "# \\u12\nproductEnvName=fine\n"),
    ("syntax", "B241", "# c\n! c\n  productEnvName : one \\\n   two\\u00fc\\ttab\\\\\nenableTopicList true\n"),
    ("carriage-returns", "B241", "productEnvName=a\r\nwaitSecondsForService=3\rorderMessageEnable=true\r\n"),
    ("raw-utf-8", "B241", "productEnvName=ü😀\n"),
    ("last-of-two", "B241", "waitSecondsForService=1\nwaitSecondsForService=2\n"),
    ("separators-in-value", "B241", "productEnvName = a=b:c d\n"),
    ("escaped-separator", "B241", "product\\EnvName=x\nproductEnvName\\=y\n"),
    ("no-newline-at-end", "B241", "productEnvName=end"),
    ("continuation-at-end", "B241", "productEnvName=end\\"),
    ("only-white-space", "B241", " \n\t\n"),
    ("form-feed", "B241", "\fproductEnvName\f=\fx\n"),
    ("start-only", "B243", "serverWorkerThreads=3\nscanNotActiveBrokerInterval=77\nlistenPort=1\nclusterTest=true\n"),
)


def _configuration() -> Iterator[Scenario]:
    for name, rows, text in TEXTS:
        yield Scenario(f"settings-{name}", rows, (configure(text), show(), route()), forms=ONE_FORM)
    yield Scenario("settings-without-body", "B234 B240", (configure(b""), show()))
    yield Scenario("settings-bytes", "B241", (configure(bytes(range(256))), show()), forms=ONE_FORM)
    yield Scenario("settings-latin-1", "B241", (configure("productEnvName=ü".encode("latin-1")), show()))


def _live() -> Iterator[Scenario]:
    """Switches that the next request feels."""
    yield Scenario(
        "topic-lists-switched-off",
        "B221 B231 B232 B242",
        (
            register(), *lists(), configure("enableTopicList=false"), *lists(), configure("enableAllTopicList=false"),
            *lists(), configure("enableTopicList=true"), *lists(),
        ),
    )  # fmt: skip
    yield Scenario(
        "not-ready",
        "B205 B206 B242",
        (
            register(), configure("needWaitForService=true\nwaitSecondsForService=86400"), route(), route("none"),
            *lists(), configure("waitSecondsForService=0"), route(), configure("waitSecondsForService=86400"),
            route(), configure("needWaitForService=false"), route(),
        ),
    )  # fmt: skip
    steps: tuple[Step, ...] = (
        register(),
        configure("clientRequestThreadPoolNums=1\nunRegisterBrokerQueueCapacity=0\nclusterTest=true\nlistenPort=1"),
        route(),
        topics_of(),
        show(),
    )
    yield Scenario("start-only-settings-changed", "B243", steps)


SCENARIOS = (*_kv(), *_order(), *_configuration(), *_live())
