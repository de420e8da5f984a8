"""``python -m benchmarks.access.guarded POLICY -c FILE``: rocketns whose reactors check a policy that no file names.

``networks``: 300 networks, of which the last has the load generator. ``signed``: control has allowed the signed lookups
of all topics. ``control``: neither, so that every lookup is for control.
"""

from __future__ import annotations

import ipaddress
import json
import sys
from typing import Any

from benchmarks.admin import instructions
from benchmarks.plan import TOPICS
from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame
from rocketns import namesrv_controller, startup
from rocketns._fast.access.networks import NetworkFlag
from rocketns._fast.reactor.reactors import Reactors
from rocketns.config.texts.networks import packed
from rocketns.server.reactors.handle import make_reactors

NETWORKS, SIGNED, CONTROL = "networks", "signed", "control"
OTHERS = 299  # networks before that of the load generator
ACCESS_KEY, SIGNATURE = "rocketmq", "ayu7NKYdYIN7Dpv6MbQQFj"  # requests.h


def put_in_force(reactors: Reactors, policy: str) -> None:
    """Guard the lookups, and allow those of the policy."""
    texts = [f"10.{number // 256}.{number % 256}.0/24" for number in range(OTHERS)]
    texts += ["127.0.0.0/8"] * (policy == NETWORKS)
    networks = [(*packed(ipaddress.ip_network(text)), int(NetworkFlag.MAY_LOOK_UP)) for text in texts]
    reactors.set_access(True, False, networks)
    if policy == SIGNED:
        for number in range(max(TOPICS, instructions.SHAPE.topics)):
            if not all(reactors.remember_allowed(one) for one in signed(number)):
                raise SystemExit("a signed lookup cannot be remembered")


def signed(number: int) -> list[bytes]:
    """The lookups of a topic as the load generator signs them, with JSON and with binary headers."""
    keys = {"Signature": f"{SIGNATURE}{number:06}", "AccessKey": ACCESS_KEY}
    json_fields = keys | {"acceptStandardJsonOnly": "true", "topic": f"topic-{number:06}"}
    binary_fields = keys | {"topic": f"topic-{number:06}", "acceptStandardJsonOnly": "true"}
    header = {"code": 105, "extFields": json_fields, "flag": 0, "language": "JAVA", "opaque": 0, "version": 513}
    return [
        frame(json.dumps(header, separators=(",", ":")).encode(), b"", JSON),
        frame(binary_header(105, binary_fields, version=513), b"", ROCKETMQ),
    ]


def main() -> int:
    """Start the name server with the policy of the first word."""
    policy, *words = sys.argv[1:]

    def make(*given: Any) -> Reactors:
        reactors = make_reactors(*given)
        assert reactors is not None
        put_in_force(reactors, policy)
        return reactors

    namesrv_controller.make_reactors = make  # type: ignore[assignment]
    return startup.main(words)


if __name__ == "__main__":
    sys.exit(main())
