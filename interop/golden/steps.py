"""A Step is one request and how its answer is compared. A Scenario is a list of steps on one server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interop.harness import payloads
from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header


@dataclass(frozen=True)
class Step:
    """One request. An empty ``request`` closes the connection instead."""

    name: str
    shows: str
    request: bytes = b""
    # The name of the connection that carries it; opened at its first use.
    connection: str = "main"
    # False for a oneway request: nothing may come back.
    answered: bool = True
    # Java applies some changes after its answer, so the request is repeated until the answer contains this.
    until: bytes = b""
    # Collections that Java lists in hash order, as paths of interop.golden.compare; compared after sorting.
    unordered: tuple[str, ...] = ()
    # The remark is the text of a Java exception; only its presence is compared.
    free_remark: bool = False


@dataclass
class Scenario:
    """Requests to a fresh name server. A step's opaque is its number, counted from 1."""

    name: str
    shows: str
    properties: dict[str, object] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def ask(self, name: str, shows: str, code: int, ext: dict[str, Any] | None = None, body: bytes = b"", *,
            binary: bool = False, version: int = 513, flag: int = 0, opaque: int | None = None,
            **how: Any) -> None:  # fmt: skip
        """Add a request with a well-formed header; ``how`` goes to Step."""
        number = len(self.steps) + 1 if opaque is None else opaque
        if binary:
            header = binary_header(code, ext, version=version, flag=flag, opaque=number)
        else:
            header = json_header(code, ext, version=version, flag=flag, opaque=number)
        self.raw(name, shows, header, body, serialize_type=ROCKETMQ if binary else JSON, **how)

    def raw(self, name: str, shows: str, header: bytes, body: bytes = b"", *, serialize_type: int = JSON,
            **how: Any) -> None:  # fmt: skip
        """Add a request with any header bytes."""
        self.steps.append(Step(name, shows, frame(header, body, serialize_type), **how))

    def tell(self, name: str, shows: str, code: int, ext: dict[str, Any] | None = None, body: bytes = b"",
             **more: Any) -> None:  # fmt: skip
        """Add a oneway request."""
        self.ask(name, shows, code, ext, body, flag=2, answered=False, **more)

    def close(self, name: str, shows: str, connection: str) -> None:
        self.steps.append(Step(name, shows, connection=connection))

    def register(self, name: str, shows: str, body: bytes, *, header: dict[str, Any] | None = None,
                 **how: Any) -> None:  # fmt: skip
        """Add a REGISTER_BROKER; ``header`` overrides what payloads.register_ext fills in."""
        self.ask(name, shows, 103, payloads.register_ext(body=body, **(header or {})), body, **how)

    def route(self, name: str, shows: str, topic: str, *, ext: dict[str, str] | None = None, **how: Any) -> None:
        """Add a GET_ROUTEINFO_BY_TOPIC."""
        self.ask(name, shows, 105, {"topic": topic} | (ext or {}), **how)

    def both_dialects(self, name: str, shows: str, topic: str, *, lists: tuple[str, ...] = (),
                      maps: tuple[str, ...] = ()) -> None:  # fmt: skip
        """The same route lookup for a client of today (numeric keys quoted, maps sorted) and for 4.9.3 (neither).

        ``lists`` are unordered in both, ``maps`` in the older dialect only.
        """
        self.route(f"{name}, standard JSON", shows, topic, version=513, unordered=lists)
        self.route(f"{name}, default JSON", shows, topic, version=400, unordered=lists + maps)
