"""Requests about headers, key-value pairs and settings that many tests use."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.wire import Answer, Client
from tests.behaviour.views import ask_route

both_encodings = pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])


def route_body(client: Client, topic: str, version: int = 513, **ext: str) -> bytes:
    """The body of a route answer as sent."""
    answer = ask_route(client, topic, version=version, **ext)
    assert answer.code == codes.SUCCESS, answer.header
    assert answer.body is not None
    return answer.body


def put_kv(client: Client, namespace: str, key: str, value: str) -> None:
    answer = client.request(codes.PUT_KV_CONFIG, {"namespace": namespace, "key": key, "value": value})
    assert answer.code == codes.SUCCESS, answer.header


def get_kv(client: Client, namespace: str, key: str) -> Answer:
    return client.request(codes.GET_KV_CONFIG, {"namespace": namespace, "key": key})


def settings(client: Client) -> dict[str, str]:
    """GET_NAMESRV_CONFIG as a dictionary, in the order of the answer."""
    body = client.request(codes.GET_NAMESRV_CONFIG).body
    assert body is not None
    return dict(line.split("=", 1) for line in body.decode().splitlines())


def update_settings(client: Client, text: str | bytes) -> Answer:
    """UPDATE_NAMESRV_CONFIG with a properties text; any answer."""
    return client.request(codes.UPDATE_NAMESRV_CONFIG, None, text.encode() if isinstance(text, str) else text)


def switch(client: Client, name: str, value: object) -> None:
    assert update_settings(client, f"{name}={value}\n").code == codes.SUCCESS
    assert settings(client)[name] == str(value)
