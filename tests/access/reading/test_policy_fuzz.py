"""The reader of policies: whatever a file has, there is a policy or a refusal."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import tomli_w
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocketns.access.classes import RIGHTS
from rocketns.access.policy import Policy
from rocketns.access.reading import plain_acl
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.secrets_file import read_secrets
from tests.access.reading.texts import read, read_acl

KEYS = (
    "modes", "principals", "keys", "secrets", "plain_acl", "secret", "may", "networks", "certificates", "broker_names",
    "addresses", "address_is_peer", "kv_namespaces", "owns", "brokers_max", "takeover", *(one.value for one in RIGHTS),
    "accounts", "accessKey", "secretKey", "whiteRemoteAddress", "admin", plain_acl.GLOBAL, "k1",
)  # fmt: skip
WORDS = (
    "observe", "enforce", "off", "lookup", "broker", "admin", "10.0.0.0/8", "10.0.0.1", "::/0", "*", "10.0.0.1-9",
    "10.0.0.{1,2}", "fe80::1%1", "[z-a]", "[!", "k1", "true", "",
)  # fmt: skip
texts = st.sampled_from(WORDS) | st.text(max_size=20)
keys = st.sampled_from(KEYS) | st.text(max_size=8)
scalars = (
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.datetimes() | st.dates() | st.times()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=30
)
principals = st.fixed_dictionaries({"may": st.lists(texts, max_size=3)}, optional={
    name: values | st.lists(texts, max_size=3) for name in KEYS[7:16]
})  # fmt: skip
structures = st.dictionaries(keys, values, max_size=5) | st.fixed_dictionaries({}, optional={
    "modes": st.dictionaries(keys, texts, max_size=3),
    "principals": st.dictionaries(keys, principals | values, max_size=3),
    "keys": st.dictionaries(keys, st.fixed_dictionaries({"secret": texts}) | values, max_size=3),
    "secrets": texts, "plain_acl": texts,
})  # fmt: skip


TOKENS = (
    "{", "}", "[", "]", "accounts", ":", "-", "\n", " ", "*a", "&a", "!!int", "!x", "|", "'", '"', "? ", "%", "<<",
    "accessKey: a", "secretKey: b", "0x", "2024-13-45", "\t", "#",
)  # fmt: skip


def as_yaml(value: Any) -> str:
    """The value without what only TOML has."""
    return str(yaml.safe_dump(json.loads(json.dumps(value, default=str))))


@given(st.text(), st.text())
def test_any_text_is_a_policy_or_refused(text: str, others: str) -> None:
    assert isinstance(read(text, others), Policy | str)


@given(structures, st.text() | values.map(as_yaml))
def test_any_toml_is_a_policy_or_refused(structure: dict[str, Any], others: str) -> None:
    assert isinstance(read(tomli_w.dumps(structure), others), Policy | str)


@given(st.text() | values.map(as_yaml) | structures.map(as_yaml))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    read_acl(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                "[",
                "]",
                "accounts",
                ":",
                "-",
                "\n",
                " ",
                "*a",
                "&a",
                "!!int",
                "!x",
                "|",
                "'",
                '"',
                "? ",
                "%",
                "<<",
                "accessKey: a",
                "secretKey: b",
                "0x",
                "2024-13-45",
                "\t",
                "#",
            ]
        )
    )
)
def test_any_tokens_of_yaml_are_read_or_refused(tokens: list[str]) -> None:
    read_acl("".join(tokens))


@given(st.text())
def test_any_file_of_secrets_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(PolicyError):
        read_secrets("secrets", text)
