"""Which order configurations clients can read, as Java's client splits and parses them."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import order_conf_mistake


@pytest.mark.parametrize("text", ["", ";", "a:4", "a:4;b:8", "a:4;;", "a:4:x", "a:4::", ":4", "a:+4", "a:0"])
def test_a_text_that_java_s_client_reads_is_no_mistake(text: str) -> None:
    assert order_conf_mistake(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a", "'a'"), ("a:", "'a:'"), (":", "':'"), ("a:4;b", "'b'"), (";a:4", "''"), ("a:4;;b:4", "''"),
        ("a::4", "'a::4'"), ("a: 4", "'a: 4'"), ("a:4 ", "'a:4 '"), ("a:x", "'a:x'"), ("a:-1", "'a:-1'"),
        ("a:65537", "'a:65537'"), ("a,4", "'a,4'"), ("x" * 200, f"'{'x' * 100}'"),
    ],
)  # fmt: skip
def test_the_first_part_that_java_s_client_fails_at_is_named(text: str, part: str) -> None:
    """ArrayIndexOutOfBoundsException or NumberFormatException there, or queues without bound."""
    assert order_conf_mistake(text) == part
