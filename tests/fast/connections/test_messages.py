"""The kinds of messages and the endings are written once, in messages.pxd; Python has the same."""

from __future__ import annotations

import ast
from enum import IntEnum
from pathlib import Path

import pytest

from rocketns._fast.connections import messages
from rocketns._fast.connections.messages import Ending, MessageKind
from rocketns.server.reactors.reactor_connection import ENDINGS

STUB = Path(__file__).parents[3] / "rocketns" / "_fast" / "connections" / "messages.pyi"


def names_in_stub(name: str) -> list[str]:
    (found,) = (
        node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name
    )
    return [node.targets[0].id for node in found.body if isinstance(node, ast.Assign)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("enum", [MessageKind, Ending])
def test_the_stub_has_the_compiled_members(enum: type[IntEnum]) -> None:
    assert sorted(names_in_stub(enum.__name__)) == sorted(enum.__members__)


def test_every_ending_has_a_cause() -> None:
    assert set(ENDINGS) == set(messages.Ending.__members__.values())
