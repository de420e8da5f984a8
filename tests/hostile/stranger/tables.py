"""All answers about the routes, so that those of two moments can be compared."""

from __future__ import annotations

from collections import Counter

from interop.harness import codes
from interop.harness.payloads import dumps
from interop.harness.wire import Client, eventually
from tests.behaviour.views import loads

TOPICS_MAX = 20_000
SETTLES_WITHIN_S = 60
SHOWN = 10


def read(client: Client) -> dict[str, bytes]:
    """The groups, the clusters, the list of topics, and the route of each, by name."""
    client.socket.settimeout(60)
    listed = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body or b""
    brokers = client.request(codes.GET_BROKER_CLUSTER_INFO).body or b""
    answers = {
        f"{table} {key!r}": dumps(value) for table, entries in loads(brokers).items() for key, value in entries.items()
    }
    answers |= {"106 as a whole": brokers, "206 as a whole": listed}
    for topic in loads(listed)["topicList"][:TOPICS_MAX]:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"})
        answers[f"route of {topic!r}"] = answer.body or b"%d" % answer.code
    return answers


def settled(client: Client) -> dict[str, bytes]:
    """The answers once nothing changes any more: strangers that left are unregistered after the fact."""
    before: dict[str, bytes] = {}

    def is_settled() -> bool:
        nonlocal before
        last, before = before, read(client)
        return last == before

    eventually(is_settled, SETTLES_WITHIN_S, every_s=2)
    return before


def honest(answers: dict[str, bytes]) -> dict[str, bytes]:
    """Those about names of honest peers."""
    return {key: answer for key, answer in answers.items() if "honest-" in key}


def of_strangers(answers: dict[str, bytes]) -> str:
    """What the tables have of strangers that left. Nothing removes it, as in Java."""
    kinds = Counter(key.split()[0] for key in answers if "honest-" not in key and "whole" not in key)
    return ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items())) or "nothing"


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """What answers otherwise now, shortened."""
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    shown = [f"{key[:200]}: {short(before.get(key))}, then {short(after.get(key))}" for key in keys[:SHOWN]]
    return [f"{len(keys)} answers differ", *shown] if keys else []


def short(answer: bytes | None) -> str:
    return "none" if answer is None else f"{len(answer)} bytes {answer[:300]!r}"
