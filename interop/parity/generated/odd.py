"""Random requests that no real peer writes: any field with any value, any body with any code.

Left out is what docs/differences.md lists: registrations without name or address, unregistrations with a null.
"""

from __future__ import annotations

import random

from interop.harness.payloads import data_version, dumps, register_body
from interop.parity.language import Ask, Form, Request, Settle, Step
from interop.parity.phrases import address, broker, configs, own, queue

VERSIONS = (0, 36, 37, 400, 401, 412, 413, 475, 513, 600)
CODES = (
    100,
    101,
    102,
    105,
    106,
    205,
    206,
    216,
    217,
    219,
    224,
    304,
    311,
    312,
    313,
    319,
    322,
    327,
    901,
    904,
    905,
    0,
    9999,
)
REGISTER, UNREGISTER, QUERY, PUT_TOPIC, PUT, DELETE = 103, 104, 322, 217, 100, 102
OFTEN = (REGISTER, REGISTER, UNREGISTER, 105, QUERY, 901, PUT, 216)
NAMES = (own("a"), own("b"), own("C"), own("D"), own("T"), own("U"), address(1), address(2), own("n"))
VALUES = (
    *("", "0", "1", "-1", "+1", " 1", "1 ", "007", "1.0", "1e2", "0x10", "1_000", "-0", "--1", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "\u0661", "Infinity"),
    *("true", "TRUE", "false", "yes", "null", "a b", "\n", "\0", "\u00fc", "\U0001f600", "x" * 300),
)  # fmt: skip
FIELDS = (
    *("topic", "clusterName", "cluster", "brokerName", "brokerAddr", "brokerId", "namespace", "key", "value", "x"),
    *("acceptStandardJsonOnly", "__ZONE_MODE", "__ZONE_NAME", "enableActingMaster", "compressed", "bodyCrc32"),
    *("haServerAddr", "heartbeatTimeoutMillis"),
)  # fmt: skip
BODIES = (
    *(b"", b"{}", b"null", b"[]", b"x", b'""', b"0", b"\xff\xfe", b'{"counter":"1"}', dumps(data_version())),
    *(dumps({"queueDatas": [queue("a")]}), dumps({"queueDatas": [queue("a", perm="6 ")]})),
    *(register_body(configs(("T", "U"))), register_body(configs(("U", "V")))),
)  # fmt: skip
# None of them ends before a sequence does.
TIMEOUTS = ("abc", "", "60000", "+70000")


def make(seed: str, number: int) -> tuple[Step, ...]:
    """One step of a sequence, made from its own random numbers."""
    chance = random.Random(f"{seed}/{number}")
    code = chance.choice(CODES + OFTEN)
    ext = {name: chance.choice(NAMES + VALUES) for name in FIELDS if chance.random() < 0.45}
    if chance.random() < 0.5 or code in (REGISTER, UNREGISTER):
        ext |= _somebody(chance, code)
    body = chance.choice(BODIES) if code in (REGISTER, PUT_TOPIC, QUERY) or chance.random() < 0.2 else b""
    form = Form(chance.random() < 0.4, chance.choice(VERSIONS))
    without = chance.random() < 0.03 and code != UNREGISTER
    asked = Ask(Request(code, None if without else ext, body, form=form))
    return (asked, Settle()) if code == UNREGISTER else (asked,)


def _somebody(chance: random.Random, code: int) -> dict[str, str]:
    """Fields that name what is there: brokers of one cluster, topics.

    No address is in two groups, and no single topic is refused: Java keeps such entries for ever.
    """
    name = chance.choice("ab")
    fields = broker(name, chance.choice((1, 2)) + 2 * (name == "b"))
    broker_id = chance.choice(("0", "1", "7") if code == UNREGISTER else ("0", "1", "2", *VALUES))
    timeout = {"heartbeatTimeoutMillis": chance.choice(TIMEOUTS)}
    return fields | {"brokerId": broker_id, "topic": own(chance.choice("TU")), "cluster": own("C")} | timeout
